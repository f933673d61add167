"""Query sets that the study graded itself: queries, pairs of each grade, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verseir.formats import count, listing, percent
from verseir.judging.labels import PEOPLE
from verseir.report.panel import Column, Panel, grid, text, whole
from verseir.report.sections import Cell
from verseir.report.wording import Tables

LEDE = (
    "The study itself graded these query sets: what is relevant is what a judge or people said of a pool. What was not "
    "pooled was not judged and counts as not relevant; a system that did not help to fill the pool may find poems that "
    "answer and are not in it."
)


def labels(tables: Tables) -> Panel | None:
    """One row a graded set, with a column for each grade; None where the study has none."""
    if "labels" not in tables or tables["labels"].is_empty():
        return None
    frame = tables["labels"]
    grades = sorted(frame["grade"].unique())
    rows = [_row(own.sort("grade").to_dicts()) for own in frame.partition_by("query_set", maintain_order=True)]
    columns = [
        text("query_set", "Query set"),
        text("parent", "Queries of"),
        text("part", "Part"),
        text("labelled_by", "Graded by"),
        whole("n_queries", "Queries"),
        whole("n_left_out", "left out"),
        *(_of_grade(grade) for grade in grades),
        whole("n_unscored", "Items without a grade"),
    ]
    shown = grid(rows, "Queries, and judged poems by grade; a poem that has copies is counted with each", columns)
    return Panel("labels", "How queries were graded", LEDE, [_said(row) for row in rows], [shown], ["labels"])


def _row(own: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return dict(own[0]) | {"grades": {row["grade"]: row["n_pairs"] for row in own}}


def _of_grade(grade: int) -> Column:
    def cell(row: Mapping[str, Any]) -> Cell:
        n = row["grades"].get(grade)
        return Cell("") if n is None else Cell(f"{n:,}", n)

    return Column(f"Grade {grade}", cell)


def _said(row: Mapping[str, Any]) -> str:
    judged = sum(row["grades"].values())
    positive = sum(n for grade, n in row["grades"].items() if grade > 0)
    part = "" if row["part"] == "all" else f", part {row['part']}"
    by = f"people on the sheet {row['labelled_by']}" if row["source"] == PEOPLE else f"the judge {row['labelled_by']}"
    share = f" ({percent(positive / judged)})" if judged else ""
    left = [
        *([f"{count(row['n_left_out'], 'query', 'queries')} without a grade above 0"] if row["n_left_out"] else []),
        *([f"{count(row['n_unscored'], 'item')} without a grade"] if row["n_unscored"] else []),
    ]
    lost = f"; left out: {listing(left)}" if left else ""
    return (
        f"{row['query_set']} ({row['parent']}{part}): {count(row['n_queries'], 'query', 'queries')}, graded by {by}; "
        f"{positive:,} of {count(judged, 'judged pair')}{share} have a grade above 0{lost}."
    )
