"""Sheets for people to judge without knowing which system found what: a table for spreadsheets and a page.

A sheet asks one of two things. ``thematic``: is this poem about the theme? Its items are those of the pool that chosen
systems put first for a sample of the queries, so judges of both kinds see the same poems under the same ids.
``known-item``: would this poem do, though it is not the one that was meant? (see ``misses``)
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

import polars as pl

from verseir.faults import UserError
from verseir.judging.drawing import drawn
from verseir.judging.pool import items, pool
from verseir.judging.sheet_page import Answer, Item, Part, Question
from verseir.rows import escaped
from verseir.tables import define

#: Which poem of which query an item of a sheet is. A POOL has the same columns, and its items the same ids.
SHEET = define(
    "sheet",
    {"item_id": pl.String, "query_id": pl.String, "poem_id": pl.String, "place": pl.Int64},
    unique="item_id",
)
KINDS = ("thematic", "known-item")
#: The columns of the table that people fill in. ``query`` and ``poem`` are for them to read.
COLUMNS = ("item_id", "query", "poem", "grade", "annotator", "remark")
#: What the grades mean, in two words; the guidelines say more.
QUESTIONS = {
    "thematic": Question(
        "grade",
        "Is the poem about the theme?",
        (Answer("0", "something else", "0"), Answer("1", "in part", "1"), Answer("2", "main matter", "2")),
    ),
    "known-item": Question(
        "grade",
        "Would the reader be content with it?",
        (Answer("0", "no", "0"), Answer("1", "in part", "1"), Answer("2", "yes", "2")),
    ),
}


def thematic_sheet(
    runs: Iterable[pl.DataFrame],
    duplicates: pl.DataFrame,
    queries: pl.DataFrame,
    corpus: str,
    query_set: str,
    depth: int,
    n: int | None,
    seed: int,
) -> pl.DataFrame:
    """The SHEET of what stands in the first ``depth`` places of the runs, for ``n`` queries drawn with ``seed``.

    The queries are drawn from all of the set, not from those for which something was found. A sheet of more queries
    holds that of fewer; all are taken where ``n`` is None or there are no more.

    Args:
        runs: RUN frames of the chosen systems and modes, of one corpus and query set.
        duplicates: the DUPLICATES of the corpus.
        queries: the QUERIES of the set.
        corpus, query_set: their names.
        depth: places of a run; no deeper than the pool, or the sheet has items that no judge saw.
        n: queries.
        seed: of the draw and of the order of the items.
    """
    chosen = drawn(queries["query_id"], n, seed)
    pooled = pool(runs, duplicates, corpus, query_set, depth, seed)
    return items(pooled.filter(pl.col("query_id").is_in(sorted(chosen))), corpus, query_set, seed)


def known_item_sheet(pairs: pl.DataFrame, corpus: str, query_set: str, n: int | None, seed: int) -> pl.DataFrame:
    """The SHEET of ``n`` of the ``pairs`` (query_id, poem_id; see ``misses``) drawn with ``seed``; all where None."""
    chosen = drawn(pairs["query_id"], n, seed)
    return items(pairs.filter(pl.col("query_id").is_in(sorted(chosen))), corpus, query_set, seed)


def shown_items(sheet: pl.DataFrame, queries: pl.DataFrame, poems: pl.DataFrame, n_verses: int) -> list[Item]:
    """The items of a SHEET as people see them, in their order: the query and the first ``n_verses`` of the poem.

    Raises UserError when a query or a poem of the sheet is not in the tables.
    """
    text_of = dict(queries.select("query_id", "text").iter_rows())
    wanted = poems.filter(pl.col("poem_id").is_in(sheet["poem_id"].unique().to_list()))
    verses_of = dict(wanted.select("poem_id", "verses").iter_rows())
    shown = []
    for item_id, query_id, poem_id, _ in sheet.sort("place").iter_rows():
        if query_id not in text_of:
            raise UserError(f"query '{query_id}' of a run is not in the queries", "the run is of another query set")
        if poem_id not in verses_of:
            raise UserError(f"poem '{poem_id}' of a run is not in the corpus", "the run is of another corpus")
        verses = [(verse["first"], verse["second"]) for verse in verses_of[poem_id][:n_verses]]
        parts = (Part("query", "Query", ((text_of[query_id], None),)), Part("poem", "Poem", tuple(verses)))
        shown.append(Item({"item_id": item_id}, parts))
    return shown


def sheet_table(shown: Sequence[Item]) -> str:
    """The table of a sheet with its grades left open: CSV, a row an item, the verses of a poem as lines of a cell."""
    rows = [(item.ids["item_id"], *(part.text for part in item.parts), "", "", "") for item in shown]
    return csv_text(COLUMNS, rows)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A CSV with LF line ends that a spreadsheet opens without running anything.

    A text that begins as a formula gets an apostrophe before it, which ``rows.unescaped`` takes away again.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([escaped(cell) for cell in row] for row in rows)
    return out.getvalue()
