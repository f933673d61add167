"""What the archive should deploy: by register, for its mix of registers, and for themes."""

import argparse
import json
from pathlib import Path

import polars as pl

from verseir.analyses.deployment import DEPLOYMENT, Asked, recommend
from verseir.analyses.deployment_choice import Margin
from verseir.analyses.deployment_costs import Config, Costs, Size
from verseir.analyses.inputs import read_judged
from verseir.analyses.paired import Draws
from verseir.tables import CHUNKS, COSTS, PER_QUERY, read_columns, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--costs", required=True, help="the COSTS table")
    parser.add_argument("--searched", required=True, type=json.loads, help="JSON: corpus -> its query sets")
    parser.add_argument(
        "--indexed", required=True, type=json.loads, help="JSON: corpus -> the modes whose indexes were measured"
    )
    parser.add_argument("--fields", required=True, type=json.loads, help="JSON: mode -> the fields that it indexes")
    parser.add_argument("--kinds", required=True, type=json.loads, help="JSON: system -> its kind and its arms")
    parser.add_argument("--systems", required=True, nargs="+", help="the systems that may be deployed")
    parser.add_argument("--kept", nargs="*", default=[], help="modes that index some poems only")
    parser.add_argument("--known-item", nargs="*", default=[], help="known-item query sets")
    parser.add_argument("--thematic", nargs="*", default=[], help="thematic query sets")
    parser.add_argument("--synthetic", nargs="*", default=[], help="those of them that are probes")
    parser.add_argument(
        "--measures", required=True, type=json.loads, help="JSON: query set -> the measure that decides"
    )
    parser.add_argument("--mix", required=True, type=json.loads, help="JSON: register -> its share, or null")
    parser.add_argument(
        "--baseline", required=True, type=json.loads, help="JSON: system, mode, and whether it is named"
    )
    parser.add_argument("--margin", required=True, type=float, help="differences below it do not matter")
    parser.add_argument("--folds", required=True, type=int, help="folds of the cross-validated choice")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--flips", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    costs = read_table(args.costs, COSTS)
    per_query = read_table(f"{args.results}/per_query.parquet", PER_QUERY)
    queries, qrels = read_judged(args.results, [*args.known_item, *args.thematic])
    spent = {}
    for corpus in args.searched:
        sizes = {}
        for mode in args.indexed.get(corpus, []):
            path = Path(args.results) / "corpora" / corpus / "chunks" / f"{mode}.parquet"
            poems = read_columns(path, CHUNKS, ["poem_id"])["poem_id"]
            sizes[mode] = Size(len(poems), poems.n_unique())
        spent[corpus] = Costs(costs.filter(pl.col("corpus") == corpus), args.kinds, args.fields, sizes)
    asked = Asked(
        args.measures,
        args.known_item,
        args.thematic,
        args.synthetic,
        args.systems,
        args.kept,
        args.mix,
        Config(args.baseline["system"], args.baseline["mode"]),
        args.baseline["named"],
        Margin(args.margin, args.folds),
    )
    draws = Draws(args.resamples, args.flips, args.seed)
    write_table(recommend(per_query, queries, qrels, spent, args.searched, asked, draws), args.output, DEPLOYMENT)
