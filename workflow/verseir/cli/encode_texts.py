"""Load one encoder once and encode all texts of one corpus and its queries that the store does not hold yet."""

import argparse
import json
from dataclasses import asdict
from typing import Any

import polars as pl

from verseir.atomic import write_text
from verseir.costs import write_cost
from verseir.systems.checks import Check, rate_checks, require_sound, require_view, span_checks
from verseir.systems.devices import claim_device
from verseir.systems.encoder import Encoder
from verseir.systems.identity import Role
from verseir.systems.loading import load_encoder
from verseir.systems.query_encoding import QueryEncoding
from verseir.systems.readings import Reading
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
    parser.add_argument("--queries", required=True, nargs="*")
    parser.add_argument(
        "--encodings", required=True, nargs="*", type=json.loads, help="JSON: how each of --queries is read"
    )
    parser.add_argument("--output", required=True)
    parser.add_argument("--cost", required=True)


def run(args: argparse.Namespace) -> None:
    documents = _distinct([read_table(path, CHUNKS)["text"] for path in args.chunks])
    query_sets = [read_table(path, QUERIES) for path in args.queries]
    views = _views(args.entry, query_sets, [QueryEncoding(**encoding) for encoding in args.encodings])
    texts: dict[Role, list[str] | list[Reading]] = {
        "document": documents,
        "query": sorted({one for readings in views.values() for one in readings}, key=lambda one: one.order),
    }
    sample = _distinct([queries["text"] for queries in query_sets])[:SAMPLE] + documents[:SAMPLE]
    with claim_device() as device:
        encoder = load_encoder(args.entry, device)
        checks = require_sound(encoder, sample) + _view_checks(encoder, views)
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


def _views(
    entry: dict[str, Any], query_sets: list[pl.DataFrame], encodings: list[QueryEncoding]
) -> dict[str, list[Reading]]:
    """What is read of the queries, by view, without repeats and sorted."""
    found: dict[str, set[Reading]] = {}
    for queries, encoding in zip(query_sets, encodings, strict=True):
        found.setdefault(encoding.view, set()).update(
            encoding.readings(entry, queries["text"].to_list(), queries["span"])
        )
    return {view: sorted(found[view], key=lambda one: one.order) for view in sorted(found)}


def _view_checks(encoder: Encoder, views: dict[str, list[Reading]]) -> list[Check]:
    """The checks of all views of queries but the plain one, which ``require_sound`` has seen to."""
    checks = []
    for view, readings in views.items():
        if view != "sentence":
            checks += require_view(encoder, view, readings[:SAMPLE])
        if view.endswith("span"):
            checks += span_checks(encoder.count_spans(readings), view)
    return checks


def _distinct(columns: list) -> list[str]:
    """The texts of several tables without repeats and without empty ones, sorted."""
    return sorted({text for column in columns for text in column if text})
