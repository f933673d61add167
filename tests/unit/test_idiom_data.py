"""What is in an idiom benchmark, and the words that its queries share with relevant documents."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from small_idioms import documents, questions, relevant, write_study

from verseir.analyses.idiom_data import idiom_data
from verseir.analyses.idiom_overlap import idiom_overlap, pair_overlaps, word_matrices


def test_counts_and_lengths(tmp_path):
    found = idiom_data(write_study(tmp_path), {"c": "sentence"})
    rows = {(row["role"], row["usage"]): row for row in found.iter_rows(named=True)}
    assert set(rows) == {("document", u) for u in ("all", "literal", "idiomatic", "sense", "simplification")} | {
        ("query", u) for u in ("all", "literal", "idiomatic")
    }
    every = rows["document", "all"]
    assert {name: every[name] for name in ("n", "n_idioms", "n_subjects", "n_gold")} == {
        "n": 16,
        "n_idioms": 2,
        "n_subjects": 2,
        "n_gold": 4,
    }
    lengths = [len(row[1].split()) for row in documents()]
    assert (every["words_min"], every["words_max"]) == (min(lengths), max(lengths))
    assert every["words_mean"] == pytest.approx(np.mean(lengths))
    assert every["n_span_is_idiom"] == 8
    assert rows["document", "sense"]["n_span_is_idiom"] == 0
    assert rows["document", "literal"]["span_words_mean"] == pytest.approx(2.5)
    # The spans of the queries differ from their idioms in case alone.
    assert rows["query", "all"]["n_span_is_idiom"] == rows["query", "all"]["n"] == len(questions())
    assert sum(rows["query", usage]["n"] for usage in ("literal", "idiomatic")) == len(questions())


def test_a_corpus_without_queries_has_rows_of_documents_alone(tmp_path):
    assert set(idiom_data(write_study(tmp_path), {"c": None})["role"]) == {"document"}
    assert len(idiom_data(tmp_path, {})) == 0


def words_of(text):
    """Letter by letter: what a word is, said in another way than the analysis does."""
    runs, run = [], ""
    for letter in text.lower() + " ":
        if "a" <= letter <= "z":
            run += letter
        else:
            runs.append(run)
            run = ""
    return {run for run in runs if len(run) >= 2 and run not in ENGLISH_STOP_WORDS}


def without(text, span):
    if not span:
        return text
    before, found, after = text.partition(span)
    return f"{before} {after}" if found else text


TEXTS = st.lists(
    st.sampled_from("cold feet the and beans It's COLD x é-tude naïve feet, spilt".split()), max_size=7
).map(" ".join)
SPANS = st.sampled_from([None, "", "cold feet", "cold", "beans", "not there"])


@given(
    st.lists(st.tuples(TEXTS, SPANS), min_size=1, max_size=4), st.lists(st.tuples(TEXTS, SPANS), min_size=1, max_size=4)
)
def test_overlaps_are_those_of_sets_of_words(asked, known):
    frames = [
        pl.DataFrame(rows, schema={"text": pl.String, "span": pl.String}, orient="row") for rows in (asked, known)
    ]
    pairs = pl.DataFrame({"query": q, "document": d} for q in range(len(asked)) for d in range(len(known)))
    found = pair_overlaps(*frames, pairs)
    for row, (q, d) in zip(found, pairs.iter_rows(), strict=True):
        expected = []
        for taken in (False, True):
            a, b = (words_of(without(*text) if taken else text[0]) for text in (asked[q], known[d]))
            expected += [len(a & b) / max(len(a | b), 1), len(a & b) / max(len(a), 1)]
        assert row == pytest.approx(expected)
        assert (row >= 0).all() and (row <= 1).all()
        assert row[0] <= row[1] + 1e-12


def test_a_text_without_words_shares_none():
    (matrix,) = word_matrices(["", "of the", "x 42"])
    assert matrix.shape == (3, 0)
    frame = pl.DataFrame({"text": ["of"], "span": [None]}, schema={"text": pl.String, "span": pl.String})
    assert pair_overlaps(frame, frame, pl.DataFrame({"query": [0], "document": [0]})).tolist() == [[0.0] * 4]


def test_the_table_is_the_mean_over_queries_of_means_over_documents(tmp_path):
    found = idiom_overlap(write_study(tmp_path), {"c": "span"}, 100, 1)
    docs, asked = {row[0]: row for row in documents()}, {row[0]: row for row in questions()}
    pairs = [(row["query_id"], row["poem_id"]) for row in relevant(docs.values(), asked.values())]
    for usage in ("all", "idiomatic", "literal"):
        for other in ("all", "literal", "idiomatic", "sense", "simplification"):
            means = []
            for query, row in sorted(asked.items()):
                if usage not in ("all", row[5]):
                    continue
                values = []
                for _, document in (pair for pair in pairs if pair[0] == query and other in ("all", docs[pair[1]][5])):
                    # The span of these queries is written in capitals, so it is not taken out of their texts.
                    a, b = words_of(row[1]), words_of(without(docs[document][1], docs[document][3]))
                    values.append(len(a & b) / len(a | b))
                if values:
                    means.append(np.mean(values))
            here = found.filter(
                (pl.col("usage") == usage)
                & (pl.col("found") == other)
                & (pl.col("words") == "without spans")
                & (pl.col("quantity") == "jaccard")
            )
            assert len(here) == bool(means)
            if means:
                assert here["n_queries"].item() == len(means)
                assert here["mean"].item() == pytest.approx(np.mean(means))
