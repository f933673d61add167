"""Names of languages as MTEB has them: ISO 639-3 and ISO 15924, such as ``ara-Arab``."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: ISO 639-1, ISO 639-3 and script of the languages of poetry that a study is likely to have.
_KNOWN = """
am amh Ethi, ar ara Arab, az aze Latn, bg bul Cyrl, bn ben Beng, ca cat Latn, cs ces Latn, da dan Latn, de deu Latn,
el ell Grek, en eng Latn, es spa Latn, et est Latn, eu eus Latn, fa fas Arab, fi fin Latn, fr fra Latn, ga gle Latn,
gl glg Latn, gu guj Gujr, he heb Hebr, hi hin Deva, hr hrv Latn, hu hun Latn, hy hye Armn, id ind Latn, is isl Latn,
it ita Latn, ja jpn Jpan, ka kat Geor, kn kan Knda, ko kor Hang, ku kur Latn, la lat Latn, lt lit Latn, lv lav Latn,
ml mal Mlym, mr mar Deva, ms msa Latn, ne nep Deva, nl nld Latn, no nor Latn, pa pan Guru, pl pol Latn, ps pus Arab,
pt por Latn, ro ron Latn, ru rus Cyrl, sa san Deva, sd snd Arab, si sin Sinh, sk slk Latn, sl slv Latn, sr srp Cyrl,
sv swe Latn, sw swa Latn, ta tam Taml, te tel Telu, th tha Thai, tr tur Latn, uk ukr Cyrl, ur urd Arab, uz uzb Latn,
vi vie Latn, zh zho Hani
"""
_SCRIPT_OF = {
    code: f"{long}-{script}" for short, long, script in map(str.split, _KNOWN.split(",")) for code in (short, long)
}
_LONG = {code: name.partition("-")[0] for code, name in _SCRIPT_OF.items()}
#: In place of a language that is not told (ISO 639-3).
UNTOLD = "UND"
#: Of what is in no language that is known here.
UNDETERMINED = "und-Zyyy"


def three_letters(code: str | None) -> str | None:
    """The code of three capitals (ISO 639-3) of a language: of ``ar``, ``ara`` and ``ar-EG`` it is ``ARA``.

    A code of three Latin letters that is not known here stays. ``UNTOLD`` where there is none; None where ``code`` is
    no code.
    """
    if code is None:
        return UNTOLD
    first = re.split("[-_]", code.strip(), maxsplit=1)[0].lower()
    if first in _LONG:
        return _LONG[first].upper()
    return first.upper() if re.fullmatch("[a-z]{3}", first) else None


def mteb_languages(codes: Iterable[str | None]) -> list[str]:
    """The names of languages in MTEB, sorted; ``und-Zyyy`` where none is known. Codes are read in either case."""
    return sorted({_SCRIPT_OF[code.lower()] for code in codes if code and code.lower() in _SCRIPT_OF}) or [UNDETERMINED]


def iso_639_3(names: Iterable[str]) -> list[str]:
    """The languages of names such as ``ara-Arab``, sorted."""
    return sorted({name.partition("-")[0] for name in names})
