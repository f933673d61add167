"""Read one query set and its judgements."""

import argparse
import json
from pathlib import Path

from verseir.queries.load import load_query_set
from verseir.tables import QRELS, QUERIES, QUERY_ATTRIBUTES, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", required=True)
    parser.add_argument("--spec", required=True, type=json.loads, help="JSON: the query set")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--attributes", required=True)


def run(args: argparse.Namespace) -> None:
    loaded = load_query_set(args.name, args.spec, Path())
    write_table(loaded.queries, args.queries, QUERIES)
    write_table(loaded.qrels, args.qrels, QRELS)
    write_table(loaded.attributes, args.attributes, QUERY_ATTRIBUTES)
    print(f"{args.name}: {len(loaded.queries)} queries, {len(loaded.qrels)} judgements")
    for note in loaded.notes:
        print(note)
