"""Data sets of the hub: the real client against a small hub on the loopback, and with no network at all."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from verseir.corpora.hub import is_pinned, resolved_revision, source_file
from verseir.faults import UserError

FIXTURES = Path(__file__).parents[1] / "fixtures" / "corpora"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILE = "data/poems.json"
LOAD = """
import json, sys
from pathlib import Path
from verseir.corpora.load import load_corpus
from verseir.faults import UserError
try:
    corpus = load_corpus("c", json.loads(sys.argv[1]), Path())
except UserError as error:
    sys.exit(f"{error}")
print(json.dumps({"ids": corpus.poems["poem_id"].to_list(), "warnings": corpus.warnings}))
"""


class StubHub(BaseHTTPRequestHandler):
    """Serves one file of one data set, at one commit and at the branch ``main``."""

    protocol_version = "HTTP/1.1"
    paths = tuple(f"/datasets/someone/poems/resolve/{revision}/{FILE}" for revision in (COMMIT, "main"))

    def answer(self, body: bool) -> None:
        data = (FIXTURES / "fannorflop.json").read_bytes()
        found = self.path in self.paths
        self.send_response(200 if found else 404)
        if found:
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
        else:
            data = b""
            self.send_header("X-Error-Code", "EntryNotFound" if "someone/poems" in self.path else "RepoNotFound")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), StubHub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def load(cache: Path, endpoint: str, offline: bool = False, **hub: str) -> subprocess.CompletedProcess[str]:
    spec = {"adapter": "fannorflop", "hub": {"id": "someone/poems", "revision": COMMIT, "file": FILE} | hub}
    proxies = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "")
    environment = os.environ | proxies | {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(cache),
        "HF_HUB_OFFLINE": "1" if offline else "0",
        "HF_HUB_DISABLE_XET": "1",
        "NO_PROXY": "127.0.0.1",
    }  # fmt: skip
    command = [sys.executable, "-c", LOAD, json.dumps(spec)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def test_one_file_is_fetched_once_then_read_from_the_cache(endpoint: str, tmp_path: Path) -> None:
    online = load(tmp_path, endpoint)
    assert online.returncode == 0, online.stderr
    assert json.loads(online.stdout) == {"ids": ["poem_1", "poem_2"], "warnings": []}
    again = load(tmp_path, endpoint, offline=True)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["ids"] == ["poem_1", "poem_2"]


def test_a_branch_is_reported_as_unpinned_with_its_commit(endpoint: str, tmp_path: Path) -> None:
    done = load(tmp_path, endpoint, revision="main")
    assert done.returncode == 0, done.stderr
    warning = json.loads(done.stdout)["warnings"][0]
    assert "unpinned" in warning and COMMIT in warning


def test_offline_without_a_copy_says_what_to_do(tmp_path: Path) -> None:
    done = load(tmp_path, "http://127.0.0.1:9", offline=True)
    assert done.returncode == 1
    for part in ("someone/poems", COMMIT, FILE, "HF_HUB_OFFLINE", "hf download", "'path'"):
        assert part in done.stderr


@pytest.mark.parametrize("name", [None, "indexes.json"])
def test_where_a_folder_is_read_the_hint_says_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    def offline(*_: Any, **__: Any) -> None:
        raise LocalEntryNotFoundError("offline")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", offline)
    hub = {"id": "someone/poems", **({"folder": "test"} if name else {"file": FILE})}
    for local in (None, "data/test"):
        with pytest.raises(UserError) as caught:
            source_file({"hub": hub, "local": local}, tmp_path, name)
        hint = caught.value.hint
        assert ("give the folder that holds it as 'path'" in hint) == (name is not None)
        assert ("give the file itself as 'path'" in hint) == (name is None)
        assert (f"put {name or FILE} into the folder data/test" in hint) == (local is not None)


@pytest.mark.slow  # the client tries for some twenty seconds before it gives up
def test_no_network_says_what_to_do(tmp_path: Path) -> None:
    done = load(tmp_path, "http://127.0.0.1:9")
    assert done.returncode == 1
    assert "someone/poems" in done.stderr and COMMIT in done.stderr and "hint" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("wrong", [{"file": "none.json"}, {"id": "nobody/none"}])
def test_an_unknown_file_or_data_set_is_named(endpoint: str, tmp_path: Path, wrong: dict[str, str]) -> None:
    done = load(tmp_path, endpoint, **wrong)
    assert done.returncode == 1
    assert next(iter(wrong.values())) in done.stderr and "check id, revision and file" in done.stderr
    assert "Traceback" not in done.stderr


def test_revisions() -> None:
    assert is_pinned({"revision": COMMIT})
    assert not is_pinned({"revision": "main"}) and not is_pinned({})
    assert resolved_revision(Path("/cache/datasets--a--b/snapshots") / COMMIT / "data" / "f.json") == COMMIT
    assert resolved_revision(Path("/data/f.json")) is None


def test_a_corpus_without_a_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="neither a 'path' nor a 'hub'"):
        source_file({"adapter": "jsonl"}, tmp_path)
