"""Reading a JSON array of records, such as ``json.dump`` writes one, with the place of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from verseir.faults import Fault
from verseir.rows import Row, json_type, read_utf8

_BLANKS = " \t\r\n"


class _Doubled(dict[str, Any]):
    """An object of which a key stands twice: ``key`` is the first such."""

    key: str


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) == len(pairs):
        return values
    keys = [key for key, _ in pairs]
    doubled = _Doubled(values)
    doubled.key = next(key for key in keys if keys.count(key) > 1)
    return doubled


def read_json_array(path: Path, label: str, faults: list[Fault], expected: str) -> tuple[list[tuple[int, Row]], bool]:
    """(number from 1, record with the line that it begins on) for each object of an array; and whether all were read.

    Args:
        path: of the file.
        label: its name in messages.
        faults: what is wrong with the file is added to it.
        expected: the hint where the file holds no array.
    """
    text = read_utf8(path, label, faults)
    rows: list[tuple[int, Row]] = []
    at, line, counted, number = _skip(text, 0), 1, 0, 0
    if not text:
        if not any(fault.file == label for fault in faults):
            faults.append(Fault(label, 0, "", "is empty", expected))
        return rows, False
    if text[at : at + 1] != "[":
        faults.append(Fault(label, 1, "", "is not a JSON array of records", expected))
        return rows, False
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    at = _skip(text, at + 1)
    while text[at : at + 1] not in ("]", ""):
        line += text.count("\n", counted, at)
        counted, number = at, number + 1
        try:
            value, at = decoder.raw_decode(text, at)
        except RecursionError:
            faults.append(Fault(label, line, "", "is nested too deeply", "records after it were not read"))
            return rows, False
        except json.JSONDecodeError as error:
            faults.append(
                Fault(label, error.lineno, "", f"is not valid JSON: {error.msg}", "records after it were not read")
            )
            return rows, False
        except ValueError as error:  # a number of more digits than Python reads
            problem = f"is not valid JSON: {str(error).partition(';')[0]}"
            faults.append(Fault(label, line, "", problem, "records after it were not read"))
            return rows, False
        if isinstance(value, _Doubled):
            faults.append(Fault(label, line, value.key, "the key stands twice in a record", "keep one"))
        if isinstance(value, dict):
            rows.append((number, Row(line, value)))
        else:
            faults.append(
                Fault(label, line, "", f"is {json_type(value)}, expected an object", "one object for each record")
            )
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            comma, at = at, _skip(text, at + 1)
            if text[at : at + 1] == "]":
                problem = "is not valid JSON: a comma before the end of the array"
                faults.append(Fault(label, text.count("\n", 0, comma) + 1, "", problem, "take the comma out"))
        elif text[at : at + 1] not in ("]", ""):
            problem = "expected a comma or the end of the array after a record"
            faults.append(Fault(label, text.count("\n", 0, at) + 1, "", problem, "records after it were not read"))
            return rows, False
    if at >= len(text):
        faults.append(
            Fault(label, text.count("\n") + 1, "", "the array has no end: the file is cut off", "fetch it again")
        )
        return rows, False
    if _skip(text, at + 1) < len(text):
        problem = "something follows the end of the array"
        faults.append(Fault(label, text.count("\n", 0, at) + 1, "", problem, "take it out"))
    return rows, True


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at
