"""What is in an idiom benchmark: documents and queries by use, their lengths, and how many people have checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from verseir.analyses.idioms import ALL, read_documents, read_queries, read_texts
from verseir.tables import define

IDIOM_DATA = define(
    "idiom_data",
    {
        "corpus": pl.String,
        "role": pl.String,
        "usage": pl.String,
        "n": pl.Int64,
        "n_idioms": pl.Int64,
        "n_subjects": pl.Int64,
        "n_gold": pl.Int64,
        "words_min": pl.Int64,
        "words_mean": pl.Float64,
        "words_max": pl.Int64,
        "span_words_mean": pl.Float64,
        "n_span_is_idiom": pl.Int64,
    },
    nullable="words_min words_mean words_max span_words_mean",
    unique="corpus role usage",
)

GOLD = "gold"


def idiom_data(results: str | Path, corpora: Mapping[str, str | None]) -> pl.DataFrame:
    """The IDIOM_DATA table. Words are parted by blanks; a span is its idiom where they differ in case at most.

    Args:
        results: the folder of a study.
        corpora: corpus -> one query set with its queries, None where there is none.
    """
    parts = [pl.DataFrame(schema=dict(IDIOM_DATA.columns))]
    for corpus, query_set in sorted(corpora.items()):
        documents = read_documents(results, corpus).join(read_texts(results, corpus), on="poem_id")
        parts.append(_described(documents, corpus, "document"))
        if query_set is not None:
            parts.append(_described(read_queries(results, query_set)[0], corpus, "query"))
    return pl.concat(parts).sort("corpus", "role", "usage")


def _described(texts: pl.DataFrame, corpus: str, role: str) -> pl.DataFrame:
    words, span_words = (pl.col(name).str.count_matches(r"\S+").cast(pl.Int64) for name in ("text", "span"))
    is_idiom = pl.col("span").str.to_lowercase() == pl.col("idiom").str.to_lowercase()
    counted: dict[str, Any] = {
        "n": pl.len(),
        "n_idioms": pl.col("idiom").n_unique(),
        "n_subjects": pl.col("subject").drop_nulls().n_unique(),
        "n_gold": (pl.col("quality") == GOLD).sum(),
        "words_min": words.min(),
        "words_mean": words.mean(),
        "words_max": words.max(),
        "span_words_mean": span_words.mean(),
        "n_span_is_idiom": is_idiom.sum(),
    }
    every = texts.select(usage=pl.lit(ALL), **counted)
    by_usage = texts.group_by("usage").agg(**counted)
    rows = pl.concat([part.select("usage", *counted) for part in (every, by_usage)], how="vertical_relaxed")
    named = rows.with_columns(corpus=pl.lit(corpus), role=pl.lit(role))
    return named.select(pl.col(name).cast(dtype) for name, dtype in IDIOM_DATA.columns.items())
