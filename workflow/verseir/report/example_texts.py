"""The texts of examples: each once, with the places of the words that a query might share.

A line is ``[text]`` or ``[text, words]``; ``words`` is flat: start, end and number of each word that some query has.
Starts and ends count UTF-16 units, as a page does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl

from verseir.arabic.hemistichs import join_hemistichs, joint
from verseir.chunks import chunk_name, windows
from verseir.exchange.languages import language_tag
from verseir.judging.sheet_page import direction
from verseir.scripts import dominant_script
from verseir.systems.tokenizers import spans_by_script, words_by_script

Line = list[Any]
Span = tuple[str, int, int]


class Vocabulary:
    """The words of queries, by number; words are compared under ``preset``.

    Attributes:
        numbers: of the normal form of each word.
    """

    def __init__(self, preset: str):
        self.preset = preset
        self.numbers: dict[str, int] = {}

    def learn(self, text: str) -> list[str]:
        """The words of a query, which get a number if they have none."""
        words = words_by_script(text, self.preset)
        for word in words:
            self.numbers.setdefault(word, len(self.numbers))
        return words

    def line(self, text: str) -> Line:
        """A text with its words."""
        return self._line(text, spans_by_script(text, self.preset))

    def verse(self, first: str, second: str | None) -> list[Line]:
        """The one or two hemistichs of a verse; a word that runs over the caesura is marked in both."""
        left, between, right = joint(first, second)
        spans = spans_by_script(left + between + right, self.preset)
        if not second:
            return [self._line(first, spans)]
        if not first:
            return [self._line("", []), self._line(second, spans)]
        cut, shift = len(left) + len(between), len(second) - len(right)
        before = [(word, start, min(end, len(left))) for word, start, end in spans if start < len(left)]
        after = [(word, max(start - cut, 0) + shift, end - cut + shift) for word, start, end in spans if end > cut]
        return [self._line(first, before), self._line(second, after)]

    def _line(self, text: str, spans: Iterable[Span]) -> Line:
        known = [(start, end, self.numbers[word]) for word, start, end in spans if word in self.numbers]
        if not known:
            return [text]
        place = _utf16(text)
        return [text, [part for start, end, number in known for part in (place(start), place(end), number)]]


def _utf16(text: str) -> Callable[[int], int]:
    """Of a place in ``text`` the place in UTF-16 units."""
    if text.isascii() or max(text) <= "\uffff":
        return int
    units = [0]
    for char in text:
        units.append(units[-1] + (2 if char > "\uffff" else 1))
    return units.__getitem__


class Library:
    """The poems and explanations of a corpus, to look up."""

    def __init__(self, poems: pl.DataFrame, explanations: pl.DataFrame, size: int, stride: int):
        """Of POEMS and EXPLANATIONS, indexed in windows of ``size`` verses, one every ``stride``."""
        self._poems = poems
        self._row = {poem_id: row for row, poem_id in enumerate(poems["poem_id"])}
        self._size, self._stride = size, stride
        self._windows: dict[int, dict[int, int]] = {}
        #: A poem in the language of all, where there is one.
        self._typical = poems["poem_id"][0] if poems["language"].n_unique() == 1 else None
        self._explanations = explanations.sort("poem_id")
        lengths = self._explanations["poem_id"].rle().struct.unnest()
        ends = lengths["len"].cum_sum()
        self._explained = {
            poem_id: (end - n, n) for poem_id, n, end in zip(lengths["value"], lengths["len"], ends, strict=True)
        }

    def __contains__(self, poem_id: str) -> bool:
        return poem_id in self._row

    def poem(self, poem_id: str) -> dict[str, Any]:
        """A row of POEMS."""
        return self._poems.row(self._row[poem_id], named=True)

    def language(self, text: str, poem_id: str | None = None) -> str | None:
        """The language of a query, as far as it can be told: that of a poem which answers it, or else of all poems,
        where it is in the same script."""
        poem_id = poem_id or self._typical
        if poem_id is None:
            return None
        poem = self.poem(poem_id)
        verses = "\n".join(join_hemistichs(verse["first"], verse["second"]) for verse in poem["verses"])
        same = dominant_script(text) == dominant_script(verses)
        return language_tag(poem["language"]) if same else None

    def explained(self, poem_id: str) -> dict[tuple[str, int], str]:
        """The explanations of a poem, by source and verse."""
        own = self._explanations.slice(*self._explained.get(poem_id, (0, 0)))
        return {
            (source, verse): text for source, verse, text in own.select("source", "verse_index", "text").iter_rows()
        }

    def window(self, poem_id: str, chunk_id: str | None) -> tuple[int, int] | None:
        """First verse and number of verses of a chunk; None where it is none of this study's."""
        number = (chunk_id or "").rpartition("#")[2]
        if not number.isdecimal() or chunk_name(poem_id, int(number)) != chunk_id:
            return None
        first, n_verses = int(number), len(self.poem(poem_id)["verses"])
        if n_verses not in self._windows:
            self._windows[n_verses] = dict(windows(n_verses, self._size, self._stride))
        n = self._windows[n_verses].get(first)
        return None if n is None else (first, n)

    @property
    def opening(self) -> int:
        """Verses of a poem that are shown where its chunk is not known."""
        return self._size


