"""Known-item queries drawn from the poems themselves, for a corpus that has no queries of its own.

They are synthetic, and marked so in ``edit``: they tell whether a system finds a poem by words that it holds, not what
readers ask. Two for each poem that is drawn, from one verse of it:

* ``probe:hemistich``, register ``quoting``: a hemistich as it stands;
* ``probe:scrambled``, register ``half-remembered``: two thirds of the words of its verse, in another order.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict

import polars as pl

from verseir.arabic import join_hemistichs, tokenize
from verseir.faults import UserError
from verseir.tables import QRELS, QUERIES

#: A shorter hemistich (a word or two) names no poem, and a shorter verse leaves nothing to scramble.
_LEAST_WORDS = 3
_LEAST_VERSE_WORDS = 6


def known_item_probes(
    poems: pl.DataFrame, n: int, seed: int, query_set: str = "probe"
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Draw ``n`` poems and two queries from each; the poem is the one relevant answer to both.

    A poem is passed over when the hemistich drawn from it stands in another poem too (compared under ``full``). The
    draw depends on ``seed`` and each id alone: not on the order of ``poems``, and hardly on which others there are.

    Args:
        poems: a POEMS frame.
        n: poems to draw.
        seed: of the draw.
        query_set: value of the column ``query_set``.

    Returns:
        A QUERIES and a QRELS frame of 2 ``n`` rows each, in the order of ``query_id``.

    Raises:
        UserError: when fewer than ``n`` poems will do.
    """
    verses_of = dict(poems.select("poem_id", "verses").iter_rows())
    poems_with = _poems_with(verses_of)
    queries, qrels = [], []
    drawn = 0
    for poem_id in sorted(verses_of, key=lambda poem_id: _rank(seed, "poem", poem_id)):
        if drawn == n:
            break
        found = _draw(poem_id, verses_of[poem_id], seed)
        if found is None or len(poems_with[_key(found[0])]) > 1:
            continue
        drawn += 1
        quoting_id, scrambled_id = f"{poem_id}.hemistich", f"{poem_id}.scrambled"
        queries += [
            _query(quoting_id, query_set, found[0], "quoting", "probe:hemistich", None),
            _query(scrambled_id, query_set, found[1], "half-remembered", "probe:scrambled", quoting_id),
        ]
        qrels += [{"query_id": query_id, "poem_id": poem_id, "grade": 1} for query_id in (quoting_id, scrambled_id)]
    if drawn < n:
        raise UserError(
            f"only {drawn} of {len(verses_of)} poems have a hemistich of their own to ask for; {n} were wanted",
            hint=f"set the probe's n to {drawn} or less",
        )
    return (
        pl.DataFrame(queries, schema=dict(QUERIES.columns)).sort("query_id"),
        pl.DataFrame(qrels, schema=dict(QRELS.columns)).sort("query_id"),
    )


def _poems_with(verses_of: dict[str, list[dict[str, str | None]]]) -> dict[str, set[str]]:
    """The poems that each hemistich stands in."""
    found: dict[str, set[str]] = defaultdict(set)
    for poem_id, verses in verses_of.items():
        for verse in verses:
            for hemistich in (verse["first"], verse["second"]):
                if hemistich:
                    found[_key(hemistich)].add(poem_id)
    return found


def _draw(poem_id: str, verses: list[dict[str, str | None]], seed: int) -> tuple[str, str] | None:
    """(a hemistich, the words of its verse scrambled) of one verse of the poem; None when no verse is long enough."""
    candidates = []
    for index, verse in enumerate(verses):
        words = tokenize(join_hemistichs(verse["first"] or "", verse["second"]), "light")
        if len(words) >= _LEAST_VERSE_WORDS:
            candidates += [
                (_rank(seed, "hemistich", poem_id, str(index), half), text, words)
                for half in ("first", "second")
                if (text := verse[half]) and len(tokenize(text)) >= _LEAST_WORDS
            ]
    if not candidates:
        return None
    _, hemistich, words = min(candidates)
    return hemistich, " ".join(_scrambled(words, seed, poem_id))


def _scrambled(words: list[str], seed: int, poem_id: str) -> list[str]:
    """Two thirds of ``words``, never in the order in which they stood."""
    by_drop = sorted(range(len(words)), key=lambda i: _rank(seed, "drop", poem_id, str(i)))
    kept = sorted(by_drop[round(len(words) / 3) :])
    order = sorted(kept, key=lambda i: _rank(seed, "order", poem_id, str(i)))
    if order == kept:
        order.reverse()
    return [words[i] for i in order]


def _key(hemistich: str) -> str:
    return " ".join(tokenize(hemistich))


def _rank(seed: int, *parts: str) -> bytes:
    """A number that looks random and depends on its arguments alone."""
    return hashlib.sha256("\0".join([str(seed), *parts]).encode()).digest()


def _query(
    query_id: str, query_set: str, text: str, register: str, edit: str, source_query_id: str | None
) -> dict[str, str | None]:
    return {
        "query_id": query_id,
        "query_set": query_set,
        "text": text,
        "register": register,
        "source_query_id": source_query_id,
        "edit": edit,
        "span": None,
        "cluster": None,
    }
