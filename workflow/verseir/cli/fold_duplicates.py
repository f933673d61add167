"""Measure every run again with duplicate poems counted as one."""

import argparse
import json
from pathlib import Path

from verseir.analyses.duplicate_folding import DUPLICATE_FOLDING, duplicate_folding
from verseir.analyses.inputs import Indexed, read_judged
from verseir.tables import DUPLICATES, PER_QUERY, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    per_query = read_table(f"{args.results}/per_query.parquet", PER_QUERY)
    judged = read_judged(args.results, args.cross["query_sets"])
    corpora = sorted({corpus for names in args.cross["query_sets"].values() for corpus in names})
    duplicates = {name: read_table(f"{args.results}/corpora/{name}/duplicates.csv", DUPLICATES) for name in corpora}
    table = duplicate_folding(
        per_query,
        *judged,
        duplicates,
        f"{args.results}/runs",
        args.cross,
        args.measures,
        args.resamples,
        args.seed,
        Indexed(Path(args.results), args.cross.get("kept", [])),
    )
    write_table(table, args.output, DUPLICATE_FOLDING)
