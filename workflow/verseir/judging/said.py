"""What a server says, made fit to be shown and kept: without the key and without what cannot be seen, and short."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

#: Characters that take no room, as the inside of a regular expression's class: the category Cf of Unicode (joiners,
#: marks of direction, the soft hyphen, the byte order mark), variation selectors, and letters that are blank.
INVISIBLE = (
    "\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_CONTROLS = "\x00-\x1f\x7f-\x9f"
#: What a terminal obeys, and what it cannot print: escape sequences whole, controls, invisible characters, half ones.
_UNSEEN = re.compile(f"\x1b\\[[0-?]*[ -/]*[@-~]|[{_CONTROLS}{INVISIBLE}\ud800-\udfff]")
_LINE_ENDS = re.compile("[\t-\r\x85]+")
_TAGS = re.compile(r"<[^<>]*>")
#: Characters of a server's words that are shown.
LONGEST = 300
#: The same of a page or another thing that is no error message.
LONGEST_PAGE = 200


class Secret:
    """A key that must stand nowhere; an empty one hides nothing.

    It is found in spite of JSON's escapes and of invisible characters in it: both are gone once a text is read.
    """

    def __init__(self, key: str):
        between = f"[{_CONTROLS}{INVISIBLE}]*"
        letters = [rf"(?:\\{{0,2}}{re.escape(char)}|\\{{1,2}}u(?i:{ord(char):04x}))" for char in key]
        self._pattern = re.compile(between.join(letters)) if key else None

    def hidden(self, text: str) -> str:
        """``text`` with ``***`` for the key."""
        return self._pattern.sub("***", text) if self._pattern else text

    def hidden_within(self, value: Any) -> Any:
        """A JSON value with ``***`` for the key in all its texts and names."""
        if isinstance(value, str):
            return self.hidden(value)
        if isinstance(value, list):
            return [self.hidden_within(item) for item in value]
        if isinstance(value, dict):
            return {self.hidden(name): self.hidden_within(item) for name, item in value.items()}
        return value

    def shown(self, text: str, longest: int = LONGEST) -> str:
        """``text`` fit for a message. The key goes before anything is cut, so that no half of it is left."""
        return shown(self.hidden(_seen(self.hidden(text))), longest)


def shown(text: str, longest: int) -> str:
    """The first characters of ``text``, in one line and without those that are not seen."""
    return _seen(text)[:longest].strip()


def _seen(text: str) -> str:
    # Blanks are settled after the escape sequences, which may hold some, and line ends before the controls go.
    return " ".join(_UNSEEN.sub("", _LINE_ENDS.sub(" ", text)).split())


def body_of(content: bytes) -> Any:
    """The body of an answer: a JSON value, or its text where it is none."""
    text = content.decode(errors="replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def words_of(body: Any) -> str:
    """What the body of an error says in words, whatever its shape: a message, a list, plain text or a page."""
    for _ in range(4):  # such as {"error": {"message": ...}}
        if not isinstance(body, Mapping):
            break
        said = [body[name] for name in ("error", "message", "detail", "msg") if body.get(name)]
        if not said:
            break
        body = said[0]
    if isinstance(body, str):
        return _TAGS.sub(" ", body)
    try:
        return json.dumps(body, ensure_ascii=False)
    except RecursionError:
        return ""
