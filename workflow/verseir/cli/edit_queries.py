"""Derive an edited query set by a rule that needs no model."""

import argparse
import json
from pathlib import Path
from typing import Any

from verseir.overlap import WORDING
from verseir.queries.edits import REJECTS, Edited, Originals, append_half_verse, delete_quoted, part_originals
from verseir.queries.rewrites import limits_of, read_rewrites, rewrite_by_hand
from verseir.tables import POEMS, QRELS, QUERIES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", required=True)
    parser.add_argument("--rule", required=True, type=json.loads, help="JSON: the rule, `edit` of the query set")
    parser.add_argument("--preset", required=True, help="normalisation under which words are compared")
    parser.add_argument("--quoting", required=True, type=int, help="tokens in a row that make a query quoting")
    parser.add_argument("--poems", required=True, help="of the corpus that the wording was measured in")
    parser.add_argument("--queries", required=True, help="those to edit")
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--wording", required=True)
    parser.add_argument("--output-queries", required=True)
    parser.add_argument("--output-qrels", required=True)
    parser.add_argument("--output-rejects", required=True)


def run(args: argparse.Namespace) -> None:
    queries = read_table(args.queries, QUERIES)
    originals = part_originals(
        read_table(args.poems, POEMS),
        queries,
        read_table(args.qrels, QRELS),
        read_table(args.wording, WORDING),
        args.preset,
        args.quoting,
    )
    edited = apply_rule(args.name, args.rule, originals, queries["query_id"].to_list())
    write_table(edited.queries, args.output_queries, QUERIES)
    write_table(edited.qrels, args.output_qrels, QRELS)
    write_table(edited.rejects, args.output_rejects, REJECTS)
    print(f"{args.name}: {edited}")


def apply_rule(name: str, rule: dict[str, Any], originals: Originals, query_ids: list[str]) -> Edited:
    if rule["rule"] == "append-half-verse":
        return append_half_verse(name, originals, rule["verse"])
    if rule["rule"] == "delete-quoted":
        return delete_quoted(name, originals)
    rewrites = read_rewrites(Path(rule["path"]), rule["path"], query_ids)
    return rewrite_by_hand(name, originals, rewrites, limits_of(rule, Path()))
