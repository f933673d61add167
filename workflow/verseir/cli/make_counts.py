"""Make poems, queries and ranked lists that have the counts printed by a paper."""

import argparse
from pathlib import Path

from verseir.atomic import write_text
from verseir.counts import files, read_counts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--counts", required=True, type=Path, help="YAML file of counts")
    parser.add_argument("--output", required=True, type=Path, help="folder for what is made")


def run(args: argparse.Namespace) -> None:
    made = 0
    for path, text in files(read_counts(args.counts)):
        target = args.output / path
        # A file that is as it should be keeps its time, so that nothing downstream is run again.
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            write_text(target, text)
        made += 1
    print(f"{made} files in {args.output}")
