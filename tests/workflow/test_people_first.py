"""What a user sees: a sheet for queries, quiet runs, faults of a machine, an interrupt; never a traceback."""

import csv
import os
import shutil
import signal
import subprocess
import time

import pytest
from project import ROOT, Project


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("people") / "project")
    guidelines = project.folder / "resources" / "prompts" / "guidelines-queries.md"
    guidelines.parent.mkdir(parents=True)
    shutil.copy(ROOT / "resources" / "prompts" / guidelines.name, guidelines)
    project.study["systems"] = ["bm25"]
    project.study["query_sets"] = {"drawn": {"corpora": ["east"], "probe": {"corpus": "east", "n": 4}}}
    project.study["query_sheet"] = {"corpus": "east", "n": 3}
    project.save_study()
    return project


def test_a_quiet_run_says_nothing_and_its_faults_alone(project):
    told = project.run("query_sheet", "--quiet", "all")
    assert told.returncode == 0
    assert [line for line in told.stdout.splitlines() if "workflow specific profile" not in line] == []
    rows = list(csv.DictReader((project.results / "query_sheet/queries.csv").open(encoding="utf-8", newline="")))
    assert len(rows) == 9 and len({row["relevant"] for row in rows}) == 3
    assert (project.results / "query_sheet/themes.csv").exists()
    assert "3 of 8 poems" in (project.results / "logs/draw_query_sheet.log").read_text(encoding="utf-8")
    assert 'id="settings"' in (project.results / "query_sheet/queries.html").read_text(encoding="utf-8")
    assert project.jobs("query_sheet") == {}

    (project.results / "corpora/east/poems.parquet").write_bytes(b"PAR1 and no more")
    told = project.run("query_sheet", "--quiet", "rules")
    assert told.returncode != 0 and "Traceback" not in told.stdout
    assert "error in draw_query_sheet: " in told.stdout and "it is damaged: remove it and run again" in told.stdout
    (project.results / "corpora/east/poems.parquet").unlink()
    told = project.run("query_sheet")
    assert told.returncode == 0 and "Drawing poems of east" in told.stdout and "3 of 8 poems" in told.stdout


def test_probes_are_drawn_and_told(project):
    told = project.run("results/small/queries/drawn.parquet")
    assert told.returncode == 0 and "drawn: 12 probes of 4 poems" in told.stdout


def test_of_several_corpora_one_has_to_be_named(project):
    sheet = project.study.pop("query_sheet")
    project.save_study()
    shutil.rmtree(project.results / "query_sheet", ignore_errors=True)
    told = project.run("query_sheet")
    project.study["query_sheet"] = sheet
    project.save_study()
    assert told.returncode != 0 and "which one are queries to be written for?" in told.stdout
    assert "query_sheet: {corpus: ...}, one of east, west" in told.stdout and "Traceback" not in told.stdout


@pytest.mark.slow
def test_an_interrupt_ends_a_run_without_a_traceback(tmp_path):
    project = Project(tmp_path / "project", poems=4000)
    project.study["systems"] = ["use-m3"]
    project.save_study()
    command = project.command("results/small/encodings/east/use-m3.json")
    running = subprocess.Popen(
        command,
        cwd=project.folder,
        env=project.environment() | {"VERSEIR_CACHE": str(project.folder / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    until = time.monotonic() + 120
    while not list((project.folder / "cache").rglob("*.keys")):
        assert time.monotonic() < until and running.poll() is None
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: Snakemake, the job and what reads it
    told = running.communicate(timeout=120)[0]
    assert running.returncode != 0 and "Traceback" not in told, told[-3000:]
    log = (project.results / "logs/encode_texts/east/use-m3.log").read_text(encoding="utf-8")
    assert "encode_texts: stopped; the same command goes on" in log
