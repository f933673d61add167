"""pyproject.toml, the lock and environment.yml name one set of packages; what is installed is what the lock says."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ASKED_FOR = "snakemake torch transformers bm25s camel-tools polars statsmodels pingouin matplotlib".split()


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(scope="module")
def locked():
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[^\s;]+", pin) for pin in pins)
    return {plain(name): version for name, version in (pin.split("==") for pin in pins)}


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_declared_package_is_locked(project, locked):
    declared = project["dependencies"] + project["optional-dependencies"]["dev"]
    assert sorted({plain(name) for name in declared} - set(locked)) == []


def test_what_the_study_was_asked_to_use_is_declared(project):
    assert set(ASKED_FOR) <= {plain(name) for name in project["dependencies"]}


def test_conda_users_get_the_same_set(project):
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert "python=3.11" in environment["dependencies"]
    assert project["requires-python"].startswith(">=3.11")
    assert environment["dependencies"][-1]["pip"] == ["-r requirements.lock", "-e ."]


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda path: path.stem)
def test_rule_environments_pin_what_the_lock_pins(path, locked):
    pins = yaml.safe_load(path.read_text(encoding="utf-8"))["dependencies"][-1]["pip"]
    assert len(pins) > 10
    for pin in pins:
        name, version = pin.split("==")
        assert locked[plain(name)] == version


def test_what_is_installed_is_what_is_locked(locked):
    wrong = []
    for name, version in locked.items():
        try:
            installed = importlib.metadata.version(name).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            installed = "nothing"
        if installed != version:
            wrong.append(f"{name}: {installed}, locked {version}")
    assert wrong == []
