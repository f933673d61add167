"""Ties: where they touch a cut, and the bounds of measures, against every order there is."""

import itertools

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.measures import per_query, read_judgements
from verseir.ranking import top_k
from verseir.tables import QRELS, TIES
from verseir.ties import tie_bounds, tie_groups, tie_report

MEASURES = ["R@1", "R@3", "RR", "RR@2", "nDCG", "nDCG@3", "Rprec", "AP", "AP@2", "P@2", "Success@2"]
#: Measures that do not count an unjudged document as wrong.
OPEN = [
    "P(judged_only=True)@2", "RR(judged_only=True)", "AP(judged_only=True)", "nDCG(judged_only=True)@2",
    "Rprec(judged_only=True)", "R(judged_only=True)@1", "Bpref", "Judged@2", "Judged",
]  # fmt: skip


def run_of(scores):
    """A run from {query: [score, ...]}: poems a, b, c ... in this order."""
    rows = [(query, "abcdefghijklmnop"[i], value) for query, values in scores.items() for i, value in enumerate(values)]
    schema = {"query_id": pl.String, "poem_id": pl.String, "score": pl.Float64}
    return top_k(pl.DataFrame(rows, schema=schema, orient="row"))


def qrels_of(grades):
    rows = [(query, poem, grade) for query, poems in grades.items() for poem, grade in poems.items()]
    return pl.DataFrame(rows, schema=dict(QRELS.columns), orient="row")


def every_order(run, qrels, query_ids, measure):
    """Lowest and highest mean of a measure over all orders of tied documents, each query on its own."""
    low = high = 0.0
    for query_id in query_ids:
        rows = run.filter(pl.col("query_id") == query_id).sort("rank")
        groups = [list(group) for _, group in itertools.groupby(rows.rows(), key=lambda row: row[3])]
        values = []
        for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
            ranked = [(*row[:2], rank, *row[3:]) for rank, row in enumerate(itertools.chain(*orders), 1)]
            frame = pl.DataFrame(ranked, schema=run.schema, orient="row")
            values.append(per_query(frame, qrels, [query_id], [measure])["value"][0])
        low += min(values, default=0.0)
        high += max(values, default=0.0)
    return low / len(query_ids), high / len(query_ids)


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(st.sampled_from("pq"), st.lists(st.integers(0, 2), max_size=5), max_size=2),
    st.dictionaries(
        st.sampled_from("pq"), st.dictionaries(st.sampled_from("abcdefz"), st.integers(0, 3), max_size=4), max_size=2
    ),
    st.sampled_from([*MEASURES, *OPEN]),
)
def test_bounds_are_those_of_all_orders(scores, grades, measure):
    run, qrels = run_of(scores), qrels_of(grades)
    report = tie_report(run, qrels, ["p", "q"], [measure])
    low, high = every_order(run, qrels, ["p", "q"], measure)
    assert report["lowest"][0] == pytest.approx(low, abs=1e-12)
    assert report["highest"][0] == pytest.approx(high, abs=1e-12)
    mean = per_query(run, qrels, ["p", "q"], [measure])["value"].mean()
    assert report["mean"][0] == pytest.approx(mean, abs=1e-12)
    assert low - 1e-12 <= mean <= high + 1e-12


def test_graded_documents_of_one_tie():
    report = tie_report(run_of({"q": [1, 1, 1]}), qrels_of({"q": {"a": 1, "c": 2}}), ["q"], MEASURES)
    bounds = {name: (low, high) for name, low, high in report.select("measure", "lowest", "highest").rows()}
    assert bounds["RR"] == (1 / 2, 1)
    assert bounds["nDCG"][1] == 1
    low, high = every_order(run_of({"q": [1, 1, 1]}), qrels_of({"q": {"a": 1, "c": 2}}), ["q"], "nDCG")
    assert bounds["nDCG"] == (pytest.approx(low), high)


@pytest.mark.parametrize("measure", OPEN)
def test_bounds_of_one_tie_of_relevant_other_and_unjudged_documents(measure):
    run, qrels = run_of({"q": [2, 1, 1, 1, 1, 0]}), qrels_of({"q": {"b": 0, "c": 2, "e": 1, "f": 0, "z": 0}})
    report = tie_report(run, qrels, ["q"], [measure])
    low, high = every_order(run, qrels, ["q"], measure)
    assert report.select("lowest", "highest").row(0) == (pytest.approx(low), pytest.approx(high))
    assert low < high or measure == "Judged"


