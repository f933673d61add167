"""The orders in which everything shows registers, indexing modes and edits."""

from __future__ import annotations

#: From the most of the poem's wording to none of it.
REGISTERS = ("quoting", "half-remembered", "abstract", "thematic")


def register_order(register: str) -> tuple[int, str]:
    """Sort key: the named registers first, in their order, then any other by name."""
    return (REGISTERS.index(register) if register in REGISTERS else len(REGISTERS), register)


def mode_order(mode: str) -> tuple[int, bool, str]:
    """Sort key: single fields before compositions (``a+b``), the verses before other fields, then by name."""
    return (mode.count("+"), mode != "verse", mode)


#: The verses that a half-verse is taken from, in the order of the poem.
PLACES = ("opening", "middle", "final")


def edit_order(edit: str) -> tuple[str, int, str]:
    """Sort key: edits of one kind together, in the order of the verses that they name, then by name."""
    kind, _, place = edit.partition("-")
    return (kind, PLACES.index(place) if place in PLACES else len(PLACES), edit)
