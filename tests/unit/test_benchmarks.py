"""How the benchmarks time and tell: pairs, ratios, floors, exponents, the page, the command."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from harness import runner, timing  # noqa: E402  (found on the path above)
from harness.case import Effort, Job, run_case, run_job  # noqa: E402
from harness.line import Disagreement, Line, Peer  # noqa: E402
from harness.page import make_page, write_page  # noqa: E402
from harness.results import (  # noqa: E402
    Row,
    exponent,
    growth,
    make_row,
    read_results,
    replaced,
    untimed_rows,
    write_results,
)
from harness.timing import Pairs, first_call, interleave  # noqa: E402
from lines import all_lines  # noqa: E402

# ---- times ----


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on when it is told to."""
    now = [0.0]

    def go_on(seconds):
        now[0] += seconds

    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    return go_on


def test_pairs_are_taken_in_turns_and_no_fewer_than_asked_for(clock):
    called = []
    taken = interleave(lambda: called.append("a") or clock(3.0), lambda: called.append("b") or clock(1.0), 6.0, 3, 9)
    assert "".join(called) == "abbaab"
    assert taken == ([3.0] * 3, [1.0] * 3)
    called.clear()
    taken = interleave(lambda: called.append("a") or clock(3.0), lambda: called.append("b") or clock(1.0), 13.0, 3, 9)
    assert "".join(called) == "abbaabba"  # none is begun after 13 seconds


def test_a_ratio_is_the_median_of_the_pairs_and_not_the_ratio_of_medians():
    pairs = Pairs([1.0, 2.0, 4.0], [3.0, 4.0, 4.0])
    assert pairs.ratios == [3.0, 2.0, 1.0]
    assert pairs.median == (2.0, 4.0, 2.0)


def test_short_calls_are_repeated_and_the_time_is_that_of_one(clock):
    called = []
    taken = interleave(lambda: called.append("a") or clock(0.002), lambda: called.append("b") or clock(0.5), 0.0, 2, 9)
    assert "".join(called) == "ab" + "aaaaaaaaaa" + "b" + "aaaaaaaaaa"
    np.testing.assert_allclose(taken, [[0.002] * 2, [0.5] * 2])


def test_the_first_call_is_told_apart(clock):
    waits = iter([5.0, 1.0, 1.0, 2.0])
    assert first_call(lambda: clock(next(waits))) == 4.0
    assert first_call(lambda: clock(next(waits))) == 0.0


# ---- lines of the test ----


def add(numbers, threads):
    return sum(numbers)


def add_slowly(numbers, threads):
    return sum(number for number in numbers for _ in range(9)) // 9


def same_sum(data, ours, theirs, peer):
    if ours != theirs:
        raise Disagreement(f"{ours}, the peer's {theirs}")


LINE = Line(
    name="sum",
    work="sum numbers",
    unit="numbers",
    sizes=(10, 100),
    quick=(10,),
    prepare=lambda size, threads: list(range(size)),
    ours=add,
    peers=(Peer("a slow one", add_slowly, floors={1: 2.0}), Peer("a small one", add, most=10)),
    same=same_sum,
    threads=(1,),
    binds="sleep",
    parts=lambda data, threads: {"sleeping": 0.001},
)
EFFORT = Effort(0.0, 3, 3)


def test_a_case_gives_times_and_its_row_a_ratio_and_a_verdict():
    case = run_case(LINE, 100, 1, EFFORT)
    assert list(case["pairs"]) == ["a slow one"]
    row = make_row(LINE, LINE.peers[0], 100, 1, case, {}, {})
    assert row.spread[0] <= row.ratio <= row.spread[1]
    assert (row.target, row.met, row.pairs) == (2.0, row.ratio >= 2.0, 3)
    assert row.parts["sleeping"] > 0
    small = run_case(LINE, 10, 1, EFFORT)
    assert set(small["pairs"]) == {"a slow one", "a small one"}
    assert make_row(LINE, LINE.peers[0], 10, 1, small, {}, {}).met is None


def test_nothing_is_timed_where_results_disagree():
    timed = []
    wrong = replace(LINE, peers=(Peer("wrong", lambda data, threads: timed.append(1) or -1),))
    with pytest.raises(Disagreement, match="sum and wrong: 45, the peer's -1"):
        run_case(wrong, 10, 1, EFFORT)
    assert timed == [1]


def row_of(ours, theirs, first=None, cold=None, share=1.0):
    pairs = {"ours": [ours] * 3, "theirs": [theirs] * 3, "share": share}
    case = {"pairs": {"a slow one": pairs}, "parts": {}, "peak_mb": 1, "load": [0, 0]}
    return make_row(LINE, LINE.peers[0], 100, 1, case, first or {}, cold or {})


