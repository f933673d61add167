"""Prompts: texts for language models, kept in Markdown files under headings."""

from __future__ import annotations

import re
from pathlib import Path

from verseir.faults import Fault, InputFaults, closest
from verseir.rows import read_utf8

_HEADING = re.compile(r"^## +(\S.*?) *$", re.MULTILINE)


def read_prompt(path: Path | str, heading: str) -> str:
    """What stands under ``## heading`` in a file, up to the next such heading. Capitals do not count.

    Raises:
        InputFaults: the file cannot be read, or has nothing under the heading, or the heading twice.
    """
    label = str(path)
    faults: list[Fault] = []
    text = read_utf8(Path(path), label, faults)
    parts = _HEADING.split(text)
    found = [body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True) if name.lower() == heading]
    if len(found) > 1:
        faults.append(Fault(label, 0, f"## {heading}", f"{len(found)} parts have this heading", "keep one"))
    elif not any(found) and not faults:
        problem = "nothing stands under this heading" if found else "has no part with this heading"
        faults.append(Fault(label, 0, f"## {heading}", problem, closest(heading, parts[1::2])))
    if faults:
        raise InputFaults(faults)
    return found[0]
