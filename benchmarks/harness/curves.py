"""Seconds over size, both logarithmic: a panel for each line and number of threads, ours and each peer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.results import Row

COLUMNS = 3
OURS, PEERS, GREY = "#1b6ca8", ("#d1662c", "#8c8c8c", "#a58a2d"), "#555555"


def draw_growth(rows: Sequence[Row], growth: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the panels of all lines that were timed at two sizes or more.

    Args:
        growth: what ``results.growth`` gave of the rows.
    """
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "growth", "svg.fonttype": "none", "font.family": "sans-serif"})
    import matplotlib.pyplot as plt

    panels = list(dict.fromkeys((part["line"], part["threads"]) for part in growth))
    several = {line for line, _ in panels if sum(line == other for other, _ in panels) > 1}
    deep, columns = -(-len(panels) // COLUMNS), min(COLUMNS, len(panels))
    figure, grid = plt.subplots(deep, columns, figsize=(3.6 * columns, 2.9 * deep), squeeze=False)
    for axes in grid.ravel()[len(panels) :]:
        axes.set_axis_off()
    for axes, (line, threads) in zip(grid.ravel(), panels, strict=False):
        _draw_panel(axes, rows, [part for part in growth if (part["line"], part["threads"]) == (line, threads)])
        title = f"{line}, {threads} thread{'s' * (threads > 1)}" if line in several else line
        axes.set_title(title, fontsize=9, loc="left", fontweight="bold", color="#222222")
    figure.tight_layout(h_pad=1.6, w_pad=1.4)
    figure.savefig(path, format="svg", metadata={"Date": None})
    plt.close(figure)


def _draw_panel(axes: Any, rows: Sequence[Row], growth: Sequence[dict[str, Any]]) -> None:
    times: list[float] = []
    for number, part in enumerate(growth):
        key = part["line"], part["peer"], part["threads"]
        timed = sorted(
            (row for row in rows if (row.line, row.peer, row.threads) == key and row.ratio is not None),
            key=lambda row: row.size,
        )
        sizes = [row.size for row in timed]
        if number == 0:
            ours = [row.ours_s or 0.0 for row in timed]
            axes.plot(sizes, ours, "o-", color=OURS, markersize=3.5, zorder=3, label=f"ours  n^{part['ours'][0]:.2f}")
            times += ours
        theirs = [row.peer_s or 0.0 for row in timed]
        label, color = f"{part['peer']}  n^{part['theirs'][0]:.2f}", PEERS[number % len(PEERS)]
        axes.plot(sizes, theirs, "s-", color=color, markersize=3, linewidth=1, label=label)
        times += theirs
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(min(times) / 2, max(times) * 8 ** (1 + len(growth) / 4))  # room for the legend
    axes.set_xlabel(timed[0].unit, fontsize=7.5, color=GREY)
    axes.set_ylabel("seconds", fontsize=7.5, color=GREY)
    axes.tick_params(labelsize=7, colors=GREY, length=2, which="both")
    axes.minorticks_off()
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.grid(True, which="major", color="#e6e6e6", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#bbbbbb")
    axes.legend(fontsize=6.5, frameon=False, loc="upper left", handlelength=1.4, borderaxespad=0.2, labelspacing=0.25)
