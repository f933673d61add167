"""``doctor``: what a machine lacks is told with a hint, soon, and without a secret."""

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from verseir import doctor
from verseir.cli.doctor import study_finding
from verseir.doctor import NOTE, OK, PROBLEM, Finding

ROOT = Path(__file__).parents[2]


def found(what, findings):
    return next(finding for finding in findings if finding.what == what)


def test_all_is_looked_at_within_seconds_and_no_secret_is_shown(tmp_path, monkeypatch):
    for name in ("HF_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "hf_secret")
    started = time.monotonic()
    told = subprocess.run([sys.executable, "-m", "verseir", "doctor"], cwd=ROOT, capture_output=True, text=True)
    assert time.monotonic() - started < 20  # five on a machine that does nothing else
    lines = told.stdout.splitlines()
    for what in ("Python", "Snakemake", "processor", "GPU", "memory", "disk, results", "disk, cache", "hub", "fonts"):
        assert any(line.startswith((OK, NOTE, PROBLEM)) and line[9:].startswith(what) for line in lines), told.stdout
    for what in ("token of the hub", "key of judges", "browser", "git", "LaTeX", "Slurm"):
        assert any(line[9:].startswith(what) for line in lines)
    assert "hf_secret" not in told.stdout + told.stderr and not told.stderr
    assert told.returncode == int(any(line.startswith(PROBLEM) for line in lines))


def test_another_python_is_a_problem():
    assert doctor.python_finding((3, 11, 9)).state == OK
    wrong = doctor.python_finding((3, 13, 0))
    assert wrong.state == PROBLEM and "python3.11" in wrong.hint


def project(folder, lock, needed):
    (folder / "requirements.lock").write_text(lock, encoding="utf-8")
    (folder / "pyproject.toml").write_text(f"[project]\ndependencies = {needed}\n", encoding="utf-8")
    return list(doctor.package_findings(folder))


def test_packages_are_held_against_the_lock(tmp_path):
    import numpy

    here = numpy.__version__
    (finding,) = project(tmp_path, f"numpy=={here}\n", ["numpy"])
    assert (finding.what, finding.state) == ("packages", OK)
    (finding,) = project(tmp_path, "numpy==0.1\n", ["numpy"])
    assert (finding.what, finding.state) == ("versions", NOTE) and f"numpy {here} (lock: 0.1)" in finding.said
    (finding,) = project(tmp_path, f"numpy=={here}\nno_such-package==1\n", ["numpy"])
    assert (finding.state, "no_such-package" in finding.said) == (NOTE, True)
    (finding,) = project(tmp_path, f"numpy=={here}\nno_such-package==1\n", ["no-such.package>=1"])
    assert (finding.state, finding.hint.startswith("make install")) == (PROBLEM, True)
    (tmp_path / "requirements.lock").unlink()
    assert next(doctor.package_findings(tmp_path)).state == NOTE


def test_a_folder_that_cannot_be_written_to_is_a_problem(tmp_path, monkeypatch):
    assert doctor.disk_finding("results", tmp_path / "not" / "yet").state in (OK, NOTE)
    file = tmp_path / "file"
    file.write_text("")
    assert doctor.disk_finding("cache", file / "below").state == PROBLEM
    usage = type("Usage", (), {"free": 2**28})
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage)
    full = doctor.disk_finding("cache", tmp_path)
    assert full.state == PROBLEM and "0.2 GiB" in full.said


def test_a_hub_that_does_not_answer_is_a_note_in_time(monkeypatch):
    from huggingface_hub import constants

    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE" in doctor.hub_finding(1).said
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        assert doctor.hub_finding(1) == Finding("hub", OK, "answers")
    assert doctor.hub_finding(1).state == NOTE
    monkeypatch.setattr(constants, "ENDPOINT", "https://host.invalid")
    monkeypatch.setenv("HTTPS_PROXY", "127.0.0.1:1")
    assert doctor.hub_finding(1).said == "does not answer by a proxy"


def test_what_hangs_is_not_waited_for():
    started = time.monotonic()
    late = doctor._Later(lambda: time.sleep(30) or Finding("x", OK, ""))
    assert late.result(0.1, Finding("x", NOTE, "late")).said == "late"
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(("told", "state"), [("Amiri\n", OK), ("Some Sans\n", NOTE), ("", NOTE)])
def test_fonts_of_pages(monkeypatch, told, state):
    monkeypatch.setattr(doctor, "_said", lambda *_: told)
    monkeypatch.setattr(doctor.platform, "system", lambda: "Linux")
    assert doctor._fonts().state == state


def test_gpus_that_this_pytorch_cannot_use_are_told(monkeypatch):
    monkeypatch.setattr(doctor, "_said", lambda *_: "A GPU, 24564 MiB, 8.9\nAn old one, 8192 MiB, 6.1\n")
    monkeypatch.setattr(doctor, "_torch_cuda", lambda: "")
    assert found("GPU", doctor.device_findings()).state == NOTE
    monkeypatch.setattr(doctor, "_torch_cuda", lambda: "12.8")
    said = [finding.said for finding in doctor.device_findings() if finding.what == "GPU"]
    assert len(said) == 2 and "no bfloat16" in said[1] and "no bfloat16" not in said[0]


STUDY = """study: s
corpora: {c: {adapter: jsonl, path: c.jsonl}}
modes: {verse: [verse]}
query_sets: {q: {corpora: [c], probe: {corpus: c, n: 2}}}
systems: [bm25]
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (STUDY, "c.jsonl [corpora.c.path]: there is no such file or folder\n      hint: did you mean 'd.jsonl'?"),
        (STUDY.replace("bm25", "bm52"), "did you mean 'bm25'?"),
        (STUDY.replace("modes:", "mods:"), "unknown key: mods"),
        (STUDY + "modes: {}\n", "study.yaml:6 [modes]: this key is given twice"),
        (STUDY.replace("[bm25]", "[bm25"), "study.yaml:6: is not valid YAML"),
        ("- a\n", "study.yaml:1: is no study"),
        ("", "is no study"),
    ],
)
def test_the_file_of_a_study_is_told_line_by_line(tmp_path, monkeypatch, text, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    shutil.copy(ROOT / "config" / "systems.yaml", tmp_path / "config")
    (tmp_path / "d.jsonl").write_text("")
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    finding = study_finding(Path("study.yaml"))
    assert finding.state == PROBLEM and told in finding.said
    assert "did you mean 'study.yaml'" in study_finding(Path("studi.yaml")).said
    (tmp_path / "c.jsonl").write_text("")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    assert study_finding(Path("study.yaml")).state == OK
