"""The rules: what runs, what does not run again, what a fault stops."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))
from project import ROOT, Project, verse

ENCODED = re.compile(r"use-m3 on (\w+): (\d+) of (\d+) texts encoded")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The small study, run once. Tests that edit it take a copy."""
    project = Project(tmp_path_factory.mktemp("finished") / "project")
    done = project.run()
    assert done.returncode == 0, done.stdout[-4000:]
    project.told = done.stdout
    return project


@pytest.fixture
def copy(finished, tmp_path):
    """A copy of the finished study, with the times of its files."""
    project = object.__new__(Project)
    project.folder = tmp_path / "project"
    project.study = json.loads(json.dumps(finished.study))
    shutil.copytree(finished.folder, project.folder)
    return project


def test_all_targets_of_the_demo_expand():
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "-n",
        "--quiet",
        "rules",
        "--cores",
        "8",
        "--resources",
        "gpu=1",
        "--forceall",
    ]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert told.returncode == 0, told.stderr
    listed = told.stdout + told.stderr
    assert re.search(r"search_dense +37", listed)
    assert re.search(r"encode_texts +7", listed)


def test_a_run_makes_every_file_that_the_tree_promises(finished):
    names = {str(path.relative_to(finished.results)) for path in finished.results.rglob("*") if path.is_file()}
    for name in (
        "inputs.json",
        "manifest.json",
        "config.yaml",
        "per_query.parquet",
        "tables/leaderboard.csv",
        "tables/contrasts.csv",
        "tables/ties.csv",
        "tables/costs.csv",
        "tables/encoding.csv",
        "figures/registers.svg",
        "figures/registers.pdf",
        "report/index.html",
        "runs/east/verse/east-set/bm25.parquet",
        "trec/runs/west/verse/west-set/use-m3.trec",
        "trec/qrels/west-set.qrels",
        "corpora/east/duplicates.csv",
    ):
        assert name in names
    assert not [name for name in names if Path(name).name.startswith(".")], "temporary files were left behind"


def test_the_study_finds_what_it_must(finished):
    table = pl.read_csv(finished.results / "tables/leaderboard.csv")
    recall = table.filter((pl.col("system") == "bm25") & (pl.col("measure") == "Recall@5"))
    assert recall["mean"].to_list() == [1.0, 1.0]
    assert recall["n_queries"].to_list() == [8, 8]


def test_the_saved_config_is_the_study_again(finished):
    saved = yaml.safe_load((finished.results / "config.yaml").read_text(encoding="utf-8"))
    assert saved["study"] == "small"
    assert saved["corpora"] == finished.study["corpora"]


def test_a_second_run_has_nothing_to_do(finished):
    assert finished.jobs() == {}


def test_a_touch_of_every_file_and_another_order_of_keys_run_nothing(copy):
    def reordered(value):
        return {key: reordered(value[key]) for key in reversed(value)} if isinstance(value, dict) else value

    registry = copy.folder / "config/systems.yaml"
    entries = yaml.safe_load(registry.read_text(encoding="utf-8"))
    registry.write_text(yaml.safe_dump(reordered(entries), sort_keys=False, allow_unicode=True), encoding="utf-8")
    copy.save_study(reordered(copy.study))
    for path in sorted(copy.folder.rglob("*")):
        if path.is_file() and ".snakemake" not in path.parts:
            os.utime(path)
    assert copy.jobs() == {}


def test_an_edited_poem_runs_its_own_corpus_and_encodes_its_new_texts(copy):
    rows = copy.read_rows("data/east.jsonl")
    rows[3]["verses"][4] = verse(5555)
    copy.write_rows("data/east.jsonl", rows)
    jobs = copy.jobs()
    assert jobs["ingest_corpus"] == jobs["make_chunks"] == jobs["encode_texts"] == jobs["index_bm25"] == 1
    assert jobs["search_bm25"] == jobs["search_dense"] == 1
    assert "ingest_queries" not in jobs
    done = copy.run()
    assert done.returncode == 0, done.stdout[-4000:]
    assert "Reading the corpus west" not in done.stdout
    assert ENCODED.findall(done.stdout)[0] == ("east", "1", "32")  # one window holds the last verse
    assert copy.jobs() == {}


