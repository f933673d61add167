"""Words that queries share with what is relevant to them, with and without the idiom itself."""

import argparse
import json

from verseir.analyses.idiom_overlap import IDIOM_OVERLAP, idiom_overlap
from verseir.tables import write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--corpora", required=True, type=json.loads, help="JSON: corpus -> one query set of it")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    write_table(idiom_overlap(args.results, args.corpora, args.resamples, args.seed), args.output, IDIOM_OVERLAP)
