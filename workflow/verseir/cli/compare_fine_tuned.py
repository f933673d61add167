"""What fine-tuning changes: gains over the base by seed and by group of queries, and the curves of training."""

import argparse
import json

from verseir.analyses.fine_tuning import (
    FINE_TUNING,
    FINE_TUNING_CURVES,
    FINE_TUNING_REGISTERS,
    FINE_TUNING_SEEDS,
    Recipe,
    fine_tuning,
    fine_tuning_curves,
)
from verseir.analyses.inputs import read_attributes, read_judged
from verseir.analyses.paired import Draws
from verseir.analyses.strata import members_of
from verseir.tables import PER_QUERY, read_table, write_table
from verseir.training.curve import CURVE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument(
        "--recipes", required=True, type=json.loads, help="JSON: recipe -> base, systems (seed -> system), query_sets"
    )
    parser.add_argument("--groups", required=True, type=json.loads, help="JSON: query set -> attributes to split it by")
    parser.add_argument("--curves", required=True, nargs="+", help="CURVE tables of all trainings")
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--flips", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--gains", required=True)
    parser.add_argument("--seeds", required=True)
    parser.add_argument("--registers", required=True)
    parser.add_argument("--all-curves", required=True)


def run(args: argparse.Namespace) -> None:
    recipes = [
        Recipe(name, spec["base"], {int(seed): of for seed, of in spec["systems"].items()}, spec["query_sets"])
        for name, spec in sorted(args.recipes.items())
    ]
    query_sets = {name for recipe in recipes for name in recipe.query_sets}
    members = {
        name: members_of(read_attributes(args.results, name), wanted, name)
        for name, wanted in args.groups.items()
        if wanted
    }
    curves = fine_tuning_curves([read_table(path, CURVE) for path in args.curves])
    tables = fine_tuning(
        read_table(f"{args.results}/per_query.parquet", PER_QUERY),
        *read_judged(args.results, query_sets),
        members,
        recipes,
        curves,
        args.measures,
        Draws(args.resamples, args.flips, args.seed),
    )
    outputs = (args.gains, args.seeds, args.registers)
    for table, path, contract in zip(
        tables, outputs, (FINE_TUNING, FINE_TUNING_SEEDS, FINE_TUNING_REGISTERS), strict=True
    ):
        write_table(table, path, contract)
    write_table(curves, args.all_curves, FINE_TUNING_CURVES)
