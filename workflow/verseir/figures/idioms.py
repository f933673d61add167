"""An idiom benchmark in pictures: the systems by query set, the best by query set, and what stands in the top R."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from verseir.figures.panels import (
    CHARACTER,
    NARROWEST,
    STEP,
    WIDTH,
    balanced,
    dot_of,
    draw_dot,
    few_ticks,
    first_note,
    heading,
    legend,
    legend_of,
    limits,
    longest,
    look_of,
    main_rows,
    new_figure,
    nothing_to_plot,
    wrapped,
)
from verseir.figures.style import SETTINGS, label
from verseir.palette import FAINT, INK, PAPER, SERIES, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: How many systems the figure of query sets shows.
TOP = 5
#: The levels of string match, and how their lines are drawn.
LEVELS = {"annotated": (0, (4, 2)), "verbatim": (0, (1, 1.5))}
#: What stands in the top R, from the left, with its colour.
FOUND = {
    "relevant": SERIES[0],
    "same idiom, other use": SERIES[1],
    "other idiom": SERIES[5],
    "nothing": FAINT,
}
#: The uses of an idiom in a query, in the order in which people read them.
USAGES = ("literal", "idiomatic")


class Part(NamedTuple):
    """Panels side by side under one title that share their rows: the title and the rows of the table of each, and the
    systems from the top down."""

    title: str
    panels: list[tuple[str, pl.DataFrame]]
    systems: list[str]


def plot_systems(
    leaderboard: pl.DataFrame,
    string_match: pl.DataFrame,
    query_sets: Sequence[str],
    mode: str,
    measures: Mapping[str, str],
    systems: Iterable[str],
) -> Figure:
    """All systems by query set, the highest of the first set on top, with the levels of string match as lines.

    Args:
        leaderboard: a LEADERBOARD table.
        string_match: a STRING_MATCH table.
        query_sets: in order: one panel each.
        mode: the indexing mode that is shown.
        measures: query set -> its main measure.
        systems: all systems of the study, so that each looks the same in all figures.
    """
    rows = _shown(leaderboard, query_sets, mode, measures)
    if rows["mean"].is_null().all():
        return nothing_to_plot(first_note(rows) or f"no query set of an idiom benchmark has a mean in the mode {mode}")
    lines = _shown(string_match, query_sets, mode, measures)
    lines = lines.filter(pl.col("usage") == "all", pl.col("match").is_in(list(LEVELS)), pl.col("mean").is_not_null())
    lines = lines.sort("match")
    look = look_of(systems, rows, "system")
    ends = [end for row in rows.iter_rows(named=True) for end in dot_of(row, "mean").ends()]
    scale = limits([*ends, *lines["mean"]])
    axis, several = _named(rows, mode, measures)
    parts = []
    for (corpus,), own in _by(rows, "corpus"):
        sets = [name for name in query_sets if name in set(own["query_set"])]
        panels = [(name + several.get(name, ""), own.filter(pl.col("query_set") == name)) for name in sets]
        parts.append(Part(corpus, panels, _by_mean(own, sets)))
    levels = dict(_by(lines, "corpus", "query_set"))

    def draw(axes: Axes, part: pl.DataFrame, names: Sequence[str]) -> None:
        for row in levels.get(part.select("corpus", "query_set").row(0), lines.clear()).iter_rows(named=True):
            axes.axvline(row["mean"], color=INK, linewidth=1, linestyle=LEVELS[row["match"]], zorder=1)
        dots = {row["system"]: dot_of(row, "mean") for row in part.iter_rows(named=True)}
        for height, system in enumerate(names):
            if system in dots:
                draw_dot(axes, height, dots[system], look[system])
        if part["mean"].is_null().all():
            _say(axes, part)
        axes.set_xlim(*scale)

    return _draw(parts, draw, axis, _handles_of(set(lines["match"])), len(parts) > 1)


def _named(rows: pl.DataFrame, mode: str, measures: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """What the axis is called, and what is said of each query set where their measures differ."""
    shown = {name: measures[name] for name in rows["query_set"].unique()}
    if len(set(shown.values())) == 1:
        return f"{next(iter(shown.values()))}, mean with 95% interval, mode {mode}", {}
    return f"mean with 95% interval, mode {mode}", {name: f", {measure}" for name, measure in shown.items()}


def plot_query_sets(
    leaderboard: pl.DataFrame,
    query_sets: Sequence[str],
    mode: str,
    measures: Mapping[str, str],
    systems: Iterable[str],
) -> Figure:
    """The systems with the highest means by how the query is read: a row for each query set. See ``plot_systems``."""
    from matplotlib import rc_context

    rows = _shown(leaderboard, query_sets, mode, measures)
    if rows["mean"].is_null().all():
        return nothing_to_plot(first_note(rows) or f"no query set of an idiom benchmark has a mean in the mode {mode}")
    rows = rows.filter(pl.col("mean").is_not_null())
    axis, several = _named(rows, mode, measures)
    look = look_of(systems, rows, "system")
    places = {corpus: part for (corpus,), part in _by(rows, "corpus")}
    best = {corpus: _highest(part) for corpus, part in places.items()}
    named = list(dict.fromkeys(system for names in best.values() for system in names))
    rows = rows.filter(pl.col("system").is_in(named))
    scale = limits(end for row in rows.iter_rows(named=True) for end in dot_of(row, "mean").ends())
    with rc_context(SETTINGS):
        bands = {c: [name for name in query_sets if name in set(part["query_set"])] for c, part in places.items()}
        heights = [STEP * len(bands[corpus]) * (len(best[corpus]) + 1) + 0.7 for corpus in places]
        figure = new_figure(sum(heights) + 0.3)
        subfigures = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        for subfigure, (corpus, part) in zip(subfigures, places.items(), strict=True):
            if len(places) > 1:
                heading(subfigure, corpus)
            _draw_bands(subfigure.add_subplot(), part, bands[corpus], best[corpus], look, several)
            axes = subfigure.axes[0]
            axes.set_xlim(*scale)
            few_ticks(axes, 0.6 * WIDTH)
        subfigures[-1].supxlabel(axis, fontsize=9)
        legend(figure, named, look)
        return figure


def _highest(rows: pl.DataFrame) -> list[str]:
    """The systems with the highest means by any query set, the highest first."""
    most = rows.group_by("system").agg(pl.col("mean").max()).sort("mean", "system", descending=[True, False])
    return most["system"].head(TOP).to_list()


def _draw_bands(
    axes: Axes,
    rows: pl.DataFrame,
    bands: Sequence[str],
    systems: Sequence[str],
    look: Mapping[str, Look],
    said: Mapping[str, str],
) -> None:
    """A band of rows for each query set, in each a row for each system; ``said`` goes behind the name of the set."""
    found = {(row["query_set"], row["system"]): row for row in rows.iter_rows(named=True)}
    size = len(systems) + 1
    for band, query_set in enumerate(bands):
        if band:
            axes.axhline(band * size - 1, color=FAINT, linewidth=0.6)
        for place, system in enumerate(systems):
            if (query_set, system) in found:
                draw_dot(axes, band * size + place, dot_of(found[query_set, system], "mean"), look[system])
    centres = [band * size + (size - 2) / 2 for band in range(len(bands))]
    axes.set_yticks(centres, [label(name + said.get(name, "")) for name in bands])
    axes.set_ylim(len(bands) * size - 1, -1)


def plot_confusion(
    confusion: pl.DataFrame,
    leaderboard: pl.DataFrame,
    query_sets: Sequence[str],
    mode: str,
    measures: Mapping[str, str],
) -> Figure:
    """What stands in the top R of each system: shares of a CONFUSION table, literal queries above idiomatic ones.

    The systems stand in the order of ``plot_systems``.
    """
    from matplotlib.patches import Patch

    rows = confusion.filter(pl.col("mode") == mode, pl.col("query_set").is_in(list(query_sets)))
    if rows["share"].is_null().all():
        return nothing_to_plot(first_note(rows) or f"no top R of a query on an idiom was counted in the mode {mode}")
    colours = {found: FOUND[found] for found in kinds_found(rows)}
    means = _shown(leaderboard, query_sets, mode, measures)
    orders = {
        corpus: _by_mean(part, [name for name in query_sets if name in set(part["query_set"])])
        for (corpus,), part in _by(means, "corpus")
    }
    parts = []
    for (corpus,), own in _by(rows, "corpus"):
        counted = set(own["system"])
        systems = [system for system in orders.get(corpus, []) if system in counted]
        systems += sorted(counted - set(systems))
        for usage in sorted(set(own["usage"]), key=_usage_order):
            part = own.filter(pl.col("usage") == usage)
            sets = [name for name in query_sets if name in set(part["query_set"])]
            panels = [(name, part.filter(pl.col("query_set") == name)) for name in sets]
            title = f"{usage} queries" if rows["corpus"].n_unique() == 1 else f"{corpus}: {usage} queries"
            parts.append(Part(title, panels, systems))

    def draw(axes: Axes, part: pl.DataFrame, names: Sequence[str]) -> None:
        shares = shares_found(part)
        for height, system in enumerate(names):
            left = 0.0
            for found, colour in colours.items():
                share = shares.get((system, found), 0.0)
                axes.barh(height, share, 0.78, left, color=colour, edgecolor=PAPER, linewidth=0.4, zorder=2)
                left += share
        if not shares:
            _say(axes, part)
        axes.set_xlim(0, 1)

    handles = [Patch(facecolor=colour, label=found) for found, colour in colours.items()]
    return _draw(parts, draw, f"share of the top R, mode {mode}", handles, titled=True)


def shares_found(rows: pl.DataFrame) -> dict[tuple[str, str], float]:
    """Of each system the share of the top R that is relevant, the same idiom in another use, another idiom, nothing.

    Args:
        rows: those of a CONFUSION table of one place and one use of the query.
    """
    kind = (
        pl.when(pl.col("relevant")).then(pl.lit("relevant"))
        .when(pl.col("idiom") == "same").then(pl.lit("same idiom, other use"))
        .when(pl.col("idiom") == "other").then(pl.lit("other idiom"))
        .otherwise(pl.lit("nothing"))
    )  # fmt: skip
    known = rows.filter(pl.col("share").is_not_null()).sort("system", "idiom", "found")
    sums = known.group_by("system", kind.alias("kind")).agg(pl.col("share").sum())
    return {(system, found): share for system, found, share in sums.iter_rows()}


def kinds_found(rows: pl.DataFrame) -> list[str]:
    """The parts of a top R to show, in order: empty places only where a list of these CONFUSION rows ends before R."""
    short = rows.filter(~pl.col("idiom").is_in(["same", "other"]), pl.col("share") > 0)
    return [kind for kind in FOUND if kind != "nothing" or len(short)]


def _shown(frame: pl.DataFrame, query_sets: Sequence[str], mode: str, measures: Mapping[str, str]) -> pl.DataFrame:
    """The rows of these query sets by their main measures in one mode."""
    return main_rows(frame.filter(pl.col("mode") == mode, pl.col("query_set").is_in(list(query_sets))), measures)


def _by(frame: pl.DataFrame, *keys: str) -> list[tuple[tuple[Any, ...], pl.DataFrame]]:
    """The parts of ``frame`` with equal ``keys``, sorted."""
    return sorted(frame.partition_by(list(keys), as_dict=True).items())


def _usage_order(usage: str) -> tuple[int, str]:
    return (USAGES.index(usage) if usage in USAGES else len(USAGES), usage)


def _by_mean(rows: pl.DataFrame, query_sets: Sequence[str]) -> list[str]:
    """The systems, the highest mean of the first query set first; then those that only others have, likewise."""
    order: dict[str, None] = {}
    for query_set in query_sets:
        part = rows.filter(pl.col("query_set") == query_set, pl.col("mean").is_not_null())
        order |= dict.fromkeys(part.sort("mean", "system", descending=[True, False])["system"])
    return list(order | dict.fromkeys(sorted(rows["system"].unique())))


def _say(axes: Axes, rows: pl.DataFrame) -> None:
    """Write in an empty panel why it is empty."""
    why = wrapped(first_note(rows) or "not estimable", NARROWEST)
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", fontsize=8)


def _handles_of(matches: Collection[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=INK, linewidth=1, linestyle=dashes, label=f"string match, {match}")
        for match, dashes in LEVELS.items()
        if match in matches
    ]


def _draw(
    parts: Sequence[Part],
    draw: Callable[[Axes, pl.DataFrame, Sequence[str]], None],
    axis: str,
    handles: Sequence[Any],
    titled: bool,
) -> Figure:
    """Parts below each other: in each a row for each system, and panels side by side that go on below if need be."""
    from matplotlib import rc_context

    with rc_context(SETTINGS):
        names = longest(system for part in parts for system in part.systems)
        room = WIDTH - CHARACTER * names - 0.3
        columns = balanced(max(len(part.panels) for part in parts), max(1, int(room / NARROWEST)))
        rows = [
            Part(part.title if titled and not first else "", part.panels[first : first + columns], part.systems)
            for part in parts
            for first in range(0, len(part.panels), columns)
        ]
        inches = room / columns
        heights = [
            STEP * len(row.systems) + 0.5 + 0.16 * _lines(row, inches) + (0.29 if row.title else 0) for row in rows
        ]
        heights[-1] += 0.25  # what the axis is called
        figure = new_figure(sum(heights) + (0.3 if handles else 0.1))
        subfigures = figure.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)[:, 0]
        for row, subfigure in zip(rows, subfigures, strict=True):
            if row.title:
                heading(subfigure, row.title)
            first = None
            for column, (title, part) in enumerate(row.panels):
                axes = subfigure.add_subplot(1, columns, column + 1, sharex=first)
                first = first or axes
                draw(axes, part, row.systems)
                axes.set_title(_title(title, inches), fontsize=9, fontweight="normal")
                few_ticks(axes, inches)
                axes.set_ylim(len(row.systems) - 0.4, -0.6)
                axes.set_yticks(range(len(row.systems)), [label(system) for system in row.systems])
                axes.tick_params(labelleft=column == 0)
        subfigures[-1].supxlabel(axis, fontsize=9)
        if handles:
            legend_of(figure, handles, max(len(handle.get_label()) for handle in handles))
        return figure


def _lines(row: Part, inches: float) -> int:
    return max(_title(title, inches).count("\n") + 1 for title, _ in row.panels)


def _title(text: str, inches: float) -> str:
    """The title of a panel, whose name may be broken behind an underscore."""
    return wrapped(text.replace("_", "_ "), inches).replace("_ ", "_")
