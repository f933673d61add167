"""YAML files that people write: what they hold, the line of every key, and keys that stand twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verseir.faults import Fault

#: The line of every key and of every item of a list, by the keys that lead to it.
Lines = dict[tuple[str, ...], int]


def read_yaml(text: str, label: str, hint: str = "") -> tuple[Any, Lines, list[Fault]]:
    """What ``text`` holds, its lines, and what is wrong with it as YAML (``hint`` says what it should be).

    A key that stands twice in one mapping is a fault: YAML would drop the first in silence.
    """
    import yaml

    lines: Lines = {}
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)  # that of C is ten times as quick
        node = loader.get_single_node()
        faults = list(_walk(node, (), lines, label, set()))
        return None if node is None else loader.construct_document(node), lines, faults
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:  # such as a date without such a day
        mark = getattr(error, "problem_mark", None)
        problem = f"is not valid YAML: {getattr(error, 'problem', None) or error}"
        return None, {}, [Fault(label, mark.line + 1 if mark else 0, "", problem, hint)]


def repeated_keys(path: Path, label: str) -> list[Fault]:
    """Keys that stand twice in a study file, which Snakemake reads as JSON if it can, else as YAML.

    What else may be wrong with the file Snakemake has said itself.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return []
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
        return [] if content is None else faults
    return faults


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
