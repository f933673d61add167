"""One text of the two hemistichs of a verse."""

from __future__ import annotations

import re
import unicodedata

from verseir.arabic.characters import TATWEEL

_MARKED_END = re.compile(f"{TATWEEL}+\\s*$")
_MARKED_START = re.compile(f"^\\s*{TATWEEL}+")


def _ends_in_letter(text: str) -> bool:
    bare = [char for char in text if not unicodedata.combining(char)]
    return bool(bare) and bare[-1].isalpha()


def join_hemistichs(first: str, second: str | None) -> str:
    """The verse as one text: a space between its hemistichs, and none where a tatweel says that a word runs across.

    A poet may lay a word over the caesura (tadwir); editions print its halves with a tatweel at the end of the first
    hemistich, at the start of the second, or both. The tatweels at the joint are dropped; everything else stays as it
    is.
    """
    return "".join(joint(first, second))


def joint(first: str, second: str | None) -> tuple[str, str, str]:
    """The parts of ``join_hemistichs``: a beginning of the first hemistich, what parts them, an end of the second."""
    if not second or not first:
        return first or "", "", second or ""
    left, right = _MARKED_END.sub("", first), _MARKED_START.sub("", second)
    runs_on = (left != first or right != second) and _ends_in_letter(left) and right[:1].isalpha()
    return (left, "", right) if runs_on else (first, " ", second)
