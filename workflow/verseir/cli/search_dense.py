"""Rank poems by the best inner product of their chunks' vectors with the query's, exactly."""

import argparse
import json
from pathlib import Path

import polars as pl

from verseir.costs import Stopwatch
from verseir.faults import UserError
from verseir.systems.dense import search
from verseir.systems.identity import identify
from verseir.systems.vectors import VectorStore
from verseir.tables import CHUNKS, QUERIES, RUN, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--system", required=True)
    parser.add_argument("--entry", required=True, type=json.loads, help="JSON: the system")
    parser.add_argument("--encoding", required=True, help="what the encode step wrote")
    parser.add_argument("--chunks", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--depth", required=True, type=int)
    parser.add_argument("--output", required=True)
    parser.add_argument("--cost", required=True)


def run(args: argparse.Namespace) -> None:
    stopwatch = Stopwatch("search", args.corpus, args.system)
    chunks = read_table(args.chunks, CHUNKS).filter(pl.col("text") != "")
    queries = read_table(args.queries, QUERIES)
    store = _store(args.entry, Path(args.encoding))
    try:
        documents = store.get(chunks["text"].to_list(), "document")
        vectors = store.get(queries["text"].to_list(), "query")
    except UserError as error:
        hint = f"the store of vectors was emptied or moved: remove {args.encoding} and run again"
        raise UserError(str(error.args[0]), hint=hint) from error
    run = search(
        queries["query_id"].to_list(),
        vectors,
        chunks["chunk_id"],
        chunks["poem_id"],
        documents,
        args.depth,
        positions=chunks["first_verse"],
    )
    write_table(run, args.output, RUN)
    stopwatch.write(args.cost, n_texts=len(queries))


def _store(entry: dict, encoding: Path) -> VectorStore:
    """The store that the encode step filled; an unpinned revision is the one that it found."""
    seen = json.loads(encoding.read_text(encoding="utf-8"))
    pinned = {"revision": seen["revision"]} if entry.get("revision") == "unpinned" else {}
    identity = identify(entry | pinned)
    if identity.key != seen["encoder_key"]:
        raise UserError(
            f"'{seen['system']}' is not the encoder that encoded {seen['corpus']}: its files or settings changed",
            hint=f"remove {encoding} and run again",
        )
    return VectorStore(identity)
