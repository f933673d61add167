"""Draw synthetic known-item queries from a corpus that has none."""

import argparse

from verseir.probes import KINDS, known_item_probes
from verseir.tables import POEMS, QRELS, QUERIES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", required=True)
    parser.add_argument("--poems", required=True)
    parser.add_argument("--n", required=True, type=int, help="poems to draw")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS), help="one query of each a poem")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)


def run(args: argparse.Namespace) -> None:
    probes = known_item_probes(read_table(args.poems, POEMS), args.n, args.seed, args.name, args.kinds)
    write_table(probes.queries, args.queries, QUERIES)
    write_table(probes.qrels, args.qrels, QRELS)
    print(f"{args.name}: {probes.told()}")
