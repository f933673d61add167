"""How a verb ends that cannot go on: never in a traceback where a user can mend what is wrong."""

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from tiny_models import bert, entry

from verseir.config import canonical
from verseir.failures import STOPPED, told
from verseir.faults import UserError
from verseir.tables import CHUNKS, POEMS, QUERIES, write_table

ROOT = Path(__file__).parents[2]


def verb(*arguments, cwd, limit=None, **environment):
    """A verb in a process of its own; ``limit``: bytes that a file may have."""

    def confine():
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    variables = os.environ | {"PYTHONPATH": str(ROOT / "workflow"), "VERSEIR_CACHE": str(cwd / "cache")} | environment
    return subprocess.Popen(
        [sys.executable, "-m", "verseir", *map(str, arguments)],
        cwd=cwd,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=confine,
    )


def poem_file(folder, n):
    verses = [{"first": f"word{i} other{i * 7}", "second": "x"} for i in range(40)]
    rows = [(f"p{i}", *[None] * 7, verses, None) for i in range(n)]
    write_table(pl.DataFrame(rows, schema=dict(POEMS.columns), orient="row"), folder / "poems.parquet", POEMS)
    return folder / "poems.parquet"


def test_a_full_disk_is_told_in_words_and_leaves_nothing(tmp_path):
    poems = poem_file(tmp_path, 4000)
    options = ["--poems", poems, "--n", 4000, "--name", "q", "--seed", 1, "--kinds", "quote"]
    rows = [
        (f"p{i}", *[None] * 7, [{"first": f"a{i} b{i} c{i}", "second": f"d{i} e{i} f{i}"}], None) for i in range(4000)
    ]
    write_table(pl.DataFrame(rows, schema=dict(POEMS.columns), orient="row"), poems, POEMS)
    done = verb(
        "draw_probes", *options, "--queries", "out/q.parquet", "--qrels", "out/r.parquet", cwd=tmp_path, limit=9000
    )
    said = done.communicate(timeout=120)[1]
    assert done.returncode == 2 and "Traceback" not in said
    assert said.startswith("error in draw_probes: ") and "larger than this system allows" in said and "hint: " in said
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/x/y"), "/x/y: the disk is full"),
        (OSError("No space left on device (os error 28)"), "the disk is full (No space left"),
        (pl.exceptions.ComputeError("No space left on device (os error 28)"), "the disk is full"),
        (OSError("1000 requested and 312 written"), "the disk is full"),
        (
            RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 46905664 vs 46905552"),
            "the disk is full",
        ),
        (PermissionError(errno.EACCES, "Permission denied", "out"), "out: permission denied"),
        (OSError(errno.EROFS, "Read-only file system", "out"), "out: the disk can only be read"),
        (MemoryError(), "there is not enough memory"),
        (UserError("so", "do"), "so\n  hint: do"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), "nobody reads"),
    ],
)
def test_what_the_machine_refuses_is_told(error, words):
    failure = told(error)
    assert failure is not None and failure.code == 2
    assert words in failure.text("v") and failure.text("v").startswith("error in v: ")


def test_a_fault_of_the_program_is_told_whole():
    for error in (
        ValueError("x"),
        KeyError("x"),
        OSError("strange"),
        pl.exceptions.ComputeError("x"),
        ZeroDivisionError(),
    ):
        assert told(error) is None
    failure = told(KeyboardInterrupt())
    assert failure.code == STOPPED and failure.text("v") == "v: stopped; " + failure.hint


def encode(folder):
    """The encode step over many texts with an encoder in a folder, begun."""
    given = entry(bert(folder / "model"))
    texts = [f"{number} a long line of verse that is read " * 6 for number in range(20000)]
    chunks = [(f"p{i}#0", f"p{i}", 0, 1, text) for i, text in enumerate(texts)]
    write_table(pl.DataFrame(chunks, schema=dict(CHUNKS.columns), orient="row"), folder / "c.parquet", CHUNKS)
    queries = [("q", "s", "a query", *[None] * 5)]
    write_table(pl.DataFrame(queries, schema=dict(QUERIES.columns), orient="row"), folder / "q.parquet", QUERIES)
    plain = canonical({"view": "sentence", "instruction": ""})
    options = ["--threads", 1, "--gpus", 0, "--corpus", "c", "--system", "tiny", "--entry", canonical(given)]
    options += ["--chunks", "c.parquet", "--queries", "q.parquet", "--encodings", plain]
    return [*options, "--output", "e.json", "--cost", "cost.json"]


def wait_for(condition, seconds=90):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.05)


@pytest.mark.slow
def test_an_interrupted_encode_keeps_what_it_did_and_says_so(tmp_path):
    options = encode(tmp_path)
    running = verb("encode_texts", *options, cwd=tmp_path, VERSEIR_CACHE=str(tmp_path / "cache"))
    wait_for(lambda: list((tmp_path / "cache").rglob("*.keys")))
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=90)[1]
    assert running.returncode == STOPPED, said
    assert "Traceback" not in said and "encode_texts: stopped; the same command goes on" in said
    assert not (tmp_path / "e.json").exists()


@pytest.mark.slow
def test_an_encode_on_a_full_disk_is_told(tmp_path):
    options = encode(tmp_path)
    running = verb("encode_texts", *options, cwd=tmp_path, limit=20000)
    said = running.communicate(timeout=120)[1]
    assert running.returncode == 2 and "Traceback" not in said, said
    assert "error in encode_texts: " in said and "hint: " in said
    shutil.rmtree(tmp_path / "cache")


def test_whose_work_is_the_code_sees_the_traceback(tmp_path):
    done = verb("make_chunks", "--poems", "x", cwd=tmp_path)
    assert done.communicate(timeout=60) and done.returncode == 2  # argparse says which options it lacks
    done = verb("repair_text", tmp_path, cwd=tmp_path)
    said = done.communicate(timeout=60)[1]
    assert done.returncode == 2 and "is a folder, not a file" in said and "Traceback" not in said
    done = verb("repair_text", tmp_path, cwd=tmp_path, VERSEIR_TRACEBACK="1")
    assert "Traceback" in done.communicate(timeout=60)[1]
