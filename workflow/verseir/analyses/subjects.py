"""Do results share the subject of the query, whatever they mean?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from verseir.analyses.idioms import Cell, estimates, read_runs
from verseir.analyses.paired import notes
from verseir.measures import Hits, Judged, find_hits, parse_measure, place_in_group, read_judgements
from verseir.tables import QRELS, define

SUBJECTS = define(
    "subjects",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "measure": pl.String,
        "n_queries": pl.Int64,
        "mean": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "ceiling": pl.Float64,
        "note": pl.String,
    },
    nullable="mean ci_low ci_high ceiling note",
    unique="corpus query_set mode system measure",
)

#: Why a measure that looks at how other documents were judged has no value.
NO_JUDGEMENTS = "not estimable: subjects say which documents are relevant, and judge no other"


def subject_means(
    results: str | Path, cross: Mapping[str, Any], measures: Sequence[str], depth: int, resamples: int, seed: int
) -> pl.DataFrame:
    """The SUBJECTS table: each run measured as if every document with the subject of the query were relevant.

    Idiom and use count for nothing here. A run that is good at this and poor on meanings finds texts about the same
    matter. Means are over the queries whose subject an indexed document has. Intervals are over clusters of queries;
    the subjects are taken as given.

    Args:
        results: the folder of a study.
        cross: what is crossed with what, as ``layout.runs`` takes it: query sets with idioms alone.
        measures: names that ``measures.parse_measure`` knows.
        depth: where the lists of the study are cut. More documents share a subject than a list holds, so a measure may
            be out of reach: ``ceiling`` is the mean that lists of relevant documents alone would get.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    names = sorted(set(measures))
    parsed = [parse_measure(name) for name in names]
    usable = [j for j, measure in enumerate(parsed) if not measure.needs_judged]
    rows = []
    for cell, ranked in read_runs(results, cross):
        judged = subject_judgements(cell)
        ideal = _ideal(judged, depth, len(cell.documents))
        ceilings = [measure.values(ideal, judged) for measure in parsed]
        systems, blocks = [], []
        for system, run in ranked:
            hits = find_hits(run, judged)
            systems.append(system)
            blocks += [parsed[j].values(hits, judged) for j in usable]
        n = len(judged.query_ids)
        values = np.array(blocks).reshape(len(blocks), n).T
        found = iter(estimates(values, cell.clusters(judged.query_ids), resamples, seed))
        left_out = _left_out(len(cell.queries) - n, len(cell.queries))
        for system in systems:
            for j, name in enumerate(names):
                if j in usable:
                    mean, low, high, note = next(found)
                    ceiling = float(ceilings[j].mean()) if n else None
                    row = (mean, low, high, ceiling, notes(note or "", left_out))
                else:
                    row = (None, None, None, None, notes(NO_JUDGEMENTS, left_out))
                rows.append((*cell.name, system, name, n, *row))
    frame = pl.DataFrame(rows, schema=dict(SUBJECTS.columns), orient="row")
    return frame.sort("corpus", "query_set", "mode", "system", "measure")


def subject_judgements(cell: Cell) -> Judged:
    """The indexed documents with the subject of each query; queries that share theirs with none are left out."""
    asked = cell.queries.select("query_id", "subject").drop_nulls()
    pairs = asked.join(cell.documents.select("poem_id", "subject"), on="subject")
    qrels = pairs.select("query_id", "poem_id", grade=pl.lit(1, QRELS.columns["grade"]))
    return read_judgements(qrels, pairs["query_id"].unique().to_list())


def _ideal(judged: Judged, depth: int, n_documents: int) -> Hits:
    """What lists of ``depth`` find that hold relevant documents first."""
    query = judged.relevant["query"].to_numpy()
    rank = place_in_group(query)
    n_found = np.full(len(judged.query_ids), min(depth, n_documents))
    return Hits(query, rank, judged.relevant["grade"].to_numpy(), n_found).where(rank <= depth)


def _left_out(n: int, n_all: int) -> str:
    return f"{n} of {n_all} queries left out: no indexed document has their subject, or they have none" if n else ""
