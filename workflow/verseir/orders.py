"""The orders in which everything shows registers and indexing modes."""

from __future__ import annotations

#: From the most of the poem's wording to none of it.
REGISTERS = ("quoting", "half-remembered", "abstract", "thematic")


def register_order(register: str) -> tuple[int, str]:
    """Sort key: the named registers first, in their order, then any other by name."""
    return (REGISTERS.index(register) if register in REGISTERS else len(REGISTERS), register)


def mode_order(mode: str) -> tuple[int, bool, str]:
    """Sort key: single fields before compositions (``a+b``), the verses before other fields, then by name."""
    return (mode.count("+"), mode != "verse", mode)