def test_compiling_is_counted_and_can_miss_a_floor():
    row = row_of(1.0, 3.0, {"ours": 4.0, "a slow one": 0.0}, {"ours": 9.0, "a slow one": 0.5})
    assert (row.ratio, row.ratio_counted, row.ratio_cold) == (3.0, 0.6, 0.35)
    assert row.met is False
    assert "load or compile" in row.binds
    assert row.compile_s == {"ours": 4.0, "peer": 0.0, "ours_cold": 9.0, "peer_cold": 0.5}
    slow_peer = row_of(1.0, 1.5, {"ours": 0.0, "a slow one": 9.0})
    assert (slow_peer.ratio, slow_peer.ratio_counted, slow_peer.met) == (1.5, 10.5, False)
    assert (slow_peer.binds, slow_peer.note) == ("sleep", "")
    assert row_of(1.0, 3.0).binds == ""


def test_a_share_is_said():
    row = row_of(1.0, 3.0, share=0.25)
    assert row.share == 0.25
    assert "0.25 of the work" in row.note


def test_a_line_that_cannot_be_timed_has_rows_without_figures():
    (row,) = untimed_rows(LINE, 100, 1, note="no AMX")
    assert (row.ratio, row.met, row.target, row.note) == (None, None, 2.0, "no AMX")


@given(st.floats(0.1, 3), st.floats(1e-6, 1e-2))
def test_the_exponent_of_a_power_is_found(power, factor):
    times = {size: [factor * size**power] * 3 for size in (10, 100, 1000, 10_000)}
    assert exponent(times) == pytest.approx((power,) * 3, abs=6e-4)
    assert exponent({10: times[10], 100: []}) is None


def test_an_exponent_of_scattered_times_has_an_interval_and_one_of_single_times_has_none():
    scattered = exponent({10: [1.0, 1.2, 0.9], 100: [11.0, 9.0, 10.0], 1000: [90.0, 100.0, 130.0]})
    assert scattered.low < scattered.x < scattered.high
    assert scattered == exponent({10: [1.0, 1.2, 0.9], 100: [11.0, 9.0, 10.0], 1000: [90.0, 100.0, 130.0]})
    assert exponent({10: [1.0], 100: [10.0, 10.0]}) == (1.0, None, None)


TIMES = [1.0, 1.0, 1.0], [2.0, 2.0, 2.0]
ROW = Row(
    *("sum", "sum numbers", "a slow one", 10, "numbers", 1, 1.0, 2.0, 2.0, [1.9, 2.1], 3, *TIMES), ratio_counted=2.0
)


# ---- results and page ----


def results_of(rows):
    machine = {"processor": "P", "cores": 2, "features": ["avx2"], "memory_gb": 8.0, "system": "S", "python": "3.11"}
    return {
        **{"form": 2, "date": "2026-01-01 00:00 UTC", "seconds": 61.0, "machine": machine, "effort": {}},
        **{"versions": {"numpy": "2"}, "rows": rows, "growth": growth(rows)},
    }


def test_results_are_read_as_they_were_written(tmp_path):
    larger = replace(ROW, size=100, ours_s=8.0, ours_times=[8.0] * 3, target=3.0, met=False, load=[9.0, 9.0])
    results = results_of([ROW, larger])
    named = {"line": "sum", "peer": "a slow one", "threads": 1, "sizes": [10, 100]}
    assert results["growth"] == [{**named, "ours": [0.903] * 3, "theirs": [0.0] * 3}]
    write_results(tmp_path / "results.json", results)
    assert read_results(tmp_path / "results.json") == results
    (tmp_path / "results.json").write_text('{"form": 0}')
    with pytest.raises(ValueError, match="form 0, expected 2"):
        read_results(tmp_path / "results.json")


def test_lines_that_are_timed_again_stand_in_their_places_and_the_page_says_when():
    other = replace(ROW, line="other", work="do another")
    first, later = results_of([ROW, other]), results_of([replace(ROW, ratio=9.0)]) | {"date": "2026-02-02 00:00 UTC"}
    found = replaced(first, later)
    assert [(row.line, row.ratio) for row in found["rows"]] == [("sum", 9.0), ("other", 2.0)]
    assert found["date"] == first["date"]
    assert "| timed again | `sum` 2026-02-02 00:00 UTC |" in make_page(found)
    assert "timed again" not in make_page(first)
    for strange in (later | {"versions": {"numpy": "3"}}, later | {"machine": later["machine"] | {"cores": 4}}):
        with pytest.raises(ValueError, match="run all lines again"):
            replaced(first, strange)


def test_the_page_tells_floors_failures_and_other_load(tmp_path):
    missed = replace(ROW, size=100, target=3.0, met=False, binds="sleep", load=[9.0, 9.0])
    failed = untimed_rows(LINE, 100, 1, error="sum and x|y: 1 < 2")[0]
    failed = replace(failed, line="other")
    results = results_of([ROW, missed, failed])
    write_page(tmp_path, results)
    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert page == make_page(results)
    assert "0 of 2 floors are met" in page
    assert re.search(r"^\| \[`sum`\]\(#sum\) \| a slow one \| 100 numbers \|.*\| 3 \| \*\*missed\*\* \|$", page, re.M)
    assert "- **`sum`**, a slow one, 1 thread: sleep." in page
    assert page.index("missed") < page.index("growth.svg") < page.index("## All sizes") < page.index("Machine")
    assert "## What failed" in page
    assert r"sum and x\|y: 1 &lt; 2" in page
    assert "Others used the machine too" in page
    assert ET.parse(tmp_path / "growth.svg").getroot().tag.endswith("svg")
    tables = re.findall(r"(?:^\|.*\n)+", page, re.M)
    assert tables
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


