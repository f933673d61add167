"""Whether known-item and thematic query sets put the same systems first."""

import argparse
import json

from verseir.analyses.dissociation import DISSOCIATION, RANK_MOVES, dissociation
from verseir.tables import PER_QUERY, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--per-query", required=True)
    parser.add_argument("--known-item", required=True, nargs="*", help="known-item query sets")
    parser.add_argument("--thematic", required=True, nargs="*", help="thematic query sets")
    parser.add_argument("--measures", required=True, type=json.loads, help="JSON: query set -> its main measure")
    parser.add_argument("--systems", nargs="*", default=[], help="systems to rank; all when absent")
    parser.add_argument("--flips", required=True, type=int, help="random permutations where means are tied")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)
    parser.add_argument("--moves", required=True)


def run(args: argparse.Namespace) -> None:
    per_query = read_table(args.per_query, PER_QUERY)
    table, moves = dissociation(
        per_query, args.known_item, args.thematic, args.measures, args.systems, args.flips, args.seed
    )
    write_table(table, args.output, DISSOCIATION)
    write_table(moves, args.moves, RANK_MOVES)
