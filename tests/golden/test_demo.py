"""The demo study's figures, computed through the library and held to the values that were printed once.

BM25 is arithmetic: its figures are exact. An encoder's vectors differ in their last bits between processors, so its
figures may move by the rank of a poem or two.
"""

from pathlib import Path

import polars as pl
import pytest
import yaml

from verseir.arabic.tokens import tokenize
from verseir.chunks import make_chunks
from verseir.corpora.load import load_corpus
from verseir.measures import per_query
from verseir.queries import load_query_set
from verseir.systems.bm25 import Bm25Index
from verseir.systems.dense import search
from verseir.systems.loading import load_encoder
from verseir.systems.registry import load_registry

ROOT = Path(__file__).parents[2]
STUDY = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
MEASURES = ["Recall@5", "MRR"]
TOLERANCE = {"bm25": 1e-9, "use-m3": 0.02}


@pytest.fixture(scope="module")
def demo():
    corpus = load_corpus("demo", STUDY["corpora"]["demo"], ROOT)
    query_set = load_query_set("known-item", STUDY["query_sets"]["known-item"], ROOT)
    return corpus, query_set


def registers(run, query_set):
    """(register, measure) -> mean."""
    values = per_query(run, query_set.qrels, query_set.queries["query_id"].to_list(), MEASURES)
    named = values.join(query_set.queries.select("query_id", "register"), on="query_id")
    means = named.group_by("register", "measure").agg(pl.col("value").mean())
    return {(register, measure): value for register, measure, value in means.iter_rows()}


def expected(mode, system):
    table = pl.read_csv(Path(__file__).parent / "demo.csv").filter(
        (pl.col("mode") == mode) & (pl.col("system") == system)
    )
    return {(row["register"], row["measure"]): row["value"] for row in table.iter_rows(named=True)}


@pytest.mark.parametrize("mode", sorted(STUDY["modes"]))
def test_bm25_gives_the_printed_figures(demo, mode):
    corpus, query_set = demo
    entry = load_registry([ROOT / "config/systems.yaml"])["bm25"]
    chunks = make_chunks(corpus.poems, corpus.explanations, STUDY["modes"][mode])
    tokens = [tokenize(text, entry["text"]) for text in chunks["text"]]
    settings = (entry["method"], entry["k1"], entry["b"])
    index = Bm25Index.build(tokens, chunks["chunk_id"], chunks["poem_id"], *settings, positions=chunks["first_verse"])
    queries = query_set.queries
    run = index.search(queries["query_id"].to_list(), [tokenize(text, entry["text"]) for text in queries["text"]])
    assert registers(run, query_set) == pytest.approx(expected(mode, "bm25"), abs=TOLERANCE["bm25"])


def test_the_sentence_encoder_gives_the_printed_figures(demo):
    corpus, query_set = demo
    encoder = load_encoder(load_registry([ROOT / "config/systems.yaml"])["use-m3"], "cpu")
    chunks = make_chunks(corpus.poems, corpus.explanations, STUDY["modes"]["verse"])
    run = search(
        query_set.queries["query_id"].to_list(),
        encoder.encode(query_set.queries["text"].to_list(), "query"),
        chunks["chunk_id"],
        chunks["poem_id"],
        encoder.encode(chunks["text"].to_list(), "document"),
        positions=chunks["first_verse"],
    )
    assert registers(run, query_set) == pytest.approx(expected("verse", "use-m3"), abs=TOLERANCE["use-m3"])
