"""Answers of a language model in JSON: what they may look like, how they are counted, and where they are kept.

A question is a prompt (what the model is told to do) and named texts (data, never instructions). A sound answer is kept
on disk under all that can change it, so a killed run goes on where it stopped, and a changed prompt, parameter or text
asks again. A refusal and a malformed answer are not kept: they are asked again when the step runs again. The step has
succeeded, so Snakemake must be told to (``--forcerun``).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from verseir.atomic import write_text
from verseir.judging.said import INVISIBLE, LONGEST_PAGE, shown

#: Prices are for so many tokens.
PER = 1_000_000

_BLANKS = rf"[\s{INVISIBLE}]*"
#: What begins a tag, or looks like it to a reader or a tokenizer: </poem>, ＜ /poem, <|im_end|>, [INST].
_TAG = re.compile(
    rf"[<＜﹤]{_BLANKS}(?:[/／⁄∕\\]{_BLANKS})*(?=[A-Za-zＡ-Ｚａ-ｚ])|[<＜﹤][{INVISIBLE}]*(?=[|｜])"
    rf"|\[[{INVISIBLE}]*/?[{INVISIBLE}]*(?=[A-Z_]{{3,24}}\])"
)
_UNSEEN = re.compile(f"[{INVISIBLE}]")
#: A reasoning model's thoughts. Its answer comes after them.
_THOUGHTS = ("<think>", "</think>")
#: An answer is searched no further than this: characters, and places where an object may begin.
LONGEST_ANSWER, MOST_STARTS = 200_000, 200
#: Levels of an object; what is nested deeper is no answer, and hard to write.
DEEPEST = 64
#: Tokens that a server may count for one answer.
MOST_TOKENS = 1_000_000_000
#: Half a character, which JSON can spell and no file can hold.
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Answer:
    """What a model said to one question.

    Attributes:
        status: ``answered`` with a ``value`` that follows the schema, ``refused``, or ``malformed``.
        content: the answer as it came.
        prompt_tokens, completion_tokens: as the server, or the tokenizer of a local model, counts them.
        served_by: the model that spoke, as the server names it.

    A key is in none of them.
    """

    status: Literal["answered", "refused", "malformed"]
    value: dict[str, Any] | None = None
    content: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    served_by: str | None = None


@dataclass
class Tally:
    """How the questions to a model went, and their tokens: of those asked now, and of the answers kept from before.

    The totals are those of a run that was never killed: an answer counts once, whenever it was given. Tries that failed
    are not in them, nor are the refused and malformed answers of an earlier run. ``sample`` is the start of a malformed
    answer.
    """

    asked: int = 0
    kept: int = 0
    refused: int = 0
    malformed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    kept_prompt_tokens: int = 0
    kept_completion_tokens: int = 0
    sample: str = ""

    def add(self, answer: Answer) -> None:
        """Count an answer that was given now."""
        self.asked += 1
        self.refused += answer.status == "refused"
        self.malformed += answer.status == "malformed"
        self.prompt_tokens += answer.prompt_tokens
        self.completion_tokens += answer.completion_tokens

    def add_kept(self, answer: Answer) -> None:
        """Count an answer that was given before."""
        self.kept += 1
        self.kept_prompt_tokens += answer.prompt_tokens
        self.kept_completion_tokens += answer.completion_tokens

    @property
    def total_prompt_tokens(self) -> int:
        return self.prompt_tokens + self.kept_prompt_tokens

    @property
    def total_completion_tokens(self) -> int:
        return self.completion_tokens + self.kept_completion_tokens

    def cost(self, prompt_price: float | None, completion_price: float | None) -> float | None:
        """What all tokens cost, in the money of the prices for a million tokens; None without both prices."""
        if prompt_price is None or completion_price is None:
            return None
        return (self.total_prompt_tokens * prompt_price + self.total_completion_tokens * completion_price) / PER

    def __str__(self) -> str:
        return (
            f"{self.asked} questions asked, {self.kept} answers were kept from before, {self.refused} refused, "
            f"{self.malformed} malformed, {self.total_prompt_tokens} + {self.total_completion_tokens} tokens, "
            f"of them {self.kept_prompt_tokens} + {self.kept_completion_tokens} from before"
        )

    def advice(self, rule: str) -> str:
        """Lines on the refused and malformed answers and how to have them asked again; empty where there are none.

        Args:
            rule: that asks; it has succeeded, so Snakemake does not run it again by itself.
        """
        if not self.refused + self.malformed:
            return ""
        sample = f"\n  a malformed answer: {self.sample}" if self.sample else ""
        return (
            f"{sample}\n  refused and malformed answers are asked again by: snakemake ... --forcerun {rule} "
            "(at temperature 0 a model may well say the same: see its prompt, max_tokens, or take another)"
        )


@dataclass
class Answers:
    """The answers of one model that are kept in a folder.

    Args:
        folder: one file an answer.
        model: what names the model.
        parameters: those that can change an answer.
    """

    folder: Path
    model: str
    parameters: Mapping[str, Any]
    _counted: set[str] = field(default_factory=set, repr=False)

    def complete(
        self,
        ask: Callable[[Mapping[str, str]], Iterator[tuple[str, Answer]]],
        tally: Tally,
        prompt: str,
        inputs: Sequence[Mapping[str, str]],
        schema: Mapping[str, Any],
    ) -> list[Answer]:
        """The answer to ``prompt`` about each of ``inputs``, in their order: the kept ones, and those of ``ask``.

        Args:
            ask: takes messages by the key of their answer and gives each answer with its key. It keeps the sound ones,
                see ``keep``. It is called once, where there is something to ask; equal inputs are one message.
            tally: counts each answer once, however often it is asked for.
        """
        messages = [blocks(parts) for parts in inputs]
        keys = [self.key(prompt, message, schema) for message in messages]
        found: dict[str, Answer] = {}
        for key in dict.fromkeys(keys):
            answer = self.kept(key, schema)
            if answer is not None:
                found[key] = answer
                if key not in self._counted:
                    tally.add_kept(answer)
        waiting = {key: message for key, message in zip(keys, messages, strict=True) if key not in found}
        if waiting:
            for key, answer in ask(waiting):
                found[key] = answer
                tally.add(answer)
        malformed = (found[key].content for key in keys if found[key].status == "malformed")
        tally.sample = tally.sample or shown(next(malformed, ""), LONGEST_PAGE)
        self._counted.update(key for key, answer in found.items() if answer.status == "answered")
        return [found[key] for key in keys]

    def key(self, prompt: str, message: str, schema: Mapping[str, Any]) -> str:
        """What an answer is kept under: a hash of all that can change it."""
        parts = [self.model, prompt, self.parameters, schema, message]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False, sort_keys=True).encode()).hexdigest()

    def keep(self, key: str, answer: Answer) -> None:
        """Write a sound answer to disk; others are passed over. May be called from several threads."""
        if answer.status != "answered":
            return
        record = {
            "model": self.model,
            "answer": answer.value,
            "served_by": answer.served_by,
            "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": answer.completion_tokens,
        }
        write_text(self._path(key), json.dumps(record, ensure_ascii=False, indent=1) + "\n")

    def kept(self, key: str, schema: Mapping[str, Any]) -> Answer | None:
        """The answer on disk; None when there is none, or it is not whole."""
        try:
            record = json.loads(self._path(key).read_text(encoding="utf-8"))
            value, served_by = record["answer"], record.get("served_by")
            prompt_tokens, completion_tokens = (
                count(record.get(f"{name}_tokens")) for name in ("prompt", "completion")
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        if not follows(value, schema):
            return None
        content = json.dumps(value, ensure_ascii=False)
        return Answer("answered", value, content, prompt_tokens, completion_tokens, served_by)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def count(number: Any) -> int:
    """A number of tokens as a server gives it; 0 where it is no whole number from 0 to 1e9."""
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= MOST_TOKENS:
        return 0
    return int(number) if number == int(number) else 0


def blocks(parts: Mapping[str, str]) -> str:
    """Named texts as one message, each between tags with its name.

    What looks like a tag or a control token of a model inside a text is broken, in spite of invisible characters in it.
    Those elsewhere stay: joiners are part of how a script is written.
    """
    return "\n".join(f"<{name}>\n{_TAG.sub(_broken, text)}\n</{name}>" for name, text in parts.items())


def _broken(begin: re.Match[str]) -> str:
    return ("［" if begin[0].startswith("[") else "‹") + _UNSEEN.sub("", begin[0][1:])


def read_content(content: str, schema: Mapping[str, Any]) -> Answer:
    """An answer from what was said: malformed where no object in it follows the schema."""
    value = last_object(content, schema)
    return Answer("malformed", content=content) if value is None else Answer("answered", value, content)


class _Twice(Exception):
    """An object names a field twice: which value is meant?"""


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise _Twice
    return fields


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


def last_object(content: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The last JSON object in ``content`` that follows the schema; prose, thoughts or a fence may be around it.

    The last, since what precedes an answer may be an example of its form, a draft, or a quotation from the text that
    was to be judged. None where there is none, where an object names a field twice, or where the search would be long.
    """
    content = _without_thoughts(content)
    if len(content) > LONGEST_ANSWER:
        return None
    decoder = json.JSONDecoder(object_pairs_hook=_fields, parse_constant=_no_number)
    found, n_starts, start = None, 0, content.find("{")
    while start >= 0:
        n_starts += 1
        if n_starts > MOST_STARTS:
            return None
        try:
            value, end = decoder.raw_decode(content, start)
        except (RecursionError, _Twice):
            return None
        except ValueError:
            end = start + 1
        else:
            if (
                _shallow(value)
                and follows(value, schema)
                and not _SURROGATE.search(json.dumps(value, ensure_ascii=False))
            ):
                found = value
        start = content.find("{", end)
    return found


def _without_thoughts(content: str) -> str:
    """``content`` without what stands between the tags of thoughts, unless it begins as an answer does."""
    if content.lstrip().startswith("{"):
        return content
    opening, closing = _THOUGHTS
    kept, place = [], 0
    while (start := content.find(opening, place)) >= 0 and (end := content.find(closing, start)) >= 0:
        kept.append(content[place:start])
        place = end + len(closing)
    return "".join([*kept, content[place:]])


def _shallow(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for part in level
            if isinstance(part, dict | list)
            for inner in (part.values() if isinstance(part, dict) else part)
        ]
        if not level:
            return True
    return False


def follows(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a JSON value follows a JSON Schema."""
    import jsonschema

    return jsonschema.Draft202012Validator(schema).is_valid(value)
