"""Which column of a spreadsheet is what: told by our own names, and by those that are usual in English and Arabic."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from verseir.arabic import normalise
from verseir.corpora.attributes import alike
from verseir.formats import listing
from verseir.rows import whole_number

#: The source of explanations that stand in a column which does not name one.
COMMENTARY = "explanation:commentary"

#: Usual names of our columns, the surest first, without "the" and blanks (see ``folded``).
USUAL: dict[str, str] = {
    "poem_id": "poem_id poem_number poem_no رقم_القصيدة معرف_القصيدة id identifier معرف code رمز رقم number no"
    " nr num # م مسلسل تسلسل",
    "title": "title poem_title عنوان عنوان_القصيدة اسم_القصيدة heading name مطلع",
    "poet": "poet poet_name شاعر اسم_الشاعر author قائل مؤلف",
    "era": "era عصر العصر_الأدبي period حقبة",
    "meter": "meter metre بحر البحر_الشعري وزن bahr",
    "genre": "genre غرض الغرض_الشعري theme موضوع نوع",
    "language": "language لغة lang",
    "source": "source مصدر مرجع",
    "verse_index": "verse_index verse_number verse_no رقم_البيت ترتيب_البيت",
    "verse": "verse بيت نص_البيت verse_text bayt",
    "verses": "verses أبيات نص_القصيدة poem_text full_text text نص content lines",
    "first": "first صدر الشطر_الأول شطر_أول شطر_1 first_hemistich hemistich_1 first_half",
    "second": "second عجز الشطر_الثاني شطر_ثاني شطر_2 second_hemistich hemistich_2 second_half",
    COMMENTARY: "explanation شرح شرح_البيت شرح_الأبيات commentary تفسير معنى",
}
#: Names that are a poem's text in a table of poems, and its id in a table of verses.
_POEM = "poem قصيدة"

#: Columns that may hold numbers; in others of ``USUAL`` they are something else.
NUMBERED = ("poem_id", "verse_index", "title", "era", "source")
#: Where ids are so few of the rows that have them, a row is a verse.
REPEATED = 0.7

#: The columns of which a table has one: it says what a row is.
SHAPES = ("verses", "verse", "first")


def folded(name: str) -> str:
    """What two spellings of the name of a column share: without capitals, blanks, signs, vowel marks and article."""
    plain = normalise(alike(name.replace("_", " ")), "full")
    words = re.findall(r"[^\W_]+|#", "".join(_digit(char) for char in plain))
    return "".join(word.removeprefix("ال") if len(word) > 3 else word for word in words)


def _digit(char: str) -> str:
    value = unicodedata.digit(char, None)
    return char if value is None else str(value)


_KNOWN = {ours: [folded(name) for name in names.split()] for ours, names in USUAL.items()}
_POEMS = {folded(name) for name in _POEM.split()}


#: Names that say that ids are of poems.
_SURE = {folded(name) for name in "poem_id poem_number poem_no رقم_القصيدة معرف_القصيدة".split()}


def same_column(one: str, other: str) -> bool:
    """Whether two names are one, or usual names of one of our columns."""
    first, second = folded(one), folded(other)
    return first == second or any(first in names and second in names for names in _KNOWN.values())


def names_poems(name: str) -> bool:
    """Whether a column is called "poem": its text, its title or its id."""
    return folded(name) in _POEMS


def surely_ids(name: str) -> bool:
    """Whether a column says by its name that it holds the ids of poems, not just numbers."""
    return folded(name) in _SURE


@dataclass(frozen=True)
class Taken:
    """What was decided of the columns of a table.

    Attributes:
        columns: our name -> the file's, of those that are called otherwise.
        shape: which of ``SHAPES`` the table has; "" where it cannot be told, and why is in ``problem``.
        passed_over: the columns that are not read.
    """

    columns: dict[str, str] = field(default_factory=dict)
    shape: str = ""
    problem: str = ""
    passed_over: tuple[str, ...] = ()


def take_columns(header: Sequence[str], kept: Sequence[str], cells: Mapping[str, Sequence[str]]) -> Taken:
    """Which columns of ``header`` are ours. Our own names go first; those in ``kept`` are read for another reason.

    ``cells`` are those of each column. A column of numbers holds no text, and one of texts with a number of the verse
    beside it, or with ids that repeat, holds verses.
    """
    numbers = {name for name in header if _are_numbers(cells[name])}
    found = {ours: _places(header, ours, () if ours in NUMBERED else numbers) for ours in USUAL}
    found["verse_index"] += [name for name in _places(header, "verse", ()) if name in numbers]
    poems = [name for name in header if folded(name) in _POEMS]
    shapes = [shape for shape in SHAPES if shape in header] or [shape for shape in SHAPES if found[shape]]
    if not shapes and (texts := [name for name in poems if name not in numbers]):
        found["verses"], shapes = texts, ["verses"]
    if len(shapes) != 1:
        names = [found[shape][0] for shape in shapes]
        problem = f"has the columns {listing(names)}" if names else "has no column of verses"
        return Taken(problem=problem)
    shape = shapes[0]
    if shape not in header and len(found[shape]) > 1 and shape != "first":
        return Taken(problem=f"has the columns {listing(found[shape])}, and each may hold the verses")
    if not found["poem_id"]:
        found["poem_id"] = [name for name in poems if shape != "verses" or name not in found["verses"]]
    if shape == "verses" not in header and _are_of_verses(found, cells):
        shape, found["verse"] = "verse", found["verses"]
    columns: dict[str, str] = {}
    for ours in USUAL:
        of_verses = ours in ("verse_index", "second")
        if (ours in SHAPES and ours != shape) or (of_verses and shape == "verses"):
            continue
        if ours == COMMENTARY and any(name.startswith("explanation:") for name in header):
            continue
        free = [name for name in found[ours] if name not in columns.values()]
        if ours not in header and free:
            columns[ours] = free[0]
    read = {*columns.values(), *kept, *(ours for ours in USUAL if ours in header)}
    rest = [name for name in header if name not in read and not name.startswith("explanation:")]
    return Taken(columns, shape, "", tuple(rest))


def _are_numbers(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    return bool(filled) and all(whole_number(cell) is not None for cell in filled)


def _are_of_verses(found: Mapping[str, Sequence[str]], cells: Mapping[str, Sequence[str]]) -> bool:
    """Whether the cells of a column of texts are verses: their rows are numbered, or most ids stand on several rows."""
    if any("\n" in cell.strip() for cell in cells[found["verses"][0]]):
        return False
    if found["verse_index"]:
        return True
    rows: list[int] = []  # of each id, with those below it that have none
    last, last_has = "", False
    for cell in cells[found["poem_id"][0]] if found["poem_id"] else []:
        if cell.strip() not in ("", last):
            rows.append(0)
        last, last_has = cell.strip() or last, bool(cell.strip())
        if rows:
            rows[-1] += 1
    if not rows or len(rows) > REPEATED * sum(rows):
        return False
    several = sum(n > 1 for n in rows)
    only_last = several == 1 < len(rows) and rows[-1] > 1 and not last_has  # a remark below the last poem
    return several >= len(rows) / 2 and not only_last


def _places(header: Sequence[str], ours: str, without: Collection[str]) -> list[str]:
    """The columns that may be ``ours``, the surest first; none of ``without`` but under our own name."""
    if ours in header:
        return [ours]
    names = _KNOWN[ours]
    known = [name for name in header if folded(name) in names and name not in without]
    return sorted(known, key=lambda name: names.index(folded(name)))


def told_columns(taken: Taken) -> str:
    """One line for people: which column was taken for what, which are not read; "" where there is nothing to say."""
    parts = [f"{ours} is '{theirs}'" for ours, theirs in sorted(taken.columns.items())]
    if taken.passed_over:
        parts.append("not read: " + listing([f"'{name}'" for name in taken.passed_over]))
    return "columns: " + "; ".join(parts) if parts else ""
