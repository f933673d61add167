"""What the cells of printed tables have in common: values with intervals, the best in a column, rows in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from verseir.formats import DECIMALS, MINUS, interval, known, number, p_value, percent, signed
from verseir.orders import edit_order, mode_order
from verseir.typeset.sheet import NUMBERS, WORDS, Cell, Column, Sheet

#: A value or an interval that is not there.
ABSENT = "n.e."
#: Not separated from what it is compared with, at this level; and not compared with it.
LEVEL, UNTESTED = "†", "‡"
ALPHA = 0.05

Row = Mapping[str, Any]


def columns(words: str, numbers: Iterable[str]) -> list[Column]:
    """Columns of words, their headings parted by commas, then columns of numbers."""
    return [Column(name.strip(), WORDS) for name in words.split(",")] + [Column(name, NUMBERS) for name in numbers]


def value(
    row: Row | None, key: str, low: str = "ci_low", high: str = "ci_high", sign: bool = False, digits: int = 3
) -> str:
    """``0.746 [0.701, 0.789]``."""
    if row is None or not known(row[key]):
        return ABSENT
    ends = interval(row[low], row[high], digits, sign) if known(row[low], row[high]) else f"[{ABSENT}]"
    return f"{(signed if sign else number)(row[key], digits)} {ends}"


def plain(row: Row, key: str, sign: bool = False) -> str:
    """``0.746``."""
    return (signed if sign else number)(row[key]) if known(row[key]) else ABSENT


def share(row: Row | None, key: str = "mean", low: str = "ci_low", high: str = "ci_high") -> str:
    """``32.8 [27.0, 38.9]``, in percent."""
    if row is None or not known(row[key]):
        return ABSENT
    ends = row[low], row[high]
    mean, *said = (
        {"0": "0.0"}.get(text, text) for text in (percent(part).removesuffix("%") for part in (row[key], *ends))
    )
    return f"{mean} [{', '.join(said) if known(*ends) else ABSENT}]"


def p_of(row: Row | None) -> str:
    """Holm's p, or that there is none."""
    return p_value(row["p_holm"]) if row is not None and known(row["p_holm"]) else ABSENT


def versus(a: str, b: str) -> str:
    """``a − b``."""
    return f"{a} {MINUS} {b}"


def cells(*texts: str) -> list[Cell]:
    """Texts as cells."""
    return [Cell(text) for text in texts]


def with_best(column: Sequence[tuple[str, float | None]]) -> list[Cell]:
    """Printed values with what they are compared by: the highest is the best, and any that equals it."""
    values = [round(number, DECIMALS) for _, number in column if number is not None]
    highest = max(values, default=None) if len(values) > 1 else None
    return [Cell(text, v is not None and highest is not None and round(v, DECIMALS) == highest) for text, v in column]


def sheet(
    name: str,
    caption: str,
    heads: list[Column],
    rows: list[list[Cell]],
    empty: str,
    notes: Iterable[str] = (),
    parts: int = 0,
    blocks: int = 0,
) -> Sheet:
    """A sheet; without rows it says that it is not estimable since ``empty``."""
    if not rows:
        return Sheet(name, caption, heads, [], [f"not estimable: {empty}"], parts, blocks)
    absent = any(ABSENT in cell.text for row in rows for cell in row)
    said = [note for note in notes if note]
    return Sheet(name, caption, heads, rows, [*([f"{ABSENT}: not estimable"] if absent else []), *said], parts, blocks)


def reasons(rows: Iterable[Row]) -> str:
    """Why values of ``rows`` are not estimable: the notes that say so, each once."""
    parts = {part for row in rows for part in (row["note"] or "").split("; ") if "not estimable" in part}
    return "; ".join(sorted(parts))


def places(rows: pl.DataFrame, *names: str) -> list[tuple]:
    """The distinct values of columns, sorted; modes in their own order."""
    orders = {"mode": mode_order, "edit": edit_order}
    keys = set(rows.select(*names).iter_rows())
    return sorted(keys, key=lambda key: [orders.get(name, lambda v: v)(v) for name, v in zip(names, key, strict=True)])
