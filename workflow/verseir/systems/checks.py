"""Self-checks of a loaded encoder: run before its first encode, so that no study rests on meaningless vectors."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from verseir.faults import UserError
from verseir.systems.encoder import Encoder, TokenCounts
from verseir.systems.identity import ROLES, Role
from verseir.systems.late_chunking import SpanCounts
from verseir.systems.readings import Reading

#: The least cosine between a text encoded alone and in a batch. Padding and pooling faults fall far below it.
LEAST_COSINE = 0.999
#: Rates above which a reader should be warned.
MUCH = 0.05

#: Texts of different lengths and scripts, for when a caller has none of their own.
SAMPLES = (
    "الليل طويل",
    "وقفت على الأطلال أسأل عن أهلها فلم يجبني غير الريح",
    "a short line",
    "One line of verse that is longer.",
)


@dataclass(frozen=True)
class Check:
    """One check. A hard one that fails makes vectors meaningless; a soft one warns."""

    name: str
    ok: bool
    observed: str
    hint: str = ""
    hard: bool = True


def self_check(encoder: Encoder, sample_texts: list[str]) -> list[Check]:
    """All checks of ``encoder`` on some texts of the study, in a fixed order.

    Args:
        encoder: loaded, see ``load_encoder``.
        sample_texts: a few texts as they stand in the corpus and the queries; some built-in ones are added.
    """
    texts = [text for text in dict.fromkeys([*sample_texts, *SAMPLES]) if text.strip()]
    vectors = {role: encoder.encode(texts, role) for role in ROLES}
    return [
        _weights(encoder),
        _dimension(encoder, vectors["document"]),
        _norm(encoder, vectors["document"]),
        _batched(encoder, texts, vectors["document"]),
        _distinct(encoder, texts, vectors["document"]),
        *(_prompt(encoder, texts, role) for role in ROLES),
        _roles(encoder, vectors),
        *_settings(encoder),
    ]


def require_sound(encoder: Encoder, sample_texts: list[str]) -> list[Check]:
    """The checks of ``self_check``.

    Raises:
        UserError: a hard check fails; the message lists all that do.
    """
    return required(encoder, self_check(encoder, sample_texts))


def require_view(encoder: Encoder, view: str, readings: Sequence[Reading]) -> list[Check]:
    """The checks of ``view_checks``.

    Raises:
        UserError: one of them fails, or the encoder cannot pool what the view asks for.
    """
    return required(encoder, view_checks(encoder, view, readings))


def required(encoder: Encoder, checks: list[Check]) -> list[Check]:
    """``checks``, if all hard ones among them hold.

    Raises:
        UserError: one does not; the message lists all that do not.
    """
    failed = [check for check in checks if check.hard and not check.ok]
    if failed:
        lines = "".join(f"\n  - {check.name}: {check.observed}" for check in failed)
        hints = "; ".join(dict.fromkeys(check.hint for check in failed if check.hint))
        raise UserError(f"the encoder '{encoder.name}' fails its self-checks:{lines}", hint=hints)
    return checks


def view_checks(encoder: Encoder, view: str, readings: Sequence[Reading]) -> list[Check]:
    """Checks of a view of queries (see ``QueryEncoding``), on a few of its readings: a batch leaves a vector as it is.

    Raises:
        UserError: the encoder cannot pool what the view asks for.
    """
    together = encoder.encode(readings, "query")
    alone = np.concatenate([encoder.encode([reading], "query") for reading in readings])
    least = float(_cosines(alone, together).min())
    observed = f"least cosine of a query alone to itself in a batch: {least:.6f}"
    hint = "check `padding_side` and `attention`"
    return [Check(f"batched = single, {view}", least > LEAST_COSINE, observed, hint)]


def span_checks(counts: SpanCounts, view: str) -> list[Check]:
    """A soft check of how many queries of a view of spans were pooled whole, from the ``counts`` of all of them."""
    observed = f"{counts.not_found} of {counts.n} queries do not hold their span, {counts.cut} are cut before it"
    hint = "these queries are pooled whole: correct their spans, or raise `max_length`"
    return [Check(f"spans pooled, {view}", counts.not_found + counts.cut == 0, observed, hint, hard=False)]


def _weights(encoder: Encoder) -> Check:
    faults = "; ".join(encoder.load_faults)
    hint = "the files of the model are not complete, or are of another architecture than its configuration says"
    return Check("weights", not faults, faults or "all weights come from the files", hint)


def _dimension(encoder: Encoder, vectors: np.ndarray) -> Check:
    observed = f"{vectors.shape[1]} (the registry promises {encoder.dimension})"
    hint = "correct `dimension`, or the model's pooling and head"
    return Check("dimension", vectors.shape[1] == encoder.dimension, observed, hint)


def _norm(encoder: Encoder, vectors: np.ndarray) -> Check:
    norms = np.linalg.norm(vectors, axis=1)
    observed = f"norms from {norms.min():.4f} to {norms.max():.4f}"
    unit = bool(np.abs(norms - 1).max() < 1e-3)
    sound = unit if encoder.identity.entry["normalise"] else bool(norms.min() > 0)
    return Check("norm", sound, observed, "the encoder gives zero vectors")


def _batched(encoder: Encoder, texts: list[str], vectors: np.ndarray) -> Check:
    alone = np.concatenate([encoder.encode([text], "document") for text in texts])
    least = float(_cosines(alone, vectors).min())
    observed = f"least cosine of a text alone to itself in a batch: {least:.6f}"
    return Check("batched = single", least > LEAST_COSINE, observed, "check `padding_side` and `pooling`")


def _distinct(encoder: Encoder, texts: list[str], vectors: np.ndarray) -> Check:
    prepared = encoder.prepare(texts, "document")
    # A short text differs from a longer one that starts with it only in what may be cut: compare with the first alone.
    others = [row for row in range(len(texts)) if encoder.seen(prepared[row]) != encoder.seen(prepared[0])]
    most = float(_cosines(vectors[others], vectors[:1]).max()) if others else 0.0
    observed = f"highest cosine of two different texts: {most:.6f}"
    return Check("texts differ", most < 1 - 1e-6, observed, "all texts have one vector")


def _prompt(encoder: Encoder, texts: list[str], role: Role) -> Check:
    """The prompt is in what the encoder sees, and something of the text follows it."""
    name = f"prompt of the {role}"
    prompt = encoder.identity.entry["prompts"][role]
    if not prompt.strip():
        return Check(name, True, "none")
    expected = _bare(prompt)
    for text, prepared in zip(texts, encoder.prepare(texts, role), strict=True):
        seen = _bare(encoder.seen(prepared))
        if not seen.startswith(expected):
            hint = "raise `max_length`, or choose a prompt that the tokenizer knows"
            return Check(name, False, f"the encoder sees '{encoder.seen(prepared)[:80]}', not '{prompt}...'", hint)
        if seen == expected and _bare(text):
            return Check(name, False, "nothing of the text is left after the prompt", "raise `max_length`")
    return Check(name, True, f"seen: '{prompt}'")


def _roles(encoder: Encoder, vectors: dict[Role, np.ndarray]) -> Check:
    """A text as a query and as a document: different where prompts or adapters differ, else the same."""
    entry = encoder.identity.entry
    tasks = entry.get("tasks", {})
    differ = entry["prompts"]["query"] != entry["prompts"]["document"] or tasks.get("query") != tasks.get("document")
    least = float(_cosines(vectors["query"], vectors["document"]).min())
    observed = f"least cosine of a text as query and as document: {least:.6f}"
    if differ:
        return Check("roles differ", least < 1 - 1e-6, observed, "prompts or adapters have no effect")
    return Check("roles agree", least > LEAST_COSINE, observed, "one role is treated in another way without reason")


def rate_checks(counts: TokenCounts, role: Role) -> list[Check]:
    """Soft checks of how many texts are cut and how many tokens unknown, from the ``counts`` of all texts of a role."""
    truncated, unknown = counts.truncated_share, counts.unknown_token_share
    cut, name = f"{truncated:.1%} of {len(counts.n_tokens)} texts", "queries" if role == "query" else "documents"
    foreign = "the encoder does not know this script"
    return [
        Check(f"{name} cut", truncated <= MUCH, cut, "raise `max_length`", hard=False),
        Check(f"unknown tokens in {name}", unknown <= MUCH, f"{unknown:.1%}", foreign, hard=False),
    ]


def _settings(encoder: Encoder) -> list[Check]:
    hint = "check its entry in the registry"
    return [Check("settings", False, warning, hint, hard=False) for warning in encoder.load_warnings]


def _cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cosine of each row of ``a`` to the same row of ``b``, or to its only one."""
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return (a * b).sum(axis=1) / np.maximum(norms, 1e-12)


def _bare(text: str) -> str:
    """Without case, spaces, marks and width: what survives any tokenizer's own normalisation."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    return re.sub(r"\s+", "", "".join(character for character in folded if not unicodedata.combining(character)))
