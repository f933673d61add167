"""RESULTS.md, written from the results, and the growth curves beside it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.curves import draw_growth
from harness.results import Row

PAGE, CURVES = "RESULTS.md", "growth.svg"


def write_page(folder: Path, results: dict[str, Any]) -> None:
    """Write ``RESULTS.md`` and ``growth.svg`` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    if results["growth"]:
        draw_growth(results["rows"], results["growth"], folder / CURVES)
    (folder / PAGE).write_text(make_page(results), encoding="utf-8")


def make_page(results: dict[str, Any]) -> str:
    """The text of the page: the figures that count first, what explains them after."""
    rows: list[Row] = results["rows"]
    parts = [_head(results), _summary(rows), _binding(rows), _failures(rows)]
    if results["growth"]:
        parts.append(_growth(results["growth"]))
    parts += [_all(rows), _explained(), _machine(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(results: dict[str, Any]) -> str:
    machine, loads = results["machine"], [row.load for row in results["rows"] if row.load]
    high = max((load[0] for load in loads), default=0.0)
    lines = [
        "# Speed against other programs",
        "",
        "A ratio is the peer's time divided by ours: above 1 we are faster. Both had the same input, gave the same "
        "result, and were timed in turns. Written by `make bench` from `results.json`; do not edit.",
    ]
    if high > machine["cores"] + 1:
        told = "Others used the machine too: seconds are not to be trusted, ratios and their spread less so."
        lines += ["", f"**{told}**"]
    return "\n".join(lines)


def _largest(rows: Sequence[Row]) -> list[Row]:
    """The largest size of each line, peer and number of threads, in the order of the lines."""
    found = {(row.line, row.peer, row.threads): row for row in sorted(rows, key=lambda row: row.size)}
    return [found[key] for key in dict.fromkeys((row.line, row.peer, row.threads) for row in rows)]


def _summary(rows: Sequence[Row]) -> str:
    floors = [row for row in rows if row.target is not None and (row.met is not None or row.error)]
    told = f"{sum(bool(row.met) for row in floors)} of {len(floors)} floors are met.\n\n" if floors else ""
    table = _table(
        ["line", "peer", "size", "threads", "ratio", "with first call", "floor", ""],
        [
            [
                *(f"[`{row.line}`](#{row.line})", row.peer, _size(row), row.threads, _ratio(row)),
                *(_number(row.ratio_counted), "" if row.target is None else f"{row.target:g}", _verdict(row)),
            ]
            for row in _largest(rows)
        ],
    )
    return f"{told}{table}"


def _binding(rows: Sequence[Row]) -> str:
    slow = [row for row in _largest(rows) if row.binds]
    told = "\n".join(f"- **`{row.line}`**, {row.peer}, {_threads(row.threads)}: {row.binds}." for row in slow)
    return f"## What binds where a floor is missed, or a peer is faster\n\n{told}" if slow else ""


def _failures(rows: Sequence[Row]) -> str:
    failed = [row for row in rows if row.error]
    told = "\n".join(f"- **{row.line}**, {row.peer}, {_size(row)}: {row.error}" for row in failed)
    return f"## What failed\n\n{told}" if failed else ""


def _all(rows: Sequence[Row]) -> str:
    parts = ["## All sizes"]
    for name in dict.fromkeys(row.line for row in rows):
        mine = [row for row in rows if row.line == name]
        table = _table(
            ["size", "threads", "peer", "ours", "peer's", "ratio", "with first call", "cold", "MB", "of ours", "note"],
            [
                [
                    *(_size(row), row.threads, row.peer, *_times(row), _ratio(row)),
                    *(_number(row.ratio_counted), _number(row.ratio_cold), row.peak_mb or "", _shares(row)),
                    row.note or row.error,
                ]
                for row in mine
            ],
        )
        parts.append(f"### {name}\n\n{_sentence(mine[0].work)}\n\n{_compiled(mine)}{table}")
    return "\n\n".join(parts)


def _compiled(rows: Sequence[Row]) -> str:
    """What the first calls took, of a line whose programs compile."""
    found = {(row.peer, row.threads): row.compile_s for row in rows if "ours_cold" in row.compile_s}
    if not found:
        return ""
    told = [
        f"{peer}, {_threads(threads)}: ours {taken['ours_cold']:.1f} s and the peer "
        f"{taken['peer_cold']:.1f} s where nothing is compiled, {taken['ours']:.1f} s and {taken['peer']:.1f} s later"
        for (peer, threads), taken in found.items()
    ]
    return f"The first call in a process takes more. {'; '.join(told)}.\n\n"


def _growth(growth: Sequence[dict[str, Any]]) -> str:
    table = _table(
        ["line", "peer", "threads", "sizes", "ours", "peer's"],
        [
            [
                *(f"`{part['line']}`", part["peer"], part["threads"]),
                f"{part['sizes'][-3:][0]:,} to {part['sizes'][-1]:,}",
                *(_exponent(part["ours"]), _exponent(part["theirs"])),
            ]
            for part in growth
        ],
    )
    return (
        f"## Growth\n\n![Seconds over size, ours and each peer's]({CURVES})\n\nThe exponent x of seconds = a · size^x "
        "over the three largest sizes, and the 95% interval that the scatter of the times leaves. Small inputs take a "
        f"fixed time, so that exponents below 1 rise with the sizes.\n\n{table}"
    )


def _exponent(found: Sequence[float | None]) -> str:
    x, low, high = found
    return f"{x:.2f}" + (" (timed once: no interval)" if low is None else f" ({low:.2f} to {high:.2f})")


def _explained() -> str:
    return """## How to read this

- **ours, peer's**: seconds, medians over the pairs. **ratio**: the median of the pairs' ratios, with the lowest and
  the highest. Results are compared before anything is timed; a line whose programs disagree has no figures.
- **with first call**: the first call in a process takes longer where a program compiles, or loads what it compiled.
  This is the ratio where that is counted in both. A floor is met where both ratios reach it. **cold** counts it as it
  is on a machine that has compiled nothing yet.
- **of ours**: the share of our time that a step takes, measured by itself.
- Input is made up, with a fixed seed: words by Zipf's law, lengths as poems have them, vectors that lie as an
  encoder's do. Encoders read words of the demo's poems."""


def _machine(results: dict[str, Any]) -> str:
    machine, loads = results["machine"], [row.load[0] for row in results["rows"] if row.load]
    features = ", ".join(machine["features"]) or "plain"
    rows = [
        ["measured", f"{results['date']}, in {_minutes(results['seconds'])}"],
        ["processor", f"{machine['processor']}, {machine['cores']} cores ({features})"],
        ["memory", f"{machine['memory_gb']:g} GB"],
        ["system", f"{machine['system']}, Python {machine['python']}"],
        ["packages", ", ".join(f"{name} {version}" for name, version in results["versions"].items())],
    ]
    if results.get("again"):
        rows.append(["timed again", ", ".join(f"`{line}` {date}" for line, date in results["again"].items())])
    if loads:
        rows.append(["load before the cases", f"{min(loads):g} to {max(loads):g}"])
    return f"## Machine and versions\n\n{_table(['', ''], rows)}"


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table without the columns that hold nothing."""
    told = [place for place in range(len(head)) if any(row[place] not in ("", None) for row in rows)]
    head, rows = [head[place] for place in told], [[row[place] for place in told] for row in rows]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: Any) -> str:
    return html.escape(str(value), quote=False).replace("|", "\\|").replace("\n", " ")


def _size(row: Row) -> str:
    return f"{row.size:,} {row.unit}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _threads(n: int) -> str:
    return f"{n} thread{'s' * (n > 1)}"


def _times(row: Row) -> list[str]:
    return [_seconds(row.ours_s), _seconds(row.peer_s)]


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _ratio(row: Row) -> str:
    return "" if row.ratio is None else f"**{row.ratio:.3g}** ({row.spread[0]:.3g} to {row.spread[1]:.3g})"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _shares(row: Row) -> str:
    return ", ".join(f"{name} {share:.0%}" for name, share in row.parts.items())


def _verdict(row: Row) -> str:
    if row.error:
        return "failed"
    if row.met is None:
        return "not timed" if row.ratio is None else ""
    return "met" if row.met else "**missed**"
