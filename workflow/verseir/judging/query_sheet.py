"""A sheet on which people write queries for poems that they read: a table for spreadsheets, and a page.

Both end as a query file: a row for each query, with the poem that it asks for as the relevant one. A theme has no one
right poem, so the themes that people name stand in a table of their own, which is to be judged later.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from verseir.corpora.sampling import sample
from verseir.judging.sheet_page import Part, direction, filled_page, markdown
from verseir.judging.sheets import csv_text
from verseir.orders import REGISTERS

#: The columns of the table: those of a query file, then what tells people which poem is meant.
COLUMNS = ("query_id", "register", "text", "relevant", "poem_id", "title", "poet", "poem")
#: The register of queries that ask for no one poem.
THEME = "thematic"
#: What the page asks for in each register.
ASKED = {
    "quoting": "Quoting: what you would type if some of its words had stayed with you",
    "half-remembered": "Half remembered: some of its words, not quite right or in another order",
    "abstract": "Abstract: what it says, in words of your own",
    "thematic": "A theme that it answers, if you wish: a word or two",
}


@dataclass(frozen=True)
class Poem:
    """A poem that is shown: its place on the sheet, counted from 1, and what is known of it."""

    number: int
    poem_id: str
    title: str
    poet: str
    part: Part

    def query_id(self, register: str) -> str:
        """The id of its query in one register."""
        return f"s{self.number:03d}-{register}"


def draw_poems(
    poems: pl.DataFrame, duplicates: pl.DataFrame, n: int, seed: int, strata: Sequence[str] = ()
) -> pl.DataFrame:
    """``n`` poems (POEMS), or all where there are fewer, in a random order.

    Of each class of ``duplicates`` (DUPLICATES) the poem that names it may be drawn. The draw keeps the shares of
    those of ``strata`` that any poem has a value of (see ``sampling.sample``); it depends on ``seed`` and the ids.
    """
    copies = duplicates.filter(pl.col("poem_id") != pl.col("class_id"))["poem_id"].to_list()
    single = poems.filter(~pl.col("poem_id").is_in(copies))
    known = [column for column in strata if single[column].null_count() < len(single)]
    drawn = sample(single, {"n": min(n, len(single)), "seed": seed, "strata": known})
    order = sorted(drawn["poem_id"], key=lambda name: hashlib.sha256(f"{seed}\0order\0{name}".encode()).digest())
    return (
        drawn.join(pl.DataFrame({"poem_id": order}).with_row_index("place"), on="poem_id").sort("place").drop("place")
    )


def shown_poems(drawn: pl.DataFrame) -> list[Poem]:
    """The poems of a draw as people see them, whole."""
    shown = []
    for number, row in enumerate(drawn.iter_rows(named=True), 1):
        lines = tuple((verse["first"] or "", verse["second"]) for verse in row["verses"])
        part = Part("poem", "Poem", lines)
        shown.append(Poem(number, row["poem_id"], row["title"] or "", row["poet"] or "", part))
    return shown


def query_table(shown: Sequence[Poem], registers: Sequence[str]) -> str:
    """The table of the queries that ask for a poem, their texts left open: CSV, a row for each poem and register."""
    return csv_text(COLUMNS, [_row(poem, register) for poem in shown for register in known(registers)])


def theme_table(shown: Sequence[Poem]) -> str:
    """The table of themes, left open, likewise."""
    return csv_text(COLUMNS, [_row(poem, THEME) for poem in shown])


def known(registers: Sequence[str]) -> list[str]:
    """Of ``registers`` those of queries that ask for one poem, from the most of its wording to none of it."""
    return [register for register in REGISTERS if register in registers and register != THEME]


def _row(poem: Poem, register: str) -> tuple[str, ...]:
    who = (poem.poem_id, poem.title, poem.poet, poem.part.text)
    return (poem.query_id(register), register, "", poem.poem_id, *who)


def render_query_page(
    shown: Sequence[Poem], registers: Sequence[str], title: str, told: str, guidelines: str, verses: int, template: Path
) -> str:
    """The page, as HTML.

    Args:
        shown: the poems, in the order in which they are shown.
        registers: what is asked for each.
        title, told: its heading, and a sentence on what it holds.
        guidelines: Markdown.
        verses: how many of a poem are shown at first.
        template: its Jinja template.
    """
    asked = [*known(registers), *([THEME] if THEME in registers else [])]
    return filled_page(
        template,
        _settings(shown, asked),
        title=title,
        told=told,
        poems=shown,
        asked={register: ASKED[register] for register in asked},
        verses=verses,
        guidelines=markdown(guidelines),
        guidelines_direction=direction(guidelines),
    )


def _settings(shown: Sequence[Poem], asked: Sequence[str]) -> dict[str, Any]:
    """What the script must know."""
    rows = [
        {
            "query_id": {register: poem.query_id(register) for register in asked},
            "poem_id": poem.poem_id,
            "title": poem.title,
            "poet": poem.poet,
            "poem": poem.part.text,
        }
        for poem in shown
    ]
    key = hashlib.sha256(json.dumps([rows, list(asked)], ensure_ascii=False).encode()).hexdigest()[:16]
    return {"key": key, "columns": list(COLUMNS), "registers": list(asked), "theme": THEME, "poems": rows}


def described(drawn: pl.DataFrame, n_poems: int, strata: Mapping[str, Any] | Sequence[str]) -> str:
    """What was drawn, for the log: how many poems of how many, and how many of each stratum."""
    parts = []
    for column in strata:
        counts = drawn[column].drop_nulls().value_counts().sort(["count", column], descending=[True, False])
        if len(counts):
            parts.append(f"{column}: " + ", ".join(f"{value} {n}" for value, n in counts.iter_rows()))
    return f"{len(drawn)} of {n_poems} poems" + (f" ({'; '.join(parts)})" if parts else "")
