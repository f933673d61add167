"""Paired tests of what judges give to systems: which pairs, which tests, which families."""

import math

import numpy as np
import polars as pl
from thematic_study import contrasted, grades, judged, row, rubric, run, scored

from verseir.analyses.thematic_contrasts import thematic_pairs


def test_a_difference_of_one_grade_throughout_has_no_interval():
    frame, ids = grades({"x": [2] * 8, "bm25": [1] * 8})
    one = row(contrasted(frame, ids), aspect="overall")
    assert (one["estimate"], one["ci_low"], one["ci_high"]) == (-1, None, None)
    assert one["p"] == 2 / 2**8
    assert "does not vary" in one["note"]


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
