"""Queries in a table: a sheet that people fill in, or any spreadsheet of queries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from verseir.corpora.columns import folded
from verseir.faults import Fault, closest
from verseir.formats import count
from verseir.rows import Row, seen, unescaped

#: Usual names of our columns, the surest first, as in ``corpora.columns``.
USUAL = {
    "query_id": "query_id query_number query_no رقم_السؤال رقم_الاستعلام id رقم number no م",
    "text": "text query query_text question سؤال نص_السؤال استعلام نص_الاستعلام",
    "relevant": "relevant relevant_poems relevant_poem answer answers القصائد_المطلوبة القصيدة_المطلوبة إجابة جواب",
    "register": "register سجل مستوى",
}
#: What a column of answers is called where none is called as above: that of the poem.
_ANSWERS = "poem_id poem_ids poem_number poem_no رقم_القصيدة معرف_القصيدة poem قصيدة"
_KNOWN = {ours: [folded(name) for name in names.split()] for ours, names in USUAL.items()}

#: What parts the ids of a cell: a semicolon or a blank, a comma where a blank or nothing follows it.
_BETWEEN = re.compile(r"[;؛\s]+|[,،](?=\s|$)")
#: An id with a grade behind it.
_GRADED = re.compile(r"(.+):(\d{1,4})")


def query_rows(
    rows: list[Row], spec: Mapping[str, Any], label: str, faults: list[Fault], notes: list[str]
) -> list[Row]:
    """The rows of a table that are queries, under our names, and with ``relevant`` as {poem_id: grade}.

    A row whose ``text`` is blank is no query yet. Where no row has a ``query_id``, queries are called q1, q2, ... by
    their place in the table, also in one that is not filled in yet.
    """
    if not rows:
        return rows
    header = list(rows[0].values)
    taken = {ours: name for ours in USUAL if (name := _column(header, ours)) not in (None, ours)}
    needed = not (spec.get("qrels") or spec.get("judged") == "later")
    if needed and "relevant" not in header and "relevant" not in taken:
        names = [folded(name) for name in _ANSWERS.split()]
        known = [name for name in header if folded(name) in names and name not in taken.values()]
        if known:
            taken["relevant"] = min(known, key=lambda name: names.index(folded(name)))
    if taken:
        notes.append("columns: " + "; ".join(f"{ours} is '{name}'" for ours, name in sorted(taken.items())))
    rows = unescaped([Row(row.line, _named(row.values, taken)) for row in rows], [*header, *USUAL])
    ids = [name for name in ("query_id", "relevant") if name in rows[0].values]
    if n := sum(seen(row.values[name]) != row.values[name] for row in rows for name in ids):
        notes.append(f"{count(n, 'cell')} of ids with characters that show nothing: these are taken out")
        rows = [Row(row.line, row.values | {name: seen(row.values[name]) for name in ids}) for row in rows]
    for name in ("text", *(["relevant"] if needed else [])):
        if name not in rows[0].values:
            hint = f"columns: {{{name}: its name in the file}}; {closest(name, header)}"
            faults.append(Fault(label, 1, name, "there is no such column", hint))
            return []
    if not any(row.values.get("query_id", "").strip() for row in rows):
        rows = [Row(row.line, row.values | {"query_id": f"q{at}"}) for at, row in enumerate(rows, 1)]
        notes.append("queries have no ids: they are called q1, q2, ... from the top")
    asked = [row for row in rows if row.values["text"].strip()]
    if len(asked) < len(rows):
        notes.append(f"{count(len(rows) - len(asked), 'row')} of {len(rows):,} without a text passed over")
    if not asked:
        problem = f"is blank in all of {count(len(rows), 'row')}: there are no queries yet"
        faults.append(Fault(label, 1, "text", problem, "fill in what a reader would type, in one row at least"))
    return [_typed(row) for row in asked]


def _column(header: list[str], ours: str) -> str | None:
    """The column that is ``ours``; None where there is none."""
    if ours in header:
        return ours
    names = _KNOWN[ours]
    known = [name for name in header if folded(name) in names]
    return min(known, key=lambda name: names.index(folded(name)), default=None)


def _named(values: dict[str, Any], taken: Mapping[str, str | None]) -> dict[str, Any]:
    return values | {ours: values[name] for ours, name in taken.items() if name}


def _typed(row: Row) -> Row:
    """A row with its cells as JSON Lines have them: the register as we spell it, ids with their grades."""
    values: dict[str, Any] = {name: value.strip() for name, value in row.values.items()}
    if values.get("register"):
        values["register"] = re.sub(r"[\s_]+", "-", values["register"].lower())
    if values.get("relevant"):
        values["relevant"] = graded_ids(values["relevant"])
    return Row(row.line, values)


def graded_ids(cell: str) -> list[tuple[str, int]]:
    """Poem ids of a cell with their grades, 1 where none is given: ``poem-17:2; poem-3``."""
    found = []
    for part in filter(None, _BETWEEN.split(cell)):
        graded = _GRADED.fullmatch(part)
        found.append((graded[1], int(graded[2])) if graded else (part, 1))
    return found
