"""Laws of the presets, on made-up text of every kind."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.arabic import PRESETS, join_hemistichs, normalise, normalise_aligned
from verseir.faults import UserError

LETTERS = "ابتثجحخدذرزسشصضطظعغفقكلمنهويىةأإآؤئء"
MARKS = "\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652\u0670\u0653\u0654\u0655"
ODD = (
    "ـ\u00a0\u200f\u202c\u202e\u200c\u200d\u200b\u200a\u0085\ufeff\u00ad\u0671\ufefb\ufef7\ufe70\ufe71\ufc5e\u06dd\n\t"
)
OTHER = "aÀéßſİ\u0301\u0307\u0345Ελλς \u1100\u1161\u11a8\u09c7\u09be\u0915\u093c،.—•٣۳²½ﬁ㎏ﷺ"

arabic = st.text(st.sampled_from(LETTERS + MARKS + ODD + " "))
mixed = st.one_of(arabic, st.text(st.sampled_from(LETTERS + MARKS + ODD + OTHER)), st.text())
preset = st.sampled_from(sorted(PRESETS))


@given(mixed, preset)
def test_idempotent(text: str, name: str) -> None:
    once = normalise(text, name)
    assert normalise(once, name) == once


@given(mixed)
def test_raw_is_raw(text: str) -> None:
    assert normalise(text, "raw") == text


@given(mixed, st.sampled_from(["light", "full"]))
def test_canonically_equivalent_texts_are_the_same(text: str, name: str) -> None:
    assert normalise(unicodedata.normalize("NFD", text), name) == normalise(unicodedata.normalize("NFC", text), name)


@given(mixed, preset)
def test_aligned_is_the_same_text_with_source_indices(text: str, name: str) -> None:
    normal, index = normalise_aligned(text, name)
    assert normal == normalise(text, name)
    assert len(index) == len(normal)
    assert index == sorted(index)
    assert all(0 <= i < len(text) for i in index)


@given(st.text(st.sampled_from(LETTERS + " ")), st.data())
def test_alignment_points_at_the_letter_itself(text: str, data: st.DataObject) -> None:
    harakat = "\u064e\u064f\u0650\u0651\u0652"
    vocalised = "".join(char + data.draw(st.text(st.sampled_from(harakat), max_size=2)) for char in text)
    normal, index = normalise_aligned(vocalised, "light")
    assert [vocalised[i] for i in index] == list(normal)


@given(st.lists(st.text(st.sampled_from(LETTERS), min_size=1), min_size=1), st.data())
def test_vocalised_and_bare_spellings_are_the_same_under_full(words: list[str], data: st.DataObject) -> None:
    bare = " ".join(words)
    marks = st.text(st.sampled_from("\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652\u0670ـ"), max_size=2)
    # A tatweel may not stand at the end of a word here: there it may say that the word goes on.
    vocalised = " ".join(
        "".join(char + data.draw(marks) for char in word[:-1]) + word[-1] + data.draw(marks).replace("ـ", "")
        for word in words
    )
    assert normalise(vocalised, "full") == normalise(bare, "full")


@pytest.mark.parametrize(
    "spellings",
    [
        ("مسؤول", "مسئول"),
        ("أبناؤها", "أبناءها", "أبنائها"),
        ("إسلام", "اسلام", "أسلام", "ٱسلام"),
        ("علي", "على", "علی"),
        ("مدينة", "مدينه"),
        ("كتاب", "کتاب", "كتــــاب", "كِتَابٌ"),
    ],
)
def test_spellings_that_full_makes_one(spellings: tuple[str, ...]) -> None:
    assert len({normalise(word, "full") for word in spellings}) == 1
    assert len({normalise(word, "light") for word in spellings}) > 1


@pytest.mark.parametrize("pair", [("كلب", "قلب"), ("گل", "كل"), ("پر", "بر"), ("سماء", "سما")])
def test_words_that_full_keeps_apart(pair: tuple[str, str]) -> None:
    assert normalise(pair[0], "full") != normalise(pair[1], "full")


@pytest.mark.parametrize(
    ("text", "light"),
    [
        ("أَغْـ ـنَتْ", "أغنت"),  # a word cut at the caesura
        ("أَغْــ  ــنَتْ", "أغنت"),
        ("قال ــ ثم قال", "قال ثم قال"),  # a dash
        ("قال ــ ــ ثم", "قال ثم"),
        ("سنة ٤٥٠ هـ توفي", "سنة ٤٥٠ ه توفي"),  # an abbreviation
        ("ـ", ""),
    ],
)
def test_tatweel(text: str, light: str) -> None:
    assert normalise(text, "light") == light


@pytest.mark.parametrize(
    ("first", "second", "verse"),
    [
        ("نام الليل", "وقام النهار", "نام الليل وقام النهار"),
        ("وفي الـ", "ـبيت نور", "وفي البيت نور"),
        ("وفي الـ", "بيت نور", "وفي البيت نور"),
        ("وفي ال", "ـبيت نور", "وفي البيت نور"),
        ("وَفي الْـ ", "ـبَيتِ نورٌ", "وَفي الْبَيتِ نورٌ"),
        ("نام الليل ـ", "وقام النهار", "نام الليل ـ وقام النهار"),  # a dash
        ("نام الليل", None, "نام الليل"),
        ("", "نام الليل", "نام الليل"),
    ],
)
def test_join_hemistichs(first: str, second: str | None, verse: str) -> None:
    assert join_hemistichs(first, second) == verse


def test_unknown_preset_names_the_known() -> None:
    with pytest.raises(UserError, match="did you mean 'light'"):
        normalise("نص", "ligth")


def test_presets_are_named_and_versioned() -> None:
    assert {name: preset.key for name, preset in PRESETS.items()} == {
        "raw": "raw-1",
        "light": "light-1",
        "full": "full-1",
    }
    assert [step.name for step in PRESETS["full"].steps][-2:] == ["compose", "squeeze spaces"]
