"""A line of the page: a work that the project does, and peers that do it too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


class Disagreement(Exception):
    """Two programs did not give the same result for the same input: their times are not comparable."""


def _whole(_: Any) -> float:
    return 1.0


@dataclass(frozen=True)
class Peer:
    """Another program that does the work.

    Attributes:
        name: what the page calls it.
        run: does the work; takes what ``Line.prepare`` gave and the number of threads.
        floors: the least that its time may be, divided by ours, at the largest size; by number of threads.
        share: what part of the work ``run`` does, above 0 and at most 1. Its time is divided by it: for peers that
            would take minutes and whose time is known to grow in proportion.
        most: the largest size that it is given.
        remark: what has to be known of it to read its figures.
    """

    name: str
    run: Callable[[Any, int], Any]
    floors: Mapping[int, float] = field(default_factory=dict)
    share: Callable[[Any], float] = _whole
    most: int | None = None
    remark: str = ""


@dataclass(frozen=True)
class Line:
    """A work and how it is timed.

    Attributes:
        name: a slug, to run it alone.
        work: what the page calls it.
        unit: what sizes count.
        sizes: ascending; the last is the one that floors hold for.
        quick: sizes of a trial that takes seconds; none where even that takes long.
        prepare: makes the input from a size and a number of threads, untimed; the same input each time.
        ours: does the work as the workflow does; takes what ``prepare`` gave and the number of threads.
        peers: who else does it.
        same: takes what ``prepare``, ``ours`` and a peer gave and the peer's name; raises Disagreement unless the
            results agree.
        threads: numbers of threads that it is timed with.
        jitted: whether some of the programs compile while they run. The first call is timed apart then, on an input of
            the size ``first``: in a process that finds what earlier ones compiled, and in one that finds nothing.
        parts: takes what ``prepare`` gave and the number of threads; seconds of steps that ours is made of, by name.
        binds: which limit binds where ours is the slower one, or misses its floor.
        packages: whose versions the figures depend on.
        lacks: why it cannot be timed on this machine; empty where it can.
    """

    name: str
    work: str
    unit: str
    sizes: tuple[int, ...]
    quick: tuple[int, ...]
    prepare: Callable[[int, int], Any]
    ours: Callable[[Any, int], Any]
    peers: tuple[Peer, ...]
    same: Callable[[Any, Any, Any, str], None]
    threads: tuple[int, ...] = (2,)
    jitted: bool = False
    first: int = 0
    parts: Callable[[Any, int], Mapping[str, float]] | None = None
    binds: str = ""
    packages: tuple[str, ...] = ()
    lacks: Callable[[], str] = str

    def peers_at(self, size: int) -> tuple[Peer, ...]:
        """The peers that are given an input of this size."""
        return tuple(peer for peer in self.peers if peer.most is None or size <= peer.most)
