"""Measure runs as if every document with the subject of the query were relevant."""

import argparse
import json

from verseir.analyses.subjects import SUBJECTS, subject_means
from verseir.tables import write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--measures", required=True, nargs="+")
    parser.add_argument("--depth", required=True, type=int, help="where lists are cut")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    table = subject_means(args.results, args.cross, args.measures, args.depth, args.resamples, args.seed)
    write_table(table, args.output, SUBJECTS)
