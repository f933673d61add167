"""Queries that are said to quote and share nothing with their poems are likely to be of other poems."""

import argparse
import json

import pytest

from verseir.cli import check_inputs

POEMS = {"p1": "يقول الليل للقمر البعيد", "p2": "رأيت البحر يضحك للسفين", "p3": "تنام الريح في حضن النخيل"}


def check(tmp_path, capsys, texts, register="quoting"):
    poems = [{"poem_id": name, "verses": [[text, None]]} for name, text in POEMS.items()]
    queries = [
        {"query_id": f"q-{name}", "register": register, "text": text, "relevant": [name]}
        for name, text in texts.items()
    ]
    for name, rows in (("poems", poems), ("queries", queries)):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    corpora = {"c": {"adapter": "jsonl", "path": str(tmp_path / "poems.jsonl")}}
    sets = {"asked": {"corpora": ["c"], "path": str(tmp_path / "queries.jsonl"), "purpose": "known-item"}}
    parser = argparse.ArgumentParser()
    check_inputs.add_arguments(parser)
    options = ["--corpora", json.dumps(corpora), "--query-sets", json.dumps(sets), "--modes", '{"verse": ["verse"]}']
    check_inputs.run(parser.parse_args([*options, "--output", str(tmp_path / "inputs.json")]))
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("warning")]


OTHERS = {"p1": "كتاب على رف قديم", "p2": "سيارة في شارع", "p3": "مطر يطرق النافذة"}


def test_queries_of_other_poems_are_told(tmp_path, capsys):
    (warning,) = check(tmp_path, capsys, OTHERS)
    assert "query set asked: 3 of 3 quoting queries share no word with a poem of c" in warning
    assert "'q-p1'" in warning


@pytest.mark.parametrize("register", ["abstract", "half-remembered"])
def test_others_need_not_share_a_word(tmp_path, capsys, register):
    assert check(tmp_path, capsys, OTHERS, register) == []


def test_a_word_in_another_spelling_is_shared_and_few_may_be_mistaken(tmp_path, capsys):
    assert check(tmp_path, capsys, OTHERS | {"p1": "اللَّيْلُ"}) == []
    assert check(tmp_path, capsys, POEMS) == []
