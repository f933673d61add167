"""How long, and with how much memory, all analyses of a study of the usual size take, from its ranked lists.

    python benchmarks/analysis_stage.py build/analysis-stage

makes a synthetic study of 10 systems x 2 corpora x 3 modes x 250 queries (see ``synthetic_study``) in a copy of the
project in that folder and runs the workflow on it twice: first everything up to the measures of each query, the
leaderboard, the declared contrasts, ties and costs; then the analyses, their figures and the report alone.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

import psutil
from synthetic_study import NAME, Size, write_study

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "workflow"))

from verseir.whole import at_least_one  # noqa: E402  (found on the path above)

#: What a working copy of the project needs.
PARTS = ("Snakefile", "workflow", "config", "envs", "profiles", "pyproject.toml")
RESULTS = Path("results") / NAME
BEFORE = ["per_query.parquet", "manifest.json"]
BEFORE += [f"tables/{name}.csv" for name in ("leaderboard", "registers", "contrasts", "ties", "costs", "encoding")]
AFTER = ["report/index.html"]
MOST_SECONDS = 180
MOST_MB = 2048
MEBIBYTE = 1 << 20


def copy_project(folder: Path) -> None:
    """Copy what a working copy of the project needs into ``folder``, in place of what was copied before.

    With the time of copying: Snakemake looks into a file only where it is younger than what was made of it.
    """
    skipped = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.rmtree(folder / part, ignore_errors=True)
            shutil.copytree(source, folder / part, ignore=skipped, copy_function=shutil.copy)
        else:
            shutil.copy(source, folder / part)


class Sampler:
    """Looks at a process five times a second, in a thread of its own, until it is left or the process is gone."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        with suppress(psutil.NoSuchProcess):
            while not self._stop.wait(0.2):
                self.look()

    def look(self) -> None:
        """Take a sample; raises psutil.NoSuchProcess where there is none to be had any more."""
        raise NotImplementedError


class Memory(Sampler):
    """Samples the resident memory of a process with all its children, and of each rule's job.

    Snakemake's own benchmark files sample a job twice a second at first and each half minute later, and see no two jobs
    at once. Pages that processes share are counted for each of them: the figures are upper bounds.
    """

    def __init__(self, pid: int):
        super().__init__()
        self.root = psutil.Process(pid)
        self.all = 0.0
        self.of_rule: dict[str, float] = defaultdict(float)

    def look(self) -> None:
        total = 0.0
        for process in [self.root, *self.root.children(recursive=True)]:
            try:
                size, words = process.memory_info().rss / MEBIBYTE, process.cmdline()
            except (psutil.NoSuchProcess, psutil.ZombieProcess):
                continue
            total += size
            if words[1:3] == ["-m", "verseir"]:
                self.of_rule[words[3]] = max(self.of_rule[words[3]], size)
        self.all = max(self.all, total)


class Taken(NamedTuple):
    """What a step took: seconds, seconds of all processors (which other programs hardly change), memory."""

    seconds: float
    processor: float
    memory: Memory


def run_workflow(folder: Path, targets: list[str], cores: int, results: Path = RESULTS) -> Taken:
    """Make ``targets`` of the study below ``results`` with Snakemake."""
    command = [sys.executable, "-m", "snakemake", *(str(results / target) for target in targets)]
    command += ["--cores", str(cores), "--configfile", "study.yaml", "--quiet", "all"]
    plain = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VERSEIR_CACHE")}
    environment = plain | {"HF_HUB_OFFLINE": "1", "NUMBA_CACHE_DIR": str(folder / ".cache" / "numba")}
    start, used = time.monotonic(), processor_seconds()
    with subprocess.Popen(command, cwd=folder, env=environment) as process, Memory(process.pid) as memory:
        code = process.wait()
    if code:
        raise SystemExit(f"the workflow failed in {folder}: see {folder / results / 'logs'}")
    return Taken(time.monotonic() - start, processor_seconds() - used, memory)


def processor_seconds() -> float:
    """Seconds of processors that ended children of this process, and theirs, have used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def jobs_since(folder: Path, start: float, results: Path = RESULTS) -> dict[str, list[tuple[float, float]]]:
    """Seconds and ``max_rss`` in MB of the jobs of each rule, from the benchmark files written since ``start``."""
    files = folder / results / "benchmarks"
    found = defaultdict(list)
    for path in sorted(files.rglob("*.tsv")):
        if path.stat().st_mtime < start:
            continue
        rule = path.relative_to(files).parts[0].removesuffix(".tsv")
        with path.open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                size = row["max_rss"]  # "NA": the job was over before it was seen
                found[rule].append((float(row["s"]), 0.0 if size == "NA" else float(size)))
    return dict(found)


def remove_analyses(folder: Path) -> None:
    """Remove what the second step makes, so that it is made again."""
    for name in ("overlap", "figures", "report"):
        shutil.rmtree(folder / RESULTS / name, ignore_errors=True)
    for path in (folder / RESULTS / "tables").glob("*.csv"):
        if f"tables/{path.name}" not in BEFORE:
            path.unlink()


def measure(step: str, folder: Path, targets: list[str], cores: int) -> Taken:
    """Run a step, and print what it took and which of its rules took the most."""
    start, load = time.time(), os.getloadavg()[0]
    taken = run_workflow(folder, targets, cores)
    jobs, memory = jobs_since(folder, start), taken.memory
    print(
        f"\n{step}: {taken.seconds:.0f} s, {taken.processor:.0f} s of processors, {sum(map(len, jobs.values()))} jobs"
    )
    print(f"  load of the machine: {load:.1f} before, {os.getloadavg()[0]:.1f} after, {os.cpu_count()} processors")
    peaks = {rule: max(memory.of_rule.get(rule, 0.0), *(size for _, size in jobs[rule])) for rule in jobs}
    if peaks:
        largest = max(peaks, key=lambda rule: peaks[rule])
        print(f"  memory: {peaks[largest]:.0f} MB in one job ({largest}), {memory.all:.0f} MB in all processes at once")
        print("  slowest rules: seconds of the longest job, MB")
    for rule in sorted(jobs, key=lambda rule: -max(jobs[rule])[0])[:5]:
        print(f"    {rule:<24}{max(jobs[rule])[0]:7.1f}{peaks[rule]:8.0f}")
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the study is made; where it is, the analyses are made again")
    parser.add_argument("--cores", type=at_least_one, default=2)
    for name, default in Size()._asdict().items():
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    folder = args.folder.resolve()
    if folder.exists() and not (folder / "study.yaml").exists():
        parser.error(f"{args.folder} exists and holds no study of this benchmark")
    folder.mkdir(parents=True, exist_ok=True)
    copy_project(folder)
    if not (folder / "study.yaml").exists():
        write_study(folder, Size(args.poems, args.queries, args.themes, args.depth))
    measure("up to the measures", folder, BEFORE, args.cores)
    remove_analyses(folder)
    taken = measure("analyses, figures, report", folder, AFTER, args.cores)
    sound = taken.seconds < MOST_SECONDS and taken.memory.all < MOST_MB
    limits = f"{taken.seconds:.0f} s of {MOST_SECONDS}, {taken.memory.all:.0f} MB of {MOST_MB}"
    print(f"\n{'OK' if sound else 'FAIL'}: {limits}")
    return 0 if sound else 1


if __name__ == "__main__":
    raise SystemExit(main())
