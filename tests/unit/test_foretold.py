"""What a check tells before a run: jobs by stage, time and disk by system, in words."""

import re
from pathlib import Path

from verseir.foretold import (
    JOB_SECONDS,
    STAGES,
    hours_of,
    jobs_of,
    seconds_of_jobs,
    stages_of,
    told_jobs,
    told_models,
    told_systems,
    told_time,
)
from verseir.plan import plan_table

RULES = Path(__file__).parents[2] / "workflow" / "rules"
DRY = """
Job stats:
job              count
-------------  -------
all                  1
encode_texts         2
search_bm25          4
write_report         1
total                8

"""
ENCODE = {"step": "encode", "corpus": "c", "n_texts": 10, "n_new": 10, "at_hand": True, "disk_mib": 1.0}


def test_the_jobs_of_a_dry_run():
    assert jobs_of(DRY) == {"encode_texts": 2, "search_bm25": 4, "write_report": 1}
    assert jobs_of("Nothing to be done (all requested files are present and up to date).") == {}


def test_every_rule_that_a_run_may_have_has_a_stage():
    rules = {name for path in RULES.glob("*.smk") for name in re.findall(r"^\s*rule (\w+):$", path.read_text(), re.M)}
    assert rules - set(stages_of(RULES)) == {"plan_costs"}
    assert set(stages_of(RULES).values()) == set(STAGES)


def test_stages_are_in_their_order_and_sum_to_all():
    lines = [line.rsplit(None, 1) for line in told_jobs(jobs_of(DRY), stages_of(RULES)).splitlines()]
    assert [line[0].strip() for line in lines] == [
        "what will run",
        "index and encode",
        "search",
        "tables, figures, report",
        "all",
    ]
    assert [line[1] for line in lines[1:]] == ["2", "4", "1", "7"]


def test_hours_that_are_not_known_are_said_to_be_so():
    plan = plan_table(
        [
            ENCODE | {"system": "a", "cpu_hours": 1.0, "gpu_hours": 0.1, "gpu_from": "x", "cpu_from": "x"},
            ENCODE | {"system": "b", "at_hand": False},
            ENCODE | {"system": "c", "n_new": 0},
        ]
    )
    assert hours_of(plan, gpu=False) == (1.0, ["b"])
    assert hours_of(plan, gpu=True) == (0.1, ["b"])
    lines = [line.split() for line in told_systems(plan, gpu=False).splitlines()]
    assert [line[:3] for line in lines[1:]] == [
        ["a", "10", "60"],
        ["b", "10", "?"],
        ["c", "0", "0"],
        ["all", "20", "60"],
    ]
    training = jobs_of(DRY) | {"fine_tune_encoder": 3}
    untold = told_time(training, {"search_bm25": 90.0}, plan, False, 2)
    assert untold.startswith(told_time(jobs_of(DRY), {"search_bm25": 90.0}, plan, False, 2).partition(" What ")[0])
    assert "3 runs of training takes no run has measured yet" in untold
    assert "training" not in told_time(training, {"search_bm25": 90.0, "fine_tune_encoder": 60.0}, plan, False, 2)
    told = told_time(jobs_of(DRY), {"search_bm25": 90.0}, plan, False, 2)
    rest = (4 * 90 + JOB_SECONDS) / 2 / 60
    assert told == (
        f"About {60 + rest:.0f} min on 2 cores: 60 min to encode and index, {rest:.0f} min for all else."
        " What b takes no run has measured yet."
    )
    assert told_models(plan) == "To be fetched first, 1 model: b."


def test_seconds_of_jobs_are_those_of_finished_ones(tmp_path):
    for name, text in (("a/one.tsv", "s\n2.0\t0:02\n"), ("a/two.tsv", "s\n4.0\t0:04\n"), ("b.tsv", "s\n")):
        path = tmp_path / "study" / "benchmarks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert seconds_of_jobs(tmp_path) == {"a": 3.0}
