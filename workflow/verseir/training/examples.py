"""From triplets and texts to what a run trains on and is validated with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from verseir.faults import UserError
from verseir.measures import RELEVANT
from verseir.systems.groups import Groups
from verseir.systems.query_encoding import QueryEncoding
from verseir.systems.transformer import TransformerEncoder
from verseir.training.loss import Examples
from verseir.training.validation import Validation


def examples_of(
    encoder: TransformerEncoder,
    triplets: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    chunks: pl.DataFrame,
    encoding: QueryEncoding,
    class_of: Mapping[str, str],
) -> Examples:
    """The examples of ``triplets``, one a query, in the order of the names of the queries.

    Args:
        triplets: TRIPLETS frame.
        queries, qrels: QUERIES and QRELS of the queries in it.
        chunks: CHUNKS of the documents in it.
        encoding: how the queries are read.
        class_of: poem_id -> what it shares with its copies, which are as relevant as it is; none: it is alone.
    """
    rows = triplets.sort("query_id", "place").join(chunks.select("chunk_id", "text"), on="chunk_id", how="left")
    texts = rows["text"].unique(maintain_order=True)
    numbers = dict(zip(texts, range(len(texts)), strict=True))
    by_class: dict[str, set[int]] = {}
    for poem, text in rows.select("poem_id", "text").iter_rows():
        by_class.setdefault(class_of.get(poem, poem), set()).add(numbers[text])
    relevant: dict[str, set[int]] = {}
    for query, poem in qrels.filter(pl.col("grade") >= RELEVANT).select("query_id", "poem_id").iter_rows():
        relevant.setdefault(query, set()).update(by_class.get(class_of.get(poem, poem), ()))
    names, positives, negatives = [], [], []
    for (name,), part in rows.group_by("query_id", maintain_order=True):
        documents = [numbers[text] for text in part["text"]]
        names.append(str(name))
        positives.append(documents[0])
        negatives.append(documents[1:])
    asked = pl.DataFrame({"query_id": names}, schema={"query_id": pl.String})
    asked = asked.join(queries, on="query_id", how="left", maintain_order="left")
    readings = encoding.readings(encoder.identity.entry, asked["text"].to_list(), asked["span"])
    return Examples(
        encoder.tokenise(encoder.prepare(readings, "query")),
        encoder.tokenise(encoder.prepare(texts.to_list(), "document")),
        np.array(positives, np.int64),
        negatives,
        [frozenset(relevant.get(name, ())) for name in names],
    )


def validation_of(
    encoder: TransformerEncoder,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    chunks: pl.DataFrame,
    encoding: QueryEncoding,
    measure: str,
    depth: int,
    names: Iterable[str] | None = None,
    groups: Callable[[pl.DataFrame, pl.DataFrame], tuple[Groups, Groups]] | None = None,
) -> Validation:
    """The validation on the queries ``names``, or all, that have a relevant poem among ``chunks``.

    Args:
        groups: of queries and chunks, QUERIES and CHUNKS, the group that each is in, where there are groups.

    Raises:
        UserError: there is none.
    """
    chunks = chunks.filter(pl.col("text") != "")
    if names is not None:
        queries = queries.filter(pl.col("query_id").is_in(list(names)))
    qrels = qrels.join(chunks.select("poem_id").unique(), on="poem_id", how="semi")
    answered = qrels.filter(pl.col("grade") >= RELEVANT)
    queries = queries.join(answered, on="query_id", how="semi").sort("query_id")
    if queries.is_empty():
        raise UserError(
            "no validation query has a relevant poem: nothing tells one epoch from another",
            hint="name other validation queries, or fewer folds",
        )
    readings = encoding.readings(encoder.identity.entry, queries["text"].to_list(), queries["span"])
    query_ids: Sequence[str] = queries["query_id"].to_list()
    of_queries, of_chunks = groups(queries, chunks) if groups else (None, None)
    return Validation(chunks, query_ids, readings, qrels, measure, depth, of_queries, of_chunks)
