"""Printed figures and those of the study side by side, with a verdict."""

import argparse
import json
from collections import Counter
from pathlib import Path

import polars as pl

from verseir.analyses.published import PUBLISHED, VERDICTS, published, read_published
from verseir.faults import UserError
from verseir.tables import write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--published", required=True, type=Path, help="YAML file of printed figures")
    parser.add_argument("--names", required=True, type=json.loads, help="JSON: role in the file -> name in the study")
    parser.add_argument("--rebuilt", action="store_true", help="the runs are rebuilt from printed figures")
    parser.add_argument("--tables", required=True, nargs="*", type=Path, help="CSV tables of the study")
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    tables = {path.stem: _text(path) for path in args.tables}
    table = published(read_published(args.published), args.names, tables, args.rebuilt)
    write_table(table, args.output, PUBLISHED)
    counted = Counter(table["verdict"])
    print(", ".join(f"{counted[name]} {name}" for name in VERDICTS))


def _text(path: Path) -> pl.DataFrame:
    """A table with every cell as text: a lookup knows which columns it wants as numbers."""
    try:
        return pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UserError(f"{path} cannot be read: {error}", "it is made by the workflow: run snakemake first") from error
