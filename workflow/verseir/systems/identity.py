"""What makes the vectors of an encoder what they are: known without loading it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from verseir.systems.sources import Source, locate

#: Rises when a change of this package changes vectors: pooling, scaling, a conversion of weights.
VERSION = 1

#: Settings that change vectors. Presets and prompts do too, but they are in the strings that are encoded.
SETTINGS = ("loader", "dtype", "pooling", "padding_side", "max_length", "normalise", "dimension", "tasks")


@dataclass(frozen=True)
class Identity:
    """An encoder without its weights.

    Attributes:
        entry: its entry in the registry, defaults filled in.
        source: where the weights come from.
        key: a hash of all that changes the vector of a string.
    """

    entry: dict[str, Any]
    source: Source
    key: str

    @property
    def name(self) -> str:
        return self.entry["name"]

    @property
    def dimension(self) -> int:
        return self.entry["dimension"]

    @property
    def revision(self) -> str:
        return self.source.revision


def identify(entry: dict[str, Any]) -> Identity:
    """The identity of the encoder that ``entry`` describes.

    Raises:
        UserError: its source is not at hand, see ``sources.locate``.
    """
    source = locate(entry)
    settings = {key: entry.get(key) for key in SETTINGS}
    parts = {"version": VERSION, "weights": source.identity, "code": source.code_revision, **settings}
    encoded = json.dumps(parts, sort_keys=True).encode()
    return Identity(entry, source, hashlib.blake2b(encoded, digest_size=16).hexdigest())
