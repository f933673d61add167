"""Right answers from R and from trec_eval, where the file that holds them is at hand.

VERSEIR_VECTORS=path/to/vectors.json python -m pytest tests/golden
"""

import json
import math
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from verseir.fusion import reciprocal_rank_fusion
from verseir.measures import per_query
from verseir.stats.agreement import kappa
from verseir.stats.bootstrap import bca_interval, bootstrap_means
from verseir.stats.correlation import dependent_correlations, kendall, spearman
from verseir.stats.holm import holm
from verseir.stats.mcnemar import mcnemar_exact
from verseir.stats.odds import odds_ratio, paired_odds_ratio
from verseir.stats.strata import two_strata
from verseir.stats.trend import cochran_armitage, logit_trend
from verseir.tables import QRELS, RUN

FILE = os.environ.get("VERSEIR_VECTORS", "")

pytestmark = pytest.mark.skipif(not Path(FILE).is_file(), reason="VERSEIR_VECTORS names no file of reference vectors")


@pytest.fixture(scope="module")
def vectors():
    return json.loads(Path(FILE).read_text(encoding="utf-8"))["vectors"]


def run_frame(ranked):
    """A RUN of query -> poems in rank order."""
    rows = [(q, d, i + 1, float(-i), None) for q, docs in ranked.items() for i, d in enumerate(docs)]
    return pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")


def qrels_frame(qrels):
    rows = [(q, d, g) for q, grades in qrels.items() for d, g in grades.items()]
    return pl.DataFrame(rows, schema=dict(QRELS.columns), orient="row")


def measured(ranked, qrels, names):
    table = per_query(run_frame(ranked), qrels_frame(qrels), sorted(qrels), list(names))
    return {(row["query_id"], row["measure"]): row["value"] for row in table.iter_rows(named=True)}


def by_score(run):
    return {q: sorted(scores, key=lambda d: -scores[d]) for q, scores in run.items()}


def test_mcnemar(vectors):
    for case in vectors["mcnemar"]["data"]:
        assert mcnemar_exact(case["b"], case["c"]) == pytest.approx(case["exact"], abs=vectors["mcnemar"]["tolerance"])


def test_holm(vectors):
    for case in vectors["holm"]["data"]:
        adjusted = holm([math.nan if p is None else p for p in case["p"]])
        expected = [math.nan if p is None else p for p in case["holm"]]
        assert adjusted == pytest.approx(expected, abs=vectors["holm"]["tolerance"], nan_ok=True)


def test_bca_of_a_mean(vectors):
    case = vectors["bca_enumerated_n5"]
    interval = bootstrap_means(np.array(case["data"]["x"], float)[:, None], resamples=200_000)
    ends = (interval.low[0], interval.high[0])
    assert ends == pytest.approx(case["data"]["ci_half_type7"], abs=case["tolerance"])


def test_bca_of_a_variance(vectors):
    case = vectors["bca_efron_variance"]
    x = np.array(case["data"]["x"], float)
    drawn = x[np.random.default_rng(1).integers(0, len(x), size=(200_000, len(x)))]
    jackknife = np.array([np.delete(x, i).var() for i in range(len(x))])
    ends = bca_interval(x.var(), drawn.var(axis=1), jackknife, level=0.9)
    assert ends == pytest.approx(case["data"]["bca90"], abs=case["tolerance"])


def test_graded_measures(vectors):
    data = vectors["ir_graded"]["data"]
    names = {"map": "MAP", "Rprec": "Rprec", "recip_rank": "MRR", "P_5": "P@5", "recall_5": "Recall@5"}
    names |= {"ndcg_cut_10": "nDCG@10", "success_1": "Success@1", "success_5": "Success@5"}
    values = measured(by_score(data["run"]), data["qrels"], names.values())
    for query, expected in data["pytrec_eval"].items():
        for theirs, ours in names.items():
            assert values[query, ours] == pytest.approx(expected[theirs], abs=vectors["ir_graded"]["tolerance"]), ours


def test_two_relevant_poems(vectors):
    data = vectors["ir_duplicate_gold"]["data"]
    names = {"map": "MAP", "Rprec": "Rprec", "recip_rank": "MRR", "recall_5": "Recall@5", "ndcg_cut_10": "nDCG@10"}
    values = measured(by_score({"q": data["run"]}), {"q": data["qrels"]}, [*names.values(), "Success@5"])
    for theirs, ours in names.items():
        assert values["q", ours] == pytest.approx(data["values"][theirs], abs=1e-9)
    assert values["q", "Success@5"] == data["values"]["success_5"]


def test_a_query_without_results_counts_as_zero(vectors):
    values = measured({"q1": ["a"]}, {"q1": {"a": 1}, "q2": {"b": 1}}, ["MRR"])
    assert sum(values.values()) / 2 == vectors["ir_missing_query"]["data"]["ir_measures_RR"]


def test_reciprocal_rank_fusion(vectors):
    data = vectors["rrf"]["data"]
    fused = reciprocal_rank_fusion([run_frame({"q": docs}) for docs in data["lists"]], k=data["k"])
    scores = dict(fused.select("poem_id", "score").iter_rows())
    assert scores == pytest.approx(data["scores"], rel=1e-6)  # ranked lists hold float32 scores
    assert fused["poem_id"].to_list()[:2] == data["order_desc_tie_docid_desc"][:2]


