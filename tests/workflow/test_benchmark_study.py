"""A benchmark of poetry of several settings, from its files to the page, the tables and the TREC files."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
from in_process import run_in_process
from poetry_benchmark import benchmark, settings
from project import Project

from verseir.analyses.graded_settings import GRADED_SETTINGS
from verseir.tables import LEADERBOARD, RUN, read_table
from verseir.trec import read_run

ASPECTS, SCOPES = ("emotion", "theme"), ("mono", "cross")
ASKED = settings(ASPECTS, SCOPES, ("gold", "train"))


def query_set(aspect: str, scope: str, split: str) -> dict[str, Any]:
    spec = {"corpora": ["poems"], "poetry": {"corpus": "poems", "aspect": aspect, "scope": scope, "split": split}}
    return spec | ({"within": "language"} if scope == "mono" else {})


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Four settings, searched by BM25 with and without parameters chosen on the training queries of cross settings."""
    made = Project(tmp_path_factory.mktemp("benchmark") / "project")
    benchmark(n_poems=8, n_queries=6, asked=ASKED).write(made.folder / "data/poetry")
    sets = {f"{aspect}_{scope}": query_set(aspect, scope, "gold") for aspect in ASPECTS for scope in SCOPES}
    for name, spec in sets.items():
        aspect = name.partition("_")[0]
        sets[name] = spec | {"validation": {"corpus": "poems", "query_set": f"{aspect}_train"}}
    # Searched nowhere: systems are tuned on them.
    sets |= {f"{aspect}_train": query_set(aspect, "cross", "train") | {"corpora": []} for aspect in ASPECTS}
    registry = (
        "tuned: {kind: bm25, text: light, tokens: multilingual, tune: {measure: nDCG@10, k1: [0.9, 1.5], b: [0.4]}, "
        "description: tuned}\n"
    )
    (made.folder / "config/tuned.yaml").write_text(registry)
    made.study |= {
        "registry": ["config/systems.yaml", "config/tuned.yaml"],
        "corpora": {"poems": {"adapter": "poetrymteb", "path": "data/poetry"}},
        "modes": {"poem": ["title", "verse"]},
        "chunks": {"verses": 1000000, "stride": 1},
        "query_sets": sets,
        "systems": ["bm25-multilingual", "tuned"],
        "measures": ["nDCG@10", "MAP"],
        "bootstrap": 200,
        "analyses": {
            "base_mode": "poem",
            "reference_encoder": None,
            "measures": ["nDCG@10", "MAP"],
            "success": "MAP",
        },
    }
    made.save_study()
    assert run_in_process(made) == []
    return made


def table(project: Project, contract: Any) -> pl.DataFrame:
    return read_table(project.results / "tables" / f"{contract.name}.csv", contract)


def test_settings_are_those_of_the_leaderboard_and_averaged(project: Project) -> None:
    found = table(project, GRADED_SETTINGS).filter(pl.col("measure") == "nDCG@10", pl.col("system") == "tuned")
    board = table(project, LEADERBOARD).filter(pl.col("measure") == "nDCG@10", pl.col("system") == "tuned")
    means = dict(board.select("query_set", "mean").iter_rows())
    assert sorted(means) == sorted(f"{aspect}_{scope}" for aspect in ASPECTS for scope in SCOPES)
    own = found.filter(pl.col("over").is_null(), ~pl.col("setting").str.contains("language"))
    assert dict(own.select("query_set", "mean").iter_rows()) == pytest.approx(means)
    overall = found.filter(pl.col("over") == "aspect, scope")
    assert overall["setting"].to_list() == ["all"] and overall["n_parts"].to_list() == [4]
    assert overall["mean"][0] == pytest.approx(sum(means.values()) / 4)
    languages = found.filter(pl.col("over") == "aspect", pl.col("setting").str.contains("language"))
    assert sorted(languages["setting"]) == [f"language={code}, scope=mono" for code in ("ARA", "ENG", "ZHO")]
    for name in ("means", "values"):
        for suffix in ("csv", "tex"):
            assert (project.results / f"paper/table-settings-{name}.{suffix}").stat().st_size


def test_the_page_says_what_was_searched_and_by_whom_it_was_judged(project: Project) -> None:
    page = (project.results / "report/index.html").read_text(encoding="utf-8")
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
    for told in (
        "find the poems that were judged to answer a query",
        "searched among the poems of its language alone",
        "come with the data of poems (data/poetry) and were not made for this study: split gold",
        "Document frequencies, the number of documents and their average length",
        "no judgement names counts as not relevant",
        "rescaled bootstrap (Rao and Wu, 1988): in each of 200 resamples",
        "By setting and language",
        "Queries of poems, split gold, nDCG@10:",
    ):
        assert told in text, told
    # Nothing of what such queries have not got.
    for absent in ("What the register does", "The paper’s effect", "What explanations do", "Quoting and not quoting"):
        assert absent not in text, absent


def test_every_run_is_a_trec_file(project: Project) -> None:
    runs = sorted((project.results / "runs").rglob("*.parquet"))
    assert len(runs) == 2 * 4
    for path in runs:
        there = project.results / "trec/runs" / path.relative_to(project.results / "runs").with_suffix(".trec")
        ours = read_table(path, RUN).select("query_id", "poem_id", "rank")
        assert (
            read_run(there)
            .select("query_id", "poem_id", "rank")
            .sort("query_id", "rank")
            .equals(ours.sort("query_id", "rank"))
        )
    qrels = sorted(path.stem for path in (project.results / "trec/qrels").glob("*.qrels"))
    assert qrels == sorted(project.study["query_sets"])


def test_a_licence_changes_the_card_and_reads_no_poem_again(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    targets = ["results/small/queries/east-set.parquet", "results/small/mteb/east/east-set/README.md"]
    done = project.run(*targets)
    assert done.returncode == 0, done.stdout[-3000:]
    assert project.jobs(*targets) == {}
    project.study["corpora"]["east"]["licence"] = "cc-by-4.0"
    project.save_study()
    assert project.jobs(*targets) == {"export_mteb": 1}
