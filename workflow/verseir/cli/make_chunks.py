"""Compose the text of every chunk of a corpus in one indexing mode."""

import argparse
import json
from collections.abc import Iterator

import polars as pl

from verseir.chunks import chunk_blocks
from verseir.corpora.explanations import read_explanations
from verseir.kept import require_kept
from verseir.tables import ATTRIBUTES, CHUNKS, POEMS, read_table, write_blocks


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
    n_with_text = 0

    def counted() -> Iterator[pl.DataFrame]:
        nonlocal n_with_text
        for chunks in chunk_blocks(poems, explanations, args.fields, args.verses, args.stride):
            n_with_text += chunks.filter(pl.col("text") != "")["poem_id"].n_unique()
            yield chunks

    write_blocks(counted(), args.output, CHUNKS)
    if without := len(poems) - n_with_text:
        print(f"warning: {without} of {len(poems)} poems have no text in this mode and cannot be found in it")