def test_kendall_exact(vectors):
    for case in vectors["kendall_exact"]["data"]:
        found = kendall(case["x"], case["y"])
        assert (found.estimate, found.p) == pytest.approx((case["tau"], case["p_exact"]), abs=1e-9)
        assert found.method == "exact"


def order_with(inversions, n):
    """An order of n with so many pairs out of place."""
    order, left = [], list(range(n))
    for _ in range(n):
        step = min(inversions, len(left) - 1)
        order.append(left.pop(step))
        inversions -= step
    return order


def test_kendall_exact_for_every_value_of_ten_systems(vectors):
    for case in vectors["kendall_exact_n10_table"]["data"]:
        found = kendall(range(10), order_with((45 - case["S"]) // 2, 10))
        assert (found.estimate, found.p) == pytest.approx((case["tau"], case["p"]), abs=1e-9)


def test_spearman(vectors):
    data = vectors["spearman"]["data"]
    found = spearman(data["x"], data["y"])
    assert (found.estimate, found.p) == pytest.approx((data["rho"], data["p_exact"]), abs=1e-9)


def test_spearman_with_ties(vectors):
    data = vectors["spearman_ties_binary"]["data"]
    assert spearman(data["x"], data["y"]).estimate == pytest.approx(data["rho"], abs=1e-10)


def test_kappa_of_a_table(vectors):
    data = vectors["qwk_table"]["data"]
    pairs = [(i, j) for i, row in enumerate(data["table"]) for j, count in enumerate(row) for _ in range(count)]
    first, second = zip(*pairs, strict=True)
    assert len(pairs) == data["n"]
    assert kappa(first, second, [0, 1, 2]).estimate == pytest.approx(data["quadratic"], abs=1e-9)
    assert kappa(first, second, [0, 1, 2], "none").estimate == pytest.approx(data["unweighted"], abs=1e-9)


def test_kappa_with_a_category_that_nobody_used(vectors):
    data = vectors["qwk_missing_category"]["data"]
    found = kappa(data["r1"], data["r2"], [0, 1, 2, 3])
    assert found.estimate == pytest.approx(data["quadratic_true_distance"], abs=1e-9)


def test_williams_t(vectors):
    data = vectors["williams_t"]["data"]
    found = dependent_correlations(data["r12"], data["r13"], data["r23"], data["n"])
    assert (found.williams_t, found.williams_p) == pytest.approx((data["t"], data["p"]), abs=1e-6)


def test_dependent_correlations(vectors):
    for case in vectors["dependent_correlations"]["data"]:
        found = dependent_correlations(case["r_jk"], case["r_jh"], case["r_kh"], case["n"])
        expected = {"meng": "meng1992_z", "steiger": "steiger1980_z", "hittner": "hittner2003_z"}
        for name, statistic in expected.items():
            assert getattr(found, f"{name}_z") == pytest.approx(case[statistic], abs=1e-9)
            assert getattr(found, f"{name}_p") == pytest.approx(case[f"p_{name}"], abs=1e-9)
        assert (found.williams_t, found.williams_p) == pytest.approx((case["williams_t"], case["p_williams"]), abs=1e-9)


def test_odds_ratio(vectors):
    data = vectors["odds_ratio"]["data"]
    found = odds_ratio(data["table"])
    assert found.sample == pytest.approx(data["sample"], abs=1e-12)
    assert found.conditional == pytest.approx(data["conditional_mle"], abs=1e-4)
    assert (found.low, found.high) == pytest.approx(data["ci"], rel=5e-3)
    assert found.p == pytest.approx(data["p"], abs=1e-9)


def test_paired_odds_ratio(vectors):
    data = vectors["paired_odds_ratio"]["data"]
    found = paired_odds_ratio(data["b"], data["c"])
    assert (found.estimate, found.low, found.high) == pytest.approx((data["or"], *data["ci_exact"]), abs=1e-9)


def test_welch(vectors):
    data = vectors["welch"]["data"]
    values = np.array([*data["x"], *data["y"]], float)[:, None]
    found = two_strata(values, np.arange(len(values)) < len(data["x"]), resamples=99, flips=99)
    assert found.p[0] == pytest.approx(data["p"], abs=1e-9)


def test_difference_of_two_slopes(vectors):
    data = vectors["did_paper_counts"]["data"]
    values = np.repeat([1.0, 0.0, 1.0, -1.0, 0.0], [11, 69, 27, 31, 106])[:, None]
    found = two_strata(values, np.arange(244) < 80)
    assert found.estimate[0] == pytest.approx(data["did"], abs=1e-9)
    assert found.p[0] == pytest.approx(data["p_welch"], abs=1e-9)
    assert found.p_permutation[0] == pytest.approx(0.0087, abs=0.001)  # as the notes of the entry have it


def test_trend(vectors):
    data = vectors["trend"]["data"]
    found = cochran_armitage(data["success"], data["n"], data["score"])
    assert found.statistic == pytest.approx(data["cochran_armitage_chi2"], abs=1e-7)
    assert found.p == pytest.approx(data["p"], rel=1e-7)
    y = np.repeat([1, 0] * 4, [count for s, n in zip(data["success"], data["n"], strict=True) for count in (s, n - s)])
    slope = logit_trend(y, np.repeat(data["score"], data["n"]))
    assert (slope.slope, slope.se) == pytest.approx((data["logit_slope"], data["se"]), abs=1e-7)
    assert slope.p == pytest.approx(data["wald_p"], abs=1e-7)
