"""Normalisation presets: named, versioned lists of steps.

``raw`` leaves a text exactly as it is. ``light`` is for dense encoders: it repairs the encoding and strips reading
marks and tatweel. ``full`` is for BM25: ``light``, and spellings of one letter made one. All are idempotent; ``light``
and ``full`` give the same for canonically equivalent texts; vocalised and bare spellings are the same under ``full``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from verseir.arabic.characters import (
    HAMZA,
    HAMZA_ABOVE,
    HAMZA_BELOW,
    MADDA_ABOVE,
    TATWEEL,
    full_character,
    light_character,
)
from verseir.arabic.steps import Compose, MapCharacters, Rewrite, SqueezeSpaces, Step
from verseir.faults import UserError, closest

_COMBINING = MADDA_ABOVE + HAMZA_ABOVE + HAMZA_BELOW
_LETTER = r"[^\W\d_ـ]"


@dataclass(frozen=True)
class Preset:
    """A preset. ``version`` rises when a step changes what comes out; ``key`` names both, for caches and manifests."""

    name: str
    version: int
    steps: tuple[Step, ...]

    @property
    def key(self) -> str:
        return f"{self.name}-{self.version}"


def _seat(match: re.Match[str]) -> str:
    """The letter that a seat and its combining signs make, as in NFC; tatweel and alef maqsura count as a yeh."""
    seat, marks = match[1], match[2]
    if seat == "\u0627":
        # Canonical order puts the hamza below first, whatever order it was typed in.
        mark = HAMZA_BELOW if HAMZA_BELOW in marks else marks[0]
        return {HAMZA_BELOW: "\u0625", HAMZA_ABOVE: "\u0623", MADDA_ABOVE: "\u0622"}[mark]
    if HAMZA_ABOVE not in marks and HAMZA_BELOW not in marks:
        return seat
    return "\u0624" if seat == "\u0648" else "\u0626"


def _folded_seat(match: re.Match[str]) -> str:
    seated = _seat(match)
    return "\u0627" if match[1] == "\u0627" else HAMZA if seated != match[1] else seated


_SEATS = re.compile(f"([\u0627\u0648\u064a\u0649\u06cc{TATWEEL}])([{_COMBINING}]+)")
_UNSEATED = re.compile(f"[{_COMBINING}]+")
# A word cut in two at the caesura carries a tatweel on both sides of the gap. A tatweel between spaces is a dash, and
# one before a gap alone may end an abbreviation: neither joins anything.
_CUT_WORD = re.compile(f"(?<={_LETTER}){TATWEEL}+ +{TATWEEL}+(?={_LETTER})")
_TATWEEL = re.compile(f"{TATWEEL}+")


def _nothing(_: re.Match[str]) -> str:
    return ""


def _steps(characters: MapCharacters, seat: Callable[[re.Match[str]], str]) -> tuple[Step, ...]:
    """The steps of a preset, around its table of ``characters``.

    Composing first makes canonically equivalent texts one. Composing again comes after all that removes, or else a mark
    could compose anew the next time.
    """
    return (
        Compose(),
        characters,
        Rewrite("seat combining hamza and madda", _SEATS, seat, _COMBINING),
        Rewrite("strip signs without a seat", _UNSEATED, _nothing, _COMBINING),
        Rewrite("join words cut at the caesura", _CUT_WORD, _nothing, TATWEEL),
        Rewrite("strip tatweel", _TATWEEL, _nothing, TATWEEL),
        Compose(),
        SqueezeSpaces(),
    )


_LIGHT = MapCharacters("repair encoding, strip reading marks", light_character)
_FULL = MapCharacters("repair encoding, strip reading marks, fold letters", full_character)

PRESETS: dict[str, Preset] = {
    "raw": Preset("raw", 1, ()),
    "light": Preset("light", 1, _steps(_LIGHT, _seat)),
    "full": Preset("full", 1, _steps(_FULL, _folded_seat)),
}


def find_preset(name: str) -> Preset:
    """The preset called ``name``; raises UserError with the known names when there is none."""
    try:
        return PRESETS[name]
    except KeyError:
        raise UserError(f"'{name}' is not a normalisation preset", hint=closest(name, PRESETS)) from None


def normalise(text: str, preset: str) -> str:
    """``text`` after the steps of ``preset``."""
    for step in find_preset(preset).steps:
        text = step.apply(text)
    return text


def normalise_aligned(text: str, preset: str) -> tuple[str, list[int]]:
    """``normalise(text, preset)``, and for each of its characters the index in ``text`` of the character it came from.

    The indices never fall. A character made of several (a letter and its combining hamza) has the index of the first.
    """
    index = list(range(len(text)))
    for step in find_preset(preset).steps:
        text, index = step.apply_aligned(text, index)
    return text, index
