"""Write the tables of a paper on a benchmark of several settings, each as CSV to paste and as LaTeX."""

import argparse
from pathlib import Path

import polars as pl

from verseir.analyses.graded_settings import GRADED_SETTINGS
from verseir.tables import read_table
from verseir.typeset.latex import write_latex
from verseir.typeset.settings import means, values
from verseir.typeset.sheet import write_csv


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--settings", required=True, help="GRADED_SETTINGS (CSV)")
    parser.add_argument("--systems", nargs="+", required=True, help="the systems that are shown")
    parser.add_argument("--measures", nargs="+", required=True, help="measures that are shown, in order")
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")


def run(args: argparse.Namespace) -> None:
    table = read_table(args.settings, GRADED_SETTINGS).filter(pl.col("system").is_in(args.systems))
    args.output.mkdir(parents=True, exist_ok=True)
    for sheet in (means(table, args.measures), values(table, args.measures)):
        write_csv(sheet, args.output / f"{sheet.name}.csv")
        write_latex(sheet, args.output / f"{sheet.name}.tex")
