"""Plot the outcomes of each system on quoting queries against those on the others."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from verseir.analyses.quotation import QUOTATION, QUOTATION_SLOPES
from verseir.figures.quotation import plot_quotation
from verseir.figures.style import save
from verseir.tables import read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--means", type=Path, required=True, help="table of means by stratum (CSV)")
    parser.add_argument("--slopes", type=Path, required=True, help="table of quotation slopes (CSV)")
    parser.add_argument("--threshold", type=int, required=True, help="tokens in a row that make a query quoting")
    parser.add_argument("--base-mode", required=True, help="the indexing mode to show")
    parser.add_argument("--measures", type=json.loads, required=True, help="JSON: query set -> its main measure")
    parser.add_argument("--systems", nargs="*", default=[], help="all systems of the study")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="files to write: .svg, .pdf or .png")


def run(args: argparse.Namespace) -> None:
    means, slopes = read_table(args.means, QUOTATION), read_table(args.slopes, QUOTATION_SLOPES)
    figure = plot_quotation(means, slopes, args.threshold, args.base_mode, args.measures, args.systems)
    save(figure, args.output)
