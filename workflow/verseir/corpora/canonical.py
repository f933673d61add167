"""Canonical names of meters and eras, and the order of the eras.

Sources spell one meter in many ways: with or without the article, with ``تام`` (the full form, which is the default),
with the variant before or after the meter, or in Latin letters (``wafer``, ``al-Kāmil``). The canonical name is the
Arabic one with the article, the variant first: ``الوافر``, ``مجزوء الكامل``, ``مخلع البسيط``. Unknown names stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache

#: The sixteen meters (fifteen of al-Khalil, and المتدارك), then forms outside them; each with further spellings.
_METERS = {
    "الطويل": "tawil taweel tawyl",
    "المديد": "madid madeed",
    "البسيط": "basit baseet",
    "الوافر": "wafir wafer",
    "الكامل": "kamil kamel",
    "الهزج": "hazaj hazag",
    "الرجز": "rajaz ragaz",
    "الرمل": "ramal",
    "السريع": "sari saree sarie",
    "المنسرح": "munsarih munsareh monsareh",
    "الخفيف": "khafif khafeef",
    "المضارع": "mudari mudarie modare mudare",
    "المقتضب": "muqtadab moqtadab muqtathab",
    "المجتث": "mujtath mujtathth mugtath mogtath",
    "المتقارب": "mutaqarib mutaqareb mutakareb mutakarib motakareb",
    "المتدارك": "mutadarik mutadarak mutadarek motadarak khabab الخبب المحدث",
    "الدوبيت": "dubayt dubait",
    "الموشح": "muwashshah muwashah موشحة",
    "المواليا": "mawaliya mawwaliya",
    "السلسلة": "silsila",
    "شعر التفعيلة": "التفعيلة tafila",
    "الشعر الحر": "حر",
}
#: Forms of a meter other than the full one: shortened by a foot, by half, by two thirds; and two licensed endings.
_VARIANTS = {
    "مجزوء": "المجزوء مجزوءة majzu",
    "مشطور": "المشطور mashtur",
    "منهوك": "المنهوك manhuk",
    "مخلع": "المخلع mukhalla",
    "أحذ": "الأحذ ahadhdh",
}
#: Words that add nothing to the name of a meter: "full", "meter", articles and prepositions.
_METER_FILLERS = "تام التام تامة التامة tamm tam بحر البحر من شعر الشعر bahr al el min"

#: The eras in the order of the middle of their time, so that eras that overlap (Abbasid, Fatimid, Andalusian, Ayyubid)
#: have an order too. The twelve are those that the large archives of Arabic poetry tell apart.
_ERAS = {
    "العصر الجاهلي": "جاهلي|الجاهلية|pre-islamic|preislamic|jahili|jahiliyya",
    "المخضرمون": "مخضرم|مخضرمون|المخضرم|المخضرمين|مخضرمين|mukhadram|mukhadramun|transitional",
    "عصر صدر الإسلام": "صدر إسلام|الإسلامي|إسلامي|الإسلام|early islamic|early islam|islamic|sadr al-islam|rashidun",
    "العصر الأموي": "أموي|الأموية|umayyad",
    "بين الدولتين": "مخضرمو الدولتين|مخضرمي الدولتين|مخضرم الدولتين|between the two dynasties|between dynasties",
    "العصر العباسي": "عباسي|العباسية|abbasid",
    "العصر الفاطمي": "فاطمي|الفاطمية|fatimid",
    "العصر الأندلسي": "أندلسي|الأندلس|المغرب والأندلس|المغربي والأندلسي|andalusian|andalusi|maghrib and andalus",
    "العصر الأيوبي": "أيوبي|الأيوبية|ayyubid",
    "العصر المملوكي": "مملوكي|المماليك|المملوكية|mamluk",
    "العصر العثماني": "عثماني|العثمانية|ottoman",
    "العصر الحديث": "حديث|المعاصر|معاصر|الحديثة|modern|contemporary",
}
_ERA_FILLERS = "عصر العصر شعراء شعر era period age the"

#: Last year of death AH of an era: the end of the first caliphate (40), the fall of the Umayyads (132) and of Baghdad
#: (656), the Ottoman conquest of Egypt (923) and the French one (1213). OpenITI writes 1 for all before the Hijra.
_BANDS = (
    (1, "العصر الجاهلي"),
    (40, "عصر صدر الإسلام"),
    (132, "العصر الأموي"),
    (656, "العصر العباسي"),
    (922, "العصر المملوكي"),
    (1213, "العصر العثماني"),
)


def _fold(name: str) -> str:
    """``name`` without marks, tatweel, hamza and punctuation; Latin letters without accents, in lower case."""
    name = unicodedata.normalize("NFKD", name).casefold()
    name = "".join(c for c in name if not unicodedata.combining(c) and c not in "ـءʿʾʼ'`")
    return " ".join(re.findall(r"[^\W_]+", name.translate(str.maketrans("ٱةىیک", "اهييك"))))


def _without(name: str, skipped: frozenset[str]) -> str:
    return " ".join(word for word in _fold(name).split() if word not in skipped)


_METER_SKIPPED = frozenset(_fold(_METER_FILLERS).split())
_ERA_SKIPPED = frozenset(_fold(_ERA_FILLERS).split())
_VARIANT_OF = {_fold(word): name for name, more in _VARIANTS.items() for word in (name, *more.split())}
_METER_OF: dict[str, str] = {}
for _name, _more in _METERS.items():
    for _spelling in (_name, *_more.split()):
        _key = _without(_spelling, _METER_SKIPPED)
        _METER_OF |= {_key: _name, _key.removeprefix("ال"): _name}
_ERA_OF = {_without(word, _ERA_SKIPPED): name for name, more in _ERAS.items() for word in (name, *more.split("|"))}

#: Canonical names, without the variants of the meters; the eras with their order.
METERS = tuple(_METERS)
ERA_ORDER = {name: order for order, name in enumerate(_ERAS, start=1)}


def _meter(name: str) -> str | None:
    words = _without(name, _METER_SKIPPED).split()
    variants = [_VARIANT_OF[word] for word in words if word in _VARIANT_OF]
    rest = " ".join(word for word in words if word not in _VARIANT_OF)
    if variants == ["مخلع"] and not rest:
        rest = "البسيط"  # "the mukhalla" alone is that of the Basit
    meter = _METER_OF.get(rest) or _METER_OF.get(rest.replace(" ", ""))  # "دو بيت", "الطو يل"
    if meter is None or len(variants) > 1:
        return None
    return f"{variants[0]} {meter}" if variants else meter


@lru_cache(maxsize=4096)
def canonical_meter(name: str) -> str:
    """The canonical name of a meter; ``name`` itself, stripped, where it is not known. Idempotent."""
    return _meter(name) or name.strip()


def is_known_meter(name: str) -> bool:
    """Whether ``name`` is a spelling of a known meter."""
    return _meter(name) is not None


@lru_cache(maxsize=4096)
def canonical_era(name: str) -> tuple[str, int | None]:
    """The canonical name of an era and its order, 1 the earliest; (``name`` stripped, None) where it is not known."""
    known = _ERA_OF.get(_without(name, _ERA_SKIPPED))
    return (known, ERA_ORDER[known]) if known else (name.strip(), None)


def unknown_names(meters: Iterable[str | None], eras: Iterable[str | None]) -> list[str]:
    """A warning for each meter and each era that is not known, with the number of poems that have it; sorted."""

    def warnings(what: str, names: Iterable[str | None], known: Callable[[str], bool]) -> list[str]:
        unknown = Counter(name.strip() for name in names if name and name.strip() and not known(name))
        return [f"{what} '{name}' is not known and stays as it is: {n} poems" for name, n in sorted(unknown.items())]

    return warnings("era", eras, lambda name: canonical_era(name)[1] is not None) + warnings(
        "meter", meters, is_known_meter
    )


def era_of_death_year(year: int) -> str:
    """The canonical name of the era in which a poet who died in ``year`` (AH) is counted, by bands of years.

    A year cannot tell an Andalusian, Fatimid or Ayyubid poet from an Abbasid one, nor the poets who lived in two eras
    from their neighbours: these eras are never returned. Prefer what a source says of the era.
    """
    return next((name for last, name in _BANDS if year <= last), "العصر الحديث")
