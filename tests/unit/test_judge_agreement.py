"""Do judges agree, and do they order the systems alike? By hand, against SciPy, and where nothing can be said."""

import json
import math
import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paired_study import DRAWS, shuffled
from scipy import stats
from thematic_study import RUBRIC, asked, judged, rubric

from verseir.__main__ import main
from verseir.analyses.judge_agreement import JUDGE_AGREEMENT, JUDGE_ORDERS, judge_agreement, judge_orders
from verseir.analyses.thematic_scores import JUDGED_PER_QUERY
from verseir.judging.judgements import JUDGEMENTS
from verseir.stats.agreement import kappa
from verseir.stats.clustered import clustered_spearman
from verseir.stats.rank_orders import tau_interval
from verseir.tables import QRELS, QUERIES, check_table, read_table, write_table

FEW = "8 independent queries only: intervals are too narrow"
NEUTRAL = rubric("theme:aboutness feeling:aboutness overall:overall", name="neutral")


def agreed(several, ids, source=None):
    table = judge_agreement(several, asked(ids, source=source), 400, 1)
    check_table(table, JUDGE_AGREEMENT, "agreement")
    assert not any(table.select(pl.col(pl.Float64).is_nan().any()).row(0))
    return table


def row(table, **wanted):
    return table.row(by_predicate=pl.all_horizontal(pl.col(key) == value for key, value in wanted.items()), named=True)


def two_judges(seed=0, n_queries=8, n_poems=6, of=RUBRIC, other=RUBRIC):
    """Scores of two judges that agree in part, all pairs of a query and a poem."""
    rng = np.random.default_rng(seed)
    ids = [f"q{i:02d}" for i in range(n_queries)]
    found = []
    for judge, each in (("a", of), ("b", other)):
        scores = {}
        for i, query in enumerate(ids):
            for j in range(n_poems):
                noise = rng.integers(-1, 2, len(each.ids))
                scores[query, f"p{j}"] = [int(g) for g in np.clip((i + j) % 5 + 1 + noise, 1, 5)]
        found.append(judged(scores, judge, each))
    return found, ids


def paired(found, aspect):
    """The scores of both judges, items in one order, and the query of each item."""
    parts = [one.judgements.filter(pl.col("aspect") == aspect).sort("query_id", "poem_id") for one in found]
    return [part["score"].to_numpy() for part in parts], parts[0]["query_id"].to_list()


def test_agreement_is_that_of_the_items_that_both_scored():
    found, ids = two_judges()
    (a, b), queries = paired(found, "theme")
    one = row(agreed(found, ids), aspect="theme")
    assert (one["judge_a"], one["judge_b"], one["n_items"], one["n_queries"]) == ("a", "b", 48, 8)
    assert one["rho"] == pytest.approx(stats.spearmanr(a, b).statistic)
    assert one["kappa"] == pytest.approx(kappa(a.tolist(), b.tolist(), RUBRIC.scale).estimate)
    assert one["within_one"] == pytest.approx(np.mean(np.abs(a - b) <= 1))
    codes = np.unique(queries, return_inverse=True)[1]
    expected = clustered_spearman(a, b, codes, 400, 1)
    assert (one["rho_low"], one["rho_high"]) == (expected.low, expected.high)
    assert one["kappa_low"] < one["kappa"] < one["kappa_high"]
    assert one["note"] == FEW


def test_aboutness_is_the_mean_of_each_judges_aspects_and_has_no_kappa():
    found, ids = two_judges(other=NEUTRAL)
    table = agreed(found, ids)
    assert table["aspect"].to_list() == ["aboutness", "feeling", "overall", "theme"]  # "words" is not of both
    (theme_a, theme_b), _ = paired(found, "theme")
    (feeling_a, feeling_b), _ = paired(found, "feeling")
    a, b = (theme_a + feeling_a) / 2, (theme_b + feeling_b) / 2
    one = row(table, aspect="aboutness")
    assert one["rho"] == pytest.approx(stats.spearmanr(a, b).statistic)
    assert one["within_one"] == pytest.approx(np.mean(np.abs(a - b) <= 1))
    assert one["kappa"] is None
    assert one["note"] == f"no kappa: means are not on the scale; {FEW}"


