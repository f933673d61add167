"""Graded query sets: what was said of a pool, no more and no less."""

import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.faults import UserError
from verseir.judging.annotations import ANNOTATIONS
from verseir.judging.judgements import JUDGEMENTS
from verseir.judging.labels import LABELS, Origin, grades_of_judge, grades_of_people, labelled, of_classes
from verseir.judging.pool import items
from verseir.tables import DUPLICATES, QRELS, QUERIES, QUERY_ATTRIBUTES, check_table

ORIGIN = Origin("silver", "c", "asked", "test", "judge", "reader")
POEMS = ["p1", "p2", "p3", "p4"]


def frame(rows, contract):
    return pl.DataFrame(rows, schema=dict(contract.columns), orient="row")


def queries_of(names):
    return frame([(name, "asked", f"text of {name}", "thematic", *[None] * 4) for name in names], QUERIES)


def pool_of(pairs):
    named = pl.DataFrame(pairs, schema={"query_id": pl.String, "poem_id": pl.String}, orient="row")
    return items(named, "c", "asked", 1)


def grades_of(given):
    schema = {"query_id": pl.String, "poem_id": pl.String, "grade": pl.Int64}
    return pl.DataFrame([(*pair, grade) for pair, grade in given.items()], schema=schema, orient="row")


def classes(**class_of):
    return frame([(poem, class_of.get(poem, poem), 1, "unique", 1.0) for poem in POEMS], DUPLICATES)


def made(names, pairs, grades, duplicates=None, scale=(0, 1, 2, 3)):
    attributes = frame([(name, "mood", "glad") for name in ("q1", "q2", "q3")], QUERY_ATTRIBUTES)
    twins = classes() if duplicates is None else duplicates
    return labelled(ORIGIN, queries_of(names), attributes, pool_of(pairs), grades_of(grades), twins, scale)


def test_what_has_no_grade_is_left_out_and_counted():
    pairs = [(query, poem) for query in ("q1", "q2", "q3") for poem in ("p1", "p2")]
    grades = {("q1", "p1"): 3, ("q1", "p2"): 0, ("q2", "p1"): 0, ("q9", "p1"): 3}
    found = made(["q1", "q2", "q3"], pairs, grades)
    assert found.queries["query_id"].to_list() == ["q1"] and set(found.queries["query_set"]) == {"silver"}
    assert found.queries["register"].to_list() == ["thematic"]
    assert list(found.qrels.iter_rows()) == [("q1", "p1", 3), ("q1", "p2", 0)]
    assert found.attributes["query_id"].to_list() == ["q1"]
    check_table(found.labels, LABELS, "labels")
    row = found.labels.row(3, named=True)
    assert (row["grade"], row["n_pairs"], row["n_queries"], row["n_left_out"], row["n_unscored"]) == (3, 1, 1, 2, 3)
    assert row["note"] == (
        "2 queries left out: no grade above 0; 1 of them without any grade; 3 items without a grade left out"
    )
    assert found.labels["n_pairs"].to_list() == [1, 0, 0, 1]


def test_what_people_graded_beyond_their_sheet_is_passed_over_and_counted():
    grades = {("q1", "p1"): 1, ("q1", "p4"): 3, ("q2", "p4"): 3, ("q9", "p4"): 3}
    attributes, people = frame([], QUERY_ATTRIBUTES), Origin("gold", "c", "asked", "gold", "people", "sheet")
    sheet = pool_of([("q1", "p1"), ("q1", "p2")])
    found = labelled(people, queries_of(["q1", "q2"]), attributes, sheet, grades_of(grades), classes(), (0, 1, 2, 3))
    assert list(found.qrels.iter_rows()) == [("q1", "p1", 1)]
    assert found.labels["note"][0] == (
        "1 query left out: no grade above 0; 1 of them without any grade; 1 item without a grade left out; "
        "2 graded pairs not on the sheet passed over"
    )


def test_a_set_in_which_nothing_is_missing_has_no_note():
    found = made(["q1"], [("q1", "p1")], {("q1", "p1"): 1})
    assert found.labels["note"].null_count() == 4


def test_a_set_without_any_relevant_poem_is_refused():
    with pytest.raises(UserError, match="reader gave no grade above 0 to any of the 1 item of 2 queries of asked"):
        made(["q1", "q2"], [("q1", "p1")], {("q1", "p1"): 0})


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["q1", "q2", "q3"]), st.sampled_from(POEMS)), st.integers(0, 3), min_size=1
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_changes_nothing_and_counts_add_up(grades, chance: random.Random):
    grades = grades | {("q1", "p1"): 2}
    pairs = [(query, poem) for query in ("q1", "q2", "q3") for poem in POEMS]
    twins = classes(p2="p1", p4="p3")
    found = made(["q1", "q2", "q3"], pairs, grades, twins)
    check_table(found.qrels, QRELS, "qrels")
    order = chance.sample(sorted(grades), len(grades))
    again = made(["q3", "q1", "q2"], pairs[::-1], {pair: grades[pair] for pair in order}, twins[::-1])
    assert found.qrels.equals(again.qrels) and found.labels.equals(again.labels)
    assert found.queries.equals(again.queries)
    assert found.labels["n_pairs"].sum() == len(found.qrels)
    assert set(found.qrels.filter(pl.col("grade") > 0)["query_id"]) == set(found.queries["query_id"])


def test_copies_of_a_poem_have_its_grade_unless_they_have_their_own():
    twins = classes(p2="p1", p3="p1")
    spread = of_classes(grades_of({("q1", "p1"): 3, ("q1", "p3"): 1, ("q2", "p3"): 2}), twins)
    assert list(spread.iter_rows()) == [
        ("q1", "p1", 3),
        ("q1", "p2", 3),
        ("q1", "p3", 1),
        ("q2", "p1", 2),
        ("q2", "p2", 2),
        ("q2", "p3", 2),
    ]


@pytest.mark.parametrize(
    ("given", "grade"), [([0, 1], 0), ([1, 2], 1), ([0, 2], 1), ([2], 2), ([0, 2, 2], 2), ([0, 0, 3], 0)]
)
def test_people_agree_on_their_median_half_down(given, grade):
    rows = [("i", "q1", "p1", f"reader {number}", one, None) for number, one in enumerate(given)]
    assert grades_of_people(frame(rows, ANNOTATIONS))["grade"].to_list() == [grade]


def test_of_a_judge_the_overall_score_counts():
    rows = [
        ("i1", "q1", "p1", "reader", "overall", 2, None, "answered"),
        ("i1", "q1", "p1", "reader", "theme", 3, None, "answered"),
        ("i2", "q1", "p2", "reader", "overall", None, None, "refused"),
    ]
    assert list(grades_of_judge(frame(rows, JUDGEMENTS)).iter_rows()) == [("q1", "p1", 2)]
