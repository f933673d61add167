"""What the best fusions reach: on the queries that they were chosen on, and on others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from verseir.analyses.fusion_search import SELECTIONS
from verseir.figures.panels import (
    WIDTH,
    Dot,
    dot_of,
    draw_dot,
    legend_of,
    limits,
    mark,
    new_figure,
    nothing_to_plot,
    wrapped,
)
from verseir.figures.style import SETTINGS, label
from verseir.palette import FAINT, SERIES, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches of one selection: its dots, and its arms in words above them.
ROW = 0.42
LOOK = Look(SERIES[0], "o")


def plot_fusions(fusion: pl.DataFrame) -> Figure:
    """Draw a FUSION table: a panel for each corpus and query set, a row for each selection.

    Hollow: the mean of the best subset on the queries that it was chosen on. Filled, with its interval: the
    cross-validated mean. The arms are those of the best subset.
    """
    from matplotlib import rc_context

    if fusion.is_empty():
        return nothing_to_plot("no runs of a known-item query set were fused")
    keys = sorted(set(fusion.select("corpus", "query_set", "measure").iter_rows()))
    with rc_context(SETTINGS):
        parts = [_rows(fusion, *key) for key in keys]
        heights = [ROW * len(part) + 0.6 for part in parts]
        figure = new_figure(sum(heights) + 0.5)
        grid = figure.subplots(len(keys), 1, squeeze=False, height_ratios=heights)[:, 0]
        ends = [end for row in fusion.iter_rows(named=True) for dot in _dots(row) for end in dot.ends()]
        for axes, key, part in zip(grid, keys, parts, strict=True):
            corpus, query_set, measure = key
            _panel(axes, part)
            axes.set_title(wrapped(f"{corpus}: {query_set}, {measure}", WIDTH - 2, bold=True))
            axes.set_xlim(*limits(ends, 0.0, 1.0))
        _legend(figure)
        return figure


def _rows(fusion: pl.DataFrame, corpus: str, query_set: str, measure: str) -> list[dict]:
    here = [pl.col("corpus") == corpus, pl.col("query_set") == query_set, pl.col("measure") == measure]
    order = {name: place for place, name in enumerate(SELECTIONS)}
    rows = fusion.filter(*here).to_dicts()
    return sorted(rows, key=lambda row: (order.get(row["selection"], len(order)), row["selection"]))


def _dots(row: dict) -> tuple[Dot, Dot]:
    """In-sample and cross-validated."""
    return Dot(row["in_sample"], None, None), dot_of(row, "cross_validated")


def _panel(axes: Axes, rows: list[dict]) -> None:
    for place, row in enumerate(rows):
        if place:
            axes.axhline(place, color=FAINT, linewidth=0.6)
        in_sample, validated = _dots(row)
        if in_sample.value is not None:
            draw_dot(axes, place + 0.8, validated, LOOK)
            draw_dot(axes, place + 0.6, in_sample, LOOK, hollow=True)
        said = row["arms"] or row["note"] or "not estimable"
        lines = wrapped(said, 0.8 * WIDTH).split("\n")
        text = lines[0] if len(lines) == 1 else f"{lines[0]} …"
        axes.text(0.01, place + 0.28, text, fontsize=7.5, va="center", transform=axes.get_yaxis_transform())
    axes.set_yticks([place + 0.5 for place in range(len(rows))], [label(row["selection"]) for row in rows])
    axes.set_ylim(len(rows), 0)
    axes.set_xlabel("mean; interval: 95%, cross-validated")


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    names = (
        "best subset on the queries that it was chosen on",
        "chosen on other queries (cross-validated)",
    )
    handles = [
        Line2D([], [], color=LOOK.colour, label=name, **mark(LOOK, hollow))
        for name, hollow in zip(names, (True, False), strict=True)
    ]
    legend_of(figure, handles, 42)