def test_refused_items_are_left_out():
    first = judged({("q", "a"): 1, ("q", "b"): 2, ("r", "a"): None, ("r", "b"): 4}, "a")
    second = judged({("q", "a"): 1, ("q", "b"): 3, ("r", "a"): 5, ("s", "b"): 4}, "b")
    one = row(agreed([first, second], ["q", "r", "s"]), aspect="overall")
    assert (one["n_items"], one["n_queries"], one["rho"], one["within_one"]) == (2, 1, 1, 1)
    assert one["rho_low"] is None
    assert "fewer than two independent queries" in one["note"]


def test_edits_of_a_query_are_resampled_with_it():
    found, ids = two_judges()
    source = dict.fromkeys(ids[1:], ids[0])
    one = row(agreed(found, ids, source), aspect="overall")
    assert (one["n_queries"], one["rho_low"]) == (8, None)
    assert "fewer than two independent queries" in one["note"]


def test_constant_scores_say_so():
    first, second = (judged({(q, p): 3 for q in "qrs" for p in "ab"}, judge) for judge in "ab")
    one = row(agreed([first, second], list("qrs")), aspect="overall")
    assert (one["rho"], one["kappa"], one["within_one"]) == (None, None, 1)
    assert "rho not estimable" in one["note"]
    assert "kappa not estimable" in one["note"]


@pytest.mark.parametrize("scores", [{}, {("q", "a"): None}, {("r", "z"): 3}])
def test_nothing_in_common_says_so(scores):
    table = agreed([judged({("q", "a"): 1}, "a"), judged(scores, "b")], ["q", "r"])
    assert len(table) == 5
    assert table["note"].unique().to_list() == ["not estimable: no item was scored by both"]


def test_one_judge_has_no_rows_nor_have_judges_of_two_places():
    found, ids = two_judges()
    assert agreed(found[:1], ids).is_empty()
    assert agreed([], ids).is_empty()
    elsewhere = found[1]._replace(corpus="d")
    assert agreed([found[0], elsewhere], ids).is_empty()


def test_judges_with_two_scales_have_rho_alone():
    found, ids = two_judges()
    aspects = "theme:aboutness feeling:aboutness words:wording overall:overall"
    lower = found[1].judgements.with_columns(score=pl.col("score") - 1)
    other = found[1]._replace(rubric=rubric(aspects, (0, 1, 2, 3, 4)), judgements=lower)
    same, two = agreed(found, ids), agreed([found[0], other], ids)
    assert two.select("aspect", "n_items", "rho", "rho_low", "rho_high").equals(
        same.select("aspect", "n_items", "rho", "rho_low", "rho_high")
    )
    assert two.select(pl.col("^(kappa|within_one).*$").null_count()).row(0) == (5,) * 6
    note = f"kappa and share within one not estimable: different scales; {FEW}"
    assert two["note"].unique().to_list() == [note]


def test_one_item_has_no_agreement_but_how_near_the_scores_are():
    one = row(
        agreed([judged({("q", "a"): score}, judge) for judge, score in (("a", 2), ("b", 3))], ["q"]), aspect="overall"
    )
    assert (one["n_items"], one["rho"], one["kappa"], one["within_one"], one["within_one_low"]) == (
        1,
        None,
        None,
        1,
        None,
    )
    assert one["note"].startswith("rho and kappa not estimable: fewer than two items")


def test_enough_queries_need_no_warning():
    found, ids = two_judges(n_queries=20)
    assert row(agreed(found, ids), aspect="overall")["note"] is None


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_the_order_of_judgements_is_of_no_matter(seed):
    found, ids = two_judges(seed)
    mixed = [one._replace(judgements=shuffled(one.judgements, seed)) for one in found[::-1]]
    assert agreed(mixed, ids[::-1]).equals(agreed(found, ids))


def values(columns, judge="a", aspect="overall", mode="verse", ids=None):
    """JUDGED_PER_QUERY rows of system -> its value for each query; None where there is none."""
    rows = [
        ("c", mode, "themes", system, query, judge, aspect, None if value is None else float(value), 1, 0)
        for system, column in columns.items()
        for query, value in zip(ids or [f"q{i:02d}" for i in range(len(column))], column, strict=True)
    ]
    return pl.DataFrame(rows, schema=dict(JUDGED_PER_QUERY.columns), orient="row")


def ordered(parts, n, source=None):
    table = judge_orders(pl.concat(parts), asked([f"q{i:02d}" for i in range(n)], source=source), DRAWS)
    check_table(table, JUDGE_ORDERS, "orders")
    assert not any(table.select(pl.col(pl.Float64).is_nan().any()).row(0))
    return table


