"""Plot the systems by register, one panel for each indexing mode."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from verseir.figures.registers import plot_registers
from verseir.figures.style import save
from verseir.tables import REGISTERS, read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--registers", type=Path, required=True, help="table of means by register (CSV)")
    parser.add_argument("--measures", required=True, help="the measure of each query set (JSON: query set to measure)")
    parser.add_argument("--output", type=Path, nargs="+", required=True, help="files to write: .svg, .pdf or .png")


def run(args: argparse.Namespace) -> None:
    save(plot_registers(read_table(args.registers, REGISTERS), json.loads(args.measures)), args.output)
