"""Folds: nothing that hangs together is parted, sizes are even, and each query has the list of its own fold."""

import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.faults import UserError
from verseir.queries.splits import groups_of
from verseir.tables import DUPLICATES, QRELS, QUERIES, RUN, check_table, write_table
from verseir.training.folds import FOLDS, deal_folds, join_runs, parts_of

few = settings(max_examples=40, deadline=None)
REGISTERS = st.sampled_from([None, "classical", "msa", "dialect"])


def queries_of(registers, clusters=None):
    clusters = clusters or [None] * len(registers)
    rows = [
        (f"q{i:03}", "s", f"text {i}", register, None, None, None, cluster)
        for i, (register, cluster) in enumerate(zip(registers, clusters, strict=True))
    ]
    return pl.DataFrame(rows, schema=dict(QUERIES.columns), orient="row")


def qrels_of(pairs):
    return pl.DataFrame([(*pair, 1) for pair in pairs], schema=dict(QRELS.columns), orient="row")


def copies(*classes):
    rows = [(poem, min(poems), len(poems), "exact", 1.0) for poems in classes for poem in poems]
    return pl.DataFrame(rows, schema=dict(DUPLICATES.columns), orient="row")


def run_of(rows):
    ranked = [(query, poem, rank, 1.0 / rank, f"{poem}#0") for query, poem, rank in rows]
    return pl.DataFrame(ranked, schema=dict(RUN.columns), orient="row")


def fold_of(folds):
    return dict(folds.iter_rows())


NONE = qrels_of([])
judged = st.lists(st.tuples(st.integers(0, 39), st.integers(0, 30)), max_size=30)


@few
@given(st.lists(REGISTERS, min_size=3, max_size=60), st.integers(2, 6), st.integers(0, 2**40))
def test_folds_of_single_queries_differ_by_one_in_all_and_in_each_register(registers, n_folds, seed):
    n_folds = min(n_folds, len(registers))
    folds = check_table(deal_folds(queries_of(registers), NONE, n_folds, seed), FOLDS, "folds")
    assert folds["query_id"].to_list() == [f"q{i:03}" for i in range(len(registers))]
    sizes = folds["fold"].value_counts()["count"]
    assert set(folds["fold"]) == set(range(1, n_folds + 1))
    assert sizes.max() - sizes.min() <= 1
    for register in set(registers):
        own = [fold for fold, given in zip(folds["fold"], registers, strict=True) if given == register]
        counts = [own.count(fold) for fold in range(1, n_folds + 1)]
        assert max(counts) - min(counts) <= 1


@few
@given(st.lists(REGISTERS, min_size=8, max_size=40), judged, st.integers(2, 5), st.randoms(use_true_random=False))
def test_what_hangs_together_is_in_one_fold_whatever_the_order_of_rows(registers, answers, n_folds, chance):
    n = len(registers)
    queries = queries_of(registers)
    qrels = qrels_of(sorted({(f"q{query % n:03}", f"p{poem}") for query, poem in answers}))
    same = copies(["p0", "p1", "p2"], ["p3", "p4"])
    known = dict(same.select("poem_id", "class_id").iter_rows())
    groups = groups_of(queries, qrels.with_columns(pl.col("poem_id").replace(known)))
    if len(groups) < n_folds:
        with pytest.raises(UserError, match="cannot be dealt"):
            deal_folds(queries, qrels, n_folds, 1, same)
        return
    folds = deal_folds(queries, qrels, n_folds, 1, same)
    of = fold_of(folds)
    assert set(of.values()) == set(range(1, n_folds + 1))
    assert all(len({of[name] for name in group}) == 1 for group in groups)
    shuffled = [frame.sample(fraction=1, shuffle=True, seed=chance.randrange(99)) for frame in (queries, qrels, same)]
    assert folds.equals(deal_folds(*shuffled[:2], n_folds, 1, shuffled[2]))


def test_copies_of_a_poem_are_one_poem_and_a_poem_that_is_not_relevant_binds_nothing():
    queries = queries_of([None] * 4)
    qrels = qrels_of([("q000", "a"), ("q001", "b"), ("q002", "c"), ("q003", "d")])
    with pytest.raises(UserError, match="leaves 3 groups") as told:
        deal_folds(queries, qrels, 4, 1, copies(["a", "b"]))
    assert told.value.hint == "folds: 3, or fewer"
    of = fold_of(deal_folds(queries, qrels, 3, 1, copies(["a", "b"])))
    assert of["q000"] == of["q001"] and len(set(of.values())) == 3
    assert len(set(fold_of(deal_folds(queries, qrels, 4, 1)).values())) == 4
    shared = qrels_of([("q000", "a"), ("q001", "a")]).with_columns(grade=pl.lit(0, pl.Int32))
    assert len(set(fold_of(deal_folds(queries, shared, 4, 1)).values())) == 4


