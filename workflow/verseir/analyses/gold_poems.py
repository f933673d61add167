"""Are the poems that the queries ask for like the rest of the corpus?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from verseir.analyses.paired import notes, tested
from verseir.analyses.poet_frequency import poems_by_poet
from verseir.stats.two_groups import Effect, cliffs_delta, cramers_v
from verseir.tables import define

GOLD_POEMS = define(
    "gold_poems",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "property": pl.String,
        "n_gold": pl.Int64,
        "n_rest": pl.Int64,
        "statistic": pl.String,
        "estimate": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "test": pl.String,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "family_size": pl.Int64,
        "note": pl.String,
    },
    nullable="estimate ci_low ci_high p p_holm note",
    unique="corpus query_set property",
)
#: Properties that are names, and those that are numbers.
NAMES = ("era", "genre", "meter")
NUMBERS = ("verses", "poems by the poet")


def gold_poems(
    qrels: pl.DataFrame, poems: Mapping[str, pl.DataFrame], searched: Mapping[str, list[str]], draws: int, seed: int
) -> pl.DataFrame:
    """The GOLD_POEMS table: era, genre and meter by Cramer's V; verses and poems by the poet by Cliff's delta.

    Delta is above 0 where gold poems have more. Poems without a property are left out of its row and counted in the
    note.

    Args:
        qrels: QRELS of the query sets, with a column ``query_set``; a poem is gold from grade 1 on.
        poems: corpus -> its POEMS.
        searched: query set -> the corpora that it is searched in.
        draws: tables drawn for the test of a sparse one.
        seed: of the draws.
    """
    rows: list[dict[str, Any]] = []
    properties = {corpus: _properties(frame) for corpus, frame in poems.items()}
    for query_set in sorted(searched):
        gold = qrels.filter((pl.col("query_set") == query_set) & (pl.col("grade") > 0)).select("poem_id").unique()
        for corpus in sorted(set(searched[query_set]) & set(poems)):
            of_corpus = properties[corpus]
            marked = of_corpus.with_columns(gold=pl.col("poem_id").is_in(gold["poem_id"].to_list()))
            cell = {"family": f"gold_poems/{corpus}/{query_set}", "corpus": corpus, "query_set": query_set}
            rows += [cell | _row(marked, name, draws, seed) for name in (*NAMES, *NUMBERS)]
    return tested(rows, GOLD_POEMS, ["corpus", "query_set", "property"])


def _properties(poems: pl.DataFrame) -> pl.DataFrame:
    """poem_id and one column for each property."""
    counted = poems_by_poet(poems).select("poem_id", pl.col("n_poems").alias(NUMBERS[1]))
    named = [pl.col(name).str.strip_chars().replace("", None) for name in NAMES]
    verses = pl.col("verses").list.len().cast(pl.Int64)
    return poems.select("poem_id", *named, verses).join(counted, on="poem_id", how="left").sort("poem_id")


def _row(marked: pl.DataFrame, name: str, draws: int, seed: int) -> dict[str, Any]:
    known = marked.filter(pl.col(name).is_not_null())
    gold, rest = known.filter("gold"), known.filter(~pl.col("gold"))
    if name in NAMES:
        effect = cramers_v(_counts(known, name), draws, seed)
    else:
        effect = cliffs_delta(*(part[name].to_numpy().astype(np.float64) for part in (gold, rest)))
    missing = marked.filter(pl.col(name).is_null())
    in_gold = int(missing["gold"].sum())
    unknown = f"left out, as not known: {in_gold} gold and {len(missing) - in_gold} other poems" if len(missing) else ""
    return {
        "property": name,
        "n_gold": len(gold),
        "n_rest": len(rest),
        "statistic": "Cramer's V, bias-corrected" if name in NAMES else "Cliff's delta",
        "estimate": effect.estimate,
        "ci_low": effect.low,
        "ci_high": effect.high,
        "test": effect.test,
        "p": effect.p,
        "note": notes(_said(effect, len(marked), int(marked["gold"].sum())), unknown),
    }


def _counts(known: pl.DataFrame, name: str) -> np.ndarray:
    """int64 [2, k]: gold poems and others by category, the categories in the order of their names."""
    codes = known[name].rank("dense").to_numpy().astype(np.int64)
    k = int(codes.max()) + 1 if len(codes) else 0
    inside = known["gold"].to_numpy()
    return np.array([np.bincount(codes[inside], minlength=k), np.bincount(codes[~inside], minlength=k)])


def _said(effect: Effect, n_poems: int, n_gold: int) -> str:
    """The note of an effect; where a group is empty throughout, in the words of the study."""
    if n_gold == 0:
        return "not estimable: no gold poem is in this corpus"
    if n_gold == n_poems:
        return "not estimable: every poem of this corpus is gold"
    return effect.note
