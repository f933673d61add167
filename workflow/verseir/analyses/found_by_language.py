"""In which languages, and with which words, does a system find the poems that answer a query?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.paired import notes, tidy
from verseir.analyses.shared_pairs import (
    ALL,
    LANGUAGE,
    NONE,
    SAME,
    SCRIPT,
    SHARES,
    Mask,
    PairSet,
    found_in,
    no_interval,
    stacked,
    values_of,
)
from verseir.stats.ratios import bootstrap_ratios
from verseir.tables import define

FOUND_BY_LANGUAGE = define(
    "found_by_language",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "attribute": pl.String,
        "value": pl.String,
        "wording": pl.String,
        "k": pl.Int64,
        "n_queries": pl.Int64,
        "n_relevant": pl.Int64,
        "n_found": pl.Int64,
        "found": pl.Float64,
        "found_low": pl.Float64,
        "found_high": pl.Float64,
        "corpus_share": pl.Float64,
        "relevant_share": pl.Float64,
        "n_shown": pl.Int64,
        "shown_share": pl.Float64,
        "preference": pl.Float64,
        "preference_low": pl.Float64,
        "preference_high": pl.Float64,
        "note": pl.String,
    },
    nullable="found found_low found_high corpus_share relevant_share n_shown shown_share preference preference_low"
    " preference_high note",
    unique="corpus query_set mode system attribute value wording",
)

#: The note of rows about relevant poems that share a word with their query, or none.
BY_WORDING = "no share: what is shown is not parted by wording"
#: The note of queries that are searched among the poems of their own value of an attribute.
WITHIN = "searched within"
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Pool:
    """The poems that the queries of a set are searched among.

    Attributes:
        poems: columns poem_id, language, script.
        groups: the group of each poem, or None where all poems are searched.
        group_of: query_id -> its group.
        within: the attribute that makes the groups.
    """

    poems: pl.DataFrame
    groups: list[str | None] | None = None
    group_of: Mapping[str, str | None] = field(default_factory=dict)
    within: str = ""


def found_by_language(
    sets: Iterable[tuple[PairSet, Mapping[str, pl.DataFrame]]],
    pool_of: Callable[[PairSet], Pool],
    worded: Callable[[PairSet], bool],
    cutoffs: Mapping[str, int],
    resamples: int,
    seed: int,
) -> pl.DataFrame:
    """The FOUND_BY_LANGUAGE table: relevant poems among the first k of each system, by the poem's language and script.

    ``found`` is the share of relevant pairs whose poem the system shows within the first k. ``shown_share`` is the
    value's share of all poems shown there, judged or not; ``corpus_share`` its share of the poems searched, and
    ``preference`` how many times more often it is shown than if poems were shown by chance (exposure against the share
    of a group, after Singh and Joachims, 2018). A preference for one language need not be a fault: its share of the
    relevant poems, ``relevant_share``, stands beside. Rows of some wording count relevant pairs that share a word with
    their query, or share none; for them nothing can be said of the corpus. Intervals are over queries, or clusters.

    Args:
        sets: the pairs of each query set in each corpus and mode, with the ``shared_pairs.first_places`` of each
            system.
        pool_of: the poems that a set is searched among.
        worded: whether shared words were measured on what the mode of a set indexes.
        cutoffs: query set -> k.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    rows: list[dict[str, Any]] = []
    for one, first in sets:
        pool, relevant = pool_of(one), one.relevant
        shares = (relevant["n_shared"] > 0).to_numpy()
        wordings = [(ALL, np.ones(len(shares), dtype=bool))]
        if worded(one) and shares.any() and not shares.all():
            wordings += [(SHARES, shares), (NONE, ~shares)]
        cells = [
            Cell(attribute, value, name, mask & kept)
            for attribute, value, mask in _values(relevant, pool)
            for name, kept in wordings
            if name == ALL or (mask & kept).any()
        ]
        chances = _chances(one, pool)
        for system, places in sorted(first.items()):
            place: dict[str, Any] = {
                "corpus": one.corpus,
                "query_set": one.query_set,
                "mode": one.mode,
                "system": system,
            }
            place |= {"k": cutoffs[one.query_set]}
            found, shown = found_in(relevant, places), _shown(one, pool, places)
            rows += [place | row for row in _rows(one, cells, found, shown, chances, pool.within, resamples, seed)]
    return tidy(pl.DataFrame(rows, schema=dict(FOUND_BY_LANGUAGE.columns))).sort(FOUND_BY_LANGUAGE.unique)


class Cell(NamedTuple):
    """A value of an attribute, a kind of wording, and which relevant pairs have both."""

    attribute: str
    value: str
    wording: str
    mask: Mask


def _values(relevant: pl.DataFrame, pool: Pool) -> list[tuple[str, str, Mask]]:
    """The values of relevant pairs, and the languages of the corpus that no relevant poem has."""
    found, own = values_of(relevant), relevant[LANGUAGE]
    languages = {*pool.poems[LANGUAGE], *own}
    if len(languages) > 1:
        found = [cell for cell in found if cell[0] != LANGUAGE]
        found += [(LANGUAGE, name, (own == name).to_numpy()) for name in sorted(languages)]
    return found


