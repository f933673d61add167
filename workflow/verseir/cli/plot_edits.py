"""Plot the change of each system under each edit of the queries."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from verseir.analyses.edited import EDITS
from verseir.figures.edits import plot_edits
from verseir.figures.style import save
from verseir.tables import read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--edits", type=Path, required=True, help="table of the effects of edits (CSV)")
    parser.add_argument("--base-mode", required=True, help="the indexing mode to show")
    parser.add_argument("--measures", type=json.loads, required=True, help="JSON: query set -> its main measure")
    parser.add_argument("--systems", nargs="*", default=[], help="all systems of the study")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="files to write: .svg, .pdf or .png")


def run(args: argparse.Namespace) -> None:
    save(plot_edits(read_table(args.edits, EDITS), args.base_mode, args.measures, args.systems), args.output)
