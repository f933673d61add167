"""Canonical names of meters and eras, and the order of the eras.

Sources spell one meter in many ways: with or without the article, with ``تام`` (the full form, which is the default), with
the variant before or after the meter, or in Latin letters (``wafer``, ``al-Kāmil``). The canonical name is the Arabic one
with the article, the variant first: ``الوافر``, ``مجزوء الكامل``, ``مخلع البسيط``. A name that is not known stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

#: The sixteen meters in the order of the five circles of al-Khalil, then forms outside them; each with its Latin spellings.
_METERS: dict[str, str] = {
    "الطويل": "tawil taweel tawyl",
    "المديد": "madid madeed",
    "البسيط": "basit baseet",
    "الوافر": "wafir wafer",
    "الكامل": "kamil kamel",
    "الهزج": "hazaj hazag",
    "الرجز": "rajaz ragaz",
    "الرمل": "ramal",
    "السريع": "sari saree sarie sareea",
    "المنسرح": "munsarih munsareh monsareh munsarih",
    "الخفيف": "khafif khafeef",
    "المضارع": "mudari mudarie mudhari modare mudare",
    "المقتضب": "muqtadab moqtadab muqtadib muqtathab",
    "المجتث": "mujtath mujtathth mugtath mogtath",
    "المتقارب": "mutaqarib mutaqareb mutakareb mutakarib motakareb",
    "المتدارك": "mutadarik mutadarak motadarak mutadarek khabab",
    "الدوبيت": "dubayt dobeit dubait",
    "الموشح": "muwashshah muwashah",
    "المواليا": "mawaliya mawwaliya",
    "السلسلة": "silsila",
    "شعر التفعيلة": "tafila tafeela",
    "شعر حر": "",
}
_METER_SYNONYMS = {"الخبب": "المتدارك", "المحدث": "المتدارك", "موشح": "الموشح", "الشعر الحر": "شعر حر", "التفعيلة": "شعر التفعيلة"}
#: Forms of a meter that are shorter than the full one, with the spellings that name them.
_VARIANTS = {
    "مجزوء": "مجزوء المجزوء مجزوءه majzu majzua majzuu",
    "مشطور": "مشطور المشطور mashtur",
    "منهوك": "منهوك المنهوك manhuk",
    "مخلع": "مخلع المخلع mukhalla mukhallaa",
    "أحذ": "احذ الاحذ ahadhdh",
}
_FULL = "تام التام التامه تامه tamm tam"
_METER_FILLERS = "بحر البحر من علي bahr al el min"

#: Eras by the middle of their time, in years AH: eras that overlap (Andalusian, Fatimid, Ayyubid) still have one order.
#: The twelve names are those that the large archives of Arabic poetry use.
_ERAS: dict[str, str] = {
    "العصر الجاهلي": "جاهلي الجاهلي الجاهليه|pre-islamic|preislamic|jahili|jahiliyya",
    "عصر المخضرمين": "مخضرم مخضرمون المخضرم المخضرمون المخضرمين مخضرمين|mukhadram|mukhadramun|transitional",
    "عصر صدر الإسلام": "الاسلامي اسلامي الاسلام الاسلاميه|صدر الاسلام|صدر اسلام|early islamic|early islam|islamic|sadr al-islam|rashidun",
    "العصر الأموي": "اموي الاموي الامويه|umayyad",
    "بين الدولتين": "بين الدولتين|مخضرمو الدولتين|مخضرمي الدولتين|between the two dynasties|umayyad-abbasid",
    "العصر العباسي": "عباسي العباسي العباسيه|abbasid",
    "العصر الفاطمي": "فاطمي الفاطمي الفاطميه|fatimid",
    "العصر الأندلسي": "اندلسي الاندلسي الاندلس|المغرب والاندلس|المغربي والاندلسي|andalusian|andalusi|maghrib and andalus",
    "العصر الأيوبي": "ايوبي الايوبي الايوبيه|ayyubid",
    "العصر المملوكي": "مملوكي المملوكي المماليك المملوكيه|mamluk",
    "العصر العثماني": "عثماني العثماني العثمانيه|ottoman",
    "العصر الحديث": "حديث الحديث معاصر المعاصر الحديثه|modern|contemporary",
}
_ERA_FILLERS = "عصر العصر شعراء شعر era period age the"

#: Last year of death AH -> era: the fall of the Rashidun, Umayyad and Abbasid (Baghdad) caliphates in 40, 132 and 656, the
#: Ottoman conquest of Egypt in 923 and the French one in 1213. OpenITI gives 1 to all who died before the Hijra. A year
#: cannot tell an Andalusian, Fatimid or Ayyubid poet from an Abbasid one, nor the poets who lived in two eras
#: (mukhadramun) from their neighbours: bands of years name neither.
_BANDS = (
    (1, "العصر الجاهلي"),
    (40, "عصر صدر الإسلام"),
    (132, "العصر الأموي"),
    (656, "العصر العباسي"),
    (922, "العصر المملوكي"),
    (1213, "العصر العثماني"),
)


def _fold(name: str) -> str:
    """``name`` without marks, tatweel, punctuation and letter variants; Latin letters without accents, in lower case."""
    name = unicodedata.normalize("NFKD", name).casefold().replace("ـ", "")
    name = "".join(c for c in name if not unicodedata.combining(c) and c not in "ʿʾʼ'`")
    name = name.translate(str.maketrans("أإآٱىةيیک", "اااايهييك"))
    return " ".join(re.findall(r"[^\W_]+", name))


def _words(spellings: str) -> frozenset[str]:
    return frozenset(_fold(word) for word in spellings.split())


_METER_BY_SPELLING = {
    **{_fold(spelling): name for name, latin in _METERS.items() for spelling in (name, *latin.split())},
    **{_fold(name).removeprefix("ال"): name for name in _METERS if name.startswith("ال")},
    **{_fold(spelling): name for spelling, name in _METER_SYNONYMS.items()},
    **{_fold(spelling).removeprefix("ال"): name for spelling, name in _METER_SYNONYMS.items()},
}
_VARIANT_BY_SPELLING = {_fold(word): name for name, spellings in _VARIANTS.items() for word in spellings.split()}
_METER_SKIPPED = _words(_FULL) | _words(_METER_FILLERS)
_ERA_SKIPPED = _words(_ERA_FILLERS)
ERA_ORDER: dict[str, int] = {name: order for order, name in enumerate(_ERAS, start=1)}


def _era_key(name: str) -> str:
    return " ".join(word for word in _fold(name).split() if word not in _ERA_SKIPPED)


_ERA_BY_SPELLING = {_era_key(name): name for name in _ERAS}
for _name, _spellings in _ERAS.items():
    _single, *_phrases = _spellings.split("|")
    for _spelling in (_single, *_phrases) if " " in _spellings.split("|")[0] and _name == "بين الدولتين" else (*_single.split(), *_phrases):
        _ERA_BY_SPELLING[_era_key(_spelling)] = _name
