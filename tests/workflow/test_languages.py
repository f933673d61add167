"""A benchmark of several languages through the rules of what queries share with the poems judged for them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
from in_process import run_in_process
from poetry_benchmark import Setting, benchmark
from project import Project

from verseir.analyses.found_by_language import FOUND_BY_LANGUAGE
from verseir.analyses.found_by_wording import FOUND_BY_WORDING
from verseir.analyses.shared_wording import SHARED_WORDING
from verseir.shared import SHARED
from verseir.tables import QRELS, RUN, read_table

TARGETS = ("relate_wording", "summarise_shared", "plot_languages")
BM25 = "bm25-multilingual"
CROSS, MONO = "emotion_cross", "emotion_mono"
LANGUAGES = ("ARA", "ENG", "ZHO")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study of one corpus in three languages, a set that asks across them and one that asks within."""
    project = Project(tmp_path_factory.mktemp("languages") / "project")
    asked = [Setting("emotion", scope, "gold") for scope in ("cross", "mono")]
    benchmark(LANGUAGES, n_poems=6, n_queries=9, asked=asked).write(project.folder / "data/bench")

    def query_set(scope, **more):
        poetry = {"corpus": "bench", "aspect": "emotion", "scope": scope, "split": "gold"}
        return {"corpora": ["bench"], "poetry": poetry} | more

    project.study |= {
        "corpora": {"bench": {"adapter": "poetrymteb", "path": "data/bench"}},
        "modes": {"poem": ["title", "verse"], "lines": ["verse"]},
        "query_sets": {CROSS: query_set("cross", modes=["poem"]), MONO: query_set("mono", within="language")},
        "systems": [BM25, "use-m3"],
        "measures": ["nDCG@5", "Recall@10"],
        "bootstrap": 201,
        "analyses": {"base_mode": "poem"},
    }
    project.save_study()
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("VERSEIR_CACHE", raising=False)
        assert run_in_process(project, *TARGETS) == []
    return project


def table(project, contract):
    return read_table(project.results / "tables" / f"{contract.name}.csv", contract)


def test_each_judged_pair_is_measured(study):
    for name in (CROSS, MONO):
        found = read_table(study.results / f"overlap/bench/shared/{name}.parquet", SHARED)
        judged = read_table(study.results / f"queries/{name}.qrels.parquet", QRELS)
        assert found.select(list(QRELS.columns)).equals(judged.sort("query_id", "poem_id"))
        assert found["proximity"].null_count() == 0  # use-m3 is the reference encoder
        assert found.filter(pl.col("grade") == 3)["n_shared"].min() >= 1  # words of the poem that it was made from
        assert set(found["query_script"]) == {"Han"}


def test_what_is_found_is_what_the_runs_hold(study):
    found = table(study, FOUND_BY_LANGUAGE)
    assert set(found.filter(pl.col("query_set") == CROSS)["mode"]) == {"poem"}
    assert set(found.filter(pl.col("query_set") == MONO)["mode"]) == {"poem", "lines"}
    assert set(found["k"]) == {5}
    for name in (CROSS, MONO):
        judged = read_table(study.results / f"queries/{name}.qrels.parquet", QRELS).filter(pl.col("grade") > 0)
        for system in (BM25, "use-m3"):
            run = read_table(study.results / f"runs/bench/poem/{name}/{system}.parquet", RUN)
            hits = judged.join(run.filter(pl.col("rank") <= 5), on=["query_id", "poem_id"], how="semi")
            own = found.filter(query_set=name, system=system, mode="poem", attribute="all", wording="all")
            assert own.select("n_relevant", "n_found").row(0) == (len(judged), len(hits))
    within = found.filter(query_set=MONO, attribute="language", wording="all")
    assert set(within["preference"].drop_nulls()) == {1.0}


def test_the_tables_and_the_figure_are_there(study):
    grades = table(study, SHARED_WORDING).filter(query_set=CROSS, attribute="all")["grade"].to_list()
    assert grades == ["0", "1", "2", "3", "relevant"]
    related = table(study, FOUND_BY_WORDING)
    assert set(related.filter(pl.col("b").is_not_null()).select("a", "b").iter_rows()) == {(BM25, "use-m3")}
    assert related["p"].drop_nulls().min() > 0
    assert {path.suffix for path in (study.results / "figures").glob("languages.*")} == {".svg", ".pdf", ".png"}


def test_another_number_of_resamples_measures_no_pair_again(study):
    told = study.run("--touch", *TARGETS)
    assert told.returncode == 0, told.stdout[-2000:]
    before = json.loads(json.dumps(study.study))
    study.study["bootstrap"] = 200
    study.save_study()
    assert set(study.jobs(*TARGETS)) <= {"summarise_shared", "relate_wording", "plot_languages"}
    study.save_study(before)


def test_a_study_of_known_items_has_no_such_part(study):
    whole = study.study
    project = Project(study.folder.parent / "known")
    assert not {"measure_shared", "relate_wording"} & set(project.jobs())
    assert study.study is whole
