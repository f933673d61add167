"""What becomes of each character: the tables behind the presets.

Two things are decided here, for every code point of Unicode, so that no odd character of a scraped page is left to
chance. ``light_character`` repairs the encoding and takes away reading marks; ``full_character`` also folds spellings.
"""

from __future__ import annotations

import unicodedata

# `camel_tools.utils.normalize` is right for the letters it folds and imports in a few milliseconds: its functions make
# the tables below, once. `camel_tools.utils.dediac` and `.charsets` walk all of Unicode on import (0.8 s, felt by every
# light verb), so the marks are listed here; a test holds them to be a superset of `AR_DIAC_CHARSET`. None of them runs
# per text: one `str.translate` over a joint table does in one pass what they would do in six.
from camel_tools.utils.normalize import (
    normalize_alef_ar,
    normalize_alef_maksura_ar,
    normalize_teh_marbuta_ar,
    normalize_unicode,
)

TATWEEL = "\u0640"
HAMZA = "\u0621"
MADDA_ABOVE, HAMZA_ABOVE, HAMZA_BELOW = "\u0653", "\u0654", "\u0655"


def _span(first: int, last: int) -> str:
    return "".join(map(chr, range(first, last + 1)))


#: Reading marks: harakat, tanwin, shadda, sukun, superscript and subscript alef, Quranic signs of pause, of elision
#: and of recitation (also the small waw and yeh, which are letters to Unicode). The madda and the two combining hamzas
#: are not among them: they belong to a letter and compose with it.
READING_MARKS = frozenset(
    _span(0x0610, 0x061A)
    + _span(0x064B, 0x0652)
    + _span(0x0656, 0x065F)
    + "\u0670"
    + _span(0x06D6, 0x06DC)
    + _span(0x06DF, 0x06E8)
    + _span(0x06EA, 0x06ED)
    + _span(0x0897, 0x089F)
    + _span(0x08CA, 0x08E1)
    + _span(0x08E3, 0x08FF)
)

#: Signs that stand between words; Unicode calls them format characters, and only those vanish without a trace.
_SEPARATING_SIGNS = frozenset("\u200b\u06dd\u08e2" + _span(0x0600, 0x0605) + _span(0x0890, 0x0891))

#: Joiners and selectors that Unicode counts as marks.
_INVISIBLE_MARKS = frozenset("\u034f" + _span(0xFE00, 0xFE0F) + _span(0xE0100, 0xE01EF))

#: Letters with a hamza that no Arabic word has (Persian and Urdu ezafe): their combining spelling loses the hamza too.
_EZAFE = {"\u06c0": "\u06d5", "\u06c2": "\u06c1", "\u06d3": "\u06d2"}


def is_space(char: str) -> bool:
    """Whether ``char`` parts words and shows nothing: blanks of every width, line and page ends, control characters.

    U+00A0, U+200A and U+0085 are spaces; so is U+200B, which Unicode defines as a place where a word ends.
    """
    return char.isspace() or char in _SEPARATING_SIGNS or unicodedata.category(char) == "Cc"


def is_invisible(char: str) -> bool:
    """Whether ``char`` stands inside a word and shows nothing: joiners, bidi controls, soft hyphen, byte order mark."""
    return char in _INVISIBLE_MARKS or (unicodedata.category(char) == "Cf" and char not in _SEPARATING_SIGNS)


def is_word_character(char: str) -> bool:
    """Whether ``char`` is part of a word: a letter, a mark (Indic vowels are marks) or a digit of any script."""
    return unicodedata.category(char)[0] in "LMN"


def _compatible(char: str) -> str:
    """The NFKC form of one character, without the space that Unicode puts under a mark that stands alone."""
    form = normalize_unicode(char)
    if len(form) > 1 and form[0] == " " and all(unicodedata.combining(mark) for mark in form[1:]):
        # An Arabic mark in a presentation form belongs to the letter before it; a spacing accent (U+00B4) to no letter.
        return form[1:] if all(mark in READING_MARKS for mark in form[1:]) else " "
    return form


def light_character(char: str) -> str:
    """What ``light`` makes of one character.

    Spaces become U+0020; invisible characters and reading marks vanish; presentation forms, ligatures and width
    variants become the letters they show; alef wasla becomes alef, since the wasla is a reading mark. Letters of other
    languages (Persian yeh and keheh, gaf), digits and punctuation stay, as an encoder has learnt them. Tatweel stays:
    what it means depends on its neighbours.
    """
    out = []
    for part in _compatible(char):
        if is_space(part):
            out.append(" ")
        elif part == "\u0671":
            out.append("\u0627")
        elif part in _EZAFE:
            out.append(_EZAFE[part])
        elif part not in READING_MARKS and not is_invisible(part):
            out.append(part)
    return "".join(out)


#: Spellings that ``full`` folds beyond what camel_tools folds: other code points of the same letter, which keyboards
#: and page encodings put in Arabic text, and the seats of hamza. A hamza changes its seat with the case ending (three
#: spellings of one noun), so the seats of waw and yeh give way to the bare hamza; on an alef it is left out as often
#: as written, so there the alef remains. Persian letters that Arabic lacks (gaf, peh, cheh, zheh) are letters, not
#: spellings: they stay.
_OTHER_SPELLINGS = {
    "\u0672": "\u0627",  # alef with wavy hamza above
    "\u0673": "\u0627",  # alef with wavy hamza below
    "\u0624": HAMZA,  # waw with hamza
    "\u0626": HAMZA,  # yeh with hamza
    "\u06a9": "\u0643",  # keheh
    "\u06aa": "\u0643",  # swash kaf
    "\u06cc": "\u064a",  # Farsi yeh
    "\u06be": "\u0647",  # heh doachashmee
    "\u06c1": "\u0647",  # heh goal
    "\u06d5": "\u0647",  # ae
    "\u06c3": "\u0647",  # teh marbuta goal
}


def _fold(char: str) -> str:
    if char in _OTHER_SPELLINGS:
        return _OTHER_SPELLINGS[char]
    if unicodedata.category(char) == "Nd":
        return str(unicodedata.decimal(char))
    return normalize_alef_ar(normalize_alef_maksura_ar(normalize_teh_marbuta_ar(char)))


def full_character(char: str) -> str:
    """What ``full`` makes of one character: ``light``, letters folded, digits as 0-9, other scripts without case."""
    return "".join(_fold(part) for plain in light_character(char) for part in normalize_unicode(plain.casefold()))
