"""What judges give to systems: values by hand, means and ranks, paired tests, and what was judged at all."""

import json
import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paired_study import shuffled
from thematic_study import RUBRIC, asked, contrasted, duplicates, grades, judged, row, rubric, run, scored

from verseir.__main__ import main
from verseir.analyses.judged import by_gaps, read_judgements
from verseir.analyses.paired import Draws
from verseir.analyses.thematic_contrasts import thematic_contrasts
from verseir.analyses.thematic_scores import (
    JUDGED_PER_QUERY,
    POOL_COVERAGE,
    THEMATIC_CONTRASTS,
    THEMATIC_MEANS,
    pool_coverage,
    thematic_means,
)
from verseir.faults import UserError
from verseir.judging.judgements import JUDGEMENTS, JUDGING
from verseir.stats.bootstrap import bootstrap_means
from verseir.tables import DUPLICATES, QRELS, QUERIES, RUN, check_table, read_table, write_table


def values(frame, aspect="overall", system="x", column="value"):
    rows = frame.filter(pl.col("aspect") == aspect, pl.col("system") == system)
    return rows.sort("query_id")[column].to_list()


def test_a_value_is_the_mean_of_the_first_k_places():
    found = judged({("q", "a"): [5, 2, 1, 4], ("q", "b"): [3, 3, 2, 1], ("q", "c"): [5, 5, 5, 5]})
    frame = scored([run("x", {"q": ["a", "b", "c"]})], ["q"], found)
    assert values(frame) == [2.5]
    assert values(frame, "theme") == [4]
    assert values(frame, "words") == [1.5]
    assert values(frame, "aboutness") == [3.25]
    assert values(frame, column="n_judged") == [2]
    assert values(frame, column="n_empty") == [0]


def test_what_was_not_judged_is_left_out_and_an_empty_place_scores_the_lowest_grade():
    found = judged({("q", "a"): 5, ("q", "b"): None, ("r", "a"): 4})
    frame = scored([run("x", {"q": ["a", "b", "z"], "r": ["a"]})], ["q", "r"], found, k=3)
    assert values(frame) == [5, (4 + 1 + 1) / 3]
    assert values(frame, column="n_judged") == [1, 1]
    assert values(frame, column="n_empty") == [0, 2]


def test_the_lowest_grade_is_that_of_the_scale():
    found = judged({("q", "a"): 2}, of=rubric(scale=(0, 1, 2)))
    assert values(scored([run("x", {"q": ["a"]})], ["q"], found)) == [1.0]


def test_a_poem_has_the_score_of_its_class():
    found = judged({("q", "a"): 5, ("q", "c"): 1})
    frame = scored([run("x", {"q": ["b", "c"]})], ["q"], found, classes=["a b"])
    assert values(frame) == [3]
    assert values(frame, column="n_judged") == [2]


def test_aboutness_needs_all_its_aspects():
    found = judged({("q", "a"): [4, None, 3, 2], ("q", "b"): [2, 4, 1, 5]})
    frame = scored([run("x", {"q": ["a", "b"]})], ["q"], found)
    assert values(frame, "aboutness") == [3]
    assert values(frame, "aboutness", column="n_judged") == [1]
    assert values(frame, "theme") == [3]


def test_a_query_that_the_judge_never_read_has_no_value_for_any_system():
    found = judged({("q", "a"): 3})
    runs = [run("x", {"q": ["a", "b"], "r": ["a", "b"]}), run("y", {"q": ["a"], "r": ["c"]})]
    frame = scored(runs, ["q", "r"], found)
    assert values(frame) == [3, None]
    assert values(frame, system="y") == [2, None]


def test_a_query_for_which_nobody_finds_anything_scores_the_lowest_grade():
    frame = scored([run("x", {"q": ["a"]}), run("y", {})], ["q", "r"], judged({("q", "a"): 5}), k=1)
    assert values(frame) == [5, 1]
    assert values(frame, system="y") == [1, 1]


@pytest.mark.parametrize("scores", [{}, {("q", "a"): None, ("q", "b"): None}])
def test_a_judge_that_said_nothing_gives_no_values_and_says_so(scores):
    frame = scored([run("x", {"q": ["a"]}), run("bm25", {"q": ["b"]})], ["q"], judged(scores))
    assert values(frame) == [None]
    means = meant(frame, ["q"])
    assert means["mean"].null_count() == len(means) == 10
    assert means["rank"].null_count() == 10
    assert means["note"].str.contains("not estimable").all()
    assert means["n_systems"].to_list() == [0] * 10
    tests = contrasted(frame, ["q"])
    assert tests["p"].null_count() == len(tests)


