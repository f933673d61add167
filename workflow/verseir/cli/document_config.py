"""Write config/README.md from the schemas: every key, what it means and its default."""

import argparse
import json
from pathlib import Path

from verseir.atomic import write_text
from verseir.config import SCHEMA
from verseir.config_reference import reference
from verseir.faults import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", default="config/README.md")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the file has drifted")


def run(args: argparse.Namespace) -> None:
    systems = SCHEMA.with_name("systems.schema.json")
    text = reference(*(json.loads(path.read_text(encoding="utf-8")) for path in (SCHEMA, systems)))
    if not args.check:
        write_text(args.output, text)
    elif not Path(args.output).exists() or Path(args.output).read_text(encoding="utf-8") != text:
        raise UserError(f"{args.output} does not match the schemas", hint="run: make format")
