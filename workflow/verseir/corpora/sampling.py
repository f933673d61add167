"""Draw a sample of a corpus that anyone can draw again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import polars as pl

from verseir.faults import UserError

#: The parts of ``sample`` that can leave a poem out.
_NARROWING = ("n", "min_verses", "max_verses")


def is_sampled(corpus: Mapping[str, Any]) -> bool:
    """Whether the spec of a corpus may leave out some of its poems."""
    return any((corpus.get("sample") or {}).get(key) is not None for key in _NARROWING)


def sample(poems: pl.DataFrame, spec: dict[str, Any]) -> pl.DataFrame:
    """The poems (POEMS) that ``spec`` draws, in the order of ``poem_id``.

    ``min_verses`` and ``max_verses`` (inclusive) choose who may be drawn; ``n`` is how many are, all when it is
    absent; ``strata`` are columns whose joint values share ``n`` in proportion to their poems (largest remainder; a
    missing value is a stratum of its own). Within a stratum the poems with the smallest hash of ``seed`` and
    ``poem_id`` are drawn, so the sample depends on neither the order of the input nor any random generator, and a poem
    added to the corpus displaces at most a few.

    Raises UserError when fewer than ``n`` poems may be drawn.
    """
    length = pl.col("verses").list.len()
    eligible = poems.filter(
        (length >= spec.get("min_verses", 0)) & (length <= spec["max_verses"] if spec.get("max_verses") else True)
    )
    n = spec.get("n")
    if n is None:
        return eligible.sort("poem_id")
    if n > len(eligible):
        raise UserError(
            f"cannot draw {n} poems: only {len(eligible)} of {len(poems)} meet the conditions of the sample",
            hint="lower sample.n, leave it out to take all, or relax min_verses and max_verses",
        )
    strata: dict[tuple[str, ...], list[str]] = {}
    for poem_id, *values in eligible.select("poem_id", *spec.get("strata", [])).iter_rows():
        # A null sorts before every value, and is told from the text "None".
        key = tuple("" if value is None else f"={value}" for value in values)
        strata.setdefault(key, []).append(poem_id)
    seed = spec.get("seed", 0)
    quotas = _quotas({key: len(ids) for key, ids in strata.items()}, n)
    drawn = [poem_id for key, ids in strata.items() for poem_id in _smallest(ids, quotas[key], seed)]
    return eligible.filter(pl.col("poem_id").is_in(drawn)).sort("poem_id")


def _quotas(sizes: dict[tuple[str, ...], int], n: int) -> dict[tuple[str, ...], int]:
    """Shares of ``n`` in proportion to ``sizes`` (largest remainder; equal remainders in order of the key)."""
    total = sum(sizes.values())
    quotas = {key: n * size // total for key, size in sizes.items()} if total else {}
    by_remainder = sorted(sizes, key=lambda key: (-(n * sizes[key] % total), key))
    for key in by_remainder[: n - sum(quotas.values())]:
        quotas[key] += 1
    return quotas


def _smallest(poem_ids: list[str], n: int, seed: int) -> list[str]:
    return sorted(poem_ids, key=lambda poem_id: hashlib.sha256(f"{seed}\0{poem_id}".encode()).digest())[:n]
