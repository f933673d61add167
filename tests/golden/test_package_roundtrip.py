"""A packaged benchmark, loaded by the package ``datasets``: the same poems, queries and grades.

``VERSEIR_MTEB_PYTHON`` names a Python that has ``datasets`` (5.0, with mteb 2.26); nothing is installed here, and
without it the test is skipped.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))
from foreign import needs, run_foreign
from in_process import run_in_process
from packaged import SETTINGS, Packaged

from verseir.tables import POEMS, QRELS, QUERIES, read_table

pytestmark = needs("datasets")

#: What the other Python runs: job on standard input, rows on standard output.
FOREIGN = """
import json, sys
from datasets import get_dataset_config_names, load_dataset

job = json.load(sys.stdin)
rows = lambda config, split: [dict(row) for row in load_dataset(job["folder"], config, split=split)]
found = {"configs": get_dataset_config_names(job["folder"]), "corpus": rows("corpus", "test"), "splits": {}}
for setting, splits in job["settings"].items():
    for split in splits:
        found["splits"][f"{setting}/{split}"] = [rows(f"{kind}_{setting}", split) for kind in ("queries", "qrels")]
print("\\n" + json.dumps(found))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Packaged:
    project = Packaged(tmp_path_factory.mktemp("roundtrip") / "project")
    assert run_in_process(project, "packages") == []
    return project


@pytest.fixture(scope="module")
def loaded(project: Packaged) -> dict[str, Any]:
    job = {"folder": str(project.package), "settings": SETTINGS}
    found: dict[str, Any] = run_foreign(FOREIGN, job, project.folder)
    return found


def test_every_config_is_there(loaded: dict[str, Any]) -> None:
    named = {f"{kind}_{setting}" for setting in SETTINGS for kind in ("queries", "qrels")}
    assert set(loaded["configs"]) == {"corpus", *named}


def test_the_poems_are_the_same(project: Packaged, loaded: dict[str, Any]) -> None:
    poems = read_table(project.results / "corpora/archive/poems.parquet", POEMS).sort("poem_id")
    told = [(row["id"], row["title"], row["author"]) for row in loaded["corpus"]]
    assert told == poems.select("poem_id", "title", "poet").rows()
    assert {row["language"] for row in loaded["corpus"]} == {"ARA", "FAS"}
    lines = [len(row["content"].split("\n")) for row in loaded["corpus"]]
    assert lines == poems["verses"].list.len().to_list()
    assert all(isinstance(row["token_count"], int) and row["token_count"] > 0 for row in loaded["corpus"])


def test_the_queries_and_grades_are_the_same(project: Packaged, loaded: dict[str, Any]) -> None:
    compared = 0
    for setting, splits in SETTINGS.items():
        for split, name in splits.items():
            asked, judged = loaded["splits"][f"{setting}/{split}"]
            queries = read_table(project.results / f"queries/{name}.parquet", QUERIES).sort("query_id")
            qrels = read_table(project.results / f"queries/{name}.qrels.parquet", QRELS).sort("query_id", "poem_id")
            assert [(row["_id"], row["text"]) for row in asked] == queries.select("query_id", "text").rows()
            assert [(row["query-id"], row["corpus-id"], row["score"]) for row in judged] == qrels.rows()
            mono = {row.get("target_document_language") for row in asked}
            assert mono <= {"ARA", "FAS"} if setting.endswith("mono") else mono == {None}
            compared += len(judged)
    counts = pl.read_csv(project.package / "counts.csv")
    assert compared == counts.filter(pl.col("what") == "judgements")["n"].sum() > 0
