"""Load one encoder once and encode all texts of one corpus and its queries that the store does not hold yet."""

import argparse
import json
from dataclasses import asdict
from typing import Any

from verseir.atomic import write_text
from verseir.costs import write_cost
from verseir.systems.checks import rate_checks, require_sound
from verseir.systems.devices import claim_device
from verseir.systems.identity import Role
from verseir.systems.loading import load_encoder
from verseir.systems.vectors import VectorStore
from verseir.tables import CHUNKS, QUERIES, read_table

#: How many texts of each role the self-checks look at.
SAMPLE = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--system", required=True)
    parser.add_argument("--entry", required=True, type=json.loads, help="JSON: the system")
    parser.add_argument("--chunks", required=True, nargs="+")
    parser.add_argument("--queries", required=True, nargs="+")
    parser.add_argument("--output", required=True)
    parser.add_argument("--cost", required=True)


def run(args: argparse.Namespace) -> None:
    texts: dict[Role, list[str]] = {
        "document": _distinct([read_table(path, CHUNKS)["text"] for path in args.chunks]),
        "query": _distinct([read_table(path, QUERIES)["text"] for path in args.queries]),
    }
    with claim_device() as device:
        encoder = load_encoder(args.entry, device)
        checks = require_sound(encoder, texts["query"][:SAMPLE] + texts["document"][:SAMPLE])
        counts = {role: encoder.count_tokens(texts[role], role) for role in sorted(texts)}
        for role in counts:
            checks += rate_checks(counts[role], role)
        for check in checks:
            if not check.ok:
                print(f"warning: {args.system}: {check.name}: {check.observed}; {check.hint}", flush=True)
        store = VectorStore(encoder.identity)
        new = {role: len(store.missing(texts[role], role)) for role in texts}
        report = store.encode_missing(encoder, texts)
        n_texts = sum(map(len, texts.values()))
        stored = n_texts - report.n_encoded
        print(f"{args.system} on {args.corpus}: {report.n_encoded} of {n_texts} texts encoded, {stored} were stored")
        rate = store.texts_per_second()
        write_cost(
            args.cost,
            "encode",
            args.corpus,
            args.system,
            seconds=n_texts / rate if rate else report.seconds,  # of all its texts, at the measured speed
            n_texts=n_texts,
            index_mb=n_texts * encoder.dimension * 4 / 2**20,
            device=encoder.device,
        )
        seen: dict[str, Any] = {
            "corpus": args.corpus,
            "system": args.system,
            "encoder_key": encoder.key,
            "revision": encoder.revision,
            "dimension": encoder.dimension,
            "device": encoder.device,
            "checks": [asdict(check) for check in checks],
            "roles": {},
        }
        for role in sorted(texts):
            seen["roles"][role] = {
                "n_texts": len(texts[role]),
                "n_new": new[role],
                "truncated_share": counts[role].truncated_share,
                "unknown_token_share": counts[role].unknown_token_share,
            }
    write_text(args.output, json.dumps(seen, indent=1, ensure_ascii=False) + "\n")


def _distinct(columns: list) -> list[str]:
    """The texts of several tables without repeats and without empty ones, sorted."""
    return sorted({text for column in columns for text in column if text})
