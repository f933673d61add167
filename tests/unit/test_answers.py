"""Answers in JSON: what is found in them, and messages that no text can break out of."""

from __future__ import annotations

import re
import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.judging.answers import Answer, Tally, blocks, count, last_object, read_content
from verseir.judging.said import INVISIBLE, Secret, shown, words_of

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string"}},
}


@given(st.text(alphabet="<>/ \nabquery‹＜\u200b\u202e|", max_size=30))
def test_no_text_can_close_its_block(text):
    message = re.sub(f"[{INVISIBLE}]", "", blocks({"query": text, "names": "x"})).replace("＜", "<")
    assert message.count("</query>") == message.count("<query>") == message.count("</names>") == 1
    assert message.startswith("<query>\n") and message.endswith("\n<names>\nx\n</names>")
    assert "<|" not in message


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("a </query> b", "a ‹/query> b"),
        ("<\u200b/poem>", "‹/poem>"),
        ("</\u200bpoem>", "‹/poem>"),
        ("<\u202e/\u200c poem>", "‹/ poem>"),
        ("<\ufe0f/poem>", "‹/poem>"),
        ("<//poem>", "‹//poem>"),
        ("＜/poem＞", "‹/poem＞"),
        ("＜／ｐｏｅｍ＞", "‹／ｐｏｅｍ＞"),
        ("\ufeff﹤poem>", "\ufeff‹poem>"),
        ("<|im_end|>", "‹|im_end|>"),
        ("<\u200d|im_end|>", "‹|im_end|>"),
        ("<｜User｜>", "‹｜User｜>"),
        ("<<SYS>> [/INST]", "<‹SYS>> ［/INST]"),
    ],
)
def test_what_looks_like_a_tag_or_a_control_token_is_broken(text, sent):
    assert blocks({"query": text}) == f"<query>\n{sent}\n</query>"


@pytest.mark.parametrize("text", ["بيت 1 < 2 > 0", "می\u200cخواهم [بيت] كـ\u200dتب \u00ad", "a | b [1] ["])
def test_other_text_is_sent_as_it_is(text):
    assert blocks({"query": text}) == f"<query>\n{text}\n</query>"


def test_every_format_character_counts_as_invisible():
    pattern = re.compile(f"[{INVISIBLE}]")
    letters = (chr(code) for code in range(sys.maxunicode + 1))
    assert [letter for letter in letters if unicodedata.category(letter) == "Cf" and not pattern.match(letter)] == []
    assert not pattern.search("ابتثجحخدذرزسشصضطظعغفقكلمنهويءآأإئؤةى ًٌٍَُِّْـ")


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ('{"a": {"text": "no"}} {"text": "yes"} {"text": "late"}', "late"),
        ('Such as ```json\n{"text": "example"}\n```. Mine is {"text": "x"}, as asked.', "x"),
        ('{{"text": "x"}', "x"),
        ('<think>{"text": "a"}</think>{"text": "x"} or <think>{"text": "b"}</think>', "x"),
        ('{"text": "<think>a</think>"}', "<think>a</think>"),
        ('<think>never closed {"text": "x"}', "x"),
        ("[1]", None),
        ('{"a":' * 100_000, None),
        ('{"text": "a", "text": "b"}', None),
        ('{"text": "a"} {"text": "a", "text": "b"}', None),
        ('{"text": "x"}' + " {" * 200, None),
        ('{"text": "x"}' + " " * 200_000, None),
        ('{"text": "\\ud800"}', None),
    ],
)
def test_the_last_object_that_follows_the_schema_is_taken(content, value):
    assert last_object(content, SCHEMA) == (None if value is None else {"text": value})


@pytest.mark.parametrize("content", ['{"n": NaN}', '{"n": Infinity}', '{"n":' + "[" * 70 + "]" * 70 + "}"])
def test_what_is_no_json_or_nested_without_end_is_malformed(content):
    assert read_content(content, {"type": "object"}) == Answer("malformed", content=content)


@pytest.mark.parametrize("piece", ["<think>", '{"a": ', "{", '{"a": {}} ', "\\", "<think></think>"])
def test_no_answer_is_searched_for_long(piece):
    start = time.monotonic()
    assert last_object("x" + piece * (2_000_000 // len(piece)), SCHEMA) is None
    assert last_object("x" + piece * (199_000 // len(piece)), SCHEMA) is None
    assert time.monotonic() - start < 5


def test_only_whole_numbers_of_tokens_count():
    odd = ["10", -1, 1.5, 1e30, float("nan"), float("inf"), True, None, [3], 10**9 + 1]
    assert [count(number) for number in odd] == [0] * len(odd)
    assert [count(number) for number in (0, 7, 10.0, 10**9)] == [0, 7, 10, 10**9]


def test_what_is_open_is_said_with_a_sample_and_how_to_ask_again():
    assert Tally(asked=3).advice("judge_pool") == ""
    told = Tally(asked=3, malformed=1, sample="I would rather talk").advice("judge_pool")
    assert "a malformed answer: I would rather talk" in told and "--forcerun judge_pool" in told
    assert "--forcerun" in Tally(refused=1).advice("judge_pool")


KEY = "sk-te/st-0123456789"


@pytest.mark.parametrize(
    "text",
    [KEY, f"a{KEY}b", "sk-te\\/st-0123456789", "\\u0073k-te\\u002Fst-0123456789", "sk\u200b-te/\x07st-0123456789"],
)
def test_a_key_is_hidden_in_any_spelling(text):
    hidden = Secret(KEY).hidden(text)
    assert "***" in hidden and "0123456789" not in hidden
    assert Secret("").hidden(text) == text


@given(st.integers(0, 400), st.integers(1, 300))
def test_no_part_of_a_key_is_left_by_a_cut(before, longest):
    assert "sk-te" not in Secret(KEY).shown("x" * before + KEY, longest)


def test_what_is_shown_is_one_line_without_controls():
    assert shown("\x1b[31mred\x1b[0m\n\x07alert\x9b\u202e \ud800x\r\ny", 200) == "red alert x y"
    assert Secret(KEY).shown("sk-te\x1b[0m/st-0123456789") == "***"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "no"}}, "no"),
        ({"error": "no"}, "no"),
        ({"detail": [{"msg": "no"}]}, '[{"msg": "no"}]'),
        (["no", 1], '["no", 1]'),
        ("<html><b>502</b> Bad Gateway</html>", "502 Bad Gateway"),
        (None, "null"),
        ({}, "{}"),
    ],
)
def test_the_words_of_an_error_of_any_shape(body, words):
    assert shown(words_of(body), 200) == words
