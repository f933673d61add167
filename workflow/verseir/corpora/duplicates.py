"""Poems that are the same, or nearly, under two ids: classes within which a query cannot tell one from another."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import polars as pl

from verseir.arabic import join_hemistichs, tokenize
from verseir.tables import DUPLICATES

#: Words in a shingle.
SHINGLE = 3
#: Two poems are near duplicates when they share this part of the shingles of the one that has fewer ...
NEAR = 0.5
#: ... and at least so many shingles, which is about one verse: below that, formulas would join strangers.
FEWEST_SHARED = 4
#: A shingle of more distinct poems than this is a formula of the genre and tells nothing.
MOST_POEMS = 100
#: Pairs that are counted at a time, which bounds the memory.
_MOST_PAIRS = 20_000_000


def equivalence_classes(poems: pl.DataFrame) -> pl.DataFrame:
    """The class of every poem (POEMS in, DUPLICATES out, in the order of ``poem_id``).

    ``exact``: the same words under the preset ``full``, however they are laid out in verses. ``near``: containment of
    word shingles (Broder 1997, "On the resemblance and containment of documents") of at least ``NEAR``, so that
    another edition with other readings is found, and an excerpt in an anthology too. Classes are the transitive
    closure; ``class_id`` is the smallest poem_id of the class. ``similarity`` is the largest containment between the
    poem and any other: 1 for exact ones, 0 where the poem shares too little with all. ``kind`` is ``exact``, ``near``
    or ``unique``, the first that holds.

    Cost grows with the words of the corpus and with the shingles that poems share, not with the pairs of poems.
    """
    ids = poems["poem_id"].to_list()
    words = [_words(verses) for verses in poems["verses"].to_list()]
    groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, text in enumerate(words):
        groups[tuple(text)].append(i)
    twins = list(groups.values())
    first, second, containment = near_pairs([words[group[0]] for group in twins])
    classes = _Classes(len(twins))
    nearest = np.zeros(len(twins))
    for a, b, share in zip(first.tolist(), second.tolist(), containment.tolist(), strict=True):
        classes.join(a, b)
        nearest[a], nearest[b] = max(nearest[a], share), max(nearest[b], share)
    members: defaultdict[int, list[int]] = defaultdict(list)
    for group in range(len(twins)):
        members[classes.find(group)] += twins[group]
    rows = []
    for group, same in enumerate(twins):
        of_class = members[classes.find(group)]
        class_id = min((ids[i] for i in of_class), key=str.encode)
        kind = "exact" if len(same) > 1 else "near" if len(of_class) > 1 else "unique"
        similarity = 1.0 if kind == "exact" else float(nearest[group])
        rows += [(ids[i], class_id, len(of_class), kind, similarity) for i in same]
    return pl.DataFrame(rows, schema=dict(DUPLICATES.columns), orient="row").sort("poem_id")


def _words(verses: list[dict[str, str | None]]) -> list[str]:
    return [word for verse in verses for word in tokenize(join_hemistichs(verse["first"] or "", verse["second"]))]


def near_pairs(texts: list[list[str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pairs of near duplicates among ``texts`` (lists of words).

    Returns three arrays of equal length: the index of one text, of the other, and their containment (float64).
    """
    owner, shingle = _shingles(texts)
    n_shingles = np.bincount(owner, minlength=len(texts))
    order = np.argsort(shingle, kind="stable")  # stable: owners stay ascending within a shingle
    owner, shingle = owner[order], shingle[order]
    starts = np.flatnonzero(np.r_[True, shingle[1:] != shingle[:-1]]) if len(shingle) else np.empty(0, np.int64)
    lengths = np.diff(np.r_[starts, len(shingle)])
    keys, shared = _shared_shingles(owner, starts, lengths, len(texts))
    enough = shared >= FEWEST_SHARED
    keys, shared = keys[enough], shared[enough]
    first, second = keys // max(len(texts), 1), keys % max(len(texts), 1)
    containment = shared / np.minimum(n_shingles[first], n_shingles[second])
    near = containment >= NEAR
    return first[near], second[near], containment[near]


def _shared_shingles(
    owner: np.ndarray, starts: np.ndarray, lengths: np.ndarray, n_texts: int
) -> tuple[np.ndarray, np.ndarray]:
    """How many shingles two texts share: keys (smaller index * n_texts + larger) and counts, where it is any.

    ``owner`` holds the texts of each shingle in turn, those of one shingle from ``starts`` for ``lengths``.
    """
    keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    for length in np.unique(lengths[(lengths > 1) & (lengths <= MOST_POEMS)]):
        # All shingles that `length` texts have: a matrix of their owners, and every two of its columns.
        alike = starts[lengths == length]
        left, right = np.triu_indices(length, 1)
        step = max(_MOST_PAIRS // len(left), 1)
        for at in range(0, len(alike), step):
            block = owner[alike[at : at + step, None] + np.arange(length)].astype(np.int64)
            new = (block[:, left] * n_texts + block[:, right]).ravel()
            weights = np.r_[counts, np.ones(len(new), np.int64)]
            keys, inverse = np.unique(np.r_[keys, new], return_inverse=True)
            counts = np.bincount(inverse, weights=weights, minlength=len(keys)).astype(np.int64)
    return keys, counts


def _shingles(texts: list[list[str]]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct shingles of each text: the index of the text (int32) and a 64-bit hash, ascending by text."""
    number: defaultdict[str, int] = defaultdict(lambda: len(number))
    words = np.fromiter((number[word] for text in texts for word in text), np.uint64)
    owner = np.repeat(np.arange(len(texts), dtype=np.int32), [len(text) for text in texts])
    if len(words) < SHINGLE:
        return owner[:0], words[:0]
    hashed = np.zeros(len(words) - SHINGLE + 1, np.uint64)
    for offset in range(SHINGLE):
        hashed = _mix(hashed * np.uint64(31) + words[offset : offset + len(hashed)])
    within = owner[: len(hashed)] == owner[SHINGLE - 1 :]
    owner, hashed = owner[: len(hashed)][within], hashed[within]
    order = np.lexsort((hashed, owner))
    owner, hashed = owner[order], hashed[order]
    new = np.r_[True, (owner[1:] != owner[:-1]) | (hashed[1:] != hashed[:-1])] if len(owner) else np.empty(0, bool)
    return owner[new], hashed[new]


def _mix(x: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64 (Steele, Lea, Flood 2014): every bit of the input moves every bit of the output."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class _Classes:
    """Disjoint sets with path halving."""

    def __init__(self, n: int):
        self._parent = list(range(n))

    def find(self, i: int) -> int:
        while self._parent[i] != i:
            self._parent[i] = self._parent[self._parent[i]]
            i = self._parent[i]
        return i

    def join(self, i: int, j: int) -> None:
        a, b = self.find(i), self.find(j)
        self._parent[max(a, b)] = min(a, b)
