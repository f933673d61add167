"""Lines at their sizes with one number of threads, timed in a process of their own."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from harness.line import Disagreement, Line, Peer
from harness.machine import forget_peak, peak_mb
from harness.timing import first_call, interleave, seconds_of

#: The number of threads has to be said before the libraries that read it are loaded.
THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS"),
)


class Effort(NamedTuple):
    """How much time a case is given: seconds for the pairs with each peer, the fewest and the most of them."""

    seconds: float
    fewest: int
    most: int


class Job(NamedTuple):
    """What one process does.

    Attributes:
        cases: lines by name, each with its sizes, in their order; none: only the first calls of the line are timed.
        threads: how many each may use.
        first: whether first calls are timed, before all sizes.
        effort: of each case.
    """

    cases: dict[str, list[int]]
    threads: int
    first: bool
    effort: Effort


def environment(threads: int, compiled: str) -> dict[str, str]:
    """What a case's process is started with.

    Args:
        compiled: the folder where numba keeps what it compiled.
    """
    named = dict.fromkeys(THREADS, str(threads)) | {"NUMBA_CACHE_DIR": compiled}
    return {**os.environ, **named, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false"}


def run_job(job: Job, lines: Mapping[str, Line], output: Path) -> None:
    """Run all cases of a job and write what comes out, a line of JSON for each as it ends.

    It has ``line``, ``size`` and ``answer``: what ``run_case`` gave, or ``error``: how programs disagree. The size is
    0 where ``answer`` is what ``time_first_calls`` gave.
    """
    with output.open("w", encoding="utf-8") as stream:

        def tell(line: str, size: int, answer: dict[str, Any]) -> None:
            stream.write(json.dumps({"line": line, "size": size, "answer": answer}) + "\n")
            stream.flush()

        for name, sizes in job.cases.items():
            if job.first:
                tell(name, 0, time_first_calls(lines[name], job.threads))
            for size in sizes:
                try:
                    tell(name, size, run_case(lines[name], size, job.threads, job.effort))
                except Disagreement as error:
                    tell(name, size, {"error": f"results disagree: {error}"})


def time_first_calls(line: Line, threads: int) -> dict[str, float]:
    """Seconds that the first call takes more than the next, by program; ours is named ``ours``."""
    if not line.jitted:
        return {}
    data = line.prepare(line.first, threads)
    calls: dict[str, Callable[[], Any]] = {"ours": partial(line.ours, data, threads)}
    calls |= {peer.name: partial(peer.run, data, threads) for peer in line.peers}
    return {name: first_call(call) for name, call in calls.items()}


def run_case(line: Line, size: int, threads: int, effort: Sequence[float]) -> dict[str, Any]:
    """Check that all programs agree on an input of ``size``, then time them.

    Returns:
        ``pairs``: by peer, seconds of ``ours`` and of ``theirs`` (for the whole work); ``parts``: seconds by step;
        ``peak_mb``; ``load``: of the machine, before and after.

    Raises:
        Disagreement: a peer gives another result.
    """
    gc.collect()
    forget_peak()
    load = os.getloadavg()[0]
    data = line.prepare(size, threads)
    ours = partial(line.ours, data, threads)
    result = ours()
    for peer in line.peers_at(size):
        _require_agreement(line, peer, data, result, threads)
    del result
    pairs = {}
    for peer in line.peers_at(size):
        share = peer.share(data)
        taken = interleave(ours, partial(peer.run, data, threads), *Effort(*effort))
        pairs[peer.name] = {"ours": taken.ours, "theirs": [part / share for part in taken.theirs], "share": share}
    parts: Mapping[str, float] = line.parts(data, threads) if line.parts else {}
    if parts:
        parts = {"all": seconds_of(ours), **parts}
    return {
        "pairs": pairs,
        "parts": dict(parts),
        "peak_mb": peak_mb(),
        "load": [round(load, 2), round(os.getloadavg()[0], 2)],
    }


def _require_agreement(line: Line, peer: Peer, data: Any, result: Any, threads: int) -> None:
    try:
        line.same(data, result, peer.run(data, threads), peer.name)
    except Disagreement as error:
        raise Disagreement(f"{line.name} and {peer.name}: {error}") from error
