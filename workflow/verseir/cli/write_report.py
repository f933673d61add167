"""Write the report of a study: one page that opens from disk without a network."""

from __future__ import annotations

import argparse
from pathlib import Path

from verseir.atomic import write_text
from verseir.report.build import build_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", type=Path, required=True, help="folder of the study's results")
    parser.add_argument("--template", type=Path, required=True, help="template of the page")
    parser.add_argument("--tuning", type=Path, nargs="*", default=[], help="what each tuned system chose (JSON)")
    parser.add_argument("--per-query", type=Path, help="values of single queries, to count what is independent")
    parser.add_argument("--queries", type=Path, nargs="*", default=[], help="query sets, their qrels beside them")
    parser.add_argument("--examples", type=Path, help="single queries with what is shown for them (JSON)")
    parser.add_argument("--output", type=Path, required=True, help="the page to write (HTML)")


def run(args: argparse.Namespace) -> None:
    page = build_report(args.results, args.template, args.tuning, args.per_query, args.queries, args.examples)
    write_text(args.output, page)
    print(f"report: {args.output}")
