"""From the times of cases to rows: what a figure is, which floor it meets, which limit binds."""

from __future__ import annotations

import json
import math
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from harness.line import Line, Peer
from harness.timing import Pairs

#: Versions of the medians that an exponent's interval is taken from.
DRAWS = 1999
#: Version of the file's form.
FORM = 2


@dataclass(frozen=True)
class Row:
    """A work, a peer, a size, a number of threads.

    Attributes:
        line, work, peer, size, unit, threads: what was timed.
        ours_s, peer_s: seconds, medians over the pairs; null where nothing was timed.
        ratio: the peer's time divided by ours, the median of the pairs' ratios.
        spread: the lowest and the highest of them.
        pairs: how many.
        ours_times, peer_times: the seconds of each pair.
        share: what part of the work the peer was timed on; ``peer_s`` is for the whole.
        compile_s: seconds that the first call took more than the next: ``ours`` and ``peer`` in a process that finds
            what earlier ones compiled, ``ours_cold`` and ``peer_cold`` in one that finds nothing.
        ratio_counted: the ratio of times with ``ours`` and ``peer`` of these; ``ratio_cold`` with the other two.
        target: the floor of the ratio; null at all sizes but the largest.
        met: whether both ``ratio`` and ``ratio_counted`` are at least the target.
        note: what has to be known to read it.
        binds: which limit binds, where the floor is missed; or where we are slower, if there is no floor.
        parts: the share of ours that its steps take, by name.
        peak_mb, load: of the process; of the machine before and after.
        error: why there are no figures, where programs disagreed or one failed.
    """

    line: str
    work: str
    peer: str
    size: int
    unit: str
    threads: int
    ours_s: float | None = None
    peer_s: float | None = None
    ratio: float | None = None
    spread: list[float] = field(default_factory=list)
    pairs: int = 0
    ours_times: list[float] = field(default_factory=list)
    peer_times: list[float] = field(default_factory=list)
    share: float = 1.0
    compile_s: dict[str, float] = field(default_factory=dict)
    ratio_counted: float | None = None
    ratio_cold: float | None = None
    target: float | None = None
    met: bool | None = None
    note: str = ""
    binds: str = ""
    parts: dict[str, float] = field(default_factory=dict)
    peak_mb: int | None = None
    load: list[float] = field(default_factory=list)
    error: str = ""


def target_of(line: Line, peer: Peer, size: int, threads: int) -> float | None:
    """The floor that holds for a row, if one does."""
    return peer.floors.get(threads) if size == line.sizes[-1] else None


def make_row(
    line: Line,
    peer: Peer,
    size: int,
    threads: int,
    case: dict[str, Any],
    first: dict[str, float],
    cold: dict[str, float],
) -> Row:
    """The row of a case and one of its peers.

    Args:
        case: what ``run_case`` gave.
        first: what ``time_first_calls`` gave; empty where nothing compiles.
        cold: what ``time_first_calls`` gave in a process that found nothing compiled.
    """
    taken = case["pairs"][peer.name]
    pairs = Pairs(taken["ours"], taken["theirs"])
    ours_s, peer_s, ratio = pairs.median
    compiled: dict[str, float] = {}
    for kind, calls in (("", first), ("_cold", cold)):
        if calls:
            compiled |= {f"ours{kind}": calls["ours"], f"peer{kind}": calls.get(peer.name, 0.0)}

    def counted(kind: str) -> float:
        return (peer_s + compiled.get(f"peer{kind}", 0.0)) / (ours_s + compiled.get(f"ours{kind}", 0.0))

    target = target_of(line, peer, size, threads)
    met = None if target is None else min(ratio, counted("")) >= target
    whole = case["parts"].get("all", 0.0)
    parts = {name: round(part / whole, 3) for name, part in case["parts"].items() if name != "all"}
    return Row(
        *(line.name, line.work, peer.name, size, line.unit, threads),
        ours_s=_rounded(ours_s),
        peer_s=_rounded(peer_s),
        ratio=_rounded(ratio),
        spread=[_rounded(min(pairs.ratios)), _rounded(max(pairs.ratios))],
        pairs=len(pairs.ours),
        ours_times=[_rounded(seconds) for seconds in pairs.ours],
        peer_times=[_rounded(seconds) for seconds in pairs.theirs],
        share=_rounded(taken["share"]),
        compile_s={name: round(seconds, 3) for name, seconds in compiled.items()},
        ratio_counted=_rounded(counted("")),
        ratio_cold=_rounded(counted("_cold")) if cold else None,
        target=target,
        met=met,
        note=_note(peer, taken["share"]),
        binds=_binds(line, ratio, counted(""), target),
        parts=parts,
        peak_mb=case["peak_mb"],
        load=case["load"],
    )


