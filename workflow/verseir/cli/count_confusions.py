"""Count what stands in the top R of each list: the meaning asked for, the other use of its idiom, other idioms."""

import argparse
import json

from verseir.analyses.confusion import CONFUSION, confusions
from verseir.tables import write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    write_table(confusions(args.results, args.cross, args.resamples, args.seed), args.output, CONFUSION)
