"""The mean of a measure on validation queries, as the search itself would give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from verseir.measures import measure_run, read_judgements
from verseir.systems.dense import search_groups
from verseir.systems.encoder import Encoder
from verseir.systems.groups import Groups
from verseir.systems.readings import Reading


@dataclass(frozen=True)
class Validation:
    """Validation queries and the corpus that they are searched in.

    Attributes:
        chunks: CHUNKS with text, at least one.
        query_ids: q names.
        readings: what the encoder reads of each query.
        qrels: QRELS of these queries, of poems in ``chunks``.
        measure: its name.
        depth: how many poems a ranked list holds.
        query_groups, chunk_groups: the group of each query and chunk, where a query is searched among some poems.
    """

    chunks: pl.DataFrame
    query_ids: Sequence[str]
    readings: Sequence[Reading]
    qrels: pl.DataFrame
    measure: str
    depth: int
    query_groups: Groups = None
    chunk_groups: Groups = None

    def value(self, encoder: Encoder) -> float:
        """The mean over the queries."""
        texts: Any = list(self.readings)
        run = search_groups(
            self.query_ids,
            encoder.encode(texts, "query"),
            self.query_groups,
            self.chunks["chunk_id"],
            self.chunks["poem_id"],
            encoder.encode(self.chunks["text"].to_list(), "document"),
            self.chunk_groups,
            self.depth,
            positions=self.chunks["first_verse"],
        )
        values = measure_run(run, read_judgements(self.qrels, self.query_ids), [self.measure])
        return float(np.mean(values["value"].to_numpy()))
