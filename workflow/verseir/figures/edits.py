"""What edits of the query do: the change of each system under each edit, with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import polars as pl

from verseir.analyses.edited import CHANGE
from verseir.figures.panels import (
    Panel,
    Strip,
    counted,
    dot_of,
    draw_strips,
    first_note,
    look_of,
    main_rows,
    nothing_to_plot,
)
from verseir.orders import edit_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_edits(edits: pl.DataFrame, mode: str, measures: Mapping[str, str], systems: Iterable[str]) -> Figure:
    """Draw the changes in an EDITS table: a strip for each corpus and source set, a panel for each edit.

    Args:
        edits: an EDITS table.
        mode: the indexing mode that is shown.
        measures: query set -> its main measure.
        systems: all systems of the study, so that each looks the same in all figures.
    """
    if edits.is_empty():
        return nothing_to_plot("no edited query was searched beside its original")
    changes = edits.filter(pl.col("effect") == CHANGE, pl.col("mode") == mode)
    if changes.is_empty():
        return nothing_to_plot(f"no edited query was searched in the mode {mode}")
    rows = main_rows(changes, measures).sort("corpus", "source_query_set", "edit", "query_set", "a")
    if rows.is_empty():
        return nothing_to_plot("the edited query sets are not measured by their main measures")
    strips = []
    for (corpus, source, measure), part in rows.group_by("corpus", "source_query_set", "measure", maintain_order=True):
        names = part.select("query_set", "edit").unique()["edit"].to_list()
        found = []
        for (edit, query_set), cell in part.group_by("edit", "query_set", maintain_order=True):
            twin = f" in {query_set}" if names.count(edit) > 1 else ""  # two sets with an edit of one name
            dots = {row["a"]: dot_of(row) for row in cell.iter_rows(named=True)}
            note = first_note(cell)
            found.append((edit_order(edit), Panel(counted(f"{edit}{twin}", cell["n"][0]), dots, note)))
        panels = [panel for _, panel in sorted(found, key=lambda pair: pair[0])]
        strips.append(Strip(f"{corpus}: {source} as edited, {measure}, {mode} indexed", panels))
    shown = sorted(rows["a"].unique())
    return draw_strips(strips, shown, look_of(systems, rows, "a"), "change on the same queries, 95% interval")
