"""Plot what other indexing modes do against the base mode, by register and system."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from verseir.analyses.augmentation import AUGMENTATION
from verseir.figures.augmentation import plot_augmentation
from verseir.figures.style import save
from verseir.tables import read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--augmentation", type=Path, required=True, help="table of the effects of modes (CSV)")
    parser.add_argument("--measures", type=json.loads, required=True, help="JSON: query set -> its main measure")
    parser.add_argument("--systems", nargs="*", default=[], help="all systems of the study")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="files to write: .svg, .pdf or .png")


def run(args: argparse.Namespace) -> None:
    table = read_table(args.augmentation, AUGMENTATION)
    save(plot_augmentation(table, args.measures, args.systems), args.output)
