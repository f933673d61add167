"""YAML that people write: a key that stands twice is a fault wherever it stands."""

import json

import pytest

from verseir.yaml_files import read_yaml, repeated_keys

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


def test_aliases_are_followed_once():
    doubled = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40))
    assert not read_yaml("a0: &a0 {k: 1}\n" + doubled + "b: *a0\n", "x")[2]
    assert not read_yaml("a: &a [*a]\n", "x")[2]
