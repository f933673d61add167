"""Questions to a language model behind an OpenAI-compatible chat endpoint, answered in JSON and kept on disk.

What failed for a while (429, 5xx, a time-out) is tried again. A refusal and a malformed answer are not: at temperature
0 a model says the same again, and at any other a second try would take what it says by luck for what it says as a rule.
They are counted, and asked again when the step runs again.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from verseir.faults import UserError
from verseir.judging.answers import Answer, Answers, Tally
from verseir.judging.completions import NoCompletion, SaidError, Torn, completion_in, read_completion
from verseir.judging.failures import ClientError, Teller, Wait, declines, filtered, no_address, passes
from verseir.judging.said import LONGEST_PAGE, Secret, shown
from verseir.systems.progress import Progress
from verseir.systems.sources import cache_folder

if TYPE_CHECKING:
    import openai

#: Used for servers that want no key.
NO_KEY = "none"

#: Parts of an address that may hold a secret: user and password, query, fragment.
_SECRETS = re.compile(r"(?<=//)[^/?#]*@|[?#].*")


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
        try:
            address = urlsplit(self.settings.base_url)
            host = address.hostname or ""
            sound = address.scheme in ("http", "https") and bool(re.fullmatch(r"\S+", host)) and address.port != 0
        except ValueError:  # half an IPv6 address, or a port that no machine has
            sound = False
        if not sound:
            raise self._no_address()
        self._key = os.environ.get(self.settings.key_variable, "").strip() or NO_KEY
        if not (self._key.isascii() and self._key.isprintable()):
            raise UserError(
                f"the environment variable {self.settings.key_variable} holds characters that no key has",
                hint="endpoint.key_variable names the variable that holds the key",
            )
        self._secret = Secret("" if self._key == NO_KEY else self._key)
        self._teller = Teller(self.settings, self._shown, self._secret, self._key != NO_KEY)
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

        try:
            # Retries are ours: the client's own end in errors that do not say how often it tried.
            return openai.OpenAI(
                base_url=self.settings.base_url, api_key=self._key, timeout=self.settings.timeout, max_retries=0
            )
        except Exception as error:
            if no_address(error):
                raise self._no_address() from None
            raise

    def _answer(
        self,
        client: openai.OpenAI,
        prompt: str,
        message: str,
        schema: Mapping[str, Any],
        stopped: threading.Event,
    ) -> Answer:
        """One answer, with what the server told of it. The key is not in it, even if the server repeats it."""
        import openai

        try:
            completion = self._completion(client, prompt, message, schema, stopped)
        except (openai.OpenAIError, SaidError, NoCompletion, Torn, ClientError) as error:
            if filtered(error):
                return Answer("refused")
            raise self._teller.failure(error) from None  # the server's own words may hold the key
        return read_completion(completion, schema, self._secret)

    def _completion(
        self,
        client: openai.OpenAI,
        prompt: str,
        message: str,
        schema: Mapping[str, Any],
        stopped: threading.Event,
    ) -> dict[str, Any]:
        """Ask with the schema as ``response_format``; without it from the first time that the server declines it."""
        import openai

        messages = [{"role": "system", "content": prompt}, {"role": "user", "content": message}]
        if self._takes_schema:
            described = {"name": "answer", "strict": True, "schema": dict(schema)}
            try:
                response_format = {"type": "json_schema", "json_schema": described}
                return self._request(client, stopped, messages=messages, response_format=response_format)
            except (openai.APIStatusError, SaidError) as error:
                if not declines(error):
                    raise
            completion = self._request(client, stopped, messages=messages)
            self._takes_schema = False
            return completion
        return self._request(client, stopped, messages=messages)

    def _request(self, client: openai.OpenAI, stopped: threading.Event, **body: Any) -> dict[str, Any]:
        """One completion, tried again after failures that pass."""
        import openai
        import tenacity

        def request() -> dict[str, Any]:
            create = client.chat.completions.with_raw_response.create  # raw: its own reader expects sound answers
            try:
                response = create(model=self.settings.model, **self.settings.parameters, **body)
            except openai.OpenAIError:
                raise
            except Exception as error:  # whatever an answer of any shape does to the client
                raise ClientError(type(error).__name__) from error
            return completion_in(response.content)

        wait = Wait(self._teller)
        tries = tenacity.Retrying(
            retry=tenacity.retry_if_exception(passes),
            wait=wait,
            before_sleep=wait.tell,
            stop=tenacity.stop_after_attempt(self.settings.attempts) | tenacity.stop_when_event_set(stopped),
            sleep=tenacity.sleep_using_event(stopped),
            reraise=True,
        )
        return tries(request)

    def _no_address(self) -> UserError:
        problem = f"endpoint.base_url: '{self._shown}' is no address of a server"
        return UserError(problem, hint="such as http://localhost:8000/v1")

    @property
    def _shown(self) -> str:
        """The address without user, password or query, which may hold a secret."""
        return shown(_SECRETS.sub("", self.settings.base_url), LONGEST_PAGE)
