"""TREC files: other tools read our ranks back, and faulty files are refused line by line."""

import numpy as np
import polars as pl
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from verseir.faults import InputFaults, UserError
from verseir.ranking import top_k
from verseir.tables import QRELS, RUN, check_table
from verseir.trec import read_run, strictly_falling, write_qrels, write_run


def run_of(rows):
    return top_k(
        pl.DataFrame(rows, schema={"query_id": pl.String, "poem_id": pl.String, "score": pl.Float32}, orient="row")
    )


def test_lines_are_those_of_trec(tmp_path):
    run = run_of([("q2", "a", 0.5), ("q1", "ب", 0.25), ("q1", "a", 1.5), ("q1", "c", 0.25)])
    write_run(run, tmp_path / "run.trec", tag="bm25")
    lines = (tmp_path / "run.trec").read_text().splitlines()
    assert lines[0] == "q1 Q0 a 1 1.5 bm25"
    assert lines[1] == "q1 Q0 c 2 0.25 bm25"
    assert lines[2].startswith("q1 Q0 ب 3 0.2499999")
    assert lines[3] == "q2 Q0 a 1 0.5 bm25"


def test_judgements_are_those_of_trec(tmp_path):
    qrels = pl.DataFrame([("q", "b", 2), ("q", "a", 0)], schema=dict(QRELS.columns), orient="row")
    write_qrels(qrels, tmp_path / "set.qrels")
    assert (tmp_path / "set.qrels").read_text() == "q 0 a 0\nq 0 b 2\n"


SCORES = st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**100), max_value=2.0**100)
#: Scores that tie, neighbours that nearly do, zeros of both signs, and any others.
SOME = st.one_of(st.sampled_from([0.0, -0.0, 1.0, 0.9999999403953552, -1.0, 1e-45, -1e-45]), SCORES)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from("abcdefgh"), SOME), unique_by=lambda row: row[:2]))
def test_written_scores_fall_strictly_and_as_little_as_they_must(rows):
    run = run_of(rows).with_columns(pl.Series("fallen", strictly_falling(run_of(rows))))
    for (_,), query in run.group_by("query_id"):
        score, fallen = (query[name].to_numpy() for name in ("score", "fallen"))
        assert (np.diff(fallen) < 0).all()
        expected = score.copy()
        for i in range(1, len(score)):
            expected[i] = min(score[i], np.nextafter(expected[i - 1], np.float32(-np.inf)))
        assert (fallen == expected).all()


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("pq"), st.sampled_from("abcdefgh"), SOME), min_size=1, unique_by=lambda row: row[:2]
    )
)
def test_our_ranks_come_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("trec") / "run.trec"
    run = run_of(rows)
    write_run(run, path, tag="x")
    assert_frame_equal(read_run(path).drop("score"), run.drop("score"))
    with path.open() as lines:
        scores = pytrec_eval.parse_run(lines)
    for query_id, poem_id, rank in run.select("query_id", "poem_id", "rank").rows():
        found = pytrec_eval.RelevanceEvaluator({query_id: {poem_id: 1}}, {"recip_rank"}).evaluate(scores)
        assert found[query_id]["recip_rank"] == pytest.approx(1 / rank)


def test_zeros_come_back_in_our_order(tmp_path):
    run = run_of([("q", f"d{i:02d}", 0.0) for i in range(30)])
    write_run(run, tmp_path / "run.trec", tag="x")
    assert read_run(tmp_path / "run.trec")["poem_id"].to_list() == [f"d{i:02d}" for i in range(30)]


def test_foreign_runs_are_ranked_by_our_policy(tmp_path):
    path = tmp_path / "run.trec"
    path.write_text(
        "q 0 z 1 0.5 other\nq\tQ0\ta\t2\t0.5\tother\n  q Q0  b 9 2e0 other \nq Q0 m 4 0.50000000001 other\n"
    )
    run = read_run(path)
    assert run["poem_id"].to_list() == ["b", "a", "m", "z"]
    assert run["chunk_id"].is_null().all()
    check_table(run, RUN, "run")


def test_wide_blanks_are_part_of_a_name(tmp_path):
    path = tmp_path / "run.trec"
    path.write_text("q Q0 a\u00a0b 1 0.5 other\n")
    assert read_run(path)["poem_id"].to_list() == ["a\u00a0b"]


def test_all_faults_are_reported_at_once(tmp_path):
    path = tmp_path / "run.trec"
    path.write_bytes(
        b"\xef\xbb\xbfq Q0 a 1 0.5 x\r\n"
        b"q Q0 b 2 0.4\n"
        b"q Q0 c 3 high x\n"
        b"q Q0 d 4 nan x\n"
        b"q Q0 e 5 -inf x\n"
        b"q Q0 a 6 0.1 x\n"
        b"\n"
        b"q Q0 \xff 7 0.1 x\n"
        b"q Q0 f 8 1e39 x\n"
        b"q Q0 g 9 1_0 x\n"
        b"q Q0 h 10 \xd9\xa1 x\n"
        b"p Q0 a 1 0.1 x\n\n"
    )
    with pytest.raises(InputFaults) as raised:
        read_run(path)
    faults = raised.value.faults
    assert {fault.file for fault in faults} == {str(path)}
    by_line = {}
    for fault in faults:
        by_line.setdefault(fault.line, []).append(fault)
    assert sorted(by_line) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert len(by_line[1]) == 2  # byte order mark, CRLF
    assert "5 columns" in by_line[2][0].problem
    assert by_line[3][0].field == "score"
    assert "not a finite" in by_line[4][0].problem
    assert "not a finite" in by_line[5][0].problem
    assert "first on line 1" in by_line[6][0].problem
    assert "0 columns" in by_line[7][0].problem
    assert "UTF-8" in by_line[8][0].problem
    assert "not a finite" in by_line[9][0].problem
    assert "not a number" in by_line[10][0].problem
    assert "not a number" in by_line[11][0].problem
    assert all(fault.hint for fault in faults)


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_file_is_a_fault(tmp_path, content):
    path = tmp_path / "run.trec"
    path.write_bytes(content)
    with pytest.raises(InputFaults, match="the file is empty"):
        read_run(path)


def test_a_missing_file_is_a_fault(tmp_path):
    with pytest.raises(InputFaults, match="no such file"):
        read_run(tmp_path / "absent.trec")


@pytest.mark.parametrize("name", ["two words", "", "tab\tbed", "wide\u00a0blank"])
def test_names_that_do_not_fit_are_not_written(tmp_path, name):
    with pytest.raises(UserError, match="empty or has white space"):
        write_run(run_of([("q", name, 1.0)]), tmp_path / "run.trec", tag="x")
    with pytest.raises(UserError, match="empty or has white space"):
        write_run(run_of([("q", "a", 1.0)]), tmp_path / "run.trec", tag=name)
    qrels = pl.DataFrame([(name, "a", 1)], schema=dict(QRELS.columns), orient="row")
    with pytest.raises(UserError, match="empty or has white space"):
        write_qrels(qrels, tmp_path / "set.qrels")
    assert list(tmp_path.iterdir()) == []
