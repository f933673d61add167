"""Plot the rank correlation of success with shared words against that with nearness of meaning, by system."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from verseir.analyses.mechanism import MECHANISM
from verseir.figures.mechanism import plot_mechanism
from verseir.figures.style import save
from verseir.tables import read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mechanism", type=Path, required=True, help="table of correlations (CSV)")
    parser.add_argument("--base-mode", required=True, help="the indexing mode whose values are shown")
    parser.add_argument("--measures", type=json.loads, required=True, help="JSON: query set -> its main measure")
    parser.add_argument("--systems", nargs="*", default=[], help="all systems of the study")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="files to write: .svg, .pdf or .png")


def run(args: argparse.Namespace) -> None:
    table = read_table(args.mechanism, MECHANISM)
    save(plot_mechanism(table, args.base_mode, args.measures, args.systems), args.output)
