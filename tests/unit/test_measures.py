"""Measures: by hand, and equal to ir_measures and trec_eval."""

import ir_measures
import numpy as np
import polars as pl
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.analyses.duplicate_folding import fold_qrels, fold_run
from verseir.analyses.fused_ranks import code_arm, measure_subsets, unite
from verseir.analyses.fusion_search import subsets_of
from verseir.faults import UserError
from verseir.fusion import reciprocal_rank_fusion
from verseir.measures import Hits, Measure, parse_measure, per_query, read_judgements
from verseir.tables import QRELS, RUN

MEASURES = [
    "R@1", "R@5", "R@10", "RR", "RR@3", "nDCG", "nDCG@3", "nDCG@10", "Rprec", "AP", "AP@3", "P@1", "P@5", "Success@1",
    "Success@5",
]  # fmt: skip
#: Measures that do not count an unjudged poem as wrong.
OPEN = [
    "R(judged_only=True)@5", "P(judged_only=True)@1", "P(judged_only=True)@5", "Success(judged_only=True)@5",
    "RR(judged_only=True)", "Rprec(judged_only=True)", "AP(judged_only=True)", "AP(judged_only=True)@3",
    "nDCG(judged_only=True)", "nDCG(judged_only=True)@3", "nDCG(judged_only=True)@10", "Bpref", "Judged@1", "Judged@10",
    "Judged",
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
    assert set(measured({}, {"q": {"a": 2}}, ["q"], [*MEASURES, *OPEN]).values()) == {0.0}


def test_unjudged_poems_are_taken_out_before_ranks_are_counted():
    rankings = {"q": ["u", "x", "v", "b", "w", "a", "y"]}
    grades = {"q": {"a": 2, "b": 1, "c": 1, "x": 0, "y": 0, "z": 0}}
    dcg, ideal = 1 / np.log2(3) + 2 / np.log2(4), 2 + 1 / np.log2(3) + 1 / np.log2(4)
    expected = {
        "P(judged_only=True)@2": 1 / 2, "P@2": 0, "RR(judged_only=True)": 1 / 2, "RR": 1 / 4,
        "RR(judged_only=True)@1": 0, "RR(judged_only=True)@2": 1 / 2, "MAP(judged_only=True)": (1 / 2 + 2 / 3) / 3,
        "MAP(judged_only=True)@2": (1 / 2) / 3, "Recall(judged_only=True)@3": 2 / 3, "Recall@3": 0,
        "Success(judged_only=True)@1": 0, "Success(judged_only=True)@2": 1, "Rprec(judged_only=True)": 2 / 3,
        "nDCG(judged_only=True)@10": dcg / ideal, "nDCG(judged_only=True)@2": (1 / np.log2(3)) / (2 + 1 / np.log2(3)),
        "Judged@1": 0, "Judged@4": 2 / 4, "Judged@10": 4 / 7, "Judged": 4 / 7,
        "Bpref": ((1 - 1 / 3) + (1 - 1 / 3)) / 3,
    }  # fmt: skip
    values = measured(rankings, grades, ["q"], list(expected))
    for name, value in expected.items():
        assert values["q", name] == pytest.approx(value, abs=1e-12), name


def test_a_run_of_judged_poems_alone_has_the_same_value_condensed_or_not():
    rankings, grades = {"q": ["x", "a", "b"]}, {"q": {"a": 2, "b": 1, "x": 0, "c": 3}}
    plain = ["P@1", "P@5", "AP", "nDCG@3", "RR", "Rprec"]
    condensed = ["P(judged_only=True)@1", "P(judged_only=True)@5", *(name for name in OPEN if name[:2] in ("AP", "RR"))]
    values = measured(rankings, grades, ["q"], [*plain, *condensed, "nDCG(judged_only=True)@3"])
    assert values["q", "P@5"] == values["q", "P(judged_only=True)@5"] == 2 / 5
    assert values["q", "AP"] == values["q", "AP(judged_only=True)"] > 0
    assert values["q", "RR"] == values["q", "RR(judged_only=True)"] == 1 / 2
    assert values["q", "nDCG@3"] == values["q", "nDCG(judged_only=True)@3"] > 0


def test_a_query_judged_without_a_relevant_poem_scores_0_but_is_judged():
    values = measured({"q": ["x", "u"], "r": ["u"]}, {"q": {"x": 0}}, ["q", "r"], OPEN)
    assert {name for query, name in values if query == "q" and values[query, name]} == {
        "Judged", "Judged@1", "Judged@10",
    }  # fmt: skip
    assert (values["q", "Judged@1"], values["q", "Judged@10"]) == (1, 1 / 2)
    assert {values["r", name] for name in OPEN} == {0.0}


def test_without_judged_non_relevant_poems_bpref_is_the_recall():
    values = measured({"q": ["u", "a", "v", "b"]}, {"q": {"a": 1, "b": 1, "c": 1}}, ["q"], ["Bpref"])
    assert values["q", "Bpref"] == pytest.approx(2 / 3)


def test_a_list_of_unknown_length_has_no_share_of_judged():
    judged = read_judgements(qrels_of({"q": {"a": 1}}), ["q"])
    hits = Hits(*(np.array([value]) for value in (0, 1, 1)))
    assert parse_measure("P(judged_only=True)@1").values(hits, judged).tolist() == [1]
    with pytest.raises(UserError, match="Judged cannot be had here"):
        parse_measure("Judged@10").values(hits, judged)


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
        ("MAP@100", Measure("AP", 100)), ("nDCG(judged_only=True)@10", Measure("nDCG", 10, True)),
        ("MAP(judged_only=True)", Measure("AP", None, True)), ("ndcg(judged_only=False)@5", Measure("nDCG", 5)),
        ("MRR(judged_only=True)@10", Measure("RR", 10, True)), ("Precision(judged_only=True)@5", Measure("P", 5, True)),
        ("Judged@10", Measure("Judged", 10)), ("judged", Measure("Judged")), ("BPref", Measure("Bpref")),
        (" Precision@5 ", Measure("P", 5)), ("success@1", Measure("Success", 1)),
    ],
)  # fmt: skip
def test_names_parse(name, measure):
    assert parse_measure(name) == measure
    assert parse_measure(str(measure)) == measure


