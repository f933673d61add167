"""Small studies for the tests of the paired analyses: outcomes as lists, one query each."""

import numpy as np
import polars as pl

from verseir.analyses.paired import Draws
from verseir.overlap import WORDING
from verseir.tables import PER_QUERY, QRELS, QUERIES

DRAWS = Draws(400, 999, 1)


def outcomes(values, query_set="set", corpus="c", mode="verse", measure="Recall@5", ids=None):
    """PER_QUERY rows of ``values``: system -> one outcome a query."""
    rows = [
        (corpus, mode, query_set, system, query, measure, float(value))
        for system, column in values.items()
        for query, value in zip(ids or names(len(column)), column, strict=True)
    ]
    return pl.DataFrame(rows, schema=dict(PER_QUERY.columns), orient="row")


def names(n):
    return [f"q{i:03d}" for i in range(n)]


def asked(n, query_set="set", registers=None, gold=None, source=None, edit=None):
    """QUERIES and QRELS of ``n`` queries; with ``source`` (the original ids) they are its edits."""
    ids = [f"{query}~{edit}" for query in source] if source else names(n)
    registers = registers or [None] * n
    rows = [
        (query, query_set, "text", register, source[i] if source else None, edit, None, None)
        for i, (query, register) in enumerate(zip(ids, registers, strict=True))
    ]
    gold = gold or [f"p{i}" for i in range(n)]
    qrels = pl.DataFrame([(q, g, 1) for q, g in zip(ids, gold, strict=True)], schema=dict(QRELS.columns), orient="row")
    queries = pl.DataFrame(rows, schema=dict(QUERIES.columns), orient="row")
    return queries, qrels.with_columns(query_set=pl.lit(query_set))


def wording(runs, query_set="set", corpus="c", ids=None, tokens=10):
    """WORDING rows: the longest run of each query; None for a query that has no target."""
    rows = [
        (corpus, query_set, query, "p", 1, tokens, 40, run, *([0, "span", 0] if run else [None] * 3), 4, None, 0.5)
        for query, run in zip(ids or names(len(runs)), runs, strict=True)
        if run is not None
    ]
    return pl.DataFrame(rows, schema=dict(WORDING.columns), orient="row")


def paper_counts():
    """Outcomes of two systems on 80 quoting and 164 other queries, as the counts of a printed study give them."""
    bm25 = [1] * 80 + [1] * 75 + [1] * 27 + [0] * 31 + [0] * 31
    encoder = [1] * 69 + [0] * 11 + [1] * 75 + [0] * 27 + [1] * 31 + [0] * 31
    return {"bm25": bm25, "encoder": encoder}, [3] * 80 + [1] * 164


def shuffled(frame, seed=0):
    return frame[np.random.default_rng(seed).permutation(len(frame))]
