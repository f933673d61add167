"""Check a study before it runs: are all inputs sound, what will run, how long, how much disk.

``python -m verseir check my-archive`` takes a name in config/studies, or a path; several are merged, the later over the
earlier. Poems and queries are read; nothing is encoded, fetched or asked of a model. It ends in the command that runs
the study, or in all faults of its inputs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from verseir.check_options import check_options
from verseir.cli import check_inputs
from verseir.config import load_study
from verseir.faults import Fault, InputFaults, UserError, closest
from verseir.foretold import jobs_of, seconds_of_jobs, stages_of, told_jobs, told_models, told_systems, told_time
from verseir.plan import PLAN
from verseir.study import Study
from verseir.study_faults import missing_files
from verseir.systems.devices import cpu_threads, visible_gpus
from verseir.tables import read_table
from verseir.whole import at_least_one
from verseir.yaml_files import decoded_yaml, read_yaml

#: The study that runs where none is named.
DEMO = "config/config.yaml"
#: Seconds that Snakemake has to end after an interrupt.
PATIENCE = 10
#: Lines of its last words that are shown.
LAST = 15


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", nargs="+", help="a name in config/studies, such as my-archive, or a path")
    parser.add_argument(
        "--cores", type=at_least_one, default=cpu_threads(), help="cores that the run may use; all when absent"
    )


def run(args: argparse.Namespace) -> None:
    root = project_root(Path.cwd())
    paths = [study_file(name, Path.cwd(), root) for name in args.study]
    here = Path.cwd()
    options = ["--cores", str(args.cores), "--resources", "gpu=1"]
    options += [] if paths == [DEMO] else ["--configfile", *paths]
    with contextlib.chdir(root):
        try:
            study = read_study(paths)
            with _snakemake("--dry-run", "--quiet", "rules", *options) as listing:  # meanwhile
                inputs = _inputs(study)
                print(f"The study {study.name} ({', '.join(paths)})\n\n{inputs}\n")
                print(_foretold(study, listing, options, args.cores))
        except InputFaults as found:
            print(f"{', '.join(paths)}: {found}\n\nNothing was run. Mend these and check again.", file=sys.stderr)
            raise SystemExit(1) from None
    command = shlex.join(["snakemake", *options])
    elsewhere = "" if here == root else f"cd {shlex.quote(os.path.relpath(root, here))} && "
    print(f"\nAll inputs are sound. To run the study:\n{elsewhere}{command}")


def project_root(folder: Path) -> Path:
    """The folder of the project that ``folder`` lies in."""
    for place in (folder, *folder.parents):
        if (place / "Snakefile").is_file() and (place / "workflow" / "rules").is_dir():
            return place
    raise UserError(f"{folder} lies in no copy of the project", "go to the folder that holds the Snakefile, or below")


def study_file(name: str, here: Path, root: Path) -> str:
    """The file of a study that is named or given by its path, relative to the project."""
    studies = root / "config" / "studies"
    places = [here / name, root / name, studies / name, studies / f"{name}.yaml", studies / f"{name}.yml"]
    places += [root / DEMO] if name == "demo" else []
    for place in places:
        if place.is_file():
            return os.path.relpath(place, root)
    known = [path.relative_to(studies).with_suffix("").as_posix() for path in studies.rglob("*.yaml")]
    raise UserError(f"no study is called '{name}', and there is no such file", closest(name, [*known, "demo"]))


def read_study(paths: list[str]) -> Study:
    """The study of these files, merged as Snakemake merges them. Raises InputFaults with all that is wrong with it."""
    config: dict[str, Any] = {}
    faults: list[Fault] = []
    for path in paths:
        text, found = decoded_yaml(Path(path), path)
        content = None
        if not found:
            content, _, found = read_yaml(text, path, "a study is YAML: see config/README.md")
        faults += found
        if isinstance(content, Mapping):
            _merge(config, content)
        elif not found:
            faults.append(Fault(path, 0, "", "holds no study", "it has keys such as study, corpora and systems"))
    if faults:
        raise InputFaults(faults)
    study = load_study(config, Path.cwd(), where=", ".join(paths))
    if missing := missing_files(study, Path.cwd()):
        raise InputFaults(missing)
    return study


def _merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _inputs(study: Study) -> str:
    """What the check of all inputs tells of them. Raises InputFaults."""
    parser = argparse.ArgumentParser()
    check_inputs.add_arguments(parser)
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        check_inputs.run(parser.parse_args(check_options(study)))
    return "\n".join(f"  {line}" for line in told.getvalue().splitlines())


def _foretold(study: Study, listing: subprocess.Popen[str], options: list[str], cores: int) -> str:
    """What will run, how long, how much disk."""
    listed = listing.communicate()[0]
    if listing.returncode:
        return _untold(listed, listing.returncode)
    jobs = jobs_of(listed)
    if not jobs:
        return f"Nothing is to be done: results/{study.name}/report/index.html is up to date."
    with _snakemake("plan_costs", "--quiet", "all", *options) as planning:
        planned = planning.communicate()[0]
    if planning.returncode:
        return _untold(planned, planning.returncode)
    plan = read_table(f"results/{study.name}/plan.csv", PLAN)
    gpu = bool(visible_gpus())
    seconds = seconds_of_jobs(Path("results"))
    parts = [told_jobs(jobs, stages_of(Path("workflow/rules"))), told_systems(plan, gpu)]
    last = [told_time(jobs, seconds, plan, gpu, cores), told_models(plan)]
    return "\n\n".join([*parts, "\n".join(filter(None, last))])


@contextlib.contextmanager
def _snakemake(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A call of Snakemake that ends, with all that it started, where this process leaves it early."""
    command = [sys.executable, "-m", "snakemake", *arguments]
    call = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True
    )
    try:
        with _stopped_by(signal.SIGTERM, signal.SIGHUP):
            yield call
    finally:
        for last_word in (signal.SIGINT, signal.SIGKILL):  # at the first Snakemake takes its lock away
            if call.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(call.pid, last_word)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    call.communicate(timeout=PATIENCE)


@contextlib.contextmanager
def _stopped_by(*signals: signal.Signals) -> Iterator[None]:
    """These signals stop what is inside as an interrupt does, so that it can tidy up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.signal(one, signal.default_int_handler) for one in signals}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _untold(output: str, code: int) -> str:
    """Why what will run cannot be told: another run is under way, or something went wrong."""
    if "cannot be locked" in output or "LockException" in output:
        return (
            "Another run is under way in this folder: what this one would do is told when that has ended.\n"
            "If there is none, the last was killed: snakemake --unlock, and check again."
        )
    tail = "\n".join(output.strip().splitlines()[-LAST:]) or "nothing"
    problem = f"the inputs are sound, but the rules could not be planned: Snakemake ended with {code} and said\n{tail}"
    raise UserError(problem, "make check tells all of it")