# ---- the command ----


def bench(*arguments, timeout=240):
    command = [sys.executable, str(BENCHMARKS / "bench.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def test_the_command_lists_its_lines_and_refuses_others():
    listed = bench("--list")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == list(all_lines())
    unknown = bench("--only", "speed")
    assert unknown.returncode == 2
    assert "invalid choice: 'speed'" in unknown.stderr


def test_one_line_runs_alone_in_a_process_and_writes_results_and_page(tmp_path):
    done = bench("--only", "bootstrap", "--sizes", "2", "4", "--pairs", "1", "--output", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    results = read_results(tmp_path / "results.json")
    assert {row.line for row in results["rows"]} == {"bootstrap"}
    assert [row.size for row in results["rows"]] == [2, 2, 2, 4, 4, 4]
    assert all(row.ratio > 0 and not row.error for row in results["rows"])
    assert results["versions"]["scipy"] == version("scipy")
    assert "scipy.stats.bootstrap" in (tmp_path / "RESULTS.md").read_text(encoding="utf-8")


def test_a_job_tells_each_case_as_it_ends_and_goes_on_after_a_disagreement(tmp_path):
    wrong = replace(LINE, name="wrong", same=lambda *_: (_ for _ in ()).throw(Disagreement("1 and 2")))
    jitted = replace(LINE, jitted=True, first=10)
    output = tmp_path / "job.jsonl"
    run_job(Job({"wrong": [10], "sum": [10]}, 1, True, EFFORT), {"wrong": wrong, "sum": jitted}, output)
    told = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(one["line"], one["size"]) for one in told] == [("wrong", 0), ("wrong", 10), ("sum", 0), ("sum", 10)]
    assert told[0]["answer"] == {}
    assert told[1]["answer"] == {"error": "results disagree: wrong and a slow one: 1 and 2"}
    assert set(told[2]["answer"]) == {"ours", "a slow one", "a small one"}
    assert len(told[3]["answer"]["pairs"]["a small one"]["ours"]) == 3


SCRIPT = """
import json, sys
job = json.loads(sys.argv[2])
pairs = {"ours": [1.0], "theirs": [3.0], "share": 1.0}
answer = {"pairs": {"a slow one": pairs}, "parts": {}, "peak_mb": 1, "load": [0, 0]}
with open(job["output"], "w") as stream:
    for line, sizes in job["cases"].items():
        for size in sizes:
            if size == 10:
                told = {"error": "results disagree: here"}
            elif size == 1000:
                print("no memory"); sys.exit(1)
            else:
                told = answer
            stream.write(json.dumps({"line": line, "size": size, "answer": told}) + "\\n")
            stream.flush()
"""


@pytest.mark.parametrize("together", [False, True])
def test_a_case_that_fails_is_told_and_what_a_process_had_told_before_it_died_is_kept(tmp_path, together):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    said = []
    line = replace(LINE, peers=LINE.peers[:1], sizes=(10, 100, 1000), quick=())
    other, lacking = replace(line, name="other"), replace(line, name="lacking", lacks=lambda: "no AMX")
    sizes = {"sum": (10, 100), "other": (100, 1000), "lacking": (10,)}
    plan = runner.Plan([line, lacking, other], lambda line: sizes[line.name], 2, EFFORT, together)
    *_, results = runner.run(plan, script, said.append)
    rows = results["rows"]
    assert [(row.line, row.size, row.ratio, row.error) for row in rows] == [
        ("sum", 10, None, "results disagree: here"),
        ("sum", 100, 3.0, ""),
        ("lacking", 10, None, ""),
        ("other", 100, 3.0, ""),
        ("other", 1000, None, "no memory"),
    ]
    told = [text for text in said if text.startswith("[")]
    assert len(told) == 2 * (1 if together else 2)  # each process is told of when it starts and when it ends
    assert all("started]" in text for text in told[::2])
    assert any("FAILED: results disagree: here" in text for text in said)
    assert any("not timed: no AMX" in text for text in said)


def test_a_quick_run_leaves_out_lines_without_quick_sizes_and_first_calls(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    line = replace(LINE, peers=LINE.peers[:1], jitted=True, first=10, quick=(100,))
    plan = runner.Plan([line, replace(line, name="slow", quick=())], lambda line: line.quick, 2, EFFORT, True)
    *_, results = runner.run(plan, script, lambda text: None)
    (row,) = results["rows"]
    assert (row.line, row.size, row.compile_s, row.ratio_cold) == ("sum", 100, {}, None)
