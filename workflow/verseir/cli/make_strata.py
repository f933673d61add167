"""Means with intervals by attributes of queries, and how far ties could move each."""

import argparse
import json

from verseir.analyses.inputs import judged_runs, read_attributes, read_judged
from verseir.analyses.strata import STRATA, members_of, strata
from verseir.tables import write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--strata", required=True, type=json.loads, help="JSON: query set -> its attributes")
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--judged-later", nargs="*", default=[], help="query sets that are not judged in full yet")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    wanted = {name: kinds for name, kinds in args.strata.items() if kinds and name in args.cross["query_sets"]}
    cross = args.cross | {"query_sets": {name: args.cross["query_sets"][name] for name in sorted(wanted)}}
    members = {name: members_of(read_attributes(args.results, name), kinds, name) for name, kinds in wanted.items()}
    queries, qrels = read_judged(args.results, wanted)
    judged = judged_runs(args.results, cross, args.judged_later)
    table = strata(judged, queries, qrels, members, args.measures, args.resamples, args.seed)
    write_table(table, args.output, STRATA)
