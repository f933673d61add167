"""Numbers and text as they read on the page."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.formats import (
    count,
    interval,
    listing,
    number,
    ordinal,
    p_phrase,
    p_value,
    percent,
    quantity,
    signed,
)
from verseir.report.markup import Words, is_arabic

MISSING = (None, math.nan, math.inf)


@pytest.mark.parametrize("value", MISSING)
@pytest.mark.parametrize("form", [number, signed, p_value, percent, quantity])
def test_missing_number_is_said(form, value):
    assert form(value) == "not estimable"


def test_missing_end_of_interval_is_said():
    assert interval(None, 0.5) == "interval not estimable"
    assert interval(0.1, math.nan) == "interval not estimable"


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "< 1e-20"),
        (9e-21, "< 1e-20"),
        (3.04e-7, "3.0e-7"),
        (0.00031, "3.1e-4"),
        (0.0049, "0.0049"),
        (0.0450, "0.045"),
        (0.05, "0.050"),
        (0.0499999, "0.0499999"),
        (0.47, "0.47"),
        (1.0, "1.00"),
    ],
)
def test_p_value(p, text):
    assert p_value(p) == text


@given(st.floats(0, 1))
def test_p_is_never_zero_and_stays_on_its_side_of_the_level(p):
    text = p_value(p)
    assert text == "< 1e-20" or 0 < float(text) <= 1
    if not text.startswith("<"):
        assert (float(text) < 0.05) == (p < 0.05)
        assert float(text) == pytest.approx(p, rel=0.06)


def test_p_phrase():
    assert p_phrase("p", 0.2) == "p\u00a0=\u00a00.20"
    assert p_phrase("p", 0) == "p\u00a0<\u00a01e-20"
    assert p_phrase("p", None) == "p\u00a0not\u00a0estimable"


def test_signs():
    assert signed(0.1234) == "+0.123"
    assert signed(-0.1234) == "\u22120.123"
    assert signed(-0.0001) == number(-0.0001) == signed(0.0001) == "0.000"


def test_small_share_is_not_zero():
    assert [percent(share) for share in (0, 0.0004, 0.034, 1)] == ["0%", "< 0.1%", "3.4%", "100.0%"]


def test_quantities_and_counts():
    assert [quantity(value) for value in (1234.5, 35.21, 0.01234, 0)] == ["1,234", "35.2", "0.0123", "0"]
    assert [count(1, "query", "queries"), count(1200, "query", "queries")] == ["1 query", "1,200 queries"]
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 21, 112)] == [
        "1st",
        "2nd",
        "3rd",
        "4th",
        "11th",
        "12th",
        "21st",
        "112th",
    ]
    assert [listing(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "none",
        "a",
        "a and b",
        "a, b and c",
    ]


def test_text_is_escaped_and_arabic_is_isolated():
    shown = Words(["e5-small"])("<b>& e5-small: الطويل المجزوء!")
    assert shown == (
        '&lt;b&gt;&amp; <span class="name">e5-small</span>: <bdi lang="ar" dir="rtl">الطويل المجزوء</bdi>!'
    )


def test_language_of_a_title():
    assert is_arabic("بحث في الشعر (BM25)") and not is_arabic("A search for الشعر") and not is_arabic("2026")


def test_direction_marks_of_a_name_do_not_reach_the_page():
    assert Words()("a\u202eb\u2066c") == "abc"


def test_a_name_inside_another_word_is_left_alone():
    assert Words(["e5-small"])("e5-small-v2") == "e5-small-v2"
