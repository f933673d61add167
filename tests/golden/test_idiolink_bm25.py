"""BM25 on IdioLink: the published rows, from the files of the data set, which are not part of the project.

The rows are those of the benchmark's own table of its index ablation: R-Precision and nDCG@10 over all queries, the
literal and the idiomatic ones. The published figures rest on an order of tied documents, which ``introsort`` repeats.
By document id other figures come out, and every published one lies between the least and the most that any order of
tied documents gives.
"""

import json
import os
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from verseir.measures import per_query
from verseir.systems.bm25 import Bm25Index
from verseir.systems.bm25_tuning import tune
from verseir.systems.registry import load_registry
from verseir.systems.tokenizers import tokens_of
from verseir.tables import CHUNKS, QRELS
from verseir.ties import tie_report

DATA = Path(os.environ.get("VERSEIR_DATA", "")) / "idiolink"
FILES = [DATA / split / f"{part}.json" for split in ("val", "test") for part in ("indexes", "queries")]
pytestmark = pytest.mark.skipif(
    not all(file.is_file() for file in FILES), reason="VERSEIR_DATA names no folder with IdioLink"
)

REGISTRY = Path(__file__).parents[2] / "config/systems.yaml"
MEASURES = ["Rprec", "nDCG@10"]
PARTS = ("", "_lit_", "_idiom_")
#: How many documents a published list holds.
DEPTH = 100
INDEXED = {
    "lit_sim_sense": {"literal", "simplification", "sense"},
    "lit_idiom": {"literal", "idiomatic"},
}
#: k1, b, then for all, literal and idiomatic queries: R-Precision and nDCG@10.
PUBLISHED = {
    ("lit_sim_sense", "sentence"): (0.6, 0.9, 0.3263, 0.4300, 0.5843, 0.7017, 0.0682, 0.1583),
    ("lit_sim_sense", "span"): (2.0, 0.2, 0.4843, 0.4862, 0.9684, 0.9720, 0.0003, 0.0004),
    ("lit_idiom", "sentence"): (0.6, 0.9, 0.4267, 0.5852, 0.4509, 0.6214, 0.4025, 0.5490),
    ("lit_idiom", "span"): (2.0, 0.2, 0.4741, 0.4973, 0.6652, 0.7344, 0.2829, 0.2602),
}


@cache
def read(split, preset, field):
    """Chunks, queries (id -> text) and judgements; each document is one chunk."""
    documents, queries = (json.loads((DATA / split / f"{part}.json").read_text()) for part in ("indexes", "queries"))
    documents = [row for row in documents if row["usage"] in INDEXED[preset]]
    chunks = [(f"{row['id']}#0", row["id"], 0, 1, row["sentence"]) for row in documents]
    relevant = {}
    for row in documents:
        relevant.setdefault((row["idiom"], row["usage"] == "literal"), []).append(row["id"])
    judged = [
        (row["id"], document, 1) for row in queries for document in relevant[row["idiom"], row["usage"] == "literal"]
    ]
    return (
        pl.DataFrame(chunks, schema=dict(CHUNKS.columns), orient="row"),
        {row["id"]: row[field] for row in queries},
        pl.DataFrame(judged, schema=dict(QRELS.columns), orient="row"),
    )


@cache
def searched(name, preset, field):
    """The tuning on the validation split, and the run, the queries and the judgements of the test split."""
    entry = load_registry([REGISTRY])[name]
    chunks, queries, qrels = read("val", preset, field)
    tokens = tokens_of(chunks["text"], entry)
    tuning = tune(entry, chunks, tokens, list(queries), tokens_of(queries.values(), entry), qrels, DEPTH)
    chunks, queries, qrels = read("test", preset, field)
    tokens = tokens_of(chunks["text"], entry)
    index = Bm25Index.build(
        tokens, chunks["chunk_id"], chunks["poem_id"], entry["method"], tuning.best.k1, tuning.best.b
    )
    run = index.search(list(queries), tokens_of(queries.values(), entry), DEPTH, ties=entry["ties"])
    return tuning, run, list(queries), qrels


def cells(run, qrels, query_ids):
    """The six figures of a row."""
    values = per_query(run, qrels, query_ids, MEASURES)
    parts = [values.filter(pl.col("query_id").str.contains(part, literal=True)) for part in PARTS]
    return [part.filter(pl.col("measure") == measure)["value"].mean() for part in parts for measure in MEASURES]


@pytest.mark.parametrize(("preset", "field"), list(PUBLISHED))
def test_with_introsort_the_published_rows_come_out(preset, field):
    k1, b, *published = PUBLISHED[preset, field]
    tuning, run, query_ids, qrels = searched("bm25-okapi-as-published", preset, field)
    assert (tuning.best.k1, tuning.best.b) == (k1, b)
    assert [round(value, 4) for value in cells(run, qrels, query_ids)] == published


@pytest.mark.parametrize(("preset", "field"), list(PUBLISHED))
def test_by_document_id_the_published_rows_lie_in_the_tie_interval(preset, field):
    k1, b, *published = PUBLISHED[preset, field]
    tuning, run, query_ids, qrels = searched("bm25-okapi", preset, field)
    assert (tuning.best.k1, tuning.best.b) == (k1, b)
    assert cells(run, qrels, query_ids) == pytest.approx(published, abs=0.01)
    reports = [tie_report(run, qrels, [name for name in query_ids if part in name], MEASURES) for part in PARTS]
    rows = [row for report in reports for row in report.iter_rows(named=True)]
    assert [row["measure"] for row in rows] == MEASURES * len(PARTS)
    for row, value in zip(rows, published, strict=True):
        assert round(row["lowest"], 4) <= value <= round(row["highest"], 4)
