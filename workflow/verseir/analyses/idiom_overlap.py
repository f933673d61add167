"""How many words does a query share with what is relevant to it, with and without the idiom itself?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from verseir.analyses.clusters import clusters_of
from verseir.analyses.idioms import ALL, estimates, read_documents, read_queries, read_texts
from verseir.measures import RELEVANT
from verseir.tables import define

IDIOM_OVERLAP = define(
    "idiom_overlap",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "usage": pl.String,
        "found": pl.String,
        "words": pl.String,
        "quantity": pl.String,
        "n_queries": pl.Int64,
        "mean": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "note": pl.String,
    },
    nullable="mean ci_low ci_high note",
    unique="corpus query_set usage found words quantity",
)

#: The words that are compared: those of the texts as they are, or with the span taken out of both.
WITH_SPANS = "all"
WITHOUT_SPANS = "without spans"
QUANTITIES = ("jaccard", "query recall")
TOKEN = re.compile(r"[a-z]{2,}")


def idiom_overlap(results: str | Path, corpora: Mapping[str, str], resamples: int, seed: int) -> pl.DataFrame:
    """The IDIOM_OVERLAP table: shared words of queries and all documents of the corpus that are relevant to them.

    Words are distinct runs of two or more letters a to z in lower case that are no English stop words of scikit-learn.
    Jaccard is the number of words that both texts have over the number that either has; query recall the share of the
    query's words that the document has; both are 0 where there is no word to share. A query's value is its mean over
    relevant documents, of one use or of all, and a mean is over the queries that have such a document.

    Args:
        results: the folder of a study.
        corpora: corpus -> the query set whose queries are compared with its documents.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    rows: list[tuple] = []
    for corpus, query_set in sorted(corpora.items()):
        queries, qrels = read_queries(results, query_set)
        documents = read_documents(results, corpus).join(
            read_texts(results, corpus), on="poem_id", maintain_order="left"
        )
        pairs = _pairs(queries, documents, qrels)
        shared = pair_overlaps(queries, documents, pairs)
        asked = queries["usage"].gather(pairs["query"]).to_numpy()
        found = documents["usage"].gather(pairs["document"]).to_numpy()
        for usage in (ALL, *np.unique(asked)):
            for other in (ALL, *np.unique(found)):
                inside = ((usage == ALL) | (asked == usage)) & ((other == ALL) | (found == other))
                if inside.any():
                    members, values = _by_query(pairs["query"].to_numpy()[inside], shared[inside])
                    ids = queries["query_id"].gather(members).to_list()
                    estimated = estimates(values, clusters_of(ids, queries, qrels), resamples, seed)
                    kinds = [(words, quantity) for words in (WITH_SPANS, WITHOUT_SPANS) for quantity in QUANTITIES]
                    for kind, estimate in zip(kinds, estimated, strict=True):
                        rows.append((corpus, query_set, str(usage), str(other), *kind, len(ids), *estimate))
    frame = pl.DataFrame(rows, schema=dict(IDIOM_OVERLAP.columns), orient="row")
    return frame.sort("corpus", "query_set", "usage", "found", "words", "quantity")


def pair_overlaps(queries: pl.DataFrame, documents: pl.DataFrame, pairs: pl.DataFrame) -> NDArray[np.float64]:
    """float64 [p, 4]: Jaccard and query recall of each pair, with all words, then without spans.

    Args:
        queries: columns text and span; a span that is null, or not in its text, takes nothing out.
        documents: likewise.
        pairs: columns query and document, rows of these frames.
    """
    columns: list[NDArray[np.float64]] = []
    for spans in (True, False):
        texts = [_texts(frame, spans) for frame in (queries, documents)]
        asked, known = word_matrices(*texts)
        # Pairs are many and texts few: the products of their rows are taken from the matrices, not from the texts.
        q, d = pairs["query"].to_numpy(), pairs["document"].to_numpy()
        both = np.asarray(asked[q].multiply(known[d]).sum(axis=1)).ravel().astype(np.float64)
        n_asked, n_known = (np.asarray(matrix.sum(axis=1)).ravel() for matrix in (asked, known))
        columns += [both / np.maximum(n_asked[q] + n_known[d] - both, 1), both / np.maximum(n_asked[q], 1)]
    return np.column_stack(columns)


def _texts(frame: pl.DataFrame, spans: bool) -> list[str]:
    if spans:
        return frame["text"].to_list()
    # A blank in its place: words at both sides of a span stay two words.
    return [text.replace(span, " ", 1) if span else text for text, span in frame.select("text", "span").iter_rows()]


def word_matrices(*texts: Sequence[str]) -> list[scipy.sparse.csr_array]:
    """For each list of n texts an int64 matrix [n, v] of 0 and 1: which words of a common vocabulary it has."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    words = [[sorted(set(TOKEN.findall(text.lower())) - ENGLISH_STOP_WORDS) for text in part] for part in texts]
    places = {
        word: place for place, word in enumerate(sorted({word for part in words for row in part for word in row}))
    }
    return [
        scipy.sparse.csr_array(
            (
                np.ones(sum(map(len, part)), dtype=np.int64),
                np.array([places[word] for row in part for word in row], dtype=np.int64),
                np.concatenate([[0], np.cumsum([len(row) for row in part])]).astype(np.int64),
            ),
            shape=(len(part), len(places)),
        )
        for part in words
    ]


def _pairs(queries: pl.DataFrame, documents: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """query, document: rows of the frames for each relevant pair, sorted."""
    asked = queries.select("query_id").with_row_index("query")
    known = documents.select("poem_id").with_row_index("document")
    relevant = qrels.filter(pl.col("grade") >= RELEVANT).join(asked, on="query_id").join(known, on="poem_id")
    return relevant.select(pl.col("query", "document").cast(pl.Int64)).sort("query", "document")


def _by_query(query: NDArray[np.int64], values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The queries [n] that rows of ``values`` [p, m] belong to, ascending, and their means [n, m]."""
    members, place = np.unique(query, return_inverse=True)
    sums = np.zeros((len(members), values.shape[1]))
    np.add.at(sums, place, values)
    return members, sums / np.bincount(place)[:, None]
