"""Export a corpus and a query set as a data set in the format of BEIR."""

import argparse

from verseir.exchange.beir_export import write_beir
from verseir.tables import ATTRIBUTES, POEMS, QRELS, QUERIES, QUERY_ATTRIBUTES, read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--poems", required=True)
    parser.add_argument("--corpus-attributes", required=True, help="ATTRIBUTES of the corpus")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--attributes", nargs="?", help="QUERY_ATTRIBUTES, where the query set has any")
    parser.add_argument("--output", required=True, help="folder of the data set, which is replaced")


def run(args: argparse.Namespace) -> None:
    poems, queries, qrels = (
        read_table(args.poems, POEMS),
        read_table(args.queries, QUERIES),
        read_table(args.qrels, QRELS),
    )
    attributes = read_table(args.attributes, QUERY_ATTRIBUTES) if args.attributes else None
    write_beir(args.output, poems, read_table(args.corpus_attributes, ATTRIBUTES), queries, qrels, attributes)
    print(f"{args.output}: {len(poems)} documents, {len(queries)} queries, {len(qrels)} judgements")
