"""Compose the text of every chunk of a corpus in one indexing mode."""

import argparse
import json

from verseir.chunks import make_chunks
from verseir.corpora.explanations import read_explanations
from verseir.kept import require_kept
from verseir.tables import ATTRIBUTES, CHUNKS, POEMS, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--poems", required=True)
    parser.add_argument("--explanations", required=True, nargs="+")
    parser.add_argument("--attributes", help="ATTRIBUTES of the corpus, where --keep names one")
    parser.add_argument("--keep", type=json.loads, default={}, help="JSON: attribute -> values; others are left out")
    parser.add_argument("--fields", required=True, type=json.loads, help="JSON list of fields")
    parser.add_argument("--verses", required=True, type=int)
    parser.add_argument("--stride", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    poems, explanations = read_table(args.poems, POEMS), read_explanations(args.explanations)
    if args.keep:
        n_all, attributes = len(poems), read_table(args.attributes, ATTRIBUTES) if args.attributes else None
        poems = require_kept(poems, attributes, args.keep)
        print(f"{len(poems)} of {n_all} poems kept")
    chunks = make_chunks(poems, explanations, args.fields, args.verses, args.stride)
    write_table(chunks, args.output, CHUNKS)
    without = len(poems) - chunks.filter(chunks["text"] != "")["poem_id"].n_unique()
    if without:
        print(f"warning: {without} of {len(poems)} poems have no text in this mode and cannot be found in it")
