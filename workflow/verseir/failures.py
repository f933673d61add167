"""How a verb ends that cannot go on: what a user is told of it, and the code that it returns.

What this machine cannot do (a full disk, a folder that may not be written to) is a user's to mend as a wrong input is:
it is told in words. What remains is a fault of this program, and Python tells it whole.
"""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import NamedTuple

from verseir.faults import InputFaults, UserError

#: The verb was stopped by Ctrl-C: 128 and the number of the signal, as shells have it.
STOPPED = 130
FAILED = 2

_FULL = "make room there, and run again: no file is left half-written, and what was encoded or answered is kept"
_HINTS = {
    errno.ENOSPC: ("the disk is full", _FULL),
    errno.EDQUOT: ("the quota of the disk is used up", _FULL),
    errno.EFBIG: (
        "the file is larger than this system allows",
        "raise the limit (ulimit -f), or write to another disk",
    ),
    errno.EROFS: ("the disk can only be read", "run in a folder that can be written to"),
    errno.EACCES: ("permission denied", "run in a folder that is yours, or mend its permissions"),
    errno.EPERM: ("permission denied", "run in a folder that is yours, or mend its permissions"),
    errno.ENOENT: ("there is no such file or folder", "check the name"),
    errno.ENOTDIR: ("a part of the path is a file, not a folder", "check the name"),
    errno.EISDIR: ("is a folder, not a file", "check the name"),
    errno.EMFILE: ("too many files are open", "raise the limit: ulimit -n 4096"),
    errno.ENAMETOOLONG: ("the name is too long for this system", "give shorter names to the study and its parts"),
    errno.EIO: ("the disk fails to read or write", "see to the disk, and run again"),
    errno.ESTALE: ("the disk is no longer there", "it is of another machine: run again once that is back"),
    errno.ENOMEM: ("there is not enough memory", "run fewer jobs at a time (--cores), or where there is more"),
}
#: Libraries that write by themselves say in words what the system said by a number.
_NUMBER = re.compile(r"\(os error (\d+)\)|\[Errno (\d+)\]|\berrno:? (\d+)")
#: What NumPy says when a disk is full.
_SHORT_WRITE = re.compile(r"\d+ requested and \d+ written")
#: What PyTorch says when it could write a part of a checkpoint only.
_TORCH_WRITE = re.compile(r"inline_container\.cc.*unexpected pos|PytorchStreamWriter failed writing")


class Failure(NamedTuple):
    """What is told of a failure, and the code that a verb then returns."""

    said: str
    hint: str
    code: int

    def text(self, verb: str) -> str:
        """The message of a verb."""
        if self.code == STOPPED:
            return f"{verb}: {self.said}; {self.hint}"
        return f"error in {verb}: {self.said}" + (f"\n  hint: {self.hint}" if self.hint else "")


def told(error: BaseException) -> Failure | None:
    """What a user is told of ``error``; None where it is a fault of this program."""
    if isinstance(error, KeyboardInterrupt):
        return Failure("stopped", "the same command goes on: what was encoded or answered is kept", STOPPED)
    if isinstance(error, (InputFaults, UserError)):
        return Failure(str(error), "", FAILED)
    if isinstance(error, BrokenPipeError):
        return Failure("nobody reads what it prints any more", "the reader of its output ended first", FAILED)
    if isinstance(error, MemoryError):
        return Failure(*_HINTS[errno.ENOMEM], FAILED)
    number = _number(error)
    if number not in _HINTS:
        return None
    what, hint = _HINTS[number]
    place = getattr(error, "filename2", None) or getattr(error, "filename", None)
    if isinstance(place, str) and Path(place).name.startswith("."):  # a file on its way: its name says nothing
        place = str(Path(place).parent)
    return Failure(f"{place}: {what}" if place else f"{what} ({_first_line(error)})", hint, FAILED)


def _number(error: BaseException) -> int | None:
    """The number of the system's error behind ``error``, also where a library says it in words."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    text = str(error)
    if isinstance(error, OSError) and _SHORT_WRITE.search(text):
        return errno.ENOSPC
    if isinstance(error, RuntimeError) and _TORCH_WRITE.search(text):
        return errno.ENOSPC
    found = _NUMBER.search(text)
    return int(next(filter(None, found.groups()))) if found else None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
