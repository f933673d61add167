"""Read the grades that people gave to the items of a sheet."""

import argparse
from pathlib import Path

import polars as pl

from verseir.formats import count
from verseir.judging.annotations import ANNOTATIONS, Judgeable, read_annotations
from verseir.judging.graded_sheets import sheet_grades
from verseir.judging.sheets import SHEET
from verseir.tables import POEMS, QUERIES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sheet", required=True, help="name of the sheet")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--query-set", required=True)
    parser.add_argument("--items", required=True, nargs="+", help="its items, and perhaps the pool that they are from")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--poems", required=True)
    parser.add_argument("--rubric", help="whose scale the grades are on; 0 to 2 without it")
    parser.add_argument("--files", required=True, nargs="+", help="annotation files: CSV, TSV or JSON Lines")
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    items = pl.concat([read_table(path, SHEET) for path in args.items]).unique("item_id", keep="first")
    queries, poems = read_table(args.queries, QUERIES), read_table(args.poems, POEMS)
    known = set(queries["query_id"]), set(poems["poem_id"])
    judgeable = Judgeable(args.corpus, args.query_set, items, *known, sheet_grades(args.rubric))
    found = read_annotations([(Path(file), file) for file in args.files], judgeable)
    write_table(found.annotations, args.output, ANNOTATIONS)
    print(f"{args.sheet}: {count(len(items), 'item')}; {found}")
