"""Whether known-item and thematic query sets put the same systems first."""

import argparse
import json

import polars as pl

from verseir.analyses.dissociation import DISSOCIATION, RANK_MOVES, dissociation
from verseir.analyses.inputs import read_judged
from verseir.analyses.paired import Draws
from verseir.analyses.thematic_scores import JUDGED_PER_QUERY
from verseir.tables import PER_QUERY, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True, help="results/<study>, for its per_query and queries")
    parser.add_argument("--judged", help="scores of judges by query (judged_per_query.parquet); none when absent")
    parser.add_argument("--known-item", required=True, nargs="*", help="known-item query sets")
    parser.add_argument("--thematic", required=True, nargs="*", help="thematic query sets")
    parser.add_argument("--measures", required=True, type=json.loads, help="JSON: query set -> its main measure")
    parser.add_argument("--systems", nargs="*", default=[], help="systems to rank; all when absent")
    parser.add_argument("--resamples", required=True, type=int, help="bootstrap resamples of queries")
    parser.add_argument("--flips", required=True, type=int, help="random permutations where means are tied")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)
    parser.add_argument("--moves", required=True)


def run(args: argparse.Namespace) -> None:
    per_query = read_table(f"{args.results}/per_query.parquet", PER_QUERY)
    empty = pl.DataFrame(schema=dict(JUDGED_PER_QUERY.columns))
    judged = read_table(args.judged, JUDGED_PER_QUERY) if args.judged else empty
    queries, qrels = read_judged(args.results, [*args.known_item, *args.thematic])
    draws = Draws(args.resamples, args.flips, args.seed)
    table, moves = dissociation(
        per_query, judged, queries, qrels, args.known_item, args.thematic, args.measures, args.systems, draws
    )
    write_table(table, args.output, DISSOCIATION)
    write_table(moves, args.moves, RANK_MOVES)
