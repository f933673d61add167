"""Measures of each query of many ranked lists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from agreement import require_close
from harness.line import Disagreement, Line, Peer
from texts import names

ORDER = 30
QUERIES, DEPTH, POEMS = 250, 1000, 3000
#: As we, trec_eval and ranx name them.
MEASURES = {
    "Recall@1": ("recall_1", "recall@1"),
    "Recall@5": ("recall_5", "recall@5"),
    "Recall@10": ("recall_10", "recall@10"),
    "Recall@100": ("recall_100", "recall@100"),
    "MRR": ("recip_rank", "mrr"),
    "nDCG@10": ("ndcg_cut_10", "ndcg@10"),
    "Rprec": ("Rprec", "r-precision"),
    "MAP": ("map", "map"),
}

Values = dict[str, np.ndarray]


@dataclass(frozen=True)
class Runs:
    """Ranked lists and judgements as each program takes them.

    Attributes:
        frames, dictionaries: of each run.
        qrels, judged: the judgements.
        query_ids: all of them.
        ranx, ranx_judged: the runs and the judgements as ranx takes them, where it is asked.
    """

    frames: list[Any]
    dictionaries: list[dict[str, dict[str, float]]]
    qrels: Any
    judged: dict[str, dict[str, int]]
    query_ids: list[str]
    ranx: tuple[Any, ...] = ()
    ranx_judged: Any = None


def prepare(size: int, _: int) -> Runs:
    """``size`` runs; known-item queries with one relevant poem and queries with up to 30 graded ones, half each."""
    import polars as pl

    rng = np.random.default_rng(7)
    query_ids, poem_ids = names("q", QUERIES), names("p", POEMS)
    judged = {
        query: {
            poem_ids[poem]: int(rng.integers(1, 4)) if number % 2 else 1
            for poem in rng.choice(POEMS, rng.integers(5, 31) if number % 2 else 1, replace=False).tolist()
        }
        for number, query in enumerate(query_ids)
    }
    rows = [(query, poem, grade) for query, grades in judged.items() for poem, grade in grades.items()]
    qrels = pl.DataFrame(rows, {"query_id": pl.String, "poem_id": pl.String, "grade": pl.Int32}, orient="row")
    frames, dictionaries = [], []
    places, ranks = np.repeat(np.arange(QUERIES), DEPTH), np.tile(np.arange(1, DEPTH + 1, dtype=np.int32), QUERIES)
    scores = (DEPTH - np.arange(DEPTH)).astype(float).tolist()
    for _ in range(size):
        poems = np.argsort(rng.random((QUERIES, POEMS)), axis=1)[:, :DEPTH]
        frames.append(
            pl.DataFrame(
                {
                    "query_id": pl.Series(query_ids).gather(pl.Series(places)),
                    "poem_id": pl.Series(poem_ids).gather(pl.Series(poems.ravel())),
                    "rank": ranks,
                }
            )
        )
        found = [dict(zip([poem_ids[i] for i in row], scores, strict=True)) for row in poems.tolist()]
        dictionaries.append(dict(zip(query_ids, found, strict=True)))
    return Runs(frames, dictionaries, qrels, judged, query_ids)


def prepare_ranx(size: int, threads: int) -> Runs:
    """The same, also in the form of ranx."""
    import ranx

    data = prepare(size, threads)
    return replace(data, ranx=tuple(map(ranx.Run, data.dictionaries)), ranx_judged=ranx.Qrels(data.judged))


def measure(data: Runs, _: int) -> list[Any]:
    from verseir.measures import measure_run, read_judgements

    judged = read_judgements(data.qrels, data.query_ids)
    return [measure_run(frame, judged, list(MEASURES)) for frame in data.frames]


def by_trec_eval(data: Runs, _: int) -> list[Any]:
    """pytrec_eval's own form of runs is made before: its time holds the measures alone."""
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(data.judged, {trec for trec, _ in MEASURES.values()})
    return [evaluator.evaluate(run) for run in data.dictionaries]


def by_ranx(data: Runs, threads: int) -> list[Any]:
    import ranx

    names_there = [name for _, name in MEASURES.values()]
    return [
        ranx.evaluate(data.ranx_judged, run, names_there, return_mean=False, save_results_in_run=False, threads=threads)
        for run in data.ranx
    ]


def same(data: Runs, ours: list[Any], theirs: list[Any], peer: str) -> None:
    """Each value of each query of each run, to 1e-9."""
    if len(theirs) != len(ours):
        raise Disagreement(f"{len(ours)} runs, the peer's {len(theirs)}")
    for mine, other in zip(ours, theirs, strict=True):
        table = mine.pivot(on="measure", index="query_id", values="value").sort("query_id")
        for name, (trec, _) in MEASURES.items():
            if peer == "pytrec_eval":
                values = np.array([other[query][trec] for query in data.query_ids])
            else:
                values = np.asarray(other[MEASURES[name][1]])
            require_close(table[name].to_numpy(), values, 1e-9, name)


WORK = f"{len(MEASURES)} measures of each of {QUERIES} queries, ranked lists of {DEPTH:,}, equal to trec_eval's"
BINDS = "joining lists with judgements by their names; peers have runs in their own forms from the start"
LINES = (
    Line(
        name="measures",
        work=WORK,
        unit="runs",
        sizes=(1, 10, 60),
        quick=(2,),
        prepare=prepare,
        ours=measure,
        peers=(Peer("pytrec_eval", by_trec_eval, floors={2: 8.0}),),
        same=same,
        binds=BINDS,
        packages=("pytrec_eval-terrier", "polars"),
    ),
    Line(
        name="measures-ranx",
        work=WORK,
        unit="runs",
        sizes=(1, 2, 4),
        quick=(),  # ranx compiles for a minute
        prepare=prepare_ranx,
        ours=measure,
        peers=(Peer("ranx", by_ranx, remark="compiled before: about a minute, of which it keeps little"),),
        same=same,
        binds=BINDS,
        packages=("ranx", "polars"),
    ),
)
