"""What each query shares with each poem that is judged for it: words in whatever scripts, nearness of vectors.

Tokens are those of ``systems.tokenizers.words_by_script``: words, and pairs of characters where a script does not part
words. So a query and a poem can share a token only where they share a script, or digits and signs that both use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.arabic.hemistichs import join_hemistichs
from verseir.arabic.tokens import HAS_TATWEEL
from verseir.chunks import make_chunks
from verseir.overlap import longest_run_at, token_places
from verseir.scripts import dominant_script, dominant_scripts
from verseir.systems.tokenizers import words_of_long_text
from verseir.tables import define

SHARED = define(
    "shared",
    {
        "corpus": pl.String,
        "mode": pl.String,
        "query_set": pl.String,
        "query_id": pl.String,
        "poem_id": pl.String,
        "grade": pl.Int32,
        "language": pl.String,
        "query_script": pl.String,
        "script": pl.String,
        "same_script": pl.Boolean,
        "n_query_tokens": pl.Int64,
        "n_shared": pl.Int64,
        "containment": pl.Float64,
        "longest_run": pl.Int64,
        "proximity": pl.Float64,
    },
    nullable="language query_script script same_script proximity",
    unique="corpus query_set query_id poem_id",
)
#: Poems whose texts are held at a time.
HELD = 4096
#: Cosines that are reckoned at a time.
COSINES = 65_536

#: Vectors float32 [n, d] of n texts of documents.
Encode = Callable[[Sequence[str]], NDArray[np.float32]]


def measure_shared(
    corpus: str,
    mode: str,
    fields: list[str],
    poems: pl.DataFrame,
    explanations: pl.DataFrame,
    chunks: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    preset: str,
    query_vectors: NDArray[np.float32] | None = None,
    encode: Encode | None = None,
) -> pl.DataFrame:
    """The SHARED table of one query set: a row for each judged pair whose poem the mode indexes, grade 0 included.

    ``containment`` is the share of the query's distinct tokens that the poem's text in the mode holds, ``n_shared``
    their number, ``longest_run`` the most of them that stand in a row in both (a run of n pairs of characters is n + 1
    characters long). ``proximity`` is the highest cosine of the query with a chunk of the poem. Scripts are the
    dominant ones of the query and of the verses, null for a text without letters.

    Each poem is read once, however many queries it is judged for.

    Args:
        corpus, mode: their names.
        fields: of the mode, see ``chunks.make_chunks``.
        poems: the POEMS of the corpus.
        explanations: its EXPLANATIONS.
        chunks: the CHUNKS of the mode: they say which poems it indexes.
        queries: the QUERIES of one set.
        qrels: its QRELS.
        preset: the normalisation under which words are compared.
        query_vectors: float32 [q, d], one row per row of ``queries``; None without a reference encoder.
        encode: gives the vectors of texts of chunks; None without a reference encoder.
    """
    asked = queries.select("query_id", "query_set", "text").with_row_index("query")
    indexed = chunks.select("poem_id").unique()
    pairs = (
        qrels.join(asked.select("query_id", "query_set", "query"), on="query_id")
        .join(indexed, on="poem_id", how="semi")
        .join(poems.select("poem_id", "language"), on="poem_id")
        .sort("poem_id", "query_id")
        .with_columns(pl.col("query").cast(pl.Int64), pair=pl.int_range(pl.len(), dtype=pl.Int64))
    )
    words = [_tokens(text, preset) for text in asked["text"]]
    numbers = np.zeros((len(pairs), 3), dtype=np.int64)
    distinct = [dict.fromkeys(tokens) for tokens in words]
    known = {token for tokens in distinct for token in tokens}
    near = np.full(len(pairs), np.nan)
    scripts: dict[str, str | None] = {}
    for part in _parts(pairs):
        held = poems.join(part.select("poem_id").unique(), on="poem_id", how="semi").sort("poem_id")
        scripts |= dict(zip(held["poem_id"], poem_scripts(held), strict=True))
        texts = dict(_whole(held, explanations, fields, chunks).iter_rows())
        poem, places = None, {}
        for pair, query, poem_id in part.select("pair", "query", "poem_id").iter_rows():
            if poem_id != poem:  # pairs are sorted by poem
                tokens = _tokens(texts[poem_id], preset)
                # Other words of the poem match nothing; they only part what stands beside them.
                poem, places = poem_id, token_places([token if token in known else "" for token in tokens])
                places.pop("", None)
            shared = sum(token in places for token in distinct[query])
            run = longest_run_at(words[query], places).length if shared else 0
            numbers[pair] = len(distinct[query]), shared, run
        if encode is not None and query_vectors is not None:
            near[part["pair"].to_numpy()] = _nearness(part, chunks, query_vectors, encode)
    asked_in = pl.Series(dominant_scripts(asked["text"]), dtype=pl.String)
    frame = pairs.with_columns(
        corpus=pl.lit(corpus),
        mode=pl.lit(mode),
        query_script=asked_in.gather(pairs["query"]),
        script=pl.Series([scripts[poem_id] for poem_id in pairs["poem_id"]], dtype=pl.String),
        n_query_tokens=pl.Series(numbers[:, 0]),
        n_shared=pl.Series(numbers[:, 1]),
        longest_run=pl.Series(numbers[:, 2]),
        containment=pl.Series(numbers[:, 1] / np.maximum(numbers[:, 0], 1)),
        proximity=pl.Series(near).fill_nan(None),
    )
    frame = frame.with_columns(same_script=pl.col("query_script") == pl.col("script"))
    return frame.select(list(SHARED.columns)).sort("query_id", "poem_id")


def poem_scripts(poems: pl.DataFrame) -> list[str | None]:
    """The dominant script of the verses of each of POEMS, see ``scripts.dominant_script``."""
    return [
        dominant_script("\n".join(join_hemistichs(verse["first"], verse["second"]) for verse in verses))
        for verses in poems["verses"]
    ]


def _tokens(text: str, preset: str) -> list[str]:
    """The tokens of ``text``; a word ends with its line."""
    if not HAS_TATWEEL.search(text):  # nothing else reaches across a blank
        return words_of_long_text(text, preset)
    return [token for line in text.split("\n") for token in words_of_long_text(line, preset)]


def _parts(pairs: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The pairs, sorted by poem, in parts of whole poems."""
    numbered = pairs.with_columns(part=(pl.col("poem_id").rank("dense").cast(pl.Int64) - 1) // HELD)
    yield from numbered.partition_by("part", maintain_order=True, include_key=False)


def _whole(poems: pl.DataFrame, explanations: pl.DataFrame, fields: list[str], chunks: pl.DataFrame) -> pl.DataFrame:
    """poem_id and its whole text in a mode, each verse once."""
    own = chunks.join(poems.select("poem_id"), on="poem_id", how="semi")
    if len(own) == own["poem_id"].n_unique():  # each poem is one chunk: its text is there
        return own.select("poem_id", "text")
    longest = int(poems["verses"].list.len().max() or 1)  # type: ignore[arg-type]
    explained = explanations.join(poems.select("poem_id"), on="poem_id", how="semi")
    return make_chunks(poems, explained, fields, size=max(longest, 1)).select("poem_id", "text")


def _nearness(
    pairs: pl.DataFrame, chunks: pl.DataFrame, query_vectors: NDArray[np.float32], encode: Encode
) -> NDArray[np.float64]:
    """The highest cosine of each pair, float64 [p]; NaN where the poem has no text."""
    own = chunks.join(pairs.select("poem_id").unique(), on="poem_id", how="semi").filter(pl.col("text") != "")
    own = own.sort("poem_id", "first_verse").with_row_index("chunk")
    vectors, asked = _unit(encode(own["text"].to_list())), _unit(query_vectors)
    crossed = (
        pairs.select("poem_id", "query")
        .with_row_index("place")
        .join(own.select("poem_id", "chunk"), on="poem_id", maintain_order="left_right")
    )
    place, query, chunk = (crossed[name].to_numpy() for name in ("place", "query", "chunk"))
    found = np.full(len(pairs), -np.inf)
    for start in range(0, len(place), COSINES):
        here = slice(start, start + COSINES)
        cosines = np.einsum("ij,ij->i", vectors[chunk[here]], asked[query[here]], dtype=np.float64)
        np.maximum.at(found, place[here], np.clip(cosines, -1.0, 1.0))
    return np.where(np.isfinite(found), found, np.nan)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length 1; a zero row stays as it is."""
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return (vectors / np.where(norms > 0, norms, 1.0)[:, None]).astype(np.float32)
