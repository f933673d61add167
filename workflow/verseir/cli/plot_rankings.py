"""Plot the places of the systems on known-item and on thematic queries."""

from __future__ import annotations

import argparse
from pathlib import Path

from verseir.analyses.dissociation import DISSOCIATION, RANK_MOVES
from verseir.figures.rankings import plot_rankings
from verseir.figures.style import save
from verseir.tables import read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dissociation", type=Path, required=True, help="table of rank correlations (CSV)")
    parser.add_argument("--moves", type=Path, required=True, help="table of the places of systems (CSV)")
    parser.add_argument("--base-mode", required=True, help="the indexing mode that is shown")
    parser.add_argument("--lexical", nargs="*", default=[], help="systems that match words")
    parser.add_argument("--systems", nargs="*", default=[], help="all systems of the study")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="files to write: .svg, .pdf or .png")


def run(args: argparse.Namespace) -> None:
    dissociation, moves = read_table(args.dissociation, DISSOCIATION), read_table(args.moves, RANK_MOVES)
    save(plot_rankings(dissociation, moves, args.base_mode, args.lexical, args.systems), args.output)
