"""Measure what each query shares with each poem that is judged for it."""

import argparse
import json
from pathlib import Path

from verseir.corpora.explanations import read_explanations
from verseir.shared import SHARED, measure_shared
from verseir.systems.query_encoding import QueryEncoding
from verseir.systems.stored import stored_vectors
from verseir.tables import CHUNKS, POEMS, QRELS, QUERIES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--poems", required=True)
    parser.add_argument("--explanations", required=True, nargs="+")
    parser.add_argument("--mode", required=True, help="the indexing mode whose text is compared")
    parser.add_argument("--fields", required=True, type=json.loads, help="JSON: the fields of the mode")
    parser.add_argument("--chunks", required=True, help="the chunks of the mode")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--tokens", required=True, help="normalisation preset under which words are compared")
    parser.add_argument("--entry", type=json.loads, help="JSON: the reference encoder, if there is one")
    parser.add_argument("--encoding", nargs="*", default=[], help="what the encode step of the reference encoder wrote")
    parser.add_argument("--query-encoding", type=json.loads, default={}, help="JSON: how the queries are read")
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    queries, vectors, encode = read_table(args.queries, QUERIES), None, None
    if args.encoding:
        encoding = Path(args.encoding[0])
        texts = queries["text"].to_list()
        readings = QueryEncoding(**args.query_encoding).readings(args.entry, texts, queries["span"])
        vectors = stored_vectors(args.entry, encoding, {"query": readings})["query"]

        def encode(texts):
            return stored_vectors(args.entry, encoding, {"document": texts})["document"]

    table = measure_shared(
        args.corpus,
        args.mode,
        args.fields,
        read_table(args.poems, POEMS),
        read_explanations(args.explanations),
        read_table(args.chunks, CHUNKS),
        queries,
        read_table(args.qrels, QRELS),
        args.tokens,
        vectors,
        encode,
    )
    write_table(table, args.output, SHARED)
