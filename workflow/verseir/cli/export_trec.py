"""Export all runs and judgements as TREC files."""

import argparse
import json
from pathlib import Path

from verseir.analyses.inputs import read_query_set
from verseir.layout import runs
from verseir.tables import RUN, read_table
from verseir.trec import write_qrels, write_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")


def run(args: argparse.Namespace) -> None:
    results = Path(args.results)
    for one in runs(args.cross):
        ranked = read_table(one.path(results / "runs"), RUN)
        write_run(ranked, one.path(results / "trec" / "runs", ".trec"), tag=one.system)
    for query_set in sorted(args.cross["query_sets"]):
        write_qrels(read_query_set(results, query_set)[1], results / "trec" / "qrels" / f"{query_set}.qrels")
