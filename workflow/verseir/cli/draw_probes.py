"""Draw synthetic known-item queries from a corpus that has none."""

import argparse

import polars as pl

from verseir.probes import known_item_probes
from verseir.tables import POEMS, QRELS, QUERIES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", required=True)
    parser.add_argument("--poems", required=True)
    parser.add_argument("--n", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)


def run(args: argparse.Namespace) -> None:
    queries, qrels = known_item_probes(read_table(args.poems, POEMS), args.n, args.seed)
    write_table(queries.with_columns(query_set=pl.lit(args.name)), args.queries, QUERIES)
    write_table(qrels, args.qrels, QRELS)
    print(f"{args.name}: {len(queries)} probes")
