"""Measures of graded queries with many relevant poems, equal to those of ``mteb`` query by query.

``VERSEIR_MTEB_PYTHON`` names a Python that has the package (checked with mteb 2.26); nothing is installed here, and
without it the test is skipped. What differs there by convention is stated in ``verseir.exchange.mteb_export`` and
asserted here: the order of ties, the cutoff of MAP, and which queries a mean is over.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import polars as pl
import pytest
from foreign import needs, run_foreign

from verseir.exchange.card import Origin
from verseir.exchange.mteb_export import write_mteb
from verseir.measures import per_query
from verseir.tables import POEMS, QRELS, QUERIES, RUN

pytestmark = needs("mteb")

CUTS = [1, 3, 5, 10, 20]
DEPTH = 20
#: Ours -> what pytrec_eval calls it there.
NAMES = {
    ours.format(k): theirs.format(k)
    for k in CUTS
    for ours, theirs in (("nDCG@{}", "ndcg_cut_{}"), ("MAP@{}", "map_cut_{}"), ("Recall@{}", "recall_{}"))
} | {f"MRR@{k}": f"mrr_{k}" for k in CUTS}

#: What the other Python runs: cases on standard input, figures on standard output.
FOREIGN = """
import importlib.util, json, sys
from pathlib import Path

import mteb
from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores, mrr
from mteb.models.model_meta import ModelMeta

job = json.load(sys.stdin)
K = job["cuts"]


def measured(qrels, results):
    copy = lambda: {query: dict(found) for query, found in results.items()}
    found = calculate_retrieval_scores(copy(), qrels, K)
    per_query = {query: dict(values) for query, values in found.all_scores.items()}
    for name, values in mrr(qrels, copy(), K).items():
        for query, value in zip(results, values, strict=True):
            per_query[query]["mrr_" + name.partition("@")[2]] = value
    return {"per_query": per_query, "ndcg": found.ndcg, "recall": found.recall, "map": found.map}


cases = [measured(case["qrels"], case["results"]) for case in job["cases"]]

