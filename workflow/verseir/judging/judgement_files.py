"""Judgements that were made elsewhere, read from a file and matched with a pool.

Rows of JSON Lines, CSV or TSV have ``item_id``, or ``query_id`` and ``poem_id``; ``status`` where it is not
``answered``; ``corpus`` and ``query_set`` where the file has several; and either ``scores`` and perhaps
``justifications`` ({aspect: value}; JSON Lines), other fields being passed over, or one field an aspect, and perhaps
``<aspect>_justification``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from verseir.faults import Fault, InputFaults, closest, shown
from verseir.judging.judgements import STATUSES, Judged
from verseir.judging.rubrics import JUSTIFICATION, Rubric
from verseir.rows import Row, as_found, is_delimited, json_type, read_rows, unescaped, whole_number

_NAMES = ("corpus", "query_set", "item_id", "query_id", "poem_id", "status")
_ITEM_ID = re.compile("i[0-9a-f]{12}")


@dataclass(frozen=True)
class Pooled:
    """What there is to judge: a corpus and a query set with their tables."""

    corpus: str
    query_set: str
    pool: pl.DataFrame
    poems: pl.DataFrame
    queries: pl.DataFrame
    duplicates: pl.DataFrame


@dataclass(frozen=True)
class Imported:
    """The judgements of items of the pool, and how many of other items, corpora and query sets the file has."""

    judged: tuple[Judged, ...]
    n_outside: int
    n_elsewhere: int


@dataclass(frozen=True)
class _Item:
    """What a row judges: a query and a poem as the file has them, and the poem that stands for its class."""

    query_id: str
    poem_id: str
    represented_by: str


class _Said(NamedTuple):
    """What a row says of its item."""

    row: Row
    status: str
    scores: dict[str, int]
    justifications: dict[str, str]


@dataclass
class _Known:
    """What rows may name, and what is wrong with them."""

    label: str
    rubric: Rubric
    #: The poem that stands for each poem of the corpus.
    represented_by: Mapping[str, str]
    query_ids: Collection[str]
    #: Query and poem of each item of the pool.
    items: Mapping[str, tuple[str, str]]
    faults: list[Fault] = field(default_factory=list)

    def fault(self, row: Row | None, name: str, problem: str, hint: str = "") -> None:
        self.faults.append(Fault(self.label, row.line if row else 0, name, problem, hint))

    def nearest(self, word: str, known: Collection[str]) -> str:
        """A hint. Looking for the nearest of many takes long: only for faults that are printed."""
        return closest(word, known) if len(self.faults) < InputFaults.shown else ""


def read_scores(path: Path, label: str, pooled: Pooled, rubric: Rubric) -> Imported:
    """The judgements in a file, of the items of a pool.

    A judgement of any poem of a class is one of the item that stands for the class. Every row of this corpus and query
    set is checked, those that the pool does not have too: the pool may have shrunk since, and may grow again.

    Args:
        path: the file.
        label: what messages call it.
        pooled: what there is to judge.
        rubric: by which the judge scored.

    Raises:
        InputFaults: all that is wrong with the file.
    """
    class_of = dict(pooled.duplicates.select("poem_id", "class_id").iter_rows())
    items = {row[0]: (row[1], row[2]) for row in pooled.pool.select("item_id", "query_id", "poem_id").iter_rows()}
    represented_by = {poem_id: class_of.get(poem_id, poem_id) for poem_id in pooled.poems["poem_id"]}
    known = _Known(label, rubric, represented_by, set(pooled.queries["query_id"]), items)
    rows = read_rows(path, label, known.faults)
    if is_delimited(path):
        rows = unescaped(rows, _NAMES)
    if not rows and not known.faults:
        hint = "one row an item: query_id, poem_id and a score for each of " + ", ".join(rubric.ids)
        known.fault(None, "", "holds no judgements", hint)
    here = [row for row in rows if _is_of(row, pooled, known)]
    found = _said(here, known)
    by_class = _by_class(found, known)
    if known.faults:
        raise InputFaults(known.faults)
    judged = tuple(
        Judged(item_id, *place, said.status, said.scores, said.justifications)
        for item_id, place in sorted(items.items())
        if (said := by_class.get(place))
    )
    of_pool = set(items.values())
    n_inside = sum(isinstance(item, _Item) and (item.query_id, item.represented_by) in of_pool for item in found)
    return Imported(judged, len(found) - n_inside, len(rows) - len(here))


def _is_of(row: Row, pooled: Pooled, known: _Known) -> bool:
    """Whether a row is of this corpus and query set, as far as it says."""
    for name, own in (("corpus", pooled.corpus), ("query_set", pooled.query_set)):
        value = _cell(row, name)
        if value is not None and not isinstance(value, str):
            known.fault(row, name, f"is {json_type(value)}, expected a name", "put it in quotes, or leave it out")
        elif value is not None and value != own:
            return False
    return True


def _said(rows: list[Row], known: _Known) -> dict[_Item | str, _Said]:
    """What each row says, by its item."""
    nested = any("scores" in row.values for row in rows)
    missing = set() if nested else _check_columns(rows, known)
    found: dict[_Item | str, _Said] = {}
    for row in rows:
        item, status = _item(row, known), _status(row, known)
        scores: dict[str, int] = {}
        reasons: dict[str, str] = {}
        if status == "answered":
            scores, reasons = _nested(row, known) if nested else _flat(row, missing, known)
        if item is None or status is None:
            continue
        first = found.setdefault(item, _Said(row, status, scores, reasons))
        if first.row is not row:
            what = f"item '{item}'" if isinstance(item, str) else f"poem '{item.poem_id}' for query '{item.query_id}'"
            known.fault(row, "", f"{what} is judged twice", f"the first is on line {first.row.line}: keep one")
    return found


def _check_columns(rows: list[Row], known: _Known) -> set[str]:
    """Look at the fields of rows with one field an aspect; returns the aspects that no row has, each told once."""
    ids = known.rubric.ids
    present: dict[str, Row] = {}
    for row in rows:
        for name in row.values:
            present.setdefault(name, row)
    allowed = {*_NAMES, *ids, *(name + JUSTIFICATION for name in ids)}
    for name, row in present.items():
        if name not in allowed:
            hint = closest(name, {*allowed, "scores", "justifications"}) + "; or take it out"
            known.fault(row, name, "is no aspect of the rubric, and no other field of a judgement", hint)
    missing = set(ids) - set(present)
    if any(_cell(row, "status") in (None, "answered") for row in rows):
        for name in sorted(missing):
            known.fault(None, name, f"no row scores the aspect '{name}'", closest(name, present))
    return missing


def _cell(row: Row, name: str) -> Any:
    """A value; None where it is absent or blank."""
    value = row.values.get(name)
    if isinstance(value, str):
        return value.strip() or None
    return value


def _item(row: Row, known: _Known) -> _Item | str | None:
    """What a row judges; the bare id of an item that the pool does not have; None where the row does not say."""
    item_id, query_id, poem_id = (_cell(row, name) for name in ("item_id", "query_id", "poem_id"))
    before = len(known.faults)
    for name, value in (("item_id", item_id), ("query_id", query_id), ("poem_id", poem_id)):
        if value is not None and not isinstance(value, str):
            known.fault(row, name, f"is {json_type(value)}, expected text", "put ids in quotes")
    if item_id is None and (query_id is None or poem_id is None):
        absent = "item_id" if query_id is None and poem_id is None else "query_id" if query_id is None else "poem_id"
        known.fault(row, absent, "is missing", "name what was judged: item_id, or query_id and poem_id")
    if len(known.faults) > before:
        return None
    if query_id is not None and query_id not in known.query_ids:
        problem = f"no query of the set is called '{shown(query_id)}'"
        known.fault(row, "query_id", problem, known.nearest(query_id, known.query_ids))
    if poem_id is not None and poem_id not in known.represented_by:
        known.fault(
            row, "poem_id", f"no poem '{shown(poem_id)}' in this corpus", known.nearest(poem_id, known.represented_by)
        )
    if item_id is not None and item_id not in known.items and not _ITEM_ID.fullmatch(item_id):
        hint = "the id of an item is i and 12 letters a to f and digits, as in the pool"
        known.fault(row, "item_id", f"'{shown(item_id)}' is no id of an item", hint)
    if len(known.faults) > before:
        return None
    of_pool = known.items.get(item_id) if item_id is not None else None
    if query_id is None or poem_id is None:
        named = of_pool and _Item(*of_pool, of_pool[1])
    else:
        named = _Item(query_id, poem_id, known.represented_by[poem_id])
    if of_pool and named and of_pool != (named.query_id, named.represented_by):
        problem = f"is '{item_id}', which is poem '{of_pool[1]}' for query '{of_pool[0]}'"
        known.fault(row, "item_id", problem, "it must be the item that query_id and poem_id name")
        return None
    return named or item_id


def _status(row: Row, known: _Known) -> str | None:
    value = _cell(row, "status")
    if value is None:
        return "answered"
    if value not in STATUSES:
        known.fault(row, "status", as_found(value), closest(shown(value), STATUSES))
        return None
    return value


def _nested(row: Row, known: _Known) -> tuple[dict[str, int], dict[str, str]]:
    """Scores and justifications in fields of their own. Other fields of such a row are passed over."""
    ids = known.rubric.ids
    scores, justifications = row.values.get("scores"), row.values.get("justifications")
    given = scores if isinstance(scores, dict) else {}
    if not isinstance(scores, dict):
        known.fault(row, "scores", f"is {json_type(scores)}, expected scores by aspect", f'{{"{ids[0]}": 3, ...}}')
    else:
        for name in ids:
            if name not in scores:
                known.fault(row, f"scores.{name}", f"no score for the aspect '{name}'", closest(name, scores))
    reasons = justifications if isinstance(justifications, dict) else {}
    if justifications is not None and not isinstance(justifications, dict):
        hint = f'{{"{ids[0]}": "why", ...}}'
        known.fault(row, "justifications", f"is {json_type(justifications)}, expected texts by aspect", hint)
    for place, values in (("scores", given), ("justifications", reasons)):
        for name in sorted(set(values) - set(ids)):
            known.fault(row, f"{place}.{name}", f"the rubric has no aspect '{shown(name)}'", closest(name, ids))
    return (
        dict(_scores({name: given[name] for name in ids if name in given}, "scores.", row, known)),
        dict(_texts({name: reasons[name] for name in ids if name in reasons}, "justifications.{}", row, known)),
    )


def _flat(row: Row, missing: Collection[str], known: _Known) -> tuple[dict[str, int], dict[str, str]]:
    """Scores and justifications in one field an aspect."""
    ids = [name for name in known.rubric.ids if name not in missing]
    reasons = {name: row.values.get(name + JUSTIFICATION) for name in known.rubric.ids}
    return (
        dict(_scores({name: row.values.get(name) for name in ids}, "", row, known)),
        dict(_texts(reasons, "{}" + JUSTIFICATION, row, known)),
    )


def _scores(values: Mapping[str, Any], prefix: str, row: Row, known: _Known) -> Iterator[tuple[str, int]]:
    scale = known.rubric.scale
    for name, value in values.items():
        score = whole_number(value)
        if score is not None and score in scale:
            yield name, score
            continue
        hint = f"a point of the scale: {', '.join(map(str, scale))}; where there is none, `status` says why"
        known.fault(row, prefix + name, as_found(value), hint)


def _texts(values: Mapping[str, Any], form: str, row: Row, known: _Known) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, str):
            yield name, value
        elif value is not None:
            known.fault(row, form.format(name), f"is {json_type(value)}, expected text", "or leave it out")


def _by_class(found: Mapping[_Item | str, _Said], known: _Known) -> dict[tuple[str, str], _Said]:
    """One judgement for each query and class of poems; a fault where those of a class differ.

    Of several that agree, the one of the poem that stands for the class is taken, else that of the smallest id.
    """
    taken: dict[tuple[str, str], tuple[_Item, _Said]] = {}
    named = [(item, said) for item, said in found.items() if isinstance(item, _Item)]
    for item, said in sorted(named, key=lambda pair: (pair[0].poem_id != pair[0].represented_by, pair[0].poem_id)):
        first, its = taken.setdefault((item.query_id, item.represented_by), (item, said))
        if (its.status, its.scores) != (said.status, said.scores):
            problem = (
                f"poem '{item.poem_id}' is judged unlike poem '{first.poem_id}' on line {its.row.line}, which is the "
                f"same poem, for query '{item.query_id}'"
            )
            known.fault(said.row, "poem_id", problem, "duplicates count as one: keep one of the two")
    return {place: said for place, (_, said) in taken.items()}
