"""Groups of queries and of chunks: each query is searched among the chunks of its own group alone.

The candidates of a query are restricted before anything is scored: a group is searched as a corpus of its own, and a
run is what the groups' runs are together. So it equals, bit for bit, the runs over corpora that hold one group each:
scores, ranks, ties and the cut.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import polars as pl

from verseir.faults import UserError
from verseir.ranking import empty_run

#: The group of all chunks and queries, where there are no groups.
WHOLE = ""
#: How many queries a message names.
_NAMED = 5

#: The group of each chunk or query; None: it is in none. In place of the list None: there are no groups.
Groups = Sequence[str | None] | None


def places_by_group(groups: Groups, n: int) -> dict[str, list[int]]:
    """The places of the members of each group, groups in bytewise order; what is in no group is left out.

    Args:
        groups: the group of each of n things; None puts all in ``WHOLE``.

    Raises:
        UserError: ``groups`` has not n entries.
    """
    if groups is None:
        return {WHOLE: list(range(n))}
    if len(groups) != n:
        raise UserError(f"{len(groups)} groups for {n} texts: they must be as many")
    found: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        if group is not None:
            found.setdefault(group, []).append(place)
    return dict(sorted(found.items()))


def places_of_queries(query_ids: Sequence[str], groups: Groups, known: Collection[str]) -> dict[str, list[int]]:
    """The places of the queries of each group.

    Raises:
        UserError: a query is in no group, or in one that is not among ``known``.
    """
    found = places_by_group(groups, len(query_ids))
    grouped = set().union(*found.values())
    without = [query_ids[place] for place in range(len(query_ids)) if place not in grouped]
    strange = [
        f"{query_ids[place]} ({group})" for group, places in found.items() if group not in known for place in places
    ]
    for lost, problem in ((without, "belong to no group"), (strange, "belong to groups of which nothing is indexed")):
        if lost:
            named = ", ".join(lost[:_NAMED]) + (", ..." if len(lost) > _NAMED else "")
            raise UserError(f"{len(lost)} queries {problem}: {named}", hint="they could find nothing: leave them out")
    return {group: places for group, places in found.items() if places}


def together(runs: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The runs of queries of several groups as one RUN frame, sorted by query_id and rank."""
    return pl.concat([empty_run(), *runs]).sort("query_id", "rank")
