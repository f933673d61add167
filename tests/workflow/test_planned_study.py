"""What a plan foresees is what a run then makes."""

import json
import re
import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from in_process import run_in_process
from project import ROOT, Project

LISTS = [
    f"results/small/trec/runs/{name}/verse/{name}-set/{system}.trec"
    for name in ("east", "west")
    for system in ("bm25", "use-m3")
]


READ = [
    f"results/small/{file}"
    for name in ("east", "west")
    for file in (f"corpora/{name}/chunks/verse.parquet", f"queries/{name}-set.parquet")
]


def planned(project):
    assert run_in_process(project, *READ) == []
    assert run_in_process(project, "plan_costs") == []
    rows = pl.read_csv(project.results / "plan.csv")
    return {(row["step"], row["system"], row["corpus"]): row for row in rows.iter_rows(named=True)}


def size(*paths):
    return sum(path.stat().st_size for path in paths if path.is_file()) / 2**20


def test_a_plan_foresees_what_a_run_makes(tmp_path, monkeypatch):
    monkeypatch.delenv("VERSEIR_CACHE", raising=False)
    project = Project(tmp_path / "project", poems=120)
    project.save_study(project.study | {"shards": {"use-m3": 2}})
    cheap = {"ingest_corpus": 2, "ingest_queries": 2, "make_chunks": 2, "plan_costs": 1}
    assert project.jobs("plan_costs") == cheap
    before = planned(project)
    assert not (project.folder / ".cache" / "vectors").exists()
    assert not (project.results / "runs").exists()
    assert set(project.jobs("plan_costs")) == {"plan_costs"}  # made again whenever it is asked for

    assert run_in_process(project, "results/small/tables/costs.csv", *LISTS) == []
    costs = pl.read_csv(project.results / "tables" / "costs.csv")
    made = {(row["stage"], row["system"], row["corpus"]): row["n_texts"] for row in costs.iter_rows(named=True)}
    for name in ("east", "west"):
        encode, index = before["encode", "use-m3", name], before["index", "bm25", name]
        assert encode["n_texts"] == made["encode", "use-m3", name]
        assert index["n_texts"] == made["index", "bm25", name]
        assert (encode["n_jobs"], encode["tokens_from"]) == (2, "characters")
        assert encode["n_tokens"] > encode["n_new"] > 0
        assert encode["largest_share"] <= 1
    vectors = sum(row["disk_mib"] for (step, *_), row in before.items() if step == "encode")
    store = project.folder / ".cache" / "vectors"
    assert vectors == pytest.approx(size(*store.rglob("*.npy"), *store.rglob("*.keys")), rel=0.2)
    for step, folder in (("index", "indexes"), ("export", "trec/runs")):
        foreseen = sum(row["disk_mib"] for (other, *_), row in before.items() if other == step)
        assert foreseen == pytest.approx(size(*(project.results / folder).rglob("*")), rel=0.2)
    runs = sum(row["disk_mib"] for (step, *_), row in before.items() if step == "search")
    assert runs == pytest.approx(size(*(project.results / "runs").rglob("*")), rel=0.4)  # so small that headers show

    after = planned(project)
    assert all(after["encode", "use-m3", name]["n_new"] == 0 for name in ("east", "west"))
    project.save_study(project.study | {"chunks": {"verses": 2, "stride": 1}})
    for path in project.results.rglob("chunks/*.parquet"):
        path.unlink()
    again = planned(project)["encode", "use-m3", "east"]
    assert 0 < again["n_new"] < again["n_texts"]  # the queries are stored
    assert again["cpu_from"] == "as many texts a second as in the study small, on cpu"


def test_a_plan_asks_no_language_model(tmp_path):
    project = Project(tmp_path / "project")
    (project.folder / "prompt.md").write_text("{poem}", encoding="utf-8")
    asked = {"prompt": "prompt.md", "endpoint": {"base_url": "http://localhost:1/v1", "model": "m"}}
    study = json.loads(json.dumps(project.study))
    study["corpora"]["east"]["explanations"] = {"ai": asked}
    study["modes"]["told"] = ["explanation:ai"]
    study["corpora"]["west"]["modes"] = ["verse"]
    for name in ("east", "west"):
        edit = {"of": f"{name}-set", "rule": "delete-quoted"}
        study["query_sets"][f"{name}-edited"] = {"corpora": [name], "edit": edit}
    project.save_study(study)
    whole, plan = project.jobs(), project.jobs("plan_costs")
    assert whole["write_explanations"] == 1
    assert "write_explanations" not in plan
    assert (plan["make_chunks"], whole["make_chunks"]) == (2, 3)
    assert (plan["edit_queries"], whole["edit_queries"]) == (1, 2)  # the words of east hang on its explanations


def test_make_plan_tells_faults_and_its_table_stands_out(tmp_path):
    project = Project(tmp_path / "project")
    (line,) = re.findall(r"snakemake (plan_costs .*) \$\(OPTIONS\)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    project.save_study(project.study | {"systems": ["bm25", "use-m4"]})
    told = project.run(*line.split())
    assert told.returncode == 1
    assert "unknown system 'use-m4'" in told.stdout
    project.save_study()
    project.write_rows("data/east-queries.jsonl", [{"query_id": "q"}])
    assert "data/east-queries.jsonl:1" in project.run(*line.split()).stdout
    project = Project(tmp_path / "sound")
    told = project.run(*line.split())
    assert told.returncode == 0
    assert "The plan of small" in told.stdout
    assert "The table is results/small/plan.csv" in told.stdout
    assert "Job stats" not in told.stdout
