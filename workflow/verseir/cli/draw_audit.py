"""Draw a sample of explained verses for people to audit: a table for spreadsheets and a page."""

import argparse
from pathlib import Path

import polars as pl

from verseir.atomic import write_text
from verseir.faults import UserError
from verseir.formats import count
from verseir.judging.audits import QUESTIONS, audit_table, draw_verses, shown_verses
from verseir.judging.sheet_page import Page, read_guidelines, render_page
from verseir.tables import EXPLANATIONS, POEMS, read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--source", required=True, help="of the explanations that are judged")
    parser.add_argument("--poems", required=True)
    parser.add_argument("--explanations", required=True, nargs="+", help="one table or several")
    parser.add_argument("--n", type=int, help="verses to draw; all if not given")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--title", help="heading of the page; names the corpus and the source if not given")
    parser.add_argument("--guidelines", required=True, type=Path, help="what the annotators are told (Markdown)")
    parser.add_argument("--template", required=True, type=Path, help="template of the page; its script is beside it")
    parser.add_argument("--csv", required=True, help="the table to write")
    parser.add_argument("--html", required=True, help="the page to write")


def run(args: argparse.Namespace) -> None:
    guidelines = read_guidelines(args.guidelines)
    tables = [(path, read_table(path, EXPLANATIONS)) for path in args.explanations]
    explanations = pl.concat([table for _, table in tables])
    own = explanations.filter(pl.col("source") == args.source).sort("poem_id", "verse_index")
    for path in (path for path, table in tables if table.is_empty() and Path(path).stem == args.source):
        if own.is_empty():  # a table of its own, which a language model was to fill
            raise UserError(
                f"the language model of the source '{args.source}' wrote no explanation that could be used",
                f"see what it said in {Path(path).with_suffix('.rejects.csv')}",
            )
    twice = own.filter(pl.struct("poem_id", "verse_index").is_duplicated())
    if len(twice):
        poem_id, index = twice.row(0)[:2]
        raise UserError(
            f"poem '{poem_id}', verse {index} has two explanations '{args.source}'",
            "give each source a name of its own",
        )
    shown = shown_verses(draw_verses(explanations, args.source, args.n, args.seed), read_table(args.poems, POEMS))
    n_poems = len({item.ids["poem_id"] for item in shown})
    page = Page(
        f"audit-{args.corpus}-{args.source}",
        args.title or f"Explanations “{args.source}” of {args.corpus}",
        f"{count(len(shown), 'verse')} of {count(n_poems, 'poem')}, drawn at random.",
        guidelines,
        QUESTIONS,
        shown,
        keep_remarks=False,
    )
    write_text(args.csv, audit_table(shown))
    write_text(args.html, render_page(page, args.template))
    print(f"{args.corpus}, {args.source}: {page.told} {count(len(own), 'verse')} have an explanation.")
