"""Failures of a chat endpoint: which pass, how long to wait for that, and what a user can do about the others."""

from __future__ import annotations

import email.utils
import logging
import random
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verseir.faults import UserError
from verseir.judging.completions import FILTERED, NoCompletion, SaidError, Torn, status_passes
from verseir.judging.said import LONGEST, LONGEST_PAGE, Secret, body_of, words_of

if TYPE_CHECKING:
    from verseir.judging.endpoint import Settings

log = logging.getLogger(__name__)

#: Seconds that are waited at most before the next try, whatever the server asks for.
LONGEST_WAIT = 60.0
#: A longer wait is told.
SILENT_WAIT = 5.0

#: Errors below the client, by the names of their classes: which library it uses is its own business.
_REDIRECTS = ("TooManyRedirects",)
_NO_ADDRESS = ("InvalidURL", "UnicodeError", "UnicodeEncodeError", "UnsupportedProtocol")
_BROKEN = ("RemoteProtocolError", "ReadError")
_UNREADABLE = ("DecodingError",)
_UNANSWERED = "without sending a response"


class ClientError(Exception):
    """The client failed in a way that is not of its own errors. Its cause says how."""


def causes(error: BaseException) -> list[BaseException]:
    """An error and what caused it, the nearest first."""
    found: list[BaseException] = []
    inner: BaseException | None = error
    while inner is not None and inner not in found:
        found.append(inner)
        inner = inner.__cause__ or inner.__context__
    return found


def caused_by(error: BaseException, names: tuple[str, ...]) -> bool:
    return any(type(inner).__name__ in names for inner in causes(error))


def no_address(error: BaseException) -> bool:
    """Whether an error says that the address is none."""
    return caused_by(error, _NO_ADDRESS)


