"""Run the jobs of a study in this process: starting Python for each job is what a run of a small study costs."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import time
from pathlib import Path

from project import Project

from verseir.__main__ import main

_JOB = re.compile(r"^Reason: (?P<reason>.*)\nShell command: python -m verseir (?P<call>.*?) 2>&1 \| tee ", re.MULTILINE)
#: How far a file system's clock may be behind, in nanoseconds.
CLOCK = 50_000_000
_WAITS = re.compile(r"Input files updated by another job: (.*?)(?:; |$)")


def run_in_process(project: Project, *targets: str) -> list[str]:
    """Run the jobs that Snakemake would run, with the parameters that it would give.

    Returns the verbs that failed, with what they said: none, if all is well.
    """
    told = project.run("-n", "-p", *targets)
    assert told.returncode == 0, told.stdout[-4000:]
    waiting = [(_waits(job["reason"]), shlex.split(job["call"])) for job in _JOB.finditer(told.stdout)]
    waiting.insert(0, ([], _check(project)))
    start = time.time_ns()
    with contextlib.chdir(project.folder):
        while waiting:
            ready = [job for job in waiting if all(_made(file, start) for file in job[0])]
            assert ready, f"jobs wait for what none makes: {waiting[0]}"
            for _, call in ready:
                failed = _call(call)
                if failed:
                    return [f"{call[0]}: {failed}"]
            waiting = [job for job in waiting if job not in ready]
    return []


def _check(project: Project) -> list[str]:
    """The check of all inputs, which Snakemake does before the first job, by the config that it was given."""
    from verseir.config import canonical, load_study

    spec = load_study(project.study, project.folder).spec
    options = {"--corpora": "corpora", "--query-sets": "query_sets", "--modes": "modes", "--keep": "keep"}
    parts = [part for option, name in options.items() for part in (option, canonical(spec[name]))]
    parts += ["--judging", canonical(spec.get("judging", {})), "--packages", canonical(spec["packages"])]
    return ["check_inputs", *parts, "--output", f"results/{spec['study']}/inputs.json"]


def _made(file: str, start: int) -> bool:
    """Whether a job of this run has written ``file``: an older one is about to be replaced."""
    path = Path(file)
    return path.exists() and path.stat().st_mtime_ns >= start - CLOCK


def _waits(reason: str) -> list[str]:
    found = _WAITS.search(reason)
    return found[1].split(", ") if found else []


def _call(call: list[str]) -> str:
    """What a verb says when it fails; nothing where it does not."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        try:
            code = main(call)
        except (Exception, SystemExit) as error:  # whatever it is, a user would see it
            import traceback

            return told.getvalue() + "".join(traceback.format_exception(error)[-12:])
    return told.getvalue() if code else ""
