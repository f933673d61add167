"""Whether queries that are said to quote share a word with what they look for."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from verseir.arabic import join_hemistichs
from verseir.measures import RELEVANT
from verseir.queries.checks import Corpora, QuerySets, Specs
from verseir.systems.tokenizers import words_by_script

#: A query or two may be mistaken; where at least as many share nothing, they are likely to be of other poems.
FEWEST = 3


def quoting_warnings(corpora: Corpora, query_sets: QuerySets, specs: Specs) -> Iterator[str]:
    """A line for each query set most of whose quoting queries share no word with any poem that is relevant to them."""
    for name, query_set in sorted(query_sets.items()):
        if query_set is None:
            continue
        quoting = query_set.queries.filter(pl.col("register") == "quoting").select("query_id", "text")
        wanted = query_set.qrels.filter(pl.col("grade") >= RELEVANT).join(quoting, on="query_id")
        for corpus in (corpora.get(place) for place in specs[name]["corpora"]):
            if corpus is None or wanted.is_empty():
                continue
            told = wanted.join(corpus.poems.select("poem_id", "verses"), on="poem_id").sort("query_id", "poem_id")
            shares: dict[str, bool] = {}
            for query_id, text, verses in told.select("query_id", "text", "verses").iter_rows():
                asked = set(words_by_script(text, "full"))
                poem = (join_hemistichs(verse["first"] or "", verse["second"]) for verse in verses)
                found = any(not asked.isdisjoint(words_by_script(verse, "full")) for verse in poem)
                shares[query_id] = shares.get(query_id, False) or found
            apart = [query_id for query_id, found in shares.items() if not found]
            if len(apart) >= max(FEWEST, len(shares) / 2):
                yield (
                    f"query set {name}: {len(apart)} of {len(shares)} quoting queries share no word with a poem of "
                    f"{corpus.name} that is relevant to them, such as '{apart[0]}': are they queries of these poems?"
                )
