"""What figures of several panels share: dots with intervals, strips of panels, a legend, a figure of nothing."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from verseir.figures.style import PAGE, SETTINGS, label
from verseir.formats import MINUS, NBSP
from verseir.palette import FAINT, INK, PAPER, Look, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

#: Inches: a figure as wide as the text of a paper, and the height of one row of dots.
WIDTH, STEP = PAGE, 0.19
#: Inches that one character of a label and of a bold title takes, about.
CHARACTER, BOLD = 0.072, 0.088
#: The narrowest panel of a strip, in inches.
NARROWEST = 1.1
#: Inches: an image of more could not be written.
TALLEST = 300.0
#: Stands for a blank that no line break parts, while lines are broken.
GLUE = "\ue000"
MARK_SIZE = 4.6


def new_figure(height: float) -> Figure:
    """A figure of ``height`` inches, as wide as all, whose parts make room for each other."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Figure(figsize=(WIDTH, min(height, TALLEST)), layout=ConstrainedLayoutEngine(wspace=0.05))


class Dot(NamedTuple):
    """A value with its interval; what is None is not drawn."""

    value: float | None
    low: float | None
    high: float | None

    def ends(self) -> list[float]:
        """The numbers that an axis has to hold."""
        return [end for end in self if end is not None]


class Panel(NamedTuple):
    """A small panel of a strip: its title, the dot of each system, and what to say where there is none."""

    title: str
    dots: Mapping[str, Dot]
    note: str = ""


class Strip(NamedTuple):
    """Panels side by side under one title."""

    title: str
    panels: list[Panel]


def nothing_to_plot(why: str) -> Figure:
    """A figure that says in words why it shows nothing."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(SETTINGS):
        figure = Figure(figsize=(WIDTH, 0.8))
        figure.text(0, 0.5, textwrap.fill(f"There is nothing to plot: {label(why)}.", 90), va="center")
        return figure


def look_of(systems: Iterable[str], frame: pl.DataFrame, *columns: str) -> dict[str, Look]:
    """The looks of all ``systems`` of a study, and of any that stand in ``columns`` of ``frame`` beside."""
    return looks(systems, {name for column in columns for name in frame[column].drop_nulls()})


def main_rows(frame: pl.DataFrame, measures: Mapping[str, str]) -> pl.DataFrame:
    """The rows of the main measure of their query set (``measures``: query set to measure)."""
    main = pl.DataFrame(sorted(measures.items()), schema={"query_set": pl.String, "measure": pl.String}, orient="row")
    return frame.join(main, on=["query_set", "measure"], how="semi")


def first_note(frame: pl.DataFrame) -> str:
    """The first note of a table; empty where it has none."""
    return str(next(iter(frame["note"].drop_nulls()), ""))


def dot_of(row: Mapping[str, Any], value: str = "estimate", low: str = "ci_low", high: str = "ci_high") -> Dot:
    """The dot of a row of a table."""
    return Dot(*(row[name] if row[name] is None or math.isfinite(row[name]) else None for name in (value, low, high)))


def draw_dot(axes: Axes, height: float, dot: Dot, look: Look, hollow: bool = False) -> None:
    """Draw a mark at ``height`` with its interval; nothing where there is no value."""
    if dot.value is None:
        return
    if dot.low is not None and dot.high is not None:
        axes.plot([dot.low, dot.high], [height] * 2, color=look.colour, linewidth=1.3, solid_capstyle="butt", zorder=2)
    axes.plot([dot.value], [height], color=look.colour, zorder=3, **mark(look, hollow))


def mark(look: Look, hollow: bool = False) -> dict[str, Any]:
    """What ``plot`` needs to draw one mark without a line."""
    filled = PAPER if hollow else look.colour
    return {"linestyle": "none", "marker": look.mark, "markersize": MARK_SIZE, "markerfacecolor": filled}


def limits(values: Iterable[float], *held: float) -> tuple[float, float]:
    """Axis limits around ``values`` and ``held``, with room for half a mark."""
    found = [*values, *held]
    low, high = min(found), max(found)
    edge = 0.04 * (high - low) or 0.5
    return low - edge, high + edge


def wrapped(text: str, inches: float, bold: bool = False) -> str:
    """``text`` in lines of about ``inches``."""
    width = max(8, int(inches / (BOLD if bold else CHARACTER)))
    return "\n".join(textwrap.wrap(label(text.replace(NBSP, GLUE)), width)).replace(GLUE, NBSP)


def longest(names: Iterable[str]) -> int:
    """Characters of the longest name."""
    return max(map(len, names), default=0)


def legend(figure: Figure, systems: Sequence[str], look: Mapping[str, Look], hollow: Iterable[str] = ()) -> None:
    """The marks of ``systems`` above the figure; ``hollow`` names those whose mark is hollow."""
    from matplotlib.lines import Line2D

    empty = set(hollow)
    handles = [
        Line2D([], [], color=look[system].colour, label=label(system), **mark(look[system], system in empty))
        for system in systems
    ]
    legend_of(figure, handles, longest(systems))


def legend_of(figure: Figure, handles: Sequence[Any], longest_name: int) -> None:
    """``handles`` above the figure in as many columns as fit."""
    room = CHARACTER * longest_name + 0.6  # inches: the longest name, its mark and the space between columns
    columns = min(len(handles), max(1, int(figure.get_figwidth() / room)))
    figure.legend(handles=list(handles), loc="outside upper left", ncols=columns, handlelength=1.6, labelcolor=INK)


def draw_strips(strips: Sequence[Strip], systems: Sequence[str], look: Mapping[str, Look], axis: str) -> Figure:
    """Effects of ``systems``, a row each, in small panels that share their scale; a line marks no effect.

    Args:
        strips: in order; panels of a strip that do not fit side by side go on below.
        systems: from the top down.
        look: of each system.
        axis: what the x axis shows.
    """
    from matplotlib import rc_context

    with rc_context(SETTINGS):
        room = WIDTH - CHARACTER * longest(systems) - 0.3
        most = max(1, int(room / NARROWEST))
        columns = max(balanced(len(strip.panels), most) for strip in strips)
        rows = [row for strip in strips for row in _broken(strip, columns)]
        heights = [_height(row, len(systems), room / columns) for row in rows]
        figure = new_figure(sum(heights) + 0.2)
        dots = [dot for strip in strips for panel in strip.panels for dot in panel.dots.values()]
        scale = limits((end for dot in dots for end in dot.ends()), 0.0)
        subfigures = figure.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)[:, 0]
        for row, subfigure in zip(rows, subfigures, strict=True):
            _draw_row(subfigure, row, columns, room / columns, systems, look, scale)
        subfigures[-1].supxlabel(axis, fontsize=9)
        return figure


def balanced(n: int, most: int) -> int:
    """Panels side by side, at most ``most``, so that rows of ``n`` panels are about as long."""
    return math.ceil(n / math.ceil(n / most))


def _broken(strip: Strip, columns: int) -> list[Strip]:
    columns = balanced(len(strip.panels), columns)
    parts = [strip.panels[first : first + columns] for first in range(0, len(strip.panels), columns)]
    return [Strip(strip.title if not number else "", part) for number, part in enumerate(parts)]


def _height(row: Strip, n_systems: int, inches: float) -> float:
    lines = max(wrapped(panel.title, inches).count("\n") + 1 for panel in row.panels)
    above = 0.17 * (wrapped(row.title, WIDTH, bold=True).count("\n") + 1) + 0.12 if row.title else 0.0
    return above + 0.16 * lines + STEP * n_systems + 0.45


def few_ticks(axes: Axes, inches: float) -> None:
    """Ticks on the x axis of a panel ``inches`` wide, no more than have room."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(max(2, int(inches / 0.45)), steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", MINUS)))


