"""Deal the queries of a set to folds, so that those which a poem or its copies answer are in one."""

import argparse

from verseir.formats import count
from verseir.tables import DUPLICATES, QRELS, QUERIES, read_table, write_table
from verseir.training.folds import FOLDS, deal_folds
from verseir.whole import at_least_one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--duplicates", help="DUPLICATES of the corpus")
    parser.add_argument("--folds", required=True, type=at_least_one)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    queries, qrels = read_table(args.queries, QUERIES), read_table(args.qrels, QRELS)
    duplicates = read_table(args.duplicates, DUPLICATES) if args.duplicates else None
    folds = deal_folds(queries, qrels, args.folds, args.seed, duplicates)
    write_table(folds, args.output, FOLDS)
    sizes = folds.group_by("fold").len().sort("fold")["len"].to_list()
    print(f"{count(len(queries), 'query', 'queries')} in {count(len(sizes), 'fold')} of {', '.join(map(str, sizes))}")
