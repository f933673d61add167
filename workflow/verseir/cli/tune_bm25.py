"""Choose the parameters of BM25 on validation queries: of a grid, the pair with the highest mean of a measure."""

import argparse
import json

from verseir.costs import Stopwatch
from verseir.queries.searched import READS, searched_texts
from verseir.queries.within import read_poem_groups, read_query_groups
from verseir.systems.bm25_tuning import tune
from verseir.systems.tokenizers import tokens_of, tokens_of_blocks
from verseir.tables import CHUNKS, QRELS, QUERIES, read_blocks, read_columns, read_table
from verseir.whole import at_least_one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=at_least_one, default=1)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--mode", required=True)
    parser.add_argument("--query-set", required=True)
    parser.add_argument("--system", required=True)
    parser.add_argument("--entry", required=True, type=json.loads, help="JSON: the system, with `tune`")
    parser.add_argument("--chunks", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--reads", choices=sorted(READS), default="text", help="what is searched for of a query")
    parser.add_argument("--within", default="", help="the attribute whose value a query and its poems share")
    parser.add_argument("--attributes", help="ATTRIBUTES of the corpus, for --within")
    parser.add_argument("--poems", help="POEMS of the corpus, for --within")
    parser.add_argument("--query-attributes", help="QUERY_ATTRIBUTES of the set, for --within")
    parser.add_argument("--depth", required=True, type=int)
    parser.add_argument("--output", required=True)
    parser.add_argument("--cost", required=True)


def run(args: argparse.Namespace) -> None:
    stopwatch = Stopwatch("tune", args.corpus, args.system)
    chunks = read_columns(args.chunks, CHUNKS, ["chunk_id", "poem_id", "first_verse"])
    texts = (block["text"] for block in read_blocks(args.chunks, CHUNKS, ["text"]))
    queries = read_table(args.queries, QUERIES)
    qrels = read_table(args.qrels, QRELS).join(chunks, on="poem_id", how="semi")  # of the poems that the mode indexes
    chunk_groups: list[str | None] | None = None
    query_groups: list[str] | None = None
    if args.within:
        chunk_groups = read_poem_groups(chunks["poem_id"], args.poems, args.attributes, args.within)
        query_groups = read_query_groups(queries, args.query_attributes, args.within, set(filter(None, chunk_groups)))
    tuning = tune(
        args.entry,
        chunks,
        tokens_of_blocks(texts, args.entry),
        queries["query_id"].to_list(),
        tokens_of(searched_texts(queries, args.reads), args.entry),
        qrels,
        args.depth,
        chunk_groups=chunk_groups,
        query_groups=query_groups,
    )
    best = tuning.best
    print(f"{args.system}: k1 = {best.k1:g}, b = {best.b:g}, mean {tuning.measure} {best.mean:.4f}")
    tuning.write(args.output, corpus=args.corpus, mode=args.mode, query_set=args.query_set, system=args.system)
    stopwatch.write(args.cost, n_texts=len(queries))
