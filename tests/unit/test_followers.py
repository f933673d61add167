"""One fault that makes many is told first, and those that follow from it are few."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from poetry_benchmark import Benchmark, benchmark, write_rows
from test_poetrymteb import CROSS, checked

from verseir.faults import FEW, Fault, InputFaults, first_few
from verseir.queries.load import cross_check, load_query_set


def test_what_may_follow_from_another_fault_is_told_after_it() -> None:
    root, follower = Fault("z", 9, "id", "root"), Fault("a", 1, "id", "follows", follows=True)
    other = Fault("b", 1, "id", "another")
    assert InputFaults([follower, root, other]).faults == [other, root, follower]


@pytest.mark.parametrize("n", [0, 1, FEW, FEW + 1, 300])
def test_the_first_are_told_and_the_rest_counted_whatever_their_order(n: int) -> None:
    faults = [Fault("a", line, "id", f"no {line}", "mend it", follows=True) for line in range(1, n + 1)]
    mixed = random.Random(n).sample(faults, n)
    told = first_few(mixed)
    assert told[:FEW] == faults[:FEW]
    rest = [Fault("a", 11, "id", f"and {n - FEW} more like this: no 11", "mend it", True)] if n > FEW else []
    assert told[FEW:] == rest


def made() -> Benchmark:
    """Forty queries that one poem answers, and one that forty poems answer."""
    given = benchmark(n_poems=40, n_queries=1, asked=[CROSS])
    names = [f"q{n:02}" for n in range(41)]
    given.queries[CROSS] = [{"_id": name, "text": name} for name in names]
    pairs = [(name, "eng_000000") for name in names[1:]] + [(names[0], f"ara_{n:06}") for n in range(40)]
    given.qrels[CROSS] = [{"query-id": name, "corpus-id": poem, "score": 1} for name, poem in pairs]
    return given


def told_of(folder: Path, given: Benchmark, capsys: pytest.CaptureFixture[str]) -> list[str]:
    given.write(folder / "b")
    assert checked(folder, [CROSS]) == 2
    lines = capsys.readouterr().err.split("\n")
    return [line.rpartition("/b/")[2] for line in lines if line.startswith("  - ")]


def test_an_id_of_a_poem_that_is_none_is_told_before_the_rows_that_name_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = made()
    next(row for row in given.poems if row["id"] == "eng_000000")["id"] = "a blank"
    told = told_of(tmp_path, given, capsys)
    assert told[0] == "poems_all.jsonl:41 [poem_id]: 'a blank' holds a blank"
    assert all("judged poem 'eng_000000'" in line for line in told[1:])
    assert len(told) == 12 and "and 30 more like this" in told[-1]


def test_an_id_of_a_query_that_is_none_is_told_before_the_rows_that_name_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = made()
    given.queries[CROSS][0]["_id"] = "a blank"
    told = told_of(tmp_path, given, capsys)
    assert told[0] == "queries_thought_cross/gold.jsonl:1 [_id]: 'a blank' holds a blank"
    assert all("no query of thought_cross, split gold is called" in line for line in told[1:])
    assert len(told) == 12  # and not that the query has no relevant poem


def test_a_file_of_poems_that_is_cut_makes_no_hundreds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = made()
    given.poems = given.poems[:5]
    told = told_of(tmp_path, given, capsys)
    assert len(told) == 11 and "more like this" in told[-1]


def test_relevant_poems_of_a_file_of_queries_likewise(tmp_path: Path) -> None:
    write_rows(tmp_path / "q.jsonl", [{"query_id": f"q{n:02}", "text": "a", "relevant": f"p{n}"} for n in range(40)])
    query_set = load_query_set("q", {"path": "q.jsonl"}, tmp_path)
    found = cross_check(query_set, {"c": {"x"}})
    assert len(found) == 11 and not any(fault.follows for fault in found)
    assert all(fault.follows for fault in cross_check(query_set, {"c": {"x"}}, {"c"}))


def test_rows_of_a_file_of_judgements_likewise(tmp_path: Path) -> None:
    write_rows(tmp_path / "q.jsonl", [{"query_id": "q1", "text": "a"}, {"query_id": 2, "text": "b"}])
    rows = [{"query_id": name, "poem_id": f"p{n}", "grade": 1} for name in ("q1", "q2") for n in range(40)]
    write_rows(tmp_path / "a.jsonl", rows)
    with pytest.raises(InputFaults) as caught:
        load_query_set("q", {"path": "q.jsonl", "qrels": "a.jsonl"}, tmp_path)
    root, *followers = caught.value.faults
    assert (root.file, root.line, root.field) == ("q.jsonl", 2, "query_id")
    assert [fault.line for fault in followers] == list(range(41, 52)) and all(fault.follows for fault in followers)
