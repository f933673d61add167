"""Known-item queries drawn from the poems themselves, for a corpus that has no queries of its own.

They are synthetic, and marked so in ``edit``: they tell whether a system finds a poem by words that it holds, not what
readers ask. Of each poem that is drawn one query of each kind, all from one place in it:

* ``probe:quote``, register ``quoting``: a hemistich, or a verse that is not halved, as it stands;
* ``probe:half-remembered``, register ``half-remembered``: two thirds of the words of its verse, in another order;
* ``probe:variant``, register ``half-remembered``: the hemistich as memory or another manuscript has it (``slips``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from verseir.arabic import join_hemistichs, tokenize
from verseir.faults import UserError
from verseir.formats import count, listing
from verseir.slips import Dice, is_unparted, joined, pieces, variant
from verseir.tables import QRELS, QUERIES

#: The kinds, with the register of each.
KINDS = {"quote": "quoting", "half-remembered": "half-remembered", "variant": "half-remembered"}
#: A shorter hemistich (a word or two) names no poem; in scripts without blanks it has this many characters.
_LEAST_WORDS, _LEAST_CHARACTERS = 3, 4
#: A shorter verse leaves nothing to put in another order: words of the next are taken with it.
_LEAST_PASSAGE = 6
#: Why a poem is passed over.
TOO_SHORT = f"too short (a line of {_LEAST_WORDS} words, and {_LEAST_PASSAGE} words in all, are needed)"
NOT_ITS_OWN = "without a line that stands in no other poem"
NO_VARIANT = "without a line that could be remembered otherwise"

#: A verse as POEMS has it.
Verse = Mapping[str, str | None]


class Probes(NamedTuple):
    """A QUERIES and a QRELS frame, and how many poems were passed over, by why."""

    queries: pl.DataFrame
    qrels: pl.DataFrame
    passed: dict[str, int]

    def told(self) -> str:
        """How many queries there are, and which poems were passed over, in words."""
        kinds = listing(
            [f"{n} {kind.removeprefix('probe:')}" for kind, n in sorted(Counter(self.queries["edit"]).items())]
        )
        text = f"{count(len(self.queries), 'probe')} of {count(self.qrels['poem_id'].n_unique(), 'poem')} ({kinds})"
        return text + (f"; {passed_over(self.passed)}" if self.passed else "; no poem was passed over")


def passed_over(passed: Mapping[str, int]) -> str:
    """``12 poems were passed over: 8 too short ..., 4 without a line that stands in no other poem``."""
    n = sum(passed.values())
    reasons = ", ".join(f"{passed[why]} {why}" for why in sorted(passed))
    return f"{count(n, 'poem')} {'was' if n == 1 else 'were'} passed over: {reasons}"


def known_item_probes(
    poems: pl.DataFrame, n: int, seed: int, query_set: str = "probe", kinds: Sequence[str] = tuple(KINDS)
) -> Probes:
    """Draw ``n`` poems and a query of each of ``kinds`` from each; the poem is the one relevant answer to all.

    A poem is passed over when it is too short, or when each of its hemistichs stands in another poem too (compared
    under ``full``). The draw depends on ``seed`` and each id alone: not on the order of ``poems``, and hardly on which
    others there are.

    Args:
        poems: a POEMS frame.
        n: poems to draw.
        seed: of the draw.
        query_set: value of the column ``query_set``.
        kinds: of ``KINDS``.

    Returns:
        The queries and their judgements in the order of ``query_id``.

    Raises:
        UserError: when fewer than ``n`` poems will do.
    """
    verses_of = dict(poems.select("poem_id", "verses").iter_rows())
    poems_with = _poems_with(verses_of)
    dice = Dice(seed)
    rows: list[dict[str, Any]] = []
    passed: Counter[str] = Counter()
    drawn: list[str] = []
    for poem_id in sorted(verses_of, key=lambda poem_id: dice.rank("poem", poem_id)):
        if len(drawn) == n:
            break
        found = _draw(poem_id, verses_of[poem_id], poems_with, dice, kinds)
        if isinstance(found, str):
            passed[found] += 1
            continue
        drawn.append(poem_id)
        source = f"{poem_id}.quote" if "quote" in found else None
        rows += [
            _query(f"{poem_id}.{kind}", query_set, text, kind, source if kind != "quote" else None)
            for kind, text in found.items()
        ]
    if len(drawn) < n:
        raise UserError(
            f"only {len(drawn)} of {len(verses_of)} poems have a line of their own to ask for; {n} were wanted"
            + (f"; {passed_over(passed)}" if passed else ""),
            hint=f"set the probe's n to {len(drawn)} or less"
            if drawn
            else "no probe can be drawn from this corpus: give queries of its own (`path`)",
        )
    queries = pl.DataFrame(rows, schema=dict(QUERIES.columns)).sort("query_id")
    gold = [{"query_id": f"{poem_id}.{kind}", "poem_id": poem_id, "grade": 1} for poem_id in drawn for kind in kinds]
    return Probes(queries, pl.DataFrame(gold, schema=dict(QRELS.columns)).sort("query_id"), dict(passed))


def _poems_with(verses_of: Mapping[str, Sequence[Verse]]) -> dict[str, set[str]]:
    """The poems that each hemistich stands in."""
    found: dict[str, set[str]] = defaultdict(set)
    for poem_id, verses in verses_of.items():
        for verse in verses:
            for hemistich in (verse["first"], verse["second"]):
                if hemistich:
                    found[_key(hemistich)].add(poem_id)
    return found


def _draw(
    poem_id: str, verses: Sequence[Verse], poems_with: Mapping[str, set[str]], dice: Dice, kinds: Sequence[str]
) -> dict[str, str] | str:
    """A text of each kind from one place of the poem, or why there is none."""
    own = dice.named(poem_id)
    why = TOO_SHORT
    for _, index, hemistich in sorted(_hemistichs(verses, own)):
        passage = _passage(verses, index)
        if len(passage) < _LEAST_PASSAGE:
            continue
        if len(poems_with[_key(hemistich)]) > 1:
            why = NOT_ITS_OWN
            continue
        texts = {"quote": hemistich, "half-remembered": joined(_scrambled(passage, own))}
        if "variant" in kinds:
            others = [word for at, verse in enumerate(verses) if at != index for word in pieces(_whole(verse))]
            changed = variant(pieces(hemistich), others, own.named("variant", str(index)))
            if changed is None or poems_with.get(_key(changed)):
                why = NO_VARIANT
                continue
            texts["variant"] = changed
        return {kind: texts[kind] for kind in kinds}
    return why


def _hemistichs(verses: Sequence[Verse], dice: Dice) -> Iterator[tuple[bytes, int, str]]:
    """Each hemistich that is long enough to name a poem: its place in a random order, its verse and its text."""
    for index, verse in enumerate(verses):
        for half in ("first", "second"):
            text = verse[half]
            words = pieces(text) if text else []
            if text and len(words) >= (_LEAST_CHARACTERS if is_unparted(words) else _LEAST_WORDS):
                yield dice.rank("hemistich", str(index), half), index, text


def _passage(verses: Sequence[Verse], index: int) -> list[str]:
    """The words of a verse, with those of the verses after it, or before it, where it is too short."""
    words = pieces(_whole(verses[index]), "light")
    for near in [*verses[index + 1 :], *reversed(verses[:index])]:
        if len(words) >= _LEAST_PASSAGE:
            break
        words += pieces(_whole(near), "light")
    return words


def _whole(verse: Verse) -> str:
    return join_hemistichs(verse["first"] or "", verse["second"])


def _scrambled(words: list[str], dice: Dice) -> list[str]:
    """Two thirds of ``words``, never in the order in which they stood."""
    by_drop = sorted(range(len(words)), key=lambda i: dice.rank("drop", str(i)))
    kept = sorted(by_drop[round(len(words) / 3) :])
    order = sorted(kept, key=lambda i: dice.rank("order", str(i)))
    if order == kept:
        order.reverse()
    return [words[i] for i in order]


def _key(hemistich: str) -> str:
    return " ".join(tokenize(hemistich))


def _query(query_id: str, query_set: str, text: str, kind: str, source_query_id: str | None) -> dict[str, str | None]:
    return {
        "query_id": query_id,
        "query_set": query_set,
        "text": text,
        "register": KINDS[kind],
        "source_query_id": source_query_id,
        "edit": f"probe:{kind}",
        "span": None,
        "cluster": None,
    }
