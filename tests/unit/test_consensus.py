"""Pools by consensus and difference: no larger than asked, the same for any order, what is known first."""

import json
import random

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.judging.consensus import Pooling, candidates, consensus_pool
from verseir.judging.pool import POOL, item_id, pool
from verseir.tables import DUPLICATES, POEMS, QRELS, QUERIES, RUN, check_table, read_table, write_table

NAMES = [f"p{number}" for number in range(9)]
CLASS_OF = {"p2": "p1", "p6": "p5", "p7": "p5"}


def duplicates(classes=CLASS_OF):
    rows = [(poem, classes.get(poem, poem), 1, "unique", 1.0) for poem in NAMES]
    return pl.DataFrame(rows, schema=dict(DUPLICATES.columns), orient="row")


def run_of(lists):
    rows = [(query, poem, rank, 1 / rank, None) for query, poems in lists.items() for rank, poem in enumerate(poems, 1)]
    return pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")


def qrels_of(grades):
    rows = [(query, poem, grade) for (query, poem), grade in grades.items()]
    return pl.DataFrame(rows, schema=dict(QRELS.columns), orient="row")


def made(runs, known, asked, seed=1):
    return consensus_pool(runs, known, duplicates(), "c", "s", asked, seed)


def pairs(table):
    return set(table.select("query_id", "poem_id").iter_rows())


ranked = st.lists(st.sampled_from(NAMES), unique=True, max_size=7)
systems = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]), st.dictionaries(st.sampled_from(["q1", "q2"]), ranked, max_size=2)
)
judged = st.dictionaries(
    st.tuples(st.sampled_from(["q1", "q2"]), st.sampled_from(NAMES)), st.integers(0, 3), max_size=4
)
asked = st.builds(Pooling, st.integers(4, 9), st.integers(1, 7), st.sampled_from([0.0, 0.3, 0.5, 1.0]))


@given(systems, judged, asked, st.randoms(use_true_random=False))
def test_the_order_of_runs_and_rows_changes_nothing(lists, grades, pooling, chance: random.Random):
    first = made({name: run_of(each) for name, each in lists.items()}, qrels_of(grades), pooling)
    check_table(first, POOL, "pool")
    names = chance.sample(sorted(lists), len(lists))
    rows = {name: run_of(lists[name]).sample(fraction=1, shuffle=True, seed=chance.randrange(999)) for name in names}
    known = qrels_of(grades).sample(fraction=1, shuffle=True, seed=chance.randrange(999))
    assert first.equals(made(rows, known, pooling))


@given(systems, judged, asked)
def test_a_pool_is_filled_up_with_what_systems_found_and_what_is_known(lists, grades, pooling):
    runs = [run_of(each) for each in lists.values()]
    found = pairs(made(dict(zip(lists, runs, strict=True)), qrels_of(grades), pooling))
    union = pairs(pool(runs, duplicates(), "c", "s", pooling.depth, 1))
    known = {(query, CLASS_OF.get(poem, poem)) for (query, poem), grade in grades.items() if grade}
    assert known <= found <= union | known
    for query in ("q1", "q2"):
        there = sum(pair[0] == query for pair in union | known)
        assert sum(pair[0] == query for pair in found) == min(pooling.candidates, there)


@given(systems, st.integers(1, 8), st.integers(1, 7))
def test_by_consensus_alone_more_places_add_and_take_nothing_away(lists, n, depth):
    runs = {name: run_of(each) for name, each in lists.items()}
    fewer, more = (pairs(made(runs, qrels_of({}), Pooling(size, depth, 1.0))) for size in (n, n + 1))
    assert fewer <= more


@given(systems, st.integers(1, 8), st.integers(1, 7))
def test_what_is_agreed_on_stays_where_its_share_grows(lists, n, depth):
    runs = {name: run_of(each) for name, each in lists.items()}
    places = [int(share * n + 0.5) for share in (0.3, 0.6)]
    agreed = [pairs(made(runs, qrels_of({}), Pooling(size, depth, 1.0))) for size in places if size]
    for part, share in zip(agreed, (0.3, 0.6)[-len(agreed) :], strict=True):
        assert part <= pairs(made(runs, qrels_of({}), Pooling(n, depth, share)))


