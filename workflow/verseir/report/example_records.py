"""What the page is told of each query that it shows; texts are told once, see ``example_texts``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from verseir.arabic.presets import normalise
from verseir.arabic.tokens import tokenize
from verseir.judging.sheet_page import direction
from verseir.measures import RELEVANT
from verseir.orders import mode_order
from verseir.overlap import longest_run_at, token_places
from verseir.report.example_texts import Library, Shelf, Vocabulary, most_shared

#: How many results of each system are shown, and among how many a query counts as found.
DEPTH = 5
#: How many of the poems that answer a query are shown; one alone of up to so many verses is shown whole.
ANSWERS, WHOLE = 3, 12
#: Verses of a poem that are shown where it is not shown whole: the window that shares most words with the query.
WINDOW = 3
#: The preset under which the page looks for words in queries, whatever words are compared under.
SEARCHED = "full"
#: The Arabic blocks, whose letters the page folds in what a reader looks for.
_ARABIC = (*range(0x600, 0x700), *range(0x750, 0x780), *range(0x8A0, 0x900))


@dataclass(frozen=True)
class Place:
    """What was searched for one query set in one corpus.

    Attributes:
        queries: QUERIES.
        answers: ``query_id``, ``poem_id`` and ``grade`` of the judged poems of the corpus, the best of a query first.
        ranks: of each (mode, system): the rank of the first relevant poem, by query; none where none is in the list.
        tops: of each (mode, system): ``query_id``, ``poem_id`` and ``chunk_id`` of the first results, in order.
    """

    corpus: str
    query_set: str
    queries: pl.DataFrame
    answers: pl.DataFrame
    ranks: dict[tuple[str, str], dict[str, int]]
    tops: dict[tuple[str, str], pl.DataFrame]


def records(
    shown: Sequence[tuple[Place, int]],
    places: Sequence[Place],
    libraries: Mapping[str, Library],
    modes: Mapping[str, Sequence[str]],
    preset: str,
    texts: int = DEPTH,
) -> dict[str, Any]:
    """What the page is told; poems, chunks and words go by their number.

    ``queries``: ``corpus``, ``set``, ``id``; ``text``, a line; ``direction`` and perhaps ``language``; ``plain``, its
    words as they are looked for; ``words``, how many distinct ones it has; perhaps ``register``, ``edit`` and
    ``source``; ``relevant``, how many poems answer it; ``answers``, the first of them: poem, grade, the words that it
    shares, the longest run of them, and the verses to show; ``judged``, flat: poem and grade of every result that is
    judged; ``results``, for each of ``modes`` and of ``systems`` the rank of the first relevant poem (0: not in the
    list) and the chunks of the first results, or null where there is no run.

    Args:
        shown: a place and a row of its queries, for each query to show.
        places: all of the study.
        libraries: by corpus.
        modes: the fields of each mode.
        preset: the normalisation under which words are compared.
        texts: of how many of the first results the verses are told; the others are named.
    """
    vocabulary = Vocabulary(preset)
    shelf = Shelf(libraries, vocabulary)
    searched = sorted({mode for place in places for mode, _ in place.tops}, key=mode_order)
    systems = sorted({system for place in places for _, system in place.tops})
    words = [vocabulary.learn(place.queries["text"][row]) for place, row in shown]  # before any text is marked
    drawn = {id(place): _Drawn(place, [row for one, row in shown if one is place]) for place in places}
    queries = []
    for (place, row), own in zip(shown, words, strict=True):
        query = place.queries.row(row, named=True)
        found = drawn[id(place)]
        judged = found.answers.get(query["query_id"], [])
        told = _query(query, place.corpus, own, judged, vocabulary, shelf)
        told["language"] = libraries[place.corpus].language(query["text"], judged[0][0] if judged else None)
        told["results"] = [
            [
                _result(found, query["query_id"], (mode, system), _sources(modes[mode]), shelf, texts)
                for system in systems
            ]
            for mode in searched
        ]
        told["judged"] = _judged(told["results"], judged, place.corpus, shelf)
        queries.append({key: value for key, value in told.items() if value is not None})
    return {
        "depth": DEPTH,
        "texts": texts,
        "preset": preset,
        "in_all": sum(len(place.queries) for place in places),
        "places": [
            {
                "corpus": place.corpus,
                "set": place.query_set,
                "in_all": len(place.queries),
                "shown": len(drawn[id(place)].rows),
            }
            for place in places
        ],
        "systems": systems,
        "modes": [{"name": mode, "fields": list(modes[mode])} for mode in searched],
        "queries": queries,
        "poems": shelf.poems,
        "chunks": shelf.chunks,
        "fold": folds(),
    }


def folds() -> dict[str, str]:
    """What each letter of the Arabic blocks becomes under ``SEARCHED``, where that is another or none."""
    return {chr(code): normal for code in _ARABIC if (normal := normalise(chr(code), SEARCHED).strip()) != chr(code)}


class _Drawn:
    """Of the queries of a place that are shown: the poems that are judged for them, and what each run has first."""

    def __init__(self, place: Place, rows: Sequence[int]):
        self.place, self.rows = place, rows
        ids = place.queries["query_id"].gather(list(rows))
        own = place.answers.filter(pl.col("query_id").is_in(ids.to_list()))
        self.answers: dict[str, list[tuple[str, int]]] = {}
        for query_id, poem_id, grade in own.select("query_id", "poem_id", "grade").iter_rows():
            self.answers.setdefault(query_id, []).append((poem_id, grade))
        self.tops: dict[tuple[str, str], dict[str, list[tuple[str, str | None]]]] = {}
        for run, top in place.tops.items():
            first = self.tops[run] = {}
            for query_id, poem_id, chunk_id in top.filter(pl.col("query_id").is_in(ids.to_list())).iter_rows():
                first.setdefault(query_id, []).append((poem_id, chunk_id))


def _query(
    query: Mapping[str, Any],
    corpus: str,
    words: Sequence[str],
    judged: Sequence[tuple[str, int]],
    vocabulary: Vocabulary,
    shelf: Shelf,
) -> dict[str, Any]:
    relevant = [(poem_id, grade) for poem_id, grade in judged if grade >= RELEVANT]
    whole = WHOLE if len(relevant) == 1 else WINDOW
    return {
        "corpus": corpus,
        "set": query["query_set"],
        "id": query["query_id"],
        "text": vocabulary.line(query["text"]),
        "direction": direction(query["text"]),
        "plain": " ".join(tokenize(query["text"], SEARCHED)),
        "words": len(set(words)),
        "register": query["register"],
        "edit": query["edit"],
        "source": query["source_query_id"],
        "relevant": len(relevant),
        "answers": [
            _answer(corpus, poem_id, grade, words, whole, vocabulary, shelf) for poem_id, grade in relevant[:ANSWERS]
        ],
    }


def _answer(
    corpus: str, poem_id: str, grade: int, words: Sequence[str], whole: int, vocabulary: Vocabulary, shelf: Shelf
) -> list[Any]:
    """A poem that answers a query of these words: number, grade, shared words, longest run, verses to show."""
    number = shelf.poem(corpus, poem_id)
    verses = shelf.words(number)
    places = token_places([word for verse in verses for word in verse])
    shared = [vocabulary.numbers[word] for word in dict.fromkeys(words) if word in places]
    all_of_it = range(len(verses))
    shown = all_of_it if len(verses) <= whole else most_shared(words, verses, WINDOW)
    shelf.show(number, shown)
    return [number, grade, shared, longest_run_at(words, places).length, list(shown)]


def _result(
    found: _Drawn, query_id: str, run: tuple[str, str], sources: Sequence[str], shelf: Shelf, texts: int
) -> list[int] | None:
    if run not in found.tops:
        return None
    rank = found.place.ranks[run].get(query_id, 0)
    first = found.tops[run].get(query_id, [])
    corpus = found.place.corpus
    chunks = (shelf.chunk(corpus, *one, sources, with_text=place < texts) for place, one in enumerate(first))
    return [rank, *chunks]


def _judged(
    results: Sequence[Sequence[list[int] | None]], answers: Sequence[tuple[str, int]], corpus: str, shelf: Shelf
) -> list[int]:
    """Poem and grade of each result that is judged, flat."""
    seen = {shelf.chunks[chunk][0] for row in results for one in row if one for chunk in one[1:]}
    known = [(shelf.known(corpus, poem_id), grade) for poem_id, grade in answers]
    return [part for number, grade in known if number is not None and number in seen for part in (number, grade)]


def _sources(fields: Sequence[str]) -> list[str]:
    """The sources of the explanations among the fields of a mode."""
    return [field.partition(":")[2] for field in fields if field.startswith("explanation:")]
