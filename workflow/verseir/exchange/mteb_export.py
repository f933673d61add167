"""A corpus and a query set as a folder that MTEB loads (checked with mteb 2.26): Parquet, a card and the task.

``mteb`` reads three configs of a data set, which the head of ``README.md`` names: ``corpus`` (_id, title, text),
``queries`` (_id, text) and ``default`` (query-id, corpus-id, score). No column is added to these: ``mteb`` takes all
there are into its batches, and stops at a null. What else is known of poems and queries is in the export as BEIR.
``task.py`` has the task; as there, a mode that keeps some poems only is not exported.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl

from verseir.exchange.beir_export import SPLIT, document_texts, judgement_rows
from verseir.exchange.card import Contents, Origin, card_text, task_module
from verseir.exchange.folders import atomic_folder

#: Config of MTEB -> its file.
CONFIGS = {
    name: f"{folder}/{SPLIT}.parquet"
    for name, folder in (("corpus", "corpus"), ("queries", "queries"), ("default", "qrels"))
}
FILES = ("README.md", "task.py", *CONFIGS.values())


def write_mteb(
    folder: str | Path, origin: Origin, poems: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame
) -> None:
    """Write ``FILES`` of a corpus and a query set as a whole folder.

    Args:
        folder: which is replaced.
        origin: what the card says of where the data set comes from.
        poems: POEMS of the corpus.
        queries, qrels: QUERIES and QRELS of the query set.
    """
    frames = {
        "corpus": document_texts(poems),
        "queries": queries.sort("query_id").select(pl.col("query_id").alias("_id"), "text"),
        "default": judgement_rows(qrels),
    }
    contents = Contents.of(poems, queries, qrels, revision_of(frames))
    with atomic_folder(folder) as new:
        for config, frame in frames.items():
            path = new / CONFIGS[config]
            path.parent.mkdir()
            frame.write_parquet(path, compression="zstd", statistics=False)
        for name, text in (
            ("README.md", card_text(origin, contents, CONFIGS)),
            ("task.py", task_module(origin, contents)),
        ):
            (new / name).write_text(text, encoding="utf-8", newline="\n")


def revision_of(frames: dict[str, pl.DataFrame]) -> str:
    """40 hex digits of what a data set holds: MTEB keeps results by the name of a task and its revision."""
    digest = hashlib.sha256()
    for config, frame in sorted(frames.items()):
        digest.update(f"{config} {len(frame)}\n".encode())
        digest.update(frame.write_ndjson().encode())
    return digest.hexdigest()[:40]
