"""Write the table of a paper on fine-tuning as CSV to paste and as LaTeX."""

import argparse
from pathlib import Path

from verseir.analyses.fine_tuning import FINE_TUNING
from verseir.tables import read_table
from verseir.typeset.fine_tuning import gains
from verseir.typeset.latex import write_latex
from verseir.typeset.sheet import write_csv


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gains", required=True, help="FINE_TUNING (CSV)")
    parser.add_argument("--measures", nargs="+", required=True, help="measures that are shown, in order")
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")


def run(args: argparse.Namespace) -> None:
    sheet = gains(read_table(args.gains, FINE_TUNING), args.measures)
    args.output.mkdir(parents=True, exist_ok=True)
    write_csv(sheet, args.output / f"{sheet.name}.csv")
    write_latex(sheet, args.output / f"{sheet.name}.tex")
