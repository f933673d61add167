"""Plot the share of relevant poems that each system finds, by the language of the poem."""

from __future__ import annotations

import argparse
from pathlib import Path

from verseir.analyses.found_by_language import FOUND_BY_LANGUAGE
from verseir.figures.languages import plot_languages
from verseir.figures.style import save
from verseir.tables import read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--found", type=Path, required=True, help="table of what is found by language (CSV)")
    parser.add_argument("--base-mode", required=True, help="the indexing mode that is shown")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="files to write: .svg, .pdf or .png")


def run(args: argparse.Namespace) -> None:
    save(plot_languages(read_table(args.found, FOUND_BY_LANGUAGE), args.base_mode), args.output)
