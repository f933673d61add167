"""Export a corpus and a query set as a data set that MTEB loads, with its card and its task."""

import argparse
import json

from verseir.exchange.card import Origin
from verseir.exchange.mteb_export import write_mteb
from verseir.tables import POEMS, QRELS, QUERIES, read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--study", required=True, help="name of the study")
    parser.add_argument("--title", default="", help="title of the study")
    parser.add_argument("--about", default="", help="what a reader must know of its data")
    parser.add_argument("--corpus", required=True, help="name of the corpus")
    parser.add_argument("--query-set", required=True, help="name of the query set")
    parser.add_argument("--corpus-spec", required=True, type=json.loads, help="JSON: the corpus")
    parser.add_argument("--query-spec", required=True, type=json.loads, help="JSON: the query set")
    parser.add_argument("--modes", type=json.loads, default={}, help="JSON: mode of the corpus -> its fields")
    parser.add_argument("--keep", type=json.loads, default={}, help="JSON: mode -> which poems alone it indexes")
    parser.add_argument("--poems", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--output", required=True, help="folder of the data set, which is replaced")


def run(args: argparse.Namespace) -> None:
    names = (args.study, args.corpus, args.query_set)
    origin = Origin(*names, args.corpus_spec, args.query_spec, args.title, args.about, args.modes, args.keep)
    poems, queries, qrels = (
        read_table(args.poems, POEMS),
        read_table(args.queries, QUERIES),
        read_table(args.qrels, QRELS),
    )
    write_mteb(args.output, origin, poems, queries, qrels)
    print(f"{args.output}: {len(poems)} documents, {len(queries)} queries, {len(qrels)} judgements")
