"""Mixed-effects logistic regression of success on shared wording, and what shared wording explains."""

import argparse

import polars as pl

from verseir.analyses.inputs import read_judged
from verseir.tables import PER_QUERY, Table, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--query-sets", required=True, nargs="*", help="known-item query sets")
    parser.add_argument("--wording", required=True, nargs="*", help="WORDING tables of the query sets")
    parser.add_argument("--proximity", nargs="*", default=[], help="PROXIMITY tables of the query sets")
    parser.add_argument("--success", required=True, help="a query succeeds where this measure is above 0")
    parser.add_argument("--lexical", nargs="*", default=[], help="systems that match words")
    parser.add_argument("--fusions", nargs="*", default=[], help="systems that fuse others")
    parser.add_argument("--reference", help="system that others are set against; the best dense one if not given")
    parser.add_argument("--terms", required=True)
    parser.add_argument("--tests", required=True)
    parser.add_argument("--fits", required=True)
    parser.add_argument("--shares", required=True)


def run(args: argparse.Namespace) -> None:
    from verseir.analyses.mixed_model import MIXED_MODEL, MIXED_MODEL_FIT, MIXED_MODEL_TESTS, mixed_models
    from verseir.analyses.variance_shares import VARIANCE_SHARES, variance_shares
    from verseir.overlap import PROXIMITY, WORDING

    per_query = read_table(f"{args.results}/per_query.parquet", PER_QUERY)
    judged = read_judged(args.results, args.query_sets)
    wording, proximity = _tables(args.wording, WORDING), _tables(args.proximity, PROXIMITY)
    terms, tests, fits = mixed_models(
        per_query, *judged, wording, args.success, args.lexical, args.fusions, args.reference
    )
    shares = variance_shares(per_query, *judged, wording, proximity, args.success, args.fusions)
    write_table(terms, args.terms, MIXED_MODEL)
    write_table(tests, args.tests, MIXED_MODEL_TESTS)
    write_table(fits, args.fits, MIXED_MODEL_FIT)
    write_table(shares, args.shares, VARIANCE_SHARES)


def _tables(paths: list[str], table: Table) -> pl.DataFrame:
    """All ``paths`` in one frame; empty without any."""
    return pl.concat([pl.DataFrame(schema=dict(table.columns)), *(read_table(path, table) for path in paths)])
