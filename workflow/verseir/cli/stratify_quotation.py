"""Outcomes of quoting and other queries, quotation slopes and their differences."""

import argparse

import polars as pl

from verseir.analyses.inputs import read_judged
from verseir.analyses.paired import Draws
from verseir.analyses.quotation import QUOTATION, QUOTATION_PAIRS, QUOTATION_SLOPES, quotation
from verseir.tables import PER_QUERY, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--query-sets", required=True, nargs="*")
    parser.add_argument("--wording", required=True, nargs="*", help="WORDING tables of the query sets")
    parser.add_argument("--thresholds", required=True, nargs="+", type=int, help="tokens in a row")
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--lexical", nargs="*", default=[], help="systems that match words")
    parser.add_argument("--fusions", nargs="*", default=[], help="systems that fuse others")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--flips", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--means", required=True)
    parser.add_argument("--slopes", required=True)
    parser.add_argument("--pairs", required=True)


def run(args: argparse.Namespace) -> None:
    from verseir.overlap import WORDING

    per_query = read_table(f"{args.results}/per_query.parquet", PER_QUERY)
    queries, qrels = read_judged(args.results, args.query_sets)
    wording = pl.concat([pl.DataFrame(schema=dict(WORDING.columns)), *(read_table(at, WORDING) for at in args.wording)])
    draws = Draws(args.resamples, args.flips, args.seed)
    chosen = (args.thresholds, args.measures, args.lexical, args.fusions)
    means, slopes, pairs = quotation(per_query, queries, qrels, wording, *chosen, draws)
    write_table(means, args.means, QUOTATION)
    write_table(slopes, args.slopes, QUOTATION_SLOPES)
    write_table(pairs, args.pairs, QUOTATION_PAIRS)
