"""Reciprocal-rank fusion."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from verseir.faults import UserError
from verseir.fusion import reciprocal_rank_fusion
from verseir.tables import RUN, check_table


def run_of(rankings, arm="c"):
    rows = [
        (query, poem, rank, -float(rank), f"{poem}#{arm}" if arm else None)
        for query, poems in rankings.items()
        for rank, poem in enumerate(poems, 1)
    ]
    return pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")


def test_sums_reciprocal_ranks():
    run = reciprocal_rank_fusion([run_of({"q": ["a", "b", "c"]}), run_of({"q": ["d", "a"]})])
    expected = {"a": 1 / 61 + 1 / 62, "d": 1 / 61, "b": 1 / 62, "c": 1 / 63}
    assert run["poem_id"].to_list() == list(expected)
    assert run["score"].to_list() == [float(np.float32(score)) for score in expected.values()]
    assert run["rank"].to_list() == [1, 2, 3, 4]
    check_table(run, RUN, "run")


def test_swapped_ranks_tie_and_go_by_poem_id():
    run = reciprocal_rank_fusion([run_of({"q": ["b", "a"]}), run_of({"q": ["a", "b"]})], depth=1)
    assert run["poem_id"].to_list() == ["a"]


def test_k_is_a_choice():
    run = reciprocal_rank_fusion([run_of({"q": ["a", "b"]})], k=0)
    assert run["score"].to_list() == [1.0, 0.5]


def test_the_chunk_is_that_of_the_best_rank():
    first = run_of({"q": ["a", "b", "c"]}, "x")
    second = run_of({"q": ["b", "a"]}, "y")
    chunks = dict(reciprocal_rank_fusion([first, second]).select("poem_id", "chunk_id").rows())
    assert chunks == {"a": "a#x", "b": "b#y", "c": "c#x"}


def test_an_arm_without_chunks_gives_way():
    run = reciprocal_rank_fusion([run_of({"q": ["a"]}, None), run_of({"q": ["a"]}, "y")])
    assert run["chunk_id"].to_list() == ["a#y"]


def test_empty_arms_are_arms():
    empty = run_of({})
    assert reciprocal_rank_fusion([empty, empty]).is_empty()
    assert reciprocal_rank_fusion([empty, run_of({"q": ["a"]})])["poem_id"].to_list() == ["a"]


def test_nothing_to_fuse_is_refused():
    with pytest.raises(UserError, match="nothing to fuse"):
        reciprocal_rank_fusion([])
    with pytest.raises(UserError, match="k=-1"):
        reciprocal_rank_fusion([run_of({})], k=-1)


RANKINGS = st.dictionaries(st.sampled_from("pq"), st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1))


@settings(max_examples=100, deadline=None)
@given(st.lists(RANKINGS, min_size=1, max_size=4), st.randoms())
def test_equals_exact_fractions_for_any_order_of_the_arms(rankings, random):
    arms = [run_of(ranking, f"arm{i}") for i, ranking in enumerate(rankings)]
    run = reciprocal_rank_fusion(arms)
    scores = {}
    for ranking in rankings:
        for query, poems in ranking.items():
            for rank, poem in enumerate(poems, 1):
                scores[query, poem] = scores.get((query, poem), 0) + Fraction(1, 60 + rank)
    rounded = {key: float(np.float32(float(score))) for key, score in scores.items()}
    order = sorted(rounded, key=lambda key: (key[0], -rounded[key], key[1]))
    assert run.select("query_id", "poem_id", "score").rows() == [(*key, rounded[key]) for key in order]
    random.shuffle(arms)
    assert_frame_equal(reciprocal_rank_fusion(arms), run, check_exact=True)
