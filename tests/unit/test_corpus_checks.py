"""Era, poets, gold poems and duplicates: the checks that a corpus does not explain the results by itself."""

import itertools
import json

import numpy as np
import polars as pl
import pytest
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from verseir.__main__ import main
from verseir.analyses.duplicate_folding import (
    DUPLICATE_FOLDING,
    class_names,
    duplicate_folding,
    fold_qrels,
    fold_run,
)
from verseir.analyses.era_trend import DEPARTURE, ERA_TREND, SLOPE, era_trend
from verseir.analyses.gold_poems import GOLD_POEMS, gold_poems
from verseir.analyses.poet_frequency import POET_FREQUENCY, poet_frequency
from verseir.analyses.targets import target_values
from verseir.measures import per_query as measured
from verseir.stats.pooled_logit import departure_from_linearity, pooled_slope, slope_difference
from verseir.stats.two_groups import cliffs_delta, cramers_v
from verseir.tables import (
    CHUNKS,
    DUPLICATES,
    PER_QUERY,
    POEMS,
    QRELS,
    QUERIES,
    RUN,
    check_table,
    read_table,
    write_table,
)


def poems_of(n, era_order=None, poet=None, genre=None, n_verses=None):
    columns = dict.fromkeys(POEMS.columns)
    columns["poem_id"] = [f"p{i:03d}" for i in range(n)]
    columns["era_order"], columns["poet"], columns["genre"] = era_order, poet, genre
    columns["era"] = None if era_order is None else [None if order is None else f"era {order}" for order in era_order]
    columns["verses"] = [[{"first": "a", "second": "b"}] * k for k in n_verses or [3] * n]
    return pl.DataFrame(columns, schema=dict(POEMS.columns))


def study(values, gold=None):
    """PER_QUERY, QUERIES and QRELS of one query set; ``values``: system -> one Recall@5 for each query."""
    n = len(next(iter(values.values()), []))
    ids = [f"q{i:03d}" for i in range(n)]
    rows = [
        ("c", "verse", "set", system, query, "Recall@5", float(value))
        for system, column in values.items()
        for query, value in zip(ids, column, strict=True)
    ]
    queries = [(query, "set", "text", *[None] * 5) for query in ids]
    judged = [(query, poem, 1) for query, poem in zip(ids, gold or [f"p{i:03d}" for i in range(n)], strict=True)]
    frames = [
        pl.DataFrame(data, schema=dict(table.columns), orient="row")
        for data, table in ((rows, PER_QUERY), (queries, QUERIES), (judged, QRELS))
    ]
    return frames[0], frames[1], frames[2].with_columns(query_set=pl.lit("set"))


