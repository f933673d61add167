"""Draw some of many so that anyone can draw them again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def drawn(ids: Iterable[str], n: int | None, seed: int) -> set[str]:
    """The ``n`` ids whose hash with ``seed`` is smallest; all where ``n`` is None or there are no more.

    It depends on no order and no random generator, and a larger ``n`` draws the same and more.
    """
    known = sorted(set(ids), key=lambda name: hashlib.sha256(f"{seed}\0{name}".encode()).digest())
    return set(known[:n])
