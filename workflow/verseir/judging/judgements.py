"""What judges said of the items of a pool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from verseir.rows import FORBIDDEN
from verseir.tables import define

#: What can come of asking a judge about an item.
STATUSES = ("answered", "refused", "malformed")
JUDGEMENTS = define(
    "judgements",
    {
        "item_id": pl.String,
        "query_id": pl.String,
        "poem_id": pl.String,
        "judge": pl.String,
        "aspect": pl.String,
        "score": pl.Int64,
        "justification": pl.String,
        "status": pl.String,
    },
    nullable="score justification",
    unique="item_id judge aspect",
)
#: One row a judge: how its items went, and what they cost. Tokens count answers that were kept from before too.
JUDGING = define(
    "judging",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "judge": pl.String,
        "rubric": pl.String,
        "source": pl.String,
        "n_pool": pl.Int64,
        "answered": pl.Int64,
        "refused": pl.Int64,
        "malformed": pl.Int64,
        "unjudged": pl.Int64,
        "prompt_tokens": pl.Int64,
        "completion_tokens": pl.Int64,
        "cost": pl.Float64,
        "note": pl.String,
    },
    nullable="prompt_tokens completion_tokens cost note",
    unique="corpus query_set judge",
)


#: Items of which it is no chance that all have the same scores.
FEWEST = 5
#: A judge that reads nothing may answer every question soundly.
ALIKE = "every item has the same scores: this judge tells nothing apart"


@dataclass(frozen=True)
class Judged:
    """What a judge said of one item: scores and justifications by aspect, none where it is not ``answered``."""

    item_id: str
    query_id: str
    poem_id: str
    status: str
    scores: Mapping[str, int] = field(default_factory=dict)
    justifications: Mapping[str, str] = field(default_factory=dict)


def one_line(text: str) -> str | None:
    """``text`` in one line, without characters that no table may hold; None where nothing is left."""
    return " ".join(FORBIDDEN.sub("", " ".join(text.split())).split()) or None


def judgements(judged: Iterable[Judged], judge: str, aspects: Sequence[str]) -> pl.DataFrame:
    """The JUDGEMENTS of one judge: one row an item and aspect; an item that was not answered has rows without scores.

    Sorted by query, poem and the order of ``aspects``.
    """
    rows = [
        (
            item.item_id,
            item.query_id,
            item.poem_id,
            judge,
            aspect,
            item.scores[aspect] if item.status == "answered" else None,
            one_line(item.justifications.get(aspect, "")) if item.status == "answered" else None,
            item.status,
        )
        for item in sorted(judged, key=lambda item: (item.query_id, item.poem_id))
        for aspect in aspects
    ]
    return pl.DataFrame(rows, schema=dict(JUDGEMENTS.columns), orient="row")


def counts(judged: Iterable[Judged], n_pool: int) -> dict[str, int]:
    """How the items went: ``n_pool``, ``answered``, ``refused``, ``malformed`` and ``unjudged``."""
    found = Counter(item.status for item in judged)
    return {
        "n_pool": n_pool,
        **{status: found[status] for status in STATUSES},
        "unjudged": n_pool - sum(found.values()),
    }


def judging_row(
    named: Mapping[str, str], numbers: Mapping[str, int | float | None], table: pl.DataFrame
) -> pl.DataFrame:
    """The JUDGING table of one judge.

    Args:
        named: corpus, query_set, judge, rubric and source.
        numbers: ``counts``, and prompt_tokens, completion_tokens and cost where they are known.
        table: its JUDGEMENTS.
    """
    scored = table.filter(pl.col("score").is_not_null())
    scores = scored.group_by("aspect").agg(pl.col("score").n_unique())["score"]
    alike = scored["item_id"].n_unique() >= FEWEST and scores.max() == 1
    row = {**named, **numbers, "note": ALIKE if alike else None}
    return pl.DataFrame([[row.get(name) for name in JUDGING.columns]], schema=dict(JUDGING.columns), orient="row")


def told(row: Mapping[str, str | int | float | None]) -> str:
    """A row of JUDGING in words."""
    parts = [f"{row['judge']} on {row['corpus']}, {row['query_set']}: {row['n_pool']} items"]
    parts += [f"{row[status]} {status}" for status in (*STATUSES, "unjudged")]
    if row["prompt_tokens"] is not None:
        parts.append(f"{row['prompt_tokens']} + {row['completion_tokens']} tokens")
    if row["cost"] is not None:
        parts.append(f"cost {row['cost']:.4f}")
    return ", ".join(parts) + (f"\nwarning: {row['note']}" if row["note"] else "")
