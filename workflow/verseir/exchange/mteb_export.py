"""A corpus and a query set as a folder that MTEB loads (checked with mteb 2.26): Parquet, a card and the task.

``mteb`` reads three configs of a data set, which the head of ``README.md`` names: ``corpus`` (_id, title, text),
``queries`` (_id, text) and ``default`` (query-id, corpus-id, score). No column is added to these: ``mteb`` takes all
there are into its batches, and stops at a null. What else is known of poems and queries is in the export as BEIR.
``task.py`` has the task; as there, a mode that keeps some poems only is not exported.

Values of single queries are equal there to ours to 1e-9 (``tests/golden/test_mteb_measures.py``): nDCG, MAP, recall and
precision are those of ``pytrec_eval``, gains are grades, grade 1 is relevant, ``Recall@k`` and ``MAP@k`` divide by all
relevant documents. What ``mteb`` 2.26 does otherwise:

* documents with one score stand by descending id, ours by ascending id: pass ranks in the place of scores. To
  ``pytrec_eval``, scores are 32-bit numbers, to ``mteb``'s own MRR 64-bit ones: near ties may stand otherwise there;
* cutoffs are 1, 3, 5, 10, 20, 100 and 1000, and lists have 1000 documents: our ``MAP`` is ``map_at_1000`` if ``depth``
  is 1000, and MRR is ``mrr_at_1000``, which alone is not rounded to five decimals;
* a query for which a run has no entry is left out of all means; here it scores 0. A judged query without a relevant
  document scores 0 in both; here it is a fault of the input;
* a task may leave out documents with the id of the query (``ignore_identical_ids``) or the first result
  (``skip_first_result``). Neither is set by default, nor by our tasks, and nothing is left out here;
* titles are joined to texts by a space. A task searches one corpus for all queries: where ours are searched within a
  language, scores are comparable only for a run that did so too.
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
