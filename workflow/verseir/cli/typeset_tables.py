"""Write the tables of a paper on this study, each as CSV to paste and as LaTeX."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import polars as pl

from verseir.analyses.dissociation import RANK_MOVES
from verseir.analyses.edited import EDITS
from verseir.analyses.fusion_search import FUSION, FUSION_CONTRASTS
from verseir.analyses.judge_agreement import JUDGE_AGREEMENT, JUDGE_ORDERS
from verseir.analyses.mechanism import MECHANISM
from verseir.analyses.overlap_spectrum import OVERLAP_SPECTRUM
from verseir.analyses.quotation import QUOTATION, QUOTATION_SLOPES
from verseir.analyses.thematic_scores import THEMATIC_CONTRASTS, THEMATIC_MEANS
from verseir.tables import CONTRASTS, LEADERBOARD, Table, read_table
from verseir.typeset.driver import write_driver
from verseir.typeset.latex import write_latex
from verseir.typeset.sheet import write_csv
from verseir.typeset.slopes import by_measure, thresholds
from verseir.typeset.tables import edits, fusion, known_item, mechanism, spectrum
from verseir.typeset.thematic import aspects, judges, thematic


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name in (
        *("leaderboard", "contrasts", "spectrum", "edits", "mechanism", "moves", "fusion"),
        *("fusion-contrasts", "quotation", "slopes"),
        *("thematic-means", "thematic-contrasts", "judge-agreement", "judge-orders"),
    ):
        parser.add_argument(f"--{name}", required=name == "leaderboard", help="a table of the study (CSV)")
    parser.add_argument("--main-measures", type=json.loads, required=True, help="JSON: query set -> its main measure")
    parser.add_argument(
        "--shown-measures", type=json.loads, help="JSON: the same for tables of analyses, which may hold other measures"
    )
    parser.add_argument("--measures", nargs="+", required=True, help="measures of tables that show several, in order")
    parser.add_argument("--known-item", nargs="*", default=[], help="known-item query sets")
    parser.add_argument("--thematic", nargs="*", default=[], help="thematic query sets")
    parser.add_argument("--lexical", nargs="*", default=[], help="systems that match words")
    parser.add_argument("--base-mode", required=True, help="the indexing mode of tables that show one")
    parser.add_argument("--threshold", type=int, required=True, help="tokens in a row that make a query quoting")
    parser.add_argument("--also", nargs="*", default=[], help="other tables of the study that are typeset")
    parser.add_argument("--output", type=Path, required=True, help="folder to write to")


def run(args: argparse.Namespace) -> None:
    def read(path: str | None, table: Table) -> pl.DataFrame:
        return read_table(path, table) if path else pl.DataFrame(schema=dict(table.columns))

    leaderboard = read_table(args.leaderboard, LEADERBOARD).filter(pl.col("mean").is_not_null())
    main, mode = args.main_measures, args.base_mode
    shown = args.shown_measures or main
    scores, tested = read(args.thematic_means, THEMATIC_MEANS), read(args.thematic_contrasts, THEMATIC_CONTRASTS)
    means, slopes = read(args.quotation, QUOTATION), read(args.slopes, QUOTATION_SLOPES)
    args.output.mkdir(parents=True, exist_ok=True)
    sheets = (
        spectrum(read(args.spectrum, OVERLAP_SPECTRUM)),
        known_item(leaderboard, read(args.contrasts, CONTRASTS), args.known_item, args.measures),
        edits(read(args.edits, EDITS), mode, shown),
        mechanism(read(args.mechanism, MECHANISM), shown),
        thematic(leaderboard, read(args.moves, RANK_MOVES), main, args.thematic, args.lexical, scores, tested),
        fusion(read(args.fusion, FUSION), read(args.fusion_contrasts, FUSION_CONTRASTS)),
        thresholds(means, slopes, mode, shown),
        by_measure(means, slopes, mode, args.threshold, args.measures),
        aspects(scores, mode, args.lexical),
        judges(read(args.judge_agreement, JUDGE_AGREEMENT), read(args.judge_orders, JUDGE_ORDERS), mode),
    )
    for sheet in sheets:
        write_csv(sheet, args.output / f"{sheet.name}.csv")
        write_latex(sheet, args.output / f"{sheet.name}.tex")
    write_driver([*(sheet.name for sheet in sheets), *args.also], args.output)
