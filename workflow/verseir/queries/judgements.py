"""Relevance judgements: in the rows of a query set, or in a file of their own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from verseir.faults import Fault, first_few
from verseir.rows import Row, is_delimited, json_type, read_rows, read_utf8

#: Grades are few; what is larger is another column. A query set may say that its own are fewer: ``max_grade``.
LARGEST = 1000


@dataclass(frozen=True, slots=True)
class Judgement:
    """The grade of one poem for one query, and where it was read."""

    query_id: str
    poem_id: str
    grade: int
    file: str
    line: int


class Judgements(NamedTuple):
    """Judgements, each pair once. One whose grade is a fault is among them, with grade 1: it may have been positive.

    Where they are not ``complete``, some could not be read, and nothing follows from what is not among them.
    """

    rows: list[Judgement]
    complete: bool = True


def relevant_of(query_id: str, row: Row, label: str, faults: list[Fault], largest: int = LARGEST) -> Judgements:
    """The judgements in the field ``relevant`` of a query: one poem_id, a list of them, or {poem_id: grade}.

    A table gives pairs of an id and a grade (see ``sheet``). Poems without a grade have grade 1. Grades go to
    ``largest``.
    """
    value = row.values.get("relevant")
    if value is None:
        return Judgements([])
    if isinstance(value, str):
        pairs = [(poem_id, 1) for poem_id in value.split()]
    elif isinstance(value, list):
        pairs = [given if isinstance(given, tuple) else (given, 1) for given in value]
    elif isinstance(value, dict):
        pairs = list(value.items())
    else:
        problem = f"is {json_type(value)}, expected poem ids"
        faults.append(Fault(label, row.line, "relevant", problem, '"id", ["id", ...] or {"id": grade, ...}'))
        return Judgements([], complete=False)
    found = [_judgement(query_id, *pair, label, row.line, "relevant", faults, largest) for pair in pairs]
    judgements = [judgement for judgement in found if judgement is not None]
    return Judgements(_without_repeats(judgements, "relevant", faults), len(judgements) == len(found))


def read_qrels(
    path: Path,
    label: str,
    query_ids: Collection[str],
    faults: list[Fault],
    all_rows: bool = True,
    largest: int = LARGEST,
) -> Judgements:
    """The judgements in a file.

    Tables (``.csv``, ``.tsv``, ``.xlsx``) and ``.jsonl`` have columns ``query_id``, ``poem_id``, ``grade``; any other
    file is in the format of TREC: query_id, iteration, poem_id, grade (or without the iteration) parted by blanks, and
    no header. Rows of unknown queries are faults, or passed over when ``all_rows`` is False. Grades go to ``largest``.
    """
    before = len(faults)
    # A query without an id, or in a line that cannot be read, may be the one that a row names.
    unnamed = any(fault.field in ("", "query_id") for fault in faults)
    strange: list[Fault] = []
    if is_delimited(path) or path.suffix.lower() == ".jsonl":
        rows = read_rows(path, label, faults)
    else:
        rows = _trec_rows(path, label, faults)
    judgements, complete = [], len(faults) == before
    for row in rows:
        missing = [name for name in ("query_id", "poem_id", "grade") if row.values.get(name) in (None, "")]
        for name in missing:
            faults.append(Fault(label, row.line, name, "is missing", "columns: query_id, poem_id, grade"))
        if missing:
            complete = False
            continue
        query_id = str(row.values["query_id"])
        if query_id not in query_ids:
            if all_rows:
                problem = f"no query of the set is called '{query_id}'"
                hint = "check the id, or take the row out"
                strange.append(Fault(label, row.line, "query_id", problem, hint, unnamed))
            continue
        pair = row.values["poem_id"], row.values["grade"]
        if judgement := _judgement(query_id, *pair, label, row.line, "grade", faults, largest):
            judgements.append(judgement)
        else:
            complete = False
    faults += first_few(strange)
    return Judgements(_without_repeats(judgements, "poem_id", faults), complete)


def _trec_rows(path: Path, label: str, faults: list[Fault]) -> list[Row]:
    rows = []
    for number, line in enumerate(read_utf8(path, label, faults).split("\n"), 1):
        cells = line.split()
        if len(cells) in (3, 4):
            rows.append(Row(number, {"query_id": cells[0], "poem_id": cells[-2], "grade": cells[-1]}))
        elif cells:
            problem = f"has {len(cells)} columns, expected 4"
            faults.append(Fault(label, number, "", problem, "query_id 0 poem_id grade"))
    return rows


def _judgement(
    query_id: str, poem_id: Any, grade: Any, label: str, line: int, name: str, faults: list[Fault], largest: int
) -> Judgement | None:
    if not isinstance(poem_id, str) or not poem_id:
        problem = f"holds {json_type(poem_id) if poem_id != '' else 'an empty id'}, expected the id of a poem"
        faults.append(Fault(label, line, name, problem, "put ids in quotes"))
        return None
    if isinstance(grade, str) and grade.strip().isascii() and grade.strip().isdigit() and len(grade.strip()) < 10:
        grade = int(grade)
    if isinstance(grade, bool) or not isinstance(grade, int) or not 0 <= grade <= largest:
        hint = f"a grade is a whole number from 0 (not relevant) to {largest}"
        faults.append(Fault(label, line, name, f"the grade of poem '{poem_id}' is {grade!r}", hint))
        grade = 1
    return Judgement(query_id, poem_id, grade, label, line)


def _without_repeats(judgements: list[Judgement], name: str, faults: list[Fault]) -> list[Judgement]:
    first: dict[tuple[str, str], Judgement] = {}
    for judgement in judgements:
        seen = first.setdefault((judgement.query_id, judgement.poem_id), judgement)
        if seen is not judgement:
            where = f", first on line {seen.line}" if seen.line != judgement.line else ""
            problem = f"poem '{judgement.poem_id}' is judged twice for query '{judgement.query_id}'{where}"
            faults.append(Fault(judgement.file, judgement.line, name, problem, "keep one"))
    return list(first.values())
