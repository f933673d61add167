"""A corpus and a query set in the format of BEIR (Thakur et al. 2021, arXiv:2104.08663).

A poem is a document: its verses a line each, hemistichs joined as chunks join them. What is known of it beside its text
is in ``metadata``, and so it is for queries. A data set is the corpus as a whole: a mode that keeps some poems only, or
indexes explanations, is a way to search it, not another data set, and is not exported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from verseir.arabic.hemistichs import join_hemistichs
from verseir.exchange.folders import atomic_folder

#: What the metadata of a document and of a query has, where it is known, before attributes of other names.
ABOUT_POEMS = ("poet", "era", "meter", "genre", "language", "source")
ABOUT_QUERIES = ("register", "span", "cluster", "edit", "source_query_id")
HEADER = ("query-id", "corpus-id", "score")
#: The split that a query set is exported as.
SPLIT = "test"
FILES = ("corpus.jsonl", "queries.jsonl", f"qrels/{SPLIT}.tsv")


def poem_text(verses: Iterable[Mapping[str, str | None]]) -> str:
    """The verses of a poem, one a line."""
    return "\n".join(join_hemistichs(verse["first"] or "", verse["second"]) for verse in verses)


def document_texts(poems: pl.DataFrame) -> pl.DataFrame:
    """Columns ``_id``, ``title`` ("" where there is none) and ``text`` of POEMS, in the order of ids."""
    poems = poems.sort("poem_id")
    return poems.select(
        pl.col("poem_id").alias("_id"),
        pl.col("title").fill_null(""),
        pl.Series("text", [poem_text(verses) for verses in poems["verses"]], dtype=pl.String),
    )


def judgement_rows(qrels: pl.DataFrame) -> pl.DataFrame:
    """QRELS under the names of BEIR, in the order of query and document."""
    return qrels.sort("query_id", "poem_id").select(
        *(pl.col(ours).alias(theirs) for ours, theirs in zip(("query_id", "poem_id", "grade"), HEADER, strict=True))
    )


def write_beir(
    folder: str | Path,
    poems: pl.DataFrame,
    poem_attributes: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    query_attributes: pl.DataFrame | None = None,
) -> None:
    """Write ``FILES`` of a corpus and a query set as a whole folder.

    Args:
        folder: which is replaced.
        poems, poem_attributes: POEMS and ATTRIBUTES of the corpus.
        queries, qrels: QUERIES and QRELS of the query set.
        query_attributes: QUERY_ATTRIBUTES, where the set has any.
    """
    with atomic_folder(folder) as new:
        texts = document_texts(poems)
        known = _metadata(poems.sort("poem_id"), "poem_id", ABOUT_POEMS, poem_attributes)
        rows = zip(texts["_id"], texts["title"], texts["text"], known, strict=True)
        documents = ({"_id": _id, "title": title, "text": text, "metadata": about} for _id, title, text, about in rows)
        _write_lines(new / FILES[0], documents)
        queries = queries.sort("query_id")
        known = _metadata(queries, "query_id", ABOUT_QUERIES, query_attributes)
        asked = zip(queries["query_id"], queries["text"], known, strict=True)
        _write_lines(new / FILES[1], ({"_id": _id, "text": text, "metadata": about} for _id, text, about in asked))
        split = new / FILES[2]
        split.parent.mkdir()
        judgement_rows(qrels).write_csv(split, separator="\t", quote_style="necessary")


def _metadata(
    frame: pl.DataFrame, key: str, columns: tuple[str, ...], attributes: pl.DataFrame | None
) -> Iterator[dict[str, str]]:
    """What is known of each row of ``frame``; a column comes before an attribute of its name."""
    given: dict[str, dict[str, str]] = {}
    if attributes is not None:
        for name, attribute, value in attributes.select(key, "attribute", "value").sort(key, "attribute").iter_rows():
            given.setdefault(name, {})[attribute] = value
    for row in frame.select(key, *columns).iter_rows(named=True):
        own = {column: row[column] for column in columns if row[column] is not None}
        yield given.get(row[key], {}) | own


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
