"""Take the chapters of an anthology as thematic queries."""

import argparse
import json
from pathlib import Path

from verseir.corpora.anthology import read_anthology
from verseir.queries.chapters import chapter_queries
from verseir.tables import POEMS, QRELS, QUERIES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", required=True, help="the query set")
    parser.add_argument("--corpus", required=True, help="name of the anthology's corpus")
    parser.add_argument("--spec", required=True, type=json.loads, help="JSON: the corpus")
    parser.add_argument("--poems", required=True, help="POEMS of the corpus, as it was sampled")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)


def run(args: argparse.Namespace) -> None:
    anthology = read_anthology(args.corpus, args.spec, Path())
    drawn = chapter_queries(args.name, anthology, read_table(args.poems, POEMS)["poem_id"])
    write_table(drawn.queries, args.queries, QUERIES)
    write_table(drawn.qrels, args.qrels, QRELS)
    print(f"{args.name}: {len(drawn.queries)} chapters, {len(drawn.qrels)} pieces in them")
    for warning in drawn.warnings:
        print(f"warning: {args.name}: {warning}")