def heading(subfigure: SubFigure, title: str) -> None:
    """Write ``title`` above a part of a figure."""
    subfigure.suptitle(wrapped(title, WIDTH, bold=True), x=0.01, ha="left", fontsize=9, fontweight="bold")


def counted(name: str, n: int) -> str:
    """``name`` with its number of queries, which no line break parts."""
    return f"{name}, n{NBSP}={NBSP}{n}"


def _draw_row(
    subfigure: SubFigure,
    row: Strip,
    columns: int,
    inches: float,
    systems: Sequence[str],
    look: Mapping[str, Look],
    scale: tuple[float, float],
) -> None:
    if row.title:
        heading(subfigure, row.title)
    first = None
    for column, panel in enumerate(row.panels):
        axes = subfigure.add_subplot(1, columns, column + 1, sharex=first)
        first = first or axes
        axes.axvline(0, color=INK, linewidth=0.8, zorder=1)
        drawn = False
        for height, system in enumerate(systems):
            if system in panel.dots:
                draw_dot(axes, height, panel.dots[system], look[system])
                drawn = drawn or panel.dots[system].value is not None
        if not drawn:
            said = wrapped(panel.note or "not estimable", 0.8 * inches)
            axes.text(0.5, 0.5, said, transform=axes.transAxes, ha="center", va="center", fontsize=8)
        axes.set_title(wrapped(panel.title, inches), fontsize=9, fontweight="normal")
        axes.set_xlim(*scale)
        few_ticks(axes, inches)
        axes.set_ylim(len(systems) - 0.5, -0.5)
        axes.set_yticks(range(len(systems)), [label(system) for system in systems])
        axes.tick_params(labelleft=column == 0)
        axes.grid(axis="x", color=FAINT)
