"""Judgements from people: files of annotations, on a scale from 0 to 2 or on that of a rubric."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from verseir.faults import Fault, InputFaults, closest, shown
from verseir.judging.pool import item_id
from verseir.rows import (
    FORBIDDEN,
    Row,
    as_found,
    is_delimited,
    json_type,
    read_rows,
    starts_formula,
    unescaped,
    whole_number,
)
from verseir.tables import define

#: The scale of annotations on sheets without a rubric.
GRADES = (0, 1, 2)
ANNOTATIONS = define(
    "annotations",
    {
        "item_id": pl.String,
        "query_id": pl.String,
        "poem_id": pl.String,
        "annotator": pl.String,
        "grade": pl.Int64,
        "remark": pl.String,
    },
    nullable="remark",
    unique="item_id annotator",
)
#: Names that tables give to annotators together, so no annotator can have them.
RESERVED = ("all", "mean of annotators")
#: The longest name of an annotator, in characters: it stands in tables and figures.
LONGEST_NAME = 80
_ITEM_ID = re.compile("i[0-9a-f]{12}")

_Fault = Callable[[str, str, str], None]


@dataclass(frozen=True)
class Judgeable:
    """What can be judged: the items of sheets and pools (SHEET), and beyond them any query on any poem.

    A sheet that is drawn again, after a system was added, has other items: grades of those that left it still count
    where a row names query and poem, and are passed over where it has nothing but an id.
    """

    corpus: str
    query_set: str
    #: None where no sheet is drawn yet: any id that has the form of one will do.
    items: pl.DataFrame | None
    query_ids: Collection[str]
    poem_ids: Collection[str]
    #: The scale, ascending.
    grades: tuple[int, ...] = GRADES


@dataclass
class _Items:
    """Query and poem of each item by its id, ids by query and poem, and how many rows named an item of no sheet."""

    of: Judgeable
    pairs: dict[str, tuple[str, str]] = field(init=False)
    ids: dict[tuple[str, str], str] = field(init=False)
    n_outside: int = 0

    def __post_init__(self) -> None:
        rows = [] if self.of.items is None else self.of.items.select(_NAMES).rows()
        self.pairs = {name: (query_id, poem_id) for name, query_id, poem_id in rows}
        self.ids = {pair: name for name, pair in self.pairs.items()}

    def named_by(self, values: Mapping[str, Any], fault: _Fault) -> str | None:
        """The item that a row names, by its id or by query and poem; None with a fault where there is none."""
        texts = {name: _text(values.get(name), name, fault) for name in ("item_id", "query_id", "poem_id")}
        if None in texts.values():
            return None
        name, pair = texts["item_id"] or "", (texts["query_id"] or "", texts["poem_id"] or "")
        if name:
            return self._by_id(name, pair, fault)
        if all(pair):
            return self._by_pair(pair, fault)
        fault("item_id", "names no item", "item_id, or query_id and poem_id")
        return None

    def _by_id(self, name: str, pair: tuple[str, str], fault: _Fault) -> str | None:
        if name not in self.pairs and all(pair):
            named = self._by_pair(pair, fault)
            if named is None or named == name:
                return named
        if name not in self.pairs:
            if _ITEM_ID.fullmatch(name) and not any(pair):
                self.n_outside += 1
            else:
                fault("item_id", f"no item '{shown(name)}' in this sheet", closest(name, self.pairs))
            return None
        for column, given, own in zip(("query_id", "poem_id"), pair, self.pairs[name], strict=True):
            if given and given != own:
                fault(column, f"is '{shown(given)}', but item '{name}' is of '{own}'", "the rows may have been shifted")
                return None
        return name

    def _by_pair(self, pair: tuple[str, str], fault: _Fault) -> str | None:
        if pair[0] not in self.of.query_ids:
            fault(
                "query_id", f"no query '{shown(pair[0])}' in {self.of.query_set}", closest(pair[0], self.of.query_ids)
            )
        elif pair[1] not in self.of.poem_ids:
            fault("poem_id", f"no poem '{shown(pair[1])}' in {self.of.corpus}", closest(pair[1], self.of.poem_ids))
        else:
            name = self.ids.setdefault(pair, item_id(self.of.corpus, self.of.query_set, *pair))
            self.pairs[name] = pair
            return name
        return None


@dataclass(frozen=True)
class Annotated:
    """What people said: ANNOTATIONS, how many items each left open, and how many rows were of items of no sheet."""

    annotations: pl.DataFrame
    n_open: Mapping[str, int]
    n_outside: int = 0

    def __str__(self) -> str:
        graded = dict(self.annotations["annotator"].value_counts().iter_rows())
        told = [f"{name} graded {graded[name]}, {n} items left open" for name, n in sorted(self.n_open.items())]
        outside = f"{self.n_outside} rows of items that are no longer on the sheet were passed over"
        return "; ".join([*told, *([outside] if self.n_outside else [])])


def read_annotations(files: Sequence[tuple[Path, str]], judgeable: Judgeable) -> Annotated:
    """The grades in annotation files (CSV, TSV or JSON Lines), sorted by item and annotator.

    A row has ``item_id``, or ``query_id`` and ``poem_id`` (exact ones: a duplicate of the poem is another item);
    ``grade``, a point of the scale, empty where the annotator could not decide; ``annotator``, which a file of one
    annotator may leave out, since it is then called after the file; and perhaps ``remark``. Other columns are passed
    over.

    Args:
        files: each with what messages call it.
        judgeable: what they may name.

    Raises:
        InputFaults: all that is wrong with all files.
    """
    known, faults = _Items(judgeable), list[Fault]()
    shown = set(known.pairs)
    rows: list[tuple[Any, ...]] = []
    places: dict[tuple[str, str], tuple[str, int]] = {}
    for path, label in sorted(files, key=lambda file: file[1]):
        for line, name, who, grade, remark in _read_file(path, label, known, faults):
            if (name, who) in places:
                file, first = places[name, who]
                told = " and ".join(
                    f"{column} '{value}'" for column, value in zip(_NAMES[1:], known.pairs[name], strict=True)
                )
                problem = f"'{who}' graded item '{name}' ({told}) twice"
                hint = f"the first is {file}:{first}; take one out, or name the annotators apart"
                faults.append(Fault(label, line, "item_id", problem, hint))
                continue
            places[name, who] = label, line
            rows.append((name, *known.pairs[name], who, grade, remark))
    if faults:
        raise InputFaults(faults)
    frame = pl.DataFrame(rows, schema=dict(ANNOTATIONS.columns), orient="row").sort("item_id", "annotator")
    on_sheet = frame.filter(pl.col("item_id").is_in(list(shown)))
    graded = {name: len(on_sheet.filter(pl.col("annotator") == name)) for name in frame["annotator"].unique()}
    return Annotated(frame, {name: len(shown) - n for name, n in graded.items()}, known.n_outside)


_NAMES = ["item_id", "query_id", "poem_id"]


def _read_file(
    path: Path, label: str, known: _Items, faults: list[Fault]
) -> list[tuple[int, str, str, int, str | None]]:
    """Line, item, annotator, grade and remark of the graded rows of a file."""
    before = len(faults)
    rows = read_rows(path, label, faults)
    if is_delimited(path):
        rows = unescaped(rows, (*_NAMES, "annotator"))
    present = set[str]().union(*(row.values for row in rows))
    absent = _absent(present) if rows else []
    for name in absent:  # said once, not of each row
        faults.append(Fault(label, 0, name, "no row has this field", closest(name, present)))
    if absent:
        return []
    filled = [row for row in rows if _filled(row.values.get("grade"))]
    named = any(_filled(row.values.get("annotator")) for row in rows)
    graded = []
    for row in rows:
        fault = _fault_of(label, row, faults)
        item, grade = known.named_by(row.values, fault), _grade(row.values.get("grade"), known.of.grades, fault)
        if not _filled(row.values.get("grade")):
            continue
        who = annotator(row.values.get("annotator") if named else path.stem, fault)
        remark = _remark(row.values.get("remark"), fault)
        if item is not None and grade is not None and who is not None:
            graded.append((row.line, item, who, grade, remark))
    if not filled and len(faults) == before:
        faults.append(Fault(label, 0, "grade", "has no grade", "was the sheet saved before it was filled in?"))
    elif not graded and len(faults) == before and known.of.items is not None:
        faults.append(Fault(label, 0, "item_id", "no row is of an item of this sheet", "is it of another sheet?"))
    return graded


def _absent(present: set[str]) -> list[str]:
    """The columns that a file must have and has not."""
    if "item_id" in present:
        items = []
    elif present & {"query_id", "poem_id"}:
        items = [name for name in ("query_id", "poem_id") if name not in present]
    else:
        items = ["item_id"]
    return items + ([] if "grade" in present else ["grade"])


def _fault_of(label: str, row: Row, faults: list[Fault]) -> _Fault:
    return lambda name, problem, hint: faults.append(Fault(label, row.line, name, problem, hint))


def _filled(value: Any) -> bool:
    return value is not None and (not isinstance(value, str) or bool(value.strip()))


def _text(value: Any, name: str, fault: _Fault) -> str | None:
    """A name, empty where it is not given; None with a fault where it is no text."""
    if value is None:
        return ""
    if not isinstance(value, str):
        fault(name, f"is {json_type(value)}, expected text", "put it in quotes")
        return None
    return value.strip()


def _grade(value: Any, grades: tuple[int, ...], fault: _Fault) -> int | None:
    """A grade; None where the item was left open, and with a fault where it is no grade."""
    if not _filled(value):
        return None
    grade = whole_number(value)
    if grade in grades:
        return grade
    problem = f"{as_found(value)}, expected {', '.join(map(str, grades[:-1]))} or {grades[-1]}"
    fault("grade", problem, "leave it empty where the annotator could not decide")
    return None


def annotator(value: Any, fault: _Fault) -> str | None:
    """The name of an annotator; None with a fault where ``value`` is none.

    A name is one whichever way it is spelt: in Unicode's form NFC, without characters that show nothing (Cf, such as
    direction marks), with one blank between its words.
    """
    hint = f"a text of at most {LONGEST_NAME} characters that begins with a letter or a digit"
    if not _filled(value):
        fault("annotator", "is missing, though other rows name one", "name who graded on every row, or on none")
        return None
    if not isinstance(value, str):
        fault("annotator", f"is {json_type(value)}, expected a name", hint)
        return None
    visible = "".join(char for char in unicodedata.normalize("NFC", value) if unicodedata.category(char) != "Cf")
    name = " ".join(visible.split())
    if not name:
        fault("annotator", "has no character that can be seen", hint)
    elif name in RESERVED:
        fault("annotator", f"is '{name}', which stands for all annotators together", "give the annotator another name")
    elif FORBIDDEN.search(name):
        fault("annotator", f"{shown(repr(name))} holds a control character", "take it out")
    elif starts_formula(name):
        fault("annotator", f"'{shown(name)}' begins as a formula, which a spreadsheet would run", hint)
    elif len(name) > LONGEST_NAME:
        fault("annotator", f"'{shown(name)}' has {len(name)} characters", hint)
    else:
        return name
    return None


def _remark(value: Any, fault: _Fault) -> str | None:
    """A remark in one line; None where there is none."""
    if not _filled(value):
        return None
    text = " ".join(str(value).split())
    if FORBIDDEN.search(text):
        fault("remark", "holds a control character", "take it out")
        return None
    return text
