"""What a configuration (a system in an indexing mode) costs to run, and which of two is the cheaper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from verseir.formats import count
from verseir.orders import mode_order

#: Times that differ by a smaller factor are level: so much do runs on a busy machine differ.
FACTOR = 2.0
BUILT, ENCODED, SEARCHED, FUSED = "index", "encode", "search", "fuse"
#: How many encoders read a query for a system of this kind; of an imported run nothing is known.
ENCODERS = {"bm25": 0, "dense": 1}


class Config(NamedTuple):
    """A system that searches in an indexing mode."""

    system: str
    mode: str


class Cost(NamedTuple):
    """What a configuration costs; None where it is not known.

    ``encoders`` read each query, ``searches`` are fused; ``explained`` says whether explanations are indexed, ``gpu``
    whether an encoder ran on one; then seconds to answer a query, seconds to index a poem, and MiB of index.
    """

    encoders: int | None
    searches: int
    explained: bool
    gpu: bool | None = None
    per_query: float | None = None
    per_poem: float | None = None
    index_mb: float | None = None


class Size(NamedTuple):
    """How much a mode of a corpus indexes."""

    n_chunks: int
    n_poems: int


class Costs:
    """The costs of the configurations of one corpus, from a COSTS table.

    Indexes of several modes have one row together there: a mode's part is by its chunks.

    Args:
        costs: the COSTS rows of the corpus.
        kinds: system -> its ``kind`` and, of a fusion, its ``arms``.
        modes: mode -> the fields that it indexes.
        sizes: mode -> how much it indexes in the corpus.
    """

    def __init__(
        self,
        costs: pl.DataFrame,
        kinds: Mapping[str, Mapping[str, Any]],
        modes: Mapping[str, Sequence[str]],
        sizes: Mapping[str, Size],
    ):
        self.rows = {(row["system"], row["stage"]): row for row in costs.iter_rows(named=True)}
        self.kinds, self.modes, self.sizes = kinds, modes, sizes

    def of(self, config: Config) -> Cost:
        """What a configuration costs: of a fusion, what its arms do together."""
        entry = self.kinds.get(config.system, {})
        if entry.get("kind") != "fusion":
            return self._single(config, entry.get("kind", ""))
        arms = [self.of(Config(arm["system"], arm.get("mode", config.mode))) for arm in entry["arms"]]
        fused = self._rate(config.system, FUSED)
        return Cost(
            None if any(arm.encoders is None for arm in arms) else sum(arm.encoders or 0 for arm in arms),
            sum(arm.searches for arm in arms),
            any(arm.explained for arm in arms),
            None if any(arm.gpu is None for arm in arms) else any(arm.gpu for arm in arms),
            _total([fused, *(arm.per_query for arm in arms)]),
            _total([arm.per_poem for arm in arms]),
            _total([arm.index_mb for arm in arms]),
        )

    def _single(self, config: Config, kind: str) -> Cost:
        explained = any(field.startswith("explanation") for field in self.modes.get(config.mode, ()))
        encoders = ENCODERS.get(kind)
        if encoders is None:
            return Cost(None, 1, explained)
        stage = ENCODED if encoders else BUILT
        made, row = self._rate(config.system, stage), self.rows.get((config.system, stage))
        size = self.sizes.get(config.mode)
        asked = [self._rate(config.system, SEARCHED), *([made] if encoders else [])]
        stored = row["index_mb"] / row["n_texts"] if row and row["index_mb"] and row["n_texts"] else None
        return Cost(
            encoders,
            1,
            explained,
            None if row is None or row["device"] is None else row["device"] != "cpu",
            _total(asked),
            None if size is None or made is None else made * size.n_chunks / max(1, size.n_poems),
            None if size is None or stored is None else stored * size.n_chunks,
        )

    def _rate(self, system: str, stage: str) -> float | None:
        """Seconds that a step of a system takes for one text or query."""
        row = self.rows.get((system, stage))
        return row["seconds"] / row["n_texts"] if row and row["n_texts"] else None

    def order(self, config: Config) -> tuple[Any, ...]:
        """Sort key, the cheapest first, by what is the same in every run: no time that was measured decides."""
        cost = self.of(config)
        unknown = cost.encoders is None
        return (unknown, cost.encoders or 0, cost.searches, cost.explained, mode_order(config.mode), config.system)

    def why_cheaper(self, one: Config, other: Config) -> str:
        """Why ``one`` is cheaper than ``other``, in words that follow its name; empty where it is not known to be."""
        a, b = self.of(one), self.of(other)
        if a.gpu is not None and b.gpu is not None and a.gpu != b.gpu:
            return "" if a.gpu else "it needs no GPU"
        if a.encoders is None or b.encoders is None:
            return ""
        if a.encoders != b.encoders:
            fewer = b.encoders - a.encoders
            return "" if fewer < 0 else f"it needs {count(fewer, 'encoder')} fewer" if a.encoders else NO_ENCODER
        if a.searches != b.searches:
            return (
                f"it is {count(a.searches, 'search', 'searches')}, not {b.searches}" if a.searches < b.searches else ""
            )
        if a.per_query and b.per_query and max(a.per_query, b.per_query) >= FACTOR * min(a.per_query, b.per_query):
            return "it answers in less than half the time" if a.per_query < b.per_query else ""
        return "it needs no explanations" if b.explained and not a.explained else ""


NO_ENCODER = "it needs no encoder"


def _total(parts: Sequence[float | None]) -> float | None:
    """The sum, where all parts are known."""
    return None if any(part is None for part in parts) else sum(part for part in parts if part is not None)