def _chances(one: PairSet, pool: Pool) -> Callable[[str, str], Values]:
    """The share of the poems searched that have a value, for each query, float64 [q]."""
    n, groups = len(one.query_ids), pool.groups if pool.groups is not None else [""] * len(pool.poems)
    poems = pool.poems.with_columns(group=pl.Series(groups, dtype=pl.String)).filter(pl.col("group").is_not_null())
    own = [pool.group_of.get(name) if pool.groups is not None else "" for name in one.query_ids]
    total = dict(poems.group_by("group").len().iter_rows())
    asked = _scripts(one)
    counts = {
        name: {(group, value): count for group, value, count in poems.group_by("group", name).len().iter_rows()}
        for name in (LANGUAGE, SCRIPT)
    }

    def share(name: str, values: Sequence[str | None]) -> Values:
        pairs = zip(own, values, strict=True)
        return np.array([counts[name].get(key, 0) / total[key[0]] if key[0] in total else 0.0 for key in pairs])

    same = np.array([part if script else 0.0 for part, script in zip(share(SCRIPT, asked), asked, strict=True)])

    def of(attribute: str, value: str) -> Values:
        if attribute == SCRIPT:
            return same if value == SAME else 1.0 - same
        return share(LANGUAGE, [value] * n) if attribute == LANGUAGE else np.ones(n)

    return of


def _shown(one: PairSet, pool: Pool, places: pl.DataFrame) -> Callable[[str, str], Values]:
    """How many of the poems shown have a value, for each query, float64 [q]."""
    asked = pl.DataFrame({"query_id": one.query_ids, "asked": _scripts(one)}, schema_overrides={"asked": pl.String})
    asked = asked.with_columns(query=pl.int_range(pl.len(), dtype=pl.Int64))
    seen = places.join(asked, on="query_id").join(pool.poems, on="poem_id", how="left")
    query, n = seen["query"].to_numpy(), len(one.query_ids)
    same = (seen[SCRIPT] == seen["asked"]).fill_null(False).to_numpy()

    def of(attribute: str, value: str) -> Values:
        kept = np.ones(len(seen), dtype=bool)
        if attribute == LANGUAGE:
            kept = (seen[LANGUAGE] == value).fill_null(False).to_numpy()
        elif attribute == SCRIPT:
            kept = same if value == SAME else ~same
        return np.bincount(query[kept], minlength=n).astype(np.float64)

    return of


def _scripts(one: PairSet) -> list[str | None]:
    """The script of each query."""
    scripts = dict(one.pairs.select("query_id", "query_script").unique().iter_rows())
    return [scripts.get(name) for name in one.query_ids]


def _rows(
    one: PairSet,
    cells: Sequence[Cell],
    found: Mask,
    shown: Callable[[str, str], Values],
    chances: Callable[[str, str], Values],
    within: str,
    resamples: int,
    seed: int,
) -> Iterator[dict[str, Any]]:
    """The rows of one system, whose cells share their resamples."""
    query, n = one.relevant["query"].to_numpy(), len(one.query_ids)
    total = shown(ALL, ALL)
    told = [cell for cell in cells if cell.wording == ALL and cell.attribute != ALL]
    hits, pairs = (
        stacked([one.sums(query[cell.mask], values[cell.mask]) for cell in cells], n)
        for values in (found.astype(np.float64), np.ones(len(query)))
    )
    seen = stacked([shown(cell.attribute, cell.value) for cell in told], n)
    chance = stacked([chances(cell.attribute, cell.value) for cell in told], n)
    # Where chance is the same for every query, what is shown is a proportion of it: one of 0 has an interval too.
    even = (np.ptp(chance, axis=0) == 0) & (chance[:1].sum(axis=0) > 0)
    proportions = np.concatenate([np.ones(len(cells), dtype=bool), even])
    both = np.column_stack([hits, seen]), np.column_stack([pairs, np.where(even, 1.0, chance) * total[:, None]])
    ratios = bootstrap_ratios(*both, one.clusters, resamples, seed, proportions)
    scale = np.concatenate([np.ones(len(cells)), np.where(even, 1 / np.where(even, chance[0], 1.0), 1.0)])
    places = {(cell.attribute, cell.value): j for j, cell in enumerate(told)}
    for i, cell in enumerate(cells):
        row: dict[str, Any] = cell._asdict() | {"n_found": int(hits[:, i].sum())}
        del row["mask"]
        size = int(cell.mask.sum())
        row |= {"n_queries": int((pairs[:, i] > 0).sum()), "n_relevant": size}
        row |= {"found": ratios.estimate[i], "found_low": ratios.low[i], "found_high": ratios.high[i]}
        why = no_interval(pairs[:, i], one.clusters) if size and math.isnan(ratios.low[i]) else ""
        why = why if size else "not estimable: no relevant poem"
        if cell.wording != ALL:
            why = notes(why, BY_WORDING) or ""
        elif cell.attribute == ALL:
            row |= {"n_shown": int(total.sum()), "shown_share": 1.0, "corpus_share": 1.0, "relevant_share": 1.0}
            row |= dict.fromkeys(
                ("preference", "preference_low", "preference_high"), 1.0
            )  # all of what is shown is shown
        else:
            j = places[cell.attribute, cell.value]
            k = len(cells) + j
            row |= {"n_shown": int(seen[:, j].sum()), "relevant_share": size / max(len(query), 1)}
            row |= {"corpus_share": float(chance[:, j].mean()), "shown_share": _share(seen[:, j].sum(), total.sum())}
            row |= {"preference": ratios.estimate[k] * scale[k], "preference_low": ratios.low[k] * scale[k]}
            row |= {"preference_high": ratios.high[k] * scale[k]}
            if math.isnan(row["preference"]):
                nothing = "is shown" if not total.any() else "of it is searched"
                why = notes(why, f"preference not estimable: nothing {nothing}") or ""
            elif math.isnan(ratios.low[k]):
                why = notes(why, "interval of the preference not estimable: it does not vary between queries") or ""
            if within:
                why = notes(why, f"{WITHIN} {within}: what is shown is not the system's choice") or ""
        yield row | {"note": why or None}


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else math.nan
