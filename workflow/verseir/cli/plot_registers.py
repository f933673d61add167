"""Plot the systems by register, one panel for each indexing mode."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import polars as pl

from verseir.figures.registers import plot_registers
from verseir.figures.style import save
from verseir.tables import REGISTERS, read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--registers", type=Path, required=True, help="table of means by register (CSV)")
    parser.add_argument("--measures", required=True, help="the measure of each query set (JSON: query set to measure)")
    parser.add_argument("--edited", nargs="*", default=[], help="query sets that are edits of others: not shown")
    parser.add_argument("--systems", nargs="*", default=[], help="all systems of the study")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="files to write: .svg, .pdf or .png")


def run(args: argparse.Namespace) -> None:
    registers = read_table(args.registers, REGISTERS)
    measures = {name: measure for name, measure in json.loads(args.measures).items() if name not in args.edited}
    shown = registers.filter(~pl.col("query_set").is_in(args.edited))
    save(plot_registers(shown, measures, args.systems), args.output)
