"""Load one encoder once and encode all texts of one corpus and its queries that the store does not hold yet."""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from verseir.atomic import write_text
from verseir.costs import write_cost
from verseir.systems.devices import claim_device
from verseir.systems.encode_step import Part, Texts, encode_share, index_mb, merged, share_of, views_of
from verseir.systems.loading import load_encoder
from verseir.systems.query_encoding import QueryEncoding
from verseir.systems.registry import can_use_gpu
from verseir.tables import CHUNKS, QUERIES, read_table
from verseir.whole import at_least_one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_text_arguments(parser)
    parser.add_argument("--output", required=True)
    parser.add_argument("--cost", required=True)


def add_text_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that say what is encoded, and with what."""
    parser.add_argument("--threads", type=at_least_one, default=1)
    parser.add_argument("--gpus", type=int, default=1, help="GPUs that this job was given; 0: it runs on the CPU")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--system", required=True)
    parser.add_argument("--entry", required=True, type=json.loads, help="JSON: the system")
    parser.add_argument("--chunks", required=True, nargs="+")
    parser.add_argument("--queries", required=True, nargs="*")
    parser.add_argument(
        "--encodings", required=True, nargs="*", type=json.loads, help="JSON: how each of --queries is read"
    )


def run(args: argparse.Namespace) -> None:
    texts = read_texts(args)
    with claim_device(gpus=args.gpus, useful=can_use_gpu(args.entry)) as device:
        encoder = load_encoder(args.entry, device)
        part = encode_share(encoder, texts, *share_of(encoder.identity, texts, 1, 1))
    seen = merged([part], args.corpus, args.system)
    tell_part(args, part, f"{args.system} on {args.corpus}")
    write_text(args.output, json.dumps(seen, indent=1, ensure_ascii=False) + "\n")


def read_texts(args: argparse.Namespace) -> Texts:
    """All texts that the encoder reads, of the tables that ``add_text_arguments`` names."""
    documents = _distinct(read_table(path, CHUNKS)["text"] for path in map(Path, args.chunks))
    query_sets = [read_table(path, QUERIES) for path in map(Path, args.queries)]
    encodings = [QueryEncoding(**encoding) for encoding in args.encodings]
    views = views_of(args.entry, [(rows["text"].to_list(), rows["span"]) for rows in query_sets], encodings)
    return Texts(documents, _distinct(queries["text"] for queries in query_sets), views)


def tell_part(args: argparse.Namespace, part: Part, what: str) -> None:
    """Print how many texts of ``what`` a job encoded, and write what that cost."""
    n_texts, n_encoded = part["n_texts"], part["n_encoded"]
    print(f"{what}: {n_encoded} of {n_texts} texts encoded, {n_texts - n_encoded} were stored")
    write_cost(
        args.cost,
        "encode",
        args.corpus,
        args.system,
        seconds=part["seconds"],
        n_texts=n_texts,
        index_mb=index_mb(n_texts, part["dimension"]),
        device=part["device"],
    )


def _distinct(columns: Iterable[Iterable[str]]) -> list[str]:
    """The texts of several tables without repeats and without empty ones, sorted."""
    return sorted({text for column in columns for text in column if text})
