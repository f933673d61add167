"""One part of the report about what results depend on: sentences, a figure, tables, and where they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from verseir.formats import NOT_ESTIMABLE, interval, known, number, p_value, percent, signed
from verseir.orders import mode_order, register_order
from verseir.report.sections import Cell


class Column(NamedTuple):
    """A column of a grid: its heading, whether it holds numbers, and how a row of the table becomes its cell."""

    heading: str
    cell: Callable[[Mapping[str, Any]], Cell]
    numeric: bool = True
    small: str = ""


class Grid(NamedTuple):
    """A table of the page."""

    caption: str
    columns: list[Column]
    rows: list[list[Cell]]


class Panel(NamedTuple):
    """``figure`` names a figure file without suffix, ``tables`` the CSV files that all numbers are from.

    The head of the page repeats ``brief``.
    """

    id: str
    title: str
    lede: str
    sentences: list[str]
    grids: list[Grid]
    tables: list[str]
    figure: str | None = None
    legend: str = ""
    brief: Sequence[str] = ()


def grid(frame: pl.DataFrame | Iterable[Mapping[str, Any]], caption: str, columns: Sequence[Column | None]) -> Grid:
    """The rows of ``frame`` as they stand, in these columns; a column that is None is left out."""
    rows = frame.to_dicts() if isinstance(frame, pl.DataFrame) else list(frame)
    kept = [column for column in columns if column is not None]
    return Grid(caption, kept, [[column.cell(row) for column in kept] for row in rows])


def text(key: str, heading: str, absent: str = "") -> Column:
    """The text in ``key``."""
    return Column(heading, lambda row: Cell(str(row[key]) if row[key] is not None else absent), numeric=False)


def whole(key: str, heading: str, small: str = "") -> Column:
    """The count in ``key``."""
    return Column(
        heading, lambda row: Cell(f"{row[key]:,}", row[key]) if row[key] is not None else Cell("none"), True, small
    )


def value(key: str, heading: str, low: str = "", high: str = "", sign: bool = False, small: str = "") -> Column:
    """The number in ``key``, with the interval between ``low`` and ``high`` below it."""
    form = signed if sign else number

    def cell(row: Mapping[str, Any]) -> Cell:
        below = interval(row[low], row[high], sign=sign) if low and known(row[key]) else ""
        return Cell(form(row[key]), row[key], below)

    return Column(heading, cell, True, small)


def share(key: str, heading: str, low: str = "", high: str = "") -> Column:
    """The share in ``key``, in percent."""

    def cell(row: Mapping[str, Any]) -> Cell:
        ends = f"{percent(row[low])} to {percent(row[high])}" if low and known(row[low], row[high]) else ""
        return Cell(percent(row[key]), row[key], ends)

    return Column(heading, cell)


def p(key: str = "p_holm", heading: str = "Holm p") -> Column:
    """The p value in ``key``."""
    return Column(heading, lambda row: Cell(p_value(row[key]) if row[key] is not None else NOT_ESTIMABLE, row[key]))


def notes(frame: pl.DataFrame) -> Column | None:
    """The column of remarks, where there is any."""
    return text("note", "Note") if "note" in frame.columns and frame["note"].is_not_null().any() else None


def places(frame: pl.DataFrame, *keys: str) -> list[Column | None]:
    """Columns for those of ``keys`` in which rows differ."""
    return [text(key, key.replace("_", " ").capitalize()) if frame[key].n_unique() > 1 else None for key in keys]


def ordered(frame: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Rows by ``keys``: modes and registers in their own orders, other columns by name, null first."""
    orders: dict[str, Callable[[Any], Any]] = {"mode": mode_order, "register": register_order}

    def rank(row: Mapping[str, Any]) -> tuple:
        return tuple(_ranked(row[key], orders.get(key)) for key in keys)

    return pl.DataFrame(sorted(frame.to_dicts(), key=rank), schema=frame.schema)


def _ranked(value: Any, order: Callable[[Any], Any] | None) -> tuple[bool, Any]:
    if value is None:
        return False, ""
    return True, order(value) if order else value


def why_not(rows: pl.DataFrame) -> str:
    """``not estimable: ...``, by the note that most of ``rows`` have."""
    said = rows["note"].drop_nulls().value_counts().sort("count", "note", descending=[True, False])
    reason = said["note"][0].partition("; ")[0].rpartition(f"{NOT_ESTIMABLE}: ")[2] if len(said) else ""
    return f"{NOT_ESTIMABLE}: {reason}" if reason else NOT_ESTIMABLE


def empty(id: str, title: str, why: str, tables: list[str]) -> Panel:
    """A panel that has nothing to show, and says why."""
    return Panel(id, title, "", [f"Not estimable: {why}."], [], tables)
