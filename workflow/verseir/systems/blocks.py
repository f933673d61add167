"""One encode in blocks of texts, so that several jobs can share it and make the vectors that one job would make.

The last bits of a vector depend on the batch that its text was encoded in. So the texts are cut into blocks first, and
no batch crosses a block. The blocks depend on the set of the texts alone: not on their order, on the number of jobs or
on what the store holds by now. A job takes whole blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from verseir.systems.identity import Identity, Role
from verseir.systems.readings import Prepared, Reading, as_reading
from verseir.systems.vectors import BatchEncoder

#: Texts in a block: many batches, and tokens of few texts in memory at a time.
BLOCK = 4096


class Blocks:
    """The texts of one encode, cut into blocks.

    Args:
        identity: of the encoder.
        texts_by_role: all texts of the encode, or readings of them, also those that the store holds.
        size: distinct texts in a block.
    """

    def __init__(self, identity: Identity, texts_by_role: Mapping[Role, Sequence[str | Reading]], *, size: int = BLOCK):
        self.identity = identity
        self._block_of: dict[bytes, int] = {}
        self.characters: list[int] = []
        for role, texts in sorted(texts_by_role.items()):
            prepared = list(dict.fromkeys(identity.prepare(texts, role)))
            keys = identity.text_keys(prepared, role)
            new = {key: text for key, text in zip(keys, prepared, strict=True) if key not in self._block_of}
            longest_first = sorted(new, key=lambda key: _length_and_text(new[key]))
            for start in range(0, len(longest_first), size):
                block = longest_first[start : start + size]
                self._block_of.update(dict.fromkeys(block, len(self.characters)))
                self.characters.append(sum(len(as_reading(new[key]).text) for key in block))

    def __len__(self) -> int:
        return len(self.characters)

    def block_of(self, prepared: Sequence[Prepared], role: Role) -> np.ndarray:
        """int64 [n]: the block of each prepared string."""
        keys = self.identity.text_keys(prepared, role)
        return np.array([self._block_of[key] for key in keys], np.int64)

    def shard_of(self, shards: int) -> np.ndarray:
        """int64, one for each block: which of ``shards`` jobs takes it, from 0 on. Jobs get like amounts of text."""
        taken = np.zeros(shards, np.int64)
        shard_of = np.zeros(len(self), np.int64)
        for block in sorted(range(len(self)), key=lambda number: (-self.characters[number], number)):
            shard_of[block] = taken.argmin()
            taken[shard_of[block]] += self.characters[block]
        return shard_of

    def share(
        self, texts_by_role: Mapping[Role, Sequence[str | Reading]], shard: int, shards: int
    ) -> dict[Role, list[str | Reading]]:
        """The texts of each role that one of ``shards`` jobs takes, in their order. Each is taken by one job."""
        shard_of = self.shard_of(shards)
        mine: dict[Role, list[str | Reading]] = {}
        for role, texts in texts_by_role.items():
            blocks = self.block_of(self.identity.prepare(texts, role), role)
            mine[role] = [texts[row] for row in np.flatnonzero(shard_of[blocks] == shard).tolist()]
        return mine


@dataclass(frozen=True)
class InBlocks:
    """An encoder whose batches stay within blocks: what a store is filled with, see ``VectorStore.encode_missing``."""

    encoder: BatchEncoder
    blocks: Blocks

    @property
    def key(self) -> str:
        return self.encoder.key

    def batches(self, prepared: list[Prepared], role: Role) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """As ``Encoder.batches``, block by block: row numbers int64 [b], vectors float32 [b, d]."""
        block_of = self.blocks.block_of(prepared, role)
        for block in np.unique(block_of):
            members = np.flatnonzero(block_of == block)
            for rows, vectors in self.encoder.batches([prepared[row] for row in members], role):
                yield members[rows], vectors


def _length_and_text(prepared: Prepared) -> tuple:
    """Longest first: texts of like length share batches, and a lack of memory shows at once."""
    reading = as_reading(prepared)
    return -len(reading.text), reading.order
