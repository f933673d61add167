"""Verbs that people call, and what the steps of the workflow say when their input is wrong."""

import subprocess
import sys

import polars as pl
import pytest

from verseir.__main__ import main, verbs
from verseir.layout import BM25_FILES
from verseir.systems.bm25 import Bm25Index
from verseir.tables import CHUNKS, POEMS, QUERIES, write_table


def test_every_verb_says_what_it_does():
    assert {"check_inputs", "encode_texts", "write_report", "repair_text"} <= set(verbs())
    assert all(what.endswith(".") for what in verbs().values())


def test_help_lists_the_verbs():
    told = subprocess.run([sys.executable, "-m", "verseir"], capture_output=True, text=True)
    assert "Paired tests of the declared families" in told.stdout


def test_an_unknown_verb_is_refused(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["encode"])
    assert caught.value.code == 2
    assert "encode_texts" in capsys.readouterr().err


def test_repair_text_gives_what_the_workflow_reads(tmp_path):
    file = tmp_path / "poems.csv"
    file.write_bytes("\ufeffpoem_id,verses\r\na,بيت\r\n".encode())
    assert main(["repair_text", str(file)]) == 0
    assert file.read_bytes() == "poem_id,verses\na,بيت\n".encode()
    assert main(["repair_text", "--encoding", "utf-16", str(file)]) == 2
    assert file.read_bytes() == "poem_id,verses\na,بيت\n".encode()


def test_repair_text_reads_other_encodings(tmp_path):
    file = tmp_path / "poems.csv"
    file.write_bytes("بيت\r\n".encode("cp1256"))
    assert main(["repair_text", "--encoding", "cp1256", str(file)]) == 0
    assert file.read_text(encoding="utf-8") == "بيت\n"


def test_an_index_is_the_files_that_the_rule_declares(tmp_path):
    Bm25Index.build([["a"]], ["p#0"], ["p"]).save(tmp_path / "index")
    assert sorted(path.name for path in (tmp_path / "index").iterdir()) == sorted(BM25_FILES)


@pytest.fixture
def tables(tmp_path):
    poems = [(f"p{i}", *[None] * 7, [{"first": "a", "second": None}], None) for i in (1, *range(21, 28))]
    write_table(pl.DataFrame(poems, schema=dict(POEMS.columns), orient="row"), tmp_path / "poems.parquet", POEMS)
    queries = [("q1", "set", "a", *[None] * 5), ("q2", "set", "b", *[None] * 5)]
    write_table(pl.DataFrame(queries, schema=dict(QUERIES.columns), orient="row"), tmp_path / "q.parquet", QUERIES)
    return tmp_path


def imported(folder, text, *more):
    (folder / "run.trec").write_text(text, encoding="utf-8")
    names = {"--run": "run.trec", "--queries": "q.parquet", "--poems": "poems.parquet", "--output": "out.parquet"}
    options = [part for option, name in names.items() for part in (option, str(folder / name))]
    return main(["import_run", "--depth", "10", *options, *more])


def test_an_imported_run_is_read_and_its_gaps_are_told(tables, capsys):
    assert imported(tables, "q1 Q0 p1 1 2.5 tag\n") == 0
    assert "no poem for 1 of 2 queries" in capsys.readouterr().out
    assert pl.read_parquet(tables / "out.parquet")["rank"].to_list() == [1]


@pytest.mark.parametrize(("line", "told"), [("q9 Q0 p1 1 2.5 tag\n", "'q9'"), ("q1 Q0 p7 1 2.5 tag\n", "'p7'")])
def test_an_imported_run_of_another_corpus_is_refused(tables, capsys, line, told):
    assert imported(tables, line) == 2
    assert told in capsys.readouterr().err
    assert not (tables / "out.parquet").exists()


def test_an_imported_run_holds_no_poem_that_the_mode_leaves_out(tables, capsys):
    chunks = pl.DataFrame([("p1#0", "p1", 0, 1, "a")], schema=dict(CHUNKS.columns), orient="row")
    write_table(chunks, tables / "some.parquet", CHUNKS)
    kept = ("--chunks", str(tables / "some.parquet"))
    assert imported(tables, "q1 Q0 p1 1 2.5 tag\n", *kept) == 0
    (tables / "out.parquet").unlink()
    ranked = "".join(f"q1 Q0 p{i} {i} {50 - i} tag\n" for i in (1, *range(21, 28)))
    assert imported(tables, ranked, *kept) == 2
    told = capsys.readouterr().err
    assert "ranks 7 poems that the mode 'some' does not index: 'p21', 'p22', 'p23', 'p24', 'p25', ..." in told
    assert "run.trec" in told and "hint: modes.some.keep" in told and "{mode}" in told
    assert not (tables / "out.parquet").exists()
    assert imported(tables, "q1 Q0 p1 2 1.5 tag\nq1 Q0 p21 1 2.5 tag\n", *kept) == 2
    assert "ranks 1 poem that the mode 'some' does not index: 'p21'\n" in capsys.readouterr().err
    assert imported(tables, ranked, "--chunks") == 0  # a mode of all poems
