"""Modes that index some poems only."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.corpora.model import attributes_frame, explanations_frame, poems_frame
from verseir.faults import UserError
from verseir.kept import keep_problems, kept_poems, require_kept, same_poems
from verseir.tables import ATTRIBUTES, CHUNKS, EXPLANATIONS, POEMS, read_table, write_table

USAGE = ["literal", "idiomatic", "sense", "literal", None]
GENRE = ["praise", "praise", "satire", None, "satire"]
IDS = [f"p{n}" for n in range(5)]
Keep = dict[str, list[str]]


def poems() -> pl.DataFrame:
    rows = [
        {"poem_id": poem, "genre": genre, "verses": [{"first": f"verse of {poem}", "second": None}]}
        for poem, genre in zip(IDS, GENRE, strict=True)
    ]
    return poems_frame(rows)


def attributes() -> pl.DataFrame:
    return attributes_frame([(poem, "usage", usage) for poem, usage in zip(IDS, USAGE, strict=True) if usage])


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ({}, IDS),
        ({"usage": ["literal"]}, ["p0", "p3"]),
        ({"usage": ["literal", "sense"]}, ["p0", "p2", "p3"]),
        ({"genre": ["praise"]}, ["p0", "p1"]),
        ({"genre": ["praise"], "usage": ["literal", "sense"]}, ["p0"]),
    ],
)
def test_a_poem_is_kept_that_has_a_value_of_each_attribute(keep: Keep, kept: list[str]) -> None:
    assert require_kept(poems(), attributes(), keep)["poem_id"].to_list() == kept


def test_columns_of_poems_need_no_attributes() -> None:
    assert require_kept(poems(), None, {"genre": ["satire"]})["poem_id"].to_list() == ["p2", "p4"]


def test_an_attribute_comes_before_the_column_of_its_name() -> None:
    own = attributes_frame([("p0", "genre", "elegy")])
    assert require_kept(poems(), own, {"genre": ["elegy"]})["poem_id"].to_list() == ["p0"]


@pytest.mark.parametrize(
    ("keep", "problem", "hint"),
    [
        ({"usag": ["literal"]}, "no poem has the attribute 'usag'", "did you mean 'usage'"),
        ({"usage": ["litteral"]}, "no poem has the value 'litteral' of 'usage'", "did you mean 'literal'"),
        ({"genre": ["satires"]}, "no poem has the value 'satires' of 'genre'", "did you mean 'satire'"),
        ({"meter": ["x"]}, "no poem has the attribute 'meter'", "known: genre, usage"),
        ({"title": ["x"]}, "no poem has the attribute 'title'", "known: genre, usage"),
        ({"usage": ["idiomatic"], "genre": ["satire"]}, "no poem is kept", "more values"),
    ],
)
def test_what_no_poem_has_is_refused(keep: Keep, problem: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        require_kept(poems(), attributes(), keep)
    assert problem in caught.value.args[0] and hint in caught.value.hint


def test_all_that_does_not_fit_is_told() -> None:
    keep = {"usage": ["literal", "x", "y"], "age": ["1"]}
    assert [name for name, _, _ in keep_problems(poems(), attributes(), keep)] == ["age", "usage", "usage"]
    with pytest.raises(UserError, match=r"'age'; .*'x'.*; .*'y'"):
        require_kept(poems(), attributes(), keep)


def test_values_of_poems_that_are_not_there_do_not_count() -> None:
    few = poems().filter(pl.col("poem_id") != "p2")
    assert keep_problems(few, attributes(), {"usage": ["sense"]})[0][1] == "no poem has the value 'sense' of 'usage'"


KEEPS = st.fixed_dictionaries(
    {},
    optional={
        "usage": st.lists(st.sampled_from(["literal", "idiomatic", "sense", "none"]), max_size=3),
        "genre": st.lists(st.sampled_from(["praise", "satire", "none"]), max_size=2),
    },
)


@given(KEEPS, st.permutations(range(5)))
def test_keeping_twice_is_keeping_once_in_any_order(keep: Keep, order: list[int]) -> None:
    once = kept_poems(poems(), attributes(), keep)
    assert kept_poems(once, attributes(), keep).equals(once)
    backwards = dict(reversed(keep.items()))
    turned = kept_poems(poems()[order], attributes().reverse(), backwards)
    assert turned.sort("poem_id").equals(once)
    for name in keep:  # one attribute after the other is all of them at once
        assert set(once["poem_id"]) <= set(kept_poems(poems(), attributes(), {name: keep[name]})["poem_id"])


@pytest.fixture
def tables(tmp_path: Any) -> Any:
    write_table(poems(), tmp_path / "poems.parquet", POEMS)
    write_table(attributes(), tmp_path / "attributes.parquet", ATTRIBUTES)
    write_table(explanations_frame([]), tmp_path / "explanations.parquet", EXPLANATIONS)
    return tmp_path


def chunked(folder: Any, *options: str) -> int:
    given = ["--poems", str(folder / "poems.parquet"), "--explanations", str(folder / "explanations.parquet")]
    size = ["--fields", '["verse"]', "--verses", "3", "--stride", "1", "--output", str(folder / "chunks.parquet")]
    return main(["make_chunks", *given, *size, *options])


def test_the_verb_chunks_what_is_kept(tables: Any, capsys: pytest.CaptureFixture[str]) -> None:
    keep = json.dumps({"usage": ["literal"]})
    known = ["--attributes", str(tables / "attributes.parquet")]
    assert chunked(tables) == 0
    assert read_table(tables / "chunks.parquet", CHUNKS)["poem_id"].to_list() == IDS
    assert chunked(tables, *known, "--keep", "{}") == 0
    assert read_table(tables / "chunks.parquet", CHUNKS)["poem_id"].to_list() == IDS
    assert capsys.readouterr().out == ""
    assert chunked(tables, *known, "--keep", keep) == 0
    assert read_table(tables / "chunks.parquet", CHUNKS)["poem_id"].to_list() == ["p0", "p3"]
    assert capsys.readouterr().out == "2 of 5 poems kept\n"
    assert chunked(tables, "--keep", keep) == 2
    assert "no poem has the attribute 'usage'" in capsys.readouterr().err


def test_modes_keep_the_same_poems_where_they_ask_for_the_same() -> None:
    keeps = {"a": {"genre": ["praise", "satire"]}, "b": {"genre": ["satire", "praise"]}, "c": {"genre": ["praise"]}}
    assert same_poems(keeps, "a", "b")
    assert not same_poems(keeps, "a", "c")
    assert not same_poems(keeps, "a", "whole")
    assert same_poems(keeps, "whole", "other")
