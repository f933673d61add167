"""Plot what the best fusions reach, with and without a lexical arm, in-sample and cross-validated."""

from __future__ import annotations

import argparse
from pathlib import Path

from verseir.analyses.fusion_search import FUSION
from verseir.figures.fusions import plot_fusions
from verseir.figures.style import save
from verseir.tables import read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fusion", type=Path, required=True, help="table of the best fusions (CSV)")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="files to write: .svg, .pdf or .png")


def run(args: argparse.Namespace) -> None:
    save(plot_fusions(read_table(args.fusion, FUSION)), args.output)
