"""Take the queries of one setting of a benchmark of poetry, with their grades."""

import argparse
import json
from pathlib import Path

from verseir.corpora.poetrymteb import ASPECTS, SCOPES, SPLITS, Setting, poem_languages
from verseir.queries.poetry import poetry_queries
from verseir.tables import POEMS, QRELS, QUERIES, QUERY_ATTRIBUTES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", required=True, help="the query set")
    parser.add_argument("--spec", required=True, type=json.loads, help="JSON: the corpus that the queries come with")
    parser.add_argument("--aspect", required=True, choices=ASPECTS)
    parser.add_argument("--scope", required=True, choices=SCOPES)
    parser.add_argument("--split", required=True, choices=SPLITS)
    parser.add_argument("--poems", required=True, help="POEMS of the corpus, as it was sampled")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--attributes", required=True)


def run(args: argparse.Namespace) -> None:
    setting = Setting(args.aspect, args.scope, args.split)
    poems = read_table(args.poems, POEMS).select("poem_id", "language")
    kept = poems["poem_id"] if args.spec.get("sample") else None
    if kept is not None:
        poems = poem_languages(args.spec, Path())
    drawn = poetry_queries(args.name, setting, args.spec, Path(), poems, kept)
    write_table(drawn.queries, args.queries, QUERIES)
    write_table(drawn.qrels, args.qrels, QRELS)
    write_table(drawn.attributes, args.attributes, QUERY_ATTRIBUTES)
    print(f"{args.name}: {len(drawn.queries)} queries of {setting}, {len(drawn.qrels)} judgements")
    if drawn.counted:
        print(f"{args.name}: {drawn.counted}")
    for warning in drawn.warnings:
        print(f"warning: {args.name}: {warning}")
