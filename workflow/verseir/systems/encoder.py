"""Encoders: strings and a role in, float32 vectors out, whatever computes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from verseir.faults import UserError
from verseir.systems.identity import Identity, Role
from verseir.systems.late_chunking import SpanCounts
from verseir.systems.readings import Prepared, Reading, as_reading


@dataclass(frozen=True)
class TokenCounts:
    """What a tokenizer makes of some texts, prompts included.

    Attributes:
        n_tokens: int64 [n], tokens of each text before it is cut, without the special ones that frame it.
        n_unknown: int64 [n], those of them that the vocabulary does not know.
        truncated: bool [n], whether the encoder does not see the end of the text.
    """

    n_tokens: np.ndarray
    n_unknown: np.ndarray
    truncated: np.ndarray

    @property
    def truncated_share(self) -> float:
        """The share of texts that are cut."""
        return float(self.truncated.mean()) if len(self.truncated) else 0.0

    @property
    def unknown_token_share(self) -> float:
        """The share of unknown tokens among all tokens."""
        return float(self.n_unknown.sum() / max(1, self.n_tokens.sum()))


class Encoder(ABC):
    """A loaded encoder.

    Attributes:
        identity: what the encoder is; its ``key`` names the vectors.
        device: ``cpu``, ``cuda`` or ``mps``.
        load_faults: what went wrong in loading so that vectors would be meaningless.
        load_warnings: what is unusual and may be meant.
    """

    def __init__(self, identity: Identity, device: str):
        self.identity = identity
        self.device = device
        self.load_faults: list[str] = []
        self.load_warnings: list[str] = []

    @property
    def name(self) -> str:
        return self.identity.name

    @property
    def dimension(self) -> int:
        return self.identity.dimension

    @property
    def key(self) -> str:
        return self.identity.key

    @property
    def revision(self) -> str:
        return self.identity.revision

    def prepare(self, texts: Sequence[str | Reading], role: Role) -> list[Prepared]:
        """The exact strings that the encoder reads, see ``Identity.prepare``."""
        return self.identity.prepare(texts, role)

    def encode(self, texts: Sequence[str | Reading], role: Role) -> np.ndarray:
        """float32 [n, d], one row per text; rows of length 1 where the entry says ``normalise``."""
        return self.encode_prepared(self.prepare(texts, role), role)

    def encode_prepared(self, prepared: list[Prepared], role: Role) -> np.ndarray:
        """As ``encode``, for strings that are prepared already. Each distinct string is encoded once."""
        distinct = list(dict.fromkeys(prepared))
        number = {text: row for row, text in enumerate(distinct)}
        vectors = np.empty((len(distinct), self.dimension), np.float32)
        for rows, part in self.batches(distinct, role):
            if part.shape[1] != vectors.shape[1]:
                vectors = np.empty((len(distinct), part.shape[1]), np.float32)  # a promise that the checks will judge
            vectors[rows] = part
        return vectors[[number[text] for text in prepared]]

    def batches(self, prepared: list[Prepared], role: Role) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Encode distinct strings in batches, longest first: row numbers int64 [b], vectors float32 [b, d].

        What a batch is made of depends on the set of strings, not on their order or on the number of threads. The last
        bits of a vector depend on its batch and on the processor, as with any encoder on a BLAS library.
        """
        for rows, raw in self._raw_batches(prepared, role):
            vectors = np.asarray(raw, np.float32)
            if not np.isfinite(vectors).all():
                text = as_reading(prepared[rows[~np.isfinite(vectors).all(axis=1)][0]]).text
                raise UserError(
                    f"the encoder '{self.name}' gives a vector that is not finite for the text '{text[:60]}'",
                    hint="with float16 numbers overflow: set `dtype: bfloat16` or `float32` of its entry",
                )
            if self.identity.entry["normalise"]:
                vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
            yield rows, vectors

    @abstractmethod
    def _raw_batches(self, prepared: list[Prepared], role: Role) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """As ``batches``, before vectors are scaled."""

    @abstractmethod
    def count_tokens(self, texts: Sequence[str | Reading], role: Role) -> TokenCounts:
        """How many tokens each text has, how many are unknown, and whether it is cut."""

    @abstractmethod
    def seen(self, prepared: Prepared) -> str:
        """The part of a prepared string that the encoder sees, decoded from its token ids, without special tokens."""

    def count_spans(self, readings: Sequence[Reading]) -> SpanCounts:
        """How often a view of spans (see ``QueryEncoding``) falls back to the whole text.

        Raises:
            UserError: this encoder gives no token vectors.
        """
        raise no_token_vectors(self.name)


def no_token_vectors(name: str) -> UserError:
    """The error of an encoder that cannot pool a part of a text."""
    return UserError(f"'{name}' gives no token vectors: it reads whole texts only", hint="choose another encoder")
