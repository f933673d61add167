"""What is shown of a GRADED_SETTINGS table: settings and means over them side by side, and the values of attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from verseir.analyses.graded_settings import read_setting, setting_text
from verseir.formats import listing

Row = Mapping[str, Any]
#: Where means are shown together: of other measures, splits, modes or corpora are other tables.
PLACE = ("corpus", "mode", "split", "measure")
#: Means that are nearer to each other than this differ by the order of a sum and no more.
SAME = 1e-12


class Shown(NamedTuple):
    """One setting, or mean over settings or values: what it is called, and its row by system.

    ``over`` names what it is a mean over; it is empty for one set, or one value in it.
    """

    label: str
    over: str
    rows: Mapping[str, Row]

    @property
    def highest(self) -> list[str]:
        """The systems with the highest mean, sorted; none where all are 0."""
        best = max(row["mean"] for row in self.rows.values())
        return sorted(name for name, row in self.rows.items() if best > 0 and abs(row["mean"] - best) < SAME)

    @property
    def n_queries(self) -> int:
        """The most queries that it has with any system."""
        return max(row["n_queries"] for row in self.rows.values())


class Values(NamedTuple):
    """The values of an attribute; ``common`` is what is to be said of all their means, such as what they are over."""

    common: str
    shown: list[Shown]


class View(NamedTuple):
    """The means of one place.

    Attributes:
        place: the values of ``PLACE``.
        systems: sorted.
        settings: one for each query set, then means over settings, those over most of them last.
        values: name of an attribute -> a mean for each of its values over as many settings as have it, then those over
            its values.
    """

    place: tuple[str | None, ...]
    systems: list[str]
    settings: list[Shown]
    values: dict[str, Values]

    @property
    def overall(self) -> Shown | None:
        """The mean over the most settings, where there is one."""
        last = self.settings[-1]
        return last if last.over else None


def views(table: pl.DataFrame, measures: Sequence[str]) -> Iterator[View]:
    """A view for each place of a GRADED_SETTINGS table, by the order of ``measures``; other measures are left out."""
    rank = {measure: place for place, measure in enumerate(measures)}
    parts = table.filter(pl.col("measure").is_in(list(measures))).partition_by(PLACE, as_dict=True)
    for place in sorted(parts, key=lambda key: (key[0], key[1], key[2] or "", rank[str(key[3])])):
        yield _view(place, parts[place].to_dicts())


def _view(place: tuple[Any, ...], rows: Sequence[Row]) -> View:
    facets = {row["setting"]: read_setting(row["setting"]) for row in rows}
    own = [row for row in rows if row["query_set"] is not None and row["over"] is None]
    # A set says least of what all its queries have in common.
    base: dict[str, dict[str, str]] = {}
    for row in sorted(own, key=lambda row: len(facets[row["setting"]])):
        base.setdefault(row["query_set"], facets[row["setting"]])
    common = {name for given in base.values() for name in given}
    attributes = sorted({name for row in own for name in facets[row["setting"]]} - common)
    whole = [row for row in own if facets[row["setting"]] == base[row["query_set"]]]
    over = [row for row in rows if row["query_set"] is None and _names(row) <= common]
    over = [row for row in over if set(facets[row["setting"]]) <= common]
    settings = _shown(whole, facets, named=len({row["setting"] for row in whole}) < len(base))
    settings += sorted(_shown(over, facets), key=lambda shown: (shown.over.count(","), shown.over))
    values = {name: _values(name, rows, facets) for name in attributes}
    return View(place, sorted({row["system"] for row in rows}), settings, values)


def _names(row: Row) -> set[str]:
    return set(row["over"].split(", ")) if row["over"] else set()


def _values(name: str, rows: Sequence[Row], facets: Mapping[str, Mapping[str, str]]) -> Values:
    """Means of the values of an attribute over the most settings that there are, then means over its values."""
    chosen: list[Row] = []
    for some in (
        [row for row in rows if name in facets[row["setting"]]],
        [row for row in rows if name in _names(row)],
    ):
        most = max((len(_names(row)) for row in some if row["query_set"] is None), default=-1)
        alike = [row for row in some if row["query_set"] is None and len(_names(row)) == most]
        # A value that one set alone has is its own mean over sets.
        seen = {facets[row["setting"]].get(name) for row in alike}
        chosen += alike
        chosen += [row for row in some if row["query_set"] is not None and facets[row["setting"]].get(name) not in seen]
    others = {
        row["setting"]: {key: value for key, value in facets[row["setting"]].items() if key != name} for row in chosen
    }
    rest = {(setting_text(others[row["setting"]]), ", ".join(sorted(_names(row) - {name}))) for row in chosen}
    several = len({row["query_set"] for row in chosen}) > 1
    if len(rest) > 1 or several:
        return Values("", _shown(chosen, facets, named=several, first=name))
    given = {setting: {name: facets[setting][name]} if name in facets[setting] else {} for setting in others}
    (_, over), common = next(iter(rest)), next(iter(others.values()))
    words = [*(common[key] for key in sorted(common)), *([f"mean over {_plural(over.split(', '))}"] if over else [])]
    shown = _shown([{**row, "over": name if name in _names(row) else None} for row in chosen], given)
    return Values(", ".join(words), sorted(shown, key=lambda one: one.over))


def _plural(names: Sequence[str]) -> str:
    """``aspects and scopes``."""
    said = [f"{name[:-1]}ies" if name.endswith("y") else f"{name}s" for name in sorted(names)]
    return listing([name.replace("_", " ") for name in said])


def _shown(
    rows: Sequence[Row], facets: Mapping[str, Mapping[str, str]], named: bool = False, first: str = ""
) -> list[Shown]:
    """Rows that differ in their system alone, together; sorted by what they are called."""
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        given = facets[row["setting"]]
        words = [given[name] for name in sorted(given, key=lambda name: (name != first, name))]
        if named and row["query_set"]:
            words.append(row["query_set"])
        if row["over"]:
            words.append(f"mean over {_plural(sorted(_names(row)))}")
        label = ", ".join(words) or row["query_set"] or "all"
        found.setdefault((label, row["over"] or ""), {})[row["system"]] = row
    return [Shown(label, over, found[label, over]) for label, over in sorted(found)]
