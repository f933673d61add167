"""Look over this machine: Python, packages, devices, memory, disk, hub, fonts, programs; a hint for each lack.

With a study its file is read too: what is wrong in it is told with its line, before Snakemake is asked.
"""

import argparse
import shlex
from pathlib import Path

from verseir.config import load_study
from verseir.doctor import NOTE, OK, PROBLEM, Finding, examine
from verseir.faults import Fault, InputFaults, closest
from verseir.formats import count
from verseir.rows import read_utf8
from verseir.study_faults import missing_files
from verseir.yaml_files import read_yaml

PROJECT = Path(__file__).parents[3]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", nargs="?", type=Path, help="the file of a study, to read it too")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder that studies write to")


def run(args: argparse.Namespace) -> int:
    found = []
    for finding in examine(PROJECT, args.results):
        print(finding, flush=True)
        found.append(finding.state)
    if args.study is not None:
        finding = study_finding(args.study)
        print(finding)
        found.append(finding.state)
    problems, notes = found.count(PROBLEM), found.count(NOTE)
    print(f"\n{count(problems, 'problem')}, {count(notes, 'note')}" + ("" if problems else ": the demo can run here"))
    return 1 if problems else 0


def study_finding(path: Path) -> Finding:
    """Whether the file of a study is sound, with the files that it names; what those hold is for ``check`` to say."""
    try:
        study = load_study(_content(path), Path.cwd(), str(path))
        if missing := missing_files(study, Path.cwd()):
            raise InputFaults(missing)
    except InputFaults as error:
        return Finding("study", PROBLEM, str(error))
    systems, sets = count(len(study.spec["systems"]), "system"), count(len(study.query_sets), "query set")
    check = f"snakemake check --cores 1 --configfile {shlex.quote(str(path))} reads all inputs"
    return Finding("study", OK, f"{path}: {count(len(study.corpora), 'corpus', 'corpora')}, {sets}, {systems}; {check}")


def _content(path: Path) -> dict:
    if not path.exists():
        near = sorted(str(one) for one in [*Path("config/studies").glob("*.yaml"), *path.parent.glob("*.yaml")])
        raise InputFaults([Fault(str(path), 0, "", "there is no such file", closest(str(path), near))])
    faults: list[Fault] = []
    text = read_utf8(path, str(path), faults)
    content, _, unsound = read_yaml(
        text, str(path), "check the indentation, the colons and the brackets near this line"
    )
    if faults or unsound:
        raise InputFaults([*faults, *unsound])
    if not isinstance(content, dict):
        raise InputFaults([Fault(str(path), 1, "", "is no study", "a study has the keys study, corpora, modes, ...")])
    return content
