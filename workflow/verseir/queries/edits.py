"""Edited query sets: the same queries with a half-verse of their target added, or with the quoted words taken out.

An edit changes what a query remembers of its target and nothing else, so an original and its edit are a pair. Which
queries are edited goes by the WORDING table: a query is quoting when it shares a run of at least ``quoting`` tokens
with its target. Rewriting, the third edit, is in ``rewrites``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from verseir.arabic import token_spans, tokenize
from verseir.faults import UserError
from verseir.overlap import longest_shared_run, poem_tokens, targets_of
from verseir.tables import QRELS, QUERIES, define

REJECTS = define(
    "rejects",
    {
        "query_set": pl.String,
        "source_query_id": pl.String,
        "edit": pl.String,
        "text": pl.String,
        "reason": pl.String,
    },
    nullable="text",
    unique="source_query_id reason",
)

#: Which verse of a poem of n verses an added half-verse is taken from.
VERSES = ("opening", "middle", "final")

NO_TARGET = "the original has no target poem"


@dataclass(frozen=True)
class Original:
    """A query to edit: the target that WORDING names, its verses, and the tokens of every target."""

    query_id: str
    text: str
    register: str | None
    poem_id: str
    verses: Sequence[Mapping[str, str | None]]
    targets: tuple[tuple[str, ...], ...]
    cluster: str | None = None


@dataclass(frozen=True)
class Originals:
    """The queries of a set, parted by whether they quote; each list is in the order of the ids."""

    preset: str
    threshold: int
    quoting: list[Original]
    other: list[Original]
    without_target: list[str]
    qrels: pl.DataFrame


@dataclass(frozen=True)
class Reject:
    """An edit that was not made, or not taken: the text it would have had, if any, and why not."""

    source_query_id: str
    text: str | None
    reason: str


@dataclass(frozen=True)
class Edited:
    """An edited query set: QUERIES, QRELS and REJECTS frames, and what there is to say of the queries made."""

    queries: pl.DataFrame
    qrels: pl.DataFrame
    rejects: pl.DataFrame
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        rejected = self.rejects["source_query_id"].n_unique()
        lines = [f"{self.queries.height} queries made, {rejected} rejected"]
        reasons = Counter(self.rejects["reason"])
        lines += [f"rejected, {reason}: {n}" for reason, n in sorted(reasons.items(), key=lambda x: (-x[1], x[0]))]
        return "\n  ".join([*lines, *self.notes])


def part_originals(
    poems: pl.DataFrame,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    wording: pl.DataFrame,
    preset: str,
    threshold: int,
) -> Originals:
    """The queries that can be edited, parted by ``longest_run >= threshold`` in ``wording``.

    Args:
        poems: POEMS of one corpus that the set is searched in; a target is a relevant poem of it.
        queries, qrels: QUERIES and QRELS of the set.
        wording: WORDING of the set for that corpus, made under ``preset``.
        preset: normalisation under which words are compared.
        threshold: tokens in a row that make a query quoting.

    Raises:
        UserError: ``wording`` lacks a query that has a target, or has one twice.
    """
    measured = {row["query_id"]: row for row in wording.to_dicts()}
    if len(measured) < wording.height:
        raise UserError("the wording table has a query twice", hint="give the table of one corpus and one query set")
    targets = targets_of(queries, qrels, poems["poem_id"])
    wanted = sorted({poem_id for poem_ids in targets.values() for poem_id in poem_ids})
    verses_of = dict(poems.filter(pl.col("poem_id").is_in(wanted)).select("poem_id", "verses").iter_rows())
    tokens_of = {poem_id: tuple(poem_tokens(verses, preset)[0]) for poem_id, verses in verses_of.items()}
    found = Originals(preset, threshold, [], [], [], qrels)
    for query in queries.sort("query_id").to_dicts():
        query_id = query["query_id"]
        if query_id not in targets:
            found.without_target.append(query_id)
            continue
        row = measured.get(query_id)
        if row is None or row["poem_id"] not in targets[query_id]:
            raise UserError(
                f"the wording table does not know query '{query_id}' and its target",
                hint="it was made from other queries, judgements or poems: run snakemake again",
            )
        original = Original(
            query_id,
            query["text"],
            query["register"],
            row["poem_id"],
            verses_of[row["poem_id"]],
            tuple(tokens_of[poem_id] for poem_id in targets[query_id]),
            query["cluster"],
        )
        (found.quoting if row["longest_run"] >= threshold else found.other).append(original)
    return found


def append_half_verse(name: str, originals: Originals, verse: str) -> Edited:
    """Add a half-verse of the target to each query that does not quote.

    The half-verse is the first hemistich of the ``opening`` verse, of the ``middle`` one (the one after the first half
    of the verses, ``n // 2`` from 0) or of the ``final`` one; the second hemistich where the first holds no word. In
    a poem of one or two verses two of these are the same: the edit is made all the same and a note counts it.
    """
    if verse not in VERSES:
        raise UserError(f"'{verse}' is not a verse to append from", hint=f"known: {', '.join(VERSES)}")
    made, rejects = {}, [Reject(query_id, None, NO_TARGET) for query_id in originals.without_target]
    n_shared = n_short = 0
    for original in originals.other:
        places = {"opening": 0, "middle": len(original.verses) // 2, "final": len(original.verses) - 1}
        half = _hemistich(original.verses[places[verse]], originals.preset) if original.verses else None
        if half is None:
            rejects.append(Reject(original.query_id, None, f"the {verse} verse of the target holds no word"))
            continue
        made[original.query_id] = (f"{original.text} {half}", half)
        n_shared += list(places.values()).count(places[verse]) > 1
        n_short += len(tokenize(half, originals.preset)) < originals.threshold
    notes = []
    if n_shared:
        notes.append(f"of them from a poem so short that the {verse} verse is another of the three as well: {n_shared}")
    if n_short:
        notes.append(f"of them with a half-verse of fewer than {originals.threshold} words: {n_short}")
    return edited_set(name, f"append-{verse}", originals, originals.other, made, rejects, notes)


def delete_quoted(name: str, originals: Originals) -> Edited:
    """Take the quoted words out of each quoting query, until no run of the threshold's length is left."""
    made, rejects = {}, [Reject(query_id, None, NO_TARGET) for query_id in originals.without_target]
    for original in originals.quoting:
        text, removed = without_quotation(original, originals.preset, originals.threshold)
        if tokenize(text, originals.preset):
            made[original.query_id] = (text, " … ".join(removed))
        else:
            rejects.append(Reject(original.query_id, None, "nothing remains without the quoted words"))
    return edited_set(name, "delete-quoted", originals, originals.quoting, made, rejects)


def without_quotation(original: Original, preset: str, threshold: int) -> tuple[str, list[str]]:
    """The text of a quoting query without its runs of ``threshold`` tokens or more, and these runs as written.

    The longest run with any target goes first. What then stands together may form a run again, so it is looked for
    anew each time.

    Raises:
        UserError: there is no such run, so the table that calls the query quoting was made under other rules.
    """
    text, removed = original.text, []
    while True:
        spans = token_spans(text, preset)
        words = [word for word, _, _ in spans]
        run = max((longest_shared_run(words, target) for target in original.targets), key=lambda run: run.length)
        if run.length < threshold:
            break
        start = spans[run.query_start][1]
        end = max(end for _, _, end in spans[run.query_start : run.query_start + run.length])
        removed.append(text[start:end])
        text = f"{text[:start]} {text[end:]}"
    if not removed:
        raise UserError(
            f"query '{original.query_id}' is called quoting, but shares no {threshold} tokens in a row with its target",
            hint="the wording table was made under another preset or from other poems: run snakemake again",
        )
    return _tidy(text), removed


def edited_set(
    name: str,
    edit: str,
    originals: Originals,
    sources: Sequence[Original],
    made: Mapping[str, tuple[str, str | None]],
    rejects: Iterable[Reject],
    notes: Iterable[str] = (),
) -> Edited:
    """The frames of an edited set.

    Args:
        name: of the edited set.
        edit: the rule, for the column ``edit`` and the new ids ``<source_query_id>~<edit>``.
        originals: the set that was edited; grades are copied from its judgements.
        sources: those of it that the rule is for.
        made: (new text, span) by the id of the original; the span is what was added or removed.
        rejects: what was not made or not taken.
        notes: what there is to say of those made.
    """
    rows = [
        {
            "query_id": f"{source.query_id}~{edit}",
            "query_set": name,
            "text": made[source.query_id][0],
            "register": source.register,
            "source_query_id": source.query_id,
            "edit": edit,
            "span": made[source.query_id][1],
            "cluster": source.cluster,
        }
        for source in sources
        if source.query_id in made
    ]
    queries = pl.DataFrame(rows, schema=dict(QUERIES.columns)).sort("query_id")
    qrels = (
        originals.qrels.filter(pl.col("query_id").is_in(list(made)))
        .with_columns(query_id=pl.col("query_id") + f"~{edit}")
        .select(list(QRELS.columns))
        .sort("query_id", "poem_id")
    )
    rejected = [
        {
            "query_set": name,
            "source_query_id": reject.source_query_id,
            "edit": edit,
            "text": reject.text or None,
            "reason": reject.reason,
        }
        for reject in rejects
    ]
    table = pl.DataFrame(rejected, schema=dict(REJECTS.columns)).unique().sort("source_query_id", "reason")
    return Edited(queries, qrels, table, tuple(notes))


def _hemistich(verse: Mapping[str, str | None], preset: str) -> str | None:
    """The first hemistich of a verse that holds a word."""
    halves = (verse["first"], verse["second"])
    return next((half.strip() for half in halves if half and tokenize(half, preset)), None)


_PAIRS = {"«": "»", "“": "”", "‹": "›", "(": ")", "[": "]", "{": "}", "﴿": "﴾"}
_EMPTY_PAIR = re.compile("|".join(rf"\{left}\s*\{right}" for left, right in [*_PAIRS.items(), ('"', '"')]))
_SPACE_BEFORE_MARK = re.compile(r"\s+(?=[،,؛;:.!؟?])")
#: A comma or colon whose phrase has gone gives way to the mark after it.
_LEFT_OVER = re.compile(r"[،,؛;:]+(?=[،,؛;:.!؟?])")
_AT_START = re.compile(r"^[\s،,؛;:.!؟?…/|–—-]+")
_AT_END = re.compile(r"[\s،,؛;:/|–—-]+$")


def _tidy(text: str) -> str:
    """``text`` without the spaces and punctuation marks that a cut leaves over. Its words stay as they are."""
    text = _without_unpaired(text)
    before = ""
    while before != text:
        before = text
        text = _EMPTY_PAIR.sub(" ", text)
    text = " ".join(text.split())
    text = _LEFT_OVER.sub("", _SPACE_BEFORE_MARK.sub("", text))
    return _AT_END.sub("", _AT_START.sub("", text))


def _without_unpaired(text: str) -> str:
    """``text`` with a space in place of each bracket whose partner was cut away."""
    chars = list(text)
    opened: list[int] = []
    for place, char in enumerate(chars):
        if char in _PAIRS:
            opened.append(place)
        elif char in _PAIRS.values():
            if opened and _PAIRS[chars[opened[-1]]] == char:
                opened.pop()
            else:
                chars[place] = " "
    for place in opened:
        chars[place] = " "
    if chars.count('"') % 2:
        chars = [" " if char == '"' else char for char in chars]
    return "".join(chars)
