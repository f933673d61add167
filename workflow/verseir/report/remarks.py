"""What a sentence says of an estimate beside its number: the interval, or why there is none, and what cautions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from verseir.formats import count, interval, known, listing
from verseir.labelling import speaking
from verseir.report.panel import why_not

#: How many things of a kind get a sentence each before one sentence sums them up and refers to the table.
NAMED = 3


def spoken(frame: pl.DataFrame, main: str | None, *keys: str) -> pl.DataFrame:
    """Of each part of ``frame`` with equal ``keys``, the rows of the judge that is spoken of (see ``speaking``)."""
    parts = frame.partition_by(list(keys), maintain_order=True)
    own = [part.filter(pl.col("judge") == speaking(part["judge"].unique(), main)) for part in parts]
    return pl.concat(own) if own else frame


def ends(row: Mapping[str, Any], low: str, high: str, sign: bool = False) -> str:
    """`` [0.12, 0.80]``; empty where there is no interval and the note, which ``remark`` gives, says why."""
    if known(row[low], row[high]):
        return f" {interval(row[low], row[high], 2, sign=sign)}"
    return "" if row["note"] else f" ({interval(None, None)})"


def remark(row: Mapping[str, Any]) -> str:
    """`` (3 independent queries only: intervals are too narrow)``: the note of a row; empty where it has none."""
    return f" ({row['note'].replace('interval not estimable', 'no interval')})" if row["note"] else ""


def against(rows: pl.DataFrame, lexical: str, by: str = "") -> str:
    """How many systems are established above or below ``lexical``, and over how many queries; ``by`` says by what."""
    made = rows.filter(pl.col("p_holm").is_not_null())
    if made.is_empty():
        return f"the comparison of {lexical} is {why_not(rows)}"
    sure = made.filter(pl.col("p_holm") < 0.05)
    above = sorted(sure.filter(pl.col("estimate") < 0)["b"].to_list())
    below = sorted(sure.filter(pl.col("estimate") > 0)["b"].to_list())
    told = [f"{listing(above)} above it" if above else "", f"{listing(below)} below it" if below else ""]
    found = " and ".join(filter(None, told)) or "none above or below it"
    fewest, most = min(made["n"].to_list()), max(made["n"].to_list())
    over = count(most, "query", "queries") if fewest == most else f"{fewest} to {most} queries"
    return f"of {count(len(made), 'system')} compared with {lexical}{by} over {over}, places {found} (Holm p < 0.05)"
