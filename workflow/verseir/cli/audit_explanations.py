"""Shares of people's verdicts on explanations, from annotation files."""

import argparse
import json
from pathlib import Path

from verseir.analyses.explanation_audit import EXPLANATION_AUDIT, explanation_audit, read_audit
from verseir.corpora.explanations import read_explanations
from verseir.faults import Fault, InputFaults
from verseir.tables import POEMS, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--audits", required=True, type=json.loads, help="JSON: corpus -> source -> annotation file")
    parser.add_argument("--written", type=json.loads, default={}, help="JSON: corpus -> sources that a model wrote")
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    audits, faults = {}, list[Fault]()
    for corpus, files in sorted(args.audits.items()):
        poems = read_table(f"{args.results}/corpora/{corpus}/poems.parquet", POEMS)
        folder = f"{args.results}/corpora/{corpus}"
        written = [f"{folder}/written/{source}.parquet" for source in args.written.get(corpus, [])]
        explanations = read_explanations([f"{folder}/explanations.parquet", *written])
        for source, file in sorted(files.items()):
            try:
                audits[corpus, source] = read_audit(Path(file), file, source, poems, explanations)
            except InputFaults as error:
                faults += error.faults
    if faults:
        raise InputFaults(faults)
    write_table(explanation_audit(audits), args.output, EXPLANATION_AUDIT)
