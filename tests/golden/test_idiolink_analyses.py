"""What is particular to idiom benchmarks, on IdioLink itself: counts, reference levels, subjects, shared words.

The files of the data set are not part of the project. The verbs of the workflow read them; expected values are those of
the description of the benchmark, or follow from its design by arithmetic, or are had here in another way.
"""

import json
import os
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from verseir.__main__ import main
from verseir.analyses.confusion import confusions
from verseir.analyses.idiom_data import idiom_data
from verseir.analyses.idiom_overlap import idiom_overlap
from verseir.analyses.string_match import string_match
from verseir.analyses.subjects import subject_means
from verseir.config import canonical
from verseir.systems.bm25 import Bm25Index
from verseir.systems.dense import search
from verseir.systems.loading import load_encoder
from verseir.systems.query_encoding import QueryEncoding
from verseir.systems.registry import load_registry
from verseir.systems.tokenizers import tokens_of
from verseir.systems.vectors import VectorStore
from verseir.tables import CHUNKS, QUERIES, RUN, read_table, write_table

DATA = Path(os.environ.get("VERSEIR_DATA", "no such folder")) / "idiolink"
SPLITS = ("test", "train", "val")
pytestmark = pytest.mark.skipif(
    not all((DATA / split / "queries.json").is_file() for split in SPLITS),
    reason="VERSEIR_DATA names no folder with IdioLink",
)

