"""Questions to a language model behind an OpenAI-compatible chat endpoint, answered in JSON and kept on disk.

A question is a prompt (what the model is told to do) and named texts (data, never instructions). Its answer must follow
a JSON Schema. A sound answer is kept in the cache folder, so a killed run goes on where it stopped, and a changed
prompt, parameter or text asks again. A refusal and a malformed answer are returned as such, and asked again next time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from verseir.atomic import write_text
from verseir.faults import UserError
from verseir.systems.progress import Progress
from verseir.systems.sources import cache_folder

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletion

#: Used for servers that want no key.
NO_KEY = "none"
#: Statuses after which the same request may succeed.
PASSING = (408, 409, 425, 429)
#: Codes of a refusal that comes as an HTTP error.
FILTERED = ("content_filter", "content_policy_violation")

#: What begins a tag, or looks like it.
_TAG = re.compile(r"<(?=\s*/?\s*[A-Za-z])")
#: Half a character, which JSON can spell and no file can hold.
_SURROGATE = re.compile("[\ud800-\udfff]")
_SECRETS = re.compile(r"(?<=//)[^/@]*@|[?#].*")


@dataclass(frozen=True)
class Settings:
    """An endpoint and how to ask it.

    Args:
        base_url: the API's address, which ends in ``/v1`` as a rule.
        model: its name there.
        key_variable: the environment variable that holds the key; a variable that is not set is no fault, since local
            servers want none.
        temperature, seed, max_tokens: sent as they are; None is not sent.
        timeout: seconds for one answer.
        concurrency: questions asked at once.
        attempts: tries of one question before the run ends.
        backoff: seconds, about, before the second try; doubled each time, to a minute at most.
    """

    base_url: str
    model: str
    key_variable: str = "OPENAI_API_KEY"
    temperature: float | None = 0.0
    seed: int | None = None
    max_tokens: int | None = None
    timeout: float = 60.0
    concurrency: int = 4
    attempts: int = 5
    backoff: float = 1.0

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that can change an answer."""
        named = {"temperature": self.temperature, "seed": self.seed, "max_tokens": self.max_tokens}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Answer:
    """``answered`` with a ``value`` that follows the schema, ``refused``, or ``malformed``; ``content`` as it came."""

    status: Literal["answered", "refused", "malformed"]
    value: dict[str, Any] | None = None
    content: str = ""


@dataclass
class Tally:
    """How the questions to an endpoint went, and the tokens that it counted for those asked now."""

    asked: int = 0
    kept: int = 0
    refused: int = 0
    malformed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __str__(self) -> str:
        return (
            f"{self.asked} questions asked, {self.kept} answers were kept from before, {self.refused} refused, "
            f"{self.malformed} malformed, {self.prompt_tokens} + {self.completion_tokens} tokens"
        )


