"""Have a language model write one explanation for each verse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from verseir.arabic.hemistichs import join_hemistichs
from verseir.arabic.tokens import tokenize
from verseir.judging.answers import Answer
from verseir.judging.drawing import drawn
from verseir.judging.judge import verse_shown
from verseir.judging.judgements import one_line
from verseir.overlap import longest_shared_run
from verseir.rows import first_forbidden
from verseir.tables import EXPLANATIONS, define

if TYPE_CHECKING:
    from verseir.judging.models import Model

#: Verses without an explanation. ``status``: ``refused``, ``malformed`` or ``empty``; ``content``: what came instead.
EXPLANATION_REJECTS = define(
    "explanation_rejects",
    {"poem_id": pl.String, "verse_index": pl.Int32, "status": pl.String, "content": pl.String},
    nullable="content",
    unique="poem_id verse_index",
)
EXPLAINED = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string"}},
}
#: Verses before and after the one to explain that are shown.
CONTEXT = 2
#: An explanation that shares so many words in a row with its verse hands the verse to a lexical system.
LEAK = 3

_LONGEST_CONTENT = 300


@dataclass(frozen=True)
class Explained:
    """EXPLANATIONS and EXPLANATION_REJECTS, how many verses there were, and how many explanations repeat theirs."""

    explanations: pl.DataFrame
    rejects: pl.DataFrame
    n_verses: int
    n_repeating: int

    @property
    def summary(self) -> str:
        """How the verses went."""
        statuses = self.rejects["status"].value_counts().sort("status")
        parts = [f"{self.n_verses} verses, {len(self.explanations)} explained"]
        return ", ".join(parts + [f"{count} {status}" for status, count in statuses.iter_rows()])

    def __str__(self) -> str:
        told = self.summary
        if alike := int(self.explanations["text"].is_duplicated().sum()):
            told += f"\n  warning: {alike} explanations have the text of another: did the model read the verses?"
        if not self.n_repeating:
            return f"{told}\n  no explanation repeats {LEAK} or more words of its verse in a row"
        share = self.n_repeating / len(self.explanations)
        return (
            f"{told}\n  {self.n_repeating} explanations ({share:.1%}) repeat {LEAK} or more words of their "
            "verse in a row: they favour lexical systems in modes with explanations"
        )


def explain(
    poems: pl.DataFrame,
    source: str,
    prompt: str,
    model: Model,
    n_poems: int | None = None,
    seed: int = 0,
    preset: str = "full",
) -> Explained:
    """Ask a model for an explanation of every verse, each shown with the verses around it.

    Args:
        poems: POEMS.
        source: under which the explanations go.
        prompt: the system message.
        model: who is asked; equal verses in equal surroundings need be asked once only.
        n_poems: so many poems are explained, drawn by ``seed``; all where it is None.
        seed: of the draw.
        preset: the normalisation under which words of verse and explanation are compared.

    Returns:
        Explanations in the order of poem_id and verse. A verse whose answer was refused, malformed or empty has none,
        and stands among the rejects.

    Raises:
        UserError: the model fails for good. What it answered until then is kept.
    """
    chosen = drawn(poems["poem_id"], n_poems, seed)
    places, inputs, words = [], [], []
    for poem_id, verses in poems.select("poem_id", "verses").sort("poem_id").iter_rows():
        if poem_id not in chosen:
            continue
        lines = [verse_shown(verse) for verse in verses]
        for index, verse in enumerate(verses):
            before, after = lines[max(0, index - CONTEXT) : index], lines[index + 1 : index + 1 + CONTEXT]
            places.append((poem_id, index))
            inputs.append({"verse": lines[index], "before": "\n".join(before), "after": "\n".join(after)})
            words.append(tokenize(join_hemistichs(verse["first"], verse["second"]), preset))
    answers = model.ask(prompt, inputs, EXPLAINED)
    explanations, rejects, n_repeating = [], [], 0
    for place, own, answer in zip(places, words, answers, strict=True):
        text, status = _read(answer)
        if text is None:
            content = one_line(answer.content)
            rejects.append((*place, status, content and content[:_LONGEST_CONTENT].strip()))
            continue
        explanations.append((*place, source, text))
        n_repeating += longest_shared_run(tokenize(text, preset), own).length >= LEAK
    return Explained(
        pl.DataFrame(explanations, schema=dict(EXPLANATIONS.columns), orient="row"),
        pl.DataFrame(rejects, schema=dict(EXPLANATION_REJECTS.columns), orient="row"),
        len(places),
        n_repeating,
    )


def _read(answer: Answer) -> tuple[str | None, str]:
    """The explanation in an answer, None where there is none; and what became of it."""
    if answer.value is None:
        return None, answer.status
    text = " ".join(answer.value["text"].split())
    if first_forbidden([text]):
        return None, "malformed"
    return (text, "answered") if any(map(str.isalpha, text)) else (None, "empty")
