"""Write the manifest of a study, and its config beside it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from verseir.atomic import write_text
from verseir.manifest import config_text, make_manifest, manifest_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", type=Path, required=True, help="folder of the study's results")
    parser.add_argument("--study", type=json.loads, required=True, help="the study's spec, as JSON")
    parser.add_argument("--systems", type=json.loads, required=True, help="the registry's entries by system, as JSON")
    parser.add_argument("--inputs", type=Path, required=True, help="what the check of the inputs wrote (JSON)")
    parser.add_argument(
        "--encodings", type=Path, nargs="*", default=[], help="what each encoder wrote of itself (JSON)"
    )
    parser.add_argument("--analyses", type=Path, nargs="*", default=[], help="tables of the analyses (CSV)")
    parser.add_argument("--manifest", type=Path, required=True, help="the manifest to write (JSON)")
    parser.add_argument("--config", type=Path, required=True, help="the study's config to write (YAML)")


def run(args: argparse.Namespace) -> None:
    inputs = json.loads(args.inputs.read_text(encoding="utf-8"))
    encodings = [json.loads(path.read_text(encoding="utf-8")) for path in args.encodings]
    manifest = make_manifest(args.results, args.study, args.systems, inputs, encodings, args.analyses)
    write_text(args.manifest, manifest_text(manifest))
    write_text(args.config, config_text(args.study))
