"""The cluster profiles. What needs a Slurm runs where one answers; VERSEIR_SLURM=start starts one (root, one node)."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))
from project import ROOT, Project

SCRIPT = Path(__file__).parent / "one_node_slurm.sh"
SHARE = re.compile(r"share (\d) of 2: (\d+) of (\d+) texts encoded")
#: For a node of two cores and little memory.
SMALL = [
    *("--workflow-profile", "profiles/slurm", "--cores", "2", "--latency-wait", "20"),
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2"),
    *("--default-resources", "mem_mb=1000*attempt", "runtime=10*attempt"),
    *("--set-resources", "encode_texts:mem_mb=3000*attempt", "encode_shard:mem_mb=2000*attempt"),
]


def answers():
    """Whether a Slurm answers here."""
    try:
        return bool(subprocess.run(["sinfo", "--noheader"], capture_output=True, timeout=30, check=True).stdout)
    except (OSError, subprocess.SubprocessError):
        return False


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """A Slurm that answers."""
    if not shutil.which("sbatch"):
        pytest.skip("Slurm is not installed: apt-get install --no-install-recommends slurm-wlm munge")
    if answers():
        yield
        return
    if os.environ.get("VERSEIR_SLURM") != "start":
        pytest.skip("no Slurm answers: VERSEIR_SLURM=start starts one of one node, as root")
    state = tmp_path_factory.mktemp("slurm")
    try:
        subprocess.run([SCRIPT, "up", state], check=True, timeout=120, stdout=subprocess.DEVNULL)
        yield
    finally:
        subprocess.run([SCRIPT, "down", state], check=True, timeout=120)


class Jobs:
    """What Slurm says of its jobs, as long as it remembers them."""

    def __init__(self):
        self.seen: dict[str, dict[str, str]] = {}
        self.look()
        self.older = set(self.seen)

    def look(self) -> list[dict[str, str]]:
        """The jobs that came since this was made."""
        told = subprocess.run(["scontrol", "show", "job", "--oneliner"], capture_output=True, text=True, timeout=60)
        for line in told.stdout.splitlines():
            fields = dict(field.partition("=")[::2] for field in line.split() if "=" in field)
            if "JobId" in fields:
                self.seen[fields["JobId"]] = fields
        return [job for number, job in self.seen.items() if number not in getattr(self, "older", set())]

    def of(self, rule: str) -> list[dict[str, str]]:
        return [job for job in self.look() if job.get("Comment", "").startswith(f"rule_{rule}")]


def project_on_a_cluster(folder):
    """A study with a corpus that two jobs encode, and one whose encoder asks for a GPU."""
    project = Project(folder, poems=1450)
    for name in ("west", "west-queries"):
        project.write_rows(f"data/{name}.jsonl", project.read_rows(f"data/{name}.jsonl")[:8])
    registry = yaml.safe_load((project.folder / "config/systems.yaml").read_text(encoding="utf-8"))
    mine = {
        "use": registry["use-m3"] | {"only": [{"corpora": ["east"]}]},
        "mini": registry["minilm-l6"] | {"only": [{"corpora": ["west"]}]},
    }
    (project.folder / "mine.yaml").write_text(yaml.safe_dump(mine), encoding="utf-8")
    project.study |= {
        "systems": ["bm25", "use", "mini"],
        "registry": ["config/systems.yaml", "mine.yaml"],
        "shards": {"use": 2},
        "analyses": {"reference_encoder": None},
    }
    project.save_study()
    return project


def command(*arguments, gpus=True):
    without = [] if gpus else ["encode_texts:gpu=0", "encode_shard:gpu=0"]
    return [sys.executable, "-m", "snakemake", *arguments, *SMALL, *without, "--configfile", "study.yaml"]


def test_a_study_runs_on_slurm_and_survives_a_requeue(slurm, tmp_path):
    project = project_on_a_cluster(tmp_path / "project")
    targets = ["results/small/tables/leaderboard.csv", "results/small/tables/encoding.csv"]
    jobs = Jobs()
    log = tmp_path / "snakemake.log"
    with log.open("w") as stream:
        running = subprocess.Popen(
            command(*targets), cwd=project.folder, env=project.environment(), stdout=stream, stderr=subprocess.STDOUT
        )
        try:
            requeued = requeue_an_encode(project, jobs, running)
            assert running.wait(timeout=900) == 0, log.read_text()[-6000:]
        finally:
            running.kill()
    assert requeued, log.read_text()[-4000:]
    shares = jobs.of("encode_shard")
    assert sorted(int(job["Restarts"]) for job in shares) == [0, 1]
    assert jobs.seen[requeued]["Restarts"] == "1"

    logs = project.results / "logs/encode_shard/east/use"
    told = [SHARE.search(path.read_text(encoding="utf-8")) for path in sorted(logs.glob("*.log"))]
    done = {match[1]: (int(match[2]), int(match[3])) for match in told}
    new, texts = done[re.search(r"_use_(\d)_2$", jobs.seen[requeued]["Comment"])[1]]
    assert 0 < new < texts  # what it had encoded was not lost

    (gpu_job,) = [job for job in jobs.of("encode_texts") if "mini" in job["Comment"]]
    assert gpu_job["TresPerJob"] == "gres:gpu:1"
    assert not [job for job in shares if "TresPerJob" in job]  # an encoder on NumPy asks for none
    assert len([job for job in jobs.look() if "group_" in job["Command"] + job.get("StdOut", "")]) >= 3

    idle = subprocess.run(
        command("-n", *targets), cwd=project.folder, env=project.environment(), capture_output=True, text=True
    )
    assert "Nothing to be done" in idle.stdout + idle.stderr
    table = pl.read_csv(project.results / "tables/leaderboard.csv")
    assert set(table["system"]) == {"bm25", "use", "mini"}
    seen = json.loads((project.results / "encodings/east/use.json").read_text(encoding="utf-8"))
    assert seen["roles"]["document"]["n_texts"] > 4340


def requeue_an_encode(project, jobs, running):
    """Requeue a job that shares an encode once it has written vectors; its number, or nothing where none was caught."""
    store = project.folder / ".cache" / "vectors"
    deadline = time.monotonic() + 600
    while running.poll() is None and time.monotonic() < deadline:
        if list(store.rglob("[!.]*.keys")):
            for job in jobs.of("encode_shard"):
                if job["JobState"] == "RUNNING":
                    subprocess.run(["scontrol", "requeue", job["JobId"]], check=True, timeout=60)
                    return job["JobId"]
        time.sleep(0.2)
    return ""


def test_without_gpus_no_job_asks_for_one(slurm, tmp_path):
    project = project_on_a_cluster(tmp_path / "project")
    jobs = Jobs()
    target = "results/small/encodings/west/mini.json"
    done = subprocess.run(
        command(target, gpus=False),
        cwd=project.folder,
        env=project.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    (job,) = jobs.of("encode_texts")
    assert "TresPerJob" not in job
    told = (project.results / "logs/encode_texts/west/mini.log").read_text(encoding="utf-8")
    assert told.count("this job was given no GPU: running on the CPU with 2 threads") == 1


def read_profile(name):
    return yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8"))


def test_the_profile_names_rules_that_there_are():
    profile = read_profile("slurm")
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
    rules = set(re.findall(r"^ *(?:rule|use rule \w+ as) (\w+)(?::| with:)", text, re.MULTILINE))
    grouped = dict(entry.split("=") for entry in profile["groups"])
    assert set(grouped) - rules == set()
    assert set(profile["set-resources"]) - rules == set()
    assert {entry.split("=")[0] for entry in profile["group-components"]} <= set(grouped.values())
    assert not any(entry.startswith("gpu") for entry in profile.get("resources", []))
    alone = {"encode_texts", "encode_shard", "judge_pool", "write_explanations", "rewrite_queries", "evaluate_runs"}
    assert not alone & set(grouped)


def test_the_generic_profile_hands_out_the_same_jobs():
    slurm, generic = (read_profile(name) for name in ("slurm", "cluster-generic"))
    for key in ("groups", "group-components", "set-resources", "retries", "cores"):
        assert generic[key] == slurm[key]
    assert "gpu=0" in generic["default-resources"]  # so that the command can name it for every job


def test_a_study_runs_on_another_batch_system(tmp_path):
    project = Project(tmp_path / "project")
    project.save_study(project.study | {"systems": ["bm25", "use-m3"], "analyses": {"reference_encoder": None}})
    notes = tmp_path / "notes"
    submit = Path(__file__).parent / "submit_here.sh"
    asked = "{threads} {resources.mem_mb} {resources.runtime} {resources.gpu}"
    options = ["--workflow-profile", "profiles/cluster-generic", "--cores", "2", "--configfile", "study.yaml"]
    options += ["--cluster-generic-submit-cmd", f"{submit} {notes} {asked}"]
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "results/small/per_query.parquet", *options],
        cwd=project.folder,
        env=project.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-3000:] + notes.with_suffix(".log").read_text()[-3000:]
    jobs = sorted(tuple(map(int, line.split())) for line in notes.read_text().splitlines())
    assert len(jobs) == 6  # read, chunks, two encodes, searches, evaluation: of 15 steps
    assert jobs.count((2, 16000, 240, 0)) == 2  # an encoder on NumPy asks for no GPU
    assert pl.read_parquet(project.results / "per_query.parquet")["system"].n_unique() == 2


ENDPOINT = {"base_url": "http://127.0.0.1:9/v1", "model": "none"}


def test_no_group_waits_for_itself(tmp_path):
    """Models that write explanations, rewrite queries and judge stand between jobs of groups."""
    project = Project(tmp_path / "project")
    rows = project.read_rows("data/east-queries.jsonl")
    themes = [{"query_id": f"t{i}", "text": row["text"]} for i, row in enumerate(rows)]
    project.write_rows("data/themes.jsonl", themes)
    shutil.copytree(ROOT / "resources/prompts", project.folder / "resources/prompts")
    study = project.study
    study["corpora"]["east"]["explanations"] = {
        "ai": {"prompt": "resources/prompts/explain.md", "endpoint": ENDPOINT},
    }
    study["modes"]["both"] = ["verse", "explanation:ai"]
    study["corpora"]["west"]["modes"] = ["verse"]
    study["query_sets"] |= {
        "themes": {
            "corpora": ["east"],
            "path": "data/themes.jsonl",
            "purpose": "thematic",
            "register": "thematic",
            "judged": "later",
        },
        "added": {"corpora": ["east"], "edit": {"of": "east-set", "rule": "append-half-verse", "verse": "opening"}},
        "rewritten": {
            "corpora": ["east"],
            "edit": {
                "of": "east-set",
                "rule": "rewrite-by-model",
                "prompt": "resources/prompts/rewrite.md",
                "endpoint": ENDPOINT,
            },
        },
    }
    study["systems"] = ["bm25", "use-m3", "rrf"]
    (project.folder / "mine.yaml").write_text("rrf: {kind: fusion, arms: [bm25, use-m3]}\n", encoding="utf-8")
    study["registry"] = ["config/systems.yaml", "mine.yaml"]
    rubric = "resources/prompts/rubric-thematic.yaml"
    study["judging"] = {"judges": {"one": {"rubric": rubric, "endpoint": ENDPOINT}}}
    project.save_study()
    told = subprocess.run(
        command("-n"), cwd=project.folder, env=project.environment(), capture_output=True, text=True, timeout=200
    )
    assert told.returncode == 0, told.stdout[-4000:]
    listed = told.stdout + told.stderr
    for rule in ("judge_pool", "write_explanations", "rewrite_queries"):
        assert re.search(rf"{rule} +1\n", listed), listed[-3000:]
