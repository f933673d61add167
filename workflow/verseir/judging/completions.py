"""Read what a chat endpoint sends with HTTP 200: a completion of the usual shape, of an odd one, or none at all.

Servers that speak the protocol of OpenAI differ, so nothing is taken for granted: what cannot be read as an answer is
malformed, and what is no completion is one of the errors here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from verseir.judging.answers import Answer, count, follows, read_content
from verseir.judging.said import LONGEST_PAGE, Secret, body_of, words_of

#: Statuses after which the same request may succeed.
PASSING = (408, 409, 425, 429)
#: Codes of a refusal that comes as an error.
FILTERED = ("content_filter", "content_policy_violation")

_PASSES = re.compile(
    r"\brate\b|rate[ _-]?limit|too[ _]many[ _]requests|overloaded|\bunavailable|resource[ _]exhausted", re.IGNORECASE
)


class Torn(Exception):
    """The body begins like an answer and ends too early."""


class NoCompletion(Exception):
    """The body is no chat completion. ``words``: what it says instead."""

    def __init__(self, body: Any):
        self.words = words_of(body)
        super().__init__("no chat completion")


class SaidError(Exception):
    """An error that came with HTTP 200.

    Attributes:
        words: of the server.
        status: the HTTP status that it names, if any.
        passes: whether the same request may succeed a little later.
        filtered: whether it is a refusal.
    """

    def __init__(self, body: Mapping[str, Any]):
        error = body.get("error")
        inner = error if isinstance(error, Mapping) else {}
        named = [part.get(name) for part in (inner, body) for name in ("code", "status", "status_code", "type")]
        statuses = [
            int(code) for code in named if isinstance(code, int | str) and re.fullmatch("[1-5][0-9][0-9]", str(code))
        ]
        self.words = words_of(body)
        self.status = statuses[0] if statuses else None
        told = " ".join([self.words, *(code for code in named if isinstance(code, str))])
        self.passes = status_passes(self.status) or bool(_PASSES.search(told))
        self.filtered = any(code in FILTERED for code in named if isinstance(code, str))
        super().__init__("an error with HTTP 200")


def status_passes(status: int | None) -> bool:
    """Whether a request that got this HTTP status may succeed a little later."""
    return status is not None and (status in PASSING or status >= 500)


def completion_in(content: bytes) -> dict[str, Any]:
    """The completion in a body: an object with a list ``choices``, of which nothing else is sure.

    Raises:
        Torn, NoCompletion, SaidError: it is none.
    """
    body = body_of(content)
    if isinstance(body, str) and (not body.strip() or body.lstrip().startswith("{")):
        raise Torn
    if not isinstance(body, dict):
        raise NoCompletion(body)
    choices = body.get("choices")
    if (body.get("error") and not choices) or body.get("object") == "error":
        raise SaidError(body)
    if not isinstance(choices, list):
        raise NoCompletion(body)
    if choices and isinstance(choices[0], dict) and isinstance(choices[0].get("error"), dict):
        raise SaidError(choices[0])  # a router's way to say that the server behind it failed
    return body


def read_completion(completion: Mapping[str, Any], schema: Mapping[str, Any], secret: Secret) -> Answer:
    """What a completion says, the model that spoke, and the tokens it counted; ``secret`` is nowhere in it.

    An answer that was cut for length is malformed, whatever it holds; an empty one is refused.
    """
    usage, served_by = completion.get("usage"), completion.get("model")
    usage = usage if isinstance(usage, Mapping) else {}
    answer = _read_choices(completion["choices"], schema)
    value = secret.hidden_within(answer.value)
    if value != answer.value:
        answer = replace(answer, value=value) if follows(value, schema) else Answer("malformed", content=answer.content)
    return replace(
        answer,
        content=secret.hidden(answer.content),
        prompt_tokens=count(usage.get("prompt_tokens")),
        completion_tokens=count(usage.get("completion_tokens")),
        served_by=secret.shown(served_by, LONGEST_PAGE) if isinstance(served_by, str) else None,
    )


def _read_choices(choices: list[Any], schema: Mapping[str, Any]) -> Answer:
    if not choices:
        return Answer("refused")
    choice = choices[0] if isinstance(choices[0], Mapping) else {}
    message, finish = choice.get("message"), choice.get("finish_reason")
    if not isinstance(message, Mapping):
        return Answer("refused" if finish == "content_filter" else "malformed", content=_dumped(choices[0]))
    said = message.get("content")
    content, refusal = _text_of(said), message.get("refusal")
    if not isinstance(refusal, str):
        refusal = "".join(_parts(said, "refusal"))
    if refusal or finish == "content_filter":
        return Answer("refused", content=_whole(refusal or content or ""))
    if content is None:
        return Answer("malformed", content=_dumped(said))
    if finish == "length":
        return Answer("malformed", content=_whole(content))
    return read_content(_whole(content), schema) if content.strip() else Answer("refused")


def _text_of(content: Any) -> str | None:
    """The text of a message, whole or in parts; None where it is neither."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = _parts(content, "text")
    return "".join(parts) if parts or content == [] else None


def _parts(content: Any, kind: str) -> list[str]:
    """The texts of those parts of a message that are of a kind; thoughts, pictures and the like are passed over."""
    parts = content if isinstance(content, list) else []
    said = [part.get(kind) for part in parts if isinstance(part, Mapping) and part.get("type") in (None, kind)]
    return [text for text in said if isinstance(text, str)]


def _whole(text: str) -> str:
    """``text`` without half characters, which no file can hold."""
    return text.encode(errors="replace").decode()


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value)
    except RecursionError:
        return ""
