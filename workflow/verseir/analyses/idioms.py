"""What the analyses of an idiom benchmark read: documents and queries with their attributes, one column each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import clusters_of, no_interval
from verseir.analyses.inputs import judged_runs, read_query_set
from verseir.faults import UserError
from verseir.layout import Run, runs
from verseir.measures import UNMEASURED
from verseir.stats.bootstrap import bootstrap_means
from verseir.tables import ATTRIBUTES, CHUNKS, POEMS, QUERY_ATTRIBUTES, read_table

#: The attributes that are read, each a column; only the first two are never null.
NAMES = ("idiom", "usage", "subject", "span", "quality")
NEEDED = NAMES[:2]
#: The use of an expression in its plain meaning, and the other use of the expression itself.
LITERAL = "literal"
IDIOMATIC = "idiomatic"
#: In a column ``usage`` or ``found``: whatever the use.
ALL = "all"
#: Why there is no interval where queries differ and the means of their clusters do not.
ALIKE = "interval not estimable: every idiom scores alike"


def read_documents(results: str | Path, corpus: str) -> pl.DataFrame:
    """poem_id and ``NAMES`` of all documents of a corpus, sorted by poem_id.

    Raises:
        UserError: a document has no idiom or no usage.
    """
    path = Path(results) / "corpora" / corpus / "attributes.parquet"
    return _wide(read_table(path, ATTRIBUTES), "poem_id", str(path))


def read_texts(results: str | Path, corpus: str) -> pl.DataFrame:
    """poem_id and text of all documents of a corpus, sorted by poem_id."""
    poems = read_table(Path(results) / "corpora" / corpus / "poems.parquet", POEMS)
    halves = [pl.element().struct.field(name) for name in ("first", "second")]
    verses = pl.col("verses").list.eval(pl.concat_str(halves, separator=" ", ignore_nulls=True))
    return poems.select("poem_id", text=verses.list.join("\n")).sort("poem_id")


def read_queries(results: str | Path, query_set: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The QUERIES of a set with ``NAMES`` added, sorted by query_id, and its QRELS. The span is that of QUERIES.

    Raises:
        UserError: a query has no idiom or no usage.
    """
    queries, qrels = read_query_set(results, query_set)
    path = Path(results) / "queries" / f"{query_set}.attributes.parquet"
    attributes = _wide(read_table(path, QUERY_ATTRIBUTES), "query_id", str(path)).drop("span")
    joined = queries.join(attributes, on="query_id", how="left").sort("query_id")
    return _complete(joined, "query_id", str(path)), qrels


def _wide(attributes: pl.DataFrame, key: str, where: str) -> pl.DataFrame:
    known = attributes.filter(pl.col("attribute").is_in(NAMES))
    wide = known.pivot("attribute", index=key, values="value").sort(key)
    absent = [pl.lit(None, pl.String).alias(name) for name in NAMES if name not in wide.columns]
    return _complete(wide.with_columns(absent).select(key, *NAMES), key, where)


def _complete(frame: pl.DataFrame, key: str, where: str) -> pl.DataFrame:
    for name in NEEDED:
        lacking = frame.filter(pl.col(name).is_null())[key]
        if len(lacking):
            raise UserError(
                f"{where}: '{lacking[0]}' has no attribute '{name}'",
                hint=f"{len(lacking)} in all: an idiom benchmark says of each text its idiom and how it is used",
            )
    return frame


class Cell(NamedTuple):
    """What is searched: one query set in one corpus, indexed in one mode.

    ``queries`` and ``documents`` are as ``read_queries`` and ``read_documents`` return them; the documents are those
    that the mode indexes, with their indexed ``text``. ``qrels`` holds judgements of these documents alone.
    """

    corpus: str
    query_set: str
    mode: str
    queries: pl.DataFrame
    documents: pl.DataFrame
    qrels: pl.DataFrame

    @property
    def name(self) -> tuple[str, str, str]:
        return self.corpus, self.query_set, self.mode

    def clusters(self, query_ids: list[str]) -> NDArray[np.int64] | None:
        """Which of these queries are not independent: see ``clusters_of``."""
        return clusters_of(query_ids, self.queries, self.qrels)

    def by_usage(self) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Each use that queries make of their idioms, and their rows in ``queries``."""
        usage = self.queries["usage"].to_numpy()
        for name in np.unique(usage):
            yield str(name), np.flatnonzero(usage == name)


def read_cells(results: str | Path, places: Iterable[Sequence[str]]) -> Iterator[Cell]:
    """The cells at places (corpus, query set, mode), sorted by these."""
    wanted = sorted({(corpus, query_set, mode) for corpus, query_set, mode in places})
    known = {name: read_documents(results, name) for name in {corpus for corpus, _, _ in wanted}}
    indexed = {(c, m): _indexed(results, c, m, known[c]) for c, m in {(c, m) for c, _, m in wanted}}
    asked = {name: read_queries(results, name) for name in {query_set for _, query_set, _ in wanted}}
    for corpus, query_set, mode in wanted:
        queries, qrels = asked[query_set]
        documents = indexed[corpus, mode]
        kept = qrels.join(documents, on="poem_id", how="semi")
        yield Cell(corpus, query_set, mode, queries, documents, kept)


def read_runs(
    results: str | Path, cross: Mapping[str, Any]
) -> Iterator[tuple[Cell, Iterator[tuple[str, pl.DataFrame]]]]:
    """Each cell of a cross, as ``layout.runs`` takes it, with its systems, sorted, and their RUN tables.

    Runs are read one after another: take those of a cell before the next cell. The judgements are those that the
    measures of these runs rest on.
    """
    cells = {cell.name: cell for cell in read_cells(results, {_place(run) for run in runs(cross)})}
    for name, group in groupby(judged_runs(results, cross, ()), key=lambda item: _place(item[0])):
        first = next(group)
        ranked = ((run.system, frame) for run, frame, _, _ in chain([first], group))
        yield cells[name]._replace(qrels=first[2]), ranked


def _place(run: Run) -> tuple[str, str, str]:
    return run.corpus, run.query_set, run.mode


def _indexed(results: str | Path, corpus: str, mode: str, documents: pl.DataFrame) -> pl.DataFrame:
    path = Path(results) / "corpora" / corpus / "chunks" / f"{mode}.parquet"
    chunks = read_table(path, CHUNKS).sort("poem_id", "first_verse", "chunk_id")
    texts = chunks.group_by("poem_id", maintain_order=True).agg(pl.col("text").str.join("\n"))
    return _complete(texts.join(documents, on="poem_id", how="left").sort("poem_id"), "poem_id", str(path))


class Estimate(NamedTuple):
    """A mean with the ends of its interval, None where there is none, and a note that says why."""

    mean: float | None
    low: float | None
    high: float | None
    note: str | None


def estimates(
    values: NDArray[np.float64], clusters: NDArray[np.int64] | None, resamples: int, seed: int
) -> list[Estimate]:
    """The mean of each column of ``values`` [n, m] with its interval: see ``bootstrap_means``."""
    if not len(values):
        return [Estimate(None, None, None, UNMEASURED)] * values.shape[1]
    found = bootstrap_means(values, clusters, resamples, seed)
    why = no_interval(len(values), clusters)
    several = clusters is not None and len(np.unique(clusters)) > 1
    rows = []
    for mean, low, high, spread in zip(found.mean, found.low, found.high, np.ptp(values, axis=0), strict=True):
        if math.isnan(low):
            rows.append(Estimate(float(mean), None, None, ALIKE if several and spread > 1e-12 else why))
        else:
            rows.append(Estimate(float(mean), float(low), float(high), None))
    return rows
