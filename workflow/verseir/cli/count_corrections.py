"""How many significant tests are left after correction, over all tables of tests, and which were lost."""

import argparse
from pathlib import Path

from verseir.analyses.multiplicity import MULTIPLICITY, MULTIPLICITY_LOST, multiplicity, read_tests
from verseir.tables import write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tables", required=True, nargs="*", help="CSV tables that hold family, p and p_holm")
    parser.add_argument("--counts", required=True)
    parser.add_argument("--lost", required=True)


def run(args: argparse.Namespace) -> None:
    counts, lost = multiplicity({Path(table).stem: read_tests(table) for table in args.tables})
    write_table(counts, args.counts, MULTIPLICITY)
    write_table(lost, args.lost, MULTIPLICITY_LOST)
