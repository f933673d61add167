"""Index the chunks of one corpus and mode for BM25.

Within an attribute, the poems of each value have an index of their own: the number of chunks, the number of chunks that
have a token, and the average length are theirs.
"""

import argparse
import json
from pathlib import Path

from verseir.costs import Stopwatch
from verseir.queries.within import read_poem_groups
from verseir.systems.bm25_tuning import parameters
from verseir.systems.grouped_bm25 import GroupedBm25
from verseir.systems.tokenizers import tokens_of_blocks
from verseir.tables import CHUNKS, read_blocks, read_columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--system", required=True)
    parser.add_argument("--entry", required=True, type=json.loads, help="JSON: the system")
    parser.add_argument("--tuned", nargs="?", help="the parameters that tune_bm25 chose, where the system is tuned")
    parser.add_argument("--chunks", required=True)
    parser.add_argument("--within", default="", help="the attribute of poems by whose values they are indexed apart")
    parser.add_argument("--attributes", help="ATTRIBUTES of the corpus, for --within")
    parser.add_argument("--poems", help="POEMS of the corpus, for --within")
    parser.add_argument("--output", required=True, help="folder of the index")
    parser.add_argument("--cost", required=True)


def run(args: argparse.Namespace) -> None:
    stopwatch = Stopwatch("index", args.corpus, args.system)
    chunks = read_columns(args.chunks, CHUNKS, ["chunk_id", "poem_id", "first_verse"])
    texts = (block["text"] for block in read_blocks(args.chunks, CHUNKS, ["text"]))
    entry = args.entry
    groups = read_poem_groups(chunks["poem_id"], args.poems, args.attributes, args.within) if args.within else None
    index = GroupedBm25.build(
        tokens_of_blocks(texts, entry),
        chunks["chunk_id"],
        chunks["poem_id"],
        groups,
        entry["method"],
        *parameters(entry, args.tuned),
        positions=chunks["first_verse"],
    )
    folder = Path(args.output)
    index.save(folder)
    size = sum(file.stat().st_size for file in folder.iterdir()) / 2**20
    stopwatch.write(args.cost, n_texts=len(chunks), index_mb=size)
