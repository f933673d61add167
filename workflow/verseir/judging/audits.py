"""Sheets on which people say how faithful explanations of verses are."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import polars as pl

from verseir.faults import UserError, closest, shown
from verseir.judging.sheet_page import Answer, Item, Part, Question
from verseir.judging.sheets import csv_text

#: Verses that are shown before and after the one that is explained.
AROUND = 2
#: The columns of the table that people fill in; the verses and the explanation are for them to read.
COLUMNS = (
    "poem_id",
    "verse_index",
    "before",
    "verse",
    "after",
    "explanation",
    "verdict",
    "added_content",
    "annotator",
    "remark",
)
#: The questions, with answers as ``analyses.explanation_audit`` reads them.
QUESTIONS = (
    Question(
        "verdict",
        "Does the explanation say what the verse says?",
        (
            Answer("faithful", "faithful", "1"),
            Answer("minor error", "minor error", "2"),
            Answer("misread", "misread", "3"),
        ),
    ),
    Question(
        "added_content",
        "Does it add anything of substance?",
        (Answer("yes", "yes", "y"), Answer("no", "no", "n")),
    ),
)


def draw_verses(explanations: pl.DataFrame, source: str, n: int | None, seed: int) -> pl.DataFrame:
    """``n`` explained verses in random order: one of each poem before any poem gives two; all where ``n`` is None.

    The draw depends on ``seed`` and the names alone, and a larger one holds a smaller. A short poem has as good a
    chance as a long one: shares of the sample are of poems rather than of verses.

    Args:
        explanations: EXPLANATIONS, each verse once for the source.
        source: of the explanations that are judged.
        n: verses.
        seed: of the draw.

    Returns:
        columns poem_id, verse_index and text.

    Raises:
        UserError: no verse has an explanation of that source.
    """
    own = explanations.filter((pl.col("source") == source) & (pl.col("text").str.strip_chars() != ""))
    if own.is_empty():
        there = sorted(set(explanations["source"]))
        told = f"they are from {', '.join(map(shown, there))}" if there else "there are no explanations at all"
        if source in there:
            told = "all of them are empty"
        raise UserError(f"there is no explanation '{source}' to audit: {told}", closest(source, {*there} - {source}))
    hashed = [
        hashlib.sha256(f"{seed}\0{poem_id}\0{index}".encode()).hexdigest()
        for poem_id, index in own.select("poem_id", "verse_index").iter_rows()
    ]
    ranked = own.with_columns(chance=pl.Series(hashed, dtype=pl.String)).sort("chance")
    in_turn = ranked.with_columns(turn=pl.int_range(pl.len()).over("poem_id")).sort("turn", "chance")
    return in_turn.head(len(in_turn) if n is None else n).sort("chance").select("poem_id", "verse_index", "text")


def shown_verses(drawn: pl.DataFrame, poems: pl.DataFrame) -> list[Item]:
    """The drawn verses as people see them: the verse, those around it, and its explanation.

    Raises UserError when a poem or a verse is not in POEMS.
    """
    wanted = poems.filter(pl.col("poem_id").is_in(drawn["poem_id"].unique().to_list()))
    verses_of = dict(wanted.select("poem_id", "verses").iter_rows())
    shown = []
    for poem_id, index, text in drawn.iter_rows():
        lines = [(verse["first"], verse["second"]) for verse in verses_of.get(poem_id, [])]
        if index >= len(lines):
            raise UserError(f"poem '{poem_id}' has no verse {index}", "the explanations are of another corpus")
        parts = (
            Part("around before", "Before it", tuple(lines[max(0, index - AROUND) : index])),
            Part("verse", "The verse", (lines[index],)),
            Part("around after", "After it", tuple(lines[index + 1 : index + 1 + AROUND])),
            Part("explanation", "Its explanation", tuple((line, None) for line in text.split("\n"))),
        )
        shown.append(Item({"poem_id": poem_id, "verse_index": str(index)}, tuple(part for part in parts if part.lines)))
    return shown


def audit_table(shown: Sequence[Item]) -> str:
    """The table of an audit, with its answers left open (CSV, one row a verse)."""
    rows = []
    for item in shown:
        texts = {part.kind: part.text for part in item.parts}
        read = [texts.get(kind, "") for kind in ("around before", "verse", "around after", "explanation")]
        rows.append([*item.ids.values(), *read, "", "", "", ""])
    return csv_text(COLUMNS, rows)
