"""Compare each system under other normalisations of the text with the system under its own."""

import argparse
import json

import polars as pl

from verseir.analyses.inputs import judged_runs, read_judged
from verseir.analyses.normalisation import NORMALISATION, ablate_normalisation
from verseir.analyses.paired import Draws
from verseir.tables import QUERIES, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--variants", required=True, type=json.loads, help="JSON: system -> preset -> name of its runs")
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--judged-later", nargs="*", default=[], help="query sets that are not judged in full yet")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--flips", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    wanted = args.cross["query_sets"]
    table = ablate_normalisation(
        judged_runs(args.results, args.cross, args.judged_later),
        read_judged(args.results, wanted)[0] if wanted else pl.DataFrame(schema=dict(QUERIES.columns)),
        args.variants,
        args.measures,
        Draws(args.resamples, args.flips, args.seed),
    )
    write_table(table, args.output, NORMALISATION)
