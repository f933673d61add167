"""What does an edit of the query do? The same queries before and after, by system and between systems."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import clusters_of
from verseir.analyses.paired import (
    TESTED,
    Cell,
    Draws,
    cells,
    compare_columns,
    independent,
    notes,
    system_pairs,
    tested,
)
from verseir.faults import UserError
from verseir.tables import define

CHANGE, DIFFERENCE, AFTER = "change", "difference of changes", "after"
POSITIONS = "difference between positions"
#: Edits that add a half-verse; what follows is the position in the poem that it comes from.
APPEND = "append-"

EDITS = define(
    "edits",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "source_query_set": pl.String,
        "edit": pl.String,
        "mode": pl.String,
        "measure": pl.String,
        "effect": pl.String,
        "a": pl.String,
        "b": pl.String,
        "n": pl.Int64,
        "n_rejected": pl.Int64,
        "before": pl.Float64,
        "after": pl.Float64,
        **TESTED,
        "p_t": pl.Float64,
        "note": pl.String,
    },
    nullable="b n_rejected before after estimate ci_low ci_high p p_holm p_t note",
    unique="family a b",
)
EDIT_LENGTHS = define(
    "edit_lengths",
    {
        "query_set": pl.String,
        "source_query_set": pl.String,
        "edit": pl.String,
        "n": pl.Int64,
        "n_rejected": pl.Int64,
        "tokens_before": pl.Float64,
        "tokens_after": pl.Float64,
        "note": pl.String,
    },
    nullable="n_rejected tokens_before tokens_after note",
    unique="query_set edit",
)


@dataclass(frozen=True)
class Edit:
    """One edit of one source set: the edited queries with their originals, in the order of the edited ids."""

    query_set: str
    source_query_set: str
    name: str
    query_ids: list[str]
    source_ids: list[str]
    n_rejected: int | None


@dataclass(frozen=True)
class Sides:
    """An edit in one corpus: the cell of the originals and that of the edited queries, row by row."""

    edit: Edit
    before: Cell
    after: Cell
    clusters: NDArray[np.int64] | None

    def columns(self) -> list[tuple[str, str]]:
        """Each mode and measure in which both sides were searched, sorted."""
        shared = self.before.columns.keys() & self.after.columns.keys()
        return sorted({(mode, measure) for mode, _, measure in shared})

    def systems(self, mode: str, measure: str) -> list[str]:
        """The systems that searched both sides, sorted."""
        return sorted(set(self.before.systems(mode, measure)) & set(self.after.systems(mode, measure)))

    def change(self, mode: str, system: str, measure: str) -> NDArray[np.float64]:
        """Outcome after the edit less that before, float64 [n]."""
        return self.after.of(mode, system, measure) - self.before.of(mode, system, measure)


def edits_of(
    queries: pl.DataFrame, edited: Mapping[str, str | None], rejected: Mapping[str, pl.DataFrame]
) -> list[Edit]:
    """The edits of the ``edited`` query sets, sorted by set and name.

    A set names its source set, or None: then it is the other set that holds its originals. A query without an original
    in the source is passed over. A set whose queries name no edit has one, called as the set. An edit of which every
    query was rejected, and that of a set without a query, is one of no queries.

    Raises:
        UserError: several sets hold the originals and none is named.
    """
    found = []
    homes = queries.select(source_query_id="query_id", home="query_set")
    for query_set, named in sorted(edited.items()):
        part = queries.filter(pl.col("query_set") == query_set, pl.col("source_query_id").is_not_null())
        pairs = part.join(homes.filter(pl.col("home") != query_set), on="source_query_id")
        source = named or _only(query_set, sorted(set(pairs["home"]) - set(edited)) or sorted(set(pairs["home"])))
        pairs = pairs.filter(pl.col("home") == source).with_columns(pl.col("edit").fill_null(query_set))
        refused = rejected[query_set]["edit"].to_list() if query_set in rejected else []
        for name in sorted({*pairs["edit"], *refused} or {query_set}):
            group = pairs.filter(pl.col("edit") == name).sort("query_id")
            ids, sources = group["query_id"].to_list(), group["source_query_id"].to_list()
            found.append(Edit(query_set, source, name, ids, sources, _rejected(rejected, query_set, name)))
    return found


def _only(query_set: str, homes: list[str]) -> str:
    if len(homes) > 1:
        raise UserError(
            f"the originals of the edited query set '{query_set}' stand in several query sets: {', '.join(homes)}",
            hint="name the one that it edits",
        )
    return homes[0] if homes else ""


def _rejected(rejected: Mapping[str, pl.DataFrame], query_set: str, name: str) -> int | None:
    if query_set not in rejected:
        return None
    return rejected[query_set].filter(pl.col("edit") == name)["source_query_id"].n_unique()


def edit_effects(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    edited: Mapping[str, str | None],
    rejected: Mapping[str, pl.DataFrame],
    measures: Sequence[str],
    lexical: Collection[str],
    fusions: Collection[str],
    draws: Draws,
) -> pl.DataFrame:
    """The EDITS table: paired differences on the same queries.

    Effects, each with ``estimate`` = ``after`` - ``before``, but for ``after``:

    - change: the mean of a on the edited queries less that on their originals.
    - difference of changes: the lead of a over b, after less before.
    - after: the lead of a over b on the edited queries; ``before`` is the lead on the originals.
    - difference between positions: the mean of a with one half-verse added less that with another (``append-final vs
      append-opening``), on the originals that have both; ``query_set`` is the set of the first.

    Variants of one query and queries that share a poem are one cluster.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of the edited query sets and of their sources.
        qrels: their QRELS, with a column ``query_set``.
        edited: edited query set -> the set that it edits, or None to look it up.
        rejected: edited query set -> its REJECTS; a set without has ``n_rejected`` null.
        measures: as named in ``per_query``.
        lexical: systems that match words: each is compared with every other.
        fusions: systems that fuse others: they have changes, no pairs.
        draws: resamples, flips and seed.
    """
    by_place: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells(per_query, queries, qrels, measures):
        by_place.setdefault((cell.corpus, cell.query_set), []).append(cell)
    edits = edits_of(queries, edited, rejected)
    rows: list[dict[str, Any]] = []
    for corpus in sorted({corpus for corpus, _ in by_place}):
        sides = []
        for edit in edits:
            found = [by_place.get((corpus, name), []) for name in (edit.source_query_set, edit.query_set)]
            for before, after in product(*found):
                both = _sides(edit, before, after, queries, qrels)
                if both and both.columns():
                    sides.append(both)
                    rows += _effects(both, lexical, fusions, draws)
        appended = sorted((side for side in sides if side.edit.name.startswith(APPEND)), key=lambda s: s.edit.name)
        for first, second in combinations(appended, 2):
            if first.edit.source_query_set == second.edit.source_query_set:
                rows += _positions(first, second, draws)
    order = ["corpus", "source_query_set", "edit", "query_set", "mode", "measure", "effect", "a", "b"]
    return tested(rows, EDITS, order)


def _sides(edit: Edit, before: Cell, after: Cell, queries: pl.DataFrame, qrels: pl.DataFrame) -> Sides | None:
    """The two cells cut to the pairs of the edit whose queries both have outcomes; None where no pair has."""
    at_before = {query: i for i, query in enumerate(before.query_ids)}
    at_after = {query: i for i, query in enumerate(after.query_ids)}
    pairs = [
        (at_before[source], at_after[query])
        for query, source in zip(edit.query_ids, edit.source_ids, strict=True)
        if source in at_before and query in at_after
    ]
    if not pairs:
        return None
    index = np.array(pairs, dtype=np.int64)
    first, second = before.rows(index[:, 0]), after.rows(index[:, 1])
    inside = pl.col("query_set").is_in([edit.query_set, edit.source_query_set])
    clusters = clusters_of(second.query_ids, queries.filter(inside), qrels.filter(inside))
    return Sides(edit, first, second, clusters)


def _row(corpus: str, edit: Edit, mode: str, measure: str, effect: str, slug: str) -> dict[str, Any]:
    place = f"{corpus}/{edit.query_set}/{edit.name}/{mode}/{measure}"
    return {
        "family": f"edits-{slug}/{place}",
        "corpus": corpus,
        "query_set": edit.query_set,
        "source_query_set": edit.source_query_set,
        "edit": edit.name,
        "mode": mode,
        "measure": measure,
        "effect": effect,
        "n_rejected": edit.n_rejected,
    }


#: One row before it is tested, and the two sides of its test.
Planned = tuple[dict[str, Any], NDArray[np.float64], NDArray[np.float64]]


def _test(
    planned: list[Planned], clusters: NDArray[np.int64] | None, kind: str, draws: Draws
) -> Iterator[dict[str, Any]]:
    """The rows with the outcomes of their tests."""
    if not planned:
        return
    a = np.stack([side for _, side, _ in planned], axis=1)
    b = np.stack([side for _, _, side in planned], axis=1)
    for (row, _, _), outcome in zip(planned, compare_columns(a, b, clusters, draws, kind=kind), strict=True):
        yield {**row, **outcome._asdict(), "n": len(a), "note": notes(outcome.note, row["note"])}


def _effects(
    sides: Sides, lexical: Collection[str], fusions: Collection[str], draws: Draws
) -> Iterator[dict[str, Any]]:
    corpus, edit = sides.before.corpus, sides.edit
    planned: list[Planned] = []
    for mode, measure in sides.columns():
        systems = sides.systems(mode, measure)
        before = {system: sides.before.of(mode, system, measure) for system in systems}
        after = {system: sides.after.of(mode, system, measure) for system in systems}
        for system in systems:
            row = _row(corpus, edit, mode, measure, CHANGE, "change") | {"a": system, "b": None, "note": ""}
            means = {"before": float(before[system].mean()), "after": float(after[system].mean())}
            planned.append((row | means, after[system], before[system]))
        means_before = {system: float(before[system].mean()) for system in systems}
        for a, b, note in system_pairs(means_before, lexical, fusions):
            lead_before = float((before[a] - before[b]).mean())
            lead_after = float((after[a] - after[b]).mean())
            pair = {"a": a, "b": b, "note": note, "before": lead_before, "after": lead_after}
            row = _row(corpus, edit, mode, measure, DIFFERENCE, "difference-of-changes") | pair
            changes = sides.change(mode, a, measure), sides.change(mode, b, measure)
            planned.append((row, *changes))
            row = _row(corpus, edit, mode, measure, AFTER, "after") | pair
            planned.append((row, after[a], after[b]))
    yield from _test(planned, sides.clusters, sides.before.kind, draws)


def _positions(first: Sides, second: Sides, draws: Draws) -> Iterator[dict[str, Any]]:
    """Two edits of the same originals, for each system: its mean under the first less that under the second."""
    at = {source: i for i, source in enumerate(second.before.query_ids)}
    pairs = [(i, at[source]) for i, source in enumerate(first.before.query_ids) if source in at]
    if not pairs or first.edit.name == second.edit.name:
        return
    index = np.array(pairs, dtype=np.int64)
    clusters = None if first.clusters is None else independent(first.clusters[index[:, 0]])
    both = replace(first.edit, name=f"{first.edit.name} vs {second.edit.name}", n_rejected=None)
    planned: list[Planned] = []
    for mode, measure in sorted(set(first.columns()) & set(second.columns())):
        for system in sorted(set(first.systems(mode, measure)) & set(second.systems(mode, measure))):
            one = first.after.of(mode, system, measure)[index[:, 0]]
            other = second.after.of(mode, system, measure)[index[:, 1]]
            row = _row(
                first.before.corpus, both, mode, measure, POSITIONS, f"between-positions/{second.edit.query_set}"
            )
            means = {"before": float(other.mean()), "after": float(one.mean())}
            planned.append((row | means | {"a": system, "b": None, "note": ""}, one, other))
    yield from _test(planned, clusters, first.before.kind, draws)


def edit_lengths(
    queries: pl.DataFrame,
    wording: pl.DataFrame,
    edited: Mapping[str, str | None],
    rejected: Mapping[str, pl.DataFrame],
) -> pl.DataFrame:
    """The EDIT_LENGTHS table: mean tokens of the originals and of the edited queries, over pairs counted in both.

    Args:
        queries: the QUERIES of the edited query sets and of their sources.
        wording: the WORDING rows of these sets; a query has the same length in every corpus.
        edited: edited query set -> the set that it edits, or None to look it up.
        rejected: edited query set -> its REJECTS; a set without has ``n_rejected`` null.
    """
    counted = wording.select("query_set", "query_id", "n_query_tokens").unique(["query_set", "query_id"])
    tokens = {(query_set, query): n for query_set, query, n in counted.iter_rows()}
    rows = []
    for edit in edits_of(queries, edited, rejected):
        both = [
            (tokens[edit.source_query_set, source], tokens[edit.query_set, query])
            for query, source in zip(edit.query_ids, edit.source_ids, strict=True)
            if (edit.source_query_set, source) in tokens and (edit.query_set, query) in tokens
        ]
        left = len(edit.query_ids) - len(both)
        before, after = np.mean(both, axis=0).tolist() if both else (None, None)
        what = "no pair of queries has a target" if edit.query_ids else "no query was edited"
        why = "" if both else f"not estimable: {what}"
        note = f"{left} of {len(edit.query_ids)} pairs without a target left out" if left and both else why
        place = (edit.query_set, edit.source_query_set, edit.name, len(both), edit.n_rejected)
        rows.append((*place, before, after, note or None))
    frame = pl.DataFrame(rows, schema=dict(EDIT_LENGTHS.columns), orient="row")
    return frame.sort("source_query_set", "edit", "query_set")
