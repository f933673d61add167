"""What servers send, of any shape: the real client against a server on the loopback that sends it."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stub_model import StubModel, running

from verseir.faults import UserError
from verseir.judging.completions import NoCompletion, SaidError, Torn, completion_in, read_completion
from verseir.judging.endpoint import ChatEndpoint, Settings
from verseir.judging.said import Secret

KEY = "sk-test-0123456789-secret"
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string"}},
}
RIGHT = '{"text": "x"}'
AS_JSON = {"Content-Type": "application/json"}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with running(lambda message: RIGHT) as server:
        yield server


def ask(stub: StubModel, **settings: Any) -> Any:
    endpoint = ChatEndpoint(Settings(**({"key_variable": "TEST_KEY"} | stub.settings | settings)))
    return endpoint.ask("Say it.", [{"query": "one"}], SCHEMA)[0]


def fails(stub: StubModel, **settings: Any) -> str:
    with pytest.raises(UserError) as caught:
        ask(stub, **settings)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def message(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"finish_reason": "stop", "message": fields}]}


def sends(stub: StubModel, body: Any, status: int = 200, headers: dict[str, str] = AS_JSON) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    stub.raw = lambda n: (status, headers, data)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"choices": [None]}, "malformed"),
        ({"choices": ["x"]}, "malformed"),
        ({"choices": [{}]}, "malformed"),
        ({"choices": [{"message": None}]}, "malformed"),
        ({"choices": [{"message": "x", "finish_reason": []}]}, "malformed"),
        ({"choices": [{"message": None, "finish_reason": "content_filter"}]}, "refused"),
        ({"choices": []}, "refused"),
        (message(content=None), "refused"),
        (message(content=[]), "refused"),
        (message(content={"text": "x"}), "malformed"),
        (message(content=7), "malformed"),
        (message(content=[7, None]), "malformed"),
        (message(content=RIGHT, refusal={}), "answered"),
        (message(content=RIGHT, refusal="no"), "refused"),
        (message(content=[{"type": "refusal", "refusal": "no"}]), "refused"),
        (message(content=[{"type": "thinking", "thinking": "h"}, {"type": "text", "text": RIGHT}]), "answered"),
        (message(content=[{"type": "text", "text": '{"text"'}, {"text": ': "x"}'}]), "answered"),
        (message(content=RIGHT) | {"usage": "many", "model": ["m"]}, "answered"),
        (message(content=RIGHT) | {"model": "\ud800", "error": None}, "answered"),
        (message(content="\ud800"), "malformed"),
    ],
)
def test_an_answer_of_any_shape_is_read_or_malformed(stub, body, status):
    sends(stub, body)
    answer = ask(stub)
    assert answer.status == status
    assert answer.value == ({"text": "x"} if status == "answered" else None)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "error", "usage", "code", "text", "model", "type"]), inner
        )
    ),
    max_leaves=12,
)


@given(ANYTHING)
def test_nothing_that_is_json_is_a_traceback(body):
    for sent in (body, {"choices": body}, {"choices": [body]}, {"choices": [{"message": body}]}, {"error": body}):
        try:
            completion = completion_in(json.dumps(sent).encode())
        except (NoCompletion, SaidError, Torn):
            continue
        assert read_completion(completion, SCHEMA, Secret(KEY)).status in ("answered", "refused", "malformed")


@pytest.mark.parametrize("usage", ["10", -1, 1.5, 1e30, None, [1], True])
def test_odd_usage_counts_nothing(stub, usage):
    sends(stub, message(content=RIGHT) | {"usage": {"prompt_tokens": usage, "completion_tokens": 3}})
    answer = ask(stub)
    assert (answer.prompt_tokens, answer.completion_tokens) == (0, 3)


@pytest.mark.parametrize("content", [f'{{"text": "a {KEY}"}}', '{"text": "a sk-test\\u002d0123456789-secret"}'])
def test_a_key_that_the_server_repeats_is_neither_kept_nor_returned(stub, tmp_path, content):
    sends(stub, message(content=content) | {"model": f"m {KEY}"})
    answer = ask(stub)
    assert answer.value == {"text": "a ***"} and answer.served_by == "m ***"
    assert KEY not in repr(answer)
    files = [path.read_bytes() for path in tmp_path.rglob("*.json")]
    assert files and not any(KEY.encode() in data for data in files)
    assert ask(stub).value == {"text": "a ***"} and len(stub.bodies) == 1


@pytest.mark.parametrize("said", [message(content=f"talk {KEY}"), message(content={"a": KEY}), message(refusal=KEY)])
def test_a_key_is_not_in_what_is_refused_or_malformed(stub, said):
    sends(stub, said)
    answer = ask(stub)
    assert "***" in answer.content and KEY not in answer.content


def test_no_half_of_a_key_is_left_where_an_error_is_cut(stub):
    for n in range(280, 301, 4):
        sends(stub, {"error": {"message": "x" * n + KEY}}, status=400)
        assert "sk-t" not in fails(stub)


def test_what_a_terminal_obeys_is_not_shown(stub):
    sends(stub, {"error": {"message": "\x1b[2Jgone\x07\u202e"}}, status=400)
    told = fails(stub)
    assert told.startswith("endpoint.base_url") and ": gone\n" in told and told.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        ({"code": 503, "message": "gone"}, 2),
        ({"code": "429", "message": "gone"}, 2),
        ({"type": "overloaded_error", "message": "gone"}, 2),
        ({"code": "rate_limit_exceeded", "message": "gone"}, 2),
        ("Rate limit reached: gone", 2),
        ({"message": "cannot generate: gone", "code": 402}, 1),
        ({"code": [], "status": {}, "message": "gone"}, 2),  # once more without the schema
        ({"message": {"a": ["gone"]}, "code": 404}, 1),
    ],
)
def test_an_error_with_http_200_is_told_and_tried_again_if_it_may_pass(stub, error, tries):
    sends(stub, {"error": error})
    told = fails(stub)
    assert "gone" in told and "endpoint.base_url" in told and len(stub.bodies) == tries


def test_an_error_with_http_200_that_passes_is_survived(stub):
    bodies = [{"error": {"code": 502}}, {"choices": [{"error": {"code": 502, "message": "x"}}]}, message(content=RIGHT)]
    stub.raw = lambda n: (200, AS_JSON, json.dumps(bodies[n - 1]).encode())
    assert ask(stub, attempts=3).value == {"text": "x"}
    sends(stub, {"error": {"code": "content_filter"}})
    assert ask(stub, seed=1).status == "refused"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'["no", "way"]', '["no", "way"]'),
        (b'"no way"', "no way"),
        (b"<html><head></head><body><h1>502 Bad</h1>\n<hr>nginx</body></html>", ": 502 Bad nginx"),
        (b"\xff\xfe" + b"x" * 5000, "x" * 100),
        (b"", "HTTP 400"),
        (b"[" * 100_000, "[["),
    ],
)
@pytest.mark.parametrize("kind", ["application/json", "text/html; charset=rot13"])
def test_the_body_of_an_error_may_have_any_shape(stub, body, told, kind):
    sends(stub, body, 400, {"Content-Type": kind})
    found = fails(stub)
    assert "endpoint.base_url" in found and len(found) < 500
    assert told in found or "rot13" in kind


@pytest.mark.parametrize("body", [b"hello", b"[1]", b"7", b'{"id": 1}', b'{"choices": null}', b"[" * 100_000])
def test_what_is_no_completion_is_shown(stub, body):
    sends(stub, body)
    told = fails(stub)
    assert "no chat completion" in told and body.decode()[:7] in told and len(stub.bodies) == 1


def test_a_key_that_is_not_set_is_said_to_be_missing(stub):
    sends(stub, {"error": {"message": "who are you"}}, status=401)
    assert "OPENAI_API_KEY is not set: who are you" in fails(stub, key_variable="OPENAI_API_KEY")
    assert "refuses the key (HTTP 401): who are you" in fails(stub)


def test_a_connection_that_breaks_in_the_middle_is_told_as_such(stub):
    sends(stub, b'{"choices": [', headers=AS_JSON | {"Content-Length": "5000"})
    told = fails(stub)
    assert "the connection broke in the middle of an answer (2 tries)" in told and "reached" not in told


def test_a_redirect_in_a_circle_is_told_at_once(stub):
    sends(stub, b"", 307, {"Location": "/v1/chat/completions"})
    assert "redirects in a circle" in fails(stub, attempts=5)


def test_what_cannot_be_unpacked_is_told(stub):
    sends(stub, b"no gzip", headers=AS_JSON | {"Content-Encoding": "gzip"})
    assert "not JSON" in fails(stub)


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1",
        "http://x:99999/v1",
        "http://exa mple/v1",
        "http://" + "a" * 70 + ".com/v1",
        "http://xn--\u0660/v1",
        "http://x/v1\x1b[31m",
        "http://..//v1",
        "http://\u200b/v1",
    ],
)
def test_an_odd_address_is_named(stub, url):
    told = fails(stub, base_url=url, attempts=1)
    assert "endpoint.base_url" in told and "no address of a server" in told and "\x1b" not in told


def test_a_password_in_the_address_is_not_shown(stub):
    told = fails(stub, base_url="http://me:se@cret@127.0.0.1:1/v1")
    assert "http://127.0.0.1:1/v1" in told and "cret" not in told


def test_a_long_wait_is_told_with_its_reason(stub, caplog, monkeypatch):
    import tenacity

    monkeypatch.setattr(tenacity, "sleep_using_event", lambda event: lambda pause: None)
    caplog.set_level(logging.INFO)
    answers = [
        (429, AS_JSON | {"Retry-After": "30"}, json.dumps({"error": {"message": f"busy {KEY}"}}).encode()),
        (503, AS_JSON | {"Retry-After": "1"}, b"{}"),
        (200, AS_JSON, json.dumps(message(content=RIGHT)).encode()),
    ]
    stub.raw = lambda n: answers[n - 1]
    assert ask(stub, attempts=3).value == {"text": "x"}
    waits = [record.getMessage() for record in caplog.records if "waits" in record.getMessage()]
    assert len(waits) == 1
    assert "stub: waits 30 s for try 2 of 3" in waits[0] and "HTTP 429: busy ***" in waits[0]
