"""The parameters of BM25, chosen on validation queries: of all pairs of a grid the one with the highest mean."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from verseir.atomic import write_text
from verseir.faults import UserError
from verseir.measures import per_query
from verseir.ranking import DEPTH
from verseir.systems.grouped_bm25 import GroupedBm25
from verseir.systems.groups import Groups


@dataclass(frozen=True)
class Trial:
    """One pair of the grid, and the mean that it reached."""

    k1: float
    b: float
    mean: float


@dataclass(frozen=True)
class Tuning:
    """What tuning found. ``grid`` is in the order of trying; of equal means the first wins."""

    measure: str
    n_queries: int
    grid: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        return max(self.grid, key=lambda trial: trial.mean)  # the first of the highest

    def write(self, path: str | Path, **of: str) -> None:
        """Write the chosen pair, then all, as JSON; ``of`` tells what was tuned on what."""
        chosen = {"k1": self.best.k1, "b": self.best.b, "mean": self.best.mean}
        found = {"measure": self.measure, "n_queries": self.n_queries, "grid": [asdict(trial) for trial in self.grid]}
        write_text(path, json.dumps(of | chosen | found, indent=1, ensure_ascii=False) + "\n")


def tune(
    entry: Mapping[str, Any],
    chunks: pl.DataFrame,
    chunk_tokens: Sequence[Sequence[str]],
    query_ids: Sequence[str],
    query_tokens: Sequence[Sequence[str]],
    qrels: pl.DataFrame,
    depth: int = DEPTH,
    *,
    chunk_groups: Groups = None,
    query_groups: Groups = None,
) -> Tuning:
    """Try every pair of the grid of ``entry``, k1 in the outer loop, b in the inner.

    Args:
        entry: a ``bm25`` entry of the registry with ``tune``, defaults filled in.
        chunks: chunk_id, poem_id and first_verse of CHUNKS: what is searched, in the mode that the parameters are for.
        chunk_tokens: the tokens of each chunk.
        query_ids, query_tokens: the validation queries.
        qrels: their judgements, a QRELS frame.
        depth: poems kept per query.
        chunk_groups, query_groups: the group of each chunk, and that within which each query is searched.

    Raises:
        UserError: there is no query, or one whose group has no chunk.
    """
    if not query_ids:
        raise UserError("BM25 cannot be tuned without queries", hint="the validation set of queries is empty")
    grid = entry["tune"]
    trials = []
    for k1, b in _pairs(grid):
        index = GroupedBm25.build(
            chunk_tokens,
            chunks["chunk_id"],
            chunks["poem_id"],
            chunk_groups,
            entry["method"],
            k1,
            b,
            positions=chunks["first_verse"],
        )
        run = index.search(query_ids, query_tokens, query_groups, depth, ties=entry["ties"])
        values = per_query(run, qrels, query_ids, [grid["measure"]])["value"]
        trials.append(Trial(k1, b, float(values.to_numpy().mean())))
    return Tuning(grid["measure"], len(query_ids), tuple(trials))


def parameters(entry: Mapping[str, Any], tuned: str | Path | None) -> tuple[float, float]:
    """k1 and b of a system: of its entry, or where that says ``tune``, of the file that ``Tuning.write`` wrote.

    Raises:
        UserError: a file for a system that is not tuned, none for one that is, or one that cannot be read.
    """
    if ("tune" in entry) != (tuned is not None):
        wanted = "is tuned: name the file with its parameters" if tuned is None else "is not tuned, but a file is named"
        raise UserError(f"BM25 {wanted} (--tuned)", hint="`tune` in the registry says what tune_bm25 tries")
    if tuned is None:
        return entry["k1"], entry["b"]
    try:
        found = json.loads(Path(tuned).read_text(encoding="utf-8"))
        return float(found["k1"]), float(found["b"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{tuned} holds no tuned parameters: {error}", hint="remove it and run again") from error


def _pairs(grid: Mapping[str, Any]) -> Iterator[tuple[float, float]]:
    for k1 in grid["k1"]:
        for b in grid["b"]:
            yield float(k1), float(b)
