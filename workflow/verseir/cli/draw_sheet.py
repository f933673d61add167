"""Draw a blind sheet for people to grade: which items it has, a table for spreadsheets and a page."""

import argparse
import json
from pathlib import Path

import polars as pl

from verseir.atomic import write_text
from verseir.faults import UserError
from verseir.formats import count
from verseir.judging.graded_sheets import part_sheet, question_of, sheet_rubric
from verseir.judging.misses import misses, strongest, values_of
from verseir.judging.pool import POOL
from verseir.judging.reach import read_reach
from verseir.judging.sheet_page import Page, read_guidelines, render_page
from verseir.judging.sheets import (
    KINDS,
    QUESTIONS,
    SHEET,
    known_item_sheet,
    sheet_table,
    shown_items,
    thematic_sheet,
)
from verseir.layout import Run, runs
from verseir.queries.splits import PARTS, SPLIT, of_part
from verseir.tables import DUPLICATES, PER_QUERY, POEMS, QRELS, QUERIES, RUN, read_table, write_table

#: The options that each kind of sheet needs besides those of both; ``part``: a thematic one of a part of its set.
NEEDED = {"thematic": ("depth",), "known-item": ("mode", "measure", "per_query", "qrels"), "part": ("pool", "split")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sheet", required=True, help="name of the sheet")
    parser.add_argument("--kind", required=True, choices=KINDS)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--query-set", required=True)
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: the systems and modes to choose from")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--poems", required=True)
    parser.add_argument("--duplicates", required=True)
    parser.add_argument("--within", help="the attribute that the queries are searched within; all poems if not given")
    parser.add_argument("--reach", nargs=3, help="--within: poems and attributes of the corpus, attributes of queries")
    parser.add_argument("--n", type=int, help="queries (thematic) or misses (known-item) to draw; all if not given")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--verses", required=True, type=int, help="verses of a poem that are shown")
    parser.add_argument("--title", help="heading of the page; the name of the sheet if not given")
    parser.add_argument("--guidelines", required=True, type=Path, help="what the annotators are told (Markdown)")
    parser.add_argument("--template", required=True, type=Path, help="template of the page; its script is beside it")
    parser.add_argument("--items", required=True, help="the items to write (Parquet)")
    parser.add_argument("--csv", required=True, help="the table to write")
    parser.add_argument("--html", required=True, help="the page to write")
    parser.add_argument("--depth", type=int, help="thematic: places of each run")
    parser.add_argument("--rubric", help="thematic: whose overall aspect is asked, on its scale; 0 to 2 without it")
    parser.add_argument("--part", choices=PARTS, help="thematic: all of the pool for the queries in this part")
    parser.add_argument("--pool", help="--part: the pool")
    parser.add_argument("--split", help="--part: which query is in which part")
    parser.add_argument("--mode", help="known-item: the indexing mode whose misses are judged")
    parser.add_argument("--measure", help="known-item: a query is missed where this is 0")
    parser.add_argument("--per-query", help="known-item: the values of the measure")
    parser.add_argument("--qrels", help="known-item: the poems that were meant")
    parser.add_argument("--system", help="known-item: whose misses; the one with the highest mean if not given")


def run(args: argparse.Namespace) -> None:
    kind = "part" if args.part else args.kind
    for name in NEEDED[kind]:
        if getattr(args, name) is None:
            raise UserError(f"a sheet of {'a' if args.part else 'kind'} {kind} needs --{name.replace('_', '-')}")
    guidelines = read_guidelines(args.guidelines)
    queries = read_table(args.queries, QUERIES)
    duplicates = read_table(args.duplicates, DUPLICATES)
    draw = {"thematic": _thematic, "known-item": _known_item, "part": _part}[kind]
    sheet, told = draw(args, queries, duplicates)
    shown = shown_items(sheet, queries, read_table(args.poems, POEMS), args.verses)
    page = Page(
        args.sheet,
        args.title or args.sheet,
        f"{count(len(shown), 'item')}, each a query and the first {count(args.verses, 'verse')} of a poem at most, "
        "in an order that means nothing.",
        guidelines,
        (question_of(sheet_rubric(args.rubric)) if args.rubric else QUESTIONS[args.kind],),
        shown,
    )
    write_table(sheet, args.items, SHEET)
    write_text(args.csv, sheet_table(shown))
    write_text(args.html, render_page(page, args.template))
    print(f"{args.sheet}: {count(len(sheet), 'item')} of {told}")


def _thematic(args: argparse.Namespace, queries: pl.DataFrame, duplicates: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    chosen = [one for one in runs(args.cross) if (one.corpus, one.query_set) == (args.corpus, args.query_set)]
    if reach := read_reach(args.within, args.reach or []):
        duplicates = reach.classes(duplicates)
    frames = (read_table(one.path(f"{args.results}/runs"), RUN) for one in chosen)
    sheet = thematic_sheet(frames, duplicates, queries, args.corpus, args.query_set, args.depth, args.n, args.seed)
    n_queries = count(sheet["query_id"].n_unique(), "query", "queries")
    return sheet, f"{n_queries} from the first {args.depth} of {count(len(chosen), 'run')}"


def _part(args: argparse.Namespace, queries: pl.DataFrame, _: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    asked = of_part(read_table(args.split, SPLIT), args.part)
    sheet = part_sheet(read_table(args.pool, POOL), asked, args.corpus, args.query_set, args.seed)
    n_queries = count(sheet["query_id"].n_unique(), "query", "queries")
    return sheet, f"{n_queries}: the pool of the {len(asked)} that are {args.part} among {len(queries)}"


def _known_item(args: argparse.Namespace, queries: pl.DataFrame, duplicates: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    values = values_of(read_table(args.per_query, PER_QUERY), args.corpus, args.mode, args.query_set, args.measure)
    chosen = [one.system for one in runs(args.cross) if one[:3] == (args.corpus, args.mode, args.query_set)]
    system = strongest(values, [args.system] if args.system else chosen)
    ranked = read_table(Run(args.corpus, args.mode, args.query_set, system).path(f"{args.results}/runs"), RUN)
    of_system = values.filter(pl.col("system") == system)
    found = misses(of_system, ranked, read_table(args.qrels, QRELS), duplicates)
    sheet = known_item_sheet(found.items, args.corpus, args.query_set, args.n, args.seed)
    told = (
        f"{len(found.items)} misses of {system} in mode {args.mode} ({args.measure} is 0 for {found.total} of "
        f"{count(len(of_system), 'query', 'queries')}; of these {len(found.same_poem)} show the poem that was meant "
        f"under another id, and {len(found.nothing_found)} find nothing)"
    )
    return sheet, told
