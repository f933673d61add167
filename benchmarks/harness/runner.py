"""Jobs one after the other, a process each, and the results of all."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from harness.case import Effort, Job, environment
from harness.line import Line
from harness.machine import cores, describe_machine, versions
from harness.results import FORM, Row, growth, make_row, untimed_rows

#: Seconds after which a process is given up.
LONGEST = 1800

#: What cases gave, by line and size; size 0: the first calls.
Answers = dict[tuple[str, int], dict[str, Any]]
Say = Callable[[str], None]


class Plan(NamedTuple):
    """What is run.

    Attributes:
        lines, sizes: which lines, and the sizes of each.
        most_threads: the most threads.
        effort: of each case.
        together: whether the lines of a module share a process, with the largest of their numbers of threads alone, and
            first calls are not timed. Otherwise each line has a process for each number of threads, and one before
            them that finds nothing compiled.
    """

    lines: Sequence[Line]
    sizes: Callable[[Line], Sequence[int]]
    most_threads: int
    effort: Effort
    together: bool = False

    def threads_of(self, line: Line) -> list[int]:
        """Its numbers of threads, as far as this machine and ``most_threads`` go."""
        most = min(self.most_threads, cores())
        found = sorted({min(threads, most) for threads in line.threads})
        return found[-1:] if self.together else found


class Run:
    """One run of a plan.

    Args:
        script: what runs a job: it takes ``--job`` and the job as JSON, and writes what came out to ``output``.
        folder: for what is written meanwhile.
        say: is told what happens.
    """

    def __init__(self, plan: Plan, script: Path, folder: Path, say: Say):
        self.plan, self.script, self.folder, self.say = plan, script, folder, say

    def rows(self) -> Iterator[list[Row]]:
        """The rows of all lines, as they come."""
        yield [row for line in self.plan.lines if line.lacks() for row in self._lacking(line)]
        lines = [line for line in self.plan.lines if not line.lacks() and self.plan.sizes(line)]
        if not self.plan.together:
            yield from map(self._alone, lines)
            return
        compiled = tempfile.mkdtemp(dir=self.folder)
        shared = [(line.ours.__module__, self.plan.threads_of(line)[0]) for line in lines]
        for place in dict.fromkeys(shared):
            some, threads = [line for line, other in zip(lines, shared, strict=True) if other == place], place[1]
            cases = {line.name: list(self.plan.sizes(line)) for line in some}
            answers = self._in_a_process(Job(cases, threads, False, self.plan.effort), compiled)
            for line in some:
                yield self._made(line, threads, answers, {})

    def _lacking(self, line: Line) -> list[Row]:
        note = f"not timed: {line.lacks()}"
        sizes = self.plan.sizes(line)
        return self._told(
            [
                row
                for threads in self.plan.threads_of(line)
                for size in sizes
                for row in untimed_rows(line, size, threads, note=note)
            ]
        )

    def _alone(self, line: Line) -> list[Row]:
        compiled = tempfile.mkdtemp(dir=self.folder)
        cold: dict[str, float] = {}
        rows: list[Row] = []
        for number, threads in enumerate(self.plan.threads_of(line)):
            if line.jitted and number == 0:
                answers = self._in_a_process(Job({line.name: []}, threads, True, self.plan.effort), compiled)
                cold = {} if "error" in answers[line.name, 0] else answers[line.name, 0]
            job = Job({line.name: list(self.plan.sizes(line))}, threads, line.jitted, self.plan.effort)
            rows += self._made(line, threads, self._in_a_process(job, compiled), cold)
        return rows

    def _made(self, line: Line, threads: int, answers: Answers, cold: dict[str, float]) -> list[Row]:
        rows = []
        for size in self.plan.sizes(line):
            answer = answers[line.name, size]
            if "error" in answer:
                rows += untimed_rows(line, size, threads, error=answer["error"])
            else:
                first = answers.get((line.name, 0), {})
                rows += [make_row(line, peer, size, threads, answer, first, cold) for peer in line.peers_at(size)]
        return self._told(rows)

    def _in_a_process(self, job: Job, compiled: str) -> Answers:
        """What each case gave, or ``error``: the end of what the process said."""
        output = self.folder / "job.jsonl"
        output.write_text("", encoding="utf-8")
        command = [sys.executable, str(self.script), "--job", json.dumps({**job._asdict(), "output": str(output)})]
        self.say(f"[{', '.join(job.cases)}: started]")
        began, problem = time.monotonic(), ""
        try:
            done = subprocess.run(
                command,
                env=environment(job.threads, compiled),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=LONGEST,
            )
            said = [line for line in done.stdout.splitlines() if line.strip()]
            if done.returncode:
                problem = said[-1] if said else f"ended with {done.returncode}"
        except subprocess.TimeoutExpired:
            problem = f"not done after {LONGEST} s"
        answers: Answers = {}
        for text in output.read_text(encoding="utf-8").splitlines():
            told = json.loads(text)
            answers[told["line"], told["size"]] = told["answer"]
        for name, sizes in job.cases.items():
            for size in [0, *sizes] if job.first else sizes:
                answers.setdefault((name, size), {"error": problem or "nothing was written"})
        self.say(f"[{', '.join(job.cases)}: {time.monotonic() - began:.0f} s]")
        return answers

    def _told(self, rows: list[Row]) -> list[Row]:
        for row in rows:
            self.say(_told(row))
        return rows


def run(plan: Plan, script: Path, say: Say = print) -> Iterator[dict[str, Any]]:
    """Time all cases of a plan, see ``Run``.

    Yields:
        What ``write_results`` writes, of the lines so far; at last of all.
    """
    began = time.monotonic()
    rows: list[Row] = []
    order = [line.name for line in plan.lines]
    packages = {name for line in plan.lines for name in line.packages}
    with tempfile.TemporaryDirectory(prefix="verseir-bench-") as folder:
        for more in Run(plan, script, Path(folder), say).rows():
            rows = sorted(rows + more, key=lambda row: order.index(row.line))
            yield {
                "form": FORM,
                "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
                "seconds": round(time.monotonic() - began, 1),
                "machine": describe_machine(),
                "versions": versions(packages | {"numpy", "polars", "numba", "torch"}),
                "effort": plan.effort._asdict(),
                "rows": rows,
                "growth": growth(rows),
            }


def _told(row: Row) -> str:
    place = f"{row.line:18} {row.size:>8} {row.unit:10} {row.threads} thr  {row.peer:36}"
    if row.ratio is None:
        return f"{place} {'FAILED: ' + row.error if row.error else row.note}"
    floor = "" if row.target is None else f"  floor {row.target:g} {'met' if row.met else 'MISSED'}"
    return (
        f"{place} ours {row.ours_s:9.4g} s  peer {row.peer_s:9.4g} s  ratio {row.ratio:6.3g} "
        f"[{row.spread[0]:.3g} .. {row.spread[1]:.3g}]  with first call {row.ratio_counted:.3g}{floor}"
    )
