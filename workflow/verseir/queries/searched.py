"""Which words of a query a lexical system searches for."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from verseir.faults import UserError, closest


def _spans(queries: pl.DataFrame) -> list[str]:
    span = pl.col("span").fill_null("")
    return queries.select(pl.when(span == "").then("text").otherwise(span))["text"].to_list()


#: ``text``: the whole query; ``span``: its span alone, or the whole of a query without one.
READS: dict[str, Callable[[pl.DataFrame], list[str]]] = {
    "text": lambda queries: queries["text"].to_list(),
    "span": _spans,
}


def searched_texts(queries: pl.DataFrame, reads: str = "text") -> list[str]:
    """What is searched for of each query of a QUERIES frame; ``reads`` is one of ``READS``."""
    if reads not in READS:
        raise UserError(f"'{reads}' is no part of a query", hint=closest(reads, READS))
    return READS[reads](queries)