def status_of(error: BaseException) -> int | None:
    """The HTTP status of an answer that is an error, or the one that it names."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return error.status_code
    return error.status if isinstance(error, SaidError) else None


def filtered(error: BaseException) -> bool:
    """Whether an error is a refusal."""
    return error.filtered if isinstance(error, SaidError) else getattr(error, "code", None) in FILTERED


def declines(error: BaseException) -> bool:
    """Whether the server may have turned down the form of the request, not the question."""
    return not filtered(error) and not passes(error) and status_of(error) in (400, 422, None)


def passes(error: BaseException) -> bool:
    """Whether the same request may succeed a little later."""
    import openai

    if isinstance(error, SaidError):
        return error.passes
    if isinstance(error, openai.APIStatusError):
        return status_passes(error.status_code)
    if isinstance(error, openai.APIConnectionError):
        return not caused_by(error, _REDIRECTS + _NO_ADDRESS + ("LocalProtocolError",))
    return isinstance(error, Torn)


@dataclass(frozen=True)
class Teller:
    """Says what went wrong with an endpoint; never with the key.

    Args:
        settings: of the endpoint.
        shown: its address as it may be shown.
        secret: its key.
        has_key: whether there is one.
    """

    settings: Settings
    shown: str
    secret: Secret
    has_key: bool

    def what(self, error: BaseException) -> str:
        """What an error is, in a few words."""
        import openai

        if (status := status_of(error)) is not None:
            return f"fails with HTTP {status}"
        if isinstance(error, SaidError):
            return "answers with an error"
        if isinstance(error, openai.APITimeoutError):
            return f"did not answer in {self.settings.timeout:g} s"
        if isinstance(error, Torn) or caused_by(error, _UNREADABLE):
            return "answers with what is not JSON"
        if isinstance(error, openai.APIConnectionError) and caused_by(error, _BROKEN):
            if any(_UNANSWERED in str(inner) for inner in causes(error)):
                return "broke the connection before it answered"
            return "cannot be read: the connection broke in the middle of an answer"
        return "cannot be reached"

    def words(self, error: BaseException) -> str:
        """The server's own words, if any, after a colon."""
        if isinstance(error, SaidError | NoCompletion):
            said = self.secret.shown(error.words, LONGEST if isinstance(error, SaidError) else LONGEST_PAGE)
        else:
            body = body_of(getattr(getattr(error, "response", None), "content", b""))
            said = self.secret.shown(words_of(body), LONGEST if isinstance(body, dict) else LONGEST_PAGE)
        return f": {said}" if said else ""

    def failure(self, error: BaseException) -> UserError:
        """What a user can do about an error that came back after all tries."""
        import openai

        kept = "what was answered is kept: run again when it is mended"
        name, attempts = f"endpoint.base_url: {self.shown}", self.settings.attempts
        tries = f"({attempts} {'try' if attempts == 1 else 'tries'})"
        if isinstance(error, NoCompletion):
            problem = f"endpoint.base_url: what {self.shown} answered is no chat completion{self.words(error)}"
            return UserError(problem, "the address of the API ends in /v1 as a rule")
        if no_address(error):
            return UserError(f"{name} leads to what is no address of a server", "such as http://localhost:8000/v1")
        if caused_by(error, _REDIRECTS):
            return UserError(f"{name} redirects in a circle", "is it the address of the API, http or https?")
        if isinstance(error, ClientError):
            kind = type(causes(error)[-1]).__name__
            return UserError(f"{name} answers with what cannot be read ({kind})", f"see the log of the server; {kept}")
        if (status := status_of(error)) is not None or isinstance(error, SaidError):
            return self._turned_down(error, status, name, tries, kept)
        hints = {
            openai.APITimeoutError: "endpoint.timeout",
            Torn: "see the log of the server",
            openai.APIConnectionError: "is the server running?",
        }
        hint = next((hint for kind, hint in hints.items() if isinstance(error, kind)), "is the server running?")
        return UserError(f"{name} {self.what(error)} {tries}", f"{hint}; {kept}".replace("?;", "?"))

    def _turned_down(self, error: BaseException, status: int | None, name: str, tries: str, kept: str) -> UserError:
        variable, words = self.settings.key_variable, self.words(error)
        code = f"HTTP {status}" if status is not None else "an error with HTTP 200"
        if status in (401, 403):
            hint = f"the key is read from the environment variable {variable} (endpoint.key_variable)"
            if not self.has_key:
                return UserError(f"{name} wants a key ({code}), and {variable} is not set{words}", hint)
            return UserError(f"{name} refuses the key ({code}){words}", hint)
        if status == 404:
            hint = f"is endpoint.model '{self.settings.model}' right, and does the address end in /v1?"
            return UserError(f"{name} knows no such page or model ({code}){words}", hint)
        if passes(error):
            hint = f"wait, or lower endpoint.concurrency; {kept}"
            return UserError(f"{name} {self.what(error)} {tries}{words}", hint)
        return UserError(f"{name} turns the request down ({code}){words}", "check the settings of the endpoint")


class Wait:
    """Seconds before the next try: as long as the server asks for, else longer each time. A long wait is told.

    Never quite the same, so that those who were turned away together do not come back together.
    """

    def __init__(self, teller: Teller):
        from tenacity import wait_exponential_jitter

        self.teller, self.backoff = teller, teller.settings.backoff
        self.usual = wait_exponential_jitter(initial=self.backoff, max=LONGEST_WAIT, jitter=self.backoff)

    def __call__(self, retry_state: Any) -> float:
        error = retry_state.outcome.exception()
        asked = seconds(getattr(getattr(error, "response", None), "headers", {}).get("retry-after", ""))
        if asked is None:
            return self.usual(retry_state)
        return min(LONGEST_WAIT, asked) + random.uniform(0, self.backoff)

    def tell(self, retry_state: Any) -> None:
        """Say that, why and how long is waited now."""
        pause, error = retry_state.next_action.sleep, retry_state.outcome.exception()
        if pause > SILENT_WAIT:
            settings, teller = self.teller.settings, self.teller
            why = f"{teller.shown} {teller.what(error)}{teller.words(error)}"
            n_try = retry_state.attempt_number + 1
            log.info("%s: waits %.0f s for try %d of %d: %s", settings.model, pause, n_try, settings.attempts, why)


def seconds(retry_after: str) -> float | None:
    """How long a ``Retry-After`` header asks to wait: it holds seconds, or a date. None when it holds neither."""
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", retry_after):
        return float(retry_after)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
