"""What becomes of odd characters. Each line of the inventory is a decision; changing one changes what is indexed."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from verseir.arabic import normalise, token_spans, tokenize
from verseir.arabic.characters import READING_MARKS, full_character, light_character

# Name, source text, what `light` makes of it, the tokens under `full`.
INVENTORY = [
    ("U+00A0 no-break space parts words", "ليل\u00a0طويل", "ليل طويل", ["ليل", "طويل"]),
    ("U+200F right-to-left mark vanishes", "ليل\u200f طو\u200fيل", "ليل طويل", ["ليل", "طويل"]),
    ("U+200E left-to-right mark vanishes", "لي\u200eل", "ليل", ["ليل"]),
    ("U+06CC Farsi yeh is yeh to BM25, itself to encoders", "\u06ccسعى بی", "\u06ccسعى بی", ["يسعي", "بي"]),
    ("U+202C pop directional formatting vanishes", "قمر\u202c", "قمر", ["قمر"]),
    ("U+FEF2 yeh, final form", "بن\ufef2", "بني", ["بني"]),
    ("U+202E right-to-left override vanishes", "\u202eقمر", "قمر", ["قمر"]),
    ("U+FED3 feh, initial form", "\ufed3جر", "فجر", ["فجر"]),
    ("U+2022 bullet parts words, stays in light", "نجم•قمر", "نجم•قمر", ["نجم", "قمر"]),
    ("U+FEDF lam, initial form", "\ufedfيل", "ليل", ["ليل"]),
    ("U+2014 em dash parts words, stays in light", "نجم—قمر", "نجم—قمر", ["نجم", "قمر"]),
    ("U+0654 hamza above seats on alef", "ا\u0654مل", "أمل", ["امل"]),
    ("U+0654 hamza above seats on waw", "مو\u0654من", "مؤمن", ["مءمن"]),
    ("U+0654 hamza above seats on alef maqsura", "شى\u0654ت", "شئت", ["شءت"]),
    ("U+0654 hamza above seats on tatweel", "شيـ\u0654ا", "شيئا", ["شيءا"]),
    ("U+0654 hamza above over another letter vanishes", "خانه\u0654", "خانه", ["خانه"]),
    ("U+200C zero-width non-joiner vanishes", "مي\u200cرود", "ميرود", ["ميرود"]),
    ("U+200A hair space parts words", "نجم\u200aقمر", "نجم قمر", ["نجم", "قمر"]),
    ("U+06AF gaf is a letter of its own", "گل", "گل", ["گل"]),
    ("U+FEFF byte order mark inside a text vanishes", "\ufeffنجم\ufeff", "نجم", ["نجم"]),
    ("U+0085 next line parts words", "نجم\u0085قمر", "نجم قمر", ["نجم", "قمر"]),
    ("U+200D zero-width joiner vanishes", "هـ\u200d", "ه", ["ه"]),
    ("U+0655 hamza below seats on alef", "ا\u0655لى", "إلى", ["الي"]),
    ("U+06A9 keheh is kaf to BM25, itself to encoders", "کتاب", "کتاب", ["كتاب"]),
    ("U+00AD soft hyphen vanishes", "كت\u00adاب", "كتاب", ["كتاب"]),
    ("U+0671 alef wasla is alef", "\u0671لليل", "الليل", ["الليل"]),
    ("U+FEFB lam-alef", "س\ufefbم", "سلام", ["سلام"]),
    ("U+FEF7 lam-alef with hamza above", "\ufef7مر", "لأمر", ["لامر"]),
    ("U+FEF9 lam-alef with hamza below", "\ufef9ن", "لإن", ["لان"]),
    ("U+FEF5 lam-alef with madda", "\ufef5ل", "لآل", ["لال"]),
    ("U+0653 madda seats on alef", "ا\u0653ن", "آن", ["ان"]),
    ("U+0670 superscript alef is a reading mark", "هٰذا", "هذا", ["هذا"]),
    ("Quranic pause and small letters are reading marks", "قُلۡ هُوَ ۖ لَهُۥ", "قل هو له", ["قل", "هو", "له"]),
    ("U+06DD end of ayah parts words", "احد۝قل", "احد قل", ["احد", "قل"]),
    ("U+FDF2 ligature Allah", "ﷲ", "الله", ["الله"]),
    ("U+FC5E isolated shadda and dammatan belong to the letter before", "مر\ufc5e", "مر", ["مر"]),
    ("U+FE70 isolated fathatan belongs to the letter before", "بيت\ufe70ا", "بيتا", ["بيتا"]),
    ("U+FE71 fathatan on tatweel", "بيت\ufe71ا", "بيتا", ["بيتا"]),
    ("U+200B zero-width space parts words", "نجم\u200bقمر", "نجم قمر", ["نجم", "قمر"]),
    ("U+2060 word joiner vanishes", "نج\u2060م", "نجم", ["نجم"]),
    ("U+2028 line separator parts words", "نجم\u2028قمر", "نجم قمر", ["نجم", "قمر"]),
    ("C1 controls part words", "نجم\x80\x94قمر", "نجم قمر", ["نجم", "قمر"]),
    ("Arabic-Indic and Persian digits are digits", "٣ ۳ 3", "٣ ۳ 3", ["3", "3", "3"]),
    ("Arabic punctuation parts words", "نجم،قمر؛ليل؟", "نجم،قمر؛ليل؟", ["نجم", "قمر", "ليل"]),
    ("Persian letters that Arabic lacks stay", "پچژ", "پچژ", ["پچژ"]),
    ("U+06BE heh doachashmee is heh to BM25", "ھذا", "ھذا", ["هذا"]),
    ("U+06C0 heh with yeh above equals its parts", "\u06c0", "\u06d5", ["ه"]),
]


@pytest.mark.parametrize(("source", "light", "tokens"), [case[1:] for case in INVENTORY], ids=[c[0] for c in INVENTORY])
def test_odd_character(source: str, light: str, tokens: list[str]) -> None:
    assert normalise(source, "light") == light
    assert tokenize(source, "full") == tokens
    assert normalise(source, "raw") == source
    assert [token for token, _, _ in token_spans(source, "full")] == tokens


def test_every_character_is_mapped_to_something_that_maps_to_itself() -> None:
    # The planes that hold assigned characters, but for CJK and Hangul, which all go one way.
    codes = [
        *range(0x3400),
        *range(0xA000, 0xAC00),
        *range(0xF900, 0x10000),
        *range(0x10000, 0x12000),
        0x1EE00,
        0x1F600,
    ]
    for rule in (light_character, full_character):
        moving = [hex(code) for code in codes if "".join(map(rule, rule(chr(code)))) != rule(chr(code))]
        assert moving == []


def test_reading_marks_hold_those_of_camel_tools() -> None:
    from camel_tools.utils.charsets import AR_DIAC_CHARSET

    assert AR_DIAC_CHARSET <= READING_MARKS
    assert all(unicodedata.category(mark) in ("Mn", "Lm", "Cn") for mark in READING_MARKS)


def test_full_agrees_with_camel_tools_on_plain_arabic() -> None:
    from camel_tools.utils.dediac import dediac_ar
    from camel_tools.utils.normalize import normalize_alef_ar, normalize_alef_maksura_ar, normalize_teh_marbuta_ar

    text = "وَإِلَى أُمِّ القُرَى آبَتِ الفَتَاةُ ٱلَّتِي رَأَتْ هٰذِهِ المَدِينَةَ"
    expected = normalize_teh_marbuta_ar(normalize_alef_maksura_ar(normalize_alef_ar(dediac_ar(text))))
    assert normalise(text, "full") == expected


def test_light_verbs_do_not_pay_for_the_character_sets_of_camel_tools() -> None:
    import subprocess

    code = "import sys, verseir.arabic; print('camel_tools.utils.charsets' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