def noisy(seed, n=12, m=5, spread=0.5):
    rng = np.random.default_rng(seed)
    return {f"s{j}": np.round(3 + spread * j + rng.normal(size=n), 1).tolist() for j in range(m)}


def test_two_judges_are_compared_by_the_overall_score():
    a, b = noisy(1), noisy(2)
    table = ordered([values(a, "a"), values(b, "b")], 12)
    assert len(table) == 1
    one = table.row(0, named=True)
    first, second = (np.column_stack(list(side.values())) for side in (a, b))
    expected = stats.kendalltau(first.mean(axis=0), second.mean(axis=0), method="exact")
    assert one["tau"] == pytest.approx(expected.statistic)
    assert one["p"] == one["p_holm"] == pytest.approx(expected.pvalue)
    assert (one["ci_low"], one["ci_high"]) == tau_interval(
        first, second, None, None, True, DRAWS.resamples, DRAWS.seed
    )[:2]
    assert (one["test"], one["n_systems"], one["note"]) == ("Kendall tau-b, exact", 5, None)


def test_each_judge_is_compared_with_its_own_aboutness():
    parts = [
        values(noisy(i), judge, aspect)
        for i, (judge, aspect) in enumerate(
            (judge, aspect) for judge in "ab" for aspect in ("overall", "aboutness", "theme")
        )
    ]
    table = ordered(parts, 12)
    assert table.select("judge_a", "aspect_a", "judge_b", "aspect_b").rows() == [
        ("a", "overall", "a", "aboutness"),
        ("a", "overall", "b", "overall"),
        ("b", "overall", "b", "aboutness"),
    ]
    assert table["family_size"].to_list() == [3, 3, 3]
    assert table["family"].unique().to_list() == ["judge-orders/c/themes"]


def test_all_modes_are_one_family():
    parts = [values(noisy(i), judge, mode=mode) for i, judge in enumerate("ab") for mode in ("verse", "other")]
    assert ordered(parts, 12)["family_size"].to_list() == [2, 2]


def test_ties_are_ties_however_means_are_added_up():
    a = {"x": [0.1, 0.2, 0.3], "y": [0.3, 0.2, 0.1], "z": [0.5, 0.6, 0.7], "w": [0.4, 0.4, 0.4]}
    b = {"x": [1, 1, 2], "y": [1, 2, 2], "z": [3, 3, 4], "w": [2, 2, 3]}
    one = ordered([values(a), values(b, "b")], 3).row(0, named=True)
    assert one["tau"] == pytest.approx(stats.kendalltau([0.2, 0.2, 0.6, 0.4], [4, 5, 10, 7]).statistic)
    assert one["test"] == "Kendall tau-b, all permutations"


def test_orders_are_over_the_queries_that_both_judged():
    a = {"x": [1, 2, 5, 5], "y": [2, 3, 1, 1], "z": [3, 4, 2, 1]}
    b = {"x": [1, 2, None, None], "y": [2, 3, None, None], "z": [3, 4, None, None]}
    one = ordered([values(a), values(b, "b")], 4).row(0, named=True)
    assert one["tau"] == 1
    assert one["note"] == "interval not estimable: no resample changes the order; on 2 of 4 queries"


def test_systems_that_one_judge_has_no_values_of_are_not_ranked():
    a = noisy(1)
    b = noisy(2) | {"s4": [None] * 12}
    one = ordered([values(a), values(b, "b")], 12).row(0, named=True)
    assert one["n_systems"] == 4


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        ({"x": [1, 2], "y": [2, 3]}, {"x": [1, 2], "y": [2, 3]}, "fewer than three systems"),
        ({"x": [1, 2]}, {"x": [1, 2]}, "fewer than three systems"),
        (
            {"x": [2, 2], "y": [2, 2], "z": [2, 2]},
            {"x": [1, 2], "y": [2, 3], "z": [4, 4]},
            "all systems have one mean by a (overall)",
        ),
        (
            {"x": [None] * 2, "y": [None] * 2, "z": [None] * 2},
            {"x": [1, 2], "y": [2, 3], "z": [4, 4]},
            "no query has values of both",
        ),
        ({"x": [1], "y": [2], "z": [3]}, {"x": [1], "y": [3], "z": [2]}, "fewer than two independent queries"),
    ],
)
def test_what_cannot_be_told_says_why(a, b, why):
    one = ordered([values(a), values(b, "b")], 2).row(0, named=True)
    assert one["ci_low"] is None
    assert why in one["note"]


