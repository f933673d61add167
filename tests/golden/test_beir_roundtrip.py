"""The demo's poems and queries, exported, loaded by ``beir`` and ``mteb``, and BM25's runs measured there.

``VERSEIR_MTEB_PYTHON`` names a Python that has both packages (beir 2.2, mteb 2.26); nothing is installed here, and
without it the test is skipped. Both packages call ``pytrec_eval`` and round means to five decimals, so the values of
single queries are compared exactly and the rounded means beside them. Ranks are passed as scores: these packages order
ties by their own rules.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from verseir.exchange.beir_export import document_texts
from verseir.tables import PER_QUERY, POEMS, QRELS, QUERIES, read_table
from verseir.trec import read_run

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))
from foreign import needs, run_foreign
from in_process import run_in_process
from project import ROOT, Project

pytestmark = needs("beir and mteb")

MODE = "verse"
QUERY_SETS = ("known-item", "thematic")
#: Of ours -> what pytrec_eval calls it, and what mteb calls its mean.
NAMES = {
    "nDCG@10": ("ndcg_cut_10", "ndcg_at_10"),
    "Recall@5": ("recall_5", "recall_at_5"),
    "Recall@10": ("recall_10", "recall_at_10"),
    "Recall@100": ("recall_100", "recall_at_100"),
    "MAP": ("map_cut_100", "map_at_100"),
    "P@10": ("P_10", "precision_at_10"),
}

#: What the other Python runs: job on standard input, figures on standard output.
FOREIGN = '''
import importlib.util, json, sys
from pathlib import Path

job = json.load(sys.stdin)
results = job["results"]
copy = lambda: {query: dict(found) for query, found in results.items()}
K = [5, 10, 100]

from beir.datasets.data_loader import GenericDataLoader
from beir.retrieval.evaluation import EvaluateRetrieval

corpus, queries, qrels = GenericDataLoader(job["beir"]).load(split="test")
ndcg, mean_ap, recall, precision = EvaluateRetrieval.evaluate(qrels, copy(), K, ignore_identical_ids=False)
beir = {"corpus": corpus, "queries": queries, "qrels": qrels, "means": ndcg | mean_ap | recall | precision}

import mteb
from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores, mrr
from mteb.models.model_meta import ModelMeta

spec = importlib.util.spec_from_file_location("task", Path(job["mteb"]) / "task.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
task = getattr(module, job["name"])()


class Run:
    """A run of ours, in the place of a model that searches."""

    mteb_model_meta = ModelMeta.create_empty({"name": "verseir/bm25", "revision": "run"})

    def index(self, corpus, **_):
        self.documents = {row["id"]: [row["title"], row["text"]] for row in corpus}

    def search(self, queries, **_):
        self.queries = {row["id"]: row["text"] for row in queries}
        return copy()


run = Run()
told = mteb.evaluate(run, task, cache=None, co2_tracker=False, show_progress_bar=False, encode_kwargs={})
task.load_data()  # evaluate() lets go of it
judged = task.dataset["default"]["test"]["relevant_docs"]
scores = calculate_retrieval_scores(copy(), judged, K)
per_query = {query: dict(values) for query, values in scores.all_scores.items()}
for query, value in zip(results, mrr(judged, copy(), K)["MRR@100"], strict=True):
    per_query[query]["mrr_100"] = value
theirs = {"documents": run.documents, "queries": run.queries, "qrels": judged, "per_query": per_query}
theirs["means"] = told.task_results[0].scores["test"][0]
print("\\n" + json.dumps({"beir": beir, "mteb": theirs}))
'''


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A study of the demo's data with BM25 alone: measured, and exported by the rules."""
    project = Project(tmp_path_factory.mktemp("roundtrip") / "project")
    shutil.copytree(ROOT / "resources/demo", project.folder / "resources/demo")
    files = {"known-item": ["known_item.jsonl"], "thematic": ["thematic.jsonl", "thematic_qrels.csv"]}
    query_sets = {
        name: {"corpora": ["demo"], "purpose": name}
        | dict(zip(("path", "qrels"), (f"resources/demo/{file}" for file in given), strict=False))
        for name, given in files.items()
    }
    project.study |= {
        "corpora": {"demo": {"adapter": "jsonl", "path": "resources/demo/poems.jsonl", "language": "ar"}},
        "query_sets": query_sets,
        "systems": ["bm25"],
        "measures": [*NAMES, "MRR"],
        "depth": 100,
    }
    project.save_study()
    runs = [f"results/small/trec/runs/demo/{MODE}/{query_set}/bm25.trec" for query_set in QUERY_SETS]
    assert run_in_process(project, "results/small/per_query.parquet", "datasets", *runs) == []
    return project


