"""Take the queries that come with an idiom benchmark, judged by the use that they make of their idiom."""

import argparse
import json
from pathlib import Path

from verseir.corpora.hub import unpinned
from verseir.corpora.idiolink import QUERIES as FILE
from verseir.corpora.idiolink import read_queries
from verseir.corpora.sampling import is_sampled
from verseir.faults import InputFaults
from verseir.queries.idioms import filtered, idiom_queries, lost_faults
from verseir.tables import ATTRIBUTES, POEMS, QRELS, QUERIES, QUERY_ATTRIBUTES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", required=True, help="the query set")
    parser.add_argument("--corpus", required=True, help="name of the corpus that the queries come with")
    parser.add_argument("--spec", required=True, type=json.loads, help="JSON: the corpus")
    parser.add_argument("--poems", required=True, help="POEMS of the corpus, as it was sampled")
    parser.add_argument("--corpus-attributes", required=True, help="ATTRIBUTES of the corpus")
    parser.add_argument("--filter", type=json.loads, default={}, help="JSON: attribute -> the value of the queries")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--attributes", required=True)


def run(args: argparse.Namespace) -> None:
    items = filtered(read_queries(args.spec, Path()), args.filter)
    documents, attributes = read_table(args.poems, POEMS)["poem_id"], read_table(args.corpus_attributes, ATTRIBUTES)
    sampled = is_sampled(args.spec)
    drawn = idiom_queries(args.name, args.corpus, items, attributes, documents, sampled=sampled)
    if drawn.lost and not sampled:
        raise InputFaults(lost_faults(drawn.lost, args.corpus, attributes))
    write_table(drawn.queries, args.queries, QUERIES)
    write_table(drawn.qrels, args.qrels, QRELS)
    write_table(drawn.attributes, args.attributes, QUERY_ATTRIBUTES)
    n_idioms = drawn.queries["cluster"].n_unique()
    print(f"{args.name}: {len(drawn.queries)} queries of {n_idioms} idioms, {len(drawn.qrels)} judgements")
    for warning in (*unpinned(args.spec, Path(), FILE), *drawn.warnings):
        print(f"warning: {args.name}: {warning}")
