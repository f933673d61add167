"""The exact expectation of a ranking that matches strings."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_idioms import PLACES, questions, write_study

from verseir.analyses.idioms import Cell, Estimate, read_cells
from verseir.analyses.string_match import (
    DIGITS,
    NO_EXPECTATION,
    Halves,
    _written,
    annotated,
    expected,
    matched_halves,
    string_match,
    verbatim,
)
from verseir.measures import parse_measure, per_query
from verseir.tables import QRELS, RUN

MEASURES = ["Rprec", "P@1", "P@3", "P@20", "R@2", "R@5", "nDCG", "nDCG@3", "RR", "RR@2", "AP", "AP@3", "Success@2"]


@st.composite
def halves(draw):
    first, rest = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    return Halves(first, rest, draw(st.integers(0, first)), draw(st.integers(0, rest)))


def every_order(one):
    """The mean of each measure over all orders: of the places in each part that relevant documents may take."""
    orders = [
        (*first, *(place + one.first for place in rest))
        for first in combinations(range(one.first), one.relevant_first)
        for rest in combinations(range(one.rest), one.relevant_rest)
    ]
    n, k = one.first + one.rest, one.relevant_first + one.relevant_rest
    ranks = [(f"q{i:04d}", f"d{place:02d}", place + 1, 0.0, None) for i in range(len(orders)) for place in range(n)]
    judged = [(f"q{i:04d}", f"d{place:02d}", 1) for i, order in enumerate(orders) for place in order]
    run = pl.DataFrame(ranks, schema=dict(RUN.columns), orient="row")
    qrels = pl.DataFrame(judged, schema=dict(QRELS.columns), orient="row")
    assert len(qrels) == k * len(orders)
    values = per_query(run, qrels, [f"q{i:04d}" for i in range(len(orders))], MEASURES)
    return dict(values.group_by("measure").agg(pl.col("value").mean()).iter_rows())


@given(halves())
def test_the_expectation_is_the_mean_over_all_orders(one):
    brute = every_order(one)
    for name in MEASURES:
        assert expected(parse_measure(name), one) == pytest.approx(brute[name], abs=1e-12), name


def test_the_expectation_is_what_simulation_tends_to():
    one, rng = Halves(60, 440, 40, 5), np.random.default_rng(7)
    n_queries, rows, judged = 2000, [], []
    for i in range(n_queries):
        relevant = np.concatenate([rng.permutation(60)[:40], 60 + rng.permutation(440)[:5]])
        rows += [(f"q{i:04d}", f"d{place:03d}", place + 1, 0.0, None) for place in range(100)]
        judged += [(f"q{i:04d}", f"d{place:03d}", 1) for place in relevant.tolist()]
    run = pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")
    qrels = pl.DataFrame(judged, schema=dict(QRELS.columns), orient="row")
    names = ["Rprec", "nDCG@10", "P@10", "R@100", "RR@10", "Success@1"]
    values = per_query(run, qrels, [f"q{i:04d}" for i in range(n_queries)], names)
    for (name,), part in values.group_by("measure"):
        tolerance = 5 * part["value"].std() / np.sqrt(n_queries)
        assert abs(expected(parse_measure(name), one) - part["value"].mean()) < tolerance, name


def test_the_levels_of_the_benchmark_by_arithmetic():
    r_precision = parse_measure("Rprec")
    assert expected(r_precision, Halves(60, 7440, 40, 0)) == pytest.approx(2 / 3)
    assert expected(r_precision, Halves(60, 7440, 20, 40)) == pytest.approx(1 / 3)
    assert expected(r_precision, Halves(40, 5960, 40, 0)) == 1
    assert expected(r_precision, Halves(40, 5960, 0, 40)) == 0
    assert expected(parse_measure("nDCG@10"), Halves(60, 7440, 40, 0)) == pytest.approx(2 / 3)
    assert expected(r_precision, Halves(0, 7500, 0, 40)) == pytest.approx(40 / 7500)


def test_what_has_no_expectation_is_refused():
    with pytest.raises(ValueError, match="Bpref"):
        expected(parse_measure("Bpref"), Halves(1, 1, 1, 0))
    assert expected(parse_measure("AP"), Halves(2, 2, 0, 0)) == 0


def cell_of(spans, texts):
    queries = pl.DataFrame(
        {"query_id": [f"q{i}" for i in range(len(spans))], "span": spans}, schema_overrides={"span": pl.String}
    )
    found = pl.DataFrame({"poem_id": [f"d{i}" for i in range(len(texts))], "text": texts})
    return Cell("c", "s", "m", queries, found, pl.DataFrame(schema=dict(QRELS.columns)))


@pytest.mark.parametrize(
    ("span", "text", "matches"),
    [
        ("Cold feet", "He got COLD FEET.", True),
        ("cold feet", "cold  feet", True),
        ("cold feet", "He got cold feets", False),
        ("cold feet", "scold feet", False),
        ("cold feet", "cold-feet", False),
        ("cold feet", "his feet were cold", False),
        ("a. b", "see a. b, then", True),
        ("a. b", "see axb", False),
        ("so what?", "And so what? he said", True),
        ("so what?", "so what?no", False),
        ("'twas", "And 'twas so", True),
        ("STRASSE", "die straße", True),
        ("all along", "all along", True),
        ("", "anything", False),
        (None, "anything", False),
    ],
)
def test_a_span_matches_as_whole_words(span, text, matches):
    assert len(verbatim(cell_of([span], [text]))) == matches


def test_spans_that_are_remembered_change_nothing():
    known = {}
    first = verbatim(cell_of(["a", "b", "A"], ["a b", "b", "c"]), known)
    again = verbatim(cell_of(["b", "a"], ["a b", "b", "c"]), known)
    assert sorted(first.iter_rows()) == [("q0", "d0"), ("q1", "d0"), ("q1", "d1"), ("q2", "d0")]
    assert sorted(again.iter_rows()) == [("q0", "d0"), ("q0", "d1"), ("q1", "d0")]


def test_annotated_documents_hold_the_idiom_whatever_its_use(tmp_path):
    full, some = (
        cell for cell in read_cells(write_study(tmp_path), [["c", "span", "full"], ["c", "span", "lit_idiom"]])
    )
    for cell, rest in ((full, 12), (some, 4)):
        assert {one.first for one in matched_halves(cell, annotated(cell))} == {4}
        assert {one.rest for one in matched_halves(cell, annotated(cell))} == {rest}
    # In the small study every document that holds an idiom holds it in so many words.
    assert sorted(annotated(full).iter_rows()) == sorted(verbatim(full).iter_rows())
    parts = dict(zip(full.queries["query_id"], matched_halves(full, annotated(full)), strict=True))
    assert parts["q00_lit"] == Halves(4, 12, 2, 0)
    assert parts["q00_idi"] == Halves(4, 12, 2, 4)


def test_the_table_has_each_use_and_all(tmp_path):
    found = string_match(write_study(tmp_path), PLACES, ["Rprec", "Bpref"], 100, 1)
    assert len(found) == 4 * 2 * 3 * 2
    lacking = found.filter(pl.col("measure") == "Bpref")
    assert lacking["mean"].null_count() == len(lacking)
    assert lacking["note"].unique().to_list() == [NO_EXPECTATION]
    row = pl.col("mode").eq("full") & pl.col("query_set").eq("span") & pl.col("match").eq("annotated")
    means = dict(found.filter(row & (pl.col("measure") == "Rprec")).select("usage", "mean").iter_rows())
    assert means["literal"] == pytest.approx(0.5)
    # Four that match, two of them relevant, then two of the other twelve, of which four are relevant.
    assert means["idiomatic"] == pytest.approx((2 + 2 * 4 / 12) / 6)
    assert means["all"] == pytest.approx((means["literal"] + means["idiomatic"]) / 2)
    assert found.filter(pl.col("usage") == "all")["n_queries"].to_list() == [len(questions())] * 16
    assert found["n_matched"].unique().to_list() == [4]


def test_a_use_that_all_score_alike_has_no_interval_and_says_so(tmp_path):
    found = string_match(write_study(tmp_path), PLACES, ["Rprec"], 100, 1).filter(pl.col("usage") == "literal")
    assert found["ci_low"].null_count() == len(found)
    assert found["note"].unique().to_list() == ["interval not estimable: every cluster of queries scores alike"]


@pytest.mark.parametrize("n", [3, 1500])
def test_the_mean_of_many_thirds_shows_no_noise(n):
    third = round(1 / 3, DIGITS)
    noisy = sum([third] * n) / n
    written = _written(Estimate(noisy, None, noisy + 2e-14, "why"))
    assert written == Estimate(third, None, third, "why")