def meant(frame, ids, k=2, source=None, of=RUBRIC):
    table = thematic_means(frame, asked(ids, source=source), dict.fromkeys(frame["judge"].unique(), of), k, 400, 1)
    check_table(table, THEMATIC_MEANS, "means")
    assert not any(table.select(pl.col(pl.Float64).is_nan().any()).row(0))
    return table


def test_means_have_intervals_ranks_and_kinds():
    frame, ids = grades({"x": [5, 4, 5, 3], "bm25": [1, 2, 1, 2], "y": [4, 4, 5, 4]})
    table = meant(frame, ids, k=1)
    first = row(table, system="x", aspect="overall")
    expected = bootstrap_means(np.array([[5.0], [4], [5], [3]]), None, 400, 1)
    assert (first["mean"], first["ci_low"], first["ci_high"]) == (4.25, expected.low[0], expected.high[0])
    assert (first["rank"], first["n_systems"], first["n_queries"], first["rubric"]) == (1.5, 3, 4, "r")
    assert row(table, system="y", aspect="overall")["rank"] == 1.5
    assert row(table, system="bm25", aspect="overall")["rank"] == 3
    kinds = dict(table.select("aspect", "kind").unique().iter_rows())
    assert kinds == {
        "theme": "aboutness",
        "feeling": "aboutness",
        "words": "wording",
        "overall": "overall",
        "aboutness": "aboutness",
    }


def test_a_constant_grade_of_one_is_no_proportion():
    frame, ids = grades({"x": [1] * 8, "bm25": [1] * 8})
    one = row(meant(frame, ids, k=1), system="x", aspect="overall")
    assert (one["mean"], one["ci_low"], one["ci_high"]) == (1, None, None)
    assert "interval not estimable" in one["note"]
    alike = row(contrasted(frame, ids), aspect="overall")
    assert (alike["estimate"], alike["ci_low"], alike["p"]) == (0, None, 1)
    assert alike["test"] == "exact sign-flip"


def test_a_judge_of_half_of_the_queries_says_so():
    frame, ids = grades({"x": [5, 4, 3, None, None, None], "bm25": [1, 2, 2, None, None, None]})
    table = meant(frame, ids, k=1)
    first = row(table, system="x", aspect="overall")
    assert (first["n_queries"], first["mean"], first["judged_at_k"]) == (3, 4, 0.5)
    assert "3 of 6 queries have a value" in first["note"]
    test = row(contrasted(frame, ids), aspect="overall")
    assert (test["n"], test["estimate"]) == (3, pytest.approx(-7 / 3))
    assert "3 of 6 queries have a value of both" in test["note"]


def test_gaps_of_one_system_do_not_move_another():
    whole, ids = grades({"x": [5, 4, 3, 2, 4], "bm25": [1, 2, 2, 3, 1]})
    gaps, _ = grades({"x": [5, 4, 3, 2, 4], "bm25": [1, 2, None, 3, 1]})
    same = [row(meant(frame, ids, k=1), system="x", aspect="overall") for frame in (whole, gaps)]
    assert same[0] == same[1]
    assert row(contrasted(gaps, ids), aspect="overall")["n"] == 4


def test_one_query_and_one_system_have_no_test():
    frame, ids = grades({"x": [4], "bm25": [2]})
    one = row(contrasted(frame, ids), aspect="overall")
    assert (one["n"], one["estimate"], one["p"]) == (1, -2, None)
    assert "fewer than two" in row(meant(frame, ids, k=1), system="x", aspect="overall")["note"]
    alone, ids = grades({"x": [4, 2]})
    assert contrasted(alone, ids).is_empty()
    assert row(meant(alone, ids, k=1), aspect="overall")["rank"] == 1


def test_no_runs_and_no_judges_give_empty_tables():
    for frame in (scored([], ["q"], judged({})), scored([run("x", {"q": ["a"]})], ["q"], [])):
        assert frame.is_empty()
        assert meant(frame, ["q"]).is_empty()
        assert contrasted(frame, ["q"]).is_empty()
        assert check_table(pool_coverage(frame, 2), POOL_COVERAGE, "coverage").is_empty()


