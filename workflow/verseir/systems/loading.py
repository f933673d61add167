"""From an entry of the registry to a loaded encoder."""

from __future__ import annotations

from typing import Any

from verseir.systems.encoder import Encoder
from verseir.systems.identity import identify
from verseir.systems.registry import can_use_gpu
from verseir.systems.transformer import TransformerEncoder
from verseir.systems.use import UseEncoder


def load_encoder(entry: dict[str, Any], device: str | None = None) -> Encoder:
    """Load the encoder that a ``dense`` entry of the registry describes.

    Args:
        entry: with defaults filled in, as ``load_registry`` gives it.
        device: ``cpu``, ``cuda`` or ``mps``; the best at hand when None.

    Raises:
        UserError: the model is not at hand, or cannot be loaded as the entry says.
    """
    identity = identify(entry)
    if not can_use_gpu(entry):
        return UseEncoder(identity)
    return TransformerEncoder(identity, device)
