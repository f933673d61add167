"""How BM25 splits texts into tokens: the ways that an entry of the registry can name as ``tokens``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from verseir.arabic.presets import normalise
from verseir.arabic.tokens import tokenize

_WORD = re.compile(r"\b\w+(?:'\w+)?\b")


def english_words(text: str, preset: str) -> list[str]:
    """The words of ``text`` in lower case; one straight apostrophe may stand inside a word (``don't``)."""
    return _WORD.findall(normalise(text, preset).lower())


#: ``any-script``: runs of letters, marks and digits (``arabic.tokens``); ``words``: English words.
TOKENIZERS: dict[str, Callable[[str, str], list[str]]] = {"any-script": tokenize, "words": english_words}


def tokens_of(texts: Iterable[str], entry: Mapping[str, Any]) -> list[list[str]]:
    """The tokens of each text, normalised and split as the BM25 system ``entry`` says (``text`` and ``tokens``)."""
    split = TOKENIZERS[entry["tokens"]]
    return [split(text, entry["text"]) for text in texts]
