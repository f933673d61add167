"""What a system shows first where it misses the poem that was meant.

A miss is a query for which the measure is 0. What people judge is the poem in the first place of its list, as the
system showed it: unlike in the pool, no other member of its class stands for it, since another edition may open with
other verses. Two kinds of misses are counted and not judged:

* nothing was found: there is no poem that could do;
* the first poem is in one class with a gold poem: it is the poem that was meant, in another edition or as an excerpt.
  The measure counts it as a miss because it goes by ids; a reader would not. To ask people about it would measure the
  corpus, not what the system offers in place of the poem.

A gold's duplicate below the first place changes nothing: people judge what stands first.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from verseir.faults import UserError, closest
from verseir.judging.pool import representatives

#: Means that agree to this many decimals are the same.
_DECIMALS = 12


@dataclass(frozen=True)
class Misses:
    """The misses of one system: ``items`` (query_id, poem_id) to judge; queries that are only counted, sorted."""

    items: pl.DataFrame
    same_poem: tuple[str, ...]
    nothing_found: tuple[str, ...]

    @property
    def total(self) -> int:
        """All misses."""
        return len(self.items) + len(self.same_poem) + len(self.nothing_found)


def values_of(per_query: pl.DataFrame, corpus: str, mode: str, query_set: str, measure: str) -> pl.DataFrame:
    """The rows of PER_QUERY of one measure in one place: columns system, query_id and value.

    Raises UserError when there are none.
    """
    named = {"corpus": corpus, "query_set": query_set, "mode": mode, "measure": measure}
    rows = per_query
    for column, name in named.items():
        known = rows[column].unique().to_list()
        rows = rows.filter(pl.col(column) == name)
        if rows.is_empty():
            raise UserError(f"no value of {column.replace('_', ' ')} '{name}' was measured", closest(name, known))
    return rows.select("system", "query_id", "value")


def strongest(values: pl.DataFrame, systems: Collection[str]) -> str:
    """The system with the highest mean of ``values`` (system, query_id, value); the first by name among equals.

    Args:
        values: see ``values_of``.
        systems: those to choose from.
    """
    means = values.filter(pl.col("system").is_in(sorted(systems))).group_by("system").agg(pl.col("value").sort().mean())
    if means.is_empty():
        raise UserError("no system was measured", closest(", ".join(sorted(systems)), values["system"].unique()))
    return min((-round(mean, _DECIMALS), system) for system, mean in means.iter_rows())[1]


def misses(values: pl.DataFrame, run: pl.DataFrame, qrels: pl.DataFrame, duplicates: pl.DataFrame) -> Misses:
    """The queries that a system missed, with the poem that it shows first.

    Args:
        values: query_id and value of every query that was measured.
        run: the system's RUN.
        qrels: the QRELS of the query set.
        duplicates: the DUPLICATES of the corpus.
    """
    missed = values.filter(pl.col("value") <= 0).select("query_id").unique()
    first = run.filter(pl.col("rank") == 1).select("query_id", "poem_id")
    found = missed.join(first, on="query_id", how="inner")
    classes = representatives(duplicates)
    gold = qrels.filter(pl.col("grade") > 0).join(classes, on="poem_id", how="left")
    gold = gold.select("query_id", pl.coalesce("class_id", "poem_id").alias("class_id")).unique()
    shown = found.join(classes, on="poem_id", how="left").with_columns(pl.coalesce("class_id", "poem_id"))
    same = shown.join(gold, on=["query_id", "class_id"], how="semi")
    rest = shown.join(gold, on=["query_id", "class_id"], how="anti")
    return Misses(
        rest.select("query_id", "poem_id").sort("query_id"),
        tuple(sorted(same["query_id"])),
        tuple(sorted(missed.join(first, on="query_id", how="anti")["query_id"])),
    )
