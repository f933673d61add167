"""Text that becomes markup: escaped, with Arabic marked as such."""

from __future__ import annotations

import re
from collections.abc import Iterable

from markupsafe import Markup, escape

#: A run of Arabic words with what stands between them.
ARABIC = "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff"
_RUN = re.compile(f"([{ARABIC}](?:[{ARABIC}\\s\u200c\u200d،؛:.]*[{ARABIC}])?)")

#: Characters that change the direction of what follows: from a name they would reach into the page.
_CONTROLS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Words:
    """Makes text ready for the page: escaped, every run of Arabic isolated, right to left and named as Arabic.

    A name of the study (a slug, so letters, digits and ``_ . + -``) is not broken at the end of a line.
    """

    def __init__(self, names: Iterable[str] = ()):
        breakable = sorted((name for name in names if "-" in name or "+" in name), key=len, reverse=True)
        within = "A-Za-z0-9_+-"
        self._names = (
            re.compile(f"(?<![{within}])({'|'.join(map(re.escape, breakable))})(?![{within}])") if breakable else None
        )

    def __call__(self, text: object) -> Markup:
        parts = _RUN.split(_CONTROLS.sub("", str(text)))
        marked = [_arabic(part) if place % 2 else self._latin(part) for place, part in enumerate(parts)]
        return Markup("").join(marked)

    def _latin(self, text: str) -> Markup:
        if self._names is None:
            return escape(text)
        parts = self._names.split(text)
        whole = Markup('<span class="name">{}</span>')
        return Markup("").join(whole.format(part) if place % 2 else escape(part) for place, part in enumerate(parts))


def is_arabic(text: str) -> bool:
    """Whether most letters of ``text`` are Arabic."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * len(re.findall(f"[{ARABIC}]", "".join(letters))) > len(letters)


def embedded(json_text: str) -> Markup:
    """JSON that can stand in a script element: no text in it can end the element or be taken for markup."""
    for char in "&<>\u2028\u2029":
        json_text = json_text.replace(char, f"\\u{ord(char):04x}")
    return Markup(json_text)


def _arabic(text: str) -> Markup:
    return Markup('<bdi lang="ar" dir="rtl">{}</bdi>').format(text)
