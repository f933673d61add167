"""What queries share with judged poems in any script, and ratios and rank correlations by bootstrap."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.chunks import make_chunks
from verseir.overlap import containment, longest_shared_run
from verseir.scripts import dominant_script
from verseir.shared import SHARED, measure_shared
from verseir.stats.bootstrap import bootstrap_means
from verseir.stats.paired_ranks import paired_rank_correlations
from verseir.stats.rank_resamples import resampled_correlations
from verseir.stats.ratios import bootstrap_ratios
from verseir.systems.tokenizers import words_by_script, words_of_long_text
from verseir.tables import EXPLANATIONS, POEMS, QRELS, QUERIES, check_table

NONE = pl.DataFrame(schema=dict(EXPLANATIONS.columns))
POEM = {
    "en": ["the moon over the sea", "and the ship sails"],
    "zh": ["床前明月光", "疑是地上霜"],
    "ja": ["ふるいけや", "蛙飛びこむ"],
    "ar": ["قِفا نَبكِ مِن ذِكرى", "حَبيبٍ وَمَنزِلِ"],
}
ASKED = {"q1": "the moon and the ship", "q2": "明月光在哪里", "q3": "...", "q4": "قفا نبك من"}


def frame(table, rows):
    full = [{name: row.get(name) for name in table.columns} for row in rows]
    return pl.DataFrame(full, schema=dict(table.columns))


def measured(size=100, order=1, **changes):
    poems = [
        {"poem_id": name, "language": None if name == "ja" else name, "verses": [{"first": v} for v in lines]}
        for name, lines in POEM.items()
    ]
    queries = [{"query_id": name, "query_set": "set", "text": text} for name, text in ASKED.items()]
    pairs = [(i + j, q, p) for i, q in enumerate(ASKED) for j, p in enumerate(POEM)]
    qrels = [{"query_id": q, "poem_id": p, "grade": n % 4} for n, q, p in pairs]
    poems, queries = frame(POEMS, poems[::order]), frame(QUERIES, queries[::order])
    chunks = make_chunks(poems, NONE, ["verse"], size=size)
    given = {"poems": poems, "explanations": NONE, "chunks": chunks, "queries": queries}
    given |= {"qrels": frame(QRELS, qrels[::order]), "preset": "full"}
    return measure_shared("c", "verse", ["verse"], **(given | changes))


def test_each_judged_pair_has_what_its_texts_share():
    found = check_table(measured(), SHARED, "shared")
    assert len(found) == 16
    for row in found.iter_rows(named=True):
        query = words_by_script(ASKED[row["query_id"]], "full")
        poem = words_by_script("\n".join(POEM[row["poem_id"]]), "full")
        assert row["containment"] == containment(query, poem)
        assert row["n_shared"] == len(set(query) & set(poem))
        assert row["longest_run"] == longest_shared_run(query, poem).length
    at = {(row["query_id"], row["poem_id"]): row for row in found.iter_rows(named=True)}
    assert at["q1", "en"]["containment"] == 1.0
    assert at["q2", "zh"]["longest_run"] == 2  # two pairs: three characters
    assert at["q4", "ar"]["longest_run"] == 3  # bare against vocalised
    assert at["q2", "zh"]["same_script"] and not at["q2", "ja"]["same_script"]
    assert at["q3", "en"]["query_script"] is None
    assert at["q3", "en"]["containment"] == 0.0


def test_neither_the_order_of_rows_nor_chunks_change_anything():
    assert measured().equals(measured(order=-1))
    assert measured().equals(measured(size=1))


def test_a_poem_that_the_mode_does_not_index_is_left_out():
    poems = frame(POEMS, [{"poem_id": "en", "verses": [{"first": v} for v in POEM["en"]]}])
    assert set(measured(chunks=make_chunks(poems, NONE, ["verse"]))["poem_id"]) == {"en"}


def test_nearness_is_the_highest_cosine_with_a_chunk():
    def encode(texts):
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    vectors = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [0.0, 0.0]], dtype=np.float32)
    found = measured(size=1, query_vectors=vectors, encode=encode)
    for row in found.iter_rows(named=True):
        query = vectors[list(ASKED).index(row["query_id"])]
        norm = np.linalg.norm(query) or 1.0
        chunks = encode(POEM[row["poem_id"]])
        assert row["proximity"] == pytest.approx(max(chunks @ query / np.linalg.norm(chunks, axis=1)) / norm, abs=1e-6)


@given(st.text(max_size=60))
def test_a_text_read_at_once_has_the_same_words(text):
    assert words_of_long_text(text, "full") == words_by_script(text, "full")


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Ａ moon 月", "Latin"), ("ふるい池や蛙", "Kana"), ("月光 a", "Han"), ("حبيب", "Arabic"),
        ("हिन्दी", "Devanagari"), ("12 ... \u0301", None), ("", None), ("\ud800", None),
        ("한국 시", "Hangul"), ("луна", "Cyrillic"),
    ],
)  # fmt: skip
def test_the_dominant_script(text, script):
    assert dominant_script(text) == script


def test_ratios_of_one_are_means():
    rng = np.random.default_rng(1)
    values, clusters = rng.random((40, 3)), rng.integers(0, 25, 40)
    for own in (None, clusters):
        mean = bootstrap_means(values, own, 499, 3)
        ratio = bootstrap_ratios(values, np.ones_like(values), own, 499, 3)
        np.testing.assert_allclose([ratio.estimate, ratio.low, ratio.high], mean, rtol=1e-12)
        assert (ratio.p >= 2 / 500).all()


def test_ratios_that_do_not_vary_have_no_interval_but_as_proportions():
    top, bottom = np.array([[0.0, 2.0], [0.0, 4.0], [0.0, 0.0]]), np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 0.0]])
    found = bootstrap_ratios(top, bottom, None, 99, 0, np.array([True, False]))
    assert found.estimate.tolist() == [0.0, 2.0]
    assert found.low[0] == 0.0 < found.high[0] < 1
    assert np.isnan([found.low[1], found.high[1], *found.p]).all()
    nobody = bootstrap_ratios(np.zeros((2, 1)), np.zeros((2, 1)))
    assert np.isnan([nobody.estimate, nobody.low]).all()


def test_rank_correlations_are_those_of_the_small_bootstrap():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 6, 50) / 5
    y = np.round(rng.random((50, 2)) + x[:, None] / 3, 1)
    for clusters in (None, rng.integers(0, 30, 50)):
        small = paired_rank_correlations(y, np.column_stack([x, rng.random(50)]), clusters, 299, 5)
        found = resampled_correlations(y, x, np.array([[0, 1]]), clusters, 299, 5)
        np.testing.assert_allclose(found.estimate[:2], small.first.estimate, rtol=1e-9)
        np.testing.assert_allclose(found.low[:2], small.first.low, rtol=1e-9)
        assert found.estimate[2] == pytest.approx(found.estimate[0] - found.estimate[1])
    flat = resampled_correlations(y, np.zeros(50), np.array([[0, 1]]), None, 99, 0)
    assert np.isnan(flat.estimate).all()
    assert np.isnan(flat.p).all()
