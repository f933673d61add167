"""The ranking policy."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from verseir.faults import UserError
from verseir.ranking import check_run, order_chunks, top_k
from verseir.tables import RUN, check_table


def scored(rows):
    return pl.DataFrame(rows, schema={"query_id": pl.String, "poem_id": pl.String, "score": pl.Float64}, orient="row")


def run_of(rows):
    return pl.DataFrame([(*row, None) for row in rows], schema=dict(RUN.columns), orient="row")


def test_order_is_score_then_poem_id_bytewise():
    run = top_k(scored([("q", "b", 1.0), ("q", "é", 2.0), ("q", "Z", 2.0), ("q", "a", 2.0), ("q", "ب", 2.0)]))
    assert run["poem_id"].to_list() == ["Z", "a", "é", "ب", "b"]
    assert run["rank"].to_list() == [1, 2, 3, 4, 5]
    check_table(run, RUN, "run")


def test_a_tie_at_the_cut_goes_by_poem_id():
    run = top_k(scored([("q", name, 1.0) for name in "dcbae"]), depth=2)
    assert run["poem_id"].to_list() == ["a", "b"]


def test_scores_that_are_equal_in_float32_tie():
    run = top_k(scored([("q", "z", 1.000000001), ("q", "a", 1.0)]))
    assert run["poem_id"].to_list() == ["a", "z"]


def test_minus_zero_ties_with_zero():
    run = top_k(scored([("q", "z", 0.0), ("q", "a", -0.0)]))
    assert run["poem_id"].to_list() == ["a", "z"]


def test_depth_must_be_positive():
    with pytest.raises(UserError, match="depth is 0"):
        top_k(scored([("q", "a", 1.0)]), depth=0)


ROWS = st.lists(
    st.tuples(st.sampled_from("pq"), st.text("abé٠Z", max_size=2), st.integers(-2, 2)),
    unique_by=lambda row: row[:2],
    max_size=20,
)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(1, 6), st.randoms())
def test_top_k_is_the_head_of_the_full_order_for_any_input_order(rows, depth, random):
    expected = []
    for query in "pq":
        mine = sorted((row for row in rows if row[0] == query), key=lambda row: (-row[2], row[1].encode()))
        expected += [(query, poem, rank, float(score)) for rank, (_, poem, score) in enumerate(mine[:depth], 1)]
    random.shuffle(rows)
    assert top_k(scored(rows), depth).drop("chunk_id").rows() == expected


def test_chunks_are_ordered_by_poem_then_position():
    names = order_chunks(["b#10", "a#0", "b#9", "b#0"], ["b", "a", "b", "b"], [10, 0, 9, 0])
    assert names.chunk_ids.to_list() == ["a#0", "b#0", "b#9", "b#10"]
    assert names.poem_ids.to_list() == ["a", "b"]
    assert names.poem_of.tolist() == [0, 1, 1, 1]
    assert names.starts.tolist() == [0, 1, 4]
    assert names.order.tolist() == [1, 3, 2, 0]


def test_chunks_without_positions_go_by_chunk_id():
    assert order_chunks(["y", "x", "z"], ["p", "p", "o"]).chunk_ids.to_list() == ["z", "x", "y"]


@pytest.mark.parametrize(
    ("chunks", "poems", "positions", "message"),
    [
        ([], [], None, "no chunk"),
        (["a"], ["p", "q"], None, "as many"),
        (["a", "b"], ["p", "q"], [1], "as many"),
        (["a", "b", "a"], ["p", "q", "r"], None, "'a' comes more than once"),
    ],
)
def test_chunks_that_do_not_fit_are_refused(chunks, poems, positions, message):
    with pytest.raises(UserError, match=message):
        order_chunks(chunks, poems, positions)


def test_a_run_from_elsewhere_is_sorted_and_its_ties_ranked():
    run = run_of([("q", "z", 1, 2.0), ("q", "y", 2, 2.0), ("p", "x", 1, -1.0)])
    expected = run_of([("p", "x", 1, -1.0), ("q", "y", 1, 2.0), ("q", "z", 2, 2.0)])
    assert_frame_equal(check_run(run, "run.parquet"), expected)


def test_an_empty_run_passes():
    assert check_run(run_of([]), "run.parquet").is_empty()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("q", "a", 1, 2.0), ("q", "b", 3, 1.0)], "not 1, 2, 3 .*query 'q', rank 3"),
        ([("q", "a", 0, 2.0), ("q", "b", 1, 1.0)], "not 1, 2, 3 .*query 'q', rank 0"),
        ([("q", "a", 1, 1.0), ("q", "b", 2, 2.0)], "contradict scores: query 'q', rank 2"),
        ([("q", "a", 1, float("inf"))], "not a finite number"),
        ([("q", "a", 1, float("nan"))], "not a valid 'run' table"),
        ([("q", "a", 1, 1.0), ("q", "a", 2, 1.0)], "not a valid 'run' table"),
    ],
)
def test_a_run_from_elsewhere_that_breaks_the_rules_is_refused(rows, message):
    with pytest.raises(UserError, match=message):
        check_run(run_of(rows), "run.parquet")


def test_order_of_many_chunks_does_not_depend_on_input_order():
    rng = np.random.default_rng(1)
    poems = [f"p{i}" for i in rng.integers(0, 30, 200)]
    chunks = [f"{poem}#{i}" for i, poem in enumerate(poems)]
    shuffle = rng.permutation(200)
    one = order_chunks(chunks, poems, list(range(200)))
    two = order_chunks([chunks[i] for i in shuffle], [poems[i] for i in shuffle], shuffle.tolist())
    assert one.chunk_ids.equals(two.chunk_ids)
    assert (shuffle[two.order] == one.order).all()
