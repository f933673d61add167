"""The manifest says what a study was run with and nothing of where or by whom."""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from report_study import SYSTEMS, study, write_study

from verseir import __version__
from verseir.__main__ import main
from verseir.faults import UserError
from verseir.manifest import config_text, git_state, make_manifest, package_versions, seeds, sha256, without_places

PROJECT = Path(__file__).parents[2]


def strings(value):
    """Every string in a JSON value, keys too."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


def write(results, spec, systems=SYSTEMS):
    encodings = sorted(map(str, (results / "encodings").rglob("*.json")))
    arguments = [
        "write_manifest",
        "--results",
        str(results),
        "--study",
        json.dumps(spec),
        "--systems",
        json.dumps(systems),
    ]
    arguments += ["--inputs", str(results / "inputs.json"), "--encodings", *encodings]
    arguments += ["--manifest", str(results / "manifest.json"), "--config", str(results / "config.yaml")]
    assert main(arguments) == 0
    return json.loads((results / "manifest.json").read_text(encoding="utf-8"))


def test_manifest_of_a_study(tmp_path):
    results = write_study(tmp_path / "small")
    manifest = write(results, study())
    assert manifest["project"]["version"] == __version__
    assert manifest["python"] == platform.python_version()
    assert manifest["packages"]["polars"] != "not installed"
    assert manifest["seeds"] == {"bootstrap and permutations": 7}
    assert manifest["study"] == study()
    assert manifest["costs"] == {"encode_texts": 3.0, "index_bm25": 2.0}
    assert manifest["devices"] == ["cpu"]
    assert manifest["encoders"][0]["revision"] == "f" * 40
    assert manifest["inputs"]["files"][0]["sha256"] == "0" * 64
    assert len(manifest["tables"]) == 6
    for name, digest in manifest["tables"].items():
        assert digest == sha256(results / name)


def test_nothing_names_a_place_a_person_or_a_host(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2-hunter2")
    spec = study(corpora={"poems": {"adapter": "jsonl", "path": str(tmp_path / "mine" / "poems.jsonl")}})
    manifest = write(write_study(tmp_path / "small", spec), spec)
    found = list(strings(manifest))
    assert not [text for text in found if text.startswith(("/", "~")) or str(tmp_path) in text or str(PROJECT) in text]
    assert manifest["study"]["corpora"]["poems"]["path"] == "(elsewhere)/poems.jsonl"
    assert not [text for text in found if "hunter2" in text]
    assert platform.node() not in found
    assert not [text for text in found if str(Path.home()) in text]


def test_places():
    inside = str(PROJECT / "resources" / "demo.jsonl")
    assert without_places([inside, "file:///etc/passwd", "C:\\data\\a.csv", "~/b.csv", "a/b.csv", 3, None]) == [
        "resources/demo.jsonl",
        "(elsewhere)/passwd",
        "(elsewhere)/a.csv",
        "(elsewhere)/b.csv",
        "a/b.csv",
        3,
        None,
    ]


def test_config_is_loaded_again_as_it_was(tmp_path):
    spec = study(title="عنوان: دراسة")
    write(write_study(tmp_path / "small", spec), spec)
    text = (tmp_path / "small" / "config.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text) == spec
    assert "عنوان" in text
    assert yaml.safe_load(config_text(spec)) == spec


def test_study_without_encoders(tmp_path):
    results = write_study(tmp_path / "small")
    shutil.rmtree(results / "encodings")
    (results / "encodings").mkdir()
    manifest = write(results, study())
    assert manifest["encoders"] == []
    assert manifest["devices"] == ["cpu"]


def test_missing_table_is_named(tmp_path):
    results = write_study(tmp_path / "small")
    (results / "tables" / "ties.csv").unlink()
    with pytest.raises(UserError, match=r"ties\.csv does not exist"):
        make_manifest(results, study(), SYSTEMS, {}, [])


def test_seeds_of_samples_and_probes():
    spec = study(
        corpora={"a": {"sample": {"seed": 3}}}, query_sets={"p": {"probe": {"n": 5}}, "q": {"probe": {"seed": 9}}}
    )
    assert seeds(spec) == {
        "bootstrap and permutations": 7,
        "sample of a": 3,
        "queries drawn for p": 7,
        "queries drawn for q": 9,
    }


def git(folder, *arguments):
    mine = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, env=os.environ | mine)


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_commit_and_dirty_flag(tmp_path):
    unknown = {"commit": "n/a", "dirty": "n/a"}
    assert git_state(tmp_path) == unknown
    git(tmp_path, "init")
    assert git_state(tmp_path) == unknown  # no commit yet
    (tmp_path / "a").write_text("1", encoding="utf-8")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-m", "one")
    (tmp_path / "untracked").write_text("1", encoding="utf-8")
    clean = git_state(tmp_path)
    assert len(clean["commit"]) == 40 and clean["dirty"] is False
    (tmp_path / "a").write_text("2", encoding="utf-8")
    assert git_state(tmp_path) == clean | {"dirty": True}
    inner = tmp_path / "inner"
    inner.mkdir()
    assert git_state(inner) == unknown  # unpacked inside another repository


def test_without_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(tmp_path) == {"commit": "n/a", "dirty": "n/a"}


def test_packages_are_those_of_the_project():
    versions = package_versions()
    assert {"numpy", "polars", "torch"} <= versions.keys()
    assert list(versions) == sorted(versions, key=str.lower)


def test_verb_needs_no_heavy_import():
    heavy = "sys.exit(bool({'torch', 'scipy', 'matplotlib', 'pandera'} & set(sys.modules)))"
    code = f"import sys, verseir.cli.write_manifest; {heavy}"
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT / "workflow", check=False)
    assert done.returncode == 0
