"""How often ties touch a cut, and how far the order of tied poems could move each measure."""

import argparse
import json
from pathlib import Path

import polars as pl

from verseir.analyses.inputs import measured_queries, read_query_set
from verseir.layout import runs
from verseir.tables import RUN, TIES, read_table, write_table
from verseir.ties import tie_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--judged-later", nargs="*", default=[], help="query sets that are not judged in full yet")
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    query_sets = {name: read_query_set(args.results, name) for name in args.cross["query_sets"]}
    parts = [pl.DataFrame(schema=dict(TIES.columns))]
    for one in runs(args.cross):
        if args.cross["systems"][one.system] == "fusion":
            continue  # its scores come from ranks, in which the ties of its arms are broken already
        queries, qrels = query_sets[one.query_set]
        ids = measured_queries(queries, qrels, one.query_set in args.judged_later)
        ranked = read_table(one.path(Path(args.results) / "runs"), RUN)
        report = tie_report(ranked, qrels, ids, args.measures)
        named = report.with_columns(**{key: pl.lit(value) for key, value in one._asdict().items()})
        parts.append(named.select(list(TIES.columns)))
    write_table(pl.concat(parts).sort("corpus", "query_set", "mode", "system", "measure"), args.output, TIES)
