"""Choose what an encoder is trained on: for each query a poem that answers it, and poems that do not."""

import argparse
import json

import polars as pl

from verseir.formats import count
from verseir.tables import (
    ATTRIBUTES,
    CHUNKS,
    DUPLICATES,
    QRELS,
    QUERIES,
    RUN,
    read_columns,
    read_table,
    write_table,
)
from verseir.training.folds import FOLDS, parts_of
from verseir.training.triplets import ROLES, TRIPLETS, Negatives, documents_of, mine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--chunks", required=True, help="of the corpus and the mode that is trained on")
    parser.add_argument("--attributes", help="ATTRIBUTES of the corpus, for negatives of the opposite use")
    parser.add_argument("--duplicates", help="DUPLICATES of the corpus")
    parser.add_argument("--runs", nargs="*", default=[], type=_named, help="system=run of each system that mines")
    parser.add_argument("--negatives", required=True, type=json.loads, help="JSON: opposite, random, systems, ranks")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--folds", help="FOLDS, where the set is tested by folds")
    parser.add_argument("--held-out", nargs="*", default=[], help="QRELS of sets that test or validate")
    parser.add_argument("--fold", type=int, help="the fold that is held out, of --folds")
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    query_ids = read_table(args.queries, QUERIES)["query_id"].to_list()
    held_out: list[str] = []
    if args.folds:
        parts = parts_of(read_table(args.folds, FOLDS), args.fold)
        query_ids, held_out = parts.train, parts.validation + parts.test
    qrels = read_table(args.qrels, QRELS)
    for number, path in enumerate(args.held_out):
        other = read_table(path, QRELS).with_columns(pl.format("{}\0{}", pl.lit(number), "query_id").alias("query_id"))
        held_out += other["query_id"].unique().to_list()  # its queries may be called as those that are trained on
        qrels = pl.concat([qrels, other])
    documents = documents_of(
        read_columns(args.chunks, CHUNKS, ["chunk_id", "poem_id", "text"]),
        read_table(args.attributes, ATTRIBUTES) if args.attributes else None,
        read_table(args.duplicates, DUPLICATES) if args.duplicates else None,
    )
    runs = {name: read_table(path, RUN) for name, path in args.runs}
    negatives = Negatives.of(args.negatives)
    mined = mine(query_ids, qrels, documents, runs, negatives, args.seed, held_out)
    write_table(mined.triplets, args.output, TRIPLETS)
    n_queries = mined.triplets["query_id"].n_unique()
    n_negatives = int((mined.triplets["role"] == ROLES[1]).sum())
    print(f"{count(n_queries, 'query', 'queries')} to train on, {count(n_negatives, 'negative')}")
    if mined.n_left_out:
        left_out = count(mined.n_left_out, "query", "queries")
        print(f"warning: {left_out} left out: no relevant poem in the corpus, or none that is not tested with")
    for origin, n in mined.lacking.items():
        if n:
            print(f"warning: {count(n, 'query has', 'queries have')} fewer negatives from '{origin}' than asked for")


def _named(text: str) -> tuple[str, str]:
    """The name and the path of ``name=path``."""
    name, sign, path = text.partition("=")
    if not (name and sign and path):
        raise argparse.ArgumentTypeError(f"'{text}' is not name=path")
    return name, path
