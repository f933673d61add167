"""What remembered wording does: outcomes of each system on quoting queries against those on the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from verseir.analyses.quotation import NOT_QUOTING, QUOTING
from verseir.figures.panels import (
    CHARACTER,
    STEP,
    WIDTH,
    Dot,
    dot_of,
    limits,
    longest,
    look_of,
    main_rows,
    mark,
    new_figure,
    nothing_to_plot,
    wrapped,
)
from verseir.figures.style import SETTINGS, label
from verseir.formats import interval, signed
from verseir.palette import INK, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Rows of dots that one system takes, and how far a mark stands from the middle of them.
ROWS, APART = 1.5, 0.14
#: Inches that a slope in words takes.
SLOPE = 1.3


class Line(NamedTuple):
    """One system: its means in the two strata and its slope with interval."""

    system: str
    quoting: Dot
    others: Dot
    slope: Dot


class Panel(NamedTuple):
    """One query set in one corpus: the steepest slope first."""

    title: str
    lines: list[Line]
    n_quoting: int
    n_others: int


def plot_quotation(
    means: pl.DataFrame,
    slopes: pl.DataFrame,
    threshold: int,
    mode: str,
    measures: Mapping[str, str],
    systems: Iterable[str],
) -> Figure:
    """Draw a QUOTATION table with the slopes of QUOTATION_SLOPES: a panel for each corpus and query set.

    Args:
        means: a QUOTATION table.
        slopes: the QUOTATION_SLOPES table that goes with it.
        threshold: tokens in a row that make a query quoting.
        mode: the indexing mode that is shown.
        measures: query set -> its main measure.
        systems: all systems of the study, so that each looks the same in all figures.
    """
    if means.is_empty():
        return nothing_to_plot("no query with a target was searched")
    at = (pl.col("threshold") == threshold) & (pl.col("mode") == mode)
    rows = main_rows(means.filter(at), measures)
    if rows.is_empty():
        return nothing_to_plot(f"nothing was measured at {threshold} tokens in a row in the mode {mode}")
    found = main_rows(slopes.filter(at, pl.col("b").is_null()), measures)
    panels = [
        _panel(key, rows, found) for key in sorted(set(rows.select("corpus", "query_set", "measure").iter_rows()))
    ]
    return _draw(panels, look_of(systems, rows, "system"), _said(threshold, mode))


def _said(threshold: int, mode: str) -> str:
    return f"{mode} indexed; quoting: {threshold} or more tokens in a row; at the right the slopes with 95% intervals"


def _panel(key: tuple[str, str, str], means: pl.DataFrame, slopes: pl.DataFrame) -> Panel:
    corpus, query_set, measure = key
    here = [pl.col("corpus") == corpus, pl.col("query_set") == query_set]
    part = means.filter(*here)
    dots = {(row["system"], row["stratum"]): dot_of(row, "mean") for row in part.iter_rows(named=True)}
    slope = {row["a"]: dot_of(row) for row in slopes.filter(*here).iter_rows(named=True)}
    nothing = Dot(None, None, None)
    lines = [
        Line(
            system,
            dots.get((system, QUOTING), nothing),
            dots.get((system, NOT_QUOTING), nothing),
            slope.get(system, nothing),
        )
        for system in sorted({system for system, _ in dots})
    ]
    lines.sort(key=lambda line: (-line.slope.value if line.slope.value is not None else math.inf, line.system))
    n = {row["stratum"]: row["n_queries"] for row in part.iter_rows(named=True)}
    return Panel(f"{corpus}: {query_set}, {measure}", lines, n.get(QUOTING, 0), n.get(NOT_QUOTING, 0))


def _draw(panels: list[Panel], look: Mapping[str, Look], what: str) -> Figure:
    from matplotlib import rc_context

    with rc_context(SETTINGS):
        columns = _columns(panels)
        inches = WIDTH / columns
        strips = [panels[first : first + columns] for first in range(0, len(panels), columns)]
        heights = [STEP * ROWS * max(len(panel.lines) for panel in strip) + 1.0 for strip in strips]
        figure = new_figure(sum(heights) + 0.4)
        grid = figure.add_gridspec(len(strips), columns, height_ratios=heights)
        dots = [dot for panel in panels for line in panel.lines for dot in (line.quoting, line.others)]
        scale = limits((end for dot in dots for end in dot.ends()), 0.0, 1.0)
        for row, strip in enumerate(strips):
            for column, panel in enumerate(strip):
                axes = figure.add_subplot(grid[row, column])
                _draw_panel(axes, panel, look, scale)
                names = CHARACTER * longest(line.system for line in panel.lines)
                axes.set_title(wrapped(panel.title, inches - names - SLOPE, bold=True))
        _legend(figure, panels, what)
        return figure


def _columns(panels: list[Panel]) -> int:
    """Panels side by side: two, where the names of the systems and their slopes leave room."""
    names = CHARACTER * longest(line.system for panel in panels for line in panel.lines)
    return 1 if len(panels) == 1 or names > 0.8 else 2


def _draw_panel(axes: Axes, panel: Panel, look: Mapping[str, Look], scale: tuple[float, float]) -> None:
    for place, line in enumerate(panel.lines):
        own, middle = look[line.system], ROWS * place
        first, last = line.others.value, line.quoting.value
        if first is not None and last is not None:
            axes.plot(
                [first, last],
                [middle + APART, middle - APART],
                color=own.colour,
                linewidth=2,
                linestyle=own.dash,
                zorder=1,
            )
        for dot, height, hollow in ((line.quoting, middle - APART, False), (line.others, middle + APART, True)):
            if dot.value is None:
                continue
            if dot.low is not None and dot.high is not None:
                beside = height + (2.2 * APART if hollow else -2.2 * APART)
                _bracket(axes, dot.low, dot.high, beside, own.colour)
            axes.plot([dot.value], [height], color=own.colour, zorder=3, **mark(own, hollow))
        said = "slope not estimable"
        if line.slope.value is not None:
            said = f"{signed(line.slope.value, 2)} {interval(line.slope.low, line.slope.high, 2, sign=True)}"
        axes.text(1.01, middle, said, transform=axes.get_yaxis_transform(), va="center", fontsize=7.5)
    axes.set_yticks([ROWS * place for place in range(len(panel.lines))], [label(line.system) for line in panel.lines])
    axes.set_ylim(ROWS * (len(panel.lines) - 0.5), -ROWS * 0.5)
    axes.set_xlim(*scale)
    axes.set_xlabel(f"mean, 95% interval\n{panel.n_quoting} quoting, {panel.n_others} not quoting")


def _bracket(axes: Axes, low: float, high: float, height: float, colour: str) -> None:
    """An interval as a thin line beside its mark, which the line between the strata would hide."""
    axes.plot([low, high], [height] * 2, color=colour, linewidth=0.9, marker="|", markersize=3, zorder=2)


def _legend(figure: Figure, panels: list[Panel], what: str) -> None:
    from matplotlib.lines import Line2D

    grey = Look(INK, "o")
    handles: list[Any] = [
        Line2D([], [], color=grey.colour, label=name, **mark(grey, hollow))
        for name, hollow in ((QUOTING, False), (NOT_QUOTING, True))
    ]
    figure.legend(
        handles=handles, loc="outside upper left", ncols=2, handlelength=1.6, title=label(what), alignment="left"
    )
