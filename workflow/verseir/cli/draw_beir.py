"""Take the queries and judgements of one split that come with a data set in the format of BEIR."""

import argparse
import json
from pathlib import Path

from verseir.corpora.beir import document_ids
from verseir.queries.beir import beir_queries, read_queries
from verseir.tables import POEMS, QRELS, QUERIES, QUERY_ATTRIBUTES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", required=True, help="the query set")
    parser.add_argument("--spec", required=True, type=json.loads, help="JSON: the query set")
    parser.add_argument("--corpus-spec", required=True, type=json.loads, help="JSON: the corpus that it comes with")
    parser.add_argument("--poems", required=True, help="POEMS of the corpus, as it was sampled")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--attributes", required=True)


def run(args: argparse.Namespace) -> None:
    home, base = args.corpus_spec, Path()
    poem_ids = set(read_table(args.poems, POEMS)["poem_id"])
    known_ids = document_ids(home, base) if home.get("sample") else None
    drawn = beir_queries(args.name, read_queries(home, base), args.spec, home, base, poem_ids, known_ids)
    made = drawn.query_set
    write_table(made.queries, args.queries, QUERIES)
    write_table(made.qrels, args.qrels, QRELS)
    write_table(made.attributes, args.attributes, QUERY_ATTRIBUTES)
    print(f"{args.name}: {len(made.queries)} queries, {len(made.qrels)} judgements")
    for warning in drawn.warnings:
        print(f"warning: {args.name}: {warning}")
