"""Index the chunks of one corpus and mode for BM25."""

import argparse
import json
from pathlib import Path

from verseir.costs import Stopwatch
from verseir.systems.bm25 import Bm25Index
from verseir.systems.bm25_tuning import parameters
from verseir.systems.tokenizers import tokens_of
from verseir.tables import CHUNKS, read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--system", required=True)
    parser.add_argument("--entry", required=True, type=json.loads, help="JSON: the system")
    parser.add_argument("--tuned", nargs="?", help="the parameters that tune_bm25 chose, where the system is tuned")
    parser.add_argument("--chunks", required=True)
    parser.add_argument("--output", required=True, help="folder of the index")
    parser.add_argument("--cost", required=True)


def run(args: argparse.Namespace) -> None:
    stopwatch = Stopwatch("index", args.corpus, args.system)
    chunks = read_table(args.chunks, CHUNKS)
    entry = args.entry
    index = Bm25Index.build(
        tokens_of(chunks["text"], entry),
        chunks["chunk_id"],
        chunks["poem_id"],
        entry["method"],
        *parameters(entry, args.tuned),
        positions=chunks["first_verse"],
    )
    folder = Path(args.output)
    index.save(folder)
    size = sum(file.stat().st_size for file in folder.iterdir()) / 2**20
    stopwatch.write(args.cost, n_texts=len(chunks), index_mb=size)
