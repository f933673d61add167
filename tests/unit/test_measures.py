"""Measures: by hand, and equal to ir_measures and trec_eval."""

import ir_measures
import numpy as np
import polars as pl
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.faults import UserError
from verseir.measures import Measure, parse_measure, per_query
from verseir.tables import QRELS, RUN

MEASURES = [
    "R@1", "R@5", "R@10", "RR", "RR@3", "nDCG", "nDCG@3", "nDCG@10", "Rprec", "AP", "AP@3", "P@1", "P@5", "Success@1",
    "Success@5",
]  # fmt: skip


def run_of(rankings):
    """A run from {query: [poem, ...]}; all scores tie, since measures see ranks only."""
    rows = [(query, poem, rank, 0.5, None) for query, poems in rankings.items() for rank, poem in enumerate(poems, 1)]
    return pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")


def qrels_of(grades):
    """Judgements from {query: {poem: grade}}."""
    rows = [(query, poem, grade) for query, poems in grades.items() for poem, grade in poems.items()]
    return pl.DataFrame(rows, schema=dict(QRELS.columns), orient="row")


def measured(rankings, grades, query_ids, measures):
    table = per_query(run_of(rankings), qrels_of(grades), query_ids, measures)
    return {(query, measure): value for query, measure, value in table.rows()}


def test_values_by_hand():
    rankings = {"q": ["x", "b", "a", "y", "d"]}
    grades = {"q": {"a": 3, "b": 1, "c": 2, "d": 1, "x": 0}}
    dcg = 1 / np.log2(3) + 3 / np.log2(4) + 1 / np.log2(6)
    ideal = 3 + 2 / np.log2(3) + 1 / np.log2(4) + 1 / np.log2(5)
    expected = {
        "R@1": 0, "R@2": 1 / 4, "Recall@5": 3 / 4, "P@5": 3 / 5, "P@10": 3 / 10, "Success@1": 0, "Success@2": 1,
        "MRR": 1 / 2, "MRR@1": 0, "RR@2": 1 / 2, "Rprec": 2 / 4, "MAP": (1 / 2 + 2 / 3 + 3 / 5) / 4,
        "AP@2": (1 / 2) / 4, "nDCG": dcg / ideal, "nDCG@10": dcg / ideal,
        "nDCG@2": (1 / np.log2(3)) / (3 + 2 / np.log2(3)),
    }  # fmt: skip
    values = measured(rankings, grades, ["q"], list(expected))
    for name, value in expected.items():
        assert values["q", name] == pytest.approx(value, abs=1e-12), name


def test_two_golds_of_which_one_is_found():
    values = measured(
        {"q": ["x", "b", "y"]}, {"q": {"a": 1, "b": 1}}, ["q"], ["R@5", "Success@5", "AP", "Rprec", "nDCG@10"]
    )
    assert values["q", "R@5"] == 0.5
    assert values["q", "Success@5"] == 1
    assert values["q", "AP"] == 0.25
    assert values["q", "Rprec"] == 0.5
    assert values["q", "nDCG@10"] == pytest.approx((1 / np.log2(3)) / (1 + 1 / np.log2(3)), abs=1e-12)


def test_a_query_without_results_or_relevant_poems_scores_0():
    grades = {"found": {"a": 1}, "lost": {"a": 1}, "unjudged": {"a": 0}}
    values = measured({"found": ["a"], "unjudged": ["a"]}, grades, ["found", "lost", "unjudged", "absent"], MEASURES)
    for name in MEASURES:
        assert values["found", name] == (0.2 if name == "P@5" else 1), name
        assert [values[query, name] for query in ("lost", "unjudged", "absent")] == [0, 0, 0], name


def test_an_empty_run_scores_0():
    assert set(measured({}, {"q": {"a": 2}}, ["q"], MEASURES).values()) == {0.0}


def test_other_queries_of_the_run_are_passed_over():
    values = measured({"q": ["a"], "other": ["b"]}, {"q": {"a": 1}, "other": {"b": 1}}, ["q"], ["RR"])
    assert values == {("q", "RR"): 1.0}


def test_rows_are_sorted_and_named_as_asked():
    table = per_query(run_of({"b": ["x"]}), qrels_of({"b": {"x": 1}}), ["b", "a"], ["MRR", "Recall@5", "AP", "MRR"])
    assert table.select("query_id", "measure").rows() == [
        (query, name) for query in ("a", "b") for name in ("AP", "MRR", "Recall@5")
    ]
    assert table.schema == pl.Schema({"query_id": pl.String, "measure": pl.String, "value": pl.Float64})


