"""Plot how much of the wording of their targets the queries of each set and register carry."""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from verseir.analyses.overlap_spectrum import ALL, OVERLAP_SPECTRUM
from verseir.figures.spectrum import plot_spectrum
from verseir.figures.style import save
from verseir.tables import read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--spectrum", type=Path, required=True, help="table of shared wording (CSV)")
    parser.add_argument("--threshold", type=int, required=True, help="tokens in a row that make a query quoting")
    parser.add_argument("--edited", nargs="*", default=[], help="query sets that are edits of others: shown whole")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="files to write: .svg, .pdf or .png")


def run(args: argparse.Namespace) -> None:
    spectrum = read_table(args.spectrum, OVERLAP_SPECTRUM)
    parted = pl.col("query_set").is_in(args.edited) & (pl.col("register") != ALL)
    save(plot_spectrum(spectrum.filter(~parted), args.threshold), args.output)
