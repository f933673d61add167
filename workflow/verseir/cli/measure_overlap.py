"""Measure how much of its target's wording each query carries."""

import argparse
import json
from pathlib import Path

from verseir.analyses.inputs import indexed_poems
from verseir.corpora.explanations import read_explanations
from verseir.overlap import INDEXED, WORDING, measure_indexed, measure_wording
from verseir.tables import POEMS, QRELS, QUERIES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--poems", required=True)
    parser.add_argument("--explanations", required=True, nargs="+")
    parser.add_argument("--modes", required=True, type=json.loads, help="JSON: the fields of each indexing mode")
    parser.add_argument(
        "--chunks", nargs="*", default=[], help="<mode>.parquet of each mode that keeps some poems only"
    )
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--tokens", required=True, help="normalisation preset under which words are compared")
    parser.add_argument("--wording", required=True, help="written: overlap with the verses")
    parser.add_argument("--indexed", required=True, help="written: overlap with the text of each mode")


def run(args: argparse.Namespace) -> None:
    poems, explanations = read_table(args.poems, POEMS), read_explanations(args.explanations)
    queries, qrels = read_table(args.queries, QUERIES), read_table(args.qrels, QRELS)
    write_table(measure_wording(args.corpus, poems, queries, qrels, args.tokens), args.wording, WORDING)
    kept = {Path(path).stem: indexed_poems(Path(path))["poem_id"] for path in args.chunks}
    indexed = measure_indexed(args.corpus, poems, explanations, args.modes, queries, qrels, args.tokens, kept)
    write_table(indexed, args.indexed, INDEXED)
