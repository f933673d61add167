"""Canonical names of meters and eras."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.corpora.canonical import (
    ERA_ORDER,
    METERS,
    canonical_era,
    canonical_meter,
    era_of_death_year,
    is_known_meter,
    unknown_names,
)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("طويل", "الطويل"),
        ("الطويل", "الطويل"),
        ("الطَّوِيل", "الطويل"),
        ("الطـويل", "الطويل"),
        ("وافر تام", "الوافر"),
        ("الوافر التام", "الوافر"),
        ("[الوافر]", "الوافر"),
        ("من الوافر", "الوافر"),
        ("بحر الكامل", "الكامل"),
        ("مجزوء الكامل", "مجزوء الكامل"),
        ("الكامل المجزوء", "مجزوء الكامل"),
        ("مجزؤ الكامل", "مجزوء الكامل"),
        ("مشطور الرجز", "مشطور الرجز"),
        ("منهوك المنسرح", "منهوك المنسرح"),
        ("مخلع البسيط", "مخلع البسيط"),
        ("المخلع", "مخلع البسيط"),
        ("كامل أحذ", "أحذ الكامل"),
        ("الخبب", "المتدارك"),
        ("دو بيت", "الدوبيت"),
        ("الطو يل", "الطويل"),
        ("شعر حر", "الشعر الحر"),
        ("wafer", "الوافر"),
        ("rajaz", "الرجز"),
        ("kamil", "الكامل"),
        ("kamel", "الكامل"),
        ("mutakareb", "المتقارب"),
        ("munsareh", "المنسرح"),
        ("Al-Ṭawīl", "الطويل"),
        ("al-sarīʿ", "السريع"),
        ("majzūʾ al-kāmil", "مجزوء الكامل"),
    ],
)
def test_spellings_of_a_meter_have_one_name(spelling, name):
    assert canonical_meter(spelling) == name
    assert is_known_meter(spelling)


def test_sixteen_meters_come_first():
    assert METERS[:16] == (
        *("الطويل", "المديد", "البسيط", "الوافر", "الكامل", "الهزج", "الرجز", "الرمل"),
        *("السريع", "المنسرح", "الخفيف", "المضارع", "المقتضب", "المجتث", "المتقارب", "المتدارك"),
    )


@pytest.mark.parametrize("variant", ["مجزوء", "مشطور", "منهوك", "مخلع"])
@pytest.mark.parametrize("meter", METERS[:16])
def test_variant_stands_before_the_meter(variant, meter):
    assert canonical_meter(f"{meter.removeprefix('ال')} {variant}") == f"{variant} {meter}"


@pytest.mark.parametrize("name", ["", "-", "بحر غير معروف", "مجزوء", "مجزوء مشطور الرجز", "iambic pentameter"])
def test_unknown_meter_stays(name):
    assert canonical_meter(name) == name
    assert not is_known_meter(name)


@settings(deadline=None)
@given(st.text() | st.sampled_from(METERS))
def test_canonical_names_are_idempotent(name):
    assert canonical_meter(canonical_meter(name)) == canonical_meter(name)
    assert canonical_era(canonical_era(name)[0]) == canonical_era(name)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("العصر العباسي", "العصر العباسي"),
        ("عباسي", "العصر العباسي"),
        ("العباسى", "العصر العباسي"),
        ("شعراء العصر العباسي", "العصر العباسي"),
        ("Abbasid period", "العصر العباسي"),
        ("جاهلي", "العصر الجاهلي"),
        ("Pre-Islamic", "العصر الجاهلي"),
        ("مخضرم", "المخضرمون"),
        ("عصر المخضرمين", "المخضرمون"),
        ("مخضرمو الدولتين", "بين الدولتين"),
        ("عصر صدر الإسلام", "عصر صدر الإسلام"),
        ("العصر الإسلامي", "عصر صدر الإسلام"),
        ("عصر صدر الاسلام", "عصر صدر الإسلام"),
        ("أموي", "العصر الأموي"),
        ("المغرب والأندلس", "العصر الأندلسي"),
        ("العصر الأيوبي", "العصر الأيوبي"),
        ("العصر المملوكي", "العصر المملوكي"),
        ("العصر العثماني", "العصر العثماني"),
        ("العصر الحديث", "العصر الحديث"),
    ],
)
def test_spellings_of_an_era_have_one_name(spelling, name):
    assert canonical_era(spelling) == (name, ERA_ORDER[name])


def test_eras_are_ordered_in_time():
    early_to_late = ["العصر الجاهلي", "المخضرمون", "عصر صدر الإسلام", "العصر الأموي", "بين الدولتين", "العصر العباسي"]
    early_to_late += ["العصر الأندلسي", "العصر الأيوبي", "العصر المملوكي", "العصر العثماني", "العصر الحديث"]
    orders = [canonical_era(name)[1] for name in early_to_late]
    assert orders == sorted(orders)
    assert sorted(ERA_ORDER.values()) == list(range(1, 13))


def test_unknown_era_stays_and_has_no_order():
    assert canonical_era(" عصر لا يعرفه أحد ") == ("عصر لا يعرفه أحد", None)


def test_unknown_names_are_counted_in_warnings():
    warnings = unknown_names(["بحر جديد", "طويل", None, "بحر جديد", ""], ["العصر القادم", "عباسي", None])
    assert warnings == [
        "era 'العصر القادم' is not known and stays as it is: 1 poems",
        "meter 'بحر جديد' is not known and stays as it is: 2 poems",
    ]
    assert unknown_names(["طويل"], [None]) == []


@pytest.mark.parametrize(
    ("year", "name"),
    [
        (1, "العصر الجاهلي"),
        (2, "عصر صدر الإسلام"),
        (40, "عصر صدر الإسلام"),
        (41, "العصر الأموي"),
        (132, "العصر الأموي"),
        (133, "العصر العباسي"),
        (656, "العصر العباسي"),
        (657, "العصر المملوكي"),
        (922, "العصر المملوكي"),
        (923, "العصر العثماني"),
        (1213, "العصر العثماني"),
        (1214, "العصر الحديث"),
        (9999, "العصر الحديث"),
    ],
)
def test_era_by_year_of_death(year, name):
    assert era_of_death_year(year) == name
    assert canonical_era(name) == (name, ERA_ORDER[name])
