"""The kinds of step that a preset is made of. Each also says from which source character every character came."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol


class Step(Protocol):
    """One step of a preset."""

    name: str

    def apply(self, text: str) -> str:
        """The text after the step."""
        ...

    def apply_aligned(self, text: str, index: list[int]) -> tuple[str, list[int]]:
        """The same, and for each character the source index; ``index`` holds those of ``text``."""
        ...


class _Table(dict[int, str]):
    """A translation table that asks ``rule`` for each character the first time that it meets it."""

    def __init__(self, rule: Callable[[str], str]):
        super().__init__()
        self.rule = rule

    def __missing__(self, code: int) -> str:
        self[code] = out = self.rule(chr(code))
        return out


class MapCharacters:
    """Replace each character by what ``rule`` makes of it: nothing, one character, or several."""

    def __init__(self, name: str, rule: Callable[[str], str]):
        self.name = name
        self.table = _Table(rule)

    def apply(self, text: str) -> str:
        return text.translate(self.table)

    def apply_aligned(self, text: str, index: list[int]) -> tuple[str, list[int]]:
        parts = [self.table[ord(char)] for char in text]
        return "".join(parts), [i for part, i in zip(parts, index, strict=True) for _ in part]


@dataclass
class Rewrite:
    """Replace each match of ``pattern``. Texts without a character of ``only_with`` are passed by, to save time."""

    name: str
    pattern: re.Pattern[str]
    replacement: Callable[[re.Match[str]], str]
    only_with: str
    _trigger: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._trigger = re.compile(f"[{re.escape(self.only_with)}]")

    def apply(self, text: str) -> str:
        return self.pattern.sub(self.replacement, text) if self._trigger.search(text) else text

    def apply_aligned(self, text: str, index: list[int]) -> tuple[str, list[int]]:
        parts: list[str] = []
        origins: list[int] = []
        done = 0
        for match in self.pattern.finditer(text):
            new = self.replacement(match)
            parts += [text[done : match.start()], new]
            origins += index[done : match.start()] + [index[match.start()]] * len(new)
            done = match.end()
        return "".join(parts) + text[done:], origins + index[done:]


class Compose:
    """Compose letters and marks canonically (NFC)."""

    name = "compose"

    def apply(self, text: str) -> str:
        return unicodedata.normalize("NFC", text)

    def apply_aligned(self, text: str, index: list[int]) -> tuple[str, list[int]]:
        parts: list[str] = []
        origins: list[int] = []
        for start, end in self._segments(text):
            new = unicodedata.normalize("NFC", text[start:end])
            parts.append(new)
            unchanged = new == text[start:end]
            origins += index[start:end] if unchanged else [index[start]] * len(new)
        return "".join(parts), origins

    @staticmethod
    def _segments(text: str) -> list[tuple[int, int]]:
        """The shortest pieces of ``text`` that compose each for itself."""
        segments = []
        start = 0
        for i in range(1, len(text)):
            char = text[i]
            if char.isascii():
                alone = True
            elif unicodedata.combining(unicodedata.normalize("NFD", char)[0]):
                alone = False
            else:
                joint = unicodedata.normalize("NFC", text[start : i + 1])
                alone = joint == unicodedata.normalize("NFC", text[start:i]) + unicodedata.normalize("NFC", char)
            if alone:
                segments.append((start, i))
                start = i
        return [*segments, (start, len(text))] if text else []


class SqueezeSpaces:
    """One space between words, none at the ends. All spaces are U+0020 by then."""

    name = "squeeze spaces"

    def apply(self, text: str) -> str:
        return " ".join(text.split())

    def apply_aligned(self, text: str, index: list[int]) -> tuple[str, list[int]]:
        kept = [i for i, char in enumerate(text) if char != " " or (i and text[i - 1] != " ")]
        if kept and text[kept[-1]] == " ":
            kept.pop()
        return "".join(text[i] for i in kept), [index[i] for i in kept]
