"""How success follows shared words and nearness of meaning, by system and between indexing modes."""

import argparse
import json

import polars as pl

from verseir.analyses.inputs import read_judged
from verseir.analyses.mechanism import MECHANISM, MECHANISM_SUMMARY, Kinds, mechanism, summarise_mechanism
from verseir.analyses.paired import Draws
from verseir.overlap import INDEXED, PROXIMITY
from verseir.tables import PER_QUERY, Table, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--query-sets", required=True, nargs="*", help="known-item query sets")
    parser.add_argument("--indexed", required=True, nargs="*", help="INDEXED tables of the query sets")
    parser.add_argument("--proximity", nargs="*", default=[], help="PROXIMITY tables of the query sets")
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--base-mode", required=True, help="the mode that others are compared with")
    parser.add_argument("--keep", type=json.loads, default={}, help="JSON: mode -> attribute -> values that it keeps")
    parser.add_argument("--lexical", nargs="*", default=[], help="systems that match words")
    parser.add_argument("--fusions", nargs="*", default=[], help="systems that fuse others")
    parser.add_argument("--references", nargs="*", default=[], help="systems that are the reference encoder too")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)
    parser.add_argument("--summary", required=True)


def run(args: argparse.Namespace) -> None:
    def read(paths: list[str], table: Table) -> pl.DataFrame:
        return pl.concat([pl.DataFrame(schema=dict(table.columns)), *(read_table(path, table) for path in paths)])

    table = mechanism(
        read_table(f"{args.results}/per_query.parquet", PER_QUERY),
        *read_judged(args.results, args.query_sets),
        read(args.indexed, INDEXED),
        read(args.proximity, PROXIMITY),
        args.measures,
        args.base_mode,
        Kinds(args.lexical, args.fusions, args.references),
        Draws(args.resamples, 0, args.seed),
        args.keep,
    )
    write_table(table, args.output, MECHANISM)
    write_table(summarise_mechanism(table), args.summary, MECHANISM_SUMMARY)
