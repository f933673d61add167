"""Faults that a user can cause: collected, sorted and reported together."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

#: How much of a value a message shows, in characters.
SHOWN = 60
#: How many faults of one kind are told one by one where one cause may have made them all; the rest are counted.
FEW = 10
#: What no reader would read on to the end: a text without a blank that is longer than an id should be.
_LONG = re.compile(r"[^\s/]{81,}")


def shown(value: object) -> str:
    """``value`` as a message shows it: its first characters."""
    try:
        text = str(value)
    except ValueError:  # Python prints no number of more than 4,300 digits
        text = "a number of thousands of digits"
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


@dataclass(frozen=True, order=True)
class Fault:
    """One fault in an input: where it is, what was found, and what would mend it.

    ``follows`` says that another fault may be all that is wrong here, such as that of an id which this line names: it
    is told after those that do not.
    """

    file: str
    line: int = 0
    field: str = ""
    problem: str = ""
    hint: str = ""
    follows: bool = False

    def __str__(self) -> str:
        where = self.file + (f":{self.line}" if self.line else "")
        field = f" [{self.field}]" if self.field else ""
        hint = f"\n      hint: {self.hint}" if self.hint else ""
        problem = _LONG.sub(lambda found: shown(found[0]), self.problem)
        return f"{where}{field}: {problem}{hint}"


class InputFaults(Exception):
    """All faults found in the inputs of one step, raised once.

    ``faults`` is sorted, those last that may follow from others, and free of repeats.
    """

    #: How many faults are printed; the rest are counted.
    shown = 50

    def __init__(self, faults: Iterable[Fault]):
        self.faults = sorted(set(faults), key=lambda fault: (fault.follows, fault))
        super().__init__(self.faults)

    def __str__(self) -> str:
        n = len(self.faults)
        lines = [f"{n} fault{'s' if n != 1 else ''} in the input:"]
        lines += [f"  - {fault}" for fault in self.faults[: self.shown]]
        if n > self.shown:
            lines.append(f"  ... and {n - self.shown} more")
        return "\n".join(lines)


def first_few(faults: Sequence[Fault]) -> list[Fault]:
    """``faults``, which are of one kind, as a reader needs them: the first ten, and one that counts the others.

    That one has the place of the first that it stands for.
    """
    told, rest = sorted(faults)[:FEW], sorted(faults)[FEW:]
    if rest:
        told.append(replace(rest[0], problem=f"and {len(rest)} more like this: {rest[0].problem}"))
    return told


class UserError(Exception):
    """A failure that a user can mend. The message says what failed and where; ``hint`` says what to do."""

    def __init__(self, message: str, hint: str = ""):
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        return f"{self.args[0]}" + (f"\n  hint: {self.hint}" if self.hint else "")


def closest(word: str, known: Iterable[str]) -> str:
    """A hint that names the known words, the most similar first; empty where none is known."""
    known = sorted(known)
    if not known:
        return ""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    listed = ", ".join(map(shown, known[:30])) + (", ..." if len(known) > 30 else "")
    return (f"did you mean '{shown(near[0])}'? " if near else "") + f"known: {listed}"
