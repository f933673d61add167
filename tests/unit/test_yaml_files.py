"""YAML that people write: a key that stands twice is a fault wherever it stands."""

import json

import pytest

from verseir.cli.check import read_study
from verseir.counts import read_counts
from verseir.faults import InputFaults
from verseir.systems.registry import load_registry
from verseir.yaml_files import decoded_yaml, read_yaml, repeated_keys

TWICE = "study: a\ncorpora:\n  c: {adapter: jsonl, path: x, path: y}\nlist:\n- {k: 1}\n- k: 1\n  k: 2\nstudy: b\n"


def test_keys_that_stand_twice_are_told_at_any_depth_with_their_lines(tmp_path):
    content, lines, faults = read_yaml(TWICE, "study.yaml")
    assert content["study"] == "b" and lines["list", "1"] == 6
    assert [(fault.line, fault.field) for fault in faults] == [(3, "corpora.c.path"), (7, "list.1.k"), (8, "study")]
    assert faults[2].hint == "first on line 1: keep one"
    (tmp_path / "study.yaml").write_text("\ufeff" + TWICE, encoding="utf-8")
    assert repeated_keys(tmp_path / "study.yaml", "study.yaml") == faults


def test_a_study_in_json_is_looked_at_too(tmp_path):
    path = tmp_path / "study.json"
    path.write_text('{\n\t"study": "a",\n\t"corpora": {"c": {"path": "x", "path": "y"}}\n}', encoding="utf-8")
    assert [fault.field for fault in repeated_keys(path, "study.json")] == ["path"]
    path.write_text(json.dumps({"a": {"k": 1}, "b": [{"k": 1}, {"k": 1}]}), encoding="utf-8")
    assert repeated_keys(path, "study.json") == []


@pytest.mark.parametrize("text", ["a: [", "\t- x: {", ""])
def test_what_snakemake_says_itself_is_not_said_again(tmp_path, text):
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    assert repeated_keys(tmp_path / "study.yaml", "study.yaml") == []
    assert repeated_keys(tmp_path / "none.yaml", "none.yaml") == []


BOMB = "a0: &a0 {k: 1}\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40))


def test_what_aliases_repeat_is_counted_without_being_written_out():
    content, _, (fault,) = read_yaml(BOMB, "x")
    assert content is None and fault.line > 1 and "its aliases (*) make more than 300,000 values" in fault.problem
    assert not read_yaml("a: &a {k: 1}\nb: [*a, *a]\nc: {<<: *a}\n", "x")[2]
    many = "a: [" + "1, " * 310_000 + "]"
    assert not read_yaml(many, "x")[2]


@pytest.mark.parametrize("text", ["a: &a [*a]\n", "a: &a {b: {c: [1, *a]}}\n", "&a {<<: *a}\n"])
def test_yaml_that_holds_itself_is_a_fault(tmp_path, text):
    content, _, (fault,) = read_yaml(text, "x")
    assert content is None and fault.problem == "an alias (*) stands inside of what it repeats" and fault.line == 1
    path = tmp_path / "study.yaml"
    path.write_text(text, encoding="utf-8")
    (found,) = repeated_keys(path, "study.yaml")
    assert found.problem == fault.problem


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("study: دراسة".encode("utf-16"), "is UTF-16"),
        ("study: a".encode("utf-16-le"), "is UTF-16"),
        ("study: a\ntitle: عنوان".encode("windows-1256"), "is not UTF-8 (byte 0xda)"),
        (b"PK\x03\x04abc", "no text"),
        (b"study: \0\0", "no text"),
    ],
)
def test_a_file_in_another_encoding_says_which_and_what_mends_it(tmp_path, data, words):
    path = tmp_path / "study.yaml"
    path.write_bytes(data)
    text, (fault,) = decoded_yaml(path, "study.yaml")
    assert text == "" and words in fault.problem and "UTF-8" in fault.hint and fault.file == "study.yaml"
    with pytest.raises(InputFaults, match=r"study\.yaml"):
        read_study([str(path)])
    with pytest.raises(InputFaults, match=r"study\.yaml"):
        load_registry([path])


def test_a_bomb_ends_the_check_of_a_study_and_of_a_registry(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(BOMB, encoding="utf-8")
    for read in (lambda: read_study([str(path)]), lambda: load_registry([path]), lambda: read_counts(path)):
        with pytest.raises(InputFaults, match="values of it"):
            read()
