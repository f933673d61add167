"""A language model as the study describes it: behind an endpoint, or on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from verseir.faults import UserError
from verseir.judging.answers import Answer, Tally
from verseir.judging.endpoint import ChatEndpoint, Settings
from verseir.judging.local_model import LocalModel, LocalSettings


class Model(Protocol):
    """What can be asked, counts how that went, and knows what it cost (None: no prices given)."""

    tally: Tally

    @property
    def name(self) -> str: ...

    @property
    def cost(self) -> float | None: ...

    def ask(self, prompt: str, inputs: Sequence[Mapping[str, str]], schema: Mapping[str, Any]) -> list[Answer]: ...


def model_of(spec: Mapping[str, Any]) -> ChatEndpoint | LocalModel:
    """The model that ``spec`` describes: ``endpoint`` with its ``Settings``, or ``model`` with its ``LocalSettings``.

    Other keys of ``spec`` are passed over. Nothing is loaded or asked yet.

    Raises:
        UserError: both or none is given, or a setting is unsound.
    """
    given = [name for name in ("endpoint", "model") if spec.get(name)]
    if len(given) != 1:
        found = "both `endpoint` and `model` are" if given else "neither `endpoint` nor `model` is"
        raise UserError(f"{found} given", hint="give one: a chat endpoint, or a model on this machine")
    if given == ["endpoint"]:
        return ChatEndpoint(Settings(**spec["endpoint"]))
    return LocalModel(LocalSettings(**spec["model"]))