KEEP = {
    "full": {},
    "lit_sim_sense": {"usage": ["literal", "simplification", "sense"]},
    "lit_idiom": {"usage": ["literal", "idiomatic"]},
}
#: How lists are cut.
DEPTH = 100
ROOT = Path(__file__).parents[2]
CROSS = {
    "query_sets": {"sentence": ["test"], "span": ["test"]},
    "modes": {"test": sorted(KEEP)},
    "systems": {"bm25-okapi-as-published": "bm25"},
    "kept": ["lit_idiom", "lit_sim_sense"],
}
#: What tuning on the validation queries chooses: k1 and b.
TUNED = {
    ("sentence", "full"): (0.9, 0.4),
    ("sentence", "lit_sim_sense"): (0.6, 0.9),
    ("sentence", "lit_idiom"): (0.6, 0.9),
    **{("span", mode): (2.0, 0.2) for mode in KEEP},
}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The files of a study: three corpora with their queries, and the chunks of the test documents."""
    folder = tmp_path_factory.mktemp("idiolink")
    for split in SPLITS:
        spec = canonical({"adapter": "idiolink", "language": "en", "path": str(DATA / split)})
        corpus = folder / "corpora" / split
        named = ["--name", split, "--spec", spec, "--duplicates", f"{corpus}/duplicates.csv"]
        for table in ("poems", "explanations", "attributes"):
            named += [f"--{table}", f"{corpus}/{table}.parquet"]
        assert main(["ingest_corpus", *named, "--audit", f"{corpus}/audit.json"]) == 0
        for query_set in ("sentence", "span") if split == "test" else (split,):
            queries = folder / "queries" / query_set
            named = ["--name", query_set, "--corpus", split, "--spec", spec, "--poems", f"{corpus}/poems.parquet"]
            named += ["--corpus-attributes", f"{corpus}/attributes.parquet", "--queries", f"{queries}.parquet"]
            named += ["--qrels", f"{queries}.qrels.parquet", "--attributes", f"{queries}.attributes.parquet"]
            assert main(["draw_idioms", *named]) == 0
    corpus = folder / "corpora/test"
    for mode, keep in KEEP.items():
        named = [
            part
            for name in ("poems", "explanations", "attributes")
            for part in (f"--{name}", f"{corpus}/{name}.parquet")
        ]
        named += ["--keep", canonical(keep), "--fields", '["verse"]', "--verses", "3", "--stride", "1"]
        assert main(["make_chunks", *named, "--output", f"{corpus}/chunks/{mode}.parquet"]) == 0
    return folder


@pytest.fixture(scope="module")
def searched(study):
    """The study with the runs of BM25 as it was published."""
    entry = load_registry([ROOT / "config/systems.yaml"])["bm25-okapi-as-published"]
    for (query_set, mode), (k1, b) in TUNED.items():
        chunks = read_table(study / f"corpora/test/chunks/{mode}.parquet", CHUNKS)
        tokens = tokens_of(chunks["text"], entry)
        index = Bm25Index.build(tokens, chunks["chunk_id"], chunks["poem_id"], entry["method"], k1, b)
        queries = read_table(study / f"queries/{query_set}.parquet", QUERIES)
        asked = queries["span" if query_set == "span" else "text"]
        run = index.search(queries["query_id"].to_list(), tokens_of(asked, entry), DEPTH, ties=entry["ties"])
        write_table(run, study / f"runs/test/{mode}/{query_set}/bm25-okapi-as-published.parquet", RUN)
    return study


def test_counts_are_those_of_the_description(study):
    found = idiom_data(study, {"test": "sentence", "train": "train", "val": "val"})
    rows = {(row["corpus"], row["role"], row["usage"]): row for row in found.iter_rows(named=True)}
    # Idioms, documents, queries; documents of each use; gold documents and queries.
    described = {
        "train": (22, 2200, 440, [880, 440, 440, 440], 234, 79),
        "val": (10, 1000, 200, [400, 200, 200, 200], 201, 61),
        "test": (75, 7500, 1500, [3000, 1500, 1500, 1500], 2291, 383),
    }
    for split, (idioms, documents, queries, uses, gold, gold_queries) in described.items():
        every, asked = rows[split, "document", "all"], rows[split, "query", "all"]
        assert (every["n_idioms"], every["n"], every["n_gold"], every["n_subjects"]) == (idioms, documents, gold, 10)
        assert (asked["n_idioms"], asked["n"], asked["n_gold"], asked["n_subjects"]) == (
            idioms,
            queries,
            gold_queries,
            10,
        )
        names = ("literal", "idiomatic", "simplification", "sense")
        assert [rows[split, "document", usage]["n"] for usage in names] == uses
        assert [rows[split, "query", usage]["n"] for usage in names[:2]] == [queries / 2] * 2
    documents, queries = rows["test", "document", "all"], rows["test", "query", "all"]
    assert [documents["words_min"], round(documents["words_mean"], 2), documents["words_max"]] == [10, 16.32, 32]
    assert [queries["words_min"], round(queries["words_mean"], 2), queries["words_max"]] == [15, 21.67, 31]
    assert [round(documents["span_words_mean"], 2), round(queries["span_words_mean"], 2)] == [3.06, 2.92]
    same = {key[1:]: row["n_span_is_idiom"] for key, row in rows.items() if key[0] == "test"}
    assert [same["query", usage] for usage in ("idiomatic", "literal")] == [696, 701]
    assert [same["document", usage] for usage in names] == [2723, 1352, 0, 0]


def test_string_match_is_what_arithmetic_says(study):
    places = [["test", "span", mode] for mode in KEEP]
    found = string_match(study, places, ["Rprec", "nDCG@10"], 500, 1)
    key = ("match", "mode", "usage", "measure")
    means = {tuple(row[name] for name in key): row["mean"] for row in found.iter_rows(named=True)}
    matched = {tuple(row[name] for name in key[:3]): row["n_matched"] for row in found.iter_rows(named=True)}
    expected = {"full": (2 / 3, 1 / 3), "lit_sim_sense": (1.0, 0.0), "lit_idiom": (2 / 3, 1 / 3)}
    for mode, (literal, idiomatic) in expected.items():
        assert means["annotated", mode, "literal", "Rprec"] == pytest.approx(literal)
        assert means["annotated", mode, "idiomatic", "Rprec"] == pytest.approx(idiomatic)
        assert means["annotated", mode, "all", "Rprec"] == pytest.approx((literal + idiomatic) / 2)
        # Forty or sixty documents match: the first ten places are alike.
        assert means["annotated", mode, "literal", "nDCG@10"] == pytest.approx(literal)
        assert means["annotated", mode, "idiomatic", "nDCG@10"] == pytest.approx(idiomatic)
    assert [matched["annotated", mode, "all"] for mode in KEEP] == [60, 40, 60]
    certain = [means["annotated", "lit_sim_sense", "literal", measure] for measure in ("Rprec", "nDCG@10")]
    assert certain == [1.0, 1.0]
    # Most of these documents hold the span in so many words, so the other way to match comes near.
    assert 50 < matched["verbatim", "full", "all"] < 60
    assert 0.45 < means["verbatim", "full", "all", "Rprec"] < 0.5


def test_verbatim_matches_are_those_of_a_plain_search(study):
    documents, queries = (
        json.loads((DATA / f"test/{name}.json").read_text("utf-8")) for name in ("indexes", "queries")
    )
    holding = {
        span: [row for row in documents if re.search(rf"\b{re.escape(span)}\b", row["sentence"], re.IGNORECASE)]
        for span in {query["span"] for query in queries}
    }
    sizes, values = [], []
    for query in queries:
        literal = query["usage"] == "literal"
        first, n_relevant = holding[query["span"]], 40 if literal else 60
        hits = [row for row in first if row["idiom"] == query["idiom"] and (row["usage"] == "literal") == literal]
        m, a = len(first), len(hits)
        within = a + (n_relevant - m) * (n_relevant - a) / (7500 - m) if m < n_relevant else a * n_relevant / m
        sizes.append(m)
        values.append(within / n_relevant)
    found = string_match(study, [["test", "span", "full"]], ["Rprec"], 500, 1)
    row = found.filter((pl.col("match") == "verbatim") & (pl.col("usage") == "all")).row(0, named=True)
    assert row["n_matched"] == pytest.approx(np.mean(sizes))
    assert row["mean"] == pytest.approx(np.mean(values))
    assert row["ci_low"] < row["mean"] < row["ci_high"]


@pytest.mark.slow
def test_bm25_by_subject_is_as_described(searched):
    found = subject_means(searched, CROSS, ["Rprec", "nDCG@10"], DEPTH, 500, 1)
    assert found["n_queries"].unique().to_list() == [1500]
    assert found["note"].null_count() == len(found)
    full = found.filter(pl.col("mode") == "full")
    means = {tuple(row[:2]): round(row[2], 4) for row in full.select("query_set", "measure", "mean").iter_rows()}
    assert [means["sentence", name] for name in ("Rprec", "nDCG@10")] == [0.0315, 0.3681]
    # The description has .0136: its lists of 143 queries go on with documents that share no word, in the order that a
    # sort leaves them in. Here such documents are not found.
    assert [means["span", name] for name in ("Rprec", "nDCG@10")] == [0.0133, 0.1039]
    ceilings = {tuple(row[:2]): row[2] for row in found.select("mode", "measure", "ceiling").iter_rows()}
    for mode, n in {"full": 750, "lit_sim_sense": 600, "lit_idiom": 450}.items():
        assert ceilings[mode, "Rprec"] == pytest.approx(100 / n)
        assert ceilings[mode, "nDCG@10"] == 1


@pytest.mark.slow
def test_confusions_of_bm25_add_up(searched):
    found = confusions(searched, CROSS, 500, 1)
    key = ["query_set", "mode", "usage"]
    sums = found.group_by(key).agg(pl.col("share").sum(), hit=pl.col("share").filter("relevant").sum())
    assert sums["share"].to_list() == pytest.approx([1] * 12)
    hits = {tuple(row[:3]): row[4] for row in sums.iter_rows()}
    # R-precision of literal and idiomatic queries, as published.
    published = {
        ("sentence", "lit_sim_sense"): (0.5843, 0.0682),
        ("span", "lit_sim_sense"): (0.9684, 0.0003),
        ("sentence", "lit_idiom"): (0.4509, 0.4025),
        ("span", "lit_idiom"): (0.6652, 0.2829),
        ("sentence", "full"): (0.4548, 0.2658),
        ("span", "full"): (0.6642, 0.3189),
    }
    for (query_set, mode), values in published.items():
        assert [round(hits[query_set, mode, usage], 4) for usage in ("literal", "idiomatic")] == list(values)


def test_overlap_is_that_of_sets_of_words(study):
    found = idiom_overlap(study, {"val": "val"}, 500, 1)
    assert found["note"].null_count() == len(found)
    documents, queries = (json.loads((DATA / f"val/{name}.json").read_text("utf-8")) for name in ("indexes", "queries"))

    def words(row, spans):
        text = row["sentence"] if spans else row["sentence"].replace(row["span"], " ", 1)
        return {word for word in re.findall(r"[a-z]+", text.lower()) if len(word) > 1} - ENGLISH_STOP_WORDS

    for name, spans in (("all", True), ("without spans", False)):
        known = [(row["idiom"], row["usage"], words(row, spans)) for row in documents]
        jaccards, recalls = [], []
        for query in queries:
            asked, side = words(query, spans), query["usage"] == "literal"
            others = [b for idiom, usage, b in known if idiom == query["idiom"] and (usage == "literal") == side]
            jaccards.append(np.mean([len(asked & b) / len(asked | b) for b in others]))
            recalls.append(np.mean([len(asked & b) / len(asked) for b in others]))
        every = found.filter((pl.col("usage") == "all") & (pl.col("found") == "all") & (pl.col("words") == name))
        means = dict(every.select("quantity", "mean").iter_rows())
        assert means["jaccard"] == pytest.approx(np.mean(jaccards))
        assert means["query recall"] == pytest.approx(np.mean(recalls))


@pytest.mark.slow
def test_minilm_by_subject_is_as_published(study, monkeypatch):
    monkeypatch.setenv("VERSEIR_CACHE", str(ROOT / ".cache"))
    entry = load_registry([ROOT / "config/systems-idiolink.yaml"])["all-minilm-l6-v2"]
    chunks = read_table(study / "corpora/test/chunks/full.parquet", CHUNKS)
    encoder = load_encoder(entry)
    store = VectorStore(encoder.identity)
    for view in ("sentence", "span"):
        queries = read_table(study / f"queries/{view}.parquet", QUERIES)
        texts = QueryEncoding(view, "").readings(entry, queries["text"].to_list(), queries["span"].to_list())
        store.encode_missing(encoder, {"document": chunks["text"].to_list(), "query": texts})
        vectors = [store.get(chunks["text"].to_list(), "document"), store.get(texts, "query")]
        run = search(
            queries["query_id"].to_list(), vectors[1], chunks["chunk_id"], chunks["poem_id"], vectors[0], DEPTH
        )
        write_table(run, study / f"runs/test/full/{view}/minilm.parquet", RUN)
    cross = CROSS | {"modes": {"test": ["full"]}, "systems": {"minilm": "dense"}}
    found = subject_means(study, cross, ["Rprec", "nDCG@10"], DEPTH, 500, 1)
    means = {tuple(row[:2]): round(row[2], 4) for row in found.select("query_set", "measure", "mean").iter_rows()}
    assert [means["sentence", name] for name in ("Rprec", "nDCG@10")] == [0.0766, 0.7048]
    assert [means["span", name] for name in ("Rprec", "nDCG@10")] == [0.0315, 0.3224]
