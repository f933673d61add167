"""Paired tests of the declared families, with intervals and Holm's correction."""

import argparse
import json

from verseir.analyses.contrasts import contrasts
from verseir.analyses.inputs import read_judged
from verseir.tables import CONTRASTS, PER_QUERY, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--query-sets", required=True, nargs="+")
    parser.add_argument("--families", required=True, type=json.loads, help="JSON list of families")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--flips", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    per_query = read_table(f"{args.results}/per_query.parquet", PER_QUERY)
    queries, qrels = read_judged(args.results, args.query_sets)
    table = contrasts(per_query, queries, qrels, args.families, args.resamples, args.flips, args.seed)
    write_table(table, args.output, CONTRASTS)
