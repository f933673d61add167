"""What a study was run with: versions, commit, machine, seeds, parameters, hashes, encoders and costs.

Nothing here names a person, a host or a place on a disk, and nothing is read from the environment.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import polars as pl

from verseir import __version__
from verseir.faults import UserError
from verseir.tables import CONTRASTS, COSTS, ENCODING, LEADERBOARD, REGISTERS, TIES, read_table

PROJECT = Path(__file__).parents[2]
TABLES = (LEADERBOARD, REGISTERS, CONTRASTS, TIES, COSTS, ENCODING)
NOT_AVAILABLE = "n/a"


def sha256(path: str | Path) -> str:
    """SHA-256 of a file, in hex."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def git_state(project: Path = PROJECT) -> dict[str, Any]:
    """Commit (40 hex) of the checkout ``project`` and whether tracked files differ; without git both ``n/a``."""
    unknown = {"commit": NOT_AVAILABLE, "dirty": NOT_AVAILABLE}
    # In a hook git sets variables that point elsewhere.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=project, env=outside, capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")).resolve() != project.resolve():
            return unknown  # unpacked inside another repository: that one's commit says nothing
        changed = git("status", "--porcelain", "--untracked-files=no")
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(changed)}
    except (OSError, subprocess.SubprocessError):
        return unknown


def package_versions(project: Path = PROJECT) -> dict[str, str]:
    """Installed versions of the packages that the project names in its ``pyproject.toml``."""
    declared = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    versions = {}
    for requirement in declared:
        name = re.match(r"[A-Za-z0-9._-]+", requirement).group()  # type: ignore[union-attr]
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return dict(sorted(versions.items(), key=lambda item: item[0].lower()))


def machine() -> dict[str, Any]:
    """What costs depend on: cores, processor and platform."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpus": usable,
        "processor": _processor(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or NOT_AVAILABLE
    found = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    return found.group(1).strip() if found else NOT_AVAILABLE


def without_places(value: Any, project: Path = PROJECT) -> Any:
    """``value`` with every absolute path in it made relative to ``project`` or, outside it, cut to its name."""
    if isinstance(value, Mapping):
        return {without_places(key, project): without_places(item, project) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(item, project) for item in value]
    if not isinstance(value, str):
        return value
    bare = value.removeprefix("file://")
    if PurePosixPath(bare).is_absolute():
        path = PurePosixPath(os.path.normpath(bare))
        root = PurePosixPath(project.resolve().as_posix())
        return str(path.relative_to(root)) if path.is_relative_to(root) else f"(elsewhere)/{path.name}"
    if bare.startswith("~/") or PureWindowsPath(bare).is_absolute():
        return f"(elsewhere)/{PureWindowsPath(bare).name}"
    return value


def seeds(study: Mapping[str, Any]) -> dict[str, int]:
    """Every seed of the study, by what it seeds."""
    found = {"bootstrap and permutations": study["seed"]}
    for name, corpus in sorted(study["corpora"].items()):
        if "seed" in corpus.get("sample", {}):
            found[f"sample of {name}"] = corpus["sample"]["seed"]
    for name, query_set in sorted(study["query_sets"].items()):
        if "probe" in query_set:
            found[f"queries drawn for {name}"] = query_set["probe"].get("seed", study["seed"])
    return found


def make_manifest(
    results: Path,
    study: Mapping[str, Any],
    systems: Mapping[str, Any],
    inputs: Mapping[str, Any],
    encodings: Iterable[Mapping[str, Any]],
    analyses: Iterable[Path] = (),
    project: Path = PROJECT,
) -> dict[str, Any]:
    """The manifest of a study whose tables lie in ``results/tables``.

    Args:
        study: the spec with its defaults.
        systems: the registry's entries, by system.
        inputs: what the check of the inputs wrote.
        encodings: what each encoder wrote of itself, one for each corpus and system.
        analyses: the tables of the analyses, which are hashed as the others are.

    Raises:
        UserError: a table is absent or breaks its contract.
    """
    tables = {}
    for table in TABLES:
        path = results / "tables" / f"{table.name}.csv"
        if not path.exists():
            raise UserError(f"{path} does not exist", hint="it is made by the workflow: run snakemake first")
        tables[f"tables/{table.name}.csv"] = sha256(path)
    tables |= {f"tables/{path.name}": sha256(path) for path in sorted(analyses)}
    encoders = sorted(encodings, key=lambda encoding: (encoding["corpus"], encoding["system"]))
    manifest = {
        "project": {"name": "verseir", "version": __version__, **git_state(project)},
        "python": platform.python_version(),
        "packages": package_versions(project),
        "machine": machine(),
        "devices": sorted({str(encoding.get("device") or "not stated") for encoding in encoders}) or ["cpu"],
        "seeds": seeds(study),
        "study": study,
        "systems": systems,
        "inputs": inputs,
        "tables": tables,
        "encoders": encoders,
        "costs": total_costs(results / "tables" / f"{COSTS.name}.csv"),
    }
    return without_places(manifest, project)


def total_costs(path: Path) -> dict[str, float]:
    """Seconds by stage, summed over corpora and systems, of a COSTS table."""
    by_stage = read_table(path, COSTS).group_by("stage").agg(pl.col("seconds").sum()).sort("stage")
    return {stage: round(seconds, 3) for stage, seconds in by_stage.iter_rows()}


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """The manifest as JSON for a file."""
    return json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"


def config_text(study: Mapping[str, Any]) -> str:
    """The study's spec as YAML that runs it again."""
    import yaml

    head = (
        "# The study as it was run, with every default filled in. It is a config file: snakemake --configfile <this>\n"
    )
    return head + yaml.safe_dump(dict(study), allow_unicode=True, sort_keys=False, width=120)
