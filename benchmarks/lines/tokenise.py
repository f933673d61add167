"""Normalising and tokenising the verses of chunks for BM25."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from agreement import require_same_lists
from harness.line import Line, Peer
from texts import Vocabulary, make_poems

ORDER = 5
ENTRY = {"text": "full", "tokens": "any-script"}


class Texts(NamedTuple):
    """The texts of chunks, windows of three verses."""

    chunks: list[str]


def prepare(size: int, _: int) -> Texts:
    """``size`` chunks; half of the poems have vowel signs."""
    rng = np.random.default_rng(7)
    return Texts(make_poems(size, Vocabulary.made_up(rng), rng, vocalised=0.5).chunk_texts())


def tokenise(data: Texts, _: int) -> Any:
    """As the step that indexes does: the tokens as numbers, and the vocabulary. Nothing outlasts the call."""
    from verseir.systems.tokenizers import tokens_of

    return tokens_of(data.chunks, ENTRY)


def tokenise_chunks(data: Texts, _: int) -> list[list[str]]:
    """Each chunk for itself, as a whole: no verse, no word is remembered."""
    from verseir.arabic.presets import normalise
    from verseir.arabic.tokens import _WORDS

    return [_WORDS.apply(normalise(text, ENTRY["text"])).split() for text in data.chunks]


LINES = (
    Line(
        name="tokenise",
        work="normalise and tokenise the verses of chunks",
        unit="chunks",
        sizes=(305, 4_000, 31_000, 244_000),
        quick=(305, 4_000),
        prepare=prepare,
        ours=tokenise,
        peers=(Peer("each chunk by itself", tokenise_chunks, floors={1: 1.6}),),
        same=lambda _, ours, theirs, __: require_same_lists(list(ours), theirs, "tokens"),
        threads=(1,),
        binds="splitting verses at their blanks, and normalising each word that was not met before",
        packages=("numpy", "polars"),
    ),
)
