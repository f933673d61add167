"""Take a ranked list that another program made, in TREC format or Parquet."""

import argparse
from pathlib import Path

import polars as pl

from verseir.analyses.inputs import NAMED, indexed_poems
from verseir.faults import UserError
from verseir.ranking import check_run
from verseir.tables import POEMS, QUERIES, RUN, read_table, write_table
from verseir.trec import read_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--poems", required=True)
    parser.add_argument(
        "--chunks", nargs="*", default=[], help="of the mode, <mode>.parquet, where it keeps some poems"
    )
    parser.add_argument("--depth", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    source = Path(args.run)
    ranked = read_table(source, RUN) if source.suffix == ".parquet" else read_run(source)
    queries = read_table(args.queries, QUERIES)
    strange = sorted(set(ranked["query_id"]) - set(queries["query_id"]))
    if strange:
        raise UserError(
            f"{source} ranks {_counted(strange, 'query', 'queries')} that the query set does not have:"
            f" {_first(strange)}",
            hint="a run belongs to one query set; check the path of the imported system in the registry",
        )
    poem_ids = set(read_table(args.poems, POEMS)["poem_id"])
    foreign = sorted(set(ranked["poem_id"]) - poem_ids)
    if foreign:
        raise UserError(
            f"{source} ranks {_counted(foreign, 'poem', 'poems')} that the corpus does not have: {_first(foreign)}",
            hint="a run belongs to one corpus; poem ids must be those of the corpus",
        )
    for chunks in map(Path, args.chunks):
        _check_kept(source, ranked, chunks)
    unanswered = len(set(queries["query_id"]) - set(ranked["query_id"]))
    if unanswered:
        print(f"warning: {source} has no poem for {unanswered} of {len(queries)} queries: they count as 0")
    checked = check_run(ranked, str(source)).filter(pl.col("rank") <= args.depth)
    write_table(checked, args.output, RUN)


def _check_kept(source: Path, ranked: pl.DataFrame, chunks: Path) -> None:
    """Raise UserError where a list ranks poems that the mode of ``chunks`` does not index: they would take ranks."""
    outside = sorted(set(ranked["poem_id"]) - set(indexed_poems(chunks)["poem_id"]))
    if outside:
        mode = chunks.stem
        raise UserError(
            f"{source} ranks {_counted(outside, 'poem', 'poems')} that the mode '{mode}' does not index:"
            f" {_first(outside)}",
            hint=f"modes.{mode}.keep leaves them out: give a list of what it keeps, in a file of its own by {{mode}} in"
            " the path of the imported system, or leave the mode out by `only`",
        )


def _counted(names: list[str], one: str, many: str) -> str:
    return f"{len(names)} {one if len(names) == 1 else many}"


def _first(names: list[str]) -> str:
    """The first names in quotes, and whether there are more."""
    return ", ".join(f"'{name}'" for name in names[:NAMED]) + (", ..." if len(names) > NAMED else "")