def test_coverage_is_of_the_places_that_are_filled():
    found = judged({("q", "a"): 5, ("q", "b"): None, ("r", "a"): 4})
    runs = [run("x", {"q": ["a", "b", "z"], "r": ["a"]}), run("y", {})]
    table = check_table(pool_coverage(scored(runs, ["q", "r"], found, k=3), 3), POOL_COVERAGE, "coverage")
    assert table.row(0, named=True) == {
        "corpus": "c",
        "query_set": "themes",
        "mode": "verse",
        "system": "x",
        "judge": "j",
        "k": 3,
        "n_queries": 2,
        "judged_at_k": 0.5,
        "empty_at_k": 1 / 3,
    }
    assert (table["judged_at_k"][1], table["empty_at_k"][1]) == (None, 1)
    means = meant(scored(runs, ["q", "r"], found, k=3), ["q", "r"], k=3)
    assert "33% of its places are empty" in row(means, system="x", aspect="overall")["note"]


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_the_order_of_rows_is_of_no_matter(seed):
    rng = np.random.default_rng(seed)
    ids, poems = [f"q{i}" for i in range(6)], [f"p{i}" for i in range(8)]
    runs = [run(s, {q: rng.permutation(poems)[: rng.integers(0, 5)].tolist() for q in ids}) for s in ("x", "y", "bm25")]
    scores = {(q, p): [int(g) for g in rng.integers(1, 6, 4)] for q in ids for p in poems if rng.random() < 0.7}
    one = judged(scores)
    frame = scored(runs, ids, one, k=4, classes=["p0 p1", "p2 p3 p4"])
    mixed = [(name, shuffled(table, seed)) for name, table in runs[::-1]]
    again = scored(mixed, ids[::-1], one._replace(judgements=shuffled(one.judgements, seed)), 4, ["p2 p3 p4", "p0 p1"])
    assert again.equals(frame)
    assert meant(shuffled(frame, seed), ids[::-1], 4).equals(meant(frame, ids, 4))
    assert contrasted(shuffled(frame, seed), ids[::-1]).equals(contrasted(frame, ids))
    assert frame["value"].drop_nulls().is_between(1, 5).all()


def reckoned(found, scores, ids, k, classes):
    """query -> the value by overall, place by place; ``found`` is system -> query -> poems."""
    named = {poem: group.split()[0] for group in classes for poem in group.split()}
    judged_in = {
        query: {named.get(p, p) for of in found.values() for p in of[query][:k] if (query, named.get(p, p)) in scores}
        for query in ids
    }
    table = {}
    for system, of in found.items():
        for query in ids:
            places = [scores.get((query, named.get(poem, poem))) for poem in of[query][:k]]
            given = [score[3] for score in places if score is not None] + [1] * (k - len(places))
            unread = any(found[other][query] for other in found) and not judged_in[query]
            table[system, query] = sum(given) / len(given) if given and not unread else None
    return table


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_values_are_those_of_plain_reckoning(seed):
    rng = np.random.default_rng(seed)
    ids, poems, classes, k = ["q0", "q1", "q2", "q3"], [f"p{i}" for i in range(6)], ["p0 p1", "p2 p3"], 3
    found = {s: {q: rng.permutation(poems)[: rng.integers(0, 6)].tolist() for q in ids} for s in ("x", "y")}
    pool = [(query, poem) for query in ids for poem in ("p0", "p2", "p4", "p5") if rng.random() < 0.4]
    scores = {item: [int(g) for g in rng.integers(1, 6, 4)] for item in pool}
    frame = scored([run(system, of) for system, of in found.items()], ids, judged(scores), k, classes)
    overall = frame.filter(pl.col("aspect") == "overall").select("system", "query_id", "value")
    expected = reckoned(found, scores, ids, k, classes)
    for system, query, value in overall.iter_rows():
        assert value == (None if expected[system, query] is None else pytest.approx(expected[system, query]))
    assert len(overall) == len(expected)


def test_columns_with_the_same_gaps_stand_together():
    present = np.array([[True, False, True], [True, True, True]])
    found = {tuple(rows.tolist()): columns.tolist() for rows, columns in by_gaps(present)}
    assert found == {(True, True): [0, 2], (False, True): [1]}
    assert list(by_gaps(np.zeros((3, 0), dtype=bool))) == []


