"""The pool: one item for a query and a class of poems, whatever the order of what it is made from."""

import json
import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.judging.pool import POOL, item_id, pool, representatives
from verseir.tables import DUPLICATES, QUERIES, RUN, check_table, read_table, write_table
from verseir.tables import POEMS as POEM_TABLE

POEMS = [f"p{number}" for number in range(8)]
#: p1 and p2 are one poem, and so are p5, p6 and p7.
CLASS_OF = {"p2": "p1", "p6": "p5", "p7": "p5"}


def duplicates(classes=CLASS_OF):
    names = {poem: classes.get(poem, poem) for poem in POEMS}
    size = {name: list(names.values()).count(name) for name in names.values()}
    rows = [(poem, name, size[name], "exact" if size[name] > 1 else "unique", 1.0) for poem, name in names.items()]
    return pl.DataFrame(rows, schema=dict(DUPLICATES.columns), orient="row")


def run_of(lists):
    rows = [
        (query, poem, rank, 1.0 / rank, None) for query, poems in lists.items() for rank, poem in enumerate(poems, 1)
    ]
    return pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")


def queries_of(texts):
    rows = [(name, "s", text, *[None] * 5) for name, text in texts.items()]
    return pl.DataFrame(rows, schema=dict(QUERIES.columns), orient="row")


def poems_of(verses_of):
    rows = [
        (name, *[None] * 7, [{"first": first, "second": second} for first, second in verses], None)
        for name, verses in verses_of.items()
    ]
    return pl.DataFrame(rows, schema=dict(POEM_TABLE.columns), orient="row")


def pairs(table):
    return set(table.select("query_id", "poem_id").iter_rows())


ranked = st.lists(st.sampled_from(POEMS), unique=True, max_size=6)
many_runs = st.lists(st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), ranked, max_size=3), max_size=4)


@given(many_runs, st.integers(1, 6), st.integers(0, 2**31), st.randoms(use_true_random=False))
def test_the_order_of_runs_and_rows_changes_nothing(lists, depth, seed, chance: random.Random):
    runs = [run_of(each) for each in lists]
    first = pool(runs, duplicates(), "c", "s", depth, seed)
    shuffled = [each.sample(fraction=1, shuffle=True, seed=chance.randrange(1000)) for each in runs]
    chance.shuffle(shuffled)
    assert pool(shuffled + shuffled, duplicates().reverse(), "c", "s", depth, seed).equals(first)
    check_table(first, POOL, "pool")
    assert first["place"].to_list() == list(range(1, len(first) + 1))


@given(many_runs, st.integers(1, 5), st.integers(0, 9))
def test_a_deeper_pool_has_the_same_items_and_more(lists, depth, seed):
    runs = [run_of(each) for each in lists]
    shallow, deep = (pool(runs, duplicates(), "c", "s", cut, seed) for cut in (depth, depth + 1))
    ids = dict(deep.select("item_id", pl.struct("query_id", "poem_id")).iter_rows())
    assert pairs(shallow) <= pairs(deep)
    assert all(
        ids[name] == pair for name, pair in shallow.select("item_id", pl.struct("query_id", "poem_id")).iter_rows()
    )
    order = [name for name in deep["item_id"] if name in set(shallow["item_id"])]
    assert order == shallow["item_id"].to_list()


@given(many_runs, st.integers(1, 6))
def test_every_item_is_what_some_run_put_first(lists, depth):
    table = pool([run_of(each) for each in lists], duplicates(), "c", "s", depth, 1)
    expected = {
        (query, CLASS_OF.get(poem, poem)) for each in lists for query, poems in each.items() for poem in poems[:depth]
    }
    assert pairs(table) == expected


def test_two_members_of_a_class_are_one_item():
    table = pool([run_of({"q1": ["p7", "p6", "p2"]}), run_of({"q1": ["p5"]})], duplicates(), "c", "s", 5, 1)
    assert pairs(table) == {("q1", "p5"), ("q1", "p1")}
    assert dict(representatives(duplicates()).iter_rows())["p7"] == "p5"


def test_a_poem_that_no_class_knows_stands_for_itself():
    assert pairs(pool([run_of({"q1": ["new"]})], duplicates(), "c", "s", 5, 1)) == {("q1", "new")}


def test_an_id_tells_nothing_and_is_text_to_a_spreadsheet():
    ids = [item_id("demo", "thematic", f"q{query}", f"p{poem}") for query in range(40) for poem in range(40)]
    assert len(set(ids)) == len(ids)
    assert all(len(name) == 13 and name[0] == "i" and int(name[1:], 16) >= 0 for name in ids)
    assert item_id("demo", "thematic", "q1", "p1") == "i4b5b1e4a1db2"  # annotation files hold ids: they must not change


def test_the_seed_moves_items_and_queries_do_not_stand_together():
    run = run_of({f"q{number}": POEMS for number in range(9)})
    one, other = (pool([run], duplicates(), "c", "s", 5, seed) for seed in (1, 2))
    assert pairs(one) == pairs(other)
    assert one["item_id"].to_list() != other["item_id"].to_list()
    changes = sum(a != b for a, b in zip(one["query_id"], one["query_id"][1:], strict=False))
    assert changes > len(one) / 2


def test_no_runs_give_an_empty_pool():
    table = pool([], duplicates(), "c", "s", 5, 1)
    assert table.is_empty()
    check_table(table, POOL, "pool")


@pytest.mark.parametrize("modes", [["verse", "title"], []])
def test_the_verb_pools_the_runs_of_its_corpus_and_query_set(tmp_path, capsys, modes):
    write_table(duplicates(), tmp_path / "duplicates.csv", DUPLICATES)
    for mode in ("verse", "title"):
        for query_set, poem in (("themes", "p3"), ("other", "p4")):
            path = tmp_path / "runs" / "c" / mode / query_set / "bm25.parquet"
            write_table(run_of({"q1": [poem, "p2"], "q2": ["p0"]} if mode == "verse" else {}), path, RUN)
    cross = {"query_sets": {"themes": ["c"], "other": ["c"]}, "modes": {"c": modes}, "systems": {"bm25": "bm25"}}
    options = ["--results", str(tmp_path), "--cross", json.dumps(cross), "--corpus", "c", "--query-set", "themes"]
    options += ["--duplicates", str(tmp_path / "duplicates.csv"), "--depth", "5", "--seed", "1"]
    write_table(queries_of({"q1": "سؤال", "q2": "another"}), tmp_path / "queries.parquet", QUERIES)
    write_table(poems_of({f"p{i}": [("صدر", "عجز")] * 9 for i in range(6)}), tmp_path / "poems.parquet", POEM_TABLE)
    options += ["--queries", str(tmp_path / "queries.parquet"), "--poems", str(tmp_path / "poems.parquet")]
    options += ["--verses", "6", "--csv", str(tmp_path / "pool.csv")]
    assert main(["pool_results", *options, "--output", str(tmp_path / "pool.parquet")]) == 0
    read = pl.read_csv(tmp_path / "pool.csv")
    table = read_table(tmp_path / "pool.parquet", POOL)
    assert read["item_id"].cast(pl.String).to_list() == table["item_id"].to_list()
    if modes:
        assert read["poem"].str.count_matches("\n").to_list() == [5] * 3
        assert pairs(table) == {("q1", "p3"), ("q1", "p1"), ("q2", "p0")}
        told = "c, themes: 3 items of 2 queries from the first 5 of 2 runs; 1 to 2 a query"
    else:
        assert table.is_empty()
        told = "c, themes: 0 items of 0 queries from the first 5 of 0 runs"
    assert told in capsys.readouterr().out
