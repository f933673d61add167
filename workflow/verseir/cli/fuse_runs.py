"""Fuse the runs of several systems by reciprocal rank."""

import argparse

from verseir.costs import Stopwatch
from verseir.fusion import reciprocal_rank_fusion
from verseir.tables import RUN, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--system", required=True)
    parser.add_argument("--k", required=True, type=float)
    parser.add_argument("--depth", required=True, type=int)
    parser.add_argument("--runs", required=True, nargs="+")
    parser.add_argument("--output", required=True)
    parser.add_argument("--cost", required=True)


def run(args: argparse.Namespace) -> None:
    stopwatch = Stopwatch("fuse", args.corpus, args.system)
    fused = reciprocal_rank_fusion([read_table(path, RUN) for path in args.runs], args.k, args.depth)
    write_table(fused, args.output, RUN)
    stopwatch.write(args.cost, n_texts=fused["query_id"].n_unique())
