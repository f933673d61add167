"""Questions to a language model behind an OpenAI-compatible chat endpoint, answered in JSON and kept on disk.

What failed for a while (429, 5xx, a time-out) is tried again. A refusal and a malformed answer are not: at temperature
0 a model says the same again, and at any other a second try would take what it says by luck for what it says as a rule.
They are counted, and asked again by the next run.
"""

from __future__ import annotations

import email.utils
import json
import os
import random
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from verseir.faults import UserError
from verseir.judging.answers import Answer, Answers, Tally, read_content
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

#: Seconds that are waited at most before the next try, whatever the server asks for.
LONGEST_WAIT = 60.0

_SECRETS = re.compile(r"(?<=//)[^/@]*@|[?#].*")


@dataclass(frozen=True)
class Settings:
    """An endpoint and how to ask it.

    Args:
        base_url: the API's address, which ends in ``/v1`` as a rule.
        model: its name there. Answers are kept under it: give two models of two servers two names.
        key_variable: the environment variable that holds the key; a variable that is not set is no fault, since local
            servers want none.
        temperature, seed, max_tokens: sent as they are; None is not sent.
        timeout: seconds for one answer.
        concurrency: questions asked at once.
        attempts: tries of one question before the run ends.
        backoff: seconds, about, before the second try; doubled each time, to a minute at most.
        prompt_price, completion_price: money for a million tokens, in any one currency.
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
    prompt_price: float | None = None
    completion_price: float | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that can change an answer."""
        named = {"temperature": self.temperature, "seed": self.seed, "max_tokens": self.max_tokens}
        return {name: value for name, value in named.items() if value is not None}


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
        self._answers = Answers(self.folder, self.settings.model, self.settings.parameters)

    @property
    def name(self) -> str:
        return self.settings.model

    @property
    def cost(self) -> float | None:
        """What the answers cost, those that were kept from before too; None where no prices are given."""
        return self.tally.cost(self.settings.prompt_price, self.settings.completion_price)

    def ask(self, prompt: str, inputs: Sequence[Mapping[str, str]], schema: Mapping[str, Any]) -> list[Answer]:
        """The answer to ``prompt`` about each of ``inputs`` (named texts), in their order. Equal inputs are asked once.

        Raises:
            UserError: the endpoint cannot be reached, turns the key or the request down, or fails again and again. What
                was answered until then is kept.
        """

        def ask(waiting: Mapping[str, str]) -> Iterator[tuple[str, Answer]]:
            return self._asked(prompt, waiting, schema)

        return self._answers.complete(ask, self.tally, prompt, inputs, schema)

    def _asked(
        self, prompt: str, waiting: Mapping[str, str], schema: Mapping[str, Any]
    ) -> Iterator[tuple[str, Answer]]:
        """The answers to what is waiting, as they come. Sound ones are on disk as soon as they are there."""
        client = self._client()
        stopped = threading.Event()

        def work(key: str, message: str) -> Answer:
            answer = self._answer(client, prompt, message, schema, stopped)
            self._answers.keep(key, answer)
            return answer

        with (
            Progress(len(waiting), self.settings.model) as progress,
            ThreadPoolExecutor(self.settings.concurrency) as pool,
        ):
            jobs = {pool.submit(work, key, message): key for key, message in waiting.items()}
            try:
                for job in as_completed(jobs):
                    answer = job.result()
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
    ) -> Answer:
        """One answer, with what the server told of it: the model that spoke, and the tokens it counted."""
        import openai

        try:
            completion = self._completion(client, prompt, message, schema, stopped)
        except openai.APIStatusError as error:
            if error.code in FILTERED:
                return Answer("refused")
            raise self._failure(error) from None  # the server's own words may hold the key
        except (openai.APIError, json.JSONDecodeError) as error:
            raise self._failure(error) from None
        usage = completion.usage
        return replace(
            read_answer(completion, schema),
            prompt_tokens=(usage and usage.prompt_tokens) or 0,
            completion_tokens=(usage and usage.completion_tokens) or 0,
            served_by=completion.model,
        )

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


class _Wait:
    """Seconds before the next try: as long as the server asks for, else longer each time.

    Never quite the same, so that those who were turned away together do not come back together.
    """

    def __init__(self, backoff: float):
        from tenacity import wait_exponential_jitter

        self.backoff = backoff
        self.usual = wait_exponential_jitter(initial=backoff, max=LONGEST_WAIT, jitter=backoff)

    def __call__(self, retry_state: Any) -> float:
        error = retry_state.outcome.exception()
        asked = seconds(getattr(getattr(error, "response", None), "headers", {}).get("retry-after", ""))
        if asked is None:
            return self.usual(retry_state)
        return min(LONGEST_WAIT, asked) + random.uniform(0, self.backoff)


def seconds(retry_after: str) -> float | None:
    """How long a ``Retry-After`` header asks to wait: it holds seconds, or a date. None when it holds neither."""
    if re.fullmatch(r"\d+(\.\d+)?", retry_after):
        return float(retry_after)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None


def passes(error: BaseException) -> bool:
    """Whether the same request may succeed a little later. A body that was cut off is an error of the JSON reader."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return error.status_code in PASSING or error.status_code >= 500
    return isinstance(error, (openai.APIConnectionError, json.JSONDecodeError))


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
    return read_content(content, schema)
