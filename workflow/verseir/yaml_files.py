"""YAML files that people write: what they hold, the line of every key, and keys that stand twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verseir.faults import Fault
from verseir.text_files import OLE, PACKED, UTF_8, UTF_16, mending

#: The line of every key and of every item of a list, by the keys that lead to it.
Lines = dict[tuple[str, ...], int]
#: Values that a file may come to when what its aliases repeat is written out. A file that people write has far fewer.
MOST = 300_000


def read_yaml(text: str, label: str, hint: str = "") -> tuple[Any, Lines, list[Fault]]:
    """What ``text`` holds, its lines, and what is wrong with it as YAML (``hint`` says what it should be).

    A key that stands twice in one mapping is a fault: YAML would drop the first in silence.
    """
    import yaml

    lines: Lines = {}
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)  # that of C is ten times as quick
        node = loader.get_single_node()
        if node is not None and (unbounded := _unbounded(node, label)):
            return None, {}, [unbounded]
        faults = list(_walk(node, (), lines, label, set()))
        return None if node is None else loader.construct_document(node), lines, faults
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:  # such as a date without such a day
        mark = getattr(error, "problem_mark", None)
        deep = "is nested too deeply" if isinstance(error, RecursionError) else ""
        problem = deep or f"is not valid YAML: {getattr(error, 'problem', None) or error}"
        return None, {}, [Fault(label, mark.line + 1 if mark else 0, "", problem, hint)]


def decoded_yaml(path: Path, label: str) -> tuple[str, list[Fault]]:
    """The text of a YAML file, UTF-8 with or without a byte order mark; a fault says what else it is.

    Raises:
        OSError: where it cannot be read.
    """
    data = path.read_bytes()
    by_hand = "save it as UTF-8, or"
    if data.startswith(UTF_16) or (b"\0" in data[:4] and data[:4].count(0) < 4):
        return "", [Fault(label, 1, "", "is UTF-16, not UTF-8", f"{by_hand} {mending(label, 'utf-16')}")]
    if data.startswith((PACKED, OLE)) or b"\0" in data:
        problem = "is a workbook, an archive or another file that is no text"
        return "", [Fault(label, 0, "", problem, "YAML is plain text in UTF-8: was another file meant?")]
    try:
        return data.removeprefix(UTF_8).decode("utf-8"), []
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        problem = f"is not UTF-8 (byte 0x{data[error.start]:02x}): it is in another encoding, or no text"
        return "", [Fault(label, line, "", problem, f"{by_hand} {mending(label, 'windows-1256')} if it is Arabic")]


def repeated_keys(path: Path, label: str) -> list[Fault]:
    """Keys that stand twice in a study file, which Snakemake reads as JSON if it can, else as YAML.

    What else may be wrong with the file Snakemake has said itself.
    """
    try:
        text, unread = decoded_yaml(path, label)
    except OSError:
        return []
    if unread:
        return unread
    faults: list[Fault] = []

    def noted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        for name in sorted({name for name in names if names.count(name) > 1}):
            faults.append(Fault(label, 0, name, "this key is given twice in one object", "keep one"))
        return dict(pairs)

    try:
        json.loads(text, object_pairs_hook=noted)
    except (ValueError, RecursionError):
        content, _, faults = read_yaml(text, label)
        return [fault for fault in faults if content is not None or fault.problem in (_ITSELF, _TOO_MUCH)]
    return faults


_ITSELF = "an alias (*) stands inside of what it repeats"
_TOO_MUCH = f"its aliases (*) make more than {MOST:,} values of it"


def _unbounded(root: Any, label: str) -> Fault | None:
    """A fault where aliases make a document without an end, or one of too many values to read.

    The values of each node are counted once, with what its aliases repeat; no call is deeper for a deeper document.
    """
    import yaml

    sizes: dict[int, int] = {}
    inside: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting[-1]
        if isinstance(node, yaml.MappingNode):
            parts = [part for pair in node.value for part in pair]
        else:
            parts = node.value if isinstance(node, yaml.SequenceNode) else []
        if id(node) not in inside and id(node) not in sizes:
            inside.add(id(node))
            for part in parts:
                if id(part) in inside:
                    line = part.start_mark.line + 1
                    return Fault(label, line, "", _ITSELF, "write out what it should hold")
            waiting += [part for part in parts if id(part) not in sizes]
            continue
        waiting.pop()
        if id(node) in inside:
            inside.remove(id(node))
            sizes[id(node)] = 1 + sum(sizes[id(part)] for part in parts)
            if sizes[id(node)] > MOST > len(sizes):  # a long file without aliases has as many nodes as values
                return Fault(
                    label, node.start_mark.line + 1, "", _TOO_MUCH, "write out what is needed, without aliases"
                )
    return None


def _walk(node: Any, place: tuple[str, ...], lines: Lines, label: str, seen: set[int]) -> Iterator[Fault]:
    """Fill ``lines``; a fault for each key that stands twice. What an alias repeats is looked at once."""
    import yaml

    if id(node) in seen:
        return
    if isinstance(node, yaml.MappingNode):
        seen.add(id(node))
        own: Lines = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            inner = (*place, name)
            if inner in own:
                yield Fault(
                    label, line, ".".join(inner), "this key is given twice", f"first on line {own[inner]}: keep one"
                )
            own.setdefault(inner, line)
            lines.setdefault(inner, line)
            yield from _walk(value, inner, lines, label, seen)
    elif isinstance(node, yaml.SequenceNode):
        seen.add(id(node))
        for number, value in enumerate(node.value):
            lines[(*place, str(number))] = value.start_mark.line + 1
            yield from _walk(value, (*place, str(number)), lines, label, seen)
