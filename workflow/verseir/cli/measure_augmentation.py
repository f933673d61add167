"""What explanations in the index do: every indexing mode against the base mode, by register and by quotation."""

import argparse
import json

import polars as pl

from verseir.analyses.augmentation import (
    AUGMENTATION,
    AUGMENTATION_BY_QUOTATION,
    augmentation,
    augmentation_by_quotation,
)
from verseir.analyses.inputs import read_judged
from verseir.analyses.paired import Draws
from verseir.tables import PER_QUERY, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--query-sets", required=True, nargs="*")
    parser.add_argument("--wording", required=True, nargs="*", help="WORDING tables of the query sets")
    parser.add_argument("--quoting", required=True, type=int, help="tokens in a row that make a query quoting")
    parser.add_argument("--base-mode", required=True)
    parser.add_argument("--keep", type=json.loads, default={}, help="JSON: mode -> attribute -> values that it keeps")
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--flips", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--effects", required=True)
    parser.add_argument("--by-quotation", required=True)


def run(args: argparse.Namespace) -> None:
    from verseir.overlap import WORDING

    per_query = read_table(f"{args.results}/per_query.parquet", PER_QUERY)
    judged = read_judged(args.results, args.query_sets)
    wording = pl.concat([pl.DataFrame(schema=dict(WORDING.columns)), *(read_table(at, WORDING) for at in args.wording)])
    draws = Draws(args.resamples, args.flips, args.seed)
    effects = augmentation(per_query, *judged, args.base_mode, args.measures, draws, args.keep)
    by_quotation = augmentation_by_quotation(
        per_query, *judged, wording, args.base_mode, args.quoting, args.measures, draws, args.keep
    )
    write_table(effects, args.effects, AUGMENTATION)
    write_table(by_quotation, args.by_quotation, AUGMENTATION_BY_QUOTATION)
