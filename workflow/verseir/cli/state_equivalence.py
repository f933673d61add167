"""Which systems are level within a margin, which differ beyond it, and for which the queries cannot tell."""

import argparse

import polars as pl

from verseir.analyses.equivalence import EQUIVALENCE, equivalence
from verseir.analyses.inputs import read_judged
from verseir.tables import PER_QUERY, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--query-sets", required=True, nargs="*")
    parser.add_argument("--wording", required=True, nargs="*", help="WORDING tables of the query sets")
    parser.add_argument("--quoting", required=True, type=int, help="tokens in a row that make a query quoting")
    parser.add_argument("--margin", required=True, type=float, help="differences below it do not matter")
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--lexical", nargs="*", default=[], help="systems that match words")
    parser.add_argument("--fusions", nargs="*", default=[], help="systems that fuse others")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    from verseir.overlap import WORDING

    per_query = read_table(f"{args.results}/per_query.parquet", PER_QUERY)
    queries, qrels = read_judged(args.results, args.query_sets)
    wording = pl.concat([pl.DataFrame(schema=dict(WORDING.columns)), *(read_table(at, WORDING) for at in args.wording)])
    chosen = (args.quoting, args.margin, args.measures, args.lexical, args.fusions, args.resamples, args.seed)
    write_table(equivalence(per_query, queries, qrels, wording, *chosen), args.output, EQUIVALENCE)