RANKS = {
    "all": {"a": 3, "b": 3, "c": 3},
    "two": {"a": 1, "b": 2},
    "two-lower": {"b": 1, "c": 4},
    "only-a": {"a": 2},
    "only-b": {"b": 4},
    "only-c1": {"c": 1},
    "only-c2": {"c": 2},
}


def test_votes_come_before_ranks_and_ranks_before_ids():
    agreed = Pooling(3, 4, 1.0)
    assert candidates("q", RANKS, [], agreed) == ["all", "two", "two-lower"]
    assert candidates("q", {"y": {"a": 1}, "x": {"b": 1}}, [], Pooling(1, 4, 1.0)) == ["x"]


def test_the_other_places_go_round_the_systems():
    differ = candidates("q", RANKS, [], Pooling(3, 4, 0.0))
    assert set(differ) == {"only-a", "only-b", "only-c1"}
    turns = {candidates(f"q{i}", RANKS, [], Pooling(1, 4, 0.0))[0] for i in range(30)}
    assert turns == {"only-a", "only-b", "only-c1"}  # no system begins everywhere
    assert candidates("q", RANKS, [], Pooling(6, 4, 0.5))[:3] == ["all", "two", "two-lower"]


def test_a_system_that_has_nothing_left_gives_its_turn_away():
    ranks = {"x": {"a": 1}, "y": {"b": 1}, "z": {"b": 2}, "w": {"b": 3}}
    assert set(candidates("q", ranks, [], Pooling(4, 4, 0.0))) == set("xyzw")


def test_what_is_known_takes_no_place_of_the_others_twice():
    found = candidates("q", RANKS, ["all", "unfound"], Pooling(4, 4, 0.5))
    assert found[:3] == ["all", "unfound", "two"] and len(found) == 4


def test_a_class_of_duplicates_votes_once_by_its_best_rank():
    runs = {"a": run_of({"q1": ["p1", "p2", "p3"]}), "b": run_of({"q1": ["p3", "p2"]})}
    assert pairs(made(runs, qrels_of({}), Pooling(1, 3, 1.0))) == {("q1", "p1")}


def test_the_verb_pools_as_it_is_told(tmp_path, capsys):
    cross = {"query_sets": {"s": ["c"]}, "modes": {"c": ["verse"]}, "systems": {"a": "bm25", "b": "dense"}}
    for name, poems in (("a", ["p0", "p1"]), ("b", ["p1", "p3", "p4"])):
        write_table(run_of({"q1": poems}), tmp_path / f"runs/c/verse/s/{name}.parquet", RUN)
    write_table(duplicates(), tmp_path / "duplicates.csv", DUPLICATES)
    write_table(qrels_of({("q1", "p8"): 2}), tmp_path / "qrels.parquet", QRELS)
    queries = pl.DataFrame([("q1", "s", "text", *[None] * 5)], schema=dict(QUERIES.columns), orient="row")
    write_table(queries, tmp_path / "queries.parquet", QUERIES)
    rows = [(name, *[None] * 7, [{"first": "v", "second": None}], None) for name in NAMES]
    write_table(pl.DataFrame(rows, schema=dict(POEMS.columns), orient="row"), tmp_path / "poems.parquet", POEMS)
    given = {"candidates": 3, "depth": 2, "consensus": 0.5}
    files = {
        "--results": tmp_path,
        "--duplicates": tmp_path / "duplicates.csv",
        "--qrels": tmp_path / "qrels.parquet",
        "--queries": tmp_path / "queries.parquet",
        "--poems": tmp_path / "poems.parquet",
        "--output": tmp_path / "pool.parquet",
        "--csv": tmp_path / "pool.csv",
    }
    options = [str(part) for pair in files.items() for part in pair]
    options += ["--cross", json.dumps(cross), "--corpus", "c", "--query-set", "s", "--depth", "5", "--seed", "1"]
    assert main(["pool_results", *options, "--verses", "2", "--pooling", json.dumps(given)]) == 0
    table = read_table(tmp_path / "pool.parquet", POOL)
    assert {"p8", "p1"} < set(table["poem_id"]) and len(table) == 3 and "p4" not in set(table["poem_id"])
    assert set(table["item_id"]) == {item_id("c", "s", "q1", poem) for poem in table["poem_id"]}
    assert "3 items of 1 query from the first 2 of 2 runs; 3 to 3 a query" in capsys.readouterr().out
