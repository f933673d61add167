"""The plan of a study: what is still to be done, how long that may take and how much disk it needs, told as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl

from verseir.systems.forecast import CHARACTERS, CORE_FLOPS, GPU_FLOPS
from verseir.tables import define

PLAN = define(
    "plan",
    {
        "step": pl.String,
        "system": pl.String,
        "corpus": pl.String,
        "n_texts": pl.Int64,
        "n_new": pl.Int64,
        "n_tokens": pl.Int64,
        "tokens_from": pl.String,
        "gpu_hours": pl.Float64,
        "gpu_from": pl.String,
        "cpu_hours": pl.Float64,
        "cpu_from": pl.String,
        "n_jobs": pl.Int64,
        "largest_share": pl.Float64,
        "at_hand": pl.Boolean,
        "disk_mib": pl.Float64,
        "n_calls": pl.Int64,
        "note": pl.String,
    },
    nullable="n_texts n_new n_tokens tokens_from gpu_hours gpu_from cpu_hours cpu_from n_jobs largest_share at_hand"
    " disk_mib n_calls note",
    unique="step system corpus",
)

#: Steps by the column of the printed table that their disk stands in.
DISK = {"encode": "vectors", "index": "indexes", "search": "runs", "export": "trec"}
#: Steps in which a language model is asked.
ASKED = {"judge": "items judged", "write": "verses explained", "rewrite": "queries rewritten"}

#: Why an encoder has no hours on a GPU.
NO_GPU = "it has no use for one"


def plan_table(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """The PLAN table of rows that give some of its columns."""
    given = [{name: row.get(name) for name in PLAN.columns} for row in rows]
    return pl.DataFrame(given, schema=dict(PLAN.columns), orient="row").sort("step", "system", "corpus")


def told(plan: pl.DataFrame, cores: int) -> str:
    """The plan for a reader: a line for each system, the sum of all, and how the numbers were come by.

    Args:
        cores: those of an encode on the CPU.
    """
    steps = plan.filter(pl.col("step").is_in(list(DISK)))
    lines = [["system", "texts", "to do", "tokens", "on a GPU", "on the CPU", "jobs", "longest", *DISK.values()]]
    lines += [_line(name, steps.filter(pl.col("system") == name)) for name in steps["system"].unique().sort()]
    lines.append(_line("all", steps))
    text = aligned(lines)
    for row in plan.filter(pl.col("step").is_in(list(ASKED))).iter_rows(named=True):
        what = f"{row['system']} on {row['corpus']}: at most {row['n_calls']:,} {ASKED[row['step']]}"
        text += f"\n{what}; answers that are kept are not asked for again"
    return f"{text}\n\n" + "\n".join(_notes(plan, cores))


def _line(name: str, rows: pl.DataFrame) -> list[str]:
    made = rows.filter(pl.col("step").is_in(["encode", "index"]))
    due = made.filter(pl.col("n_new") > 0)
    encoded = due.filter(pl.col("step") == "encode")
    tokens = _count(int(encoded["n_tokens"].sum())) if len(encoded) else "-"
    if len(encoded) and set(encoded["tokens_from"]) != {"tokenizer"}:
        tokens = f"~{tokens}"
    quicker = pl.min_horizontal("gpu_hours", "cpu_hours") * pl.col("largest_share").fill_null(1.0)
    return [
        name,
        _count(int(made["n_texts"].sum())) if len(made) else "-",
        _count(int(made["n_new"].sum())) if len(made) else "-",
        tokens,
        _hours(encoded.filter(~pl.col("gpu_from").eq_missing(NO_GPU))["gpu_hours"]),
        _hours(due["cpu_hours"]),
        str(due["n_jobs"].sum()) if len(due) else "-",
        _hours(due.select(quicker).to_series(), whole=pl.Series.max),
        *(size_of(float(rows.filter(pl.col("step") == step)["disk_mib"].sum())) for step in DISK),
    ]


def _notes(plan: pl.DataFrame, cores: int) -> Iterable[str]:
    yield (
        "texts: distinct documents and queries of each encode, chunks of each index; to do: those that the vector store"
        " lacks, and all of an index that is not there; with an empty store fewer than the texts, where some are equal"
        " once they are normalised or an encode before has them too"
    )
    yield (
        "the GPU and the CPU are alternatives; longest: the longest job on the quicker of the two, of several jobs that"
        " share an encode the one with the most text"
    )
    counted = set(plan["tokens_from"].drop_nulls())
    if "sample" in counted:
        names = _systems(plan, pl.col("tokens_from") == "sample")
        yield f"~ tokens of {names}: the encoder's own tokenizer read a sample of the texts"
    if "characters" in counted:
        names = _systems(plan, pl.col("tokens_from") == "characters")
        yield f"~ tokens of {names}: no tokenizer is at hand, {CHARACTERS:g} characters are taken for one"
    for kind, column in (("GPU", "gpu_from"), ("CPU", "cpu_from")):
        for source in plan[column].drop_nulls().unique().sort():
            yield f"hours on the {kind} of {_systems(plan, pl.col(column) == source)}: {source}"
    unknown = pl.col("cpu_hours").is_null() | (pl.col("gpu_hours").is_null() & pl.col("gpu_from").is_null())
    if names := _systems(plan, (pl.col("step") == "encode") & (pl.col("n_new") > 0) & unknown):
        yield f"? of {names}: the number of parameters is not known, and no run has measured it; a small run does"
    if names := _systems(plan, ~pl.col("at_hand")):
        yield f"not at hand, and to be fetched first: {names}; the disk that models take is not in the plan"
    if "parameters" in set(plan["gpu_from"]) | set(plan["cpu_from"]):
        yield (
            "parameters: two operations for each parameter and token; taken for granted are"
            f" {GPU_FLOPS / 1e12:g} teraflops of a GPU, half of it in float32, and {CORE_FLOPS / 1e9:g} gigaflops of"
            f" each of {cores} cores"
        )
    yield "disk: vectors that are to be added; indexes, runs and TREC files of the whole study; runs of BM25 at most"
    yield "not in the plan: fetching and loading of models, tuning, searches, measures, analyses, figures"
    yield from plan["note"].drop_nulls().unique().sort()


def _systems(plan: pl.DataFrame, which: pl.Expr) -> str:
    return ", ".join(plan.filter(which)["system"].unique().sort())


def aligned(lines: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _count(number: int) -> str:
    for size, unit in ((10**9, "G"), (10**6, "M")):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number:,}"


def _hours(hours: pl.Series, whole: Callable[[pl.Series], Any] = pl.Series.sum) -> str:
    """The sum of some hours, or their ``whole``; ``?`` where none is known, and behind it where some are not."""
    if not len(hours) or hours.null_count() == len(hours):
        return "?" if len(hours) else "-"
    return time_of(float(whole(hours))) + (" + ?" if hours.null_count() else "")


def time_of(hours: float) -> str:
    seconds = hours * 3600
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if hours < 1.5 else f"{hours:.1f} h"


def size_of(mebibytes: float) -> str:
    if mebibytes == 0:
        return "-"
    return f"{mebibytes:.1f} MiB" if mebibytes < 1024 else f"{mebibytes / 1024:.1f} GiB"
