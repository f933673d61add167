"""Rank poems by the best BM25 score of their chunks.

Within an attribute, each query is searched in the index of its value alone, which index_bm25 made with the statistics
(number of chunks, document frequencies, average length) of the poems of that value: as in a corpus of these poems.
"""

import argparse
import json
from pathlib import Path

from verseir.costs import Stopwatch
from verseir.queries.searched import READS, searched_texts
from verseir.queries.within import read_query_groups
from verseir.systems.grouped_bm25 import GroupedBm25
from verseir.systems.tokenizers import tokens_of
from verseir.tables import QUERIES, RUN, read_table, write_table
from verseir.whole import at_least_one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=at_least_one, default=1)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--system", required=True)
    parser.add_argument("--entry", required=True, type=json.loads, help="JSON: the system")
    parser.add_argument("--index", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--reads", choices=sorted(READS), default="text", help="what is searched for of a query")
    parser.add_argument("--within", default="", help="the attribute whose value a query and its poems share")
    parser.add_argument("--query-attributes", help="QUERY_ATTRIBUTES of the set, for --within")
    parser.add_argument("--depth", required=True, type=int)
    parser.add_argument("--output", required=True)
    parser.add_argument("--cost", required=True)


def run(args: argparse.Namespace) -> None:
    stopwatch = Stopwatch("search", args.corpus, args.system)
    queries = read_table(args.queries, QUERIES)
    tokens = tokens_of(searched_texts(queries, args.reads), args.entry)
    index = GroupedBm25.load(Path(args.index))
    groups = read_query_groups(queries, args.query_attributes, args.within, index.indexes) if args.within else None
    run = index.search(queries["query_id"].to_list(), tokens, groups, args.depth, ties=args.entry["ties"])
    write_table(run, args.output, RUN)
    stopwatch.write(args.cost, n_texts=len(queries))
