"""Means with intervals: of each query set, and of each register in it."""

import argparse

from verseir.analyses.inputs import read_judged
from verseir.analyses.leaderboard import means, means_by_register
from verseir.tables import LEADERBOARD, PER_QUERY, REGISTERS, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--query-sets", required=True, nargs="+")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--leaderboard", required=True)
    parser.add_argument("--registers", required=True)


def run(args: argparse.Namespace) -> None:
    per_query = read_table(f"{args.results}/per_query.parquet", PER_QUERY)
    queries, qrels = read_judged(args.results, args.query_sets)
    settings = (queries, qrels, args.resamples, args.seed)
    write_table(means(per_query, *settings), args.leaderboard, LEADERBOARD)
    write_table(means_by_register(per_query, *settings), args.registers, REGISTERS)