def test_edits_of_one_theme_are_one_observation():
    parts = [values(noisy(1)), values(noisy(2), "b")]
    one = ordered(parts, 12, source={f"q{i:02d}": "q00" for i in range(1, 12)}).row(0, named=True)
    assert one["tau"] is not None
    assert one["ci_low"] is None


def test_no_judges_and_one_judge_give_empty_tables():
    assert ordered([values({})], 3).is_empty()
    assert ordered([values(noisy(1))], 12).is_empty()


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_the_order_of_rows_and_of_systems_is_of_no_matter(seed):
    frame = pl.concat([values(noisy(seed)), values(noisy(seed + 1), "b"), values(noisy(seed + 2), "b", "aboutness")])
    table = ordered([frame], 12)
    assert ordered([shuffled(frame, seed)], 12).equals(table)
    renamed = frame.with_columns(system=pl.col("system").replace({"s0": "s9", "s3": "s8"}))
    assert ordered([renamed], 12).equals(table)


def test_a_study_of_4000_items_is_fast():
    of = rubric(" ".join(f"a{i}:aboutness" for i in range(5)) + " words:wording overall:overall")
    rng = np.random.default_rng(0)
    ids = [f"q{i:03d}" for i in range(100)]
    several = [
        judged({(q, f"p{j}"): [int(g) for g in rng.integers(1, 6, 7)] for q in ids for j in range(40)}, judge, of)
        for judge in "ab"
    ]
    start = time.perf_counter()
    table = judge_agreement(several, asked(ids), 9999, 1)
    assert len(table) == 8
    assert time.perf_counter() - start < 20  # 2 s at rest
    assert not math.isnan(table["rho"].sum())


RUBRIC_FILE = """
name: tiny
scale: [1, 2, 3]
instruction: Judge.
aspects:
  - {id: theme, title: T, kind: aboutness, question: "?", anchors: {1: a, 2: b, 3: c}}
  - {id: overall, title: O, kind: overall, question: "?", anchors: {1: a, 2: b, 3: c}}
"""


def test_the_verb_writes_both_tables(tmp_path):
    ids = ["q00", "q01", "q02"]
    (tmp_path / "rubric.yaml").write_text(RUBRIC_FILE, encoding="utf-8")
    (tmp_path / "queries").mkdir()
    (tmp_path / "judgements/c/themes").mkdir(parents=True)
    write_table(asked(ids), tmp_path / "queries/themes.parquet", QUERIES)
    write_table(pl.DataFrame(schema=dict(QRELS.columns)), tmp_path / "queries/themes.qrels.parquet", QRELS)
    of = rubric("theme:aboutness overall:overall", (1, 2, 3))
    files = []
    for judge, shift in (("a", 0), ("b", 1)):
        scores = {(query, f"p{i}"): (i + shift) % 3 + 1 for query in ids for i in range(5)}
        files.append(str(tmp_path / f"judgements/c/themes/{judge}.parquet"))
        write_table(judged(scores, judge, of).judgements, files[-1], JUDGEMENTS)
    per_query = pl.concat([values(noisy(i, n=3), judge) for i, judge in enumerate("ab")])
    write_table(per_query, tmp_path / "per_query.parquet", JUDGED_PER_QUERY)
    options = {
        "--results": tmp_path,
        "--query-sets": "themes",
        "--per-query": tmp_path / "per_query.parquet",
        "--judges": json.dumps(dict.fromkeys("ab", str(tmp_path / "rubric.yaml"))),
        "--resamples": 200,
        "--flips": 99,
        "--seed": 1,
        "--agreement": tmp_path / "agreement.csv",
        "--orders": tmp_path / "orders.csv",
    }
    parts = [str(part) for option in options.items() for part in option]
    assert main(["compare_judges", *parts, "--judgements", *files]) == 0
    assert read_table(tmp_path / "agreement.csv", JUDGE_AGREEMENT)["aspect"].to_list() == [
        "aboutness",
        "overall",
        "theme",
    ]
    assert len(read_table(tmp_path / "orders.csv", JUDGE_ORDERS)) == 1