def untimed_rows(line: Line, size: int, threads: int, *, note: str = "", error: str = "") -> list[Row]:
    """Rows without figures, one for each peer."""
    return [
        Row(
            *(line.name, line.work, peer.name, size, line.unit, threads),
            target=target_of(line, peer, size, threads),
            note=note,
            error=error,
        )
        for peer in line.peers_at(size)
    ]


def _note(peer: Peer, share: float) -> str:
    told = [peer.remark] if peer.remark else []
    if share < 1:
        told.append(f"the peer was timed on {share:.3g} of the work, which its time is proportional to")
    return "; ".join(told)


def _binds(line: Line, ratio: float, counted: float, target: float | None) -> str:
    if target is not None and ratio >= target > counted:
        return "the time to load or compile kernels alone"
    return line.binds if min(ratio, counted) < (1.0 if target is None else target) else ""


class Exponent(NamedTuple):
    """The x of seconds = a * size ^ x, and the ends of its 95% interval, null where a size was timed once."""

    x: float
    low: float | None
    high: float | None


def exponent(times: Mapping[int, Sequence[float]], largest: int = 3) -> Exponent | None:
    """Fit seconds = a * size ^ x to the ``largest`` sizes by least squares of the logarithms of the medians.

    The interval holds 95% of the slopes that are found when the times of each size are drawn anew from themselves. It
    tells how far the times scatter, not how well a power describes them.

    Args:
        times: the times of each size, in seconds.

    Returns:
        None where fewer than two sizes were timed.
    """
    sizes = sorted(size for size, taken in times.items() if taken)[-largest:]
    if len(sizes) < 2:
        return None
    x = [math.log(size) for size in sizes]

    def slope(taken: Iterable[Sequence[float]]) -> float:
        return statistics.linear_regression(x, [math.log(statistics.median(part)) for part in taken]).slope

    timed = [times[size] for size in sizes]
    found = slope(timed)
    if min(map(len, timed)) < 2:
        return Exponent(round(found, 3), None, None)
    rng = random.Random(1)
    drawn = sorted(slope(rng.choices(part, k=len(part)) for part in timed) for _ in range(DRAWS))
    edge = round(0.025 * DRAWS)
    return Exponent(round(found, 3), round(drawn[edge], 3), round(drawn[-1 - edge], 3))


def growth(rows: list[Row]) -> list[dict[str, Any]]:
    """For each line, peer and number of threads timed at two sizes or more: the exponents of both."""
    found = []
    for key in dict.fromkeys((row.line, row.peer, row.threads) for row in rows):
        part = [row for row in rows if (row.line, row.peer, row.threads) == key]
        ours, theirs = (
            exponent({row.size: getattr(row, whose) for row in part}) for whose in ("ours_times", "peer_times")
        )
        if ours is not None and theirs is not None:
            sizes = sorted(row.size for row in part if row.ratio is not None)
            names = dict(zip(("line", "peer", "threads"), key, strict=True))
            found.append({**names, "sizes": sizes, "ours": list(ours), "theirs": list(theirs)})
    return found


def replaced(results: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """``results`` with the lines of ``new``, a later run on the same machine, in place of what they were.

    Raises:
        ValueError: the machine or a package is another one.
    """
    versions = {name: new["versions"].get(name, version) for name, version in results["versions"].items()}
    if (new["machine"], versions) != (results["machine"], results["versions"]):
        raise ValueError("another machine or other packages than those of the other lines: run all lines again")
    again = {row.line: new["date"] for row in new["rows"]}
    rows: list[Row] = []
    for line in dict.fromkeys(row.line for row in results["rows"]):
        rows += [row for row in (new if line in again else results)["rows"] if row.line == line]
    return {**results, "rows": rows, "growth": growth(rows), "again": {**results.get("again", {}), **again}}


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Write results as JSON, whole or not at all; rows are Row objects."""
    plain = {**results, "rows": [asdict(row) for row in results["rows"]]}
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(json.dumps(plain, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    new.replace(path)


def read_results(path: Path) -> dict[str, Any]:
    """Read what ``write_results`` wrote.

    Raises:
        ValueError: the file has another form.
    """
    plain = json.loads(path.read_text(encoding="utf-8"))
    if plain.get("form") != FORM:
        raise ValueError(f"{path} has form {plain.get('form')}, expected {FORM}: run the benchmarks again")
    return {**plain, "rows": [Row(**row) for row in plain["rows"]]}


def _rounded(value: float) -> float:
    """``value`` to four significant digits."""
    return float(f"{value:.4g}")
