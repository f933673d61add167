"""Plot an idiom benchmark: the systems, the best of them by query set, and what stands in the top R."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import polars as pl

from verseir.analyses.confusion import CONFUSION
from verseir.analyses.string_match import STRING_MATCH
from verseir.figures.idioms import plot_confusion, plot_query_sets, plot_systems
from verseir.figures.style import save
from verseir.tables import LEADERBOARD, read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name in ("leaderboard", "string-match", "confusion"):
        parser.add_argument(f"--{name}", type=Path, required=True, help="a table of the study (CSV)")
    parser.add_argument("--query-sets", type=json.loads, required=True, help="JSON: the query sets, in order")
    parser.add_argument("--base-mode", required=True, help="the indexing mode that is shown")
    parser.add_argument("--measures", type=json.loads, required=True, help="JSON: query set -> its main measure")
    parser.add_argument("--systems", nargs="+", required=True, help="the systems that are shown")
    for name in ("systems", "modes", "confusion"):
        parser.add_argument(
            f"--output-{name}", type=Path, nargs="+", required=True, help="files to write: .svg, .pdf or .png"
        )


def run(args: argparse.Namespace) -> None:
    shown = pl.col("system").is_in(args.systems)
    leaderboard = read_table(args.leaderboard, LEADERBOARD).filter(shown)
    confusion = read_table(args.confusion, CONFUSION).filter(shown)
    matches = read_table(args.string_match, STRING_MATCH)
    place = (args.query_sets, args.base_mode, args.measures)
    save(plot_systems(leaderboard, matches, *place, args.systems), args.output_systems)
    save(plot_query_sets(leaderboard, *place, args.systems), args.output_modes)
    save(plot_confusion(confusion, leaderboard, *place), args.output_confusion)
