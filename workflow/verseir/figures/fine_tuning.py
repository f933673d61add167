"""How each training went on validation queries, and what it gained over the base by group of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from verseir.analyses.fine_tuning import ALL, REGISTER, few_groups, group_name
from verseir.figures.panels import (
    CHARACTER,
    STEP,
    WIDTH,
    counted,
    dot_of,
    draw_dot,
    few_ticks,
    first_note,
    heading,
    legend_of,
    limits,
    longest,
    main_rows,
    mark,
    new_figure,
    nothing_to_plot,
    wrapped,
)
from verseir.figures.style import SETTINGS, label
from verseir.orders import register_order
from verseir.palette import FAINT, INK, Look, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches: the curves of one recipe, and the least height of what is drawn of it.
CURVES, LEAST = 2.3, 1.0
#: Curves of one recipe that can be told apart; more are drawn thin.
FEW = 6
#: How far below its gain the range of seeds stands, in rows.
BELOW = 0.3
SPREAD = "#888888"

Row = Mapping[str, Any]


def plot_fine_tuning(gains: pl.DataFrame, curves: pl.DataFrame, base_mode: str, measures: Mapping[str, str]) -> Figure:
    """Draw FINE_TUNING and FINE_TUNING_CURVES tables: for each recipe its curves, and its gains beside them.

    Hollow: the encoder before training. Filled: the epoch that is kept. Below a gain and its interval, which is over
    queries, stands the range of its seeds. Attributes with many values are in the table alone.

    Args:
        gains: a FINE_TUNING table.
        curves: a FINE_TUNING_CURVES table.
        base_mode: the mode that is shown; of a corpus that has not got it, the first that it has.
        measures: query set -> its main measure.
    """
    from matplotlib import rc_context

    if gains.is_empty():
        return nothing_to_plot("no trained encoder was searched beside its base")
    rows = {name: _rows(part, base_mode) for (name,), part in _parts(few_groups(main_rows(gains, measures)), "recipe")}
    if not rows:
        return nothing_to_plot("the query sets are not measured by their main measures")
    with rc_context(SETTINGS):
        names = {recipe: _names(own) for recipe, own in rows.items()}
        beside = CHARACTER * longest(name for own in names.values() for name in own)
        heights = [max(LEAST, STEP * len(own)) + 0.95 for own in rows.values()]
        figure = new_figure(sum(heights) + 0.3)
        look = looks(str(seed) for seed in sorted(curves["seed"].unique()))
        drawn = [row for own in rows.values() for row in own]
        scale = limits((end for row in drawn for end in (*dot_of(row, "difference").ends(), *_range(row))), 0.0)
        subfigures = figure.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)[:, 0]
        for (recipe, own), subfigure in zip(rows.items(), subfigures, strict=True):
            heading(subfigure, f"{recipe}, trained from {own[0]['base']}")
            right = max(1.2, WIDTH - CURVES - beside - 0.6)
            left_axes, right_axes = subfigure.subplots(1, 2, width_ratios=[CURVES, right])
            _draw_curves(left_axes, curves.filter(pl.col("recipe") == recipe), look)
            _draw_gains(right_axes, own, names[recipe], right, scale)
        _legend(figure, look, any(_range(row) for row in drawn))
        return figure


def _parts(frame: pl.DataFrame, *keys: str) -> list[tuple[tuple[Any, ...], pl.DataFrame]]:
    return sorted(frame.partition_by(list(keys), as_dict=True).items())


def _rows(gains: pl.DataFrame, base_mode: str) -> list[Row]:
    """The rows of one recipe that are drawn, in their order."""
    found: list[Row] = []
    for _, place in _parts(gains, "corpus", "query_set"):
        modes = sorted(place["mode"].unique())
        here = place.filter(pl.col("mode") == (base_mode if base_mode in modes else modes[0]))
        kinds = sorted(here["by"].unique(), key=lambda by: (by != ALL, by != REGISTER, by))
        for by in kinds:
            own = here.filter(pl.col("by") == by).to_dicts()
            found += sorted(own, key=lambda row: register_order(row["group"]))
    return found


def _names(rows: Sequence[Row]) -> list[str]:
    """What stands beside each row: the place only where there are several."""
    several = len({(row["corpus"], row["query_set"]) for row in rows}) > 1
    found = []
    for row in rows:
        where = f"{row['query_set']} on {row['corpus']}, " if several else ""
        found.append(counted(f"{where}{group_name(row)}", row["n"]))
    return found


def _range(row: Row) -> list[float]:
    """The gains of the lowest and of the highest seed; nothing where there is one."""
    known = row["n_seeds"] > 1 and row["zero_shot"] is not None
    return [row[end] - row["zero_shot"] for end in ("lowest", "highest")] if known else []


def _draw_curves(axes: Axes, curves: pl.DataFrame, look: Mapping[str, Look]) -> None:
    from matplotlib.ticker import MaxNLocator

    if curves.is_empty():
        axes.text(0.5, 0.5, "no curve", transform=axes.transAxes, ha="center", va="center", fontsize=8)
        axes.set_xticks([])
        axes.set_yticks([])
        return
    found = _parts(curves, "seed", "fold")
    thin = len(found) > FEW
    for (seed, _), part in found:
        own, course = look[str(seed)], part.sort("step")
        line: dict[str, Any] = {"linewidth": 0.6 if thin else 1.1, "linestyle": own.dash, "color": own.colour}
        axes.plot(course["epoch"], course["value"], zorder=2, **line)
        for chosen, hollow in ((course.filter(pl.col("epoch") == 0), True), (course.filter("best"), False)):
            size = {"markersize": 3} if thin else {}
            axes.plot(chosen["epoch"], chosen["value"], color=own.colour, zorder=3, **mark(own, hollow) | size)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.grid(axis="both", color=FAINT)
    axes.set_xlabel("epoch", fontsize=8.5)
    measures = ", ".join(sorted(curves["measure"].unique()))
    axes.set_title(wrapped(f"validation, {measures}", CURVES), fontsize=9, fontweight="normal")


def _draw_gains(
    axes: Axes, rows: Sequence[Row], names: Sequence[str], inches: float, scale: tuple[float, float]
) -> None:
    own = Look(INK, "o")
    axes.axvline(0, color=INK, linewidth=0.8, zorder=1)
    for height, row in enumerate(rows):
        dot = dot_of(row, "difference")
        draw_dot(axes, height, dot, own)
        if dot.value is None:
            axes.text(0, height, wrapped(first_note(pl.DataFrame([row])), 9), fontsize=7.5, va="center")
        elif seeds := _range(row):
            axes.plot(seeds, [height + BELOW] * 2, color=SPREAD, linewidth=2.2, solid_capstyle="butt", zorder=2)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [label(name) for name in names])
    axes.set_xlim(*scale)
    few_ticks(axes, inches)
    axes.set_xlabel("change, 95% interval", fontsize=8.5)
    measures = ", ".join(sorted({row["measure"] for row in rows}))
    axes.set_title(wrapped(f"against the base, {measures}", inches), fontsize=9, fontweight="normal")


def _legend(figure: Figure, look: Mapping[str, Look], several: bool) -> None:
    from matplotlib.lines import Line2D

    handles = []
    for seed, own in look.items():
        line: dict[str, Any] = {"linewidth": 1.1, "linestyle": own.dash, "marker": own.mark}
        handles.append(Line2D([], [], color=own.colour, label=f"seed {seed}", **line))
    if several:
        handles.append(Line2D([], [], color=SPREAD, linewidth=2.2, label="range of seeds"))
    if handles:
        legend_of(figure, handles, longest(str(one.get_label()) for one in handles))
