"""Modes of some poems only, among modes of all, through the rules of a known-item study."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from in_process import run_in_process
from project import Project

from verseir.analyses.augmentation import AUGMENTATION
from verseir.analyses.duplicate_folding import DUPLICATE_FOLDING
from verseir.analyses.equivalence import EQUIVALENCE
from verseir.analyses.fusion_search import FUSION, FUSION_SUBSETS
from verseir.analyses.mechanism import MECHANISM
from verseir.overlap import INDEXED
from verseir.tables import LEADERBOARD, read_table

QUERY_SET = "east-set"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Of eight poems the modes ``a-praise`` and ``praise-titles`` index the four even ones; the set is judged later."""
    made = Project(tmp_path_factory.mktemp("kept") / "project")
    rows = made.read_rows("data/east.jsonl")
    for i, row in enumerate(rows):
        row |= {"genre": "satire" if i % 2 else "praise", "title": row["verses"][0][0]}
    rows[3]["verses"] = rows[2]["verses"]  # a poem repeats one that is kept
    made.write_rows("data/east.jsonl", rows)
    ranked = [f"east-q{i} Q0 east-{j} 1 {10 - (j - i) % 8} tag\n" for i in range(8) for j in range(8)]
    even = [line for line in ranked if int(line.split()[2][-1]) % 2 == 0]
    for mode in ("a-praise", "praise-titles", "titles", "verse"):
        (made.folder / f"data/{mode}.trec").write_text("".join(even if "praise" in mode else ranked))
    registry = 'other: {kind: imported, path: "data/{mode}.trec", signal: dense, description: made up}\n'
    (made.folder / "config/other.yaml").write_text(registry)
    made.study |= {
        "registry": ["config/systems.yaml", "config/other.yaml"],
        "corpora": {"east": made.study["corpora"]["east"]},
        "modes": {"a-praise": ["verse"], "praise-titles": ["title"], "titles": ["title"], "verse": ["verse"]},
        "keep": {mode: {"genre": ["praise"]} for mode in ("a-praise", "praise-titles")},
        "query_sets": {QUERY_SET: made.study["query_sets"][QUERY_SET] | {"judged": "later"}},
        "systems": ["bm25", "other"],
        "analyses": {"base_mode": "verse", "reference_encoder": None, "measures": ["Recall@5", "MRR"]},
    }
    made.save_study()
    assert run_in_process(made) == []
    return made


def table(project, contract):
    return read_table(project.results / "tables" / f"{contract.name}.csv", contract)


def test_the_whole_study_agrees_with_its_leaderboard(project):
    board = table(project, LEADERBOARD).filter(pl.col("measure") == "Recall@5")
    means = {(system, mode): mean for system, mode, mean in board.select("system", "mode", "mean").iter_rows()}
    assert set(board.filter(pl.col("mode").str.contains("praise"))["n_queries"]) == {4}
    single = table(project, FUSION_SUBSETS).filter(pl.col("n_arms") == 1)
    found = {tuple(arm.split("/")): mean for arm, mean in single.select("arms", "in_sample").iter_rows()}
    assert found == pytest.approx({arm: mean for arm, mean in means.items() if "praise" not in arm[1]})
    assert table(project, FUSION)["note"].str.contains("take no part: a-praise, praise-titles").all()
    folding = table(project, DUPLICATE_FOLDING).filter(pl.col("measure") == "Recall@5")
    unfolded = {(row["system"], row["mode"]): row["unfolded"] for row in folding.to_dicts()}
    assert unfolded == pytest.approx(means)
    for row in (
        table(project, EQUIVALENCE).filter(pl.col("measure") == "Recall@5", pl.col("stratum") == "all").to_dicts()
    ):
        assert row["estimate"] == pytest.approx(means[row["a"], row["mode"]] - means[row["b"], row["mode"]])


def test_modes_of_other_poems_are_set_against_nothing(project):
    assert set(table(project, AUGMENTATION)["mode"]) == {"titles"}
    assert set(table(project, MECHANISM).drop_nulls("against_mode")["mode"]) == {"titles"}


def test_words_are_shared_with_poems_of_the_mode_alone(project):
    indexed = read_table(project.results / f"overlap/east/indexed/{QUERY_SET}.parquet", INDEXED)
    sizes = dict(indexed.group_by("mode").len().iter_rows())
    assert sizes == {"a-praise": 4, "praise-titles": 4, "titles": 8, "verse": 8}


def test_an_imported_list_of_the_whole_corpus_is_refused_in_such_a_mode(project):
    given = project.folder / "data/a-praise.trec"
    lines = given.read_text()
    given.write_text((project.folder / "data/verse.trec").read_text())
    failed = run_in_process(project, f"results/small/runs/east/a-praise/{QUERY_SET}/other.parquet")
    given.write_text(lines)
    assert len(failed) == 1
    assert "4 poems that the mode 'a-praise' does not index: 'east-1', 'east-3', 'east-5', 'east-7'" in failed[0]


def test_the_page_says_which_modes_take_no_part(project):
    page = (project.results / "report/index.html").read_text(encoding="utf-8")
    page = " ".join(re.sub(r"<[^>]*>", "", page).replace("\N{NON-BREAKING HYPHEN}", "-").split())
    assert "Arms in modes of some poems only take no part: a-praise and praise-titles." in page
    assert "a-praise and praise-titles: not compared" in page
