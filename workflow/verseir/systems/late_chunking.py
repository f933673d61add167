"""Late chunking: the vector of a span in its context. The text is read whole, the span's tokens are pooled.

Günther et al. 2024, arXiv:2409.04701. A token belongs to a span when its characters overlap it by at least one. The
mean over a span takes the place of the model's own pooling; the modules after it (Dense, scaling) apply to both alike,
so that a span and a document lie in one space. Batched: padding changes nothing but the last bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import get_ident
from typing import Any, NamedTuple

import numpy as np

from verseir.faults import UserError
from verseir.systems.readings import Reading


class Tokens(NamedTuple):
    """The tokens of one reading.

    Attributes:
        ids: int32 [t], special ones included, cut to the maximum.
        pooled: bool [t], the tokens whose mean is pooled; None where the model pools in its own way.
        head: whether the modules after the pooling apply.
        cut: whether there is a span and it was cut off.
    """

    ids: np.ndarray
    pooled: np.ndarray | None = None
    head: bool = True
    cut: bool = False


@dataclass(frozen=True)
class SpanCounts:
    """How often a span view had to fall back to the whole text.

    Attributes:
        n: queries.
        not_found: the query does not hold its span.
        cut: the query is cut before its span.
    """

    n: int
    not_found: int
    cut: int


def count_spans(readings: Iterable[Reading], tokens: Iterable[Tokens]) -> SpanCounts:
    """Count the readings of a view of spans that are pooled whole, from their tokens."""
    pairs = list(zip(readings, tokens, strict=True))
    not_found = sum(reading.span is None for reading, _ in pairs)
    return SpanCounts(len(pairs), not_found, sum(one.cut for _, one in pairs))


def tokens_of(ids: np.ndarray, offsets: np.ndarray, reading: Reading) -> Tokens:
    """Which of its tokens are pooled.

    Args:
        ids: int32 [t].
        offsets: int64 [t, 2], first and last character (exclusive) of each token; special tokens have 0 and 0.
        reading: what was tokenised.
    """
    begins, ends = offsets[:, 0], offsets[:, 1]
    if reading.span is not None:
        start, end = reading.span
        pooled = (ends > start) & (begins < end)
        if pooled.any():
            return Tokens(ids, pooled, reading.head)
    cut = reading.span is not None
    after = np.flatnonzero(ends > reading.prompt)
    if reading.prompt == 0 or not len(after):
        return Tokens(ids, cut=cut)
    # All tokens after those of the prompt, the special ones at the end of the text too.
    return Tokens(ids, np.arange(len(ids)) >= after[0], cut=cut)


def pooled_forward(model: Any, features: Mapping[str, Any], pooled: Any, headless: Any, options: dict[str, Any]) -> Any:
    """Vectors [n, d] of a batch of n texts of t tokens, a part of each pooled.

    Args:
        model: a SentenceTransformer with one Pooling module.
        features: what it is called with.
        pooled: bool [n, t] tensor; a row without any token keeps the model's own pooling.
        headless: bool [n] tensor: rows whose mean over a part is the vector, without the modules after the pooling.
        options: further arguments of the model.

    Raises:
        UserError: the model has no token vectors that could be pooled, or a head that cannot be left out.
    """
    import torch
    from sentence_transformers.sentence_transformer.modules import Pooling

    poolings = [module for module in model.children() if isinstance(module, Pooling)]
    if len(poolings) != 1:
        raise UserError("the model pools in its own way: a part of a text cannot be pooled", hint="leave spans out")
    kept: list[Any] = []
    mine = get_ident()

    def replace(_: Any, __: Any, output: dict[str, Any]) -> dict[str, Any]:
        if get_ident() != mine:  # the batch of another thread, which shares the module
            return output
        tokens, own = output["token_embeddings"], output["sentence_embedding"]
        # Padding may hold anything, not-a-number too: it is set to zero, not multiplied by it.
        chosen = tokens.masked_fill(~pooled.unsqueeze(-1), 0).sum(dim=1, dtype=torch.float32)
        means = chosen / pooled.sum(dim=1, keepdim=True).clamp(min=1)
        kept.append(means)
        if own.shape == means.shape:
            output["sentence_embedding"] = torch.where(pooled.any(dim=1, keepdim=True), means.to(own.dtype), own)
        elif pooled.any():
            raise UserError("the model pools in several ways at once: a part of a text cannot be pooled")
        return output

    handle = poolings[0].register_forward_hook(replace)
    try:
        vectors = model(dict(features), **options)["sentence_embedding"].float()
    finally:
        handle.remove()
    without = headless & pooled.any(dim=1)
    if not without.any():
        return vectors
    if kept[0].shape != vectors.shape:
        raise UserError(
            f"without its head a span has {kept[0].shape[1]} dimensions, a document {vectors.shape[1]}",
            hint="set `late_chunking: {head: true}` of its entry: the published figures have no number here either",
        )
    return torch.where(without.unsqueeze(-1), kept[0], vectors)
