"""Pool what the runs of one corpus and query set put first, for judging without knowing which system found it."""

import argparse
import json

import polars as pl

from verseir.atomic import write_text
from verseir.formats import count
from verseir.judging.consensus import Pooling, consensus_pool
from verseir.judging.pool import POOL, pool
from verseir.judging.reach import read_reach
from verseir.judging.sheets import csv_text, shown_items
from verseir.layout import runs
from verseir.tables import DUPLICATES, POEMS, QRELS, QUERIES, RUN, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--query-set", required=True)
    parser.add_argument("--duplicates", required=True)
    parser.add_argument("--depth", required=True, type=int, help="ranks of each run that are pooled")
    parser.add_argument("--pooling", type=json.loads, help="JSON: candidates, depth and consensus, in place of --depth")
    parser.add_argument("--qrels", nargs="*", default=[], help="what is known to be relevant, for --pooling")
    parser.add_argument("--within", help="the attribute that the queries are searched within; all poems if not given")
    parser.add_argument("--reach", nargs=3, help="--within: poems and attributes of the corpus, attributes of queries")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--poems", required=True)
    parser.add_argument("--verses", required=True, type=int, help="verses of a poem in the table for reading")
    parser.add_argument("--output", required=True)
    parser.add_argument("--csv", required=True, help="the same with texts, for judges of one's own")


def run(args: argparse.Namespace) -> None:
    pooled = [one for one in runs(args.cross) if (one.corpus, one.query_set) == (args.corpus, args.query_set)]
    frames = ((one.system, read_table(one.path(f"{args.results}/runs"), RUN)) for one in pooled)
    duplicates = read_table(args.duplicates, DUPLICATES)
    reach = read_reach(args.within, args.reach or [])
    classes = reach.classes(duplicates) if reach else duplicates
    place, depth, lost = (args.corpus, args.query_set), args.depth, 0
    if args.pooling:
        parts = [pl.DataFrame(schema=dict(QRELS.columns)), *(read_table(path, QRELS) for path in args.qrels)]
        known = pl.concat(parts).filter(pl.col("grade") > 0)
        if reach:
            found = reach.reachable(known, duplicates)
            lost = len(known.join(found, on=["query_id", "poem_id"], how="anti"))
            known = found
        asked = Pooling(**args.pooling)
        table = consensus_pool(dict(frames), known, classes, *place, asked, args.seed)
        depth = asked.depth
    else:
        table = pool((frame for _, frame in frames), classes, *place, depth, args.seed)
    shown = shown_items(table, read_table(args.queries, QUERIES), read_table(args.poems, POEMS), args.verses)
    write_table(table, args.output, POOL)
    ids = table.sort("place").select("item_id", "query_id", "poem_id").iter_rows()
    rows = [(*names, *(part.text for part in item.parts)) for names, item in zip(ids, shown, strict=True)]
    write_text(args.csv, csv_text(("item_id", "query_id", "poem_id", "query", "poem"), rows))
    of_query = sorted(table["query_id"].value_counts()["count"].to_list())
    spread = f"; {of_query[0]} to {of_query[-1]} a query" if of_query else ""
    print(
        f"{args.corpus}, {args.query_set}: {count(len(table), 'item')} of {count(len(of_query), 'query', 'queries')} "
        f"from the first {depth} of {count(len(pooled), 'run')}{spread}"
    )
    if lost:
        told = f"{count(lost, 'known answer')} of another {args.within} than its query's"
        print(f"  {told}: not judged, or by a copy of the query's {args.within}")
