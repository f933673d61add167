"""The share of relevant poems that each system finds, by shared words and by the language of the poem."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from verseir.analyses.shared_pairs import ALL, LANGUAGE, NONE, SAME, SCRIPT, SHARES
from verseir.figures.panels import CHARACTER, STEP, WIDTH, heading, longest, new_figure, nothing_to_plot
from verseir.figures.style import SETTINGS, label
from verseir.formats import known, printed
from verseir.palette import INK, PAPER, SERIES

if TYPE_CHECKING:
    from matplotlib.figure import SubFigure

#: Inches: the widest cell, and the narrowest that holds two digits.
WIDEST, NARROWEST = 0.62, 0.2
#: How dark the cell of a share of 1 is: numbers are read on it.
DARKEST = 0.58
#: A cell of no relevant poem.
ABSENT = "–"


class Column(NamedTuple):
    """What stands above a column, and which rows of the table are in it."""

    heading: str
    attribute: str
    value: str
    wording: str


def plot_languages(found: pl.DataFrame, base_mode: str) -> Any:
    """Draw a FOUND_BY_LANGUAGE table: of each query set a row for each system, a column for each kind of poem.

    Numbers are percent of the relevant poems of the column that stand within the first k places; the darker, the more.

    Args:
        found: the table.
        base_mode: the mode that is shown; of a corpus that has not got it, the first that it has.
    """
    from matplotlib import rc_context

    if found.is_empty():
        return nothing_to_plot("no query set with many relevant poems was searched")
    parts = []
    for _, part in sorted(found.partition_by(["corpus", "query_set"], as_dict=True).items()):
        modes = sorted(part["mode"].unique())
        parts.append(part.filter(pl.col("mode") == (base_mode if base_mode in modes else modes[0])))
    with rc_context(SETTINGS):
        columns = [_columns(part) for part in parts]
        beside = CHARACTER * longest(pl.concat(parts)["system"].unique()) + 0.25
        turned = [any(len(one.heading) * CHARACTER > _width(own, beside) for one in own) for own in columns]
        heights = [
            0.5 + STEP * 1.2 * part["system"].n_unique() + (CHARACTER * longest(one[0] for one in own) if turn else 0.2)
            for part, own, turn in zip(parts, columns, turned, strict=True)
        ]
        figure = new_figure(sum(heights))
        subfigures = figure.subfigures(len(parts), 1, height_ratios=heights, squeeze=False)[:, 0]
        several = len({part["corpus"][0] for part in parts}) > 1
        for part, own, turn, subfigure in zip(parts, columns, turned, subfigures, strict=True):
            _draw(subfigure, part, own, turn, beside, several)
        return figure


def _columns(rows: pl.DataFrame) -> list[Column]:
    """All relevant poems, by shared words, by script, by language."""
    there = set(rows.select("attribute", "value", "wording").iter_rows())
    languages = sorted(value for attribute, value, wording in there if attribute == LANGUAGE and wording == ALL)
    found = [Column("all", ALL, ALL, ALL)]
    found += [Column(name, ALL, ALL, name) for name in (SHARES, NONE)]
    found += [
        Column("same script" if value == SAME else "other script", SCRIPT, value, ALL)
        for _, value, _ in sorted((key for key in there if key[0] == SCRIPT), key=lambda key: key[1] != SAME)
        if (SCRIPT, value, ALL) in there
    ]
    found += [Column(name, LANGUAGE, name, ALL) for name in languages]
    return [one for one in dict.fromkeys(found) if one[1:] in there]


def _width(columns: Sequence[Column], beside: float) -> float:
    return min(WIDEST, max(NARROWEST, (WIDTH - beside) / len(columns)))


def _draw(
    subfigure: SubFigure, rows: pl.DataFrame, columns: Sequence[Column], turned: bool, beside: float, several: bool
) -> None:
    from matplotlib.patches import Rectangle

    first = rows.row(0, named=True)
    where = f"{first['query_set']} on {first['corpus']}" if several else first["query_set"]
    heading(subfigure, f"{where}: percent of relevant poems in the first {first['k']}")
    cells = {(row["system"], row["attribute"], row["value"], row["wording"]): row["found"] for row in rows.to_dicts()}
    systems = sorted(rows["system"].unique())
    axes = subfigure.add_subplot()
    width = _width(columns, beside)
    for i, system in enumerate(systems):
        for j, column in enumerate(columns):
            share = cells.get((system, *column[1:]))
            if share is not None and known(share):
                shade: dict[str, Any] = {"alpha": DARKEST * share, "edgecolor": PAPER, "linewidth": 1}
                axes.add_patch(Rectangle((j, i), 1, 1, facecolor=SERIES[0], **shade))
            size = 8.5 if width > 0.3 else 6.5
            axes.text(j + 0.5, i + 0.5, _percent(share), ha="center", va="center", fontsize=size, color=INK)
    # As many inches to a cell as its width: what is left of the line stays empty.
    axes.set_xlim(0, max(len(columns), (WIDTH - beside) / width))
    axes.set_ylim(len(systems), 0)
    axes.set_yticks([i + 0.5 for i in range(len(systems))], [label(system) for system in systems])
    turn: Mapping[str, Any] = {"rotation": 90} if turned else {}
    axes.set_xticks([j + 0.5 for j in range(len(columns))], [label(one.heading) for one in columns], **turn)
    axes.tick_params(top=False, bottom=False, left=False, labeltop=True, labelbottom=False, labelsize=8)
    axes.spines["bottom"].set_visible(False)
    axes.grid(visible=False)


def _percent(share: float | None) -> str:
    """``43``; a share that is not zero never looks like zero, nor one that is not all like all."""
    if share is None or not math.isfinite(share):
        return ABSENT
    if 0 < share < 0.005:
        return "<1"
    return ">99" if 0.995 <= share < 1 else printed(100 * share, ".0f")
