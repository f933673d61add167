"""Rank poems by the best inner product of their chunks' vectors with the query's, exactly."""

import argparse
import json
from pathlib import Path

import polars as pl

from verseir.costs import Stopwatch
from verseir.systems.dense import search
from verseir.systems.prepare import prepare
from verseir.systems.vectors import VectorStore, store_root
from verseir.tables import CHUNKS, QUERIES, RUN, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--system", required=True)
    parser.add_argument("--entry", required=True, type=json.loads, help="JSON: the system")
    parser.add_argument("--encoding", required=True)
    parser.add_argument("--chunks", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--depth", required=True, type=int)
    parser.add_argument("--output", required=True)
    parser.add_argument("--cost", required=True)