def test_a_new_query_set_encodes_only_its_texts(copy):
    copy.write_rows("data/more.jsonl", [{"query_id": "m1", "text": "سؤال جديد عن النجوم", "relevant": ["west-1"]}])
    copy.study["query_sets"]["more"] = {"corpora": ["west"], "path": "data/more.jsonl"}
    copy.save_study()
    done = copy.run("results/small/per_query.parquet")
    assert done.returncode == 0, done.stdout[-4000:]
    assert [found[:2] for found in ENCODED.findall(done.stdout)] == [("west", "1")]


def test_an_edited_plot_plots_again_and_encodes_nothing(copy):
    module = copy.folder / "workflow/verseir/figures/registers.py"
    module.write_text(module.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    jobs = copy.jobs()
    assert "plot_registers" in jobs
    assert not {"encode_texts", "search_dense", "evaluate_runs", "compare_systems"} & set(jobs)


def test_an_edited_helper_runs_its_dependents(copy):
    module = copy.folder / "workflow/verseir/stats/mcnemar.py"
    module.write_text(module.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    jobs = copy.jobs()
    assert "compare_systems" in jobs
    assert not {"encode_texts", "evaluate_runs", "make_leaderboard"} & set(jobs)


def test_a_killed_encode_goes_on_where_it_stopped(tmp_path):
    project = Project(tmp_path / "project", poems=1200)
    target = "results/small/encodings/east/use-m3.json"
    chunks = "results/small/corpora/east/chunks/verse.parquet"
    assert project.run(chunks, "results/small/queries/east-set.parquet").returncode == 0
    store = project.folder / ".cache" / "vectors"
    project.kill_when(lambda: list(store.rglob("[!.]*.keys")), target, seconds=120)
    assert not (project.folder / target).exists()
    done = project.run(target)
    assert done.returncode == 0, done.stdout[-4000:]
    _, encoded, total = ENCODED.findall(done.stdout)[0]
    assert 0 < int(encoded) < int(total)


def test_bad_inputs_are_refused_together_before_anything_is_made(tmp_path):
    project = Project(tmp_path / "project")
    rows = project.read_rows("data/east.jsonl")
    rows[1]["poem_id"] = rows[0]["poem_id"]
    rows[2]["verses"] = []
    project.write_rows("data/east.jsonl", rows)
    (project.folder / "data/west.jsonl").write_bytes(
        b"\xef\xbb\xbf" + (project.folder / "data/west.jsonl").read_bytes()
    )
    queries = project.read_rows("data/east-queries.jsonl")
    queries[0]["relevant"] = ["no-such-poem"]
    queries[4]["register"] = "loud"
    project.write_rows("data/east-queries.jsonl", queries)
    done = project.run()
    assert done.returncode != 0
    for told in ("data/east.jsonl:2", "data/east.jsonl:3", "data/west.jsonl:1", "loud", "hint:", "nothing was run"):
        assert told in done.stdout, done.stdout
    made = [path for path in project.results.rglob("*") if path.is_file()] if project.results.exists() else []
    assert made == []


def test_a_gold_poem_that_is_not_in_the_corpus_is_named(tmp_path):
    project = Project(tmp_path / "project")
    queries = project.read_rows("data/east-queries.jsonl")
    queries[0]["relevant"] = ["no-such-poem"]
    project.write_rows("data/east-queries.jsonl", queries)
    done = project.run("check")
    assert done.returncode != 0
    assert "data/east-queries.jsonl:1" in done.stdout
    assert "no-such-poem" in done.stdout


def test_sound_inputs_are_counted_and_nothing_is_run(tmp_path):
    project = Project(tmp_path / "project")
    done = project.run("check")
    assert done.returncode == 0, done.stdout
    assert "corpus east: 8 poems, 40 verses, 0 explanations" in done.stdout
    assert "query set west-set: 8 queries, 8 judgements" in done.stdout
    assert [path.name for path in project.results.rglob("*") if path.is_file()] == ["inputs.json"]


def test_more_probes_than_poems_and_a_missing_run_are_refused(tmp_path):
    project = Project(tmp_path / "project")
    project.study["query_sets"]["probe"] = {"corpora": ["east"], "probe": {"corpus": "east", "n": 99}}
    project.save_study()
    assert "99 were wanted" in project.run("check").stdout
    (project.folder / "mine.yaml").write_text('gone: {kind: imported, path: "none/{corpus}.trec"}\n', encoding="utf-8")
    project.save_study(project.study | {"systems": ["gone"], "registry": ["config/systems.yaml", "mine.yaml"]})
    assert "none/east.trec" in project.run("-n").stdout


def test_a_faulty_config_is_refused_with_all_its_faults(tmp_path):
    project = Project(tmp_path / "project")
    project.save_study(project.study | {"systems": ["bm52"], "sysems": 1})
    done = project.run("-n")
    assert done.returncode != 0
    assert "unknown key: sysems" in done.stdout
    project.save_study(project.study | {"systems": ["bm52"], "query_sets": {"q": {"corpora": ["north"], "path": "x"}}})
    told = project.run("-n").stdout
    assert "did you mean 'bm25'" in told
    assert "unknown corpus 'north'" in told


def test_nothing_of_the_demo_leaks_into_another_study(finished):
    saved = yaml.safe_load((finished.results / "config.yaml").read_text(encoding="utf-8"))
    demo = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    assert not set(saved["corpora"]) & set(demo["corpora"])
    assert saved.get("title", "") != demo["title"]


def test_a_study_without_a_name_is_not_taken_for_the_demo(tmp_path):
    project = Project(tmp_path / "project")
    project.save_study({key: value for key, value in project.study.items() if key != "study"})
    done = project.run("-n")
    assert done.returncode != 0
    assert "'study' is a required property" in done.stdout


def test_missing_files_and_encoders_are_told_before_anything_runs(tmp_path):
    project = Project(tmp_path / "project")
    for name in ("east", "west"):
        (project.folder / f"data/{name}.jsonl").rename(project.folder / f"data/{name}.gone")
    told = project.run("-n").stdout
    assert "data/east.jsonl" in told
    assert "data/west.jsonl" in told
    for name in ("east", "west"):
        (project.folder / f"data/{name}.gone").rename(project.folder / f"data/{name}.jsonl")
    project.save_study(project.study | {"systems": ["use-m3", "bge-m3"]})
    done = project.run()
    assert done.returncode != 0
    assert "bge-m3" in done.stdout
    assert not project.results.exists()


def test_imported_runs_need_no_model(finished, tmp_path):
    project = Project(tmp_path / "project")
    for name in ("east", "west"):
        place = f"{name}/verse/{name}-set"
        (project.folder / "given" / place).mkdir(parents=True)
        shutil.copy(finished.results / f"trec/runs/{place}/bm25.trec", project.folder / "given" / place / "theirs.trec")
    (project.folder / "mine.yaml").write_text(
        'theirs: {kind: imported, path: "given/{corpus}/{mode}/{query_set}/theirs.trec"}\n', encoding="utf-8"
    )
    project.study |= {"systems": ["theirs"], "registry": ["config/systems.yaml", "mine.yaml"]}
    project.save_study()
    done = project.run("results/small/tables/leaderboard.csv", "results/small/manifest.json")
    assert done.returncode == 0, done.stdout[-4000:]
    assert "encode_texts" not in done.stdout
    assert "{corpus}" in (project.results / "manifest.json").read_text(encoding="utf-8")
    columns = ["corpus", "query_set", "measure", "mean"]
    ours = pl.read_csv(finished.results / "tables/leaderboard.csv").filter(pl.col("system") == "bm25").select(columns)
    theirs = pl.read_csv(project.results / "tables/leaderboard.csv").select(columns)
    assert theirs.equals(ours)


def test_a_trial_writes_beside_the_real_results(finished):
    told = finished.run("-n", "--config", "debug=true").stdout
    assert "results/small.debug/" in told
    assert "results/small/" not in told
