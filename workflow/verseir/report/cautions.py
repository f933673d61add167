"""What to know before a number is believed: cut texts, ties, judgements that are not there, copies, few queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from verseir.formats import count, listing, number, percent
from verseir.report import sections
from verseir.report.few import ENOUGH

#: From here on it is said how far ties could move a mean.
NOTABLE_SPAN = 0.01


class Caution(NamedTuple):
    """One kind of warning: where the page says more, and whether there is anything to be careful of."""

    about: str
    section: str
    serious: bool
    sentences: list[str]


def cautions(
    tables: Mapping[str, pl.DataFrame],
    measures: Mapping[str, str],
    audits: Sequence[Mapping[str, Any]],
    few: Sequence[str] | None,
    failed: Sequence[str],
    places: Sequence[Mapping[str, Any]] | None,
) -> list[Caution]:
    """All kinds, in a fixed order; a kind that gives no cause for care says so.

    Args:
        tables: TIES and ENCODING, by name.
        measures: the main measure of each query set.
        audits: of the corpora.
        few: query sets with few independent queries, in sentences; None where they were not counted.
        failed: checks that encoders did not pass, in sentences.
        places: what the examples tell of each thematic query set, see ``report.examples``; None without examples.
    """
    found = [
        _encoders(tables["encoding"], failed),
        _ties(tables["ties"], measures),
        _unjudged(places),
        _duplicates(audits),
        _few(few),
    ]
    return [one for one in found if one is not None]


def _encoders(encoding: pl.DataFrame, failed: Sequence[str]) -> Caution:
    said = sections.encoding_sentence(encoding)
    clean = said.startswith("No encoder")
    sentences = [said, *([f"Checks that were not passed: {' '.join(failed)}"] if failed else [])]
    return Caution("Cut texts", "encoders", not clean or bool(failed), sentences)


def _ties(ties: pl.DataFrame, measures: Mapping[str, str]) -> Caution | None:
    own = [row for row in ties.iter_rows(named=True) if row["measure"] == measures.get(row["query_set"])]
    spans = [(row["highest"] - row["lowest"], row) for row in own if row["highest"] is not None]
    wide = [(span, row) for span, row in spans if span >= NOTABLE_SPAN]
    if not spans:
        return None
    if not wide:
        told = f"No order of tied texts would move the main measure of a ranked list by {NOTABLE_SPAN:g}."
        return Caution("Ties", "ties", False, [told])
    _, row = max(wide, key=lambda item: (item[0], item[1]["system"], item[1]["query_set"], item[1]["mode"]))
    told = (
        f"In {len(wide)} of {count(len(spans), 'ranked list')} another order of tied texts would move the main measure "
        f"by {NOTABLE_SPAN:g} or more; the most in {row['system']} on {row['query_set']}, mode {row['mode']}, "
        f"where {row['measure']} is anything from {number(row['lowest'])} to {number(row['highest'])}."
    )
    return Caution("Ties", "ties", True, [told])


def _unjudged(places: Sequence[Mapping[str, Any]] | None) -> Caution | None:
    if places is None:
        return None
    judged = [place for place in places if place["unjudged"]]
    told = []
    for place in judged:
        low, high = place["unjudged"]
        share = percent(low) if low == high else f"{percent(low)} to {percent(high)}, by system,"
        if high > 0:
            told.append(
                f"{place['set']} on {place['corpus']}: {share} of the first results in mode {place['mode']} are in no "
                "judgement. They count as not relevant, whatever they are."
            )
    if told:
        return Caution("Unjudged results", "explorer", True, told)
    if judged:
        return Caution("Unjudged results", "explorer", False, ["All of the first results for themes are judged."])
    told = ["Only poems that were meant count as found: whether another does as well is not known from the queries."]
    return Caution("Unjudged results", "explorer", False, told)


def _duplicates(audits: Iterable[Mapping[str, Any]]) -> Caution:
    some = [audit for audit in audits if audit.get("n_duplicates")]
    each = [f"{audit['n_duplicates']:,} of {audit['n_poems']:,} in {audit['corpus']}" for audit in some]
    told = [
        f"Texts that repeat another: {listing(each)}. Found in place of the text that was meant, a copy counts as a "
        "miss, unless it is relevant itself."
    ] * bool(some)
    warned = [audit["corpus"] for audit in audits if audit.get("warnings")]
    if warned:
        told.append(f"What was odd in the texts of {listing(warned)} is listed there.")
    clean = ["No text of a corpus repeats another."]
    return Caution("Duplicates", "corpora", bool(told), told or clean)


def _few(few: Sequence[str] | None) -> Caution | None:
    if few is None:
        return None
    clean = [f"No query set rests on fewer than {ENOUGH} independent queries."]
    return Caution("Few queries", "contrasts", bool(few), list(few) or clean)
