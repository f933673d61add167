"""The vectors that an encode step left in the store, for the steps after it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from verseir.faults import UserError
from verseir.systems.identity import Role, identify
from verseir.systems.readings import Reading
from verseir.systems.vectors import VectorStore


def filled_store(entry: Mapping[str, Any], encoding: Path) -> VectorStore:
    """The store that the encode step filled; an unpinned revision is the one that it found.

    Args:
        entry: the encoder's entry in the registry.
        encoding: what the encode step wrote.

    Raises:
        UserError: the encoder has changed since.
    """
    seen = json.loads(encoding.read_text(encoding="utf-8"))
    pinned = {"revision": seen["revision"]} if entry.get("revision") == "unpinned" else {}
    identity = identify({**entry, **pinned})
    if identity.key != seen["encoder_key"]:
        raise UserError(
            f"'{seen['system']}' is not the encoder that encoded {seen['corpus']}: its files or settings changed",
            hint=f"remove {encoding} and run again",
        )
    return VectorStore(identity)


def stored_vectors(
    entry: Mapping[str, Any], encoding: Path, texts_by_role: Mapping[Role, Sequence[str | Reading]]
) -> dict[Role, np.ndarray]:
    """float32 [n, d] for each role: the vector of each of its texts, as the encode step made it.

    Raises:
        UserError: the encoder has changed since, or a text has no vector.
    """
    store = filled_store(entry, encoding)
    try:
        return {role: store.get(texts, role) for role, texts in texts_by_role.items()}
    except UserError as error:
        hint = f"the store of vectors was emptied or moved: remove {encoding} and run again"
        raise UserError(str(error.args[0]), hint=hint) from error