def test_a_study_of_a_hundred_queries_is_fast():
    rng = np.random.default_rng(0)
    ids, poems = [f"q{i:03d}" for i in range(100)], [f"p{i:03d}" for i in range(60)]
    names = " ".join(f"a{i}:aboutness" for i in range(5)) + " words:wording overall:overall"
    of = rubric(names)
    runs = [
        run(f"s{s}" if s else "bm25", {q: rng.choice(poems, 10, replace=False).tolist() for q in ids}, mode)
        for s in range(10)
        for mode in ("m1", "m2", "m3")
    ]
    scores = {(q, p): [int(g) for g in rng.integers(1, 6, 7)] for q in ids for p in poems}
    judges = [judged(scores, judge, of) for judge in "abc"]
    start = time.perf_counter()
    frame = scored(runs, ids, judges, k=10)
    assert time.perf_counter() - start < 5  # 0.5 s at rest
    assert len(frame) == 10 * 3 * 100 * 3 * 8
    rubrics = dict.fromkeys("abc", of)
    thematic_means(frame, asked(ids), rubrics, 10, 9999, 1)
    thematic_contrasts(frame, asked(ids), rubrics, ["bm25"], [], 5, Draws(9999, 9999, 1))
    assert time.perf_counter() - start < 30  # 4 s at rest


RUBRIC_FILE = """
name: tiny
scale: [1, 2, 3]
instruction: Judge.
aspects:
  - {id: theme, title: T, kind: aboutness, question: "?", anchors: {1: a, 2: b, 3: c}}
  - {id: overall, title: O, kind: overall, question: "?", anchors: {1: a, 2: b, 3: c}}
"""


def test_the_verb_writes_all_tables(tmp_path):
    ids = ["q1", "q2"]
    (tmp_path / "rubric.yaml").write_text(RUBRIC_FILE, encoding="utf-8")
    for folder in ("queries", "runs/c/verse/themes", "judgements/c/themes", "corpora/c"):
        (tmp_path / folder).mkdir(parents=True)
    write_table(asked(ids), tmp_path / "queries/themes.parquet", QUERIES)
    write_table(pl.DataFrame(schema=dict(QRELS.columns)), tmp_path / "queries/themes.qrels.parquet", QRELS)
    write_table(duplicates()["c"], tmp_path / "corpora/c/duplicates.csv", DUPLICATES)
    for system, poem in (("bm25", "a"), ("x", "b")):
        one, found = run(system, {query: [poem] for query in ids})
        write_table(found, one.path(tmp_path / "runs"), RUN)
    of = rubric("theme:aboutness overall:overall", (1, 2, 3))
    scores = {("q1", "a"): 1, ("q1", "b"): 3, ("q2", "a"): 2, ("q2", "b"): 3}
    write_table(judged(scores, of=of).judgements, tmp_path / "judgements/c/themes/j.parquet", JUDGEMENTS)
    tally = ("c", "themes", "j", "tiny", "file", 4, 4, 0, 0, 0, None, None, None, None)
    path = tmp_path / "judgements/c/themes/j.tally.csv"
    write_table(pl.DataFrame([tally], schema=dict(JUDGING.columns), orient="row"), path, JUDGING)
    cross = {"query_sets": {"themes": ["c"]}, "modes": {"c": ["verse"]}, "systems": {"bm25": "bm25", "x": "dense"}}
    outputs = {
        "--per-query": ("per_query.parquet", JUDGED_PER_QUERY, 2 * 2 * 3),
        "--means": ("means.csv", THEMATIC_MEANS, 2 * 3),
        "--contrasts": ("contrasts.csv", THEMATIC_CONTRASTS, 2),
        "--coverage": ("coverage.csv", POOL_COVERAGE, 2),
        "--judging": ("judging.csv", JUDGING, 1),
    }
    options = {
        "--results": tmp_path,
        "--cross": json.dumps(cross),
        "--query-sets": "themes",
        "--depth": 1,
        "--judges": json.dumps({"j": str(tmp_path / "rubric.yaml")}),
        "--judgements": tmp_path / "judgements/c/themes/j.parquet",
        "--tallies": path,
        "--duplicates": tmp_path / "corpora/c/duplicates.csv",
        "--lexical": "bm25",
        "--resamples": 200,
        "--flips": 99,
        "--seed": 1,
    } | {option: tmp_path / name for option, (name, _, _) in outputs.items()}
    parts = [str(part) for option in options.items() for part in option]
    assert main(["score_systems", *parts, "--fusions"]) == 0
    for name, table, rows in outputs.values():
        assert len(read_table(tmp_path / name, table)) == rows, name
    assert read_table(tmp_path / "contrasts.csv", THEMATIC_CONTRASTS)["estimate"].to_list() == [-1.5, -1.5]


def test_a_judge_without_a_rubric_is_named(tmp_path):
    (tmp_path / "c/themes").mkdir(parents=True)
    with pytest.raises(UserError, match="the judge 'jj'"):
        read_judgements([tmp_path / "c/themes/jj.parquet"], {"j": RUBRIC})
