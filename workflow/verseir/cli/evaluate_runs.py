"""Measure every query of every run."""

import argparse
import json
from itertools import groupby

import polars as pl

from verseir.analyses.inputs import judged_runs
from verseir.measures import Judged, measure_run, read_judgements
from verseir.tables import PER_QUERY, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--judged-later", nargs="*", default=[], help="query sets that are not judged in full yet")
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    parts = [pl.DataFrame(schema=dict(PER_QUERY.columns))]
    cells = groupby(judged_runs(args.results, args.cross, args.judged_later), key=lambda found: found[0][:3])
    for _, cell in cells:  # of one corpus, mode and query set, whose judgements are the same
        judged: Judged | None = None
        for one, ranked, qrels, ids in cell:
            judged = judged or read_judgements(qrels, ids)
            values = measure_run(ranked, judged, args.measures)
            named = values.with_columns(**{key: pl.lit(value) for key, value in one._asdict().items()})
            parts.append(named.select(list(PER_QUERY.columns)))
    write_table(pl.concat(parts), args.output, PER_QUERY)
