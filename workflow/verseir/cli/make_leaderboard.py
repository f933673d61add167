"""Means with intervals: of each query set, and of each register in it."""

import argparse
import json

import polars as pl

from verseir.analyses.inputs import read_judged
from verseir.analyses.leaderboard import CELL, COLUMN, means, means_by_register, unmeasured
from verseir.tables import LEADERBOARD, PER_QUERY, REGISTERS, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--query-sets", required=True, nargs="+")
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--leaderboard", required=True)
    parser.add_argument("--registers", required=True)


def run(args: argparse.Namespace) -> None:
    per_query = read_table(f"{args.results}/per_query.parquet", PER_QUERY)
    queries, qrels = read_judged(args.results, args.query_sets)
    settings = (queries, qrels, args.resamples, args.seed)
    every = pl.concat([means(per_query, *settings), unmeasured(per_query, args.cross, args.measures)])
    write_table(every.sort(CELL + COLUMN), args.leaderboard, LEADERBOARD)
    write_table(means_by_register(per_query, *settings), args.registers, REGISTERS)
