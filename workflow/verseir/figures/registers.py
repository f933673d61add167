"""Systems by register: one panel for each indexing mode of each corpus, a dot and an interval for each system."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import polars as pl

from verseir.faults import UserError, closest
from verseir.figures.style import COLUMN, PAGE, SETTINGS, label
from verseir.orders import mode_order, register_order
from verseir.palette import FAINT, INK, Look, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Panels side by side before they wrap; more are narrower than is good.
COLUMNS = 3
#: Inches: height of one system, gap between registers in heights of a system.
STEP, GAP = 0.17, 1.2


def plot_registers(registers: pl.DataFrame, measures: Mapping[str, str], systems: Iterable[str] = ()) -> Figure:
    """Draw a REGISTERS table: of each query set the measure that ``measures`` names for it.

    A system keeps its colour, mark and place within a register in all panels. A mean without interval is a dot alone.

    Raises:
        UserError: the table has rows of a query set, but none of its measure, or ``measures`` names none for it.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(SETTINGS):
        if registers.is_empty():
            figure = Figure(figsize=(PAGE, 0.8))
            figure.text(0, 0.5, "No query of this study names its register: there is nothing to plot.", va="center")
            return figure
        query_sets = sorted(registers["query_set"].unique())
        rows = pl.concat([_rows_of(registers, query_set, measures) for query_set in query_sets])
        return _draw(rows, measures, looks(systems, rows["system"]))


def _rows_of(registers: pl.DataFrame, query_set: str, measures: Mapping[str, str]) -> pl.DataFrame:
    """The rows of a query set's measure."""
    if query_set not in measures:
        raise UserError(f"no measure is named for the query set '{query_set}'", hint=closest(query_set, measures))
    rows = registers.filter(pl.col("query_set") == query_set)
    measure = measures[query_set]
    if measure not in rows["measure"]:
        raise UserError(
            f"no row of measure '{measure}' for the query set '{query_set}'",
            hint=closest(measure, rows["measure"].unique()),
        )
    return rows.filter(pl.col("measure") == measure)


def _draw(rows: pl.DataFrame, measures: Mapping[str, str], look: Mapping[str, Look]) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    systems = sorted(rows["system"].unique())
    by_corpus = rows.partition_by("corpus", as_dict=True)
    bands = {corpus: _bands(by_corpus[corpus,], measures) for corpus in sorted(rows["corpus"].unique())}
    strips = []  # one strip of panels side by side: (corpus, modes)
    for corpus in bands:
        modes = sorted(rows.filter(pl.col("corpus") == corpus)["mode"].unique(), key=mode_order)
        wide = math.ceil(len(modes) / math.ceil(len(modes) / COLUMNS))  # strips of one corpus are about as long
        strips += [(corpus, modes[first : first + wide]) for first in range(0, len(modes), wide)]
    columns = max(len(modes) for _, modes in strips)
    heights = [_height(len(bands[corpus]), len(systems)) * STEP for corpus, _ in strips]
    figure = Figure(
        figsize=(COLUMN if columns == 1 else PAGE, sum(heights) + 0.75 * len(strips) + 0.5),
        layout=ConstrainedLayoutEngine(wspace=0.06),
    )
    grid = figure.add_gridspec(len(strips), columns, height_ratios=heights)
    low, high = _limits(rows)
    for strip, (corpus, modes) in enumerate(strips):
        for column, mode in enumerate(modes):
            axes = figure.add_subplot(grid[strip, column])
            panel = rows.filter((pl.col("corpus") == corpus) & (pl.col("mode") == mode))
            _panel(axes, panel, bands[corpus], systems, look)
            name = label(mode) if len(bands) == 1 else f"{label(corpus)}: {label(mode)}"
            axes.set_title(name)
            axes.set_xlim(low, high)
            axes.set_xlabel("mean, 95% interval")
            if column:
                axes.tick_params(labelleft=False)
    _legend(figure, systems, look)
    return figure


def _bands(rows: pl.DataFrame, measures: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """(register, query set, label) of the bands of one corpus, from the most wording down.

    The label names the measure, and the query set where two have the same register.
    """
    pairs = sorted(
        rows.select("register", "query_set").unique().iter_rows(), key=lambda pair: (register_order(pair[0]), pair[1])
    )
    names = [register for register, _ in pairs]
    bands = []
    for register, query_set in pairs:
        twin = f"{label(query_set)}, " if names.count(register) > 1 else ""
        bands.append((register, query_set, f"{label(register)}\n{twin}{label(measures[query_set])}"))
    return bands


def _height(n_bands: int, n_systems: int) -> float:
    return n_bands * (n_systems + GAP)


def _limits(rows: pl.DataFrame) -> tuple[float, float]:
    ends = pl.concat([rows["mean"], rows["ci_low"], rows["ci_high"]]).drop_nulls().to_list()
    low, high = min(0.0, *ends), max(1.0, *ends)
    edge = 0.02 * (high - low)  # room for half a mark
    return low - edge, high + edge


def _panel(
    axes: Axes, rows: pl.DataFrame, bands: list[tuple[str, str, str]], systems: list[str], look: Mapping[str, Look]
) -> None:
    found = {(row["register"], row["query_set"], row["system"]): row for row in rows.iter_rows(named=True)}
    centres = []
    for band, (register, query_set, _) in enumerate(bands):
        top = band * (len(systems) + GAP)
        centres.append(top + (len(systems) - 1) / 2)
        if band:
            axes.axhline(top - (1 + GAP) / 2, color=FAINT, linewidth=0.6)
        for place, system in enumerate(systems):
            row = found.get((register, query_set, system))
            if row is None or not math.isfinite(row["mean"]):
                continue
            colour, mark, _ = look[system]
            if row["ci_low"] is not None and row["ci_high"] is not None:
                axes.plot(
                    [row["ci_low"], row["ci_high"]],
                    [top + place] * 2,
                    color=colour,
                    linewidth=1.4,
                    solid_capstyle="butt",
                )
            axes.plot([row["mean"]], [top + place], linestyle="none", marker=mark, color=colour, markersize=4.6)
    axes.set_yticks(centres, [name for _, _, name in bands])
    axes.set_ylim(_height(len(bands), len(systems)) - (1 + GAP) / 2, -(1 + GAP) / 2)


def _legend(figure: Figure, systems: list[str], look: Mapping[str, Look]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [],
            [],
            color=look[system].colour,
            marker=look[system].mark,
            markersize=5,
            linewidth=1.4,
            label=label(system),
        )
        for system in systems
    ]
    room = 0.07 * max(map(len, systems)) + 0.55  # inches: the longest name, its mark and the space between columns
    columns = min(len(systems), max(1, int(figure.get_figwidth() / room)))
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, handlelength=2.2, labelcolor=INK)
