"""Laws of the OpenITI parser: what is written in a dialect is read back, and no text makes it fail."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.corpora.openiti_markup import clean_hemistich, parse

HEADER = "######OpenITI#\n#META#Header#End#\n\n"
LETTERS = "ابتثجحخدرزسشصضطظعغفكلمنهوي"
WORDS = st.text(LETTERS, min_size=2, max_size=6).filter(
    lambda word: word not in ("البحر", "قال", "قالت", "وقال", "وقالت")
)
HEMISTICHS = st.lists(WORDS, min_size=2, max_size=5).map(" ".join)
VERSES = st.tuples(HEMISTICHS, HEMISTICHS | st.none())
POEMS = st.lists(VERSES, min_size=1, max_size=5)
METERS = st.sampled_from(["طويل", "وافر تام", "مجزوء الكامل", "مخلع البسيط"])
DIWANS = st.lists(st.tuples(METERS, POEMS), min_size=1, max_size=4)
FRAGMENTS = st.sampled_from(
    [
        *("# ", "### | ", "### || AUTO ", "### |EDITOR|", "% ", "%", "%~%", "~~", "\n", "\n# ", "\n~~", "\r\n"),
        *("البحر : ", "البحر", "طويل", "(الطويل)", "وقال فلان: ", "كلمة ", "بيت من شعر ", "ـ", "a", "٣", " 1 ", "-"),
        *("(", ")", "(1)", "1 - ", "...", " ... ", "…", "¶", "[", "]", "@P02", "\x00", "\u200f", "\ufeff"),
        *("PageV01P001", "ms01", "----NO PAGE NO------"),
    ]
)


def found(text):
    return [(poem.meter, poem.verses) for poem in parse(text)]


def jk(diwan, data):
    """A diwan as JK writes it: the next verse's number, ``%`` doubled at will, lines cut and pages marked anywhere."""
    extra = st.sampled_from(["", " %"])
    out = []
    for meter, verses in diwan:
        out.append(f" البحر : {meter} 1\n# ")
        for number, (first, second) in enumerate(verses, start=2):
            more, end = data.draw(extra), data.draw(extra)
            page = data.draw(st.sampled_from(["", " PageV01P003", " ms004"]))
            out.append(f"% {first} %{more} {second or ''} %{end}{page} {number if number <= len(verses) else ''}")
            out.append("\n# " if number <= len(verses) else "")
    cuts = data.draw(st.lists(st.integers(0, 400), max_size=6))
    words = re.split(r"( )", "".join(out))
    return (
        HEADER
        + "# "
        + "".join(
            "\n~~" if word == " " and index in cuts and index and not words[index - 1].endswith("#") else word
            for index, word in enumerate(words)
        )
    )


@settings(max_examples=60, deadline=None)
@given(DIWANS, st.data())
def test_jk_diwan_is_read_back(diwan, data):
    assert found(jk(diwan, data)) == diwan


@settings(max_examples=60, deadline=None)
@given(DIWANS)
def test_sham_diwan_is_read_back(diwan):
    lines = []
    for number, (meter, verses) in enumerate(diwan, start=1):
        lines += [f"# البحر : {meter}", *(f"# {first}  %~%  {second or ''} " for first, second in verses)]
        lines += [f"PageV01P{number:03d}", ""]
    assert found(HEADER + "\n".join(lines)) == diwan


@settings(max_examples=60, deadline=None)
@given(st.lists(POEMS, min_size=1, max_size=4))
def test_numbered_anthology_is_read_back(pieces):
    lines = []
    for number, verses in enumerate(pieces, start=1):
        lines += [f"# ({number})", "# وقال فلان: (الطويل)"]
        lines += [
            f"# {n} - {first}" + (f" ... {second}" if second else "") for n, (first, second) in enumerate(verses, 1)
        ]
    assert found(HEADER + "\n".join(lines)) == [("الطويل", verses) for verses in pieces]


@settings(max_examples=300, deadline=None)
@given(st.lists(FRAGMENTS | st.text(max_size=3), max_size=60).map("".join))
def test_no_text_makes_the_parser_fail(text):
    poems = parse(HEADER + text)
    assert poems == parse(HEADER + text)
    for poem in poems:
        assert poem.verses
        assert 3 <= poem.line <= 4 + text.count("\n")
        for hemistich in (half for verse in poem.verses for half in verse if half is not None):
            assert hemistich == clean_hemistich(hemistich) != ""
            assert not re.search(r"[%¶#~|\[\]\n\x00]|PageV01", hemistich)


@given(st.text())
def test_any_text_parses(text):
    assert isinstance(parse(text), list)


@pytest.mark.parametrize(
    "unit",
    ["ا ", "ا", "1 ", ".", "... ", "(", "(ا", "وقال ", "% ", "- ", "-", "PageV", "ms1", "البحر : ", "~~\n", " 1 -"],
)
def test_time_grows_no_faster_than_the_text(unit):
    text = "".join(f"{before}{unit * 100_000}x1\n" for before in ("# البحر : ", "# 1 - ", "### | "))
    start = time.perf_counter()
    assert isinstance(parse(HEADER + text), list)
    assert time.perf_counter() - start < 8  # where time grows with the square it takes twenty or more
