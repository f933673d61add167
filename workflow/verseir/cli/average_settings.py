"""Means of each setting of a benchmark, and means over its settings and languages."""

import argparse
import json

from verseir.analyses.graded_settings import GRADED_SETTINGS, graded_settings
from verseir.analyses.inputs import read_attributes, read_judged
from verseir.tables import PER_QUERY, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--splits", required=True, type=json.loads, help="JSON: query set -> its split, or null")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    per_query = read_table(f"{args.results}/per_query.parquet", PER_QUERY)
    queries, qrels = read_judged(args.results, args.splits)
    attributes = {name: read_attributes(args.results, name) for name in args.splits}
    table = graded_settings(per_query, queries, qrels, attributes, args.splits, args.resamples, args.seed)
    write_table(table, args.output, GRADED_SETTINGS)
