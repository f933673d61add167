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
from verseir.stats.bootstrap import bca_interval, bootstrap_means
from verseir.stats.holm import holm
from verseir.stats.mcnemar import mcnemar_exact
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
