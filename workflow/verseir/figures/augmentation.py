"""What other indexing modes do against the base mode, by register and system, with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import polars as pl

from verseir.analyses.augmentation import ALL
from verseir.figures.panels import (
    Panel,
    Strip,
    counted,
    dot_of,
    draw_strips,
    first_note,
    look_of,
    main_rows,
    nothing_to_plot,
)
from verseir.orders import mode_order, register_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_augmentation(augmentation: pl.DataFrame, measures: Mapping[str, str], systems: Iterable[str]) -> Figure:
    """Draw an AUGMENTATION table: a strip for each corpus, query set and mode, a panel for each register.

    Args:
        augmentation: an AUGMENTATION table.
        measures: query set -> its main measure.
        systems: all systems of the study, so that each looks the same in all figures.
    """
    if augmentation.is_empty():
        return nothing_to_plot("no system searched the base mode and another")
    rows = main_rows(augmentation, measures)
    if rows.is_empty():
        return nothing_to_plot("the query sets are not measured by their main measures")
    strips: list[Strip] = []
    for key in sorted(set(rows.select("corpus", "query_set", "measure", "base_mode").iter_rows())):
        strips += _strips(key, rows)
    shown = sorted(rows["system"].unique())
    return draw_strips(strips, shown, look_of(systems, rows, "system"), "change on the same queries, 95% interval")


def _strips(key: tuple[str, ...], rows: pl.DataFrame) -> Iterator[Strip]:
    """A strip for each mode with a panel for each register; one with a panel for each mode where no register is told
    apart."""
    corpus, query_set, measure, base = key
    here = [pl.col("corpus") == corpus, pl.col("query_set") == query_set, pl.col("base_mode") == base]
    part = rows.filter(*here).sort("system")
    registers = sorted(set(part["register"]), key=lambda name: (name != ALL, register_order(name)))
    modes = sorted(set(part["mode"]), key=mode_order)
    cells = dict(part.group_by("mode", "register", maintain_order=True))
    title = f"{corpus}: {query_set}, {measure}"
    if registers == [ALL]:
        yield Strip(f"{title}, against {base}", [_panel(mode, cells[mode, ALL]) for mode in modes])
        return
    names = {name: "all queries" if name == ALL else name for name in registers}
    for mode in modes:
        panels = [_panel(names[name], cells[mode, name]) for name in registers if (mode, name) in cells]
        yield Strip(f"{title}, {mode} against {base}", panels)


def _panel(name: str, rows: pl.DataFrame) -> Panel:
    dots = {row["system"]: dot_of(row) for row in rows.iter_rows(named=True)}
    return Panel(counted(name, rows["n"][0]), dots, first_note(rows))
