"""People against each other, against judges, and the systems that they prefer."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from verseir.analyses.annotators import (
    ANNOTATOR_AGREEMENT,
    ANNOTATOR_CONTRASTS,
    HUMAN_JUDGE,
    MEAN,
    annotator_agreement,
    annotator_contrasts,
    human_judge,
)
from verseir.analyses.contrasts import compare
from verseir.analyses.judged import Judged, item_scores, read_judgements
from verseir.analyses.paired import Draws
from verseir.faults import UserError
from verseir.judging.annotations import ANNOTATIONS
from verseir.judging.judgements import JUDGEMENTS
from verseir.judging.rubrics import Aspect, Rubric
from verseir.layout import Run
from verseir.stats.agreement import kappa
from verseir.stats.bootstrap import clopper_pearson
from verseir.stats.clustered import clustered_kappa
from verseir.tables import DUPLICATES, QRELS, QUERIES, RUN, check_table, write_table

DRAWS = Draws(200, 999, 4)
SPEC = {"kind": "thematic", "corpus": "c", "query_set": "themes", "systems": ["bm25", "e5"], "modes": ["verse"]}
SPECS = {"s": {**SPEC, "depth": 2}}


def annotations(grades):
    """ANNOTATIONS of annotator -> {(query, poem): grade}."""
    rows = [
        (f"i-{query}-{poem}", query, poem, annotator, grade, None)
        for annotator, of in grades.items()
        for (query, poem), grade in of.items()
    ]
    return check_table(pl.DataFrame(rows, schema=dict(ANNOTATIONS.columns), orient="row"), ANNOTATIONS, "annotations")


def queries(ids, query_set="themes"):
    rows = [(query, query_set, "text", *[None] * 5) for query in ids]
    return pl.DataFrame(rows, schema=dict(QUERIES.columns), orient="row")


def qrels(gold, query_set="themes"):
    rows = [(query, poem, 1, query_set) for query, poem in gold.items()]
    return pl.DataFrame(rows, schema={**QRELS.columns, "query_set": pl.String}, orient="row")


THEMES = queries(["q1", "q2", "q3", "q4"])
NONE = qrels({})


def agreement(grades, specs=SPECS, judged=NONE):
    table = annotator_agreement({"s": annotations(grades)}, specs, THEMES, judged, DRAWS)
    return check_table(table, ANNOTATOR_AGREEMENT, "agreement")


ANNA = {("q1", "a"): 0, ("q1", "b"): 2, ("q2", "a"): 1, ("q2", "c"): 2, ("q3", "a"): 0, ("q4", "d"): 1}
BORIS = {("q1", "a"): 1, ("q1", "b"): 2, ("q2", "a"): 1, ("q2", "c"): 0, ("q3", "a"): 0, ("q3", "z"): 2}


def test_agreement_is_over_the_items_of_both_by_query():
    row = agreement({"Boris": BORIS, "Anna": ANNA}).row(0, named=True)
    assert (row["annotator_a"], row["annotator_b"], row["n_items"], row["n_queries"]) == ("Anna", "Boris", 5, 3)
    a, b = np.array([0, 2, 1, 2, 0.0]), np.array([1, 2, 1, 0, 0.0])
    assert row["kappa"] == pytest.approx(kappa(a, b, [0, 1, 2]).estimate)
    expected = clustered_kappa(a, b, [0, 1, 2], np.array([0, 0, 1, 1, 2]), DRAWS.resamples, DRAWS.seed)
    assert (row["kappa_low"], row["kappa_high"]) == expected[1:]
    assert (row["within_one"], row["same"]) == (0.8, 0.6)
    assert row["note"] == "3 independent queries only: intervals are too narrow"


def test_every_pair_of_annotators_and_no_mean():
    table = agreement({"Anna": ANNA, "Boris": BORIS, "Cleo": ANNA})
    assert table.select("annotator_a", "annotator_b").rows() == [("Anna", "Boris"), ("Anna", "Cleo"), ("Boris", "Cleo")]
    alike = table.row(1, named=True)
    assert (alike["kappa"], alike["kappa_low"], alike["within_one"], alike["same"]) == (1.0, None, 1.0, 1.0)
    assert alike["within_one_low"] == clopper_pearson(4, 4)[0]  # four queries
    assert alike["note"] == "interval of kappa not estimable: they agree throughout"


@pytest.mark.parametrize(
    ("other", "n", "within", "note"),
    [
        ({("q9", "x"): 1}, 0, None, "not estimable: no item was graded by both"),
        (
            {("q1", "a"): 0},
            1,
            1.0,
            "kappa not estimable: fewer than two items; "
            "interval of share within one not estimable: fewer than two independent queries",
        ),
        (
            {("q1", "a"): 2, ("q1", "b"): 2},
            2,
            0.5,
            "interval of kappa and share within one not estimable: fewer than two independent queries",
        ),
        ({("q1", "a"): 0, ("q3", "a"): 0}, 2, 1.0, "kappa not estimable: both gave all items the same grade"),
    ],
)
def test_agreement_that_cannot_be_estimated(other, n, within, note):
    row = agreement({"Anna": ANNA, "Boris": other}).row(0, named=True)
    assert (row["n_items"], row["within_one"], row["kappa_low"], row["note"]) == (n, within, None, note)


def test_one_annotator_or_none_agrees_with_nobody():
    assert agreement({"Anna": ANNA}).is_empty()
    assert agreement({}).is_empty()
    assert annotator_agreement({}, {}, THEMES, NONE, DRAWS).columns == list(ANNOTATOR_AGREEMENT.columns)


def test_known_item_queries_of_one_poem_are_one_cluster():
    grades = {"Anna": {("q1", "a"): 0, ("q2", "a"): 2}, "Boris": {("q1", "a"): 1, ("q2", "a"): 2}}
    known = {"s": {**SPEC, "kind": "known-item"}}
    together = agreement(grades, known, qrels({"q1": "p", "q2": "p"}))
    apart = agreement(grades, known, qrels({"q1": "p", "q2": "o"}))
    assert together["note"][0] == (
        "interval of kappa and share within one not estimable: fewer than two independent queries"
    )
    assert together["within_one_low"].to_list() == [None]
    assert apart["within_one_low"].to_list() == [clopper_pearson(2, 2)[0]]


RUBRIC = Rubric(
    "r",
    (1, 2, 3, 4, 5),
    "",
    tuple(
        Aspect(name, "", kind, "", {})
        for name, kind in [("overall", "overall"), ("x", "aboutness"), ("y", "aboutness"), ("w", "wording")]
    ),
)


def judgements(scores, judge="m"):
    """JUDGEMENTS of (query, poem) -> scores of overall, x, y and w; None: refused."""
    rows = []
    for (query, poem), given in scores.items():
        for aspect, score in zip(RUBRIC.ids, given or [None] * 4, strict=True):
            status = "answered" if given else "refused"
            rows.append((f"i-{query}-{poem}", query, poem, judge, aspect, score, None, status))
    return pl.DataFrame(rows, schema=dict(JUDGEMENTS.columns), orient="row")


def by_judge(table):
    """What each judge of a JUDGEMENTS table said of the queries of the sheet."""
    parts = table.partition_by("judge", as_dict=True).items()
    return [Judged("c", "themes", judge, RUBRIC, part) for (judge,), part in parts]


def against(grades, judged, specs=SPECS):
    table = human_judge({"s": annotations(grades)}, specs, by_judge(judged), THEMES, DRAWS)
    return check_table(table, HUMAN_JUDGE, "human_judge")


SCORES = {
    ("q1", "a"): (1, 2, 3, 5),
    ("q1", "b"): (4, 4, 5, 1),
    ("q2", "a"): (2, 1, 1, 1),
    ("q2", "c"): (3, 5, 4, 1),
    ("q3", "a"): (2, 1, 2, 2),
    ("q4", "d"): None,
    ("q4", "unseen"): (5, 5, 5, 5),
}


def test_people_against_a_judge():
    table = against({"Anna": ANNA, "Boris": BORIS}, judgements(SCORES))
    keys = [(who, aspect) for who in ("Anna", "Boris", MEAN) for aspect in ("aboutness", "overall")]
    assert table.select("annotator", "aspect").rows() == sorted(keys)
    assert table["n_items"].unique().to_list() == [5]  # the refused and the unseen item are left out
    anna, boris = np.array([0, 2, 1, 2, 0]), np.array([1, 2, 1, 0, 0])
    about, overall = [2.5, 4.5, 1.0, 4.5, 1.5], [1, 4, 2, 3, 2]
    for who, grades in (("Anna", anna), ("Boris", boris), (MEAN, (anna + boris) / 2)):
        for aspect, scores in (("aboutness", about), ("overall", overall)):
            row = table.row(by_predicate=(pl.col("annotator") == who) & (pl.col("aspect") == aspect), named=True)
            assert row["rho"] == pytest.approx(stats.spearmanr(grades, scores).statistic)


def test_the_mean_of_an_item_is_over_those_who_graded_it():
    judged = judgements({("q1", "a"): (1, 1, 1, 1), ("q2", "a"): (3, 3, 3, 3), ("q3", "a"): (5, 5, 5, 5)})
    grades = {
        "Anna": {("q1", "a"): 0, ("q2", "a"): 2, ("q3", "a"): 2},
        "Boris": {("q1", "a"): 0, ("q2", "a"): 1},
    }
    table = against(grades, judged)
    mean = table.filter((pl.col("annotator") == MEAN) & (pl.col("aspect") == "overall"))
    assert (mean["n_items"][0], mean["rho"][0]) == (3, pytest.approx(1.0))  # 0, 1.5, 2


def test_one_annotator_has_no_mean():
    assert against({"Anna": ANNA}, judgements(SCORES))["annotator"].unique().to_list() == ["Anna"]


def test_an_item_that_lacks_an_aspect_has_no_aboutness():
    judged = judgements(SCORES).filter(~((pl.col("item_id") == "i-q1-a") & (pl.col("aspect") == "y")))
    counts = dict(against({"Anna": ANNA}, judged).select("aspect", "n_items").iter_rows())
    assert counts == {"aboutness": 4, "overall": 5}


def test_a_judge_that_answered_nothing_is_named():
    table = against({"Anna": ANNA}, judgements(dict.fromkeys(SCORES)))
    assert table.select("aspect", "n_items", "rho").rows() == [("aboutness", 0, None), ("overall", 0, None)]
    assert table["note"].unique().to_list() == ["not estimable: no item was graded by both"]
    nothing = item_scores(by_judge(judgements(dict.fromkeys(SCORES)))[0])
    assert nothing.select("overall", "aboutness").null_count().row(0) == (len(SCORES), len(SCORES))


def test_equal_grades_have_no_correlation():
    row = against({"Anna": dict.fromkeys(ANNA, 1)}, judgements(SCORES)).row(0, named=True)
    assert (row["rho"], row["note"]) == (None, "rho not estimable: all grades or all scores are equal")


def test_one_query_has_no_interval():
    grades = {("q1", "a"): 0, ("q1", "b"): 2}
    row = against({"Anna": grades}, judgements(SCORES)).row(0, named=True)
    assert (row["rho"], row["rho_low"]) == (pytest.approx(1.0), None)
    assert "fewer than two independent queries" in row["note"]


def test_a_judge_without_a_rubric_is_a_user_error(tmp_path):
    path = tmp_path / "c" / "themes" / "m.parquet"
    write_table(judgements(SCORES), path, JUDGEMENTS)
    with pytest.raises(UserError, match="no rubric is given for the judge 'm'"):
        read_judgements([path], {})


def test_no_judge_no_rows():
    assert human_judge({"s": annotations({"Anna": ANNA})}, SPECS, [], THEMES, DRAWS).is_empty()
    known = {"s": {**SPEC, "kind": "known-item"}}
    assert against({"Anna": ANNA}, judgements(SCORES), specs=known).is_empty()


def run(ranked):
    """A RUN of query -> poems in order."""
    rows = [(query, poem, i + 1, -float(i), None) for query, poems in ranked.items() for i, poem in enumerate(poems)]
    return pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")


CLASSES = pl.DataFrame(
    [("a", "a", 2, "exact", 1.0), ("a2", "a", 2, "exact", 1.0)], schema=dict(DUPLICATES.columns), orient="row"
)


def preferred(grades, of_system, lexical=("bm25",), spec=None):
    runs = {Run("c", "verse", "themes", name): run(ranked) for name, ranked in of_system.items()}
    specs = {"s": {**SPECS["s"], "systems": sorted(of_system), **(spec or {})}}
    table = annotator_contrasts({"s": annotations(grades)}, specs, runs, {"c": CLASSES}, THEMES, list(lexical), DRAWS)
    return check_table(table, ANNOTATOR_CONTRASTS, "contrasts")


BM25 = {"q1": ["a", "b"], "q2": ["a2", "u"], "q3": []}
E5 = {"q1": ["b", "c", "a"], "q2": ["c", "b"], "q3": ["a", "b"]}
GRADES = {
    ("q1", "a"): 0,
    ("q1", "b"): 1,
    ("q1", "c"): 2,
    ("q2", "a"): 1,
    ("q2", "b"): 2,
    ("q2", "c"): 2,
    ("q3", "a"): 2,
    ("q3", "b"): 0,
}


def test_contrasts_by_hand():
    row = preferred({"Anna": GRADES}, {"bm25": BM25, "e5": E5}).row(0, named=True)
    # bm25: (0+1)/2; a2 stands for a, u was not graded: 1; nothing found: 0. e5: 3/2; 2; 1.
    lexical, dense = np.array([0.5, 1.0, 0.0]), np.array([1.5, 2.0, 1.0])
    assert (row["a"], row["b"], row["n"], row["mean_a"], row["mean_b"]) == ("bm25", "e5", 3, 0.5, 1.5)
    expected = compare(lexical, dense, None, *DRAWS)
    assert (row["estimate"], row["test"], row["p"]) == (-1.0, expected.test, expected.p)
    assert "33% of bm25's places are empty" in row["note"]
    assert "e5's places" not in row["note"]
    assert row["family"] == "annotators/s/Anna/verse"
    assert (row["p_holm"], row["family_size"]) == (row["p"], 1)
    assert "not graded: 1 of 4 places of bm25" in row["note"]


def test_agreement_is_on_the_scale_of_the_sheet():
    one = {("q1", "a"): 0, ("q1", "b"): 3, ("q2", "a"): 1, ("q2", "c"): 2}
    two = {("q1", "a"): 1, ("q1", "b"): 3, ("q2", "a"): 1, ("q2", "c"): 3}
    row = agreement({"Anna": one, "Boris": two}, {"s": {**SPEC, "grades": (0, 1, 2, 3)}}).row(0, named=True)
    a, b = np.array([0, 3, 1, 2.0]), np.array([1, 3, 1, 3.0])
    assert row["kappa"] == pytest.approx(kappa(a, b, [0, 1, 2, 3]).estimate)


def test_an_empty_place_has_the_lowest_grade_of_the_scale():
    grades = {("q1", "a"): 5, ("q2", "b"): 3}
    found = {"bm25": {"q1": ["a"], "q2": ["b"]}, "e5": {"q1": ["a"], "q2": []}}
    row = preferred({"Anna": grades}, found, spec={"depth": 1, "grades": (1, 2, 3, 4, 5)}).row(0, named=True)
    assert (row["mean_a"], row["mean_b"]) == (4.0, 3.0)


def test_a_judge_of_one_aspect_is_compared_by_it_alone():
    alone = Rubric("r", (0, 1, 2, 3), "", (Aspect("overall", "", "overall", "", {}),))
    judged = judgements(SCORES).filter(pl.col("aspect") == "overall")
    found = [Judged("c", "themes", "m", alone, judged)]
    table = check_table(human_judge({"s": annotations({"Anna": ANNA})}, SPECS, found, THEMES, DRAWS), HUMAN_JUDGE, "h")
    assert table["aspect"].to_list() == ["overall"]
    assert table["rho"][0] == pytest.approx(stats.spearmanr([0, 2, 1, 2, 0], [1, 4, 2, 3, 2]).statistic)


def test_queries_that_the_annotator_did_not_look_at_do_not_count():
    some = {key: grade for key, grade in GRADES.items() if key[0] != "q3"}
    row = preferred({"Anna": some}, {"bm25": BM25, "e5": E5}).row(0, named=True)
    assert (row["n"], row["mean_a"], row["mean_b"]) == (2, 0.75, 1.75)


def test_the_places_below_the_depth_do_not_count():
    row = preferred({"Anna": GRADES}, {"bm25": BM25, "e5": E5}, spec={"depth": 1}).row(0, named=True)
    assert (row["mean_a"], row["mean_b"]) == (pytest.approx(1 / 3), pytest.approx(5 / 3))


def test_each_annotator_is_a_family_and_so_is_their_mean():
    other = {key: 2 - grade for key, grade in GRADES.items()}
    three = {"bm25": BM25, "e5": E5, "rrf": {"q1": ["c"], "q2": ["b", "c"], "q3": ["a"]}}
    table = preferred({"Anna": GRADES, "Boris": other}, three)
    assert table.select("annotator", "b").rows() == [
        (who, system) for who in ("Anna", "Boris", MEAN) for system in ("e5", "rrf")
    ]
    assert table["family"].n_unique() == 3 and table["family_size"].unique().to_list() == [2]
    of_mean = table.filter((pl.col("annotator") == MEAN) & (pl.col("b") == "e5"))
    assert (of_mean["mean_b"][0], of_mean["mean_a"][0]) == (1.0, pytest.approx(2 / 3))


def test_without_a_lexical_system_the_best_is_compared():
    row = preferred({"Anna": GRADES}, {"one": BM25, "two": E5}, lexical=()).row(0, named=True)
    assert (row["a"], row["b"]) == ("two", "one")
    assert "the best was picked on the same queries" in row["note"]


def test_only_systems_and_modes_of_the_sheet_are_compared():
    table = preferred({"Anna": GRADES}, {"bm25": BM25, "e5": E5, "x": E5}, spec={"systems": ["bm25", "x", "absent"]})
    assert table["b"].to_list() == ["x"]
    assert preferred({"Anna": GRADES}, {"bm25": BM25, "e5": E5}, spec={"modes": ["other"]}).is_empty()
    assert preferred({"Anna": GRADES}, {"bm25": BM25, "e5": E5}, spec={"kind": "known-item"}).is_empty()
    assert preferred({}, {"bm25": BM25, "e5": E5}).is_empty()


def test_one_query_is_not_tested():
    row = preferred({"Anna": {("q1", "a"): 1, ("q1", "b"): 1}}, {"bm25": BM25, "e5": E5}).row(0, named=True)
    assert (row["n"], row["estimate"], row["ci_low"], row["p"]) == (1, 0.0, None, None)
    assert row["note"].startswith("not estimable: fewer than two independent queries")


def test_one_grade_for_all_sets_no_system_above_another():
    same = {key: 2 for key in GRADES if key[0] != "q3"}
    row = preferred({"Anna": same}, {"bm25": BM25, "e5": E5}).row(0, named=True)
    assert (row["estimate"], row["ci_low"], row["p"]) == (0.0, None, 1.0)
    assert row["note"].startswith("alike on every query")


def test_the_test_does_not_hang_on_the_grades_that_occur():
    """Two grades of three are no hits and misses, whether they are 0 and 1 or 1 and 2."""
    found = []
    for low in (0, 1):
        grades = {(f"q{i}", poem): low + (poem == "a" and i < 4) for i in range(1, 5) for poem in "ax"}
        runs = {"bm25": {f"q{i}": ["x"] for i in range(1, 5)}, "e5": {f"q{i}": ["a"] for i in range(1, 5)}}
        found.append(preferred({"Anna": grades}, runs, spec={"depth": 1}).row(0, named=True))
    assert [row["test"] for row in found] == ["exact sign-flip"] * 2
    assert [found[0][name] for name in ("estimate", "ci_low", "ci_high", "p")] == [
        found[1][name] for name in ("estimate", "ci_low", "ci_high", "p")
    ]


def test_one_step_of_grades_throughout_has_no_interval():
    grades = {(f"q{i}", poem): int(poem == "a") for i in range(1, 5) for poem in "ax"}
    runs = {"bm25": {f"q{i}": ["x"] for i in range(1, 5)}, "e5": {f"q{i}": ["a"] for i in range(1, 5)}}
    row = preferred({"Anna": grades}, runs, spec={"depth": 1}).row(0, named=True)
    assert (row["estimate"], row["ci_low"], row["ci_high"]) == (-1, None, None)
    assert row["note"] == "interval not estimable: the difference does not vary"


def test_a_query_for_which_a_system_found_nothing_counts_with_0():
    found = {**BM25, "q3": []}
    row = preferred({"Anna": GRADES}, {"bm25": found, "e5": E5}).row(0, named=True)
    without = preferred({"Anna": {k: v for k, v in GRADES.items() if k[0] != "q3"}}, {"bm25": found, "e5": E5})
    assert (row["n"], without["n"][0]) == (3, 2)
    assert row["mean_a"] == pytest.approx(without["mean_a"][0] * 2 / 3)
    assert "empty" not in (without["note"][0] or "")


def test_systems_that_share_no_graded_query_are_not_compared_by_guess():
    first, second = {"q1": ["a", "b"], "q2": ["x", "y"]}, {"q1": ["x", "y"], "q2": ["a", "c"]}
    row = preferred({"Anna": {("q1", "a"): 1, ("q2", "a"): 2}}, {"bm25": first, "e5": second}).row(0, named=True)
    assert (row["n"], row["mean_a"], row["estimate"], row["p"], row["p_holm"]) == (0, None, None, None, None)
    assert row["note"] == "not estimable: nothing was graded of both"


def test_no_result_hangs_on_the_order_of_rows():
    both = annotations({"Anna": ANNA, "Boris": BORIS})
    turned = both.sample(fraction=1, shuffle=True, seed=1)
    one, other = (annotator_agreement({"s": frame}, SPECS, THEMES, NONE, DRAWS) for frame in (both, turned))
    assert one.equals(other)
    judged = judgements(SCORES)
    rhos = [
        human_judge({"s": frame}, SPECS, by_judge(given), THEMES, DRAWS)
        for frame, given in ((both, judged), (turned, judged.sample(fraction=1, shuffle=True, seed=2)))
    ]
    assert rhos[0].equals(rhos[1])
    assert not any(math.isnan(value) for value in rhos[0]["rho"].drop_nulls())
