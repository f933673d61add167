"""Columns of a file that are kept as attributes, of poems or of queries: what a study may filter or split by."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from verseir.faults import Fault, closest
from verseir.rows import Row, json_type

#: Tabs and ends of lines that ``rows.FORBIDDEN`` lets through: a value stands in one line, and in one cell of a table.
_BREAKS = re.compile("[\t\x85\u2028\u2029]")
#: Signs that are written in more than one way.
_SIGNS = str.maketrans("\u2018\u2019\u02bc\u201c\u201d\u2010\u2011\u2013\u2014", "'''\"\"----")


def first_break(text: str) -> str | None:
    """The code point (``U+2028``) of the first tab or line separator in ``text``, or None."""
    found = _BREAKS.search(text)
    return f"U+{ord(found[0]):04X}" if found else None


def alike(text: str) -> str:
    """What two spellings of one name share: ``text`` without capitals, needless blanks and invisible characters.

    Blanks at the ends and doubled ones are needless. Signs of Unicode that look alike become one. Idempotent.
    """
    folded = unicodedata.normalize("NFKC", text.translate(_SIGNS)).casefold()
    seen = "".join(char for char in folded if unicodedata.category(char) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", seen).split())


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
