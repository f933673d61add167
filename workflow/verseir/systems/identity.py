"""What makes the vectors of an encoder what they are: known without loading it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Any, Literal

from verseir.arabic.presets import normalise
from verseir.systems.readings import Prepared, Reading
from verseir.systems.sources import Source, locate

Role = Literal["query", "document"]
ROLES: tuple[Role, ...] = ("query", "document")

#: Rises when a change of this package changes vectors: pooling, scaling, a conversion of weights.
VERSION = 1
KEY_BYTES = 16

#: Settings that change vectors. Presets, prompts and adapters do too, but those are in the keys of the texts.
SETTINGS = ("loader", "dtype", "pooling", "padding_side", "max_length", "normalise", "dimension")
#: Settings that came later: they are in the key where they are not these, so that older vectors keep their keys.
LATER_SETTINGS = {"attention": "own", "end_token": False}


@dataclass(frozen=True)
class Identity:
    """An encoder without its weights: what names its vectors, and the strings that it would read.

    Attributes:
        entry: its entry in the registry, defaults filled in.
        source: where the weights come from.
        key: a hash of all that changes the vector of a prepared string.
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

    def prepare(self, texts: Iterable[str | Reading], role: Role) -> list[Prepared]:
        """The exact strings that the encoder reads: each text under the entry's preset, after the role's prompt.

        A reading (see ``QueryEncoding.readings``) is prepared already; one that is nothing but a string becomes one.
        """
        preset, prompt = self.entry["text"], self.entry["prompts"][role]
        unpooled = 0 if self.entry.get("prompts_pooled", True) else len(prompt)
        prepared: list[Prepared] = []
        for text in texts:
            reading = text if isinstance(text, Reading) else Reading(prompt + normalise(text, preset), unpooled)
            prepared.append(reading.text if reading.is_plain else reading)
        return prepared

    def text_keys(self, prepared: Iterable[Prepared], role: Role) -> list[bytes]:
        """A key of 16 bytes for each prepared string. A string has one vector, whatever its role.

        An adapter is part of the key: two roles may differ in nothing else. So is the part that is pooled.
        """
        adapter = self.entry.get("tasks", {}).get(role, "")
        return [_text_key(adapter, one) for one in prepared]


def identify(entry: dict[str, Any]) -> Identity:
    """The identity of the encoder that ``entry`` describes.

    Raises:
        UserError: its source is not at hand, see ``sources.locate``.
    """
    source = locate(entry)
    settings = {key: entry.get(key) for key in SETTINGS}
    settings |= {key: entry[key] for key, usual in LATER_SETTINGS.items() if entry.get(key, usual) != usual}
    parts = {"version": VERSION, "weights": source.identity, "code": source.code_revision, **settings}
    encoded = json.dumps(parts, sort_keys=True).encode()
    return Identity(entry, source, hashlib.blake2b(encoded, digest_size=16).hexdigest())


def _text_key(adapter: str, prepared: Prepared) -> bytes:
    if isinstance(prepared, str):
        return hashlib.blake2b(f"{adapter}\0{prepared}".encode(), digest_size=KEY_BYTES).digest()
    encoded = json.dumps([adapter, astuple(prepared)], ensure_ascii=False).encode()
    return hashlib.blake2b(encoded, digest_size=KEY_BYTES, person=b"reading").digest()
