"""Make one account of what an encoder was, saw and cost, of those of the jobs that shared its texts."""

import argparse
import json
from pathlib import Path

from verseir.atomic import write_text
from verseir.costs import read_costs
from verseir.systems.checks import Check
from verseir.systems.encode_step import merged, warn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--system", required=True)
    parser.add_argument("--parts", required=True, nargs="+", help="what the jobs said, in the order of their shares")
    parser.add_argument("--costs", required=True, nargs="+", help="what they cost")
    parser.add_argument("--output", required=True)
    parser.add_argument("--cost", required=True)


def run(args: argparse.Namespace) -> None:
    parts = [json.loads(Path(path).read_text(encoding="utf-8")) for path in args.parts]
    seen = merged(parts, args.corpus, args.system)
    warn(args.system, [Check(**check) for check in seen["checks"]])
    told = ", ".join(str(part["n_texts"]) for part in parts)
    print(f"{args.system} on {args.corpus}: {sum(part['n_texts'] for part in parts)} texts, by job: {told}")
    cost = read_costs(args.costs).to_dicts()[0] | {"device": parts[0]["device"]}
    write_text(args.cost, json.dumps(cost, indent=1) + "\n")
    write_text(args.output, json.dumps(seen, indent=1, ensure_ascii=False) + "\n")