class Shelf:
    """The poems that are shown, each once, with the verses that are shown of it.

    Attributes:
        poems: what the page is told of each.
        chunks: poem, first verse, number of verses, and 1 where it is known that this chunk won, else 0.
    """

    def __init__(self, libraries: Mapping[str, Library], vocabulary: Vocabulary):
        self._libraries, self._vocabulary = libraries, vocabulary
        self._number: dict[tuple[str, str], int] = {}
        self._read: list[tuple[Library, dict[str, Any]]] = []
        self.poems: list[dict[str, Any]] = []
        self.chunks: list[tuple[int, int, int, int]] = []
        self._chunk: dict[tuple[int, int, int, int], int] = {}

    def poem(self, corpus: str, poem_id: str) -> int:
        """The number of a poem."""
        key = (corpus, poem_id)
        if key not in self._number:
            library = self._libraries[corpus]
            row = library.poem(poem_id)
            text = "\n".join(join_hemistichs(verse["first"], verse["second"]) for verse in row["verses"])
            told = {
                "id": poem_id,
                "title": self._vocabulary.line(row["title"]) if row["title"] else None,
                "poet": row["poet"],
                "language": language_tag(row["language"]),
                "direction": direction(text),
                "length": len(row["verses"]),
            }
            self._number[key] = len(self.poems)
            self._read.append((library, row))
            self.poems.append({key: value for key, value in told.items() if value is not None} | {"verses": {}})
        return self._number[key]

    def chunk(
        self, corpus: str, poem_id: str, chunk_id: str | None, sources: Iterable[str], with_text: bool = True
    ) -> int:
        """The number of a chunk; its verses are shown ``with_text``, and then their explanations of ``sources`` too."""
        number = self.poem(corpus, poem_id)
        library = self._libraries[corpus]
        window = library.window(poem_id, chunk_id)
        first, n = window or (0, min(library.opening, self.poems[number]["length"]))
        if with_text:
            self.show(number, range(first, first + n), sources)
        chunk = (number, first, n, int(window is not None))
        if chunk not in self._chunk:
            self._chunk[chunk] = len(self.chunks)
            self.chunks.append(chunk)
        return self._chunk[chunk]

    def show(self, number: int, verses: Iterable[int], sources: Iterable[str] = ()) -> None:
        """Have these verses of a poem shown."""
        told, (library, row) = self.poems[number], self._read[number]
        explained = library.explained(row["poem_id"]) if sources else {}
        for verse in verses:
            if str(verse) not in told["verses"]:
                halves = row["verses"][verse]
                told["verses"][str(verse)] = self._vocabulary.verse(halves["first"], halves["second"])
            for source in sources:
                text = explained.get((source, verse))
                if text:
                    shown = told.setdefault("explained", {}).setdefault(source, {})
                    shown.setdefault(str(verse), self._vocabulary.line(text))

    def known(self, corpus: str, poem_id: str) -> int | None:
        """The number of a poem that has one."""
        return self._number.get((corpus, poem_id))

    def words(self, number: int) -> list[list[str]]:
        """The words of each verse of a poem."""
        verses = self._read[number][1]["verses"]
        preset = self._vocabulary.preset
        return [words_by_script(join_hemistichs(verse["first"], verse["second"]), preset) for verse in verses]


def most_shared(words: Iterable[str], verses: list[list[str]], size: int) -> range:
    """The first of the windows of ``size`` verses that share most distinct words with ``words``."""
    asked = set(words)
    held = [asked & set(verse) for verse in verses]
    shared = [len(set().union(*held[first : first + n])) for first, n in windows(len(verses), size, 1)]
    first, n = windows(len(verses), size, 1)[max(range(len(shared)), key=shared.__getitem__)]
    return range(first, first + n)