def test_without_ties_bounds_are_the_mean():
    report = tie_report(run_of({"q": [5, 4, 3, 2, 1]}), qrels_of({"q": {"b": 1, "d": 2}}), ["q"], MEASURES)
    assert report["lowest"].to_list() == report["mean"].to_list() == report["highest"].to_list()
    assert set(report.select(pl.col("^share.*$")).row(0)) == {0.0}


@pytest.mark.parametrize(
    ("scores", "touched"),
    [
        ([9, 8, 7, 6, 5, 5], True),  # ranks 5 and 6
        ([9, 8, 7, 6, 6, 5], False),  # ranks 4 and 5: both above the cut
        ([9, 8, 7, 6, 5, 4, 4], False),  # ranks 6 and 7: both below
        ([1] * 6, True),
        ([1] * 5, False),  # the whole run is above the cut
    ],
)
def test_a_tie_touches_rank_5_when_it_holds_5_and_6(scores, touched):
    report = tie_report(run_of({"q": scores}), qrels_of({"q": {"a": 1}}), ["q"], ["RR"])
    assert report["share_tied_at_5"][0] == float(touched)
    assert report["share_tied_at_10"][0] == 0


def test_shares_are_over_all_queries_and_R_is_each_ones_own():
    scores = {"one": [2, 2, 1], "two": [3, 2, 2], "free": [3, 2, 1], "unjudged": [1, 1], "long": [1] * 11}
    grades = {"one": {"a": 1}, "two": {"a": 1, "b": 3, "c": 0}, "free": {"a": 1}, "lost": {"a": 1}}
    report = tie_report(run_of(scores), qrels_of(grades), [*scores, "lost"], ["RR", "AP"])
    assert report["measure"].to_list() == ["AP", "RR"]
    assert report["n_queries"].to_list() == [6, 6]
    assert report["share_tied_at_R"].to_list() == [2 / 6] * 2
    assert report["share_tied_at_5"].to_list() == report["share_tied_at_10"].to_list() == [1 / 6] * 2


def test_groups_do_not_cross_queries():
    groups = tie_groups(run_of({"p": [1, 1], "q": [1, 0, 0]}))
    assert groups.select("first", "last").rows() == [(1, 2), (1, 2), (1, 1), (2, 3), (2, 3)]


def test_columns_are_those_of_the_table():
    report = tie_report(run_of({}), qrels_of({}), [], ["RR"])
    names = [name for name in TIES.columns if name not in ("corpus", "query_set", "mode", "system")]
    assert report.schema == pl.Schema({name: TIES.columns[name] for name in names})
    assert report.row(0) == ("RR", 0, *[None] * 6, "not estimable: no query of the set has a relevant poem")


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(st.sampled_from("pq"), st.lists(st.integers(0, 2), max_size=5), max_size=2),
    st.dictionaries(
        st.sampled_from("pq"), st.dictionaries(st.sampled_from("abcdefz"), st.integers(0, 3), max_size=4), max_size=2
    ),
)
def test_each_query_has_the_bounds_of_all_its_orders(scores, grades):
    run, qrels = run_of(scores), qrels_of(grades)
    bounds = tie_bounds(run, read_judgements(qrels, ["q", "p"]), ["RR", "AP", "nDCG@3"])
    assert (bounds.query_ids, bounds.measures) == (["p", "q"], ["AP", "RR", "nDCG@3"])
    values = per_query(run, qrels, ["p", "q"], bounds.measures)["value"].to_numpy().reshape(2, 3)
    assert (bounds.values == values).all()
    for i, query_id in enumerate(bounds.query_ids):
        for j, measure in enumerate(bounds.measures):
            ends = (bounds.lowest[i, j], bounds.highest[i, j])
            assert ends == pytest.approx(every_order(run, qrels, [query_id], measure), abs=1e-12)
    report = tie_report(run, qrels, ["p", "q"], bounds.measures)
    for name, column in (("mean", bounds.values), ("lowest", bounds.lowest), ("highest", bounds.highest)):
        assert report[name].to_list() == pytest.approx(column.mean(axis=0).tolist())
