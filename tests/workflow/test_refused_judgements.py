"""What is wrong with judgements is told together, with file and line, before anything is searched: in each source."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
from in_process import run_in_process
from poetry_benchmark import benchmark
from project import Project

from verseir.corpora.poetrymteb import Setting

#: Wrong in each source alike: an unknown poem, a grade of 4, a pair judged twice; and a query without a positive.
UNKNOWN, TOO_LARGE, TWICE, UNANSWERED = "no-such-poem", 4, "judged twice", "no positive"
SETTING = Setting("theme", "cross", "gold")


def rows_of(ids: list[str], poems: list[str]) -> list[tuple[str, str, int]]:
    """Judgements with one of each fault: lines are counted from 1 without a header."""
    return [
        (ids[0], poems[0], 3),
        (ids[0], UNKNOWN, 1),
        (ids[1], poems[1], TOO_LARGE),
        (ids[1], poems[2], 2),
        (ids[1], poems[2], 0),
        (ids[2], poems[3], 0),
    ]


def given_as_files(project: Project) -> tuple[str, dict[str, Any], list[str]]:
    """A query set of the project's own, with a file of judgements that breaks; its file, and what is told of it."""
    poems = [row["poem_id"] for row in project.read_rows("data/east.jsonl")]
    ids = ["q1", "q2", "q3"]
    project.write_rows("data/asked.jsonl", [{"query_id": query_id, "text": "text"} for query_id in ids])
    lines = [",".join(map(str, row)) for row in rows_of(ids, poems)]
    (project.folder / "data/qrels.csv").write_text("\n".join(["query_id,poem_id,grade", *lines, ""]))
    spec = {"corpora": ["east"], "path": "data/asked.jsonl", "qrels": "data/qrels.csv", "max_grade": 3}
    return (
        "east",
        spec,
        [
            f"data/qrels.csv:3 [relevant]: judged poem '{UNKNOWN}' of query 'q1' is not in corpus 'east'",
            f"data/qrels.csv:4 [grade]: the grade of poem '{poems[1]}' is {TOO_LARGE}",
            f"data/qrels.csv:6 [poem_id]: poem '{poems[2]}' is judged twice for query 'q2', first on line 5",
            "data/asked.jsonl:3 [relevant]: query 'q3' has no relevant poem",
        ],
    )


def of_beir(project: Project) -> tuple[str, dict[str, Any], list[str]]:
    poems, ids = [f"d{i}" for i in range(6)], ["q1", "q2", "q3"]
    folder = project.folder / "data/beir"
    (folder / "qrels").mkdir(parents=True)
    project.write_rows(
        "data/beir/corpus.jsonl", [{"_id": poem, "title": "", "text": f"text of {poem}"} for poem in poems]
    )
    project.write_rows("data/beir/queries.jsonl", [{"_id": query_id, "text": "text"} for query_id in ids])
    lines = ["\t".join(map(str, row)) for row in rows_of(ids, poems)]
    (folder / "qrels/test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines, ""]))
    project.study["corpora"]["set"] = {"adapter": "beir", "path": "data/beir"}
    spec = {"corpora": ["set"], "beir": {"corpus": "set"}, "max_grade": 3}
    file = "data/beir/qrels/test.tsv"
    return (
        "set",
        spec,
        [
            f"{file}:3 [corpus-id]: no document of the corpus is called '{UNKNOWN}'",
            f"{file}:4 [score]: the score of 'd1' for query 'q2' is '{TOO_LARGE}'",
            f"{file}:6 [corpus-id]: 'd2' is judged twice for query 'q2', first on line 5",
            f"{file}:7 [score]: query 'q3' has no positive: no document with a score above 0",
        ],
    )


def of_poetry(project: Project) -> tuple[str, dict[str, Any], list[str]]:
    made = benchmark(n_queries=3, asked=[SETTING])
    ids = [row["_id"] for row in made.queries[SETTING]]
    poems = [poem["id"] for poem in made.poems]
    made.qrels[SETTING] = [
        dict(zip(("query-id", "corpus-id", "score"), row, strict=True)) for row in rows_of(ids, poems)
    ]
    made.write(project.folder / "data/poetry")
    project.study["corpora"]["set"] = {"adapter": "poetrymteb", "path": "data/poetry"}
    poetry = {"corpus": "set", "aspect": SETTING.aspect, "scope": SETTING.scope, "split": SETTING.split}
    file, asked = "data/poetry/qrels_theme_cross/gold.jsonl", "data/poetry/queries_theme_cross/gold.jsonl"
    return (
        "set",
        {"corpora": ["set"], "poetry": poetry},
        [
            f"{file}:2 [poem_id]: judged poem '{UNKNOWN}' of query '{ids[0]}' is not in the corpus",
            f"{file}:3 [score]: is {TOO_LARGE}, and no grade",
            f"{file}:5 [poem_id]: poem '{poems[2]}' is judged twice for query '{ids[1]}', first on line 4",
            f"{asked}:3 [query_id]: query '{ids[2]}' has no relevant poem",
        ],
    )


@pytest.mark.parametrize("source", [given_as_files, of_beir, of_poetry])
def test_faults_of_judgements_stop_a_study_before_anything_is_searched(tmp_path: Path, source: Any) -> None:
    project = Project(tmp_path / "project")
    corpus, spec, told = source(project)
    project.study["corpora"] = {corpus: project.study["corpora"][corpus]}
    project.study |= {"query_sets": {"judged": spec}, "systems": ["bm25"]}
    project.save_study()
    done = project.run()
    assert done.returncode != 0
    lines = done.stdout.split("\n")
    for fault in told:
        assert sum(fault in line for line in lines) == 1, (fault, done.stdout[-3000:])
    assert "nothing was run" in done.stdout
    made = {path.relative_to(project.results).parts[0] for path in project.results.rglob("*") if path.is_file()}
    assert made <= {"logs"}


def test_larger_grades_are_judgements_where_no_set_says_otherwise(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    row = project.read_rows("data/east-queries.jsonl")[0]
    project.write_rows("data/east-queries.jsonl", [row | {"relevant": {row["relevant"][0]: TOO_LARGE}}])
    project.study |= {
        "corpora": {"east": project.study["corpora"]["east"]},
        "query_sets": {"east-set": project.study["query_sets"]["east-set"]},
        "systems": ["bm25"],
    }
    project.save_study()
    assert run_in_process(project, "results/small/queries/east-set.qrels.parquet") == []
    project.study["query_sets"]["east-set"]["max_grade"] = TOO_LARGE - 1
    project.save_study()
    (failed,) = run_in_process(project, "results/small/queries/east-set.qrels.parquet")
    assert f"is {TOO_LARGE}" in failed and "from 0 (not relevant) to 3" in failed
    assert json.loads((project.folder / "data/east-queries.jsonl").read_text())["relevant"]
