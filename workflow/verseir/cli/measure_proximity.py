"""Measure how near each query is to its target under a fixed reference encoder."""

import argparse
import json
from pathlib import Path

import polars as pl

from verseir.overlap import PROXIMITY, measure_proximity, target_chunks
from verseir.systems.identity import Role
from verseir.systems.query_encoding import QueryEncoding
from verseir.systems.readings import Reading
from verseir.systems.stored import stored_vectors
from verseir.tables import CHUNKS, QRELS, QUERIES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--system", required=True, help="name of the reference encoder")
    parser.add_argument("--entry", required=True, type=json.loads, help="JSON: the reference encoder")
    parser.add_argument("--encoding", required=True, help="what the encode step wrote")
    parser.add_argument("--modes", required=True, nargs="+", help="indexing modes")
    parser.add_argument("--chunks", required=True, nargs="+", help="the chunks of each mode, in the order of --modes")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--query-encoding", required=True, type=json.loads, help="JSON: how the queries are read")
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    queries, qrels = read_table(args.queries, QUERIES), read_table(args.qrels, QRELS)
    queries = queries.join(qrels.filter(pl.col("grade") > 0), on="query_id", how="semi").sort("query_id")
    readings = QueryEncoding(**args.query_encoding).readings(args.entry, queries["text"].to_list(), queries["span"])
    parts = [pl.DataFrame(schema=dict(PROXIMITY.columns))]
    for mode, path in sorted(zip(args.modes, args.chunks, strict=True)):
        chunks = target_chunks(read_table(path, CHUNKS), queries, qrels)
        if len(chunks):
            texts: dict[Role, list[str] | list[Reading]] = {"query": readings, "document": chunks["text"].to_list()}
            near = stored_vectors(args.entry, Path(args.encoding), texts)
            parts.append(
                measure_proximity(
                    args.corpus, mode, args.system, queries, qrels, near["query"], chunks, near["document"]
                )
            )
    write_table(pl.concat(parts), args.output, PROXIMITY)
