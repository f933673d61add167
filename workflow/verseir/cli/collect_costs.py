"""What each system cost, and what its encoder saw of the texts."""

import argparse
import json
from pathlib import Path

from verseir.analyses.encoding import encoding_table
from verseir.costs import read_costs
from verseir.layout import cost_files, encoding_files
from verseir.tables import COSTS, ENCODING, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--costs", required=True)
    parser.add_argument("--encoding", required=True)


def run(args: argparse.Namespace) -> None:
    results = Path(args.results)
    write_table(read_costs(cost_files(args.cross, results / "costs")), args.costs, COSTS)
    write_table(encoding_table(encoding_files(args.cross, results / "encodings")), args.encoding, ENCODING)