def drawn(n=240, slopes=(0.3, 0.3, -0.2), seed=0):
    """Outcomes float64 [n, m] with these slopes over four eras, and the eras [n]."""
    rng = np.random.default_rng(seed)
    era = rng.integers(1, 5, n).astype(np.float64)
    logits = (era[:, None] - 2.5) * np.array(slopes) + rng.normal(0, 0.5, n)[:, None]
    return (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(np.float64), era


# --- slopes ----------------------------------------------------------------------------------------------------------


def test_the_slope_of_one_system_is_that_of_a_robust_logit():
    y, x = drawn()
    clusters = np.arange(240) // 2
    frame = {"y": y[:, 0], "x": x}
    fit = smf.logit("y ~ x", frame).fit(disp=0, cov_type="cluster", cov_kwds={"groups": clusters})
    slope = pooled_slope(y[:, :1], x, clusters)
    assert slope.estimate == pytest.approx(fit.params["x"], abs=1e-8)
    reach = stats.t.ppf(0.975, 119) * fit.bse["x"]
    assert (slope.low, slope.high) == pytest.approx((fit.params["x"] - reach, fit.params["x"] + reach), abs=1e-8)
    assert slope.p == pytest.approx(2 * stats.t.sf(abs(fit.params["x"] / fit.bse["x"]), 119))


def test_the_difference_of_slopes_is_that_of_the_two_pooled_slopes():
    y, x = drawn()
    both = slope_difference(y[:, :2], y[:, 2:], x)
    apart = pooled_slope(y[:, :2], x).estimate - pooled_slope(y[:, 2:], x).estimate
    assert both.estimate == pytest.approx(apart, abs=1e-6)
    assert both.low < both.estimate < both.high
    assert slope_difference(y[:, 2:], y[:, :2], x).p == pytest.approx(both.p)


def test_a_constant_system_and_repeated_systems_change_no_slope():
    y, x = drawn()
    slope = pooled_slope(y[:, :1], x)
    assert pooled_slope(np.column_stack([y[:, 0], np.ones(240)]), x) == pytest.approx((*slope[:4], ""), abs=1e-6)
    twice = pooled_slope(np.column_stack([y[:, 0], y[:, 0]]), x)  # a copy is no new evidence
    assert twice.high - twice.low == pytest.approx(slope.high - slope.low, rel=0.01)


@pytest.mark.parametrize(
    ("y", "x", "why"),
    [
        ([[]], [], "no observation"),
        ([[1, 1, 1, 1]], [1, 2, 3, 4], "constant"),
        ([[1, 0, 1, 0]], [2, 2, 2, 2], "the same throughout"),
        ([[0, 0, 1, 1]], [1, 2, 3, 4], "separates"),
        ([[1, 0]], [1, 1.5], "separates"),
        ([[0, 1, 0, 1]], [1, 1, 2, 2], ""),
    ],
)
def test_a_slope_that_cannot_be_estimated_says_why(y, x, why):
    slope = pooled_slope(np.array(y, dtype=float).T, np.array(x, dtype=float))
    assert why in slope.note
    assert np.isnan(slope.p) == slope.note.startswith("not estimable") == bool(why)


def test_linearity_of_one_system_is_the_plain_likelihood_ratio():
    y, x = drawn()
    frame = {"y": y[:, 0], "x": x}
    line, curve = (smf.logit(f"y ~ {term}", frame).fit(disp=0) for term in ("x", "C(x)"))
    departure = departure_from_linearity(y[:, :1], x)
    assert departure.statistic == pytest.approx(2 * (curve.llf - line.llf), abs=1e-6)
    assert departure.p == pytest.approx(stats.chi2.sf(departure.statistic, 2))


def test_copies_of_a_system_do_not_make_a_departure_surer():
    y, x = drawn(seed=3)
    alone = departure_from_linearity(y[:, :1], x)
    copies = departure_from_linearity(np.repeat(y[:, :1], 6, axis=1), x)
    assert copies.statistic == pytest.approx(6 * alone.statistic)
    assert copies.p == pytest.approx(alone.p, abs=0.02)


def test_a_bent_trend_is_no_line_and_a_level_that_is_constant_or_small_is_left_out():
    rng = np.random.default_rng(1)
    x = np.repeat([1.0, 2.0, 3.0, 5.0, 7.0], [60, 60, 60, 20, 3])
    y = (rng.random(203) < np.repeat([0.2, 0.8, 0.2, 1.0, 0.5], [60, 60, 60, 20, 3])).astype(float)[:, None]
    departure = departure_from_linearity(y, x)
    assert departure.p < 1e-6
    assert [level for level, _ in departure.left_out] == [5.0, 7.0]
    assert "constant" in departure.left_out[0][1]
    assert "not estimable" in departure_from_linearity(y[:120], x[:120]).note


# --- era and poets ---------------------------------------------------------------------------------------------------


def test_target_values_are_those_on_which_all_targets_agree():
    qrels = pl.DataFrame(
        [("a", "p1", 1), ("a", "p3", 0), ("b", "p1", 1), ("b", "p2", 2), ("c", "p9", 1)],
        schema=dict(QRELS.columns),
        orient="row",
    )
    values = pl.DataFrame({"poem_id": ["p1", "p2", "p3"], "value": [4, 5, 6]})
    assert target_values(["c", "a", "b", "d"], qrels, values) == pytest.approx([np.nan, 4, np.nan, np.nan], nan_ok=True)


def test_the_era_table_has_systems_groups_difference_and_linearity():
    y, x = drawn()
    judged = study({"d1": y[:, 0], "d2": y[:, 1], "bm25": y[:, 2], "fused": y[:, 0]})
    eras = [int(era) for era in x[:-10]] + [None] * 10
    table = era_trend(*judged, {"c": poems_of(240, eras)}, "Recall@5", ["bm25"], ["d1", "d2"])
    check_table(table, ERA_TREND, "era")
    slopes = dict(table.filter(pl.col("quantity") == SLOPE).select("who", "estimate").iter_rows())
    assert set(slopes) == {"d1", "d2", "bm25", "fused", "dense systems", "lexical systems", "dense minus lexical"}
    assert slopes["dense minus lexical"] == pytest.approx(slopes["dense systems"] - slopes["lexical systems"], abs=1e-5)
    assert slopes["bm25"] == pytest.approx(slopes["lexical systems"])
    assert table["n_queries"].unique().to_list() == [230]
    assert table["n_eras"].unique().to_list() == [4]
    assert table["note"].str.contains("10 of 240 queries left out").all()
    sizes = dict(table.select(pl.col("family").str.split("/").list.last(), "family_size").iter_rows())
    assert sizes == {"systems": 4, "groups": 3, "linearity": 2}
    assert (table["p_holm"] >= table["p"]).all()
    backwards = era_trend(
        *(frame.reverse() for frame in judged), {"c": poems_of(240, eras).reverse()}, "Recall@5", ["bm25"], ["d2", "d1"]
    )
    assert backwards.equals(table)


def test_an_era_table_without_anything_to_estimate_says_so():
    y, _ = drawn(12)
    poems = {"c": poems_of(12)}
    table = era_trend(*study({"d": y[:, 0]}), poems, "Recall@5", [], ["d"])
    check_table(table, ERA_TREND, "era")
    assert table["note"].str.contains("not estimable").all()
    assert table["p"].null_count() == len(table)
    notes = dict(table.filter(pl.col("quantity") == SLOPE).select("who", "note").iter_rows())
    assert "there is no lexical system" in notes["dense minus lexical"]
    assert table.filter(pl.col("quantity") == DEPARTURE)["who"].to_list() == ["dense systems"]
    for values in ({"d": [1.0]}, {"d": [1.0] * 9, "b": [0.0] * 9}):
        n = len(values["d"])
        some = era_trend(*study(values), {"c": poems_of(n, list(range(n)))}, "Recall@5", ["b"], ["d"])
        check_table(some, ERA_TREND, "era")
        assert some["note"].str.contains("not estimable").all()
    assert era_trend(*study({}), poems, "Recall@5", [], []).is_empty()


def test_queries_for_one_poet_count_as_a_cluster():
    y, _ = drawn(120)
    poets = [f"poet {i // 2 if i < 20 else 10 + i // 5}" for i in range(120)]
    table = poet_frequency(*study({"a": y[:, 0], "b": y[:, 1]}), {"c": poems_of(120, poet=poets)}, "Recall@5")
    check_table(table, POET_FREQUENCY, "poets")
    doublings = np.log2([2.0 if i < 20 else 5.0 for i in range(120)])
    code = np.array([int(poet.split()[1]) for poet in poets])
    expected = pooled_slope(y[:, :1], doublings, code)
    assert table.row(0, named=True)["estimate"] == pytest.approx(expected.estimate)
    assert table.row(0, named=True)["p"] == pytest.approx(expected.p)
    assert table["n_poets"].to_list() == [len(set(poets))] * 2
    assert table["family_size"].to_list() == [2, 2]


def test_a_corpus_without_poets_has_no_poet_frequency():
    table = poet_frequency(*study({"a": [0.0, 1.0, 1.0]}), {"c": poems_of(3)}, "Recall@5")
    assert table["n_queries"].to_list() == [0]
    assert "3 of 3 queries left out" in table["note"][0]


# --- gold poems ------------------------------------------------------------------------------------------------------


def test_cramers_v_is_tested_by_chi_square_or_where_sparse_by_permutation():
    counts = np.array([[40, 30, 20, 10], [75, 75, 75, 75]])
    effect = cramers_v(counts, 99, 0)
    assert effect.test == "chi-square"
    assert effect.p == pytest.approx(stats.chi2_contingency(counts).pvalue)
    assert 0 < effect.low < effect.estimate < effect.high < 1
    sparse = np.array([[3, 0, 1], [1, 5, 2]])
    drawn_p = cramers_v(sparse, 99_999, 0)
    assert drawn_p.test == "permutation chi-square"
    assert drawn_p.p == pytest.approx(exact_chi_square(sparse), abs=0.005)
    assert "sparse" in drawn_p.note


def exact_chi_square(counts):
    """p of chi-square over all tables with the margins of ``counts``."""
    totals, first = counts.sum(axis=0), counts[0].sum()
    expected = totals * first / totals.sum()
    weights = 1 / expected + 1 / (totals - expected)
    law = stats.multivariate_hypergeom(totals, first)
    tables = [t for t in itertools.product(*(range(k + 1) for k in totals)) if sum(t) == first]
    far = np.array([np.sum((np.array(t) - expected) ** 2 * weights) for t in tables])
    observed = np.sum((counts[0] - expected) ** 2 * weights)
    return sum(law.pmf(t) for t, value in zip(tables, far, strict=True) if value >= observed - 1e-9)


def test_cliffs_delta_is_how_much_oftener_the_first_is_larger():
    rng = np.random.default_rng(0)
    first, second = rng.poisson(6, 80).astype(float), rng.poisson(5, 120).astype(float)
    pairs = np.sign(first[:, None] - second[None, :])
    effect = cliffs_delta(first, second)
    assert effect.estimate == pytest.approx(pairs.mean())
    assert effect.p == pytest.approx(stats.mannwhitneyu(first, second).pvalue)
    within, between = pairs.mean(axis=1) - pairs.mean(), pairs.mean(axis=0) - pairs.mean()
    squares = 120**2 * np.sum(within**2) + 80**2 * np.sum(between**2) - np.sum((pairs - pairs.mean()) ** 2)
    error = np.sqrt(squares / (80 * 120 * 79 * 119))
    assert (effect.high - effect.low) / 2 == pytest.approx(1.96 * error, rel=0.05)
    mirrored = cliffs_delta(second, first)
    assert (mirrored.low, mirrored.high) == pytest.approx((-effect.high, -effect.low))
    assert "do not overlap" in cliffs_delta(np.array([4.0, 5.0]), np.array([1.0, 2.0])).note
    assert "the same throughout" in cliffs_delta(np.ones(3), np.ones(4)).note


def test_gold_poems_are_compared_with_the_rest():
    n = 200
    genre = ["praise" if i % 3 else "satire" for i in range(n)]
    eras = [1 if i < 60 else 2 + i % 2 for i in range(n)]
    poems = {"c": poems_of(n, eras, [None] * 5 + ["one"] * 195, genre, [2 + i % 9 + (i < 50) * 4 for i in range(n)])}
    qrels = study({"a": [1.0] * 50})[2]
    table = gold_poems(qrels, poems, {"set": ["c"], "other": ["c"]}, 999, 0)
    check_table(table, GOLD_POEMS, "gold")
    rows = {row["property"]: row for row in table.filter(pl.col("query_set") == "set").to_dicts()}
    assert rows["era"]["p"] < 0.001
    assert rows["era"]["estimate"] > 0.5
    assert rows["genre"]["p"] > 0.5
    assert rows["verses"]["estimate"] > 0.5
    assert (rows["verses"]["n_gold"], rows["verses"]["n_rest"]) == (50, 150)
    assert rows["meter"]["p"] is None
    assert "the same throughout" in rows["poems by the poet"]["note"]
    assert "5 gold and 0 other poems" in rows["poems by the poet"]["note"]
    assert {row["family_size"] for row in rows.values()} == {3}
    none_gold = table.filter(pl.col("query_set") == "other")
    assert none_gold["note"].str.contains("no gold poem is in this corpus").all()
    everything = gold_poems(qrels, {"c": poems_of(50)}, {"set": ["c"]}, 99, 0)
    assert everything["note"].str.contains("every poem of this corpus is gold").all()


# --- duplicates ------------------------------------------------------------------------------------------------------


def run_of(ranked):
    rows = [
        (query, poem, rank, 1 / rank, None)
        for query, found in sorted(ranked.items())
        for rank, poem in enumerate(found, 1)
    ]
    return pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")


def duplicates_of(classes, poems):
    of = {poem: min(members) for members in classes for poem in members}
    size = {min(members): len(members) for members in classes}
    rows = [
        (poem, of.get(poem, poem), size.get(of.get(poem), 1), "near" if poem in of else "unique", 0.0) for poem in poems
    ]
    return pl.DataFrame(rows, schema=dict(DUPLICATES.columns), orient="row")


def test_the_best_ranked_member_of_a_class_keeps_its_place():
    classes = class_names(duplicates_of([{"b", "d"}], "abcde"))
    folded = fold_run(run_of({"q1": "adcbe", "q2": "bd", "q3": "ac"}), classes)
    assert folded.rows() == [
        ("q1", "a", 1),
        ("q1", "b", 2),
        ("q1", "c", 3),
        ("q1", "e", 4),
        ("q2", "b", 1),
        ("q3", "a", 1),
        ("q3", "c", 2),
    ]
    qrels = pl.DataFrame([("q1", "b", 1), ("q1", "d", 2)], schema=dict(QRELS.columns), orient="row")
    assert fold_qrels(qrels, classes).rows() == [("q1", "b", 2)]


@given(st.permutations("abcdefgh"), st.lists(st.integers(0, 3), min_size=8, max_size=8), st.sampled_from("abcdefgh"))
def test_folding_never_harms_a_query_with_one_gold_poem(found, labels, gold):
    members = [{poem for poem, label in zip("abcdefgh", labels, strict=True) if label == k} for k in range(4)]
    classes = class_names(duplicates_of([group for group in members if len(group) > 1], "abcdefgh"))
    run = run_of({"q": found})
    qrels = pl.DataFrame([("q", gold, 1)], schema=dict(QRELS.columns), orient="row")
    folded = fold_run(run, classes)
    label_of = dict(zip("abcdefgh", labels, strict=True))
    assert len(folded) == len(set(labels))
    place = list(dict.fromkeys(label_of[poem] for poem in found)).index(label_of[gold]) + 1
    value = measured(folded, fold_qrels(qrels, classes), ["q"], ["MRR"])["value"][0]
    assert value == pytest.approx(1 / place)
    assert value >= measured(run, qrels, ["q"], ["MRR"])["value"][0]


def folding(tmp_path, classes, gold="b"):
    ranked = {f"q{i}": found for i, found in enumerate(("dcab", "bcad", "acbd", "cabd"))}
    cross = {"query_sets": {"set": ["c"]}, "modes": {"c": ["verse"]}, "systems": {"a": "bm25"}}
    write_table(run_of(ranked), tmp_path / "c/verse/set/a.parquet", RUN)
    queries = pl.DataFrame([(q, "set", "t", *[None] * 5) for q in ranked], schema=dict(QUERIES.columns), orient="row")
    qrels = pl.DataFrame([(q, gold, 1) for q in ranked], schema=dict(QRELS.columns), orient="row")
    values = measured(run_of(ranked), qrels, list(ranked), ["Recall@1", "MRR"])
    names = {"corpus": "c", "mode": "verse", "query_set": "set", "system": "a"}
    per_query = values.with_columns(**{k: pl.lit(v) for k, v in names.items()}).select(list(PER_QUERY.columns))
    judged = qrels.with_columns(query_set=pl.lit("set"))
    duplicates = {"c": duplicates_of(classes, "abcd")}
    return duplicate_folding(per_query, queries, judged, duplicates, tmp_path, cross, ["MRR", "Recall@1"], 99, 0)


def test_a_retrieved_duplicate_of_the_gold_poem_counts_as_gold(tmp_path):
    table = folding(tmp_path, [{"b", "d"}])
    check_table(table, DUPLICATE_FOLDING, "folding")
    rows = {row["measure"]: row for row in table.to_dicts()}
    assert (rows["Recall@1"]["unfolded"], rows["Recall@1"]["folded"]) == (0.25, 0.5)
    assert (rows["Recall@1"]["n_changed"], rows["Recall@1"]["n_duplicates"]) == (1, 2)
    assert rows["MRR"]["difference"] == pytest.approx((1 - 1 / 4) / 4)
    assert "independent" in rows["MRR"]["note"]  # all four queries ask for one poem


def test_without_duplicates_nothing_is_read_and_nothing_differs(tmp_path):
    table = folding(tmp_path, [])
    assert table["difference"].to_list() == [0.0, 0.0]
    assert table["note"].unique().to_list() == ["the corpus has no duplicates"]
    assert table["ci_low"].null_count() == 2
    assert folding(tmp_path, [{"a", "c"}]).filter(pl.col("measure") == "Recall@1")["note"].to_list() == [
        "folding changes no query"
    ]


def test_folded_and_unfolded_runs_are_measured_by_the_judgements_of_the_mode(tmp_path):
    """Of three relevant poems the mode indexes one; a and b, of which it indexes b, repeat each other."""
    cross = {"query_sets": {"set": ["c"]}, "modes": {"c": ["some"]}, "systems": {"s": "bm25"}, "kept": ["some"]}
    chunks = [(f"{poem}#0", poem, 0, 1, "t") for poem in "befg"]
    frames = {
        "corpora/c/chunks/some.parquet": (pl.DataFrame(chunks, schema=dict(CHUNKS.columns), orient="row"), CHUNKS),
        "corpora/c/duplicates.csv": (duplicates_of([{"a", "b"}], "abcdefg"), DUPLICATES),
        "runs/c/some/set/s.parquet": (run_of({"q1": "bef", "q2": "fbe"}), RUN),
    }
    asked = [(q, "set", "t", *[None] * 5) for q in ("q1", "q2")]
    judged = [(q, poem, 1) for q in ("q1", "q2") for poem in "bcd"]
    qrels = pl.DataFrame(judged, schema=dict(QRELS.columns), orient="row")
    frames |= {
        "queries/set.parquet": (pl.DataFrame(asked, schema=dict(QUERIES.columns), orient="row"), QUERIES),
        "queries/set.qrels.parquet": (qrels, QRELS),
    }
    for name, (frame, table) in frames.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write_table(frame, tmp_path / name, table)
    told = ["--results", str(tmp_path), "--cross", json.dumps(cross), "--measures", "Recall@1", "Rprec"]
    assert main(["evaluate_runs", *told, "--output", str(tmp_path / "per_query.parquet")]) == 0
    out = tmp_path / "folding.csv"
    assert main(["fold_duplicates", *told, "--resamples", "99", "--seed", "0", "--output", str(out)]) == 0
    table = read_table(out, DUPLICATE_FOLDING)
    assert table["unfolded"].to_list() == table["folded"].to_list() == [0.5, 0.5]