def test_the_largest_groups_are_dealt_first_and_small_ones_fill_up():
    queries = queries_of(["msa"] * 9, ["a"] * 4 + ["b"] * 2 + [None] * 3)
    sizes = deal_folds(queries, NONE, 3, 7)["fold"].value_counts().sort("fold")["count"]
    assert sizes.to_list() == [4, 3, 2]  # 4 | 2 | 1, then 4 | 2 | 2, then the first of the smallest
    assert fold_of(deal_folds(queries, NONE, 3, 7))["q000"] == 1


@pytest.mark.parametrize("seed", range(12))
def test_what_one_register_leaves_uneven_the_next_evens_out(seed):
    folds = deal_folds(queries_of(["msa", "classical", "dialect"] * 2), NONE, 3, seed)
    assert folds["fold"].value_counts()["count"].to_list() == [2, 2, 2]


def test_a_group_goes_where_its_register_is_rare_before_it_goes_where_there_are_few():
    registers = ["classical"] * 4 + ["msa"] * 6
    queries = queries_of(registers, ["a"] * 4 + ["b"] * 3 + ["c"] * 3)
    folds = deal_folds(queries, NONE, 2, 1).with_columns(register=pl.Series(registers))
    counts = folds.group_by("register", "fold").len().sort("register", "fold")["len"].to_list()
    assert counts == [4, 3, 3]


def test_another_seed_deals_other_folds():
    queries = queries_of([None] * 30)
    assert len({tuple(deal_folds(queries, NONE, 5, seed)["fold"]) for seed in range(6)}) == 6


def test_an_encoder_is_validated_on_the_fold_after_the_one_that_is_held_out():
    folds = deal_folds(queries_of([None] * 11), NONE, 4, 3)
    of = fold_of(folds)
    for held_out, validation in ((1, 2), (3, 4), (4, 1)):
        parts = parts_of(folds.reverse(), held_out)
        assert {of[name] for name in parts.test} == {held_out}
        assert {of[name] for name in parts.validation} == {validation}
        assert sorted(parts.train + parts.validation + parts.test) == sorted(of)
    assert sorted(name for k in range(1, 5) for name in parts_of(folds, k).test) == sorted(of)
    with pytest.raises(UserError, match="no fold 5"):
        parts_of(folds, 5)
    with pytest.raises(UserError, match="none is left to train on"):
        parts_of(folds.filter(pl.col("fold") <= 2), 1)


@given(st.randoms(use_true_random=False))
def test_each_query_has_the_list_of_the_fold_that_held_it_out(chance: random.Random):
    folds = deal_folds(queries_of([None] * 9), NONE, 3, chance.randrange(99))
    of = fold_of(folds)
    # The encoder of fold k ranks k poems, named after it, for every query.
    runs = [run_of([(name, f"k{k}.{rank}", rank) for name in of for rank in range(1, k + 1)]) for k in (1, 2, 3)]
    joined = check_table(join_runs([run.sample(fraction=1, shuffle=True, seed=1) for run in runs], folds), RUN, "run")
    assert [(name, poem) for name, poem, *_ in joined.iter_rows()] == [
        (name, f"k{k}.{rank}") for name, k in sorted(of.items()) for rank in range(1, k + 1)
    ]


def test_runs_that_do_not_go_with_the_folds_are_refused():
    folds = deal_folds(queries_of([None] * 3), NONE, 3, 1)
    run = run_of([("q000", "a", 1)])
    with pytest.raises(UserError, match="2 runs for 3 folds"):
        join_runs([run, run], folds)
    with pytest.raises(UserError, match="1 query of the runs, such as 'x', is in no fold"):
        join_runs([run, run, run_of([("x", "a", 1)])], folds)


def test_the_verbs_deal_and_join(tmp_path, capsys):
    write_table(queries_of([None] * 7), tmp_path / "q.parquet", QUERIES)
    write_table(qrels_of([("q000", "a"), ("q001", "b")]), tmp_path / "qrels.parquet", QRELS)
    write_table(copies(["a", "b"]), tmp_path / "duplicates.csv", DUPLICATES)
    at = lambda name: str(tmp_path / name)  # noqa: E731
    given = ["--queries", at("q.parquet"), "--qrels", at("qrels.parquet"), "--duplicates", at("duplicates.csv")]
    asked = [*given, "--seed", "1", "--output", at("folds.parquet")]
    assert main(["part_folds", "--folds", "3", *asked]) == 0
    assert "7 queries in 3 folds of 3, 2, 2" in capsys.readouterr().out
    runs = []
    for k in (1, 2, 3):
        runs.append(at(f"{k}.parquet"))
        write_table(run_of([(f"q{i:03}", f"k{k}", 1) for i in range(7)]), runs[-1], RUN)
    assert main(["join_folds", "--runs", *runs, "--folds", at("folds.parquet"), "--output", at("run.parquet")]) == 0
    joined = pl.read_parquet(at("run.parquet")).join(pl.read_parquet(at("folds.parquet")), on="query_id")
    assert len(joined) == 7
    assert (joined["poem_id"] == "k" + joined["fold"].cast(pl.String)).all()
    assert main(["part_folds", "--folds", "9", *asked]) == 2
    assert "hint: folds: 6, or fewer" in capsys.readouterr().err
