"""The mean of a measure on validation queries, as the search itself would give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from verseir.measures import measure_run, read_judgements
from verseir.recipe_faults import DEPTH
from verseir.systems.dense import search
from verseir.systems.encoder import Encoder
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
    """

    chunks: pl.DataFrame
    query_ids: Sequence[str]
    readings: Sequence[Reading]
    qrels: pl.DataFrame
    measure: str

    def value(self, encoder: Encoder) -> float:
        """The mean over the queries."""
        texts: Any = list(self.readings)
        run = search(
            self.query_ids,
            encoder.encode(texts, "query"),
            self.chunks["chunk_id"],
            self.chunks["poem_id"],
            encoder.encode(self.chunks["text"].to_list(), "document"),
            DEPTH,
            positions=self.chunks["first_verse"],
        )
        values = measure_run(run, read_judgements(self.qrels, self.query_ids), [self.measure])
        return float(np.mean(values["value"].to_numpy()))
