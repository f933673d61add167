"""How much of the wording of their targets the queries carry: each set and register, from the most to none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from verseir.analyses.overlap_spectrum import ALL
from verseir.figures.panels import (
    CHARACTER,
    MARK_SIZE,
    PAPER,
    WIDTH,
    Dot,
    dot_of,
    draw_dot,
    legend_of,
    limits,
    new_figure,
    nothing_to_plot,
    wrapped,
)
from verseir.figures.style import SETTINGS
from verseir.orders import register_order
from verseir.palette import MARKS, SERIES, Look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONTAINMENT = "mean containment"
_SHARE = re.compile(r"share with (\d+) tokens in a row")
#: Inches of one stratum for each threshold, and at least.
STEP, LEAST = 0.13, 0.3


#: Before a register: blanks that a page does not fold.
INDENT = "\u00a0" * 4


class Stratum(NamedTuple):
    """A line of the figure: the heading of a corpus, or a query set or register in it with its quantities."""

    name: str
    shares: Mapping[int, Dot]
    containment: Dot | None


def plot_spectrum(spectrum: pl.DataFrame, threshold: int) -> Figure:
    """Draw what an OVERLAP_SPECTRUM table says of the verses.

    To the left the share of queries with so many tokens in a row, those of ``threshold`` filled; to the right the mean
    containment. Query sets of a corpus are ordered by the share at ``threshold``, registers from the most wording down.
    """
    verses = spectrum.filter(pl.col("mode").is_null())
    if verses.is_empty():
        return nothing_to_plot("no query has a target whose words could be compared")
    strata = _strata(verses.to_dicts(), threshold)
    thresholds = sorted({number for stratum in strata for number in stratum.shares})
    return _draw(strata, thresholds, threshold)


def _strata(rows: list[dict[str, Any]], threshold: int) -> list[Stratum]:
    quantities: dict[tuple[str, str, str], dict[str, Dot]] = {}
    counts: dict[tuple[str, str, str], int] = {}
    for row in rows:
        key = (row["corpus"], row["query_set"], row["register"])
        quantities.setdefault(key, {})[row["quantity"]] = dot_of(row, "mean")
        counts[key] = row["n_queries"]
    strata = []
    for corpus in sorted({key[0] for key in quantities}):
        strata.append(Stratum(corpus, {}, None))
        sets = {key[1] for key in quantities if key[0] == corpus}
        share = {name: _share(quantities.get((corpus, name, ALL), {}), threshold) for name in sets}
        for query_set in sorted(sets, key=lambda name: (-share[name], name)):
            registers = {key[2] for key in quantities if key[:2] == (corpus, query_set)}
            alone = {name for name in registers if counts[corpus, query_set, name] == counts[corpus, query_set, ALL]}
            register = next((f", {name}" for name in sorted(alone - {ALL})), "")  # all queries are of one register
            for name in sorted(registers - alone | {ALL}, key=lambda name: (name != ALL, register_order(name))):
                key = (corpus, query_set, name)
                said = f"{query_set}{register}" if name == ALL else f"{INDENT}{name}"
                strata.append(_stratum(f"{said} (n = {counts[key]})", quantities[key]))
    return strata


def _share(quantities: Mapping[str, Dot], threshold: int) -> float:
    dot = quantities.get(f"share with {threshold} tokens in a row")
    return dot.value or 0.0 if dot else 0.0


def _stratum(name: str, quantities: Mapping[str, Dot]) -> Stratum:
    shares = {int(found[1]): dot for quantity, dot in quantities.items() if (found := _SHARE.fullmatch(quantity))}
    return Stratum(name, dict(sorted(shares.items())), quantities.get(CONTAINMENT))


def _draw(strata: list[Stratum], thresholds: list[int], main: int) -> Figure:
    from matplotlib import rc_context
    from matplotlib.lines import Line2D

    look = {number: Look(SERIES[0], MARKS[place % len(MARKS)]) for place, number in enumerate(thresholds)}
    with rc_context(SETTINGS):
        step = max(LEAST, STEP * (len(thresholds) + 1))
        heights, top = [], 0.0
        for stratum in strata:
            size = step if stratum.shares or stratum.containment else LEAST
            heights.append(top + size / 2)
            top += size
        figure = new_figure(top + 1.1)
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.5, 1])
        for height, stratum in zip(heights, strata, strict=True):
            for number, dot in stratum.shares.items():
                offset = STEP * (thresholds.index(number) - (len(thresholds) - 1) / 2)
                draw_dot(left, height + offset, dot, look[number], hollow=number != main)
            if stratum.containment:
                draw_dot(right, height, stratum.containment, Look(SERIES[0], "o"))
        for axes, said in ((left, "share of queries, 95% interval"), (right, "mean, 95% interval")):
            axes.set_xlim(*limits([], 0.0, 1.0))
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
            axes.set_xlabel(said)
        left.set_title("verbatim tokens in a row")
        right.set_title("lexical containment")
        right.tick_params(labelleft=False)
        _name(left, strata, heights)
        left.set_ylim(top, 0)
        handles = [
            Line2D([], [], label=f"{number} or more", **_mark(look[number], number != main)) for number in thresholds
        ]
        if handles:
            legend_of(figure, handles, 9)
        return figure


def _mark(look: Look, hollow: bool) -> dict[str, Any]:
    filled = PAPER if hollow else look.colour
    shape = {"marker": look.mark, "markersize": MARK_SIZE, "markerfacecolor": filled}
    return shape | {"color": look.colour, "linewidth": 1.3}


def _name(axes: Any, strata: list[Stratum], heights: list[float]) -> None:
    """The names of the strata, flush left; those of corpora bold."""
    room = 0.4 * WIDTH
    names = []
    for stratum in strata:
        indent = "    " if stratum.name.startswith(" ") else ""
        names.append("\n".join(indent + line for line in wrapped(stratum.name, room).split("\n")))
    width = CHARACTER * max(len(line) for name in names for line in name.split("\n"))
    axes.set_yticks(heights, names, ha="left")
    axes.tick_params(axis="y", pad=72 * width)
    for tick, stratum in zip(axes.get_yticklabels(), strata, strict=True):
        if not stratum.shares and stratum.containment is None:
            tick.set_fontweight("bold")
