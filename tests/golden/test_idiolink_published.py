"""IdioLink with MiniLM, texts to measures: every published figure to the four decimals that are printed.

Needs the folder ``idiolink/test`` of the benchmark under ``VERSEIR_DATA``; the weights come in an installed package.
The vectors are kept in the project's cache: the first run takes minutes, a later one seconds.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

from verseir.measures import per_query
from verseir.systems.checks import require_sound
from verseir.systems.dense import search
from verseir.systems.loading import load_encoder
from verseir.systems.query_encoding import QueryEncoding
from verseir.systems.registry import load_registry
from verseir.systems.vectors import VectorStore
from verseir.tables import QRELS

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("VERSEIR_DATA", "no such folder")) / "idiolink" / "test"
ENTRY = load_registry([ROOT / "config" / "systems-idiolink.yaml"])["all-minilm-l6-v2"]
INSTRUCTION = (
    "Based on the literal/idiomatic usage of the span '{span}' in the query, retrieve documents that contain a span "
    "conveying the same conceptual meaning."
)
INDEXES = {
    "full": ["literal", "idiomatic", "simplification", "sense"],
    "lit_sim_sense": ["literal", "simplification", "sense"],
    "lit_idiom": ["literal", "idiomatic"],
}

#: R-precision and nDCG@10 of all queries, of the literal and of the idiomatic ones.
PUBLISHED = {
    ("sentence", "full"): [0.1834, 0.3508, 0.2357, 0.3989, 0.1312, 0.3028],
    ("sentence", "lit_sim_sense"): [0.1607, 0.2714, 0.2574, 0.4207, 0.0639, 0.1220],
    ("sentence", "lit_idiom"): [0.2258, 0.3568, 0.2586, 0.4199, 0.1929, 0.2938],
    ("span", "full"): [0.4088, 0.5886, 0.5771, 0.7722, 0.2406, 0.4051],
    ("span", "lit_sim_sense"): [0.3459, 0.4338, 0.6621, 0.8411, 0.0296, 0.0264],
    ("span", "lit_idiom"): [0.4642, 0.5967, 0.5913, 0.7820, 0.3371, 0.4113],
    ("instruction_sentence", "full"): [0.3200, 0.5175, 0.4547, 0.6632, 0.1852, 0.3719],
    ("instruction_sentence", "lit_sim_sense"): [0.2666, 0.3832, 0.5102, 0.7459, 0.0229, 0.0205],
    ("instruction_sentence", "lit_idiom"): [0.3796, 0.5275, 0.4710, 0.6771, 0.2883, 0.3778],
    ("instruction_span", "full"): [0.4217, 0.5471, 0.6089, 0.7619, 0.2345, 0.3322],
    ("instruction_span", "lit_sim_sense"): [0.3649, 0.4498, 0.7225, 0.8965, 0.0074, 0.0031],
    ("instruction_span", "lit_idiom"): [0.4626, 0.5525, 0.6218, 0.7699, 0.3033, 0.3351],
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="VERSEIR_DATA names no folder with idiolink/test"),
]


def rows(name: str) -> pl.DataFrame:
    return pl.DataFrame(json.loads((DATA / name).read_text("utf-8")))


@pytest.fixture(scope="module")
def benchmark():
    """Queries, documents and the vectors of both, those of the queries by view."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERSEIR_CACHE", str(ROOT / ".cache"))
        queries, documents = rows("queries.json"), rows("indexes.json")
        texts, spans = queries["sentence"].to_list(), queries["span"].to_list()
        views = sorted({view for view, _ in PUBLISHED})
        readings = {view: QueryEncoding(view, INSTRUCTION).readings(ENTRY, texts, spans) for view in views}
        encoder = load_encoder(ENTRY)
        require_sound(encoder, texts[:4])
        store = VectorStore(encoder.identity)
        together = [reading for view in views for reading in readings[view]]
        report = store.encode_missing(encoder, {"document": documents["sentence"].to_list(), "query": together})
        print(f"{report.n_encoded} of {report.n_texts} texts encoded in {report.seconds:.0f} s")
        counts = {view: encoder.count_spans(readings[view]) for view in views if view.endswith("span")}
        vectors = {view: store.get(readings[view], "query") for view in views}
        yield queries, documents, store.get(documents["sentence"].to_list(), "document"), vectors, counts


def test_every_span_is_found_and_seen(benchmark):
    counts = benchmark[4]
    assert [(one.n, one.not_found, one.cut) for one in counts.values()] == [(1500, 0, 0)] * 2


@pytest.mark.parametrize(("view", "index"), PUBLISHED)
def test_published_figures(benchmark, view, index):
    queries, documents, document_vectors, query_vectors, _ = benchmark
    documents = documents.with_row_index("row").filter(pl.col("usage").is_in(INDEXES[index]))
    run = search(
        queries["id"].to_list(),
        query_vectors[view],
        documents["id"],
        documents["id"],
        document_vectors[documents["row"].to_numpy()],
        100,
    )
    side = pl.when(pl.col("usage") == "literal").then(pl.lit("literal")).otherwise(pl.lit("idiomatic"))
    relevant = queries.select(pl.col("id").alias("query_id"), "idiom", side.alias("side")).join(
        documents.select(pl.col("id").alias("poem_id"), "idiom", side.alias("side")), on=["idiom", "side"]
    )
    qrels = relevant.select("query_id", "poem_id", grade=pl.lit(1, pl.Int32)).select(list(QRELS.columns))
    ids = sorted(queries["id"])
    values = per_query(run, qrels, ids, ["Rprec", "nDCG@10"]).join(
        relevant.select("query_id", "side").unique(), on="query_id"
    )
    figures = []
    for part in (values, values.filter(pl.col("side") == "literal"), values.filter(pl.col("side") == "idiomatic")):
        figures += [part.filter(pl.col("measure") == name)["value"].mean() for name in ("Rprec", "nDCG@10")]
    assert [round(figure, 4) for figure in figures] == PUBLISHED[view, index]
