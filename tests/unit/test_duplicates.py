"""Classes of duplicate poems."""

from __future__ import annotations

import random

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from verseir.corpora import duplicates
from verseir.corpora.duplicates import equivalence_classes, near_pairs
from verseir.corpora.model import poems_frame
from verseir.tables import DUPLICATES, check_table

GARDEN = [
    ("نامت على كتف الجبال سحابة", "وصحا على صوت المطر الوادي"),
    ("فمشى الرعاة إلى الغدير كأنهم", "عادوا إلى وعد من الميعاد"),
    ("والنار في طرف الخيام صغيرة", "تكفي لتدفئة الغريب الغادي"),
]
BIRD = [
    ("يا طائرا حط الرحال ببابنا", "هل في جناحك من بلادي ريح"),
    ("إني سألت الموج عن أخبارها", "فأجابني أن البحار جريح"),
]


def frame(poems: dict[str, list[tuple[str, str | None]]]) -> pl.DataFrame:
    return poems_frame(
        [
            {"poem_id": poem_id, "verses": [{"first": first, "second": second} for first, second in verses]}
            for poem_id, verses in poems.items()
        ]
    )


def classes(poems: dict[str, list[tuple[str, str | None]]]) -> dict[str, tuple[str, int, str, float]]:
    found = check_table(equivalence_classes(frame(poems)), DUPLICATES, "duplicates")
    return {row[0]: (row[1], row[2], row[3], round(row[4], 3)) for row in found.iter_rows()}


def test_exact_is_blind_to_vocalisation_spelling_and_layout() -> None:
    vocalised = [("نَامَتْ عَلَى كَتِفِ الجِبَالِ سَحَابَةٌ", "وَصَحَا علي صَوْتِ المَطَرِ الوَادِي"), *GARDEN[1:]]
    lines = [(hemistich, None) for verse in GARDEN for hemistich in verse]
    assert classes({"c": GARDEN, "a": vocalised, "b": lines, "d": BIRD}) == {
        "a": ("a", 3, "exact", 1.0),
        "b": ("a", 3, "exact", 1.0),
        "c": ("a", 3, "exact", 1.0),
        "d": ("d", 1, "unique", 0.0),
    }


def test_an_excerpt_and_another_reading_are_near() -> None:
    reading = [("نامت على كتف الهضاب سحابة", GARDEN[0][1]), *GARDEN[1:]]
    assert classes({"whole": GARDEN + BIRD, "part": BIRD, "other": GARDEN, "reading": reading}) == {
        "other": ("other", 4, "near", 1.0),
        "part": ("other", 4, "near", 1.0),
        "reading": ("other", 4, "near", round(24 / 27, 3)),
        "whole": ("other", 4, "near", 1.0),
    }


def test_a_shared_formula_joins_nobody() -> None:
    formula = "سلام على تلك الديار"
    one = [(formula, "فقد غاب عنها كل خل وصاحب"), ("وأصبح فيها الريح يبكي وحيدا", "ولم يبق إلا الصمت بين الملاعب")]
    two = [(formula, "وإن طال عهد بيننا وتنائي"), ("سأذكرها ما دام في العمر ليلة", "وما دام في الأفق البعيد ضياء")]
    assert {row[2] for row in classes({"a": one, "b": two}).values()} == {"unique"}


def test_poems_too_short_for_a_shingle_are_compared_whole() -> None:
    assert classes({"a": [("نام الليل", None)], "b": [("نامَ الليلُ", None)], "c": [("قم", None)]}) == {
        "a": ("a", 2, "exact", 1.0),
        "b": ("a", 2, "exact", 1.0),
        "c": ("c", 1, "unique", 0.0),
    }


def test_an_empty_corpus_has_no_classes() -> None:
    assert equivalence_classes(frame({})).is_empty()


words = st.lists(st.sampled_from("abcdef"), max_size=14)


@given(st.lists(words, max_size=8))
def test_pairs_equal_those_of_comparing_all_with_all(texts: list[list[str]]) -> None:
    shingles = [{tuple(text[i : i + 3]) for i in range(len(text) - 2)} for text in texts]
    expected = {}
    for i, a in enumerate(shingles):
        for j, b in enumerate(shingles[i + 1 :], i + 1):
            shared = len(a & b)
            if shared >= duplicates.FEWEST_SHARED and shared / min(len(a), len(b)) >= duplicates.NEAR:
                expected[i, j] = shared / min(len(a), len(b))
    first, second, containment = near_pairs(texts)
    assert dict(zip(zip(first.tolist(), second.tolist(), strict=True), containment.tolist(), strict=True)) == expected


def test_classes_do_not_depend_on_the_order_of_the_poems() -> None:
    draw = random.Random(0)
    pool = [" ".join(draw.choices("ابتجدرسعقل", k=3)) for _ in range(40)]
    poems = {f"p{i}": [(draw.choice(pool), draw.choice(pool)) for _ in range(4)] for i in range(60)}
    straight = frame(poems)
    shuffled = straight.sample(fraction=1.0, shuffle=True, seed=1)
    assert equivalence_classes(shuffled).equals(equivalence_classes(straight))


def test_counting_in_pieces_gives_the_same(monkeypatch) -> None:
    draw = random.Random(1)
    texts = [draw.choices("abc", k=12) for _ in range(30)]
    whole = near_pairs(texts)
    monkeypatch.setattr(duplicates, "_MOST_PAIRS", 7)
    pieces = near_pairs(texts)
    assert all((a == b).all() for a, b in zip(whole, pieces, strict=True)) and len(whole[0]) > 0
