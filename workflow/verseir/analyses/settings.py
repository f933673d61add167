"""Which differences between ways to ask, or to index, are established? One system, the same queries, two settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import cluster_kind, clusters_of
from verseir.analyses.contrasts import COMPARED, corrected
from verseir.analyses.inputs import Indexed
from verseir.analyses.leaderboard import query_matrices
from verseir.analyses.paired import TAB, TESTED, Draws, compare_columns, notes, tidy
from verseir.measures import RELEVANT
from verseir.tables import define

SETTING_CONTRASTS = define(
    "setting_contrasts",
    {
        "family": pl.String,
        "setting": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "a": pl.String,
        "b": pl.String,
        "measure": pl.String,
        "n": pl.Int64,
        **TESTED,
        "p_t": pl.Float64,
        "note": pl.String,
    },
    nullable="query_set mode estimate ci_low ci_high p p_holm p_t note",
    unique="",
)
SPOKEN = {"query_set": "query set", "mode": "mode"}


class Place(NamedTuple):
    """Where queries were measured: one query set in one corpus and indexing mode."""

    corpus: str
    query_set: str
    mode: str


class _Paired(NamedTuple):
    """The queries that two places have in common, sorted: their clusters and what those are, and a note."""

    query_ids: list[str]
    clusters: NDArray[np.int64] | None
    kind: str
    note: str


def setting_contrasts(
    per_query: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    families: Sequence[Mapping[str, Any]],
    draws: Draws,
    indexed: Indexed,
) -> pl.DataFrame:
    """The SETTING_CONTRASTS table: every query set, or mode, against the baseline of its family.

    The same system answers the same queries, paired by their id, in the same corpus and mode, or query set. Queries of
    one of the two sets alone are left out, and counted in the note. Tests and intervals are those of
    ``paired.compare_columns``: clusters are flipped and drawn whole. Where the two have other relevant poems, the note
    says so: such a difference is one of answers too.

    Args:
        per_query: a PER_QUERY table.
        queries: the QUERIES of all its query sets.
        qrels: the QRELS of all its query sets, with a column ``query_set``.
        families: as declared in the study: ``family``, ``of`` (``query_sets`` or ``modes``; others are passed over),
            ``baseline`` (one of these), ``measures``, and optionally ``query_sets``, ``modes``, ``systems`` to select
            and ``per`` to split. What is selected of the compared ones need not hold the baseline.
        draws: of the intervals and tests.
        indexed: which judgements each mode has.
    """
    families = [family for family in families if COMPARED[family.get("of", "systems")] in SPOKEN]
    measures = sorted({measure for family in families for measure in family["measures"]})
    wanted = per_query.filter(pl.col("measure").is_in(measures))
    wide = {Place(*key): frame for key, frame in query_matrices(wanted)}
    paired: dict[tuple[Place, Place], _Paired] = {}
    rows: list[dict[str, Any]] = []
    for family in families:
        setting = COMPARED[family["of"]]
        for a, b in _compared(list(wide), family, setting):
            columns = _columns(wide[a], wide[b], family)
            if not columns:
                continue
            if (a, b) not in paired:
                ids = tuple(wide[place]["query_id"].to_list() for place in (a, b))
                paired[a, b] = _pair(a, b, ids, setting, queries, qrels, indexed)
            common = paired[a, b]
            first, second = (
                wide[place].filter(pl.col("query_id").is_in(common.query_ids)).select(columns).to_numpy()
                for place in (a, b)
            )
            outcomes = compare_columns(first, second, common.clusters, draws, kind=common.kind)
            named = {"family": family["family"], "setting": setting} | a._asdict() | {setting: None}
            named |= {"a": getattr(a, setting), "b": getattr(b, setting), "n": len(common.query_ids)}
            for column, outcome in zip(columns, outcomes, strict=True):
                system, measure = column.split(TAB)
                told = notes(outcome.note, common.note) if common.query_ids else common.note
                rows.append(named | {"system": system, "measure": measure} | outcome._asdict() | {"note": told})
    given = {name: kind for name, kind in SETTING_CONTRASTS.columns.items() if name not in ("p_holm", "family_size")}
    table = corrected(tidy(pl.DataFrame(rows, schema=given)), families, SETTING_CONTRASTS)
    return table.sort("family", "setting", *Place._fields, "system", "a", "b", "measure")


def _compared(places: Sequence[Place], family: Mapping[str, Any], setting: str) -> Iterator[tuple[Place, Place]]:
    """The places of a family that differ from one of its baseline in ``setting`` alone, each with that one."""
    selects = {column: family[key] for key, column in COMPARED.items() if column in SPOKEN and key in family}
    for b in places:
        if getattr(b, setting) != family["baseline"]:
            continue
        for a in places:
            alike = a != b and a._replace(**{setting: family["baseline"]}) == b
            if alike and all(getattr(a, column) in chosen for column, chosen in selects.items()):
                yield a, b


def _columns(a: pl.DataFrame, b: pl.DataFrame, family: Mapping[str, Any]) -> list[str]:
    """The columns, system and measure, of a family that both frames have, sorted."""
    found = []
    for column in sorted(set(a.columns[1:]) & set(b.columns[1:])):
        system, measure = column.split(TAB)
        if measure in family["measures"] and system in family.get("systems", [system]):
            found.append(column)
    return found


def _pair(
    a: Place,
    b: Place,
    query_ids: Sequence[Sequence[str]],
    setting: str,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    indexed: Indexed,
) -> _Paired:
    """What two places, with these measured queries each, have in common."""
    shared = sorted(set(query_ids[0]) & set(query_ids[1]))
    spoken = SPOKEN[setting]
    if not shared:
        return _Paired([], None, "poem", f"not estimable: the two {spoken}s share no query")
    judged = [qrels.filter(pl.col("query_set") == place.query_set) for place in (a, b)]
    asked = [queries.filter(pl.col("query_set") == place.query_set) for place in (a, b)]
    clusters = _together(*(clusters_of(shared, *of) for of in zip(asked, judged, strict=True)))
    kind = "cluster" if "cluster" in {cluster_kind(part) for part in asked} else "poem"
    relevant = [
        indexed.qrels(place.corpus, place.mode, place.query_set, part)
        .filter(pl.col("grade") >= RELEVANT, pl.col("query_id").is_in(shared))
        .select("query_id", "poem_id")
        .sort("query_id", "poem_id")
        for place, part in zip((a, b), judged, strict=True)
    ]
    other = "" if relevant[0].equals(relevant[1]) else f"the two {spoken}s have other relevant documents"
    alone = [(len(ids) - len(shared), getattr(place, setting)) for ids, place in zip(query_ids, (a, b), strict=True)]
    left = " and ".join(f"{n} {'query' if n == 1 else 'queries'} of {name}" for n, name in alone if n)
    left_out = f"{left} left out: not in the other {spoken}" if left else ""
    return _Paired(shared, clusters, kind, notes(left_out, other) or "")


def _together(first: NDArray[np.int64] | None, second: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    """The finest clusters int64 [n] that split no cluster of two clusterings of the same queries.

    None says that each query is its own, in either and in the result.
    """
    if first is None or second is None or np.array_equal(first, second):
        return second if first is None else first
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    codes = [np.unique(clusters, return_inverse=True)[1] for clusters in (first, second)]
    codes[1] = codes[1] + codes[0].max() + 1
    size = int(codes[1].max()) + 1
    links = coo_array((np.ones(len(first)), (codes[0], codes[1])), shape=(size, size))
    return connected_components(links, directed=False)[1][codes[0]].astype(np.int64)
