"""Exact max-pooled search over vectors: against a slow reference, and the same whatever the blocks and the order."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from verseir.faults import UserError
from verseir.ranking import order_chunks
from verseir.systems import pooled
from verseir.systems.dense import search
from verseir.tables import RUN, check_table


class Corpus:
    """Chunks of poems with vectors, and queries; deterministic in the seed."""

    def __init__(self, vectors, queries, poem_of):
        self.vectors = np.asarray(vectors, dtype=np.float32)
        self.queries = np.asarray(queries, dtype=np.float32)
        self.poems = [f"p{i:04d}" for i in poem_of]
        self.chunks = [f"{poem}#{i}" for i, poem in enumerate(self.poems)]
        self.positions = list(range(len(self.poems)))
        self.query_ids = [f"q{i:03d}" for i in range(len(self.queries))]

    def search(self, depth, **options):
        return search(
            self.query_ids,
            self.queries,
            self.chunks,
            self.poems,
            self.vectors,
            depth,
            positions=self.positions,
            **options,
        )

    def shuffled(self, seed):
        rng = np.random.default_rng(seed)
        chunk, query = rng.permutation(len(self.chunks)), rng.permutation(len(self.query_ids))
        other = Corpus.__new__(Corpus)
        other.vectors, other.queries = self.vectors[chunk], self.queries[query]
        for name in ("poems", "chunks", "positions"):
            setattr(other, name, [getattr(self, name)[i] for i in chunk])
        other.query_ids = [self.query_ids[i] for i in query]
        return other

    def reference(self, depth):
        """Every score from a correctly rounded sum, every result from a plain sort."""
        rows = []
        for query_id, query in zip(self.query_ids, self.queries.astype(float), strict=True):
            best = {}
            for position, (poem, vector) in enumerate(zip(self.poems, self.vectors.astype(float), strict=True)):
                score = float(np.float32(math.fsum(a * b for a, b in zip(query, vector, strict=True))))
                if poem not in best or score > best[poem][0]:
                    best[poem] = (score, self.chunks[position])
            ranked = sorted(best, key=lambda poem, best=best: (-best[poem][0], poem))[:depth]
            rows += [(query_id, poem, rank, *best[poem]) for rank, poem in enumerate(ranked, 1)]
        return pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")


def random_corpus(seed, n_chunks=120, n_poems=40, n_queries=5, d=24):
    rng = np.random.default_rng(seed)
    poem_of = np.sort(rng.integers(0, n_poems, n_chunks))
    return Corpus(rng.standard_normal((n_chunks, d)), rng.standard_normal((n_queries, d)), poem_of)


def crowded_corpus(seed, n_chunks, n_poems, d=64, spread=1e-7):
    """Vectors so close to each other that float32 sums cannot tell them apart."""
    rng = np.random.default_rng(seed)
    center = rng.standard_normal(d)
    vectors = center + spread * rng.standard_normal((n_chunks, d))
    return Corpus(vectors, center + 0.1 * rng.standard_normal((2, d)), np.sort(rng.integers(0, n_poems, n_chunks)))


@pytest.mark.parametrize("depth", [1, 3, 39, 1000])
def test_equals_the_reference(depth):
    corpus = random_corpus(depth)
    run = corpus.search(depth)
    assert_frame_equal(run, corpus.reference(depth), check_exact=True)
    check_table(run, RUN, "run")


@pytest.mark.parametrize("spread", [0.0, 1e-9, 1e-7, 1e-6])
@pytest.mark.parametrize(("n_chunks", "n_poems"), [(500, 400), (400, 20)])
def test_equals_the_reference_where_blas_cannot_tell_scores_apart(spread, n_chunks, n_poems):
    # more poems than there is room for candidates: some are made exact before the end
    corpus = crowded_corpus(7, n_chunks, n_poems, spread=spread)
    for depth in (1, 10):
        assert_frame_equal(corpus.search(depth, block=64), corpus.reference(depth), check_exact=True)


GRID = st.integers(-2, 2)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_equals_the_reference_with_many_ties(data):
    d = data.draw(st.integers(1, 4))
    vector = st.lists(GRID, min_size=d, max_size=d)
    vectors = data.draw(st.lists(vector, min_size=1, max_size=25))
    queries = data.draw(st.lists(vector, min_size=1, max_size=3))
    poem_of = sorted(data.draw(st.lists(st.integers(0, 8), min_size=len(vectors), max_size=len(vectors))))
    corpus = Corpus(vectors, queries, poem_of)
    depth = data.draw(st.integers(1, 10))
    block = data.draw(st.integers(1, 30))
    assert_frame_equal(corpus.search(depth, block=block), corpus.reference(depth), check_exact=True)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_approximate_scores_may_be_off_by_all_of_the_margin(data):
    # Real errors are far below their bound; here they reach it, whichever way does most harm.
    n = data.draw(st.integers(1, 40))
    poem_of = np.array(sorted(data.draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))))
    exact = np.array(data.draw(st.lists(st.integers(0, 8), min_size=n, max_size=n)), dtype=np.float32)
    errors = np.array(data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n)), dtype=np.float32)
    names = order_chunks([f"c{i:02d}" for i in range(n)], [f"p{i:02d}" for i in poem_of])
    n_poems = len(names.poem_ids)
    depth = data.draw(st.integers(1, n_poems))
    capacity = data.draw(st.integers(min(depth + 1, n_poems), n_poems))
    block = data.draw(st.integers(1, n))
    corpus = (names.starts, names.order, exact[:, None], np.ones((1, 1), dtype=np.float32), np.array([1.0]))
    state = (
        np.empty((1, capacity), dtype=pooled.CANDIDATE),
        np.zeros(1, dtype=np.int64),
        np.full(1, -np.inf, dtype=np.float32),
    )
    for first in range(0, n, block):
        approximate = np.ascontiguousarray((exact + errors)[None, first : first + block])
        pooled.dense_scan(approximate, first, depth, names.poem_of, *corpus, *state)
    keys = np.full((1, capacity), np.iinfo(np.int64).min)
    pooled.dense_finish(depth, *corpus, *state, keys)
    ranking = np.argsort(keys[0])[::-1][:depth]
    scores, poems = pooled.read_keys(keys[0][ranking])
    places = state[0]["place"][0][ranking]
    best = [max(range(a, b), key=lambda i: (exact[i], -i)) for a, b in itertools.pairwise(names.starts)]
    expected = sorted(range(n_poems), key=lambda poem: (-exact[best[poem]], poem))[:depth]
    assert poems.tolist() == expected
    assert scores.tolist() == [exact[best[poem]] for poem in expected]
    assert places.tolist() == [best[poem] for poem in expected]


@pytest.mark.parametrize("make", [random_corpus, lambda seed: crowded_corpus(seed, 400, 300)])
def test_blocks_threads_and_order_change_nothing(make):
    corpus = make(3)
    expected = corpus.search(20)
    for block in (1, 2, 7, 64, 119, 120, 121, 10_000):
        assert_frame_equal(corpus.search(20, block=block), expected, check_exact=True)
    for threads in (1, 2, 3):
        assert_frame_equal(corpus.search(20, threads=threads), expected, check_exact=True)
    for seed in range(5):
        assert_frame_equal(corpus.shuffled(seed).search(20, block=50), expected, check_exact=True)


def test_a_query_alone_scores_as_among_others():
    corpus = random_corpus(11)
    run = corpus.search(10)
    for i, query_id in enumerate(corpus.query_ids):
        alone = search(
            [query_id], corpus.queries[i : i + 1], corpus.chunks, corpus.poems, corpus.vectors, 10,
            positions=corpus.positions,
        )  # fmt: skip
        assert_frame_equal(alone, run.filter(pl.col("query_id") == query_id), check_exact=True)


def test_equal_chunks_of_a_poem_show_the_first():
    corpus = Corpus([[1, 0]] * 12, [[1, 0]], [0] * 12)
    assert corpus.shuffled(1).search(5)["chunk_id"].to_list() == ["p0000#0"]


def test_tied_poems_go_by_poem_id_at_the_cut():
    corpus = Corpus([[1, 0]] * 300, [[1, 0]], range(300))
    assert corpus.shuffled(2).search(3)["poem_id"].to_list() == ["p0000", "p0001", "p0002"]


def test_negative_scores_are_ranked():
    run = Corpus([[-3], [-1], [-2]], [[1]], [0, 1, 2]).search(10)
    assert run["score"].to_list() == [-1.0, -2.0, -3.0]


def test_no_query_gives_an_empty_run():
    corpus = random_corpus(1)
    run = search([], np.empty((0, 24)), corpus.chunks, corpus.poems, corpus.vectors)
    assert run.is_empty()
    assert run.schema == pl.Schema(RUN.columns)


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_vectors_that_are_not_finite_are_refused(broken):
    corpus = random_corpus(1)
    corpus.vectors[17, 3] = broken
    with pytest.raises(UserError, match=f"1 chunk vectors are not finite, the first of '{corpus.chunks[17]}'"):
        corpus.search(5)
    corpus = random_corpus(1)
    corpus.queries[4, 0] = broken
    with pytest.raises(UserError, match="1 query vectors are not finite, the first of 'q004'"):
        corpus.search(5)


def test_vectors_that_do_not_fit_are_refused():
    corpus = random_corpus(1)
    with pytest.raises(UserError, match="24 dimensions, chunk vectors 23"):
        search(corpus.query_ids, corpus.queries, corpus.chunks, corpus.poems, corpus.vectors[:, :23])
    with pytest.raises(UserError, match="expected 120 rows"):
        search(corpus.query_ids, corpus.queries, corpus.chunks, corpus.poems, corpus.vectors[:-1])
    with pytest.raises(UserError, match="too long for float32"):
        search(corpus.query_ids, corpus.queries * 1e30, corpus.chunks, corpus.poems, corpus.vectors * 1e10)
    with pytest.raises(UserError, match="depth is 0"):
        corpus.search(0)
