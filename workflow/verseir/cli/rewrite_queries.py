"""Derive an edited query set by a language model that rewrites the quoting queries, and check its rewrites."""

import argparse
from pathlib import Path

from verseir.cli import edit_queries
from verseir.judging.models import model_of
from verseir.overlap import WORDING
from verseir.queries.edits import REJECTS, part_originals
from verseir.queries.rewrites import limits_of, read_prompts, rewrite_by_model
from verseir.tables import POEMS, QRELS, QUERIES, read_table, write_table

add_arguments = edit_queries.add_arguments


def run(args: argparse.Namespace) -> None:
    prompts = read_prompts(Path(args.rule["prompt"]))
    originals = part_originals(
        read_table(args.poems, POEMS),
        read_table(args.queries, QUERIES),
        read_table(args.qrels, QRELS),
        read_table(args.wording, WORDING),
        args.preset,
        args.quoting,
    )
    model = model_of(args.rule)
    edited = rewrite_by_model(args.name, originals, prompts, model.ask, limits_of(args.rule, Path()))
    write_table(edited.queries, args.output_queries, QUERIES)
    write_table(edited.qrels, args.output_qrels, QRELS)
    write_table(edited.rejects, args.output_rejects, REJECTS)
    print(f"{args.name}: {edited}\n  {model.tally}{model.tally.advice('rewrite_queries')}")
