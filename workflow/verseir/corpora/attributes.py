"""Columns of a file that are kept as attributes, of poems or of queries: what a study may filter or split by."""

from __future__ import annotations

from collections.abc import Sequence

from verseir.faults import Fault, closest
from verseir.rows import Row, json_type


def absent_columns(rows: list[Row], names: Sequence[str], label: str) -> list[Fault]:
    """A fault for each of ``names`` that no row has."""
    present = {key for row in rows for key in row.values}
    return [
        Fault(label, 0, name, "no such column, though it is named as an attribute", closest(name, present))
        for name in names
        if rows and name not in present
    ]


def attributes_of(row: Row, names: Sequence[str], label: str, faults: list[Fault]) -> dict[str, str]:
    """The values of a row in the columns ``names``, as text; an empty or absent one is left out.

    Numbers are as they are written, true and false in words. Lists and objects are added to ``faults``.
    """
    found: dict[str, str] = {}
    for name in names:
        value = row.values.get(name)
        if isinstance(value, bool):
            found[name] = str(value).lower()
        elif isinstance(value, str | int | float):
            if text := str(value).strip():
                found[name] = text
        elif value is not None:
            problem = f"is {json_type(value)}, expected one value"
            faults.append(Fault(label, row.line, name, problem, "text, a number, true, false or null"))
    return found
