"""How many significant tests are left after correction, over all tables of tests, and which were lost."""

import argparse
import json
from pathlib import Path

from verseir.analyses.multiplicity import (
    DECLARED_FAMILIES,
    MULTIPLICITY,
    MULTIPLICITY_LOST,
    declared_families,
    multiplicity,
    read_tests,
)
from verseir.tables import write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tables", required=True, nargs="*", help="CSV tables that hold family, p and p_holm")
    parser.add_argument("--families", type=json.loads, default=[], help="JSON: the families that the study declares")
    parser.add_argument("--counts", required=True)
    parser.add_argument("--lost", required=True)
    parser.add_argument("--declared", required=True)


def run(args: argparse.Namespace) -> None:
    tables = {Path(table).stem: read_tests(table) for table in args.tables}
    declared = declared_families(tables, args.families)
    counts, lost = multiplicity(tables, declared)
    write_table(counts, args.counts, MULTIPLICITY)
    write_table(lost, args.lost, MULTIPLICITY_LOST)
    write_table(declared, args.declared, DECLARED_FAMILIES)
