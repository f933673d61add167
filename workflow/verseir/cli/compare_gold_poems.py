"""Compare the poems that the queries ask for with the rest of the corpus."""

import argparse
import json

from verseir.analyses.gold_poems import GOLD_POEMS, gold_poems
from verseir.analyses.inputs import read_judged
from verseir.tables import POEMS, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument(
        "--searched", required=True, type=json.loads, help="JSON: query set -> corpora it is searched in"
    )
    parser.add_argument("--draws", required=True, type=int, help="tables drawn for the test of a sparse one")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    _, qrels = read_judged(args.results, args.searched)
    corpora = sorted({corpus for names in args.searched.values() for corpus in names})
    poems = {name: read_table(f"{args.results}/corpora/{name}/poems.parquet", POEMS) for name in corpora}
    write_table(gold_poems(qrels, poems, args.searched, args.draws, args.seed), args.output, GOLD_POEMS)
