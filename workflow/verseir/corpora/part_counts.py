"""What a benchmark says that it holds, beside what was read of it.

A file of counts is CSV with the columns ``what`` (``documents``, ``queries`` or ``judgements``), ``aspect``, ``scope``,
``split``, ``language`` and ``n``: documents by language, queries and judgements by aspect, scope and split. A
difference is a warning, since a benchmark grows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from verseir.faults import Fault, closest
from verseir.rows import as_found, read_delimited, whole_number

#: What is counted -> the columns that say of what.
COUNTED = {
    "documents": ("language",),
    "queries": ("aspect", "scope", "split"),
    "judgements": ("aspect", "scope", "split"),
}


class Count(NamedTuple):
    """How many of ``what`` there are at ``place``, the values of its columns in ``COUNTED``."""

    what: str
    place: tuple[str, ...]
    n: int


def read_counts(path: Path, label: str, faults: list[Fault]) -> list[Count]:
    """The counts in a file; what is wrong with it is added to ``faults``."""
    counts: dict[tuple[str, tuple[str, ...]], Count] = {}
    for row in read_delimited(path, label, faults):
        what, n = str(row.values.get("what", "")), whole_number(row.values.get("n"))
        if what not in COUNTED:
            faults.append(Fault(label, row.line, "what", f"{as_found(what)}", closest(what, COUNTED)))
            continue
        place = tuple(str(row.values.get(name) or "").strip() for name in COUNTED[what])
        if n is None or n < 0:
            problem = f"{as_found(row.values.get('n'))}, expected a whole number"
            faults.append(Fault(label, row.line, "n", problem, "how many there are"))
        elif "" in place:
            name = COUNTED[what][place.index("")]
            faults.append(Fault(label, row.line, name, "is empty", f"{what} are counted by {', '.join(COUNTED[what])}"))
        elif (what, place) in counts:
            faults.append(Fault(label, row.line, "", f"{what} of {' '.join(place)} are counted twice", "keep one"))
        else:
            counts[what, place] = Count(what, place, n)
    return list(counts.values())


def document_difference(counts: Iterable[Count], languages: Iterable[str | None], label: str) -> str:
    """In which languages, of any capitals, there are not as many poems as counted; empty where in none."""
    found = Counter(str(code).upper() for code in languages)
    wanted = {count.place[0].upper(): count.n for count in counts if count.what == "documents"}
    differing = [code for code in sorted({*found, *wanted}) if found[code] != wanted.get(code, 0)]
    if not wanted or not differing:
        return ""
    listed = ", ".join(f"{code} {found[code]} ({wanted.get(code, 0)})" for code in differing)
    return f"poems by language, and in brackets what {label} counts where it differs: {listed}"


def compare_setting(
    counts: Iterable[Count], place: tuple[str, str, str], n_queries: int, n_judgements: int, label: str
) -> tuple[bool, str] | None:
    """Whether there are as many queries and judgements of ``place`` (aspect, scope, split) as counted, in words too.

    None where they are not counted.
    """
    wanted = {count.what: count.n for count in counts if count.place == place}
    found = {"queries": n_queries, "judgements": n_judgements}
    if not wanted:
        return None
    if all(found[what] == n for what, n in wanted.items()):
        return True, f"as many as {label} counts"
    listed = " and ".join(f"{found[what]} {what} ({wanted[what]})" for what in found if what in wanted)
    return False, f"{listed}; in brackets what {label} counts"
