"""Export all runs and judgements as TREC files."""

import argparse
import json
from pathlib import Path

from verseir.analyses.inputs import Indexed, read_query_set
from verseir.layout import runs
from verseir.tables import RUN, read_table
from verseir.trec import write_qrels, write_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")


def run(args: argparse.Namespace) -> None:
    results = Path(args.results)
    qrels = {query_set: read_query_set(results, query_set)[1] for query_set in sorted(args.cross["query_sets"])}
    for query_set, judged in qrels.items():
        write_qrels(judged, results / "trec" / "qrels" / f"{query_set}.qrels")
    # A mode that indexes some poems only has judgements of its own, by which its runs are measured.
    indexed = Indexed(results, args.cross.get("kept", []))
    for one in runs(args.cross):
        ranked = read_table(one.path(results / "runs"), RUN)
        write_run(ranked, one.path(results / "trec" / "runs", ".trec"), tag=one.system)
    for corpus, mode, query_set in sorted({one[:3] for one in runs(args.cross) if one.mode in indexed.kept}):
        judged = indexed.qrels(corpus, mode, query_set, qrels[query_set])
        write_qrels(judged, results / "trec" / "qrels" / mode / corpus / f"{query_set}.qrels")
