"""InfoNCE over the positives of a batch and the hard negatives of each query (van den Oord et al. 2018).

The loss of a query is the cross-entropy of its own positive among all positives of the batch and its own negatives, by
cosine similarities over a temperature. Two things go beyond that:

* False negatives: a positive of another query may be relevant to this one too. Such columns can be masked.
* Gradient caching (Gao et al. 2021, arXiv:2101.06983): texts go through the encoder in pieces twice, first without and
  then with the graph of one piece at a time. The gradient is that of the whole batch; memory is that of a piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from verseir.systems.identity import Role
from verseir.systems.late_chunking import Tokens
from verseir.systems.transformer import TransformerEncoder

#: Tokens of a piece, padding included, where gradients are not cached: alike long texts share one, to pad little.
PIECE = 4096

#: The states of the generators that dropout draws from: of the CPU, and of the GPU where there is one.
RandomState = tuple[torch.Tensor, torch.Tensor | None]


@dataclass(frozen=True)
class Examples:
    """What is trained on: n queries, m documents.

    Attributes:
        queries: the tokens of each query, in its way of being read.
        documents: the tokens of each document.
        positives: int64 [n], the document that is the positive of each query.
        negatives: the documents that are the negatives of each query.
        relevant: the documents that are relevant to each query.
    """

    queries: Sequence[Tokens]
    documents: Sequence[Tokens]
    positives: np.ndarray
    negatives: Sequence[Sequence[int]]
    relevant: Sequence[frozenset[int]]


@dataclass(frozen=True)
class Columns:
    """The documents that the queries of a batch are held against.

    Attributes:
        documents: int64 [c], numbers of documents: first the positive of each query, then all negatives.
        allowed: bool [b, c], which of them count for which query.
    """

    documents: np.ndarray
    allowed: np.ndarray


def columns_of(examples: Examples, rows: Sequence[int], mask: bool, shared: bool) -> Columns:
    """What each query of a batch is held against.

    Args:
        rows: the queries of the batch.
        mask: whether documents that are relevant to a query do not count against it.
        shared: whether the negatives of other queries count too.
    """
    negatives = [examples.negatives[row] for row in rows]
    documents = np.array([*examples.positives[list(rows)], *chain.from_iterable(negatives)], np.int64)
    owners = np.array([*range(len(rows)), *(place for place, own in enumerate(negatives) for _ in own)], np.int64)
    own = owners == np.arange(len(rows))[:, np.newaxis]
    counts = own | shared | (np.arange(len(documents)) < len(rows))
    if not mask:
        return Columns(documents, counts)
    relevant = [np.isin(documents, list(examples.relevant[row])) for row in rows]
    return Columns(documents, counts & (own | ~np.array(relevant)))


def info_nce(queries: torch.Tensor, documents: torch.Tensor, allowed: torch.Tensor, temperature: float) -> torch.Tensor:
    """The mean loss of b queries; the positive of query i is document i.

    Args:
        queries, documents: float32 [b, d] and [c, d], of any length: they are scaled to length 1.
        allowed: bool [b, c].
    """
    queries, documents = (nn.functional.normalize(vectors, dim=-1) for vectors in (queries, documents))
    scores = (queries @ documents.T / temperature).masked_fill(~allowed, -torch.inf)
    return nn.functional.cross_entropy(scores, torch.arange(len(queries), device=scores.device))


class Piece(NamedTuple):
    """Texts that went through the encoder without a graph, and the states of the generators before."""

    texts: list[Tokens]
    role: Role
    state: RandomState
    vectors: torch.Tensor


class InfoNCE(nn.Module):
    """The loss of a batch of examples, given by their numbers, as the trainer of sentence-transformers calls it.

    Attributes:
        model: the SentenceTransformer, whose parameters are those of the loss.
    """

    def __init__(
        self,
        encoder: TransformerEncoder,
        examples: Examples,
        *,
        temperature: float,
        mask: bool,
        shared: bool,
        precision: str,
        cache: int | None,
    ):
        super().__init__()
        self.model = encoder.model
        self.encoder = encoder
        self.examples = examples
        self.temperature, self.mask, self.shared = temperature, mask, shared
        self.in_bf16 = precision == "bf16"
        self.piece, self.caches = cache or PIECE, cache is not None

    def forward(self, _features: Any, rows: torch.Tensor) -> torch.Tensor:
        """The loss of the examples ``rows``, int64 [b]."""
        numbers = rows.tolist()
        columns = columns_of(self.examples, numbers, self.mask, self.shared)
        distinct, places = np.unique(columns.documents, return_inverse=True)
        sides: list[tuple[list[Tokens], Role]] = [
            ([self.examples.queries[row] for row in numbers], "query"),
            ([self.examples.documents[number] for number in distinct], "document"),
        ]
        allowed = torch.from_numpy(columns.allowed).to(self.encoder.device)
        chosen = torch.from_numpy(places).to(self.encoder.device)

        def loss_of(queries: torch.Tensor, documents: torch.Tensor) -> torch.Tensor:
            return info_nce(queries, documents[chosen], allowed, self.temperature)

        if self.caches and torch.is_grad_enabled():
            return self._cached(sides, loss_of)
        return loss_of(*(self._encoded(texts, role) for texts, role in sides))

    def _encoded(self, texts: list[Tokens], role: Role) -> torch.Tensor:
        """float32 [n, d], the vectors of texts in pieces."""
        pieces = list(pieces_of([len(one.ids) for one in texts], self.piece))
        return self._together([self._piece([texts[row] for row in piece], role) for piece in pieces], pieces)

    def _together(self, parts: Sequence[torch.Tensor], pieces: Sequence[Sequence[int]]) -> torch.Tensor:
        """float32 [n, d], the vectors of pieces in the order of the texts."""
        order = torch.tensor([row for piece in pieces for row in piece], device=self.encoder.device)
        return torch.cat(list(parts))[torch.argsort(order)]

    def _piece(self, texts: list[Tokens], role: Role) -> torch.Tensor:
        device = self.encoder.device.partition(":")[0]
        with torch.autocast(device, dtype=torch.bfloat16, enabled=self.in_bf16):
            return self.encoder.forward(texts, role)

    def _cached(self, sides: Sequence[tuple[list[Tokens], Role]], loss_of: Any) -> torch.Tensor:
        """The loss, whose gradient reaches the encoder piece by piece when it is asked for."""
        work: list[Piece] = []
        whole = []
        for texts, role in sides:
            pieces = list(pieces_of([len(one.ids) for one in texts], self.piece))
            own = [self._first([texts[row] for row in piece], role) for piece in pieces]
            whole.append(self._together([one.vectors for one in own], pieces))
            work += own
        loss = loss_of(*whole)
        loss.backward()  # as far as the vectors
        loss = loss.detach().requires_grad_()
        loss.register_hook(partial(self._again, work))
        return loss

    def _first(self, texts: list[Tokens], role: Role) -> Piece:
        state = _random_state(self.encoder.device)
        with torch.no_grad():
            vectors = self._piece(texts, role)
        return Piece(texts, role, state, vectors.requires_grad_())

    def _again(self, work: Sequence[Piece], scale: torch.Tensor) -> None:
        """Send each piece through the encoder once more, with the dropout of the first time, and its gradient back."""
        with torch.enable_grad():
            for piece in work:
                with _replayed(piece.state, self.encoder.device):
                    again = self._piece(piece.texts, piece.role)
                gradient = piece.vectors.grad
                assert gradient is not None  # `_cached` sent it as far as here
                again.backward(gradient * scale)


def pieces_of(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Rows in pieces of at most ``budget`` tokens, padding included, longest first; a longer text stands alone."""
    order = sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    start = 0
    while start < len(order):
        size = max(1, budget // lengths[order[start]])
        yield order[start : start + size]
        start += size


def _random_state(device: str) -> RandomState:
    """The states of the generators that dropout draws from."""
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.startswith("cuda") else None


@contextmanager
def _replayed(state: RandomState, device: str) -> Iterator[None]:
    cpu, cuda = state
    with torch.random.fork_rng(devices=[device] if cuda is not None else []):
        torch.set_rng_state(cpu)
        if cuda is not None:
            torch.cuda.set_rng_state(cuda, device)
        yield
