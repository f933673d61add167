"""Encoding chunks of verses on the processor."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from agreement import require_cosines
from harness.line import Line, Peer
from harness.machine import cpu_features
from harness.timing import seconds_of
from texts import ROOT, Vocabulary, make_poems

ORDER = 50
SYSTEM = "e5-small-q4"
#: Batch sizes of which the peer's best one is found, on so many texts.
BATCHES, TRIED = (4, 8, 16, 64, 128), 128
#: Texts whose vectors are compared with those that a batch of one gives.
CHECKED = 64
DEFAULT = "sentence-transformers, defaults"


@dataclass(frozen=True)
class Encoded:
    """Texts, our encoder, the peer's model of the same files, its best batch size, and batch-1 vectors of some texts.

    Attributes:
        rows: int64 [c], the texts that ``reference``, float32 [c, d], holds vectors of.
    """

    texts: list[str]
    encoder: Any
    peer: Any
    prompt: str
    best: int
    rows: np.ndarray
    reference: np.ndarray


def _entry(dtype: str) -> dict[str, Any]:
    from verseir.systems.registry import load_registry

    os.environ.setdefault("VERSEIR_CACHE", str(ROOT / ".cache"))
    return load_registry([ROOT / "config" / "systems.yaml"])[SYSTEM] | {"dtype": dtype}


def prepare(size: int, threads: int, dtype: str = "float32") -> Encoded:
    """``size`` chunks of words that the demo's poems are made of."""
    import torch
    from sentence_transformers import SentenceTransformer

    from verseir.arabic.presets import normalise
    from verseir.systems.identity import identify
    from verseir.systems.loading import load_encoder
    from verseir.systems.transformer import model_folder

    torch.set_num_threads(threads)
    rng = np.random.default_rng(7)
    entry = _entry(dtype)
    encoder, prompt = load_encoder(entry, "cpu"), entry["prompts"]["document"]
    texts = [normalise(text, entry["text"]) for text in make_poems(size, Vocabulary.of_demo(), rng).chunk_texts()]
    peer = SentenceTransformer(str(model_folder(identify(_entry("float32")))), device="cpu")
    peer.max_seq_length = entry["max_length"]
    rows = np.sort(rng.choice(size, min(CHECKED, size), replace=False))
    reference = _peer(peer, [texts[row] for row in rows], prompt, 1)
    tried = texts[:TRIED]
    best = min(BATCHES, key=lambda batch: seconds_of(lambda: _peer(peer, tried, prompt, batch)))
    return Encoded(texts, encoder, peer, prompt, best, rows, reference)


def _peer(model: Any, texts: list[str], prompt: str, batch: int | None = None) -> np.ndarray:
    options = {} if batch is None else {"batch_size": batch}
    vectors: np.ndarray = model.encode(texts, prompt=prompt, show_progress_bar=False, **options)
    return vectors


def encode(data: Encoded, _: int) -> np.ndarray:
    vectors: np.ndarray = data.encoder.encode(data.texts, "document")
    return vectors


def by_default(data: Encoded, _: int) -> np.ndarray:
    return _peer(data.peer, data.texts, data.prompt)


def by_best_batch(data: Encoded, _: int) -> np.ndarray:
    return _peer(data.peer, data.texts, data.prompt, data.best)


def same(data: Encoded, ours: np.ndarray, theirs: np.ndarray, peer: str, least: float = 0.99999) -> None:
    require_cosines(ours[data.rows], data.reference, least, "ours")
    require_cosines(theirs[data.rows], data.reference, 0.99999, peer)


def parts(data: Encoded, _: int) -> dict[str, float]:
    """Tokenising alone."""
    prepared = data.encoder.prepare(data.texts, "document")
    return {"tokenising": seconds_of(lambda: data.encoder.tokenise(prepared))}


def _lacks_bf16() -> str:
    fast = {"amx_bf16", "avx512_bf16"} & set(cpu_features())
    return "" if fast else "this processor multiplies no bf16 (AMX, AVX512-BF16), without which it is not faster"


LINES = (
    Line(
        name="encode",
        work=f"encode verse chunks with {SYSTEM}, float32, cosine to the batch-1 reference > 0.99999",
        unit="chunks",
        sizes=(48, 128, 320),
        quick=(32,),
        prepare=prepare,
        ours=encode,
        peers=(
            Peer(DEFAULT, by_default, floors={2: 1.35}),
            Peer("sentence-transformers, its best batch size", by_best_batch, floors={2: 1.15}),
        ),
        same=same,
        parts=parts,
        binds="the model's matrix products, which both leave to one library; the peer sorts by length too",
        packages=("sentence-transformers", "transformers", "torch"),
    ),
    Line(
        name="encode-bf16",
        work=f"encode verse chunks with {SYSTEM}, bf16, cosine to the float32 reference > 0.9999",
        unit="chunks",
        sizes=(48, 128, 320),
        quick=(32,),
        prepare=partial(prepare, dtype="bfloat16"),
        ours=encode,
        peers=(Peer(DEFAULT, by_default, floors={2: 3.0} if "amx_bf16" in cpu_features() else {}),),
        same=partial(same, least=0.9999),
        packages=("sentence-transformers", "transformers", "torch"),
        lacks=_lacks_bf16,
    ),
)