@pytest.mark.parametrize("name", [*MEASURES, *OPEN])
def test_names_mean_what_ir_measures_means(name):
    assert str(ir_measures.parse_measure(name)) == str(parse_measure(name))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nDCG@10x", "unknown measure.*\n.*did you mean 'nDCG@10'"), ("Recal@5", "did you mean 'Recall@5'"),
        ("", "unknown measure"), ("RR@0", "unknown measure"), ("RR@-1", "unknown measure"),
        ("RR@1.5", "unknown measure"),
        ("Bpref@5", "takes no cutoff"), ("Bpref(judged_only=True)", "takes no judged_only"),
        ("Judged(judged_only=True)@5", "takes no judged_only"), ("P(judged_only=True)", "P.judged_only=True.@5"),
        ("nDCG(judged=True)@10", "did you mean 'nDCG.judged_only=True.@10'"), ("nDCG@10(judged_only=True)", "unknown"),
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


@settings(max_examples=150, deadline=None)
@given(RANKINGS, GRADES)
def test_measures_for_an_open_world_are_equal_to_ir_measures(rankings, grades):
    values = measured(rankings, grades, list(grades), OPEN)
    parsed = {ir_measures.parse_measure(name): name for name in OPEN}
    seen = set()
    found = {query: poems for query, poems in by_rank(rankings).items() if poems}  # it divides by 0 for an empty list
    for row in ir_measures.iter_calc(list(parsed), grades, found):
        assert values[row.query_id, parsed[row.measure]] == pytest.approx(row.value, abs=1e-9), row
        seen.add((row.query_id, parsed[row.measure]))
    assert all(values[key] == 0 for key in values.keys() - seen)


@settings(max_examples=60, deadline=None)
@given(RANKINGS, GRADES)
def test_condensed_lists_are_lists_without_their_unjudged_poems(rankings, grades):
    without = {query: [poem for poem in poems if poem in grades.get(query, {})] for query, poems in rankings.items()}
    names = [*MEASURES, "RR@10"]
    plain = measured(without, grades, list(grades), names)
    marked = {name: "(judged_only=True)@".join(name.split("@")) if "@" in name else f"{name}(judged_only=True)"
              for name in names}  # fmt: skip
    condensed = measured(rankings, grades, list(grades), list(marked.values()))
    assert {key: condensed[key[0], marked[key[1]]] for key in plain} == plain


@settings(max_examples=40, deadline=None)
@given(st.lists(RANKINGS, min_size=1, max_size=3), GRADES, st.sampled_from(OPEN), st.integers(1, 20))
def test_fusions_have_the_value_of_the_fused_list(rankings, grades, name, depth):
    runs, qrels, ids = [run_of(one) for one in rankings], qrels_of(grades), sorted("pqrs")
    subsets = subsets_of(len(runs), 3)
    arms, judged = unite([code_arm(run, ids) for run in runs]), read_judgements(qrels, ids)
    if name.startswith("Judged"):
        with pytest.raises(UserError, match="Judged cannot be had here"):
            measure_subsets(arms, judged, subsets, parse_measure(name), 60, depth, threads=1)
        return
    values = measure_subsets(arms, judged, subsets, parse_measure(name), 60, depth, threads=1)
    for subset, value in zip(subsets, values, strict=True):
        fused = reciprocal_rank_fusion([runs[arm] for arm in subset if arm >= 0], 60, depth)
        assert value.tolist() == per_query(fused, qrels, ids, [name])["value"].to_list()


def test_folded_duplicates_are_judged_as_one():
    classes = pl.DataFrame({"poem_id": ["a", "b"], "class_id": ["a", "a"]})
    run, qrels = run_of({"q": ["u", "b", "x", "a"]}), qrels_of({"q": {"a": 1, "x": 0}})
    folded = per_query(fold_run(run, classes), fold_qrels(qrels, classes), ["q"], ["Judged@10", "RR(judged_only=True)"])
    assert folded["value"].to_list() == [2 / 3, 1]


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
    condensed = {"map": "AP(judged_only=True)", "ndcg_cut_10": "nDCG(judged_only=True)@10", "bpref": "Bpref"}
    values = measured(rankings, grades, list(grades), list(condensed.values()))
    answers = pytrec_eval.RelevanceEvaluator(grades, set(condensed), judged_docs_only_flag=True)
    for query, answer in answers.evaluate(by_rank(rankings)).items():
        for name, ours in condensed.items():
            assert values[query, ours] == pytest.approx(answer[name], abs=1e-9), (query, name)


@settings(max_examples=30, deadline=None)
@given(RANKINGS, GRADES, st.randoms())
def test_row_order_of_the_inputs_changes_nothing(rankings, grades, random):
    run, qrels = run_of(rankings), qrels_of(grades)
    seed = random.randrange(1000)
    expected = per_query(run, qrels, "pqrs", [*MEASURES, *OPEN])
    shuffled = (frame.sample(fraction=1, shuffle=True, seed=seed) for frame in (run, qrels))
    assert per_query(*shuffled, "srqp", [*OPEN, *MEASURES[::-1]]).equals(expected)
