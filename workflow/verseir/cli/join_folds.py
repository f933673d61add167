"""Make one run of those of all folds: for each query the list of the encoder whose fold held it out."""

import argparse

from verseir.tables import RUN, read_table, write_table
from verseir.training.folds import FOLDS, join_runs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", required=True, nargs="+", help="in the order of the folds")
    parser.add_argument("--folds", required=True)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    joined = join_runs([read_table(path, RUN) for path in args.runs], read_table(args.folds, FOLDS))
    write_table(joined, args.output, RUN)
