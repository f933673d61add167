"""The places of the systems on known-item and on thematic queries, joined by lines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from verseir.analyses.dissociation import PLACE
from verseir.figures.panels import (
    CHARACTER,
    STEP,
    WIDTH,
    balanced,
    longest,
    look_of,
    mark,
    new_figure,
    nothing_to_plot,
    wrapped,
)
from verseir.figures.style import SETTINGS, label
from verseir.formats import interval, known, signed
from verseir.palette import INK, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Points of the lines of lexical systems, which lie above the others, and of those.
LEXICAL, OTHER = 2.2, 1.0
#: Inches: the lines at least, a place, and a gap beside the marks.
LINES, NUMBER, BESIDE = 0.8, 0.26, 0.1
#: Points of the names, and of what stands below the title.
NAMES, SMALL = 8.5, 8.0
#: Points from one line of text to the next.
LEADING = 11


class Panel(NamedTuple):
    """One known-item set against one thematic set by one measure: a row for each system, and tau in words."""

    place: dict[str, Any]
    rows: list[dict[str, Any]]
    said: str


class Room(NamedTuple):
    """Inches of a panel: the whole, a name, what is said of a move; and the points of a name."""

    whole: float
    name: float
    move: float
    points: float

    @property
    def ends(self) -> tuple[float, float]:
        """Where the lines begin and end."""
        edge = self.name + NUMBER + BESIDE
        return edge, self.whole - edge - self.move


def plot_rankings(
    dissociation: pl.DataFrame,
    moves: pl.DataFrame,
    base_mode: str,
    lexical: Collection[str],
    systems: Iterable[str] = (),
) -> Figure:
    """Draw a RANK_MOVES table: a panel for each corpus, known-item set, thematic set and measure of it.

    The place by the known-item mean stands to the left, that by the thematic mean to the right; tied systems share a
    place. Beside the right name stands the move with its interval, below the title Kendall's tau with its own.

    Args:
        dissociation: a DISSOCIATION table.
        moves: a RANK_MOVES table.
        base_mode: the mode that is shown.
        lexical: systems that match words: their lines are thick and their names bold.
        systems: all systems of the study, so that each looks the same in all figures.
    """
    if moves.is_empty():
        return nothing_to_plot("no corpus has both a known-item and a thematic query set with measured systems")
    shown = moves.filter(pl.col("mode") == base_mode)
    if shown.is_empty():
        return nothing_to_plot(f"no system was measured on both kinds of queries in the mode {base_mode}")
    taus = {
        tuple(row[name] for name in PLACE): row
        for row in dissociation.filter(pl.col("left_out").is_null()).iter_rows(named=True)
    }
    panels = []
    for key in sorted(set(shown.select(PLACE).iter_rows())):
        place = dict(zip(PLACE, key, strict=True))
        rows = shown.filter(*(pl.col(name) == value for name, value in place.items())).sort("system").to_dicts()
        panels.append(Panel(place, rows, _tau(taus.get(key))))
    return _draw(panels, lexical, look_of(systems, shown, "system"))


def _tau(row: Mapping[str, Any] | None) -> str:
    """``τ = +0.24 [-0.11, +0.51]``, or why there is none, or no interval."""
    if row is None or row["tau"] is None:
        return f"τ {(row or {}).get('note') or 'not estimable'}"
    ends = interval(row["ci_low"], row["ci_high"], 2, sign=True)
    if not known(row["ci_low"], row["ci_high"]):
        ends = f"({(row['note'] or ends).replace('interval not estimable', 'no interval')})"
    return f"τ = {signed(row['tau'], 2)} {ends}"


def _move(row: Mapping[str, Any]) -> str:
    """``+9 [+8, +9]``: places that the system falls."""
    if row["move_low"] is None or row["move_high"] is None:
        return _places(row["move"])
    return f"{_places(row['move'])} [{_places(row['move_low'])}, {_places(row['move_high'])}]"


def _places(move: float) -> str:
    return signed(move, 0 if move == int(move) else 1)


def _draw(panels: list[Panel], lexical: Collection[str], look: Mapping[str, Look]) -> Figure:
    from matplotlib import rc_context

    rows = [row for panel in panels for row in panel.rows]
    name = CHARACTER * longest(row["system"] for row in rows)
    move = CHARACTER * longest(map(_move, rows)) * SMALL / NAMES + BESIDE
    fixed = 2 * (NUMBER + BESIDE) + move + LINES
    columns = balanced(len(panels), max(1, int((WIDTH + 0.2) / (2 * name + fixed + 0.2))))
    whole = WIDTH / columns - 0.2
    fits = min(1.0, (whole - fixed) / (2 * name))
    room = Room(whole, fits * name, move, fits * NAMES)
    strips = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    with rc_context(SETTINGS):
        heads = [[_heads(panel, room) for panel in strip] for strip in strips]
        heights = [
            STEP * (max(len(panel.rows) for panel in strip) + 1.5)
            + 0.15 * max(sum(part.count("\n") + 1 for part in head) for head in head_row)
            + 0.3
            for strip, head_row in zip(strips, heads, strict=True)
        ]
        figure = new_figure(sum(heights))
        grid = figure.add_gridspec(len(strips), columns, height_ratios=heights)
        for line, (strip, head_row) in enumerate(zip(strips, heads, strict=True)):
            most = max(len(panel.rows) for panel in strip)
            for column, (panel, head) in enumerate(zip(strip, head_row, strict=True)):
                axes = figure.add_subplot(grid[line, column])
                axes.set_title(head[0], fontsize=9, pad=4 + LEADING * (head[1].count("\n") + 1))
                _draw_panel(axes, panel, room, lexical, look, head[1])
                axes.set_ylim(most + 0.6, -0.9)
        return figure


def _heads(panel: Panel, room: Room) -> tuple[str, str]:
    """The title of a panel and the line below it."""
    place = panel.place
    title = f"{place['corpus']}: {place['known_item']} against {place['thematic']}"
    return wrapped(title, room.whole, bold=True), wrapped(panel.said, room.whole)


def _draw_panel(
    axes: Axes, panel: Panel, room: Room, lexical: Collection[str], look: Mapping[str, Look], said: str
) -> None:
    left, right = room.ends
    axes.set_axis_off()
    axes.set_xlim(0, room.whole)
    axes.text(0, 1, said, transform=axes.transAxes, va="bottom", fontsize=SMALL, color=INK)
    for x, side, name in (
        (left, "right", panel.place["measure_known_item"]),
        (right, "left", panel.place["measure_thematic"]),
    ):
        axes.text(x, -0.1, label(name), ha=side, va="center", fontsize=SMALL, style="italic", color=INK)
    axes.text(room.whole, -0.1, "falls by", ha="right", va="center", fontsize=SMALL, style="italic", color=INK)
    slots = [_slots(panel.rows, rank) for rank in ("rank_known_item", "rank_thematic")]
    for row in panel.rows:
        system, ranks = row["system"], (row["rank_known_item"], row["rank_thematic"])
        words = system in lexical
        own, above = look[system], 2 * words
        line: dict[str, Any] = {"linewidth": LEXICAL if words else OTHER, "linestyle": own.dash}
        axes.plot([left, right], ranks, color=own.colour, zorder=2 + above, **line)
        axes.plot([left, right], ranks, color=own.colour, zorder=3 + above, **mark(own))
        style: dict[str, Any] = {"va": "center", "fontsize": room.points, "color": INK}
        style["fontweight"] = "bold" if words else "normal"
        for x, step, side, rank, slot in zip((left, right), (-1, 1), ("right", "left"), ranks, slots, strict=True):
            axes.text(x + step * BESIDE, slot[system], f"{rank:g}", ha=side, **style)
            axes.text(x + step * (BESIDE + NUMBER), slot[system], label(system), ha=side, **style)
        axes.text(room.whole, slots[1][system], _move(row), ha="right", va="center", fontsize=SMALL, color=INK)


def _slots(rows: list[dict[str, Any]], rank: str) -> dict[str, float]:
    """Where each name stands: tied systems share a place, but their names stand one below the other."""
    return {
        row["system"]: float(place) for place, row in enumerate(sorted(rows, key=lambda r: (r[rank], r["system"])), 1)
    }
