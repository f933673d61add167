"""Write the tables of a paper on an idiom benchmark, each as CSV to paste and as LaTeX."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import polars as pl

from verseir.analyses.idiom_data import IDIOM_DATA
from verseir.analyses.idiom_overlap import IDIOM_OVERLAP
from verseir.analyses.strata import STRATA
from verseir.analyses.string_match import STRING_MATCH
from verseir.analyses.subjects import SUBJECTS
from verseir.tables import LEADERBOARD, Table, read_table
from verseir.typeset.idioms import Tables, ablation, data, overlap, variants, zero_shot
from verseir.typeset.latex import write_latex
from verseir.typeset.sheet import write_csv


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name in ("leaderboard", "strata", "subjects", "string-match", "overlap", "data"):
        parser.add_argument(f"--{name}", required=name == "leaderboard", help="a table of the study (CSV)")
    parser.add_argument("--query-sets", type=json.loads, required=True, help="JSON: the query sets, in order")
    parser.add_argument("--modes", nargs="+", required=True, help="indexing modes, in order")
    parser.add_argument("--base-mode", required=True, help="the indexing mode of tables that show one")
    parser.add_argument("--measures", nargs="+", required=True, help="measures that are shown, in order")
    parser.add_argument("--systems", nargs="+", required=True, help="the systems that are shown")
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")


def run(args: argparse.Namespace) -> None:
    def read(path: str | None, table: Table) -> pl.DataFrame:
        frame = read_table(path, table) if path else pl.DataFrame(schema=dict(table.columns))
        return frame.filter(pl.col("system").is_in(args.systems)) if "system" in frame.columns else frame

    query_sets, base = args.query_sets, args.base_mode
    tables = Tables(
        read(args.leaderboard, LEADERBOARD),
        read(args.strata, STRATA),
        read(args.subjects, SUBJECTS),
        read(args.string_match, STRING_MATCH),
    )
    args.output.mkdir(parents=True, exist_ok=True)
    for sheet in (
        zero_shot(tables, query_sets, base, args.measures),
        *(variants(tables, query_set, base, args.measures) for query_set in query_sets),
        *(ablation(tables, query_set, args.modes, args.measures) for query_set in query_sets),
        overlap(read(args.overlap, IDIOM_OVERLAP), query_sets),
        data(read(args.data, IDIOM_DATA)),
    ):
        write_csv(sheet, args.output / f"{sheet.name}.csv")
        write_latex(sheet, args.output / f"{sheet.name}.tex")
