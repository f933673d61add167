"""The tokens of texts as numbers: two arrays and a vocabulary, however many texts there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import overload

import numpy as np
import polars as pl

#: Tokens that are renumbered together.
_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Tokens(Sequence[list[str]]):
    """The tokens of n texts, m in all. As a sequence it gives the tokens of each text.

    Attributes:
        vocabulary: distinct tokens, ascending by code point: all that occur, and maybe more.
        ids: int32 [m], text by text, places in ``vocabulary``.
        starts: int64 [n + 1], the tokens of text i are ``ids[starts[i]:starts[i + 1]]``.
    """

    vocabulary: list[str]
    ids: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[Sequence[str]]) -> Tokens:
        """``texts`` itself where it is ``Tokens``, or else numbers for its lists of tokens."""
        if isinstance(texts, cls):
            return texts
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        number_of = {token: number for number, token in enumerate(dict.fromkeys(chain.from_iterable(texts)))}
        numbers = map(number_of.__getitem__, chain.from_iterable(texts))
        return cls.numbered(number_of, np.fromiter(numbers, np.int32, int(lengths.sum())), starts_of(lengths))

    @classmethod
    def numbered(cls, vocabulary: Iterable[str], ids: np.ndarray, starts: np.ndarray) -> Tokens:
        """As the class has them, of a vocabulary in any order; ``ids`` are changed where they are."""
        tokens = pl.Series(list(vocabulary), dtype=pl.String)
        order = tokens.arg_sort()
        place = np.empty(len(tokens), dtype=np.int32)
        place[order.to_numpy()] = np.arange(len(tokens), dtype=np.int32)
        for first in range(0, len(ids), _BLOCK):
            part = ids[first : first + _BLOCK]
            part[:] = place[part]
        return cls(tokens.gather(order).to_list(), ids, starts)

    @property
    def lengths(self) -> np.ndarray:
        """int64 [n], how many tokens each text has."""
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, index: int) -> list[str]: ...
    @overload
    def __getitem__(self, index: slice) -> list[list[str]]: ...
    def __getitem__(self, index: int | slice) -> list[str] | list[list[str]]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        i = range(len(self))[index]
        return [self.vocabulary[token] for token in self.ids[self.starts[i] : self.starts[i + 1]].tolist()]

    def take(self, rows: np.ndarray) -> Tokens:
        """The texts at ``rows``, int [k], in that order; the vocabulary stays as it is."""
        return Tokens(self.vocabulary, *take_parts(self.ids, self.starts, rows))

    def trimmed(self) -> Tokens:
        """The same texts with the vocabulary that they use."""
        occurs = np.bincount(self.ids, minlength=len(self.vocabulary)) > 0
        if occurs.all():
            return self
        vocabulary = [self.vocabulary[token] for token in np.flatnonzero(occurs).tolist()]
        return Tokens(vocabulary, (np.cumsum(occurs, dtype=np.int32) - 1)[self.ids], self.starts)


def starts_of(lengths: np.ndarray) -> np.ndarray:
    """int64 [n + 1]: where parts of these lengths start, one after the other, and where the last one ends."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def take_parts(values: np.ndarray, starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The parts at ``rows``, one after the other, and where they start.

    Args:
        values, starts: part i is ``values[starts[i]:starts[i + 1]]``.
        rows: int [k], parts in any order; one may come several times.
    """
    firsts = starts[rows]
    new = starts_of(starts[rows + 1] - firsts)
    places = np.arange(new[-1])
    places += np.repeat(firsts - new[:-1], np.diff(new))
    return values[places], new
