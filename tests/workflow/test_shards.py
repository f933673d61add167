"""An encode that several jobs share, and jobs that are given no GPU."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).parent))
from project import Project

SHARE = re.compile(r"use-m3 on east, share (\d) of 2: (\d+) of (\d+) texts encoded")
RUN = "results/small/runs/east/verse/east-set/use-m3.parquet"
ENCODING = "results/small/encodings/east/use-m3.json"


def encoded(done):
    """Texts that each job encoded, and those that it has."""
    assert done.returncode == 0, done.stdout[-4000:]
    return {int(share): (int(new), int(texts)) for share, new, texts in SHARE.findall(done.stdout)}


def test_two_jobs_make_the_run_of_one(tmp_path):
    project = Project(tmp_path / "project", poems=1450)  # 4,350 chunks: two blocks, and one of 1,450 queries
    project.save_study(project.study | {"shards": {"use-m3": 2}})
    store = project.folder / ".cache" / "vectors"
    project.kill_when(lambda: list(store.rglob("[!.]*.keys")), RUN)
    resumed = encoded(project.run(RUN))
    n_texts = sum(texts for _, texts in resumed.values())
    assert 4350 + 1450 - 10 < n_texts <= 4350 + 1450  # a few verses may be drawn twice
    assert 0 < sum(new for new, _ in resumed.values()) < n_texts
    assert project.jobs(RUN) == {}

    def afresh(shards, *arguments):
        project.save_study(project.study | {"shards": {"use-m3": shards}})
        for made in (store, project.results / "encodings", project.results / "runs"):
            shutil.rmtree(made)
        done = project.run(RUN, *arguments)
        assert done.returncode == 0, done.stdout[-4000:]
        return done, pl.read_parquet(project.folder / RUN), json.loads((project.folder / ENCODING).read_text())

    done, run_of_two, seen_by_two = afresh(2)
    assert all(new > 1000 for new, _ in encoded(done).values())
    assert "given no GPU" not in done.stdout  # it runs on NumPy: it asks for none
    assert "running on the CPU with" in done.stdout
    _, run_of_one, seen_by_one = afresh(1)
    assert run_of_two.equals(run_of_one)
    assert seen_by_two == seen_by_one
    cost = json.loads((project.results / "costs/encode_texts/east/use-m3.json").read_text())
    assert cost["n_texts"] == n_texts


def test_shards_of_what_is_not_encoded_are_refused(tmp_path):
    project = Project(tmp_path / "project")
    project.save_study(project.study | {"shards": {"use-m4": 2}})
    told = project.run("-n").stdout
    assert "the study does not encode with 'use-m4'" in told
    assert "did you mean 'use-m3'" in told
    project.save_study(project.study | {"shards": {"use-m3": 0}})
    assert "shards.use-m3" in project.run("-n").stdout


def test_a_run_without_gpus_gives_none_to_any_job(tmp_path):
    project = Project(tmp_path / "project")
    project.save_study(project.study | {"systems": ["bm25", "minilm-l6"]})
    target = "results/small/encodings/east/minilm-l6.json"
    assert "encode_texts --threads 2 --gpus 1" in project.run("-n", "-p", target).stdout
    command = [word.replace("gpu=1", "gpu=0") for word in project.command(target)]
    told = subprocess.run(
        command, cwd=project.folder, env=project.environment(), capture_output=True, text=True, timeout=300
    )
    assert told.returncode == 0, told.stdout[-3000:] + told.stderr[-3000:]
    log = (project.results / "logs/encode_texts/east/minilm-l6.log").read_text(encoding="utf-8")
    assert log.count("this job was given no GPU: running on the CPU with 2 threads") == 1
    assert json.loads((project.folder / target).read_text(encoding="utf-8"))["device"] == "cpu"
