"""The query sets and judgements that analyses read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from verseir.faults import UserError
from verseir.layout import Run, runs
from verseir.measures import RELEVANT
from verseir.tables import QRELS, QUERIES, QUERY_ATTRIBUTES, RUN, read_table

#: How many queries a message names.
NAMED = 5


def read_query_set(results: str | Path, query_set: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The QUERIES and QRELS tables of one query set of a study."""
    folder = Path(results) / "queries"
    return read_table(folder / f"{query_set}.parquet", QUERIES), read_table(
        folder / f"{query_set}.qrels.parquet", QRELS
    )


def read_attributes(results: str | Path, query_set: str) -> pl.DataFrame:
    """The QUERY_ATTRIBUTES table of one query set of a study."""
    return read_table(Path(results) / "queries" / f"{query_set}.attributes.parquet", QUERY_ATTRIBUTES)


def read_judged(results: str | Path, query_sets: Iterable[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The QUERIES and QRELS of several query sets, each in one frame; QRELS gets a column ``query_set``."""
    judged_in = {**QRELS.columns, "query_set": pl.String}
    queries, qrels = [pl.DataFrame(schema=dict(QUERIES.columns))], [pl.DataFrame(schema=judged_in)]
    for name in sorted(query_sets):
        part, judged = read_query_set(results, name)
        queries.append(part)
        qrels.append(judged.with_columns(query_set=pl.lit(name)))
    return pl.concat(queries), pl.concat(qrels)


def measured_queries(queries: pl.DataFrame, qrels: pl.DataFrame, judged_later: bool) -> list[str]:
    """The queries that a mean is over, sorted: all of the set, or those with a relevant poem so far if judged later."""
    if judged_later:
        queries = queries.join(qrels.filter(pl.col("grade") > 0), on="query_id", how="semi")
    return sorted(queries["query_id"].to_list())


def indexed_poems(path: Path) -> pl.DataFrame:
    """The poems that a mode indexes, each once in the column ``poem_id``, of its chunks file: texts are not read.

    Raises:
        UserError: the file is missing or damaged.
    """
    if not path.exists():
        raise UserError(f"{path} does not exist", hint="it is made by the workflow: run snakemake first")
    try:
        return pl.read_parquet(path, columns=["poem_id"]).unique()
    except pl.exceptions.PolarsError as error:
        hint = "it is damaged: remove it and run again"
        raise UserError(f"{path} cannot be read as a 'chunks' table: {error}", hint) from error


def whole_modes(cross: Mapping[str, Any]) -> tuple[dict[str, Any], dict[tuple[str, str], list[str]]]:
    """A cross without the modes that index some poems only, and which these are in each (corpus, query set)."""
    kept = set(cross.get("kept", []))
    found: dict[tuple[str, str], set[str]] = {}
    for one in runs(cross):
        if one.mode in kept:
            found.setdefault((one.corpus, one.query_set), set()).add(one.mode)
    modes = {corpus: [mode for mode in names if mode not in kept] for corpus, names in cross["modes"].items()}
    whole = {key: value for key, value in cross.items() if key != "kept"} | {"modes": modes}
    return whole, {place: sorted(names) for place, names in found.items()}


@dataclass
class Indexed:
    """Judgements as an index sees them: a mode that keeps some poems only has no others to find, nor to count.

    Each poem list and each restriction is read and made once.

    Attributes:
        results: the folder of the study.
        kept: the modes that index some poems only, of which the chunks files are read.
    """

    results: Path
    kept: Collection[str] = ()
    _poems: dict[tuple[str, str], pl.DataFrame] = field(default_factory=dict)
    _qrels: dict[tuple[str, str, str], pl.DataFrame] = field(default_factory=dict)

    def qrels(self, corpus: str, mode: str, query_set: str, qrels: pl.DataFrame) -> pl.DataFrame:
        """Those of ``qrels``, the QRELS of ``query_set``, whose poems ``mode`` indexes; all if it keeps all poems."""
        if mode not in self.kept:
            return qrels
        key = (corpus, mode, query_set)
        if key not in self._qrels:
            self._qrels[key] = qrels.join(self._indexed(corpus, mode), on="poem_id", how="semi", maintain_order="left")
        return self._qrels[key]

    def _indexed(self, corpus: str, mode: str) -> pl.DataFrame:
        if (corpus, mode) not in self._poems:
            self._poems[corpus, mode] = indexed_poems(self.results / "corpora" / corpus / "chunks" / f"{mode}.parquet")
        return self._poems[corpus, mode]


def judged_runs(
    results: str | Path, cross: Mapping[str, Any], judged_later: Collection[str]
) -> Iterator[tuple[Run, pl.DataFrame, pl.DataFrame, list[str]]]:
    """Each run of a cross with its RUN table, the QRELS of its query set, and the queries that its means are over.

    The runs come in the order of ``layout.runs``. The judgements of a run in a mode that the cross names in ``kept``
    are those of the poems that the mode indexes, so that a query's number of relevant poems, and the ideal list of
    nDCG, are those of its index.

    Raises:
        UserError: a query of a set that is judged now has no relevant poem in such a mode; a table is missing.
    """
    query_sets = {name: read_query_set(results, name) for name in cross["query_sets"]}
    indexed = Indexed(Path(results), cross.get("kept", []))
    found: dict[tuple[str, str, str], tuple[pl.DataFrame, list[str]]] = {}
    for one in runs(cross):
        place = (one.corpus, one.mode, one.query_set)
        if place not in found:
            queries, qrels = query_sets[one.query_set]
            judged = indexed.qrels(*place, qrels)
            later = one.query_set in judged_later
            if judged is not qrels and not later:
                _check_none_is_lost(one, queries, judged)
            found[place] = (judged, measured_queries(queries, judged, later))
        yield one, read_table(one.path(Path(results) / "runs"), RUN), *found[place]


def _check_none_is_lost(run: Run, queries: pl.DataFrame, judged: pl.DataFrame) -> None:
    """Raise UserError where a query has no relevant poem among those that a mode indexes."""
    relevant = judged.filter(pl.col("grade") >= RELEVANT)
    lost = queries.join(relevant, on="query_id", how="anti")["query_id"].sort().to_list()
    if lost:
        named = ", ".join(lost[:NAMED]) + (", ..." if len(lost) > NAMED else "")
        raise UserError(
            f"no relevant poem of {len(lost)} {'query' if len(lost) == 1 else 'queries'} of the set '{run.query_set}'"
            f" is indexed in the mode '{run.mode}' of the corpus '{run.corpus}': {named}",
            hint=f"let keep.{run.mode} keep more poems, leave {run.mode} out of"
            f" query_sets.{run.query_set}.modes, or say judged: later if such queries shall be left out",
        )
