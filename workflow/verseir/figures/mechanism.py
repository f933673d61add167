"""What success follows: the rank correlation with shared words against that with nearness of meaning, by system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from verseir.figures.panels import (
    WIDTH,
    Dot,
    balanced,
    dot_of,
    first_note,
    heading,
    legend,
    limits,
    look_of,
    main_rows,
    mark,
    new_figure,
    nothing_to_plot,
    wrapped,
)
from verseir.figures.style import SETTINGS
from verseir.orders import mode_order
from verseir.palette import INK, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Panels side by side.
COLUMNS = 3


class Point(NamedTuple):
    """One system: its correlations with containment and with proximity."""

    system: str
    lexical: Dot
    embedding: Dot
    reference: bool


class Panel(NamedTuple):
    """The values in one mode, or their changes to it; ``note`` says why there is no point."""

    title: str
    points: list[Point]
    note: str


class Strip(NamedTuple):
    """The panels of one query set in one corpus."""

    title: str
    panels: list[Panel]


def plot_mechanism(
    mechanism: pl.DataFrame, base_mode: str, measures: Mapping[str, str], systems: Iterable[str]
) -> Figure:
    """Draw a MECHANISM table: for each corpus and query set a panel of the values in the base mode, and one of the
    changes to each other mode.

    Above the diagonal nearness of meaning predicts better, below it shared words. The mark of a reference encoder is
    hollow: it is not independent of its own proximities.

    Args:
        mechanism: a MECHANISM table.
        base_mode: the mode whose values are shown.
        measures: query set -> its main measure.
        systems: all systems of the study, so that each looks the same in all figures.
    """
    if mechanism.is_empty():
        return nothing_to_plot("no query with a target was searched")
    shown = pl.col("against_mode").is_not_null() | (pl.col("mode") == base_mode)
    rows = main_rows(mechanism.filter(shown), measures)
    if rows.is_empty():
        return nothing_to_plot(f"nothing was measured by the main measures in the mode {base_mode}")
    places = sorted(
        set(rows.select("corpus", "query_set", "measure", "mode", "against_mode").iter_rows()),
        key=lambda key: (*key[:3], key[4] is not None, mode_order(key[3]), key[4] or ""),
    )
    strips = [
        Strip(f"{corpus}: {query_set}, {measure}", [_panel(key, rows) for key in places if key[:3] == strip])
        for strip in sorted({key[:3] for key in places})
        for corpus, query_set, measure in [strip]
    ]
    panels = [panel for strip in strips for panel in strip.panels]
    if not any(panel.points for panel in panels):
        return nothing_to_plot(next((panel.note for panel in panels if panel.note), "not estimable"))
    return _draw(strips, look_of(systems, rows, "system"))


def _panel(key: tuple[str, str, str, str, str | None], rows: pl.DataFrame) -> Panel:
    mode, against = key[3:]
    names = ("corpus", "query_set", "measure", "mode")
    here = [pl.col(name) == value for name, value in zip(names, key, strict=False)]
    part = rows.filter(*here, pl.col("against_mode").eq_missing(pl.lit(against, dtype=pl.String))).sort("system")
    points = [
        Point(
            row["system"],
            dot_of(row, "rho_lexical", "lexical_low", "lexical_high"),
            dot_of(row, "rho_embedding", "embedding_low", "embedding_high"),
            row["reference"],
        )
        for row in part.iter_rows(named=True)
        if row["rho_lexical"] is not None and row["rho_embedding"] is not None
    ]
    what = f"values, {mode}" if against is None else f"change, {against} to {mode}"
    return Panel(what, points, first_note(part))


def _draw(strips: list[Strip], look: Mapping[str, Look]) -> Figure:
    from matplotlib import rc_context

    columns = max(balanced(len(strip.panels), COLUMNS) for strip in strips)
    inches = WIDTH / max(columns, 2)
    rows = []
    for strip in strips:
        wide = balanced(len(strip.panels), columns)
        parts = [strip.panels[first : first + wide] for first in range(0, len(strip.panels), wide)]
        rows += [Strip("" if number else strip.title, part) for number, part in enumerate(parts)]
    points = [point for strip in strips for panel in strip.panels for point in panel.points]
    scale = limits((end for point in points for dot in (point.lexical, point.embedding) for end in dot.ends()), 0.0)
    with rc_context(SETTINGS | {"axes.spines.left": True, "axes.grid.axis": "both"}):
        titles = [[wrapped(panel.title, inches - 0.5) for panel in row.panels] for row in rows]
        lines = [1 + max(title.count("\n") for title in part) for part in titles]
        heights = [inches + 0.15 * n + (0.35 if row.title else 0.1) for n, row in zip(lines, rows, strict=True)]
        figure = new_figure(sum(heights) + 0.5)
        subfigures = figure.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)[:, 0]
        for row, subfigure, named in zip(rows, subfigures, titles, strict=True):
            if row.title:
                heading(subfigure, row.title)
            for column, panel in enumerate(row.panels):
                axes = subfigure.add_subplot(1, max(columns, 2), column + 1)
                _draw_panel(axes, panel, look, scale, inches)
                axes.set_title(named[column], fontsize=9, fontweight="normal")
                axes.set_xlabel("ρ with lexical containment")
                if column == 0:
                    axes.set_ylabel("ρ with embedding proximity")
        references = {point.system for point in points if point.reference}
        legend(figure, sorted({point.system for point in points}), look, references)
        return figure


def _draw_panel(axes: Axes, panel: Panel, look: Mapping[str, Look], scale: tuple[float, float], inches: float) -> None:
    axes.plot(scale, scale, color=INK, linewidth=0.7, linestyle=(0, (4, 3)), zorder=1)
    for point in panel.points:
        own = look[point.system]
        x, y = point.lexical, point.embedding
        assert x.value is not None and y.value is not None  # a point has both
        thin: dict[str, Any] = {"color": own.colour, "linewidth": 0.6, "zorder": 2}
        if x.low is not None and x.high is not None:
            axes.plot([x.low, x.high], [y.value] * 2, **thin)
        if y.low is not None and y.high is not None:
            axes.plot([x.value] * 2, [y.low, y.high], **thin)
        axes.plot([x.value], [y.value], color=own.colour, zorder=3, **mark(own, point.reference))
    if not panel.points:
        said = wrapped(panel.note or "not estimable", 0.7 * inches)
        axes.text(0.5, 0.5, said, transform=axes.transAxes, ha="center", va="center", fontsize=8)
    axes.set_xlim(*scale)
    axes.set_ylim(*scale)
    axes.set_aspect("equal")
    axes.locator_params(nbins=5)
