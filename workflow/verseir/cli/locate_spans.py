"""Which quoted spans name one poem alone, where they stand in it, and whether each system finds it."""

import argparse

import polars as pl

from verseir.analyses.inputs import read_judged
from verseir.analyses.quoted_spans import QUOTED_SPANS, SPAN_SUCCESS, quoted_spans, span_success
from verseir.overlap import WORDING
from verseir.tables import PER_QUERY, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--query-sets", required=True, nargs="*")
    parser.add_argument("--per-query", required=True)
    parser.add_argument("--wording", required=True, nargs="*")
    parser.add_argument("--quoting", required=True, type=int, help="tokens in a row that make a query quoting")
    parser.add_argument("--success", required=True, help="a query succeeds where this measure is above 0")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--spans", required=True, help="written: how unique spans are and where they stand")
    parser.add_argument("--successes", required=True, help="written: how often each system finds their targets")


def run(args: argparse.Namespace) -> None:
    queries, qrels = read_judged(args.results, args.query_sets)
    per_query = read_table(args.per_query, PER_QUERY)
    empty = pl.DataFrame(schema=dict(WORDING.columns))
    wording = pl.concat([empty, *(read_table(path, WORDING) for path in args.wording)])
    located = quoted_spans(wording, queries, qrels, args.quoting, args.resamples, args.seed)
    write_table(located, args.spans, QUOTED_SPANS)
    found = span_success(wording, per_query, queries, qrels, args.quoting, args.success, args.resamples, args.seed)
    write_table(found, args.successes, SPAN_SUCCESS)
