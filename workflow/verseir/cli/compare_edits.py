"""What edits of the queries do: paired effects by system and between systems, and the length of the queries."""

import argparse
import json

import polars as pl

from verseir.analyses.edited import EDIT_LENGTHS, EDITS, edit_effects, edit_lengths
from verseir.analyses.inputs import read_judged
from verseir.analyses.paired import Draws
from verseir.tables import PER_QUERY, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--query-sets", required=True, nargs="*", help="edited query sets and those they may edit")
    parser.add_argument(
        "--edited", required=True, type=json.loads, help="JSON: edited set -> the set it edits, null to look it up"
    )
    parser.add_argument("--rejects", nargs="*", default=[], help="tables of rejected edits, <query set>.rejects.csv")
    parser.add_argument("--wording", required=True, nargs="*", help="WORDING tables of the query sets")
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--lexical", nargs="*", default=[], help="systems that match words")
    parser.add_argument("--fusions", nargs="*", default=[], help="systems that fuse others")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--flips", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--edits", required=True)
    parser.add_argument("--lengths", required=True)


def run(args: argparse.Namespace) -> None:
    from pathlib import Path

    from verseir.overlap import WORDING
    from verseir.queries.edits import REJECTS

    per_query = read_table(f"{args.results}/per_query.parquet", PER_QUERY)
    queries, qrels = read_judged(args.results, args.query_sets)
    rejected = {Path(at).name.removesuffix(".rejects.csv"): read_table(at, REJECTS) for at in args.rejects}
    wording = pl.concat([pl.DataFrame(schema=dict(WORDING.columns)), *(read_table(at, WORDING) for at in args.wording)])
    chosen = (args.measures, args.lexical, args.fusions, Draws(args.resamples, args.flips, args.seed))
    write_table(edit_effects(per_query, queries, qrels, args.edited, rejected, *chosen), args.edits, EDITS)
    write_table(edit_lengths(queries, wording, args.edited, rejected), args.lengths, EDIT_LENGTHS)
