"""Tables that are written and read in blocks are those that are written and read as a whole."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from verseir import chunks, tables
from verseir.__main__ import main
from verseir.faults import UserError
from verseir.tables import (
    CHUNKS,
    EXPLANATIONS,
    POEMS,
    check_table,
    read_blocks,
    read_columns,
    read_table,
    write_blocks,
    write_table,
)

NAMES = ["chunk_id", "poem_id", "first_verse"]


def corpus(lengths):
    """POEMS with verses as many as ``lengths`` say, and EXPLANATIONS of every second verse."""
    verses = [[{"first": f"v{i}.{v}", "second": None} for v in range(n)] for i, n in enumerate(lengths)]
    ids = [f"p{i:02d}" for i in range(len(lengths))]
    held = pl.Series(verses[::-1], dtype=POEMS.columns["verses"])
    poems = pl.DataFrame({"poem_id": pl.Series(ids[::-1], dtype=pl.String), "verses": held})
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in POEMS.columns.items() if name not in poems.columns]
    explained = [(i, v) for i, n in enumerate(lengths) for v in range(0, n, 2)]
    told = [(ids[i], v, source, f"{source} {i}.{v}") for i, v in explained for source in "ab"]
    frame = pl.DataFrame(told, schema=dict(EXPLANATIONS.columns), orient="row")
    return check_table(poems.with_columns(absent), POEMS, "poems"), frame


@given(st.lists(st.integers(1, 6), max_size=9), st.integers(1, 4))
def test_chunks_do_not_depend_on_how_many_poems_are_read_together(lengths, block):
    poems, explained = corpus(lengths)
    fields = ["verse", "explanation:b"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "BLOCK", block)
        parts = list(chunks.chunk_blocks(poems, explained, fields))
        made = chunks.make_chunks(poems, explained, fields)
    assert len(parts) == -(-len(lengths) // block)
    assert all(part["poem_id"].n_unique() <= block for part in parts)
    assert_frame_equal(made, chunks.make_chunks(poems, explained, fields))
    assert_frame_equal(pl.concat([made.clear(), *parts]), made)
    assert made["chunk_id"].n_unique() == len(made) == sum(max(1, n - 2) for n in lengths)


def test_blocks_are_one_table(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS", 4)
    made = chunks.make_chunks(*corpus([3, 9, 1, 5]), ["verse"])
    whole, parts = tmp_path / "whole.parquet", tmp_path / "parts.parquet"
    write_table(made, whole, CHUNKS)
    write_blocks(made.iter_slices(3), parts, CHUNKS)
    for path in (whole, parts):
        assert_frame_equal(read_table(path, CHUNKS), made)
        assert_frame_equal(read_columns(path, CHUNKS, NAMES), made.select(NAMES))
        blocks = list(read_blocks(path, CHUNKS, ["text"]))
        assert_frame_equal(pl.concat(blocks), made.select("text"))
        assert max(map(len, blocks)) <= 4
    write_blocks([], parts, CHUNKS)
    assert_frame_equal(read_table(parts, CHUNKS), made.clear())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts.parquet", "whole.parquet"]


def test_a_block_that_breaks_the_contract_leaves_no_file(tmp_path):
    made = chunks.make_chunks(*corpus([3]), ["verse"])
    wrong = made.with_columns(text=pl.lit(None, dtype=pl.String))
    with pytest.raises(UserError, match="lacks a value"):
        write_blocks([made, wrong], tmp_path / "chunks.parquet", CHUNKS)
    assert not list(tmp_path.iterdir())


def test_files_that_cannot_be_read_are_told(tmp_path):
    path = tmp_path / "chunks.parquet"
    for read in (read_columns, lambda *args: list(read_blocks(*args))):
        with pytest.raises(UserError, match="does not exist"):
            read(path, CHUNKS, NAMES)
    chunks.make_chunks(*corpus([3]), ["verse"]).drop("poem_id").write_parquet(path)
    for read in (read_columns, lambda *args: list(read_blocks(*args))):
        with pytest.raises(UserError, match="poem_id"):
            read(path, CHUNKS, NAMES)
    path.write_bytes(b"PAR1 and no more")
    for read in (read_columns, lambda *args: list(read_blocks(*args))):
        with pytest.raises(UserError, match="cannot be read as a 'chunks' table"):
            read(path, CHUNKS, NAMES)


def test_the_verb_counts_poems_without_text_over_all_blocks(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(chunks, "BLOCK", 2)
    poems, explained = corpus([3, 4, 1, 5, 2])
    explained = explained.filter(pl.col("poem_id").is_in(["p01", "p04"]))
    paths = [str(tmp_path / f"{name}.parquet") for name in ("poems", "explanations", "chunks")]
    write_table(poems, paths[0], POEMS)
    write_table(explained, paths[1], EXPLANATIONS)
    options = ["--fields", '["explanation:a"]', "--verses", "3", "--stride", "1", "--output", paths[2]]
    assert main(["make_chunks", "--poems", paths[0], "--explanations", paths[1], *options]) == 0
    assert "3 of 5 poems have no text in this mode" in capsys.readouterr().out
    assert_frame_equal(read_table(paths[2], CHUNKS), chunks.make_chunks(poems, explained, ["explanation:a"]))


@pytest.mark.parametrize("read", [read_columns, read_blocks])
def test_a_damaged_column_is_told_as_damage(tmp_path, read):
    poems, _ = corpus([3] * 200)
    path = tmp_path / "poems.parquet"
    write_table(poems, path, POEMS)
    content = bytearray(path.read_bytes())
    content[64:256] = bytes(192)
    path.write_bytes(content)
    with pytest.raises(UserError, match="cannot be read as a 'poems' table") as told:
        list(read(path, POEMS, ["poem_id", "verses"]))
    assert "run again" in told.value.hint
