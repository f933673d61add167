"""How much of the wording of their targets the queries of each set and register carry, with intervals."""

import argparse

import polars as pl

from verseir.analyses.inputs import read_judged
from verseir.analyses.overlap_spectrum import OVERLAP_SPECTRUM, overlap_spectrum
from verseir.overlap import INDEXED, PROXIMITY, WORDING
from verseir.tables import Table, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--query-sets", required=True, nargs="*")
    parser.add_argument("--wording", required=True, nargs="*")
    parser.add_argument("--indexed", required=True, nargs="*")
    parser.add_argument("--proximity", nargs="*", default=[])
    parser.add_argument("--thresholds", required=True, nargs="+", type=int, help="numbers of tokens in a row")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    def read(paths: list[str], table: Table) -> pl.DataFrame:
        return pl.concat([pl.DataFrame(schema=dict(table.columns)), *(read_table(path, table) for path in paths)])

    queries, qrels = read_judged(args.results, args.query_sets)
    table = overlap_spectrum(
        read(args.wording, WORDING),
        read(args.indexed, INDEXED),
        read(args.proximity, PROXIMITY),
        queries,
        qrels,
        args.thresholds,
        args.resamples,
        args.seed,
    )
    write_table(table, args.output, OVERLAP_SPECTRUM)
