"""Ask a language model to score the items of a pool.

It sees the query and the first verses of the poem: no id, title, poet, system or place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from verseir.faults import UserError
from verseir.judging.answers import Answer
from verseir.judging.drawing import drawn
from verseir.judging.judgements import Judged, counts, judgements
from verseir.judging.rubrics import Rubric

if TYPE_CHECKING:
    from verseir.judging.models import Model


def verse_shown(verse: Mapping[str, str | None]) -> str:
    """A verse as a reader sees it: its hemistichs parted by ``...``."""
    return " ... ".join(half.strip() for half in (verse["first"], verse["second"]) if half and half.strip())


def poem_shown(verses: Sequence[Mapping[str, str | None]], n: int) -> str:
    """The first ``n`` verses of a poem, one a line; no title, poet or id."""
    return "\n".join(verse_shown(verse) for verse in verses[:n])


def judge(
    pool: pl.DataFrame,
    poems: pl.DataFrame,
    queries: pl.DataFrame,
    rubric: Rubric,
    name: str,
    model: Model,
    verses: int = 6,
    n_queries: int | None = None,
    seed: int = 0,
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Have a model score every item of a pool, in the order of its places.

    Args:
        pool: POOL.
        poems: POEMS of the corpus.
        queries: QUERIES of the set.
        rubric: what is scored.
        name: of the judge.
        model: who is asked.
        verses: of each poem, from its start, that are shown.
        n_queries: so many queries of the set are judged, drawn by ``seed``; all where it is None.
        seed: of the draw.

    Returns:
        JUDGEMENTS of the items that were asked about, and how they went (see ``judgements.counts``). An item that was
        refused, or whose answer was malformed, has no scores.

    Raises:
        UserError: the pool names a query or a poem that is not there, or the model fails for good.
    """
    text_of = dict(queries.select("query_id", "text").iter_rows())
    shown = {
        poem_id: poem_shown(lines, verses)
        for poem_id, lines in poems.join(pool, on="poem_id", how="semi").select("poem_id", "verses").iter_rows()
    }
    _check_known(pool["query_id"], text_of, "query")
    _check_known(pool["poem_id"], shown, "poem")
    chosen = drawn(text_of, n_queries, seed)
    items = pool.filter(pl.col("query_id").is_in(list(chosen))).sort("place", "item_id")
    keys = [(row[0], row[1], row[2]) for row in items.select("item_id", "query_id", "poem_id").iter_rows()]
    inputs = [{"query": text_of[query_id], "poem": shown[poem_id]} for _, query_id, poem_id in keys]
    answers = model.ask(rubric.prompt, inputs, rubric.schema)
    judged = [_judged(key, answer) for key, answer in zip(keys, answers, strict=True)]
    return judgements(judged, name, rubric.ids), counts(judged, len(pool))


def _judged(key: tuple[str, str, str], answer: Answer) -> Judged:
    if answer.value is None:
        return Judged(*key, answer.status)
    scores = {aspect: int(said["score"]) for aspect, said in answer.value.items()}
    reasons = {aspect: said["justification"] for aspect, said in answer.value.items()}
    return Judged(*key, answer.status, scores, reasons)


def _check_known(named: pl.Series, known: Mapping[str, str], what: str) -> None:
    unknown = sorted(set(named) - set(known))
    if unknown:
        raise UserError(
            f"the pool names {len(unknown)} of {named.n_unique()} {what} ids that are not there, the first is "
            f"'{unknown[0]}'",
            hint="pool, poems and queries must be those of one corpus and query set: run snakemake again",
        )
