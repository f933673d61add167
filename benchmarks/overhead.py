"""What the demo takes beyond the work of its rules: Snakemake itself, and starting Python for each job.

    python benchmarks/overhead.py                  the demo on one core, then what follows: build/overhead
    python benchmarks/overhead.py --cores 1 2      on one core, and afresh on two
    python benchmarks/overhead.py --no-run         dry runs and starts alone, in a minute or so

Each run is of a clean copy of the project, with nothing stored. Its wall time is set beside the sum of the seconds that
Snakemake measured of its jobs, start of Python included: at most 1.3 times it on one core. A dry run of each study
should take less than 5 s, and a run with nothing to do less than 6 s, on a core that does nothing else: where other
programs run, go by the seconds of the processor. Writes ``overhead.json`` and prints it as tables.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from analysis_stage import Memory, Sampler, at_least_one, copy_project, processor_seconds

ROOT = Path(__file__).parents[1]
STUDIES = ("openiti", "idiolink", "poetrymteb")
#: What the demo reads beside a working copy of the project.
RESOURCES = "resources"
MOST_RATIO, MOST_DRY, MOST_IDLE = 1.3, 5.0, 6.0
#: Times that what is short is measured; the quickest counts.
REPEATS = 3


class Taken(NamedTuple):
    """Seconds that a command took, and seconds of processors of it and of what it started."""

    wall: float
    processor: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "overhead")
    parser.add_argument("--cores", type=at_least_one, nargs="+", default=[1])
    parser.add_argument("--no-run", action="store_true", help="measure no run of the demo")
    parser.add_argument("--study", type=Path, help="a study file in place of the demo")
    args = parser.parse_args()
    found: dict[str, Any] = {"dry": {name: dry_run(name) for name in STUDIES}, "runs": []}
    jobs: dict[str, int] = {}
    if not args.no_run:
        for cores in args.cores:
            run = whole_run(args.folder / f"on-{cores}", cores, args.study)
            found["runs"].append(run)
            jobs = run["jobs"]
    found["starts"] = starts(sorted(jobs) or ["make_chunks", "search_bm25", "evaluate_runs", "compare_systems"])
    for run in found["runs"]:
        run["starting"] = sum(n * found["starts"][rule] for rule, n in run["jobs"].items())
    args.folder.mkdir(parents=True, exist_ok=True)
    (args.folder / "overhead.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    tell(found)
    return 0


class OwnTime(Sampler):
    """Samples the seconds of the processor that a process has used without its children."""

    def __init__(self, pid: int):
        super().__init__()
        self.process = psutil.Process(pid)
        self.seconds = 0.0

    def look(self) -> None:
        times = self.process.cpu_times()
        self.seconds = max(self.seconds, times.user + times.system)


def whole_run(folder: Path, cores: int, study: Path | None) -> dict[str, Any]:
    """Run the demo, or another study, in a clean copy of the project in ``folder``; again with nothing to do."""
    if (folder / "results").exists() or (folder / ".cache").exists():
        raise SystemExit(f"{folder} holds a run already: remove it first")
    folder.mkdir(parents=True, exist_ok=True)
    copy_project(folder)
    for name in (RESOURCES, "tests/fixtures"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(ROOT / name)
    command = snakemake("--cores", str(cores), *(["--configfile", str(study.resolve())] if study else []))
    used, start = processor_seconds(), time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    with process, Memory(process.pid) as memory, OwnTime(process.pid) as own:
        said = process.communicate()[1]
    wall = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(said.decode()[-4000:])
    seconds, jobs = job_seconds(folder)
    return {
        "cores": cores,
        "wall": wall,
        "jobs_seconds": seconds,
        "ratio": wall / seconds,
        "processor": processor_seconds() - used,
        "snakemake_processor": own.seconds,
        "n_jobs": sum(jobs.values()),
        "jobs": jobs,
        "peak_memory_mb": memory.all,
        "peak_memory_of_rule_mb": dict(sorted(memory.of_rule.items())),
        "idle": best(command, folder)._asdict(),
    }


def job_seconds(folder: Path) -> tuple[float, dict[str, int]]:
    """The sum of the seconds of all jobs of a run, and the number of jobs of each rule."""
    seconds, jobs = 0.0, {}
    for files in folder.glob("results/*/benchmarks"):
        for path in files.rglob("*.tsv"):
            rule = path.relative_to(files).parts[0].removesuffix(".tsv")
            header, row = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
            seconds += float(row[header.index("s")])
            jobs[rule] = jobs.get(rule, 0) + 1
    return seconds, jobs


def dry_run(study: str) -> dict[str, float]:
    """A dry run of a study whose data need not be at hand."""
    return best(snakemake("-n", "--configfile", f"config/studies/{study}.yaml"), ROOT)._asdict()


def starts(verbs: Sequence[str]) -> dict[str, float]:
    """Seconds of a processor from the start of Python until a verb could begin."""
    return {verb: best([sys.executable, "-m", "verseir", verb, "--help"], ROOT).processor for verb in verbs}


def best(command: list[str], folder: Path) -> Taken:
    """The quickest of several runs of a command, by the seconds of the processor."""
    return min((once(command, folder) for _ in range(REPEATS)), key=lambda taken: taken.processor)


def once(command: list[str], folder: Path) -> Taken:
    used, start = processor_seconds(), time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return Taken(time.perf_counter() - start, processor_seconds() - used)


def snakemake(*arguments: str) -> list[str]:
    cores = [] if "--cores" in arguments else ["--cores", "8"]
    return [sys.executable, "-m", "snakemake", *cores, "--resources", "gpu=1", *arguments]


def environment(folder: Path) -> dict[str, str]:
    """No network, and the code and the caches of ``folder`` alone."""
    plain = {key: value for key, value in os.environ.items() if key != "VERSEIR_CACHE"}
    mine = {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(folder / "workflow")}
    return plain | mine | {"NUMBA_CACHE_DIR": str(folder / ".cache" / "numba")}


def tell(found: dict[str, Any]) -> None:
    for run in found["runs"]:
        print(f"run on {run['cores']} cores: {run['n_jobs']} jobs")
        print(
            f"  wall {run['wall']:.1f} s, jobs {run['jobs_seconds']:.1f} s, ratio {run['ratio']:.2f}"
            f" (at most {MOST_RATIO} on one core)"
        )
        own, starting = run["snakemake_processor"], run["starting"]
        print(
            f"  processor {run['processor']:.1f} s: Snakemake {own:.1f} s, Python's start in all jobs {starting:.1f} s"
        )
        print(f"  peak memory of all processes {run['peak_memory_mb']:,.0f} MB")
        idle = run["idle"]
        print(f"  nothing to do: {idle['wall']:.1f} s, processor {idle['processor']:.1f} s (at most {MOST_IDLE} s)")
    for name, dry in found["dry"].items():
        print(f"dry run of {name:12} {dry['wall']:5.1f} s, processor {dry['processor']:5.1f} s (at most {MOST_DRY} s)")
    print("start of a job, seconds of a processor:")
    for verb, seconds in sorted(found["starts"].items(), key=lambda item: -item[1]):
        print(f"  {verb:24} {seconds:5.2f}")


if __name__ == "__main__":
    sys.exit(main())
