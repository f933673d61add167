"""The script that a text is written in, by Unicode's property Script (UAX 24)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache

import numpy as np
from fontTools.unicodedata import Scripts
from numpy.typing import NDArray

#: Hiragana and Katakana are one system of writing, ``Hrkt`` to ISO 15924: which of the two a line holds more of says
#: nothing of its language.
_TOGETHER = {"Hira": "Hrkt", "Kana": "Hrkt"}
#: Common, inherited and unknown characters: digits, marks, punctuation.
_NONE = ("Zinh", "Zyyy", "Zzzz")
NAMES = {**Scripts.NAMES, "Hani": "Han", "Hrkt": "Kana"}


@cache
def _scripts() -> tuple[NDArray[np.uint8], list[str]]:
    """The place of the script of each code point in a sorted list of names, uint8 [0x110000]; the first is ``""``."""
    codes = [_TOGETHER.get(code, code) for code in Scripts.VALUES]
    names = ["", *sorted({NAMES[code].replace("_", " ") for code in codes if code not in _NONE})]
    place = {name: number for number, name in enumerate(names)}
    own = [0 if code in _NONE else place[NAMES[code].replace("_", " ")] for code in codes]
    widths = np.diff([*Scripts.RANGES, 0x110000])
    return np.repeat(np.array(own, dtype=np.uint8), widths), names


def dominant_script(text: str) -> str | None:
    """The name of the script of most characters of ``text``, such as ``Arabic`` or ``Han``; None where none has one.

    Full-width and other presentation forms count as the letters that they show. Of scripts with as many characters it
    is the first by name.
    """
    of, names = _scripts()
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    points = np.frombuffer(text.encode("utf-32-le", "replace"), dtype=np.uint32)
    counts = np.bincount(of[points], minlength=len(names))
    counts[0] = 0
    most = int(counts.argmax())
    return names[most] if counts[most] else None


def dominant_scripts(texts: Iterable[str]) -> list[str | None]:
    """``dominant_script`` of each text."""
    return [dominant_script(text) for text in texts]
