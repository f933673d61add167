"""Chunks: windows of consecutive verses, the unit that is indexed."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from verseir.arabic.hemistichs import join_hemistichs
from verseir.tables import CHUNKS

#: Poems whose chunks are made together.
BLOCK = 1000


def windows(n_verses: int, size: int, stride: int) -> list[tuple[int, int]]:
    """(first verse, number of verses) of each window; the last one ends with the poem, a shorter poem is one window."""
    if n_verses <= size:
        return [(0, n_verses)]
    firsts = list(range(0, n_verses - size + 1, stride))
    if firsts[-1] != n_verses - size:
        firsts.append(n_verses - size)
    return [(first, size) for first in firsts]


def chunk_name(poem_id: str, first: int) -> str:
    """The ``chunk_id`` of the window of a poem that starts with this verse."""
    return f"{poem_id}#{first}"


def make_chunks(
    poems: pl.DataFrame, explanations: pl.DataFrame, fields: list[str], size: int = 3, stride: int = 1
) -> pl.DataFrame:
    """Compose the text of every chunk of a corpus from the fields of an indexing mode.

    Args:
        poems: a POEMS table.
        explanations: an EXPLANATIONS table.
        fields: ``verse``, ``title`` or ``explanation:<source>``, joined by a line break in this order.
        size: verses in a window.
        stride: verses from one window to the next.

    Returns:
        A CHUNKS table, sorted by poem_id (bytewise) and first verse. ``text`` is empty where no field has any.
    """
    blocks = chunk_blocks(poems, explanations, fields, size, stride)
    return pl.concat([pl.DataFrame(schema=dict(CHUNKS.columns)), *blocks])


def chunk_blocks(
    poems: pl.DataFrame, explanations: pl.DataFrame, fields: list[str], size: int = 3, stride: int = 1
) -> Iterator[pl.DataFrame]:
    """The rows of ``make_chunks``, of ``BLOCK`` poems at a time; a poem's chunks are in one block."""
    sources = [field.partition(":")[2] for field in fields if field.startswith("explanation:")]
    explained = explanations.filter(pl.col("source").is_in(sources))
    ordered = poems.select("poem_id", "title", "verses").sort("poem_id")
    for block in ordered.iter_slices(BLOCK):
        own = explained.join(block.select("poem_id"), on="poem_id", how="semi")
        yield _chunks(block, own, fields, size, stride)


def _chunks(poems: pl.DataFrame, explanations: pl.DataFrame, fields: list[str], size: int, stride: int) -> pl.DataFrame:
    explained: dict[tuple[str, str], dict[int, str]] = {}
    for poem_id, verse, source, text in explanations.select("poem_id", "verse_index", "source", "text").iter_rows():
        explained.setdefault((source, poem_id), {})[verse] = text
    rows = []
    for poem_id, title, verses in poems.iter_rows():
        lines = [join_hemistichs(verse["first"], verse["second"]) for verse in verses]
        for first, count in windows(len(verses), size, stride):
            parts = []
            for field in fields:
                if field == "verse":
                    parts += lines[first : first + count]
                elif field == "title":
                    parts.append(title or "")
                else:
                    known = explained.get((field.partition(":")[2], poem_id), {})
                    parts += [known.get(verse, "") for verse in range(first, first + count)]
            text = "\n".join(part for part in parts if part.strip())
            rows.append((chunk_name(poem_id, first), poem_id, first, count, text))
    return pl.DataFrame(rows, schema=dict(CHUNKS.columns), orient="row")
