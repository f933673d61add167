"""Paired tests between query sets, and between indexing modes, of one system on the same queries."""

import argparse
import json
from pathlib import Path

from verseir.analyses.inputs import Indexed, read_judged
from verseir.analyses.paired import Draws
from verseir.analyses.settings import SETTING_CONTRASTS, setting_contrasts
from verseir.tables import PER_QUERY, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--query-sets", required=True, nargs="+")
    parser.add_argument("--families", required=True, type=json.loads, help="JSON list of families")
    parser.add_argument("--kept", nargs="*", default=[], help="modes that index some poems only")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--flips", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    per_query = read_table(f"{args.results}/per_query.parquet", PER_QUERY)
    queries, qrels = read_judged(args.results, args.query_sets)
    draws = Draws(args.resamples, args.flips, args.seed)
    indexed = Indexed(Path(args.results), args.kept)
    table = setting_contrasts(per_query, queries, qrels, args.families, draws, indexed)
    write_table(table, args.output, SETTING_CONTRASTS)
