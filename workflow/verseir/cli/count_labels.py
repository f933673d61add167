"""Gather the grades of all graded query sets in one table."""

import argparse

import polars as pl

from verseir.judging.labels import LABELS
from verseir.tables import read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--labels", required=True, nargs="+", help="of each graded set")
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    parts = [read_table(path, LABELS) for path in args.labels]
    write_table(pl.concat(parts).sort(LABELS.unique), args.output, LABELS)
