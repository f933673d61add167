"""Rank poems by the best BM25 score of their chunks."""

import argparse
import json
from pathlib import Path

from verseir.arabic.tokens import tokenize
from verseir.costs import Stopwatch
from verseir.systems.bm25 import Bm25Index
from verseir.tables import QUERIES, RUN, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--system", required=True)
    parser.add_argument("--entry", required=True, type=json.loads, help="JSON: the system")
    parser.add_argument("--index", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--depth", required=True, type=int)
    parser.add_argument("--output", required=True)
    parser.add_argument("--cost", required=True)


def run(args: argparse.Namespace) -> None:
    stopwatch = Stopwatch("search", args.corpus, args.system)
    queries = read_table(args.queries, QUERIES)
    tokens = [tokenize(text, args.entry["text"]) for text in queries["text"]]
    run = Bm25Index.load(Path(args.index)).search(queries["query_id"].to_list(), tokens, args.depth)
    write_table(run, args.output, RUN)
    stopwatch.write(args.cost, n_texts=len(queries))