spec = importlib.util.spec_from_file_location("task", Path(job["folder"]) / "task.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
Task = getattr(module, job["name"])


class Run:
    mteb_model_meta = ModelMeta.create_empty({"name": "verseir/run", "revision": "1"})

    def index(self, corpus, **_):
        pass

    def search(self, queries, top_k, **_):
        self.top_k = top_k
        return {query: dict(found) for query, found in job["cases"][0]["results"].items()}


run = Run()
told = mteb.evaluate(run, Task(), cache=None, co2_tracker=False, show_progress_bar=False, encode_kwargs={})
task = {
    "scores": told.task_results[0].scores["test"][0],
    "top_k": run.top_k,
    "cuts": list(Task.k_values),
    "ignore_identical_ids": Task.ignore_identical_ids,
    "skip_first_result": Task.skip_first_result,
}
print("\\n" + json.dumps({"cases": cases, "task": task}))
"""


class Case(NamedTuple):
    """Poems by language, grades, and for each query the language it asks for and its scores, which tie often."""

    language_of: dict[str, str]
    grades: dict[str, dict[str, int]]
    target: dict[str, str]
    scores: dict[str, dict[str, float]]

    def ranked(self, last_first: bool = False) -> pl.DataFrame:
        """The RUN of a search within the language of each query; tied poems by their ids, descending if asked."""
        rows: list[tuple] = []
        for query, scores in self.scores.items():
            inside = sorted(
                (poem for poem in scores if self.language_of[poem] == self.target[query]), reverse=last_first
            )
            inside.sort(key=lambda poem: -scores[poem])
            rows += [(query, poem, rank, scores[poem], None) for rank, poem in enumerate(inside[:DEPTH], 1)]
        return pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")

    def qrels(self) -> pl.DataFrame:
        rows = [(query, poem, grade) for query, graded in self.grades.items() for poem, grade in graded.items()]
        return pl.DataFrame(rows, schema=dict(QRELS.columns), orient="row")

    def ours(self, run: pl.DataFrame) -> dict[tuple[str, str], float]:
        found = per_query(run, self.qrels(), list(self.grades), [*NAMES, "MAP", "MRR"])
        return {(query, measure): value for query, measure, value in found.iter_rows()}


def by_rank(run: pl.DataFrame) -> dict[str, dict[str, float]]:
    """A run as they take one, its ranks in the place of scores: they order ties by rules of their own."""
    found: dict[str, dict[str, float]] = {}
    for query, poem, rank in run.select("query_id", "poem_id", "rank").iter_rows():
        found.setdefault(query, {})[poem] = float(1000 - rank)
    return found


def by_score(run: pl.DataFrame) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for query, poem, score in run.select("query_id", "poem_id", "score").iter_rows():
        found.setdefault(query, {})[poem] = float(score)
    return found


def made(seed: int) -> Case:
    """Thirty poems in two languages; six queries with grades from 0 to 3, poems that nobody judged, and ties. One query
    finds three poems only, one none that is relevant, and one nothing at all."""
    chance = random.Random(seed)
    poems = [f"p{number:02d}" for number in range(30)]
    language_of = {poem: ("zho" if number % 3 else "fas") for number, poem in enumerate(poems)}
    grades: dict[str, dict[str, int]] = {}
    target: dict[str, str] = {}
    scores: dict[str, dict[str, float]] = {}
    for number in range(6):
        query = f"q{number}"
        target[query] = "zho" if number % 2 else "fas"
        own = [poem for poem in poems if language_of[poem] == target[query]]
        judged = chance.sample(own, 7)
        grades[query] = {judged[0]: 3} | {poem: chance.randint(0, 3) for poem in judged[1:]}
        found = own[:3] if number == 1 else own[-5:] if number == 2 else poems
        # A few values for many poems; halves are the same in 32 bits and in 64.
        scores[query] = {poem: chance.randint(0, 6) / 2 for poem in found}
    grades["q2"] = {poem: grade for poem, grade in grades["q2"].items() if poem not in scores["q2"]} or {"p00": 1}
    grades["q2"]["p00"] = 2
    del scores["q5"]
    return Case(language_of, grades, target, scores)


CASES = [made(seed) for seed in range(20)]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What mteb makes of each case: of our ranks, then of our scores; and of the first of them as a task."""
    base = tmp_path_factory.mktemp("mteb")
    first = CASES[0]
    poems = pl.DataFrame(
        [
            {"poem_id": poem, "language": language, "verses": [{"first": f"verse of {poem}", "second": None}]}
            for poem, language in first.language_of.items()
        ],
        schema=dict(POEMS.columns),
    )
    queries = pl.DataFrame(
        [{"query_id": query, "query_set": "graded", "text": f"asks {query}"} for query in first.grades],
        schema=dict(QUERIES.columns),
    )
    origin = Origin("small", "poems", "graded", {}, {"within": "language"})
    write_mteb(base / "set", origin, poems, queries, first.qrels())
    cases = [{"qrels": case.grades, "results": by_rank(case.ranked())} for case in CASES]
    cases += [{"qrels": case.grades, "results": by_score(case.ranked())} for case in CASES]
    job = {"cases": cases, "cuts": CUTS, "folder": str(base / "set"), "name": origin.name}
    return run_foreign(FOREIGN, job, base)


def compared(ours: dict[tuple[str, str], float], theirs: dict[str, dict[str, float]]) -> int:
    """Hold every value of ours against theirs; how many there are."""
    for query, found in theirs.items():
        for measure, name in NAMES.items():
            assert ours[query, measure] == pytest.approx(found[name], abs=1e-9), (query, measure)
    return len(theirs) * len(NAMES)


def test_every_query_of_every_case_has_the_same_figures(theirs: dict[str, Any]) -> None:
    values = [case.ours(case.ranked()) for case in CASES]
    n = sum(
        compared(ours, found["per_query"]) for ours, found in zip(values, theirs["cases"][: len(CASES)], strict=True)
    )
    assert n == len(CASES) * 5 * len(NAMES)
    graded = {grade for case in CASES for judged in case.grades.values() for grade in judged.values()}
    assert graded == {0, 1, 2, 3}
    between = [value for ours in values for (_, measure), value in ours.items() if measure == "nDCG@10"]
    assert sum(0 < value < 1 for value in between) > len(CASES)


def test_map_without_a_cutoff_is_theirs_at_the_depth_of_the_list(theirs: dict[str, Any]) -> None:
    for case, found in zip(CASES, theirs["cases"], strict=False):
        ours = case.ours(case.ranked())
        for query, values in found["per_query"].items():
            assert ours[query, "MAP"] == pytest.approx(values[f"map_cut_{DEPTH}"], abs=1e-9)
            assert ours[query, "MRR"] == pytest.approx(values[f"mrr_{DEPTH}"], abs=1e-9)


def test_they_order_ties_by_descending_ids(theirs: dict[str, Any]) -> None:
    other = 0
    for case, found in zip(CASES, theirs["cases"][len(CASES) :], strict=True):
        compared(case.ours(case.ranked(last_first=True)), found["per_query"])
        ours = case.ours(case.ranked())
        other += any(
            abs(ours[query, "nDCG@5"] - values["ndcg_cut_5"]) > 1e-6 for query, values in found["per_query"].items()
        )
    assert other > len(CASES) // 2


def test_their_means_leave_out_a_query_that_finds_nothing_and_have_five_decimals(theirs: dict[str, Any]) -> None:
    case, found = CASES[0], theirs["cases"][0]
    ours = case.ours(case.ranked())
    assert "q5" not in found["per_query"] and ours["q5", "nDCG@10"] == 0
    asked = [query for query in case.grades if query != "q5"]
    for measure, key, name in (("nDCG@10", "ndcg", "NDCG@10"), ("MAP@20", "map", "MAP@20")):
        mean = sum(ours[query, measure] for query in asked) / len(asked)
        assert found[key][name] == round(found[key][name], 5) == pytest.approx(mean, abs=5.1e-6)
    told = theirs["task"]
    mean = sum(ours[query, "nDCG@10"] for query in asked) / len(asked)
    assert told["scores"]["ndcg_at_10"] == told["scores"]["main_score"] == pytest.approx(mean, abs=5.1e-6)
    # As a task: lists of 1000 poems, and nothing is left out of them.
    assert told["top_k"] == max(told["cuts"]) == 1000
    assert told["ignore_identical_ids"] is False and told["skip_first_result"] is False
