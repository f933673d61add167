"""Which poem a row of a spreadsheet belongs to: told by its ids, where they can be believed.

A column that is only called "No." may number the poems, or the verses of each poem anew. Ids of poems stand together:
where one comes again after another, the column numbers something else, and a poem column beside it says what parts
the poems. What cannot be told is a fault; poems are never mixed in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from verseir.corpora.columns import Taken, names_poems, surely_ids
from verseir.faults import Fault, shown
from verseir.formats import count, listing
from verseir.rows import Row, seen, whole_number

#: So few rows that a column which is another on each of them says nothing.
_FEW = 3
#: How many lines a warning names.
_NAMED = 5


def with_ids(
    rows: list[Row], taken: Taken, label: str, notes: list[str], warnings: list[str], faults: list[Fault]
) -> list[Row]:
    """Rows whose poems have ids: numbered where a row is a poem; filled down where a row is a verse."""
    if "poem_id" not in rows[0].values:
        if taken.shape == "verses":
            notes.append("there is no column of ids: poems are numbered from the top, poem-1, poem-2, ...")
            return [Row(row.line, row.values | {"poem_id": f"poem-{at}"}) for at, row in enumerate(rows, 1)]
        hint = "add one that says which poem a verse belongs to; if it has another name: columns: {poem_id: name}"
        faults.append(Fault(label, 1, "poem_id", "there is no such column, and a row is a verse", hint))
        return rows
    given = [row.values["poem_id"] for row in rows]
    if n := sum(seen(value) != value for value in given):
        notes.append(f"{count(n, 'id')} with characters that show nothing, such as marks of direction: taken out")
    rows = [
        Row(row.line, row.values | {"poem_id": seen(value).strip()}) for row, value in zip(rows, given, strict=True)
    ]
    if taken.shape == "verses":
        return _without_remarks(rows, warnings)
    if guessed := taken.columns.get("poem_id", ""):
        rows = _believed(rows, taken, guessed, label, notes, faults)
    elif lines := _scattered(_filled([row.values["poem_id"] for row in rows])):
        at, first = lines[0]
        problem = f"ids come again after the rows of other poems, such as '{shown(rows[at].values['poem_id'])}' on row"
        warnings.append(f"{problem} {rows[at].line}, first on row {rows[first].line}: they are read as one poem")
    return _filled_down(rows, notes, warnings)


def _filled(values: Sequence[str]) -> list[str]:
    filled, last = [], ""
    for value in values:
        last = value.strip() or last
        filled.append(last)
    return filled


def _scattered(ids: Sequence[str]) -> list[tuple[int, int]]:
    """The places of ids that come again after another one, each with that of its first row."""
    first: dict[str, int] = {}
    again = []
    for at, value in enumerate(ids):
        if value and value in first and ids[at - 1] != value:
            again.append((at, first[value]))
        first.setdefault(value, at)
    return again


def _believed(
    rows: list[Row], taken: Taken, column: str, label: str, notes: list[str], faults: list[Fault]
) -> list[Row]:
    """Rows with ids that may be believed, where ``column`` was only guessed to hold them."""
    ids = _filled([row.values["poem_id"] for row in rows])
    scattered = _scattered(ids)
    numbered = len(rows) >= _FEW and len(set(ids)) == len(ids)
    beside = [name for name in (*filter(names_poems, rows[0].values), "title") if name in rows[0].values]
    beside = [name for name in beside if name != column]
    mixed = any(_differs(ids, [row.values[name] for row in rows]) for name in beside)
    if not (scattered or numbered or mixed):
        return rows
    is_number = all(whole_number(row.values["poem_id"]) is not None for row in rows)
    if is_number and not surely_ids(column):
        for name in beside:
            parting = _filled([row.values[name] for row in rows])
            if not parting[0] or _scattered(parting) or len(set(parting)) == len(rows):
                continue
            runs = _numbers_run(parting, rows)
            if runs or numbered:
                return _parted(rows, parting, taken.columns.get(name, name), column, runs, notes)
    if scattered:
        at, first = scattered[0]
        problem = f"'{column}' was taken for the id of poems, and '{shown(ids[at])}' on row {rows[at].line} comes again"
        problem += f" after other ids, first on row {rows[first].line}: it may number the verses of each poem"
    elif numbered:
        problem = f"'{column}' is another on every row, so that each verse would be a poem of its own"
    else:
        problem = f"'{column}' was taken for the id of poems, and rows with one id differ in {listing(beside)}"
    hint = "name the column that says which poem a verse belongs to, columns: {poem_id: name}"
    hint += f"; if '{column}' numbers the verses: columns: {{poem_id: name, verse_index: '{column}'}}"
    faults.append(Fault(label, 1, "poem_id", problem, hint))
    return rows


def _differs(ids: Sequence[str], values: Sequence[str]) -> bool:
    """Whether two rows of one id have different values."""
    seen: dict[str, str] = {}
    return any(
        value.strip() and seen.setdefault(key, value.strip()) != value.strip()
        for key, value in zip(ids, values, strict=True)
    )


def _numbers_run(parting: Sequence[str], rows: Sequence[Row]) -> bool:
    """Whether the ids are the numbers of the verses of each poem, 0, 1, 2 ... or 1, 2, 3 ..., in any order."""
    numbers: dict[str, list[int]] = {}
    for poem, row in zip(parting, rows, strict=True):
        numbers.setdefault(poem, []).append(whole_number(row.values["poem_id"]) or 0)
    return all(
        sorted(found) == list(range(min(found), min(found) + len(found))) and min(found) in (0, 1)
        for found in numbers.values()
    )


def _parted(rows: list[Row], parting: Sequence[str], name: str, column: str, runs: bool, notes: list[str]) -> list[Row]:
    """Rows whose poems are told apart by ``parting``, and whose verses are numbered by what was taken for ids."""
    spaced = any(any(map(str.isspace, value)) for value in parting)
    places = {value: f"poem-{at}" for at, value in enumerate(dict.fromkeys(parting), 1)}
    told = f"'{column}' numbers the verses of each poem" if runs else f"'{column}' numbers the rows"
    ids = "poem-1, poem-2, ... from the top" if spaced else "its values"
    notes.append(f"{told}, and '{name}' says which poem a verse belongs to: the ids of the poems are {ids}")
    parted = []
    for row, value in zip(rows, parting, strict=True):
        index = {"verse_index": row.values["poem_id"]} if runs and "verse_index" not in row.values else {}
        title = {"title": value} if spaced and "title" not in row.values else {}
        parted.append(Row(row.line, row.values | index | title | {"poem_id": places[value] if spaced else value}))
    return parted


def _filled_down(rows: list[Row], notes: list[str], warnings: list[str]) -> list[Row]:
    """Rows of verses with the id of the poem above where they have none."""
    filled, last = [], ""
    without: list[Row] = []
    repeated = any(one.values["poem_id"] == two.values["poem_id"] != "" for one, two in pairwise(rows))
    for row in rows:
        if last and not row.values["poem_id"]:
            without.append(row)
        last = row.values["poem_id"] or last
        filled.append(Row(row.line, row.values | {"poem_id": last}))
    halves = "second" in rows[0].values
    lone = [row for row in without if halves and _n_filled(row) == 1]
    if repeated and without:
        told = f"{count(len(without), 'row')} without an id ({_lines(without)}), where ids stand on every row:"
        warnings.append(f"{told} each is read as a verse of the poem above it")
    elif lone:
        told = f"{count(len(lone), 'row')} with one cell only ({_lines(lone)}):"
        warnings.append(f"{told} each is read as a verse of the poem above it; take headings and remarks out")
    if without:
        notes.append(f"{count(len(without), 'row')} without an id: each belongs to the poem above it")
    return filled


def _without_remarks(rows: list[Row], warnings: list[str]) -> list[Row]:
    """Rows of poems but for those that hold one cell, and it is neither an id nor verses: headings and end notes."""
    remarks = [row for row in rows if not row.values["poem_id"] and not row.values["verses"].strip()]
    if remarks and len(remarks) < len(rows):
        warnings.append(f"{count(len(remarks), 'row')} without an id and verses passed over ({_lines(remarks)})")
        return [row for row in rows if row.values["poem_id"] or row.values["verses"].strip()]
    return rows


def _n_filled(row: Row) -> int:
    return sum(bool(row.values.get(name, "").strip()) for name in ("first", "second", "verse", "title", "verse_index"))


def _lines(rows: Sequence[Row]) -> str:
    lines = [str(row.line) for row in rows[:_NAMED]]
    return f"{'row' if len(rows) == 1 else 'rows'} {', '.join(lines)}{', ...' if len(rows) > _NAMED else ''}"
