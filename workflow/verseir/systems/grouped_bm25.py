"""BM25 within groups: an index for each group, or one of the whole corpus where there are no groups.

The number of chunks, the number of chunks that have a token and the average length are those of the group, and so are
the weights: a query is scored as in a corpus that holds its group alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from verseir.faults import UserError
from verseir.ranking import DEPTH
from verseir.systems.bm25 import Bm25Index, load_indexes, save_indexes
from verseir.systems.groups import WHOLE, Groups, places_by_group, places_of_queries, together
from verseir.systems.tokens import Tokens


@dataclass(frozen=True)
class GroupedBm25:
    """The BM25 index of each group, by its name; of a corpus without groups one index, named ``WHOLE``."""

    indexes: dict[str, Bm25Index]

    @classmethod
    def build(
        cls,
        tokens: Sequence[Sequence[str]],
        chunk_ids: Sequence[str] | pl.Series,
        poem_ids: Sequence[str] | pl.Series,
        groups: Groups,
        method: str = "lucene",
        k1: float = 1.5,
        b: float = 0.75,
        *,
        positions: Sequence[int] | pl.Series | None = None,
    ) -> GroupedBm25:
        """Index the chunks of each group; a group without any token is left out.

        Args:
            groups: the group of each chunk; chunks of a poem share theirs.

        The others, and what is raised, are those of ``Bm25Index.build``; UserError too where no group has a token.
        """
        tokens = Tokens.of(tokens)
        chunk_ids, poem_ids = (pl.Series(ids, dtype=pl.String) for ids in (chunk_ids, poem_ids))
        positions = None if positions is None else pl.Series(positions, dtype=pl.Int64)
        indexes = {}
        for group, places in places_by_group(groups, len(tokens)).items():
            if group == WHOLE or tokens.lengths[places].any():
                indexes[group] = Bm25Index.build(
                    tokens if groups is None else tokens.take(np.array(places)),
                    chunk_ids.gather(places),
                    poem_ids.gather(places),
                    method,
                    k1,
                    b,
                    positions=None if positions is None else positions.gather(places),
                )
        if not indexes:
            raise UserError("there is no chunk to index", hint="no chunk that has a group has a token")
        return cls(indexes)

    def search(
        self,
        query_ids: Sequence[str],
        query_tokens: Sequence[Sequence[str]],
        groups: Groups,
        depth: int = DEPTH,
        *,
        ties: str = "id",
        threads: int | None = None,
    ) -> pl.DataFrame:
        """Rank the poems of each query's group that share at least one token with it, see ``Bm25Index.search``.

        Args:
            groups: the group of each query.

        Raises:
            UserError: as there; a query is in no group, or in one that has no index.
        """
        if len(query_ids) != len(query_tokens):
            raise UserError(f"{len(query_ids)} query ids and {len(query_tokens)} token lists: they must be as many")
        of = places_of_queries(query_ids, groups, self.indexes)
        asked = Tokens.of(query_tokens)
        runs = (
            self.indexes[group].search(
                [query_ids[place] for place in places], asked.take(np.array(places)), depth, ties=ties, threads=threads
            )
            for group, places in of.items()
        )
        return together(runs)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the indexes to ``folder``, which is replaced as a whole."""
        save_indexes(folder, self.indexes)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> GroupedBm25:
        """Read what ``save``, or ``Bm25Index.save``, wrote; raises UserError as ``load_indexes`` does."""
        return cls(load_indexes(folder))
