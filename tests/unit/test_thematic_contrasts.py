"""Paired tests of what judges give to systems: which pairs, which tests, which families."""

import math

import numpy as np
import polars as pl
import pytest
from paired_study import DRAWS
from thematic_study import asked, contrasted, grades, judged, row, rubric, run, scored

from verseir.analyses.paired import compare_columns
from verseir.analyses.thematic_contrasts import thematic_contrasts, thematic_pairs
from verseir.stats.bootstrap import bootstrap_means


def test_a_difference_of_one_grade_throughout_has_no_interval():
    frame, ids = grades({"x": [2] * 8, "bm25": [1] * 8})
    one = row(contrasted(frame, ids), aspect="overall")
    assert (one["estimate"], one["ci_low"], one["ci_high"]) == (-1, None, None)
    assert one["p"] == 2 / 2**8
    assert "does not vary" in one["note"]


@pytest.mark.parametrize("low", [0, 1, 3])
def test_the_test_does_not_hang_on_the_grades_that_occur(low):
    """Two grades of a scale of six are no hits and misses, be they 0 and 1."""
    of = rubric(scale=(0, 1, 2, 3, 4, 5))
    ids = [f"q{i:02}" for i in range(12)]
    scores = {(query, "a"): low + 1 for query in ids} | {(query, "b"): low + (i < 4) for i, query in enumerate(ids)}
    runs = [run("bm25", {query: ["b"] for query in ids}), run("x", {query: ["a"] for query in ids})]
    frame = scored(runs, ids, judged(scores, of=of), k=1)
    one = row(contrasted(frame, ids, of=of), aspect="overall")
    assert (one["test"], one["p"]) == ("exact sign-flip", 2 / 2**8)
    difference = np.array([[0.0] * 4 + [-1.0] * 8]).T
    expected = bootstrap_means(difference, None, DRAWS.resamples, DRAWS.seed)
    assert (one["ci_low"], one["ci_high"]) == (pytest.approx(expected.low[0]), pytest.approx(expected.high[0]))


@pytest.mark.parametrize("clusters", [None, np.arange(8) // 2])
def test_grades_that_differ_by_one_throughout_are_no_proportion(clusters):
    a, b = np.ones((8, 1)), np.zeros((8, 1))
    (graded,) = compare_columns(a, b, clusters, DRAWS, graded=True)
    assert graded.test.startswith("exact sign-flip")
    assert math.isnan(graded.ci_low) and "does not vary" in graded.note
    (hits,) = compare_columns(a, b, clusters, DRAWS)
    assert hits.ci_low > 0 and hits.p <= graded.p


def test_nothing_judged_says_so():
    frame, ids = grades({"x": [None] * 3, "bm25": [1, 2, 3]})
    one = row(contrasted(frame, ids), aspect="overall")
    assert (one["n"], one["estimate"], one["p"]) == (0, None, None)
    assert one["note"] == "not estimable: nothing was judged of both; 0 of 3 queries have a value of both"


def test_a_binary_scale_is_tested_as_hits():
    binary = rubric(scale=(0, 1))
    ids = [f"q{i}" for i in range(12)]
    scores = {(query, "a"): 1 for query in ids} | {(query, "b"): int(i < 4) for i, query in enumerate(ids)}
    runs = [run("bm25", {query: ["b"] for query in ids}), run("x", {query: ["a"] for query in ids})]
    frame = scored(runs, ids, judged(scores, of=binary), k=1)
    one = row(contrasted(frame, ids, of=binary), aspect="overall")
    assert one["test"] == "McNemar exact"
    assert one["p"] == 2 / 2**8


def test_lexical_systems_are_compared_with_all_others_and_fusions():
    columns = {name: np.array([1.0, 2]) for name in ("bm25", "rrf", "x", "y")}
    assert [(a, b) for a, b, _ in thematic_pairs(columns, ["bm25"], ["rrf"])] == [
        ("bm25", "rrf"),
        ("bm25", "x"),
        ("bm25", "y"),
    ]
    two = thematic_pairs(columns, ["bm25", "x"], ["rrf"])
    assert [(a, b) for a, b, _ in two] == [("bm25", "rrf"), ("bm25", "x"), ("bm25", "y"), ("x", "rrf"), ("x", "y")]


def test_without_a_lexical_system_the_best_single_one_is_compared():
    columns = {
        "rrf": np.array([5.0, 5]),
        "x": np.array([math.nan] * 2),
        "y": np.array([1.0, 2]),
        "z": np.array([3.0, 2]),
    }
    pairs = thematic_pairs(columns, [], ["rrf"])
    assert [(a, b) for a, b, _ in pairs] == [("z", "rrf"), ("z", "x"), ("z", "y")]
    assert pairs[0].note == "the best was picked on the same queries"
    assert thematic_pairs({"x": np.array([math.nan])}, [], []) == []


def test_families_are_of_one_judge_mode_and_aspect():
    first, ids = grades({"x": [5, 4, 3, 2, 4], "bm25": [1, 2, 2, 3, 1], "y": [1, 5, 3, 4, 4]})
    frame = pl.concat([first, first.with_columns(judge=pl.lit("k")), first.with_columns(mode=pl.lit("other"))])
    table = contrasted(frame, ids)
    assert table["family_size"].unique().to_list() == [2]
    assert "thematic/k/c/themes/verse/overall" in table["family"].to_list()
    assert table["family"].n_unique() == 6
    assert (table["p_holm"] >= table["p"]).all()
    assert table["aspect"].unique().sort().to_list() == ["aboutness", "overall"]


def test_edits_of_a_theme_are_one_cluster():
    frame, ids = grades({"x": [5, 4, 3, 4, 4, 3], "bm25": [1, 2, 2, 3, 1, 2]})
    source = {query: ids[i - i % 2] for i, query in enumerate(ids) if i % 2}
    test = row(contrasted(frame, ids, source=source), aspect="overall")
    assert test["test"] == "exact sign-flip by theme"
    assert test["p"] == 2 / 2**3


def test_themes_that_name_their_clusters_are_tested_by_cluster():
    frame, ids = grades({"x": [5, 4, 3, 4, 4, 3], "bm25": [1, 2, 2, 3, 1, 2]})
    queries = asked(ids).with_columns(cluster=pl.Series(["a", "a", "b", "b", "c", "c"]))
    table = thematic_contrasts(frame, queries, {"j": rubric()}, ["bm25"], [], 2, DRAWS)
    assert row(table, aspect="overall")["test"] == "exact sign-flip by cluster"


def test_a_difference_that_is_of_empty_places_says_what_is_shown():
    found = {"q1": ["a", "b"], "q2": ["a", "b"]}
    scores = {(query, poem): grade for query in found for poem, grade in (("a", 5), ("b", 3), ("c", 5))}
    frame = scored([run("bm25", {"q1": ["c"], "q2": []}), run("x", found)], ["q1", "q2"], judged(scores))
    told = row(contrasted(frame, ["q1", "q2"]), a="bm25", b="x", aspect="overall")
    assert told["estimate"] < 0
    assert "75% of bm25's places are empty" in told["note"]
    assert "of what they show, bm25 has 5.00 and x 4.00" in told["note"]
    assert "of what they show" not in (
        row(
            contrasted(scored([run("bm25", found), run("x", found)], ["q1", "q2"], judged(scores)), ["q1", "q2"]),
            a="bm25",
            b="x",
            aspect="overall",
        )["note"]
        or ""
    )
