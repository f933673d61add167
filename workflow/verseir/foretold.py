"""What a study will do, before it runs, in a short table for people: jobs by stage, time and disk by system."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from verseir.formats import count, listing
from verseir.plan import DISK, aligned, size_of, time_of

#: Stages of a run, in its order, and the files of rules that make them up.
STAGES = {
    "read the poems and queries": "ingest",
    "index and encode": "index construct",
    "search": "search",
    "train": "fine_tune",
    "measure and compare": "evaluate overlap analyse wording deploy check idioms settings languages fine_tuned",
    "judge": "judge people query_sheet package",
    "tables, figures, report": "publish idiom_pages figures report exchange",
}
_RULE = re.compile(r"^\s*(?:rule|use rule \w+ as) (\w+)(?::| with:)$", re.MULTILINE)
_JOBS = re.compile(r"^(\w+) +(\d+)$", re.MULTILINE)
#: Seconds that a job takes, mostly to start Python, where no job of its rule has been measured.
JOB_SECONDS = 4.0
#: Rules whose hours the plan has.
PLANNED = ("encode_texts", "encode_shard", "index_bm25")
#: The rule whose jobs take far longer than others, so that none is guessed at.
TRAINING = "fine_tune_encoder"


def jobs_of(dry_run: str) -> dict[str, int]:
    """The jobs by rule that a dry run of Snakemake tells; targets, which do nothing, left out."""
    table = dry_run.rpartition("Job stats:")[2]
    return {name: int(n) for name, n in _JOBS.findall(table) if name not in ("total", "all", "tables")}


def stages_of(rules: Path) -> dict[str, str]:
    """The stage of every rule, by the file in which it stands."""
    found = {}
    for stage, files in STAGES.items():
        for name in files.split():
            text = (rules / f"{name}.smk").read_text(encoding="utf-8")
            found.update(dict.fromkeys(_RULE.findall(text), stage))
    return found


def seconds_of_jobs(results: Path) -> dict[str, float]:
    """Mean seconds of a job by rule, as the benchmarks of the studies in ``results`` have them."""
    seconds: dict[str, list[float]] = {}
    for path in results.glob("*/benchmarks/**/*.tsv"):
        rule = path.relative_to(results).parts[2].removesuffix(".tsv")
        try:
            measured = float(path.read_text(encoding="utf-8").splitlines()[1].split("\t")[0])
        except (OSError, IndexError, ValueError):
            continue  # one that is being written
        seconds.setdefault(rule, []).append(measured)
    return {rule: sum(found) / len(found) for rule, found in seconds.items()}


def told_jobs(jobs: Mapping[str, int], stages: Mapping[str, str]) -> str:
    """Jobs by stage, a line each."""
    by_stage = Counter[str]()
    for rule, n in jobs.items():
        by_stage[stages.get(rule, "measure and compare")] += n
    lines = [["  what will run", "jobs"]]
    lines += [[f"  {stage}", f"{by_stage[stage]:,}"] for stage in STAGES if by_stage[stage]]
    return aligned([*lines, ["  all", f"{sum(jobs.values()):,}"]])


def told_systems(plan: pl.DataFrame, gpu: bool) -> str:
    """Texts to encode or index, time and disk by system, a line each, from a PLAN table."""
    lines = [["  what it takes", "texts to do", "on the GPU" if gpu else "on the CPU", "disk"]]
    steps = plan.filter(pl.col("step").is_in(list(DISK)))
    for name in [*steps["system"].unique().sort(), None]:
        rows = steps if name is None else steps.filter(pl.col("system") == name)
        hours, unknown = hours_of(rows, gpu)
        made = rows.filter(pl.col("step").is_in(["encode", "index"]))
        time = "-" if not len(made) else "?" if unknown and not hours else time_of(hours) + (" + ?" if unknown else "")
        texts = f"{int(made['n_new'].sum()):,}" if len(made) else "-"
        lines.append([f"  {name or 'all'}", texts, time, size_of(float(rows["disk_mib"].sum()))])
    return aligned(lines)


def hours_of(plan: pl.DataFrame, gpu: bool) -> tuple[float, list[str]]:
    """The hours of encodes and indexes, and the systems of which they are not known."""
    made = plan.filter(pl.col("step").is_in(["encode", "index"]) & (pl.col("n_new") > 0))
    hours = pl.coalesce("gpu_hours", "cpu_hours") if gpu else pl.col("cpu_hours")
    known = made.with_columns(hours=hours)
    unknown = known.filter(pl.col("hours").is_null())["system"].unique().sort()
    return float(known["hours"].sum()), unknown.to_list()


def told_time(jobs: Mapping[str, int], seconds: Mapping[str, float], plan: pl.DataFrame, gpu: bool, cores: int) -> str:
    """One line: how long a run takes, about."""
    hours, unknown = hours_of(plan, gpu)
    untold = TRAINING in jobs and TRAINING not in seconds
    others = {rule: n for rule, n in jobs.items() if rule not in PLANNED and not (untold and rule == TRAINING)}
    rest = sum(n * seconds.get(rule, JOB_SECONDS) for rule, n in others.items()) / cores / 3600
    named = "on one core" if cores == 1 else f"on {cores} cores"
    told = f"About {time_of(hours + rest)} {named}: {time_of(hours)} to encode and index, {time_of(rest)} for all else."
    unknown = [*unknown, count(jobs[TRAINING], "run of training", "runs of training")] if untold else unknown
    return told + (f" What {listing(unknown)} takes no run has measured yet." if unknown else "")


def told_models(plan: pl.DataFrame) -> str:
    """One line on the models that are yet to be fetched; "" where all are at hand."""
    lacking = plan.filter(~pl.col("at_hand"))["system"].unique().sort()
    named = listing(lacking.to_list())
    return f"To be fetched first, {count(len(lacking), 'model')}: {named}." if len(lacking) else ""
