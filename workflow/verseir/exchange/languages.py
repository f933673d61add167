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
#: The other codes of ISO 639-1 with those of ISO 639-3.
_OTHERS = """
aa aar, ab abk, ae ave, af afr, ak aka, an arg, as asm, av ava, ay aym, ba bak, be bel, bi bis, bm bam, bo bod, br bre,
bs bos, ce che, ch cha, co cos, cr cre, cu chu, cv chv, cy cym, dv div, dz dzo, ee ewe, eo epo, ff ful, fj fij, fo fao,
fy fry, gd gla, gn grn, gv glv, ha hau, ho hmo, ht hat, hz her, ia ina, ie ile, ig ibo, ii iii, ik ipk, io ido, iu iku,
jv jav, kg kon, ki kik, kj kua, kk kaz, kl kal, km khm, kr kau, ks kas, kv kom, kw cor, ky kir, lb ltz, lg lug, li lim,
ln lin, lo lao, lu lub, mg mlg, mh mah, mi mri, mk mkd, mn mon, mt mlt, my mya, na nau, nb nob, nd nde, ng ndo, nn nno,
nr nbl, nv nav, ny nya, oc oci, oj oji, om orm, or ori, os oss, pi pli, qu que, rm roh, rn run, rw kin, sc srd, se sme,
sg sag, sh hbs, sm smo, sn sna, so som, sq sqi, ss ssw, st sot, su sun, tg tgk, ti tir, tk tuk, tl tgl, tn tsn, to ton,
ts tso, tt tat, tw twi, ty tah, ug uig, ve ven, vo vol, wa wln, wo wol, xh xho, yi yid, yo yor, za zha, zu zul
"""
#: Codes of ISO 639-2/B, which libraries use, that are not those of ISO 639-3.
_BIBLIOGRAPHIC = """
alb sqi, arm hye, baq eus, bur mya, chi zho, cze ces, dut nld, fre fra, geo kat, ger deu, gre ell, ice isl, mac mkd,
mao mri, may msa, per fas, rum ron, slo slk, tib bod, wel cym
"""
_SCRIPT_OF = {
    code: f"{long}-{script}" for short, long, script in map(str.split, _KNOWN.split(",")) for code in (short, long)
}
_PAIRS = [(code, long) for pairs in (_OTHERS, _BIBLIOGRAPHIC) for code, long in map(str.split, pairs.split(","))]
_LONG = {code: name.partition("-")[0] for code, name in _SCRIPT_OF.items()} | dict(_PAIRS)
_SCRIPT_OF |= {code: _SCRIPT_OF[long] for code, long in _PAIRS if long in _SCRIPT_OF}
_SHORT = {long.upper(): code for code, long in sorted(_LONG.items(), reverse=True) if len(code) == 2}
#: In place of a language that is not told (ISO 639-3).
UNTOLD = "UND"
#: Of what is in no language that is known here.
UNDETERMINED = "und-Zyyy"


def three_letters(code: str | None) -> str | None:
    """The code of three capitals (ISO 639-3) of a language: of ``ar``, ``ara`` and ``ar-EG`` it is ``ARA``.

    Codes of ISO 639-1 and of ISO 639-2/B are mapped: ``fa`` and ``per`` are both ``FAS``. A code of three Latin letters
    that is not known here stays. ``UNTOLD`` where there is none; None where ``code`` is no code.
    """
    if code is None:
        return UNTOLD
    first = re.split("[-_]", code.strip(), maxsplit=1)[0].lower()
    if first in _LONG:
        return _LONG[first].upper()
    return first.upper() if re.fullmatch("[a-z]{3}", first) else None


def language_tag(code: str | None) -> str | None:
    """The code of a language as a page names it (BCP 47), the shortest there is: of ``ara`` it is ``ar``.

    None where there is none, or none that names a language.
    """
    long = three_letters(code)
    return None if long in (None, UNTOLD) else _SHORT.get(str(long), str(long).lower())


def mteb_languages(codes: Iterable[str | None]) -> list[str]:
    """The names of languages in MTEB, sorted; ``und-Zyyy`` where none is known. Codes are read in either case."""
    return sorted({_SCRIPT_OF[code.lower()] for code in codes if code and code.lower() in _SCRIPT_OF}) or [UNDETERMINED]


def iso_639_3(names: Iterable[str]) -> list[str]:
    """The languages of names such as ``ara-Arab``, sorted."""
    return sorted({name.partition("-")[0] for name in names})
