"""Read the poems and explanations of one corpus; audit duplicates."""

import argparse
import json
from pathlib import Path

import polars as pl

from verseir.atomic import write_text
from verseir.corpora.duplicates import equivalence_classes
from verseir.corpora.load import load_corpus
from verseir.tables import ATTRIBUTES, DUPLICATES, EXPLANATIONS, POEMS, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", required=True)
    parser.add_argument("--spec", required=True, type=json.loads, help="JSON: the corpus")
    parser.add_argument("--poems", required=True)
    parser.add_argument("--explanations", required=True)
    parser.add_argument("--attributes", required=True)
    parser.add_argument("--duplicates", required=True)
    parser.add_argument("--audit", required=True)


def run(args: argparse.Namespace) -> None:
    corpus = load_corpus(args.name, args.spec, Path())
    duplicates = equivalence_classes(corpus.poems)
    repeated = duplicates.filter(pl.col("class_size") > 1)
    audit = {
        "corpus": args.name,
        "n_poems": len(corpus.poems),
        "n_verses": int(corpus.poems["verses"].list.len().sum()),
        "n_without_language": corpus.poems["language"].null_count(),
        "n_classes": duplicates["class_id"].n_unique(),
        "n_duplicates": len(repeated) - repeated["class_id"].n_unique(),
        "notes": corpus.notes,
        "warnings": corpus.warnings,
    }
    write_table(corpus.poems, args.poems, POEMS)
    write_table(corpus.explanations, args.explanations, EXPLANATIONS)
    write_table(corpus.attributes, args.attributes, ATTRIBUTES)
    write_table(duplicates, args.duplicates, DUPLICATES)
    write_text(args.audit, json.dumps(audit, indent=1, ensure_ascii=False) + "\n")
    print(f"{args.name}: {audit['n_poems']} poems, {audit['n_verses']} verses, {audit['n_duplicates']} duplicates")
    for note in corpus.notes:
        print(note)
