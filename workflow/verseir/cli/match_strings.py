"""What finding the words of an idiom scores, with no understanding of its use: exact expectations."""

import argparse
import json

from verseir.analyses.string_match import STRING_MATCH, string_match
from verseir.tables import write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument(
        "--places", required=True, type=json.loads, help="JSON: corpus, query set and mode of each search"
    )
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    table = string_match(args.results, args.places, args.measures, args.resamples, args.seed)
    write_table(table, args.output, STRING_MATCH)