@dataclass
class ChatEndpoint:
    """A model behind a chat endpoint.

    Args:
        settings: where it is and how to ask.
        folder: of the kept answers; by default ``answers`` in the cache folder.
    """

    settings: Settings
    folder: Path = field(default_factory=lambda: cache_folder() / "answers")
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        address = urlsplit(self.settings.base_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise UserError(
                f"endpoint.base_url: '{self._shown}' is no address of a server",
                hint="such as http://localhost:8000/v1",
            )
        self._key = os.environ.get(self.settings.key_variable, "").strip() or NO_KEY
        if not (self._key.isascii() and self._key.isprintable()):
            raise UserError(
                f"the environment variable {self.settings.key_variable} holds characters that no key has",
                hint="endpoint.key_variable names the variable that holds the key",
            )
        self._takes_schema = True

    def ask(self, prompt: str, inputs: Sequence[Mapping[str, str]], schema: Mapping[str, Any]) -> list[Answer]:
        """The answer to ``prompt`` about each of ``inputs`` (named texts), in their order. Equal inputs are asked once.

        Raises:
            UserError: the endpoint cannot be reached, turns the key or the request down, or fails again and again. What
                was answered until then is kept.
        """
        messages = [blocks(parts) for parts in inputs]
        keys = [self._key_of(prompt, message, schema) for message in messages]
        found = {key: answer for key in dict.fromkeys(keys) if (answer := self._kept(key, schema)) is not None}
        self.tally.kept += len(found)
        waiting = {key: message for key, message in zip(keys, messages, strict=True) if key not in found}
        if waiting:
            for key, answer in self._asked(prompt, waiting, schema):
                found[key] = answer
                self.tally.refused += answer.status == "refused"
                self.tally.malformed += answer.status == "malformed"
        return [found[key] for key in keys]

    def _asked(
        self, prompt: str, waiting: Mapping[str, str], schema: Mapping[str, Any]
    ) -> Iterator[tuple[str, Answer]]:
        """The answers to what is waiting, as they come. Sound ones are on disk as soon as they are there."""
        client = self._client()
        stopped = threading.Event()

        def work(key: str, message: str) -> tuple[Answer, dict[str, Any]]:
            answer, told = self._answer(client, prompt, message, schema, stopped)
            if answer.status == "answered":
                record = {"model": self.settings.model, "answer": answer.value} | told
                write_text(self._path(key), json.dumps(record, ensure_ascii=False, indent=1) + "\n")
            return answer, told

        with (
            Progress(len(waiting), self.settings.model) as progress,
            ThreadPoolExecutor(self.settings.concurrency) as pool,
        ):
            jobs = {pool.submit(work, key, message): key for key, message in waiting.items()}
            try:
                for job in as_completed(jobs):
                    answer, told = job.result()
                    self.tally.asked += 1
                    self.tally.prompt_tokens += told["prompt_tokens"]
                    self.tally.completion_tokens += told["completion_tokens"]
                    progress.add(1)
                    yield jobs[job], answer
            except BaseException:  # an interrupt too: no new questions, and no more tries of those under way
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _client(self) -> openai.OpenAI:
        import openai  # takes about a second

        # Retries are ours: the client's own end in errors that do not say how often it tried.
        return openai.OpenAI(
            base_url=self.settings.base_url, api_key=self._key, timeout=self.settings.timeout, max_retries=0
        )

    def _answer(
        self,
        client: openai.OpenAI,
        prompt: str,
        message: str,
        schema: Mapping[str, Any],
        stopped: threading.Event,
    ) -> tuple[Answer, dict[str, Any]]:
        """One answer, and what the server told of it: the model that spoke, and the tokens it counted."""
        import openai

        try:
            completion = self._completion(client, prompt, message, schema, stopped)
        except openai.APIStatusError as error:
            if error.code in FILTERED:
                return Answer("refused"), {"served_by": None, "prompt_tokens": 0, "completion_tokens": 0}
            raise self._failure(error) from error
        except (openai.APIError, json.JSONDecodeError) as error:
            raise self._failure(error) from error
        usage = completion.usage
        told = {
            "served_by": completion.model,
            "prompt_tokens": (usage and usage.prompt_tokens) or 0,
            "completion_tokens": (usage and usage.completion_tokens) or 0,
        }
        return read_answer(completion, schema), told

    def _completion(
        self,
        client: openai.OpenAI,
        prompt: str,
        message: str,
        schema: Mapping[str, Any],
        stopped: threading.Event,
    ) -> ChatCompletion:
        """Ask with the schema as ``response_format``; without it from the first time that the server declines it."""
        import openai

        messages = [{"role": "system", "content": prompt}, {"role": "user", "content": message}]
        if self._takes_schema:
            described = {"name": "answer", "strict": True, "schema": dict(schema)}
            try:
                response_format = {"type": "json_schema", "json_schema": described}
                return self._request(client, stopped, messages=messages, response_format=response_format)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if error.code in FILTERED:
                    raise
            completion = self._request(client, stopped, messages=messages)
            self._takes_schema = False
            return completion
        return self._request(client, stopped, messages=messages)

    def _request(self, client: openai.OpenAI, stopped: threading.Event, **body: Any) -> ChatCompletion:
        """One completion, tried again after failures that pass."""
        import tenacity
        from openai.types.chat import ChatCompletion

        def request() -> Any:
            return client.chat.completions.create(model=self.settings.model, **self.settings.parameters, **body)

        tries = tenacity.Retrying(
            retry=tenacity.retry_if_exception(passes),
            wait=_Wait(self.settings.backoff),
            stop=tenacity.stop_after_attempt(self.settings.attempts) | tenacity.stop_when_event_set(stopped),
            sleep=tenacity.sleep_using_event(stopped),
            reraise=True,
        )
        completion = tries(request)
        if not isinstance(completion, ChatCompletion) or not isinstance(completion.choices, list):
            raise UserError(
                f"endpoint.base_url: what {self._shown} answered is no chat completion",
                hint="the address of the API ends in /v1 as a rule",
            )
        return completion

    def _failure(self, error: Exception) -> UserError:
        """What a user can do about an error that came back after all tries. Never holds the key."""
        import openai

        kept = "what was answered is kept: run again when it is mended"
        tries = f"({self.settings.attempts} tries)"
        name = f"endpoint.base_url: {self._shown}"
        if isinstance(error, openai.APITimeoutError):
            return UserError(
                f"{name} did not answer in {self.settings.timeout:g} s {tries}", f"endpoint.timeout; {kept}"
            )
        if isinstance(error, json.JSONDecodeError):
            return UserError(f"{name} answers with what is not JSON {tries}", f"see the log of the server; {kept}")
        if not isinstance(error, openai.APIStatusError):
            return UserError(f"{name} cannot be reached {tries}", f"is the server running? {kept}")
        status = error.status_code
        if status in (401, 403):
            hint = f"the key is read from the environment variable {self.settings.key_variable} (endpoint.key_variable)"
            return UserError(f"{name} refuses the key (HTTP {status})", hint)
        said = " ".join(error.message.split())[:300]
        if self._key != NO_KEY:
            said = said.replace(self._key, "***")
        if status == 404:
            hint = f"is endpoint.model '{self.settings.model}' right, and does the address end in /v1?"
            return UserError(f"{name} knows no such page or model (HTTP 404): {said}", hint)
        if passes(error):
            hint = f"wait, or lower endpoint.concurrency; {kept}"
            return UserError(f"{name} fails with HTTP {status} {tries}: {said}", hint)
        return UserError(f"{name} turns the request down (HTTP {status}): {said}", "check the settings of the endpoint")

    @property
    def _shown(self) -> str:
        """The address without user, password or query, which may hold a secret."""
        return _SECRETS.sub("", self.settings.base_url)

    def _key_of(self, prompt: str, message: str, schema: Mapping[str, Any]) -> str:
        parts = [self.settings.model, prompt, self.settings.parameters, schema, message]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False, sort_keys=True).encode()).hexdigest()

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

    def _kept(self, key: str, schema: Mapping[str, Any]) -> Answer | None:
        """The answer on disk; None when there is none, or it is not whole."""
        try:
            value = json.loads(self._path(key).read_text(encoding="utf-8"))["answer"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Answer("answered", value, json.dumps(value, ensure_ascii=False)) if follows(value, schema) else None


class _Wait:
    """Seconds before the next try: as long as the server asks for, else longer each time and never quite the same."""

    def __init__(self, backoff: float):
        from tenacity import wait_exponential_jitter

        self.usual = wait_exponential_jitter(initial=backoff, max=60, jitter=backoff)

    def __call__(self, retry_state: Any) -> float:
        error = retry_state.outcome.exception()
        asked = getattr(getattr(error, "response", None), "headers", {}).get("retry-after", "")
        return min(60.0, float(asked)) if re.fullmatch(r"\d+(\.\d+)?", asked) else self.usual(retry_state)


def passes(error: BaseException) -> bool:
    """Whether the same request may succeed a little later. A body that was cut off is an error of the JSON reader."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return error.status_code in PASSING or error.status_code >= 500
    return isinstance(error, (openai.APIConnectionError, json.JSONDecodeError))


def blocks(parts: Mapping[str, str]) -> str:
    """Named texts as one message, each between tags with its name; what looks like a tag inside a text is not one."""
    return "\n".join(f"<{name}>\n{_TAG.sub('‹', text)}\n</{name}>" for name, text in parts.items())


def read_answer(completion: ChatCompletion, schema: Mapping[str, Any]) -> Answer:
    """What a completion says. One that was cut for length is malformed, whatever it holds; an empty one is refused."""
    if not completion.choices:
        return Answer("refused")
    choice = completion.choices[0]
    content = (choice.message.refusal or choice.message.content or "").encode(errors="replace").decode()
    if choice.finish_reason == "content_filter" or choice.message.refusal:
        return Answer("refused", content=content)
    if choice.finish_reason == "length":
        return Answer("malformed", content=content)
    if not content.strip():
        return Answer("refused")
    value = first_object(content, schema)
    return Answer("malformed", content=content) if value is None else Answer("answered", value, content)


def first_object(content: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The first JSON object in ``content`` that follows the schema; prose, thoughts or a fence may be around it."""
    decoder = json.JSONDecoder()
    start = content.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(content, start)
        except RecursionError:
            return None
        except ValueError:
            end = start + 1
        else:
            if follows(value, schema) and not _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
                return value
        start = content.find("{", end)
    return None


def follows(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a JSON value follows a JSON Schema."""
    import jsonschema

    return jsonschema.Draft202012Validator(schema).is_valid(value)
