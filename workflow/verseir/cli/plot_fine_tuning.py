"""Plot the course of each training on validation queries, and its gains over the base by group of queries."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from verseir.analyses.fine_tuning import FINE_TUNING, FINE_TUNING_CURVES
from verseir.figures.fine_tuning import plot_fine_tuning
from verseir.figures.style import save
from verseir.tables import read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gains", type=Path, required=True, help="table of gains over the base (CSV)")
    parser.add_argument("--curves", type=Path, required=True, help="table of the curves of training (CSV)")
    parser.add_argument("--base-mode", required=True)
    parser.add_argument("--measures", type=json.loads, required=True, help="JSON: query set -> its main measure")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="files to write: .svg, .pdf or .png")


def run(args: argparse.Namespace) -> None:
    gains, curves = read_table(args.gains, FINE_TUNING), read_table(args.curves, FINE_TUNING_CURVES)
    save(plot_fine_tuning(gains, curves, args.base_mode, args.measures), args.output)
