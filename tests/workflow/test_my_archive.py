"""An archivist's way: the template study on its two spreadsheets, checked and run to its report."""

import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import openpyxl
import polars as pl
import psutil
import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))
from in_process import run_in_process
from project import ROOT, Project

TEMPLATE = ROOT / "config/studies/my-archive.yaml"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The project with the template, its spreadsheets copied as it says, and BM25 alone to be quick."""
    project = Project(tmp_path_factory.mktemp("archive") / "project", poems=1)
    shutil.copytree(ROOT / "resources/my-archive", project.folder / "resources/my-archive")
    for path in (ROOT / "resources/my-archive").glob("*.csv"):
        shutil.copy(path, project.folder / "data")
    project.study = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8")) | {
        "systems": ["bm25"],
        "bootstrap": 200,
        "flips": 999,
    }
    project.save_study()
    return project


def check(project, *study, folder="."):
    """``python -m verseir check`` of the copy, called in a folder of it."""
    plain = project.environment() | {"PYTHONPATH": str(project.folder / "workflow")}
    return subprocess.run(
        [sys.executable, "-m", "verseir", "check", *study, "--cores", "2"],
        cwd=project.folder / folder,
        env=plain,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_check_tells_what_was_read_what_runs_and_how_to_run_it(archive):
    told = check(archive, "../study.yaml", folder="data")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "corpus archive: 8 poems, 32 verses" in told.stdout
    assert "query set questions: 12 queries" in told.stdout
    assert "verses is 'النص'" in told.stdout and "parted by '***'" in told.stdout
    assert "what will run" in told.stdout and "About" in told.stdout and "bm25" in told.stdout
    assert told.stdout.splitlines()[-1] == ("cd .. && snakemake --cores 2 --resources gpu=1 --configfile study.yaml")
    assert told.stderr == ""
    assert not (archive.folder / "results/my-archive/runs").exists()


def test_the_check_tells_all_faults_at_once_and_runs_nothing(archive):
    queries = (archive.folder / "data/queries.csv").read_text(encoding="utf-8-sig")
    wrong = archive.folder / "data/wrong.csv"
    wrong.write_text(queries + "q13,quoting,x,99\nq14,abstract,y,\n", encoding="utf-8-sig")
    study = json.loads(json.dumps(archive.study))
    study["query_sets"]["questions"]["path"] = "data/wrong.csv"
    (archive.folder / "wrong.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    told = check(archive, "wrong.yaml")
    assert told.returncode == 1 and told.stdout == ""
    assert "data/wrong.csv:14" in told.stderr and "data/wrong.csv:15" in told.stderr and "'99'" in told.stderr
    study["corpora"]["archive"]["pat"] = study["corpora"]["archive"].pop("path")
    (archive.folder / "wrong.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    told = check(archive, "wrong.yaml")
    assert told.returncode == 1 and "did you mean 'path'" in told.stderr and "Traceback" not in told.stderr


def test_the_command_can_be_pasted_and_a_failed_plan_says_why(archive):
    odd = archive.folder / "my 'odd' study.yaml"
    shutil.copy(archive.folder / "study.yaml", odd)
    told = check(archive, odd.name)
    assert told.returncode == 0, told.stdout + told.stderr
    assert shlex.split(told.stdout.splitlines()[-1])[-2:] == ["--configfile", odd.name]
    rules = archive.folder / "workflow/rules/plan.smk"
    before = rules.read_text(encoding="utf-8")
    try:
        rules.write_text(before + "\nrule broken_on_purpose:\n    nonsense: 1\n", encoding="utf-8")
        told = check(archive, odd.name)
    finally:
        rules.write_text(before, encoding="utf-8")
        odd.unlink()
    assert told.returncode == 2 and "could not be planned: Snakemake ended with 1" in told.stderr
    assert "nonsense" in told.stderr and "Traceback" not in told.stderr


def test_an_interrupt_ends_what_the_check_started(archive):
    call = subprocess.Popen(
        [sys.executable, "-m", "verseir", "check", "study.yaml", "--cores", "2"],
        cwd=archive.folder,
        env=archive.environment() | {"PYTHONPATH": str(archive.folder / "workflow")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    end = time.monotonic() + 60
    while not (children := psutil.Process(call.pid).children(recursive=True)):
        assert time.monotonic() < end
        time.sleep(0.02)
    call.send_signal(signal.SIGINT)
    call.communicate(timeout=60)
    assert call.returncode == 130
    assert not [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]


def test_a_study_is_known_by_its_name(archive):
    told = check(archive, "my-archve")
    assert told.returncode == 2 and "did you mean 'my-archive'" in told.stderr


def test_the_template_runs_to_its_report(archive):
    assert run_in_process(archive) == []
    results = archive.folder / "results/my-archive"
    table = pl.read_csv(results / "tables/leaderboard.csv").filter(pl.col("measure") == "Recall@5")
    assert dict(table.select("query_set", "n_queries").iter_rows()) == {"questions": 12, "probes": 18}
    page = (results / "report/index.html").read_text(encoding="utf-8")
    assert "hemistichs are parted by" in page
    audit = json.loads((results / "corpora/archive/audit.json").read_text(encoding="utf-8"))
    assert "poem_id is 'رقم'" in audit["notes"][0] and audit["warnings"] == []
    told = check(archive, "study.yaml")
    assert told.returncode == 0 and "Nothing is to be done" in told.stdout


def test_the_same_poems_in_a_workbook_give_the_same_runs(archive):
    from verseir.rows import read_delimited

    rows = read_delimited(archive.folder / "data/poems.csv", "poems.csv", [])
    book = openpyxl.Workbook()
    book.active.append(list(rows[0].values))
    for row in rows:
        book.active.append([int(cell) if cell.isdigit() else cell for cell in row.values.values()])
    book.save(archive.folder / "data/poems.xlsx")
    before = pl.read_parquet(archive.folder / "results/my-archive/corpora/archive/poems.parquet")
    study = json.loads(json.dumps(archive.study)) | {"study": "workbook"}
    study["corpora"]["archive"]["path"] = "data/poems.xlsx"
    archive.save_study(study)
    target = "results/workbook/corpora/archive/poems.parquet"
    done = archive.run(target)
    assert done.returncode == 0, done.stdout[-4000:]
    assert pl.read_parquet(archive.folder / target).equals(before)
    archive.save_study()
