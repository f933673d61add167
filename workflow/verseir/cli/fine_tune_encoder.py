"""Train one encoder on mined triplets, with one seed; a run that was killed goes on from its last epoch."""

import argparse
import hashlib
import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from filelock import FileLock

from verseir import __version__
from verseir.faults import UserError
from verseir.queries.within import read_poem_groups, read_query_groups
from verseir.systems.devices import claim_device
from verseir.systems.groups import Groups
from verseir.systems.identity import identify
from verseir.systems.query_encoding import QueryEncoding
from verseir.systems.sources import cache_folder
from verseir.systems.transformer import TransformerEncoder
from verseir.tables import CHUNKS, DUPLICATES, QRELS, QUERIES, read_table, write_table
from verseir.training.curve import CURVE, best_of, curve_frame
from verseir.training.folds import FOLDS, classes_of, parts_of
from verseir.training.triplets import TRIPLETS
from verseir.whole import at_least_one

#: Files that decide, beside the settings and the encoder, what a run comes to.
READ = (
    *("triplets", "chunks", "queries", "qrels", "duplicates", "folds"),
    *("validation_chunks", "validation_queries", "validation_qrels", "attributes", "poems", "query_attributes"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=at_least_one, default=1)
    parser.add_argument("--gpus", type=int, default=1, help="GPUs that this job was given; 0: it runs on the CPU")
    parser.add_argument("--recipe", required=True)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--fold", required=True, help="the fold that is held out for testing, or `whole`")
    parser.add_argument("--entry", required=True, type=json.loads, help="JSON: the encoder that is trained")
    parser.add_argument("--training", required=True, type=json.loads, help="JSON: how")
    parser.add_argument("--measure", required=True, help="the measure that tells epochs apart")
    parser.add_argument("--triplets", required=True)
    parser.add_argument("--chunks", required=True, help="CHUNKS of the corpus that is trained on")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--qrels", required=True)
    parser.add_argument("--encoding", required=True, type=json.loads, help="JSON: how the queries are read")
    parser.add_argument("--validation-chunks", required=True)
    parser.add_argument("--validation-queries", required=True)
    parser.add_argument("--validation-qrels", required=True)
    parser.add_argument("--validation-encoding", required=True, type=json.loads)
    parser.add_argument("--depth", required=True, type=int, help="poems in a ranked list")
    parser.add_argument("--duplicates", help="DUPLICATES of the corpus that is trained on")
    parser.add_argument("--within", default="", help="the attribute whose value a validation query and its poems share")
    parser.add_argument("--attributes", help="ATTRIBUTES of the corpus of validation, for --within")
    parser.add_argument("--poems", help="POEMS of the corpus of validation, for --within")
    parser.add_argument("--query-attributes", help="QUERY_ATTRIBUTES of the validation queries, for --within")
    parser.add_argument("--folds", help="FOLDS of the queries")
    parser.add_argument("--output", required=True, help="folder for the trained encoder")
    parser.add_argument("--curve", required=True)


def run(args: argparse.Namespace) -> None:
    # In half precision most steps of this size would round to nothing.
    entry = args.entry | {"dtype": "float32", "name": f"{args.recipe}, seed {args.seed}, {args.fold}"}
    with claim_device(gpus=args.gpus, useful=True) as device:
        encoder = _loaded(entry, device, args.seed)
        _train(args, encoder)


def _loaded(entry: dict[str, Any], device: str | None, seed: int) -> TransformerEncoder:
    """The encoder. What its files lack and no vector needs, such as a pooler, is drawn by the seed: it is saved too."""
    from transformers import set_seed

    set_seed(seed)
    encoder = TransformerEncoder(identify(entry), device)
    if encoder.load_faults:
        raise UserError(
            f"the encoder '{entry['name']}' did not load as its entry says: {'; '.join(encoder.load_faults)}",
            hint="python -m verseir probe tells more",
        )
    return encoder


def _train(args: argparse.Namespace, encoder: TransformerEncoder) -> None:
    """Train ``encoder``, write it and its curve."""
    from verseir.training.examples import examples_of, validation_of
    from verseir.training.fine_tune import fine_tune

    examples = examples_of(
        encoder,
        read_table(args.triplets, TRIPLETS),
        read_table(args.queries, QUERIES),
        read_table(args.qrels, QRELS),
        read_table(args.chunks, CHUNKS),
        QueryEncoding(**args.encoding),
        classes_of(read_table(args.duplicates, DUPLICATES) if args.duplicates else None),
    )
    validation = validation_of(
        encoder,
        read_table(args.validation_queries, QUERIES),
        read_table(args.validation_qrels, QRELS),
        read_table(args.validation_chunks, CHUNKS),
        QueryEncoding(**args.validation_encoding),
        args.measure,
        args.depth,
        _held_out(args),
        partial(_groups, args) if args.within else None,
    )
    checkpoints = cache_folder() / "training" / _key(args, encoder)
    checkpoints.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{checkpoints}.lock"):  # another study may do the same at the same time
        trained = fine_tune(encoder, examples, validation, args.training, args.seed, checkpoints)
        _save(encoder, Path(args.output))
        points = trained.points
        write_table(curve_frame(points, args.recipe, args.seed, args.fold, args.measure), args.curve, CURVE)
        shutil.rmtree(checkpoints, ignore_errors=True)
    best = points[best_of(points)]
    print(
        f"{args.recipe}, seed {args.seed}, {args.fold}: {len(examples.queries)} queries, {trained.steps} steps;"
        f" {args.measure} on validation {points[0].value:.4f} before, {best.value:.4f} after epoch {best.epoch:g},"
        f" the best of {len(points) - 1}"
    )


def _held_out(args: argparse.Namespace) -> list[str] | None:
    """The validation queries of a fold; None where all of the set are."""
    if not args.folds:
        return None
    return parts_of(read_table(args.folds, FOLDS), int(args.fold.removeprefix("fold-"))).validation


def _groups(args: argparse.Namespace, queries: pl.DataFrame, chunks: pl.DataFrame) -> tuple[Groups, Groups]:
    """The value of the attribute ``--within`` of each validation query and chunk."""
    of_chunks = read_poem_groups(chunks["poem_id"], args.poems, args.attributes, args.within)
    return read_query_groups(queries, args.query_attributes, args.within, set(filter(None, of_chunks))), of_chunks


def _key(args: argparse.Namespace, encoder: TransformerEncoder) -> str:
    """A hash of all that decides what the run comes to."""
    whole = hashlib.blake2b(digest_size=16)
    entry = encoder.identity.entry
    said = [__version__, encoder.key, entry["prompts"], entry["text"], encoder.device]
    said += [args.seed, args.fold, args.measure, args.depth, args.within]
    said += [args.training, args.encoding, args.validation_encoding]
    whole.update(json.dumps(said, sort_keys=True).encode())
    for name in READ:
        if path := getattr(args, name):
            whole.update(hashlib.blake2b(Path(path).read_bytes()).digest())
    return whole.hexdigest()


def _save(encoder: TransformerEncoder, folder: Path) -> None:
    """Write the encoder as sentence-transformers does: whole, or not at all."""
    from transformers.utils import logging as transformers_logging

    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = folder.with_name(f".{folder.name}")
    for old in (beside, folder):
        shutil.rmtree(old, ignore_errors=True)
    transformers_logging.disable_progress_bar()
    encoder.model.save_pretrained(str(beside), create_model_card=False)
    beside.rename(folder)
