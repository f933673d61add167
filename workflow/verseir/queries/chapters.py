"""The chapters of an anthology as thematic queries: the anthologist judged which pieces a theme has.

The relevance is closed: a piece stands in one chapter and is relevant to no other, so a set is measured on its own
anthology alone. Every piece of a chapter has grade 1.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from verseir.arabic import normalise, normalise_aligned
from verseir.corpora.anthology import DIVISIONS, Anthology, Chapter
from verseir.faults import UserError
from verseir.tables import QRELS, QUERIES

_UNITS = (
    "الأول الأولى الثاني الثانية الثالث الثالثة الرابع الرابعة الخامس الخامسة السادس السادسة السابع السابعة"
    " الثامن الثامنة التاسع التاسعة العاشر العاشرة الحادي الحادية عشر عشرة"
)
_TENS = "عشرون ثلاثون أربعون خمسون ستون سبعون ثمانون تسعون عشرين ثلاثين أربعين خمسين ستين سبعين ثمانين تسعين"
_HUNDREDS = "المائة المئة المائتان المائتين المئتان المئتين"
_SHOWN = 5
_SAID = "قيل جاء ورد يقال ذكر"


def _one_of(words: str) -> str:
    return "|".join(sorted(re.escape(normalise(word, "full")) for word in words.split()))


_ORDINAL = rf"و?(?:{_one_of(_UNITS)}|ال(?:{_one_of(_TENS)})|(?:بعد )?(?:{_one_of(_HUNDREDS)})|\d+)(?!\w)"
_DIVISION = rf"(?:ال)?(?:{_one_of(' '.join(DIVISIONS))})(?!\w)(?: {_ORDINAL})*[ :.،–-]*"
#: What stands before the theme, in the spelling of the preset ``full``: "the first chapter, on what was said".
_BEFORE_THEME = re.compile(rf"(?:{_DIVISION})?(?:(?:ذكر )?(?:في ?)?ما (?:{_one_of(_SAID)})(?!\w) *)?")


@dataclass(frozen=True)
class ChapterQueries:
    """The QUERIES and QRELS of the chapters of an anthology, and what was left out of them."""

    queries: pl.DataFrame
    qrels: pl.DataFrame
    warnings: tuple[str, ...] = ()


def theme(heading: str) -> str | None:
    """The theme that a heading names: "the third chapter, on what was said in patience" -> "in patience".

    None where the heading has a number alone. Marks, hamzas and blanks do not matter; the theme comes as it is spelt.
    """
    heading = " ".join(heading.split())
    folded, sources = normalise_aligned(heading, "full")
    before = _BEFORE_THEME.match(folded)
    end = before.end() if before else 0
    rest = heading[sources[end] :].strip(" .:،-–") if end < len(folded) else ""
    return rest or None


def chapter_queries(name: str, anthology: Anthology, poem_ids: Collection[str]) -> ChapterQueries:
    """The chapters of ``anthology`` as the query set ``name``, over the pieces among ``poem_ids``.

    The queries are numbered through all chapters that have a theme and a piece, ``<name>_001``, whatever was sampled of
    the pieces. Chapters of one theme are one query.

    Raises:
        UserError: no chapter names a theme and has a piece.
    """
    warnings: list[str] = []
    usable = _usable(anthology.chapters, warnings)
    if anthology.n_outside:
        warnings.append(f"{_count(anthology.n_outside, 'piece')} in no chapter, relevant to no query")
    kept, lost = set(poem_ids), 0
    queries, qrels = [], []
    for number, (text, pieces) in enumerate(usable.items(), start=1):
        query_id = f"{name}_{number:03d}"
        there = [poem_id for poem_id in pieces if poem_id in kept]
        lost += len(pieces) - len(there)
        if there:
            queries.append({"query_id": query_id, "query_set": name, "text": text, "register": "thematic"})
            qrels += [{"query_id": query_id, "poem_id": poem_id, "grade": 1} for poem_id in there]
    if lost:
        n_gone = len(usable) - len(queries)
        warnings.append(
            f"{_count(lost, 'piece')} of chapters left out of the corpus by its sample, and with them all pieces of "
            f"{_count(n_gone, 'chapter')}"
        )
    if not queries:
        raise UserError(
            f"query set '{name}': no chapter has both a theme and a piece in the corpus", hint="; ".join(warnings)
        )
    return ChapterQueries(
        pl.DataFrame(queries, schema=dict(QUERIES.columns)).sort("query_id"),
        pl.DataFrame(qrels, schema=dict(QRELS.columns)).sort("query_id", "poem_id"),
        tuple(warnings),
    )


def _usable(chapters: list[Chapter], warnings: list[str]) -> dict[str, list[str]]:
    """Theme -> the pieces of its chapters, in the order of the book."""
    empty = [chapter for chapter in chapters if not chapter.poem_ids]
    held = [chapter for chapter in chapters if chapter.poem_ids]
    nameless = [chapter for chapter in held if theme(chapter.heading) is None]
    found: dict[str, list[str]] = {}
    again = []
    for chapter in held:
        text = theme(chapter.heading)
        if text is not None:
            if text in found:
                again.append(chapter)
            found.setdefault(text, []).extend(chapter.poem_ids)
    for some, why in (
        (empty, "without a piece, left out"),
        (nameless, "whose heading names no theme, left out"),
        (again, "with the theme of another, joined to it"),
    ):
        if some:
            warnings.append(f"{_count(len(some), 'chapter')} {why}: {_places(some)}")
    return found


def _places(chapters: list[Chapter]) -> str:
    shown = ", ".join(f"{chapter.file}:{chapter.line}" for chapter in chapters[:_SHOWN])
    return shown + (f" and {len(chapters) - _SHOWN} more" if len(chapters) > _SHOWN else "")


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