@pytest.fixture(scope="module", params=QUERY_SETS)
def told(project: Project, request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """A query set, and what beir and mteb make of it and of BM25's run."""
    query_set = request.param
    run = read_run(project.results / f"trec/runs/demo/{MODE}/{query_set}/bm25.trec")
    found: dict[str, dict[str, float]] = {}
    for query, poem, rank in run.select("query_id", "poem_id", "rank").iter_rows():
        found.setdefault(query, {})[poem] = float(1000 - rank)
    words = "".join(word.capitalize() for word in query_set.split("-"))
    job = {kind: str(project.results / kind / "demo" / query_set) for kind in ("beir", "mteb")}
    job |= {"results": found, "name": f"VerseirSmallDemo{words}"}
    return query_set, run_foreign(FOREIGN, job, project.folder)


def ours(project: Project, query_set: str) -> pl.DataFrame:
    values = read_table(project.results / "per_query.parquet", PER_QUERY)
    return values.filter((pl.col("query_set") == query_set) & (pl.col("mode") == MODE))


def test_both_load_what_the_study_holds(project: Project, told: tuple[str, dict[str, Any]]) -> None:
    query_set, theirs = told
    texts = document_texts(read_table(project.results / "corpora/demo/poems.parquet", POEMS))
    documents = {_id: [title, text] for _id, title, text in texts.iter_rows()}
    assert {_id: [row["title"], row["text"]] for _id, row in theirs["beir"]["corpus"].items()} == documents
    assert theirs["mteb"]["documents"] == documents
    queries = read_table(project.results / f"queries/{query_set}.parquet", QUERIES)
    asked = dict(queries.select("query_id", "text").iter_rows())
    qrels: dict[str, dict[str, int]] = {}
    for query, poem, grade in read_table(project.results / f"queries/{query_set}.qrels.parquet", QRELS).iter_rows():
        qrels.setdefault(query, {})[poem] = grade
    assert theirs["beir"]["queries"] == theirs["mteb"]["queries"] == asked
    assert theirs["beir"]["qrels"] == theirs["mteb"]["qrels"] == qrels
    grades = {grade for judged in qrels.values() for grade in judged.values()}
    assert grades == {1} if query_set == "known-item" else len(grades) > 1


def test_every_query_has_the_same_figures_there(project: Project, told: tuple[str, dict[str, Any]]) -> None:
    query_set, theirs = told
    names = {measure: name for measure, (name, _) in NAMES.items()} | {"MRR": "mrr_100"}
    per_query = theirs["mteb"]["per_query"]
    compared = 0
    for query, measure, value in ours(project, query_set).select("query_id", "measure", "value").iter_rows():
        # A query for which BM25 finds nothing is left out there; it scores 0 here.
        there = per_query.get(query, {}).get(names[measure], 0.0)
        assert value == pytest.approx(there, abs=1e-9), (query, measure)
        compared += 1
    assert compared == len(names) * len(theirs["beir"]["queries"])
    assert any(value > 0 for values in per_query.values() for value in values.values())


def test_the_means_are_the_same_to_the_decimals_that_are_printed(
    project: Project, told: tuple[str, dict[str, Any]]
) -> None:
    query_set, theirs = told
    n_there, n_ours = len(theirs["mteb"]["per_query"]), len(theirs["beir"]["queries"])
    means = dict(ours(project, query_set).group_by("measure").agg(pl.col("value").mean()).iter_rows())
    beir = {"nDCG": "NDCG", "P": "P", "Recall": "Recall"}
    for measure, (_, name) in NAMES.items():
        # Their means are over the queries for which something was found.
        mean = means[measure] * n_ours / n_there
        assert theirs["mteb"]["means"][name] == pytest.approx(mean, abs=5.1e-6), measure
        family, _, cutoff = measure.partition("@")
        key = f"{beir[family]}@{cutoff}" if cutoff else "MAP@100"
        assert theirs["beir"]["means"][key] == pytest.approx(mean, abs=5.1e-6), measure
    assert theirs["mteb"]["means"]["main_score"] == theirs["mteb"]["means"]["ndcg_at_10"]
    # The reciprocal rank is the one mean that mteb does not round.
    assert theirs["mteb"]["means"]["mrr_at_100"] == pytest.approx(means["MRR"] * n_ours / n_there, abs=1e-9)
