"""Part the queries of a set into train and test, with equal shares of each cluster of their vectors."""

import argparse
import json
from pathlib import Path

from verseir.formats import count
from verseir.queries.splits import SPLIT, share_of, split_queries
from verseir.systems.query_encoding import QueryEncoding
from verseir.systems.stored import stored_vectors
from verseir.tables import QRELS, QUERIES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--query-set", required=True)
    parser.add_argument("--split", required=True, type=json.loads, help="JSON: test, clusters, gold")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--entry", required=True, type=json.loads, help="JSON: the encoder")
    parser.add_argument("--encoding", required=True, help="what the encode step wrote")
    parser.add_argument("--query-encoding", required=True, type=json.loads, help="JSON: how the queries are read")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    queries, qrels = read_table(args.queries, QUERIES), read_table(args.qrels, QRELS)
    readings = QueryEncoding(**args.query_encoding).readings(args.entry, queries["text"].to_list(), queries["span"])
    vectors = stored_vectors(args.entry, Path(args.encoding), {"query": readings})["query"]
    split = split_queries(queries, qrels, vectors, share_of(args.split), args.seed)
    write_table(split, args.output, SPLIT)
    sizes = dict(split["part"].value_counts().iter_rows())
    n_clusters = count(split["cluster"].n_unique(), "cluster")
    print(
        f"{args.query_set}: {count(len(split), 'query', 'queries')} in {n_clusters}; "
        f"train {sizes['train']}, test {sizes['test']}, of these gold {split['gold'].sum()}"
    )
