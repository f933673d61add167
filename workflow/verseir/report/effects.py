"""What a query's register does to the order of systems, and what indexed explanations do in each register."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from verseir.formats import DECIMALS, known
from verseir.kept import Keeps, same_poems
from verseir.orders import mode_order, register_order


@dataclass(frozen=True)
class Place:
    """One register of one query set of a corpus; ``synthetic`` where its queries are probes drawn from the poems."""

    corpus: str
    query_set: str
    register: str
    synthetic: bool = False

    @property
    def name(self) -> str:
        """``quoting``, or ``synthetic quoting``."""
        return f"{'synthetic ' if self.synthetic else ''}{self.register}"


Means = Mapping[str, Mapping[str, Any]]
Cells = Mapping[tuple[Place, str], Means]


def register_cells(
    registers: pl.DataFrame, measures: Mapping[str, str], synthetic: Collection[str] = ()
) -> dict[tuple[Place, str], dict[str, dict]]:
    """``(place, mode) -> system -> row`` of a REGISTERS table, for the main measure of each query set.

    ``synthetic`` names the query sets that are probes. Places are ordered by corpus, then register from the most
    wording to none, then query set.
    """
    cells: dict[tuple[Place, str], dict[str, dict]] = {}
    for row in registers.sort("corpus", "query_set", "mode", "system").iter_rows(named=True):
        if row["measure"] == measures.get(row["query_set"]):
            place = Place(row["corpus"], row["query_set"], row["register"], row["query_set"] in synthetic)
            cells.setdefault((place, row["mode"]), {})[row["system"]] = row
    return dict(sorted(cells.items(), key=lambda item: (*place_order(item[0][0]), mode_order(item[0][1]))))


def place_order(place: Place) -> tuple:
    return (place.corpus, *register_order(place.register), place.query_set)


def places_of(cells: Cells, corpus: str) -> list[Place]:
    """The places of one corpus, in order."""
    return sorted({place for place, _ in cells if place.corpus == corpus}, key=place_order)


def highest(means: Means) -> list[str]:
    """All systems with the highest mean, sorted."""
    values = {name: round(row["mean"], DECIMALS) for name, row in means.items()}
    return sorted(name for name, value in values.items() if value == max(values.values()))


def rank(means: Means, system: str, among: Sequence[str]) -> tuple[int, int, bool]:
    """The rank of ``system`` among those of ``among`` that have a mean, how many these are, whether it is shared."""
    values = {name: round(means[name]["mean"], DECIMALS) for name in among if name in means}
    own = values[system]
    return (
        1 + sum(value > own for value in values.values()),
        len(values),
        sum(value == own for value in values.values()) > 1,
    )


@dataclass(frozen=True)
class Scale:
    """The two ends of the wording scale in one corpus: queries that carry the poem's wording, and abstract ones."""

    wording: Place
    abstract: Place


def scales(cells: Cells, corpus: str) -> list[Scale]:
    """The scales that can be read in a corpus: within each query set where it can be, else across query sets."""
    places = places_of(cells, corpus)
    within = []
    for query_set in sorted({place.query_set for place in places}):
        within += _scale([place for place in places if place.query_set == query_set])
    return within or _scale(places)


def _scale(places: Sequence[Place]) -> list[Scale]:
    first = {place.register: place for place in reversed(places)}
    wording = first.get("quoting") or first.get("half-remembered")
    return [Scale(wording, first["abstract"])] if wording and "abstract" in first else []


def overlap(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool | None:
    """Whether the intervals of two means overlap; None where one is not estimable."""
    ends = (one["ci_low"], one["ci_high"], other["ci_low"], other["ci_high"])
    return one["ci_low"] <= other["ci_high"] and other["ci_low"] <= one["ci_high"] if known(*ends) else None


@dataclass(frozen=True)
class Rivalry:
    """A lexical system against the best dense encoder of one register. ``lead`` is lexical minus dense."""

    place: Place
    lexical: Mapping[str, Any]
    dense: Mapping[str, Any]

    @property
    def lead(self) -> float:
        return round(self.lexical["mean"] - self.dense["mean"], DECIMALS)

    @property
    def apart(self) -> bool:
        """The intervals of the two means do not overlap."""
        return overlap(self.lexical, self.dense) is False


def rivalry(cells: Cells, place: Place, mode: str, lexical: str, dense: Sequence[str]) -> Rivalry | None:
    """None where the register lacks the lexical system or every dense one."""
    means = cells.get((place, mode), {})
    rows = [means[name] for name in sorted(dense) if name in means]
    if lexical not in means or not rows:
        return None
    return Rivalry(place, means[lexical], max(rows, key=lambda row: row["mean"]))


APPEARS, IN_PART, ABSENT = "appears", "appears in part", "does not appear"
#: The means show it, their intervals do not: it may be chance.
MEANS_ONLY = "appears in the means only"


def wording_verdict(wording: Rivalry, abstract: Rivalry) -> str:
    """Whether a lexical system leads while wording is remembered and falls behind where it is not.

    It appears where the intervals are apart at both ends, otherwise in the means only. In part: the system loses ground
    from the one to the other, but does not go from ahead to behind.
    """
    if wording.lead >= 0 > abstract.lead:
        return APPEARS if wording.apart and abstract.apart else MEANS_ONLY
    return IN_PART if wording.lead > abstract.lead else ABSENT


@dataclass(frozen=True)
class Change:
    """What indexing explanations did to one system in one register. ``change`` is the new mean minus the old."""

    system: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def change(self) -> float:
        return round(self.after["mean"] - self.before["mean"], DECIMALS)

    @property
    def clear(self) -> bool:
        """The intervals of the two means do not overlap: on the same queries that asks for more than a test would."""
        return overlap(self.before, self.after) is False


def changes(cells: Cells, place: Place, verses: str, explained: str) -> list[Change]:
    """The change of each system that was searched in both modes, by system."""
    before, after = cells.get((place, verses), {}), cells.get((place, explained), {})
    return [Change(system, before[system], after[system]) for system in sorted(before.keys() & after.keys())]


def explanation_verdict(wording: Sequence[Change], abstract: Sequence[Change]) -> tuple[str, list[str], list[str]]:
    """Whether explanations lower queries that carry wording and raise abstract ones.

    Returns:
        The verdict, the systems whose means show it, and those for which both changes are clear. It appears where these
        are all systems, in part where they are some, in the means only where they are none.
    """
    first = {change.system: change for change in wording}
    both = [(first[change.system], change) for change in abstract if change.system in first]
    shown = [(one, other) for one, other in both if one.change < 0 < other.change]
    clear = [one.system for one, other in shown if one.clear and other.clear]
    some = APPEARS if len(clear) == len(both) else IN_PART if clear else MEANS_ONLY
    return some if shown else ABSENT, [one.system for one, _ in shown], clear


def verse_mode(modes: Mapping[str, Sequence[str]], keep: Keeps) -> str | None:
    """The mode that indexes the verses and nothing else: of all poems, if there is one."""
    found = [name for name in modes if list(modes[name]) == ["verse"]]
    return min(found, key=lambda name: (name in keep, name), default=None)


def explained_modes(modes: Mapping[str, Sequence[str]], keep: Keeps, verses: str | None = None) -> list[str]:
    """The modes that index explanations, those without verses first: of the poems of ``verses`` if it is given."""
    named = [name for name in sorted(modes) if any(field.startswith("explanation:") for field in modes[name])]
    named = [name for name in named if verses is None or same_poems(keep, name, verses)]
    return sorted(named, key=lambda name: ("verse" in modes[name], name))
