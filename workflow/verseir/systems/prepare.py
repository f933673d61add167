"""The exact strings that an encoder reads: known without loading it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from verseir.arabic.presets import normalise

Role = Literal["query", "document"]
ROLES: tuple[Role, ...] = ("query", "document")


def prepare(texts: Iterable[str], role: Role, entry: dict[str, Any]) -> list[str]:
    """Each text under the text preset of ``entry``, after the prompt that it has for ``role``."""
    preset, prompt = entry["text"], entry["prompts"][role]
    return [prompt + normalise(text, preset) for text in texts]
