"""BM25 as rank_bm25 has it, against a plain reading of its formula, and the two orders of tied poems."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from verseir.faults import UserError
from verseir.systems.bm25 import Bm25Index
from verseir.systems.sparse import sum_weights
from verseir.tables import RUN, check_table


def plain_scores(texts, query, k1, b):
    """Scores of all texts as Python floats: token after token of the query, a repeated one again, an unknown one 0."""
    n_texts = len(texts)
    mean_length = sum(map(len, texts)) / n_texts
    with_token = {}
    for text in texts:
        for token in dict.fromkeys(text):
            with_token[token] = with_token.get(token, 0) + 1
    idf = {token: math.log(n_texts - n + 0.5) - math.log(n + 0.5) for token, n in with_token.items()}
    total = 0.0
    for value in idf.values():
        total += value
    floor = 0.25 * (total / len(idf))
    scores = []
    for text in texts:
        score = 0.0
        for token in query:
            f = text.count(token)
            if token in idf:
                weight = floor if idf[token] < 0 else idf[token]
                score += weight * (f * (k1 + 1) / (f + k1 * (1 - b + b * len(text) / mean_length)) if f else 0.0)
        scores.append(score)
    return scores


def build(texts, k1=1.5, b=0.75, order=None, poem_of=None):
    """An index of texts; each is a poem of its own, unless ``poem_of`` says otherwise."""
    order = list(range(len(texts)) if order is None else order)
    poems = [f"p{i:04d}" for i in (range(len(texts)) if poem_of is None else poem_of)]
    names = [f"{poem}#{i:04d}" for i, poem in enumerate(poems)]
    return Bm25Index.build(
        [texts[i] for i in order], [names[i] for i in order], [poems[i] for i in order], "okapi", k1, b, positions=order
    )


def random_texts(seed, n_texts=200, vocabulary=50, longest=9):
    rng = np.random.default_rng(seed)

    def text(n):
        return [f"w{i}" for i in rng.zipf(1.25, n) % vocabulary]

    return [text(rng.integers(1, longest)) for _ in range(n_texts)], [text(rng.integers(1, 7)) for _ in range(15)]


def sharing(texts, query):
    return [i for i, text in enumerate(texts) if set(text) & set(query)]


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (2.0, 0.2), (0.6, 0.9), (0.0, 0.0), (1.5, 1.0)])
def test_scores_are_those_of_the_formula_to_the_last_bit(k1, b):
    texts, queries = random_texts(1)
    queries += [["w1", "w1", "w3", "w1"], ["unknown", "w2"]]
    index = build(texts, k1, b)
    for query in queries:
        expected = np.array(plain_scores(texts, query, k1, b))
        scores, shares = np.empty(len(texts)), np.empty(len(texts), dtype=bool)
        tokens = np.array([index.vocabulary[token] for token in query if token in index.vocabulary])
        sum_weights(index.data, index.indices, index.indptr, tokens, scores, shares)
        assert scores.tolist() == expected.tolist()
        run = index.search(["q"], [query])
        check_table(run, RUN, "run")
        found = sharing(texts, query)
        assert sorted(run["poem_id"]) == [f"p{i:04d}" for i in found]
        assert dict(run.select("poem_id", "score").rows()) == {f"p{i:04d}": np.float32(expected[i]) for i in found}
        assert run.rows() == sorted(run.rows(), key=lambda row: (-row[3], row[1]))


@pytest.mark.parametrize("depth", [1, 7, 1000])
def test_introsort_is_the_reverse_of_numpys_portable_sort_of_all_scores(depth):
    texts, queries = random_texts(2, longest=4)
    ids = [f"q{i:02d}" for i in range(len(queries))]
    run = build(texts).search(ids, queries, depth, ties="introsort")
    ties = 0
    for query_id, query in zip(ids, queries, strict=True):
        scores = np.array(plain_scores(texts, query, 1.5, 0.75))
        order = [int(i) for i in np.argsort(scores.astype(np.longdouble))[::-1] if i in sharing(texts, query)][:depth]
        rows = run.filter(pl.col("query_id") == query_id)
        assert rows["poem_id"].to_list() == [f"p{i:04d}" for i in order]
        assert rows["rank"].to_list() == list(range(1, len(order) + 1))
        assert rows["score"].to_list() == scores[order].astype(np.float32).tolist()
        ties += len(order) - len(set(scores[order]))
    assert ties or depth == 1


def test_the_orders_differ_in_ties_alone():
    texts, queries = random_texts(3, longest=4)
    ids = [f"q{i:02d}" for i in range(len(queries))]
    index = build(texts)
    by_id, by_introsort = (index.search(ids, queries, ties=ties) for ties in ("id", "introsort"))
    assert not by_id.equals(by_introsort)
    assert_frame_equal(by_id.drop("poem_id", "chunk_id"), by_introsort.drop("poem_id", "chunk_id"), check_exact=True)
    assert_frame_equal(
        by_id.sort("query_id", "poem_id").drop("rank"), by_introsort.sort("query_id", "poem_id").drop("rank")
    )


@pytest.mark.parametrize("ties", ["id", "introsort"])
def test_input_order_threads_and_saving_change_nothing(ties, tmp_path):
    texts, queries = random_texts(4)
    rng = np.random.default_rng(0)
    poem_of = np.sort(rng.integers(0, 60, len(texts))).tolist()
    ids = [f"q{i:02d}" for i in range(len(queries))]
    expected = build(texts, poem_of=poem_of).search(ids, queries, 10, ties=ties, threads=1)
    other = build(texts, poem_of=poem_of, order=rng.permutation(len(texts)))
    other.save(tmp_path / "index")
    other = Bm25Index.load(tmp_path / "index")
    assert other.data.dtype == np.float64
    turn = rng.permutation(len(ids))
    run = other.search([ids[i] for i in turn], [queries[i] for i in turn], 10, ties=ties, threads=3)
    assert_frame_equal(run, expected, check_exact=True)


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4), min_size=1, max_size=30), st.data())
def test_a_poem_has_the_score_of_its_best_sharing_chunk(texts, data):
    """In small corpora the mean idf, and with it a score, can lie below 0: below that of chunks that share nothing."""
    poem_of = sorted(data.draw(st.lists(st.integers(0, 5), min_size=len(texts), max_size=len(texts))))
    query = data.draw(st.lists(st.sampled_from("abx"), max_size=3))
    depth = data.draw(st.integers(1, 8))
    scores = plain_scores(texts, query, 1.2, 0.75)
    best = {}
    for i in sharing(texts, query):
        best[poem_of[i]] = max(best.get(poem_of[i], -math.inf), scores[i])
    expected = sorted(((-np.float32(score), f"p{poem:04d}") for poem, score in best.items()))[:depth]
    run = build(texts, 1.2, 0.75, poem_of=poem_of).search(["q"], [query], depth)
    assert [(-score, poem) for poem, score in run.select("poem_id", "score").rows()] == expected
    for poem, chunk, score in run.select("poem_id", "chunk_id", "score").rows():
        firsts = [i for i in sharing(texts, query) if f"p{poem_of[i]:04d}" == poem and np.float32(scores[i]) == score]
        assert chunk == f"{poem}#{firsts[0]:04d}"


def test_ties_at_the_cut_are_completed():
    texts = [["a"] if i % 3 else ["a", "a"] for i in range(300)] + [["b"]] * 400
    expected = build(texts).search(["q"], [["a"]])
    assert len(expected) == 300
    for depth in (1, 99, 100, 101, 299):
        assert_frame_equal(build(texts).search(["q"], [["a"]], depth), expected.head(depth), check_exact=True)


def test_queries_that_find_nothing_give_an_empty_run():
    for ties in ("id", "introsort"):
        run = build([["a"], ["b"]]).search(["q", "r"], [["x"], []], ties=ties)
        assert run.is_empty()
        assert run.schema == pl.Schema(RUN.columns)


def test_orders_of_ties_that_do_not_fit_are_refused():
    with pytest.raises(UserError, match="unknown order of ties 'input'"):
        build([["a"]]).search(["q"], [["a"]], ties="input")
    lucene = Bm25Index.build([["a"]], ["p#0"], ["p"], "lucene")
    with pytest.raises(UserError, match="by the method okapi alone"):
        lucene.search(["q"], [["a"]], ties="introsort")
