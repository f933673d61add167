"""Which poems of a corpus an indexing mode keeps: those with certain values of certain attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from verseir.faults import UserError, closest

#: Columns of POEMS that a mode may go by; an attribute of the corpus that has the name of one comes before it.
COLUMNS = ("era", "meter", "genre", "poet", "language")

#: Attribute -> the values of which a kept poem has one. It must for every attribute.
Keep = Mapping[str, Sequence[str]]
#: Mode -> its ``Keep``; a mode that indexes all poems is not named.
Keeps = Mapping[str, Keep]


def same_poems(keeps: Keeps, a: str, b: str) -> bool:
    """Whether two modes keep the same poems, by what they ask for: only then have queries the same answers in both."""
    first, second = ({name: set(values) for name, values in keeps.get(mode, {}).items()} for mode in (a, b))
    return first == second


def kept_poems(poems: pl.DataFrame, attributes: pl.DataFrame | None, keep: Keep) -> pl.DataFrame:
    """The rows of ``poems`` (POEMS) that ``keep`` lets through, in their order; all where it names nothing.

    ``attributes`` is the ATTRIBUTES frame of the corpus. A poem without a value is not kept. Idempotent.
    """
    for name in keep:
        value_of = poem_values(poems, attributes, name)
        wanted = set(keep[name])
        poems = poems.filter(pl.Series([value_of.get(poem) in wanted for poem in poems["poem_id"]], dtype=pl.Boolean))
    return poems


def require_kept(poems: pl.DataFrame, attributes: pl.DataFrame | None, keep: Keep) -> pl.DataFrame:
    """As ``kept_poems``, of a ``keep`` that fits the corpus.

    Raises:
        UserError: an attribute or value that no poem has, or no poem that has all that is asked.
    """
    if problems := keep_problems(poems, attributes, keep):
        raise UserError("; ".join(problem for _, problem, _ in problems), "; ".join(hint for _, _, hint in problems))
    return kept_poems(poems, attributes, keep)


def keep_problems(poems: pl.DataFrame, attributes: pl.DataFrame | None, keep: Keep) -> list[tuple[str, str, str]]:
    """(attribute, what is wrong, hint) for all of ``keep`` that does not fit a corpus; empty where it does."""
    found = []
    for name in sorted(keep):
        values = {value for value in poem_values(poems, attributes, name).values() if value is not None}
        if not values:
            known = {column for column in COLUMNS if poems[column].null_count() < len(poems)}
            known |= set(attributes["attribute"] if attributes is not None else ())
            found.append((name, f"no poem has the attribute '{name}'", closest(name, known)))
            continue
        for value in sorted(set(keep[name]) - values):
            found.append((name, f"no poem has the value '{value}' of '{name}'", closest(value, values)))
    if not found and kept_poems(poems, attributes, keep).is_empty():
        asked = " and ".join(f"{name} {' or '.join(keep[name])}" for name in sorted(keep))
        found.append(("", f"no poem is kept: none has {asked}", "ask for fewer attributes, or for more values"))
    return found


def poem_values(poems: pl.DataFrame, attributes: pl.DataFrame | None, name: str) -> dict[str, str | None]:
    """The value of an attribute of each poem of ``poems`` (POEMS); a poem without one is not there, or has None.

    ``name`` is an attribute of the corpus (``attributes``, its ATTRIBUTES frame), or else one of ``COLUMNS``.
    """
    if attributes is not None:
        own = attributes.filter(pl.col("attribute") == name).select("poem_id", "value")
        if len(own):
            there = set(poems["poem_id"])
            return {poem: value for poem, value in own.iter_rows() if poem in there}
    return dict(poems.select("poem_id", name).iter_rows()) if name in COLUMNS else {}
