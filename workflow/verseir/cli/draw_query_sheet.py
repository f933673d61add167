"""Draw poems for people to write queries for: a table for spreadsheets and a page, both query files once filled in."""

import argparse
from pathlib import Path

from verseir.atomic import write_text
from verseir.formats import count
from verseir.judging.query_sheet import (
    THEME,
    described,
    draw_poems,
    query_table,
    render_query_page,
    shown_poems,
    theme_table,
)
from verseir.judging.sheet_page import read_guidelines
from verseir.orders import REGISTERS
from verseir.tables import DUPLICATES, POEMS, read_table

#: Without it spreadsheets take a table of Arabic for one in another encoding.
BOM = "\ufeff"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--poems", required=True)
    parser.add_argument("--duplicates", required=True)
    parser.add_argument("--n", required=True, type=int, help="poems to draw")
    parser.add_argument("--registers", required=True, nargs="+", choices=REGISTERS, help="what is asked for each poem")
    parser.add_argument("--strata", nargs="*", default=[], help="columns of the poems whose shares the draw keeps")
    parser.add_argument("--verses", required=True, type=int, help="verses of a poem that are shown at first")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--guidelines", required=True, type=Path, help="what those who write are told (Markdown)")
    parser.add_argument("--template", required=True, type=Path, help="template of the page; its script is beside it")
    parser.add_argument("--csv", required=True, help="the table of queries to write")
    parser.add_argument("--themes", help="the table of themes to write")
    parser.add_argument("--html", required=True, help="the page to write")


def run(args: argparse.Namespace) -> None:
    guidelines = read_guidelines(args.guidelines)
    poems = read_table(args.poems, POEMS)
    drawn = draw_poems(poems, read_table(args.duplicates, DUPLICATES), args.n, args.seed, args.strata)
    shown = shown_poems(drawn)
    of = f"{count(len(shown), 'poem')} of {args.corpus}"
    told = f"{of}. Read one, hide it, and write what you would type to find it again."
    title = f"Queries for {args.corpus}"
    page = render_query_page(shown, args.registers, title, told, guidelines, args.verses, args.template)
    write_text(args.csv, BOM + query_table(shown, args.registers))
    if args.themes and THEME in args.registers:
        write_text(args.themes, BOM + theme_table(shown))
    write_text(args.html, page)
    print(f"{args.corpus}: {described(drawn, len(poems), args.strata)}")
    print(f"write queries on the page {args.html}, or in the column `text` of {args.csv}")
