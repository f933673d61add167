"""Take a ranked list that another program made, in TREC format or Parquet."""

import argparse
from pathlib import Path

import polars as pl

from verseir.faults import UserError
from verseir.ranking import check_run
from verseir.tables import POEMS, QUERIES, RUN, read_table, write_table
from verseir.trec import read_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--poems", required=True)
    parser.add_argument("--depth", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    source = Path(args.run)
    ranked = read_table(source, RUN) if source.suffix == ".parquet" else read_run(source)
    queries = read_table(args.queries, QUERIES)
    strange = sorted(set(ranked["query_id"]) - set(queries["query_id"]))
    if strange:
        raise UserError(
            f"{source} ranks {len(strange)} queries that the query set does not have, the first is '{strange[0]}'",
            hint="a run belongs to one query set; check the path of the imported system in the registry",
        )
    poem_ids = set(read_table(args.poems, POEMS)["poem_id"])
    foreign = sorted(set(ranked["poem_id"]) - poem_ids)
    if foreign:
        raise UserError(
            f"{source} ranks {len(foreign)} poems that the corpus does not have, the first is '{foreign[0]}'",
            hint="a run belongs to one corpus; poem ids must be those of the corpus",
        )
    unanswered = len(set(queries["query_id"]) - set(ranked["query_id"]))
    if unanswered:
        print(f"warning: {source} has no poem for {unanswered} of {len(queries)} queries: they count as 0")
    checked = check_run(ranked, str(source)).filter(pl.col("rank") <= args.depth)
    write_table(checked, args.output, RUN)
