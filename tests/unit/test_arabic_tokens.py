"""Words: survive vocalisation and odd characters, in Arabic and elsewhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.arabic import normalise, token_spans, tokenize
from verseir.arabic.tokens import _WORDS, tokenize_each

SOME = "ابتةىيكـ\u064e\u0651\u0654\u200c\u200b\u00a0\u0085 \n،.-ABéß\u0301\u0939\u093f\u4e00١۲3\ufe71\ufcf2\ufefb"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("سَرَى اللَّيْلُ، وَالنَّجْمُ قَرِيبٌ!", ["سري", "الليل", "والنجم", "قريب"]),
        ("وفي الـ ـبيت نور", ["وفي", "البيت", "نور"]),
        ("سـَرى الـلَيــلُ", ["سري", "الليل"]),
        ("The Straße is 10km long; l’amour", ["the", "strasse", "is", "10km", "long", "l", "amour"]),
        ("Москва и ЁЛКА", ["москва", "и", "ёлка"]),
        ("Cafe\u0301 CAFÉ", ["café", "café"]),
        ("हिन्दी में कविता", ["हिन्दी", "में", "कविता"]),
        ("می‌رود", ["ميرود"]),
        ("ﬁn １２ ½", ["fin", "12", "1", "2"]),
        ("a_b a-b a.b", ["a", "b", "a", "b", "a", "b"]),
        ("", []),
        (" \n،؛", []),
    ],
)
def test_tokens_under_full(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


def test_light_keeps_case_and_letters_and_raw_keeps_marks() -> None:
    assert tokenize("سَرَى Night", "light") == ["سرى", "Night"]
    assert tokenize("سَرَى، Night", "raw") == ["سَرَى", "Night"]


@given(st.text(st.sampled_from(SOME)), st.sampled_from(["raw", "light", "full"]))
def test_words_one_by_one_are_the_words_of_the_whole(text: str, preset: str) -> None:
    assert tokenize(text, preset) == _WORDS.apply(normalise(text, preset)).split()


@given(
    st.lists(st.one_of(st.text(st.sampled_from(SOME + "\uffff\u0e33"), max_size=12), st.text(max_size=8)), max_size=8),
    st.sampled_from(["raw", "light", "full"]),
)
def test_texts_read_together_have_the_words_of_each(texts: list[str], preset: str) -> None:
    assert tokenize_each(texts, preset) == [_WORDS.apply(normalise(text, preset)).split() for text in texts]


def test_what_stands_between_texts_is_made_of_no_character() -> None:
    every = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000 and code != 0xFFFF]
    for preset in ("raw", "light", "full"):
        assert "\uffff" not in normalise(" ".join(every), preset)
        assert normalise("a\uffffb", preset) == "a\uffffb"


@given(st.one_of(st.text(st.sampled_from(SOME)), st.text()), st.sampled_from(["raw", "light", "full"]))
def test_spans_give_the_tokens_and_stay_in_order(text: str, preset: str) -> None:
    spans = token_spans(text, preset)
    assert [token for token, _, _ in spans] == tokenize(text, preset)
    assert all(0 <= start < end <= len(text) for _, start, end in spans)
    # One character of the source can make several words (U+FDFA, U+00BC), which then share it, and nothing more.
    assert all(a[1] <= b[1] and a[2] <= b[1] + 1 for a, b in pairwise(spans))


@given(st.lists(st.text(st.sampled_from("ابتجدرسعقلمن"), min_size=1), max_size=6))
def test_a_span_holds_its_word_as_written(words: list[str]) -> None:
    written = [f"{word[0]}\u064e\u0651{word[1:]}\u064f" for word in words]
    text = "، ".join(written)
    assert [text[start:end] for _, start, end in token_spans(text)] == written


def test_span_of_a_word_cut_at_the_caesura_covers_both_halves() -> None:
    text = "قال الـ ـبيت نور"
    assert token_spans(text)[1] == ("البيت", 4, 12)
    assert text[4:12] == "الـ ـبيت"
