"""Numbers and text as they read on the page."""

import math
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.formats import (
    count,
    decimals_of,
    interval,
    listing,
    moved,
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
        (0.04999999999999999, "0.04999999999999999"),
        (0.000345, "3.5e-4"),
        (0.345, "0.35"),
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


@given(st.integers(-(10**7), 10**7), st.integers(3, 7), st.integers(0, 5), st.integers(-3, 3))
def test_what_is_rounded_are_decimals_and_halves_go_up(numerator, places, digits, noise):
    """The value that is meant has few decimals; sums in another order differ from it in the last bits."""
    meant = Decimal(numerator).scaleb(-places)
    value = float(meant)
    for _ in range(abs(noise)):
        value = math.nextafter(value, math.copysign(math.inf, noise)) if value else value
    expected = meant.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    text = f"{abs(expected)}" if expected == 0 else f"{expected}".replace("-", "\u2212")
    assert number(value, digits) == text
    assert signed(value, digits) == (f"+{text}" if expected > 0 else text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_float_can_be_told(value):
    assert float(number(value, 4).replace("\u2212", "-")) == pytest.approx(value, rel=1e-11, abs=1e-4)
    assert "-" not in number(value) + signed(value) + quantity(value)


def test_halves_do_not_hang_on_the_last_bit():
    assert number(0.34585, 4) == number(0.1 + 0.24585, 4) == number(math.nextafter(0.34585, 0), 4) == "0.3459"
    assert [percent(0.12345), percent(0.0005), quantity(2.675), quantity(-2.675)] == [
        "12.3%",
        "< 0.1%",
        "2.68",
        "\u22122.68",
    ]
    assert percent(0.12350) == "12.4%"


def test_differences_are_told_with_the_decimals_that_they_need():
    needed = {(0.5,): 3, (0.0004, 0.2): 4, (0.0, None): 3, (-0.00012, math.nan): 4, (1e-15,): 3}
    assert {values: decimals_of(*values) for values in needed} == needed
    assert [moved(0.12), moved(0.0003), moved(-0.0003), moved(0.0)] == ["+0.120", "+0.0003", "\u22120.0003", "0.000"]


def test_small_share_is_not_zero():
    assert [percent(share) for share in (0, 0.0004, 0.034, 1)] == ["0%", "< 0.1%", "3.4%", "100.0%"]


def test_quantities_and_counts():
    assert [quantity(value) for value in (1234.5, 35.21, 0.01234, 0)] == ["1,235", "35.2", "0.0123", "0"]
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
