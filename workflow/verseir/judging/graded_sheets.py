"""Sheets on which people grade what a judge grades: all of the pool of a part of the queries, by a rubric."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import polars as pl

from verseir.faults import UserError
from verseir.judging.annotations import GRADES
from verseir.judging.pool import items
from verseir.judging.rubrics import Rubric, read_rubric
from verseir.judging.sheet_page import Answer, Question

#: The points that a page can ask for: one key chooses each.
_KEYS = range(10)


def sheet_rubric(path: str | Path) -> Rubric:
    """The rubric in a file, for people to grade by.

    Raises:
        InputFaults: all that is wrong with the file.
        UserError: a point of the scale is no digit, so that no key of a page chooses it.
    """
    rubric = read_rubric(path)
    wrong = [point for point in rubric.scale if point not in _KEYS]
    if wrong:
        problem = f"people cannot grade by {path}: {wrong[0]} on its scale is none of 0 to 9"
        raise UserError(problem, "give the sheet a rubric of its own: judging.sheets.<sheet>.rubric")
    return rubric


def sheet_grades(path: str | Path | None) -> tuple[int, ...]:
    """The scale of a sheet, by the file of its rubric, ascending; ``GRADES`` without one. Raises as above."""
    return sheet_rubric(path).scale if path else GRADES


def question_of(rubric: Rubric) -> Question:
    """What people are asked by a rubric: its overall aspect, with its anchors as answers."""
    aspect = rubric.overall
    answers = (Answer(str(point), aspect.anchors[point], str(point)) for point in rubric.scale)
    return Question("grade", aspect.question, tuple(answers))


def part_sheet(pool: pl.DataFrame, query_ids: Collection[str], corpus: str, query_set: str, seed: int) -> pl.DataFrame:
    """The SHEET of every item of a pool that is of the queries in a part; its items have the ids that they have there.

    Args:
        pool: POOL of a corpus and query set.
        query_ids: the queries of the part; of some the pool may hold nothing.
        corpus, query_set: their names.
        seed: of the order in which the items stand.
    """
    return items(pool.filter(pl.col("query_id").is_in(sorted(query_ids))), corpus, query_set, seed)
