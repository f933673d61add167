"""The store of vectors: encoded once, found by content, kept through kills and faults."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.faults import UserError
from verseir.systems.encoder import Encoder, TokenCounts
from verseir.systems.identity import Identity
from verseir.systems.loading import load_encoder
from verseir.systems.registry import load_registry
from verseir.systems.sources import Source
from verseir.systems.vectors import VectorStore

ROOT = Path(__file__).parents[2]
DIMENSION = 8


class HashEncoder(Encoder):
    """Vectors made of a hash of the string, in batches of 10; counts what it encodes."""

    def __init__(self, key="k" * 8, dimension=DIMENSION, tasks=None, fail_after=None):
        prompts = {"query": "q: ", "document": ""}
        entry = {"name": "hash", "text": "light", "prompts": prompts, "dimension": DIMENSION, "normalise": True}
        entry |= {"tasks": tasks} if tasks else {}
        super().__init__(Identity(entry, Source("path", "", "", ""), key), "cpu")
        self.length, self.fail_after, self.encoded = dimension, fail_after, []

    def _raw_batches(self, prepared, role):
        adapter = self.identity.entry.get("tasks", {}).get(role, "")
        for start in range(0, len(prepared), 10):
            rows = np.arange(start, min(start + 10, len(prepared)))
            if self.fail_after is not None and len(self.encoded) >= self.fail_after:
                raise KeyboardInterrupt
            self.encoded += [prepared[row] for row in rows]
            strings = [(adapter + prepared[row]).encode() for row in rows]
            digests = [list(hashlib.blake2b(string, digest_size=self.length).digest()) for string in strings]
            yield rows, np.array(digests, np.float32) + 1

    def count_tokens(self, texts, role):
        return TokenCounts(*(np.zeros(len(texts), np.int64) for _ in range(3)))

    def seen(self, prepared):
        return prepared


@pytest.fixture
def encoder():
    return HashEncoder()


def store_of(encoder, root):
    return VectorStore(encoder.identity, root)


def test_each_string_is_encoded_once(tmp_path, encoder):
    store = store_of(encoder, tmp_path)
    report = store.encode_missing(encoder, {"query": ["a", "b", "a"], "document": ["a", "c", "q: b", "كِتَاب", "كتاب"]})
    # "q: b" is a document that reads like the prepared query b; both spellings of a word are one string
    assert sorted(encoder.encoded) == sorted(["a", "c", "q: a", "q: b", "كتاب"])
    assert (report.n_texts, report.n_encoded) == (6, 5)
    again = store_of(encoder, tmp_path).encode_missing(encoder, {"query": ["b", "d"], "document": ["c"]})
    assert (again.n_texts, again.n_encoded) == (3, 1)
    assert encoder.encoded[-1] == "q: d"


@settings(max_examples=30, deadline=None)
@given(
    parts=st.lists(st.lists(st.text("abc ً", max_size=3), max_size=30), min_size=1, max_size=4),
    flush=st.integers(1, 40),
)
def test_get_gives_what_the_encoder_gives(tmp_path_factory, parts, flush):
    encoder = HashEncoder()
    root = tmp_path_factory.mktemp("store")
    for texts in parts:
        store_of(encoder, root).encode_missing(encoder, {"document": texts}, flush_texts=flush)
    asked = [text for texts in reversed(parts) for text in texts]
    vectors = store_of(encoder, root).get(asked, "document")
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(asked), DIMENSION)
    assert len(set(encoder.encoded)) == len(encoder.encoded)
    if asked:
        np.testing.assert_array_equal(vectors, encoder.encode(asked, "document"))


def test_what_is_missing_is_said(tmp_path, encoder):
    store = store_of(encoder, tmp_path)
    store.encode_missing(encoder, {"document": ["a"]})
    assert store.missing(["b", "a", "b", "c"], "document") == ["b", "c"]
    assert store.missing(["a"], "query") == ["q: a"]
    with pytest.raises(UserError, match="2 of 3 texts have no vector of 'hash'") as caught:
        store.get(["a", "b", "c", "b"], "document")
    assert "encode" in caught.value.hint
    assert len(store) == 1


def test_adapters_keep_roles_apart(tmp_path):
    encoder = HashEncoder(tasks={"query": "one", "document": "two"})
    encoder.identity.entry["prompts"] = {"query": "", "document": ""}
    store = store_of(encoder, tmp_path)
    assert store.encode_missing(encoder, {"query": ["a"], "document": ["a"]}).n_encoded == 2
    assert (store.get(["a"], "query") != store.get(["a"], "document")).any()


def test_another_encoder_is_refused(tmp_path, encoder):
    with pytest.raises(UserError, match="holds the vectors of 'hash'"):
        store_of(encoder, tmp_path).encode_missing(HashEncoder(key="other"), {"query": ["a"]})
    with pytest.raises(UserError, match="length 5, not 8"):
        store_of(encoder, tmp_path).encode_missing(HashEncoder(dimension=5), {"query": ["a"]})


def test_keys_of_encoders_are_folders(tmp_path):
    for key in ("one", "two"):
        encoder = HashEncoder(key=key)
        store_of(encoder, tmp_path).encode_missing(encoder, {"query": ["a"]})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_an_interrupt_keeps_what_is_done(tmp_path):
    texts = [f"text {i}" for i in range(100)]
    broken = HashEncoder(fail_after=60)
    with pytest.raises(KeyboardInterrupt):
        store_of(broken, tmp_path).encode_missing(broken, {"document": texts})
    whole = HashEncoder()
    assert store_of(whole, tmp_path).encode_missing(whole, {"document": texts}).n_encoded == 40
    np.testing.assert_array_equal(store_of(whole, tmp_path).get(texts, "document"), whole.encode(texts, "document"))


def damage_keys_short(folder):
    next(folder.glob("*.keys")).write_bytes(next(folder.glob("*.keys")).read_bytes()[:-3])


def damage_keys_header(folder):
    next(folder.glob("*.keys")).write_bytes(b"")


def damage_keys_bit(folder):
    path = next(folder.glob("*.keys"))
    path.write_bytes(path.read_bytes()[:-1] + bytes([path.read_bytes()[-1] ^ 1]))


def damage_vectors_short(folder):
    path = next(folder.glob("*.npy"))
    path.write_bytes(path.read_bytes()[:-4])


def damage_vectors_bit(folder):
    path = next(folder.glob("*.npy"))
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def damage_vectors_gone(folder):
    next(folder.glob("*.npy")).unlink()


@pytest.mark.parametrize(
    "damage",
    [
        damage_keys_short,
        damage_keys_header,
        damage_keys_bit,
        damage_vectors_short,
        damage_vectors_bit,
        damage_vectors_gone,
    ],
)
def test_a_damaged_shard_is_ignored_and_made_again(tmp_path, encoder, caplog, damage):
    texts = ["a", "b", "c"]
    store_of(encoder, tmp_path).encode_missing(encoder, {"document": texts})
    damage(tmp_path / encoder.key)
    store = store_of(encoder, tmp_path)
    assert store.missing(texts, "document") == texts
    assert "ignored" in caplog.text
    assert store.encode_missing(encoder, {"document": texts}).n_encoded == 3
    np.testing.assert_array_equal(store.get(texts, "document"), encoder.encode(texts, "document"))
    with pytest.raises(UserError, match="1 of 1"):
        store_of(encoder, tmp_path).get(["d"], "document")


def test_a_damaged_shard_does_not_hide_a_sound_one(tmp_path, encoder):
    """Two processes encoded the same texts; one of the two files has decayed since."""
    for root in ("x", "y"):
        store_of(encoder, tmp_path / root).encode_missing(encoder, {"document": ["a", "b"]})
    folders = [tmp_path / root / encoder.key for root in ("x", "y")]
    damage_vectors_bit(folders[0])
    for path in folders[0].iterdir():
        path.rename(folders[1] / path.name)
    expected = encoder.encode(["a", "b"], "document")
    np.testing.assert_array_equal(store_of(encoder, tmp_path / "y").get(["a", "b"], "document"), expected)


def test_leftovers_of_a_killed_write_are_no_shards(tmp_path, encoder):
    folder = tmp_path / encoder.key
    folder.mkdir()
    (folder / ".half.keys").write_bytes(b"ver")
    (folder / "orphan.npy").write_bytes(b"\x93NUMPY")
    store = store_of(encoder, tmp_path)
    assert len(store) == 0
    assert store.encode_missing(encoder, {"document": ["a"]}).n_encoded == 1


def test_writers_at_the_same_time(tmp_path):
    """Four writers with overlapping texts, while a reader looks on."""
    texts = [f"text {i}" for i in range(400)]
    faults = []

    def write(first):
        try:
            encoder = HashEncoder()
            part = {"document": texts[first : first + 200]}
            store_of(encoder, tmp_path).encode_missing(encoder, part, flush_texts=10)
        except Exception as error:
            faults.append(error)

    writers = [threading.Thread(target=write, args=(first,)) for first in (0, 50, 150, 200)]
    reader = store_of(HashEncoder(), tmp_path)
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert len(reader) <= 400
    for writer in writers:
        writer.join()
    assert faults == []
    assert reader.missing(texts, "document") == []
    np.testing.assert_array_equal(reader.get(texts, "document"), HashEncoder().encode(texts, "document"))


def test_flushes_by_number_and_by_time(tmp_path, encoder):
    texts = [f"text {i}" for i in range(100)]
    store_of(encoder, tmp_path / "n").encode_missing(encoder, {"document": texts}, flush_texts=20)
    assert len(list((tmp_path / "n" / encoder.key).glob("*.keys"))) == 5
    store_of(encoder, tmp_path / "t").encode_missing(encoder, {"document": texts}, flush_seconds=0)
    assert 2 <= len(list((tmp_path / "t" / encoder.key).glob("*.keys"))) <= 10
    store_of(encoder, tmp_path / "o").encode_missing(encoder, {"document": texts})
    assert len(list((tmp_path / "o" / encoder.key).glob("*.keys"))) == 1


class SlowEncoder(HashEncoder):
    """Takes so many seconds of a clock for each batch, in turns; keeps when it gave out each string."""

    def __init__(self, clock, seconds):
        super().__init__()
        self.clock, self.seconds, self.given = clock, seconds, {}

    def _raw_batches(self, prepared, role):
        for turn, (rows, vectors) in enumerate(super()._raw_batches(prepared, role)):
            self.clock[0] += self.seconds[turn % len(self.seconds)]
            self.given.update({prepared[row]: self.clock[0] for row in rows})
            yield rows, vectors


@pytest.mark.parametrize("seconds", [[0.5], [7], [0, 0, 0, 13], [29], [100]])
def test_no_vector_waits_longer_than_thirty_seconds(tmp_path, monkeypatch, seconds):
    clock = [1000.0]
    monkeypatch.setattr("verseir.systems.vectors.time.monotonic", lambda: clock[0])
    encoder = SlowEncoder(clock, seconds)
    store = store_of(encoder, tmp_path)
    written, add = [], store.add

    def kept(keys, vectors):
        place = {encoder.identity.text_keys([text], "document")[0]: text for text in encoder.given}
        written.extend(clock[0] - encoder.given[place[key]] for key in keys)
        add(keys, vectors)

    monkeypatch.setattr(store, "add", kept)
    store.encode_missing(encoder, {"document": [f"text {i}" for i in range(3000)]}, flush_seconds=25)
    assert len(written) == 3000
    assert max(written) <= 30
    assert seconds != [0.5] or max(written) > 20  # and no shard for each batch


def test_a_store_remembers_how_fast_it_was_filled(tmp_path, encoder):
    store = store_of(encoder, tmp_path)
    assert store.speed("cpu") is None
    first = store.encode_missing(encoder, {"document": ["a", "b", "c"]})
    speed = store.speed("cpu")
    assert speed.texts_per_second == pytest.approx(3 / max(first.seconds, 0.001), rel=0.6)
    assert speed.device == "cpu"
    store.encode_missing(encoder, {"document": ["a", "b", "c"]})
    assert store.speed("cpu") == speed  # what was there already was not made now


def test_speeds_are_told_by_device_and_a_torn_line_is_passed_over(tmp_path, encoder):
    store = store_of(encoder, tmp_path)
    store.encode_missing(encoder, {"document": ["a"]})
    path = store.folder / "speeds.csv"
    path.write_text("\n8000,2.000,cuda\n\n12", encoding="ascii")
    assert store.speed("cpu") == (4000.0, "cuda")
    store.encode_missing(encoder, {"document": ["b", "c"]})
    *_, torn, new = path.read_text(encoding="ascii").splitlines()
    assert torn == "12"
    assert new.startswith("2,")
    assert new.endswith(",cpu")
    assert store.speed("cuda") == (4000.0, "cuda")


def test_progress_is_a_line_in_a_log(tmp_path, encoder, caplog, capsys):
    caplog.set_level("INFO")
    store_of(encoder, tmp_path).encode_missing(encoder, {"document": ["a", "b"]})
    assert "hash: 2 of 2 texts" in caplog.text
    assert "texts/s" in caplog.text
    assert capsys.readouterr().err == ""
    caplog.clear()
    store_of(encoder, tmp_path).encode_missing(encoder, {"document": ["a", "b"]})
    assert caplog.text == ""  # nothing was done: nothing is told


def test_progress_is_a_line_every_thirty_seconds(tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO")
    clock = [1000.0]
    monkeypatch.setattr("verseir.systems.progress.time.monotonic", lambda: clock[0])
    encoder = SlowEncoder(clock, [4])
    store_of(encoder, tmp_path).encode_missing(encoder, {"document": [f"text {i}" for i in range(1000)]})
    lines = [line for line in caplog.text.splitlines() if "texts/s" in line]
    assert len(lines) == 400 // 32 + 1
    assert "hash: 80 of 1000 texts, 2 texts/s, 368 s left" in lines[0]
    assert "hash: 1000 of 1000 texts, 2 texts/s, 0 s left" in lines[-1]


WATCHED = """
import logging, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_vectors import HashEncoder, VectorStore
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
encoder = HashEncoder()
VectorStore(encoder.identity, Path(sys.argv[2])).encode_missing(encoder, {"document": ["a", "b"]})
"""


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_a_bar_on_a_terminal_and_a_line_in_a_file(tmp_path, terminal):
    """A real terminal, at the other end of which this test reads."""
    screen, end = os.openpty()
    told = tmp_path / "log"
    with told.open("w") as file:
        subprocess.run(
            [sys.executable, "-c", WATCHED, str(Path(__file__).parent), str(tmp_path / "store")],
            stderr=end if terminal else file,
            env={**os.environ, "PYTHONPATH": str(ROOT / "workflow")},
            timeout=120,
            check=True,
        )
    os.close(end)
    seen = told.read_text(encoding="utf-8")
    with os.fdopen(screen, "rb", buffering=0) as shown, contextlib.suppress(OSError):  # its end, on Linux
        while part := shown.read(4096):
            seen += part.decode("utf-8", "replace")
    assert ("hash: 100%" in seen) == ("2/2" in seen) == terminal
    assert ("hash: 2 of 2 texts" in seen) == (not terminal)
    assert "texts/s" in seen
    assert ("\r" in seen) == terminal


KILLED = """
import json, sys
from pathlib import Path
from verseir.systems.loading import load_encoder
from verseir.systems.registry import load_registry
from verseir.systems.vectors import VectorStore
encoder = load_encoder(load_registry([Path(sys.argv[1])])["use-m3"])
texts = json.loads(sys.stdin.read())
print("loaded", flush=True)
VectorStore(encoder.identity).encode_missing(encoder, {"document": texts}, flush_seconds=0.05)
print("done", flush=True)
"""


class Counting:
    """An encoder that counts the strings it is given."""

    def __init__(self, encoder):
        self.encoder, self.key, self.encoded = encoder, encoder.key, []

    def batches(self, prepared, role):
        self.encoded += prepared
        return self.encoder.batches(prepared, role)


def test_a_killed_encode_resumes_where_it_stopped(tmp_path, monkeypatch):
    """A real process with a real encoder, killed when more than half is on disk."""
    import json

    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path / "cache"))
    registry = ROOT / "config" / "systems.yaml"
    texts = [f"{i} قمر على الماء وليل طويل {i * i} the rope hangs over the well" for i in range(3000)]
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(registry)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow"), "OMP_NUM_THREADS": "1"},
    )
    process.stdin.write(json.dumps(texts))
    process.stdin.close()
    encoder = load_encoder(load_registry([registry])["use-m3"])
    store = VectorStore(encoder.identity)
    end = time.monotonic() + 120
    while len(store) < 0.55 * len(texts) and time.monotonic() < end and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL, process.stdout.read()

    kept = len(VectorStore(encoder.identity))
    assert 0.55 * len(texts) <= kept < len(texts)
    counting = Counting(encoder)
    report = VectorStore(encoder.identity).encode_missing(counting, {"document": texts})
    assert report.n_encoded == len(counting.encoded) == len(texts) - kept
    sample = texts[::150]
    vectors = VectorStore(encoder.identity).get(sample, "document")
    np.testing.assert_allclose(vectors, encoder.encode(sample, "document"), atol=1e-5)
