"""Rank poems by the best inner product of their chunks' vectors with the query's, exactly.

Within an attribute, each query is searched among the poems that share its value alone.
"""

import argparse
import json
from pathlib import Path

import polars as pl

from verseir.costs import Stopwatch
from verseir.queries.within import read_poem_groups, read_query_groups
from verseir.systems.dense import search_groups
from verseir.systems.identity import Role
from verseir.systems.query_encoding import QueryEncoding
from verseir.systems.readings import Reading
from verseir.systems.stored import stored_vectors
from verseir.tables import CHUNKS, QUERIES, RUN, read_table, write_table
from verseir.whole import at_least_one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=at_least_one, default=1)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--system", required=True)
    parser.add_argument("--entry", required=True, type=json.loads, help="JSON: the system")
    parser.add_argument("--encoding", required=True, help="what the encode step wrote")
    parser.add_argument("--chunks", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--query-encoding", required=True, type=json.loads, help="JSON: how the queries are read")
    parser.add_argument("--within", default="", help="the attribute whose value a query and its poems share")
    parser.add_argument("--attributes", help="ATTRIBUTES of the corpus, for --within")
    parser.add_argument("--poems", help="POEMS of the corpus, for --within")
    parser.add_argument("--query-attributes", help="QUERY_ATTRIBUTES of the set, for --within")
    parser.add_argument("--depth", required=True, type=int)
    parser.add_argument("--output", required=True)
    parser.add_argument("--cost", required=True)


def run(args: argparse.Namespace) -> None:
    stopwatch = Stopwatch("search", args.corpus, args.system)
    chunks = read_table(args.chunks, CHUNKS).filter(pl.col("text") != "")
    queries = read_table(args.queries, QUERIES)
    chunk_groups: list[str | None] | None = None
    query_groups: list[str] | None = None
    if args.within:
        chunk_groups = read_poem_groups(chunks["poem_id"], args.poems, args.attributes, args.within)
        query_groups = read_query_groups(queries, args.query_attributes, args.within, set(filter(None, chunk_groups)))
    readings = QueryEncoding(**args.query_encoding).readings(args.entry, queries["text"].to_list(), queries["span"])
    texts: dict[Role, list[str] | list[Reading]] = {"document": chunks["text"].to_list(), "query": readings}
    vectors = stored_vectors(args.entry, Path(args.encoding), texts)
    run = search_groups(
        queries["query_id"].to_list(),
        vectors["query"],
        query_groups,
        chunks["chunk_id"],
        chunks["poem_id"],
        vectors["document"],
        chunk_groups,
        args.depth,
        positions=chunks["first_verse"],
    )
    write_table(run, args.output, RUN)
    stopwatch.write(args.cost, n_texts=len(queries))