def test_no_query_gives_no_row():
    assert per_query(run_of({}), qrels_of({}), [], ["RR"]).is_empty()


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("Recall@5", Measure("R", 5)), ("R@100", Measure("R", 100)), ("MRR", Measure("RR")),
        ("RR@10", Measure("RR", 10)), ("nDCG@10", Measure("nDCG", 10)), ("NDCG@10", Measure("nDCG", 10)),
        ("ndcg", Measure("nDCG")), ("RPrec", Measure("Rprec")), ("R-Precision", Measure("Rprec")),
        ("MAP@100", Measure("AP", 100)), (" Precision@5 ", Measure("P", 5)), ("success@1", Measure("Success", 1)),
    ],
)  # fmt: skip
def test_names_parse(name, measure):
    assert parse_measure(name) == measure
    assert parse_measure(str(measure)) == measure


@pytest.mark.parametrize("name", MEASURES)
def test_names_mean_what_ir_measures_means(name):
    assert str(ir_measures.parse_measure(name)) == str(parse_measure(name))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nDCG@10x", "unknown measure.*\n.*did you mean 'nDCG@10'"), ("Recal@5", "did you mean 'Recall@5'"),
        ("", "unknown measure"), ("RR@0", "unknown measure"), ("RR@-1", "unknown measure"),
        ("RR@1.5", "unknown measure"),
        ("Recall", "needs a cutoff"), ("P", "needs a cutoff"), ("Rprec@5", "takes no cutoff"),
    ],
)  # fmt: skip
def test_other_names_are_refused(name, message):
    with pytest.raises(UserError, match=message):
        parse_measure(name)


POEMS = [f"d{i}" for i in range(14)]
RANKINGS = st.dictionaries(st.sampled_from("pqrs"), st.lists(st.sampled_from(POEMS), unique=True, max_size=14))
GRADES = st.dictionaries(
    st.sampled_from("pqrs"), st.dictionaries(st.sampled_from(POEMS), st.integers(0, 3), min_size=1), min_size=1
)


def by_rank(rankings):
    return {query: {poem: -float(rank) for rank, poem in enumerate(poems)} for query, poems in rankings.items()}


@settings(max_examples=150, deadline=None)
@given(RANKINGS, GRADES)
def test_equal_to_ir_measures(rankings, grades):
    values = measured(rankings, grades, list(grades), MEASURES)
    parsed = {ir_measures.parse_measure(name): name for name in MEASURES}
    seen = set()
    for row in ir_measures.iter_calc(list(parsed), grades, by_rank(rankings)):
        assert values[row.query_id, parsed[row.measure]] == pytest.approx(row.value, abs=1e-9), row
        seen.add((row.query_id, parsed[row.measure]))
    assert all(values[key] == 0 for key in values.keys() - seen)


TREC = {
    "map": "AP", "recip_rank": "RR", "Rprec": "Rprec", "ndcg": "nDCG", "ndcg_cut_3": "nDCG@3", "ndcg_cut_10": "nDCG@10",
    "map_cut_3": "AP@3", "recall_1": "R@1", "recall_5": "R@5", "recall_10": "R@10", "P_1": "P@1", "P_5": "P@5",
    "success_1": "Success@1", "success_5": "Success@5",
}  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(RANKINGS, GRADES)
def test_equal_to_trec_eval(rankings, grades):
    values = measured(rankings, grades, list(grades), MEASURES)
    answers = pytrec_eval.RelevanceEvaluator(grades, set(TREC)).evaluate(by_rank(rankings))
    for query, answer in answers.items():
        for name, ours in TREC.items():
            assert values[query, ours] == pytest.approx(answer[name], abs=1e-9), (query, name)


def test_equal_to_trec_eval_on_long_runs():
    rng = np.random.default_rng(0)
    poems = [f"d{i:04d}" for i in range(3000)]
    rankings = {f"q{i}": rng.permutation(poems)[:1000].tolist() for i in range(10)}
    judged = {f"q{i}": rng.permutation(poems)[:200].tolist() for i in range(12)}
    grades = {query: {poem: int(rng.integers(0, 4)) for poem in names} for query, names in judged.items()}
    values = measured(rankings, grades, list(grades), [*MEASURES, "R@1000"])
    answers = pytrec_eval.RelevanceEvaluator(grades, {*TREC, "recall_1000"}).evaluate(by_rank(rankings))
    for query, answer in answers.items():
        for name, ours in (TREC | {"recall_1000": "R@1000"}).items():
            assert values[query, ours] == pytest.approx(answer[name], abs=1e-9), (query, name)


@settings(max_examples=30, deadline=None)
@given(RANKINGS, GRADES, st.randoms())
def test_row_order_of_the_inputs_changes_nothing(rankings, grades, random):
    run, qrels = run_of(rankings), qrels_of(grades)
    seed = random.randrange(1000)
    expected = per_query(run, qrels, "pqrs", MEASURES)
    shuffled = (frame.sample(fraction=1, shuffle=True, seed=seed) for frame in (run, qrels))
    assert per_query(*shuffled, "srqp", MEASURES[::-1]).equals(expected)
