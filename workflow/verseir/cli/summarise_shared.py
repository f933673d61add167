"""How much queries share with the poems that are judged for them, by language and grade, with intervals."""

import argparse

from verseir.analyses.inputs import read_judged
from verseir.analyses.shared_pairs import read_shared
from verseir.analyses.shared_wording import SHARED_WORDING, shared_wording
from verseir.tables import write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--query-sets", required=True, nargs="*")
    parser.add_argument("--shared", required=True, nargs="*", help="SHARED tables of the query sets")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    queries, qrels = read_judged(args.results, args.query_sets)
    table = shared_wording(read_shared(args.shared), queries, qrels, args.resamples, args.seed)
    write_table(table, args.output, SHARED_WORDING)
