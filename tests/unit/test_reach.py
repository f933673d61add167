"""Copies of a poem where queries are searched within an attribute: pools and grades stay within its value."""

import random

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from verseir.judging.consensus import Pooling, consensus_pool
from verseir.judging.labels import of_classes
from verseir.judging.pool import pool, representatives, standing
from verseir.judging.reach import Reach, read_reach
from verseir.tables import ATTRIBUTES, DUPLICATES, POEMS, QRELS, QUERY_ATTRIBUTES, RUN, check_table, write_table

#: The copy with the smallest id is in French; two are in English.
LANGUAGE = {"a": "fra", "b": "eng", "c": "eng", "d": "fra", "e": None}
REACH = Reach(LANGUAGE, {"q-eng": "eng", "q-fra": "fra"})


def duplicates(class_of=None):
    classes = {"a": "a", "b": "a", "c": "a"} if class_of is None else class_of
    rows = [(poem, classes.get(poem, poem), 1, "unique", 1.0) for poem in LANGUAGE]
    return pl.DataFrame(rows, schema=dict(DUPLICATES.columns), orient="row")


def frame(rows, contract):
    return pl.DataFrame(rows, schema=dict(contract.columns), orient="row")


def classes_of(table):
    return dict(representatives(table).iter_rows())


def pairs(table):
    return set(table.select("query_id", "poem_id").iter_rows())


def test_a_class_is_parted_by_value_and_called_after_its_smallest_id():
    parted = REACH.classes(duplicates())
    check_table(parted, DUPLICATES, "duplicates")
    assert classes_of(parted) == {"a": "a", "b": "b", "c": "b", "d": "d", "e": "e"}


@given(
    st.dictionaries(st.sampled_from(sorted(LANGUAGE)), st.sampled_from(["a", "b"])),
    st.dictionaries(st.sampled_from(sorted(LANGUAGE)), st.sampled_from(["eng", "fra", None])),
    st.randoms(use_true_random=False),
)
def test_parting_is_idempotent_and_the_same_for_any_order(joined, values, chance: random.Random):
    table, reach = duplicates(joined), Reach(values, {})
    parted = reach.classes(table)
    assert reach.classes(parted).equals(parted)
    mixed = table.sample(fraction=1, shuffle=True, seed=chance.randrange(999))
    assert classes_of(reach.classes(mixed)) == classes_of(parted)
    for poem, of in classes_of(parted).items():
        assert values.get(poem) == values.get(of) and classes_of(table)[poem] == classes_of(table)[of]
        assert of <= poem


def test_a_pool_has_the_copy_that_the_query_can_find():
    runs = [frame([("q-eng", "c", 1, 1.0, None), ("q-fra", "a", 1, 1.0, None)], RUN)]
    wanted = {("q-eng", "b"), ("q-fra", "a")}
    assert pairs(pool(runs, REACH.classes(duplicates()), "corpus", "set", 5, 1)) == wanted
    known = frame([], QRELS)
    made = consensus_pool({"s": runs[0]}, known, REACH.classes(duplicates()), "corpus", "set", Pooling(2, 5), 1)
    assert pairs(made) == wanted


def test_what_is_known_is_judged_by_a_copy_that_the_query_can_find_or_not_at_all():
    known = frame(
        [("q-eng", "a", 3), ("q-eng", "b", 1), ("q-eng", "d", 2), ("q-fra", "d", 2), ("q-eng", "e", 1)], QRELS
    )
    found = REACH.reachable(known, duplicates())
    assert found.rows() == [("q-eng", "b", 3), ("q-eng", "c", 3), ("q-fra", "d", 2)]
    assert found.schema == known.schema
    assert REACH.reachable(known[::-1], duplicates()).equals(found)


def test_a_grade_spreads_to_copies_of_its_own_value_alone():
    schema = {"query_id": pl.String, "poem_id": pl.String, "grade": pl.Int64}
    grades = pl.DataFrame([("q-eng", "b", 3), ("q-fra", "a", 1)], schema=schema, orient="row")
    spread = of_classes(grades, REACH.classes(duplicates()))
    assert spread.rows() == [("q-eng", "b", 3), ("q-eng", "c", 3), ("q-fra", "a", 1)]


def test_places_are_found_under_the_copy_that_was_judged():
    columns = {"query_id": pl.String, "poem_id": pl.String}
    places = pl.DataFrame([("q-eng", "c"), ("q-fra", "a"), ("q-fra", "d"), ("q2", "c")], schema=columns, orient="row")
    judged = pl.DataFrame([("q-eng", "b"), ("q-fra", "a")], schema=columns, orient="row")
    named = standing(places, judged, duplicates())
    assert named.columns == places.columns
    assert sorted(named.rows()) == [("q-eng", "b"), ("q-fra", "a"), ("q-fra", "d"), ("q2", "a")]


def test_it_is_read_from_the_tables_of_corpus_and_queries(tmp_path):
    usual = {"verses": [{"first": "x", "second": None}]}
    poems = [usual | {"poem_id": name, "language": value} for name, value in LANGUAGE.items()]
    write_table(pl.DataFrame(poems, schema=dict(POEMS.columns)), tmp_path / "poems.parquet", POEMS)
    write_table(frame([("a", "region", "east")], ATTRIBUTES), tmp_path / "attributes.parquet", ATTRIBUTES)
    told = [("q1", "language", "eng"), ("q1", "region", "west")]
    write_table(frame(told, QUERY_ATTRIBUTES), tmp_path / "queries.parquet", QUERY_ATTRIBUTES)
    files = [str(tmp_path / f"{name}.parquet") for name in ("poems", "attributes", "queries")]
    assert read_reach("language", files) == Reach(LANGUAGE, {"q1": "eng"})
    assert read_reach("region", files) == Reach({"a": "east"}, {"q1": "west"})
    assert read_reach(None, []) is None
