"""Describe the documents and queries of an idiom benchmark."""

import argparse
import json

from verseir.analyses.idiom_data import IDIOM_DATA, idiom_data
from verseir.tables import write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument(
        "--corpora", required=True, type=json.loads, help="JSON: corpus -> one query set of it, null where none is"
    )
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    write_table(idiom_data(args.results, args.corpora), args.output, IDIOM_DATA)
