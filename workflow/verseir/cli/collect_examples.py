"""Collect single queries with what each system shows for them, for the explorer of the report."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from verseir.atomic import write_text
from verseir.report.examples import ROOM, collect_examples


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", type=Path, required=True, help="folder of the study's results")
    parser.add_argument("--cross", type=json.loads, required=True, help="JSON: what is crossed with what")
    parser.add_argument("--modes", type=json.loads, required=True, help="JSON: the fields of each mode")
    parser.add_argument("--chunks", type=json.loads, required=True, help="JSON: verses and stride of windows")
    parser.add_argument("--explanations", type=json.loads, required=True, help="JSON: explanation files by corpus")
    parser.add_argument("--tokens", required=True, help="preset under which words are compared")
    parser.add_argument("--base-mode", required=True, help="the mode that is shown first")
    parser.add_argument("--room", type=int, default=ROOM, help="bytes that the examples may take, about")
    parser.add_argument("--output", type=Path, required=True, help="the examples to write (JSON)")


def run(args: argparse.Namespace) -> None:
    text = collect_examples(
        args.results,
        args.cross,
        args.modes,
        args.chunks,
        {corpus: [Path(path) for path in paths] for corpus, paths in args.explanations.items()},
        args.tokens,
        args.base_mode,
        args.room,
    )
    write_text(args.output, text + "\n")
    told = json.loads(text)
    print(f"examples: {len(told['queries']):,} of {told['in_all']:,} queries, {len(text.encode()):,} bytes")
