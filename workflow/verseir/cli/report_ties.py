"""How often ties touch a cut, and how far the order of tied poems could move each measure."""

import argparse
import json

import polars as pl

from verseir.analyses.inputs import judged_runs
from verseir.tables import TIES, write_table
from verseir.ties import tie_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--judged-later", nargs="*", default=[], help="query sets that are not judged in full yet")
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    parts = [pl.DataFrame(schema=dict(TIES.columns))]
    for one, ranked, qrels, ids in judged_runs(args.results, args.cross, args.judged_later):
        report = tie_report(ranked, qrels, ids, args.measures)
        named = report.with_columns(**{key: pl.lit(value) for key, value in one._asdict().items()})
        parts.append(named.select(list(TIES.columns)))
    write_table(pl.concat(parts).sort("corpus", "query_set", "mode", "system", "measure"), args.output, TIES)
