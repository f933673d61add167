"""Vectors on disk, found by the string that was encoded: encoded once, kept through a kill, shared by all studies.

A store is a folder of shards. A shard is two files that never change: ``<name>.npy`` (float32 [n, d]) and, renamed
into place after it, ``<name>.keys`` (a header with sizes and checksums, then n keys of 16 bytes). Several processes may
write at once: each makes shards of its own.
"""

from __future__ import annotations

import logging
import os
import re
import struct
import time
import uuid
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

import numpy as np

from verseir.atomic import atomic_path
from verseir.faults import UserError
from verseir.systems.identity import KEY_BYTES, Identity, Role
from verseir.systems.progress import Progress
from verseir.systems.readings import Prepared, Reading
from verseir.systems.sources import cache_folder

log = logging.getLogger(__name__)

HEADER = struct.Struct("<8sIIII")  # magic, rows, columns, checksum of the keys, checksum of the vectors' file
MAGIC = b"verseir1"


class BatchEncoder(Protocol):
    """What a store asks of an encoder (see ``encoder.Encoder``)."""

    @property
    def key(self) -> str: ...

    def batches(self, prepared: list[Prepared], role: Role) -> Iterator[tuple[np.ndarray, np.ndarray]]: ...


#: The most seconds that a vector waits to be written.
LONGEST = 30.0
#: A line for each call that encoded: texts, seconds, device.
SPEEDS = "speeds.csv"


@dataclass(frozen=True)
class EncodeReport:
    """What ``encode_missing`` did: distinct prepared strings, those encoded now, and the seconds that took."""

    n_texts: int
    n_encoded: int
    seconds: float


class Speed(NamedTuple):
    """Texts per second, and the device that encoded them."""

    texts_per_second: float
    device: str


class VectorStore:
    """The vectors of one encoder.

    Args:
        identity: of the encoder; its weights are not needed to read vectors.
        root: the folder of all stores, by default ``vectors`` in the cache folder.
    """

    def __init__(self, identity: Identity, root: Path | None = None):
        self.identity = identity
        self.folder = (root or cache_folder() / "vectors") / identity.key
        self._places: dict[bytes, tuple[str, int]] = {}
        self._known: set[str] = set()
        self._checked: set[str] = set()

    def missing(self, texts: Sequence[str | Reading], role: Role) -> list[Prepared]:
        """The distinct prepared strings of ``texts`` that have no vector yet, in their order."""
        return list(self._missing(list(dict.fromkeys(self.identity.prepare(texts, role))), role).values())

    def get(self, texts: Sequence[str | Reading], role: Role) -> np.ndarray:
        """float32 [n, d]: the vector of each text.

        Raises:
            UserError: some texts have none.
        """
        self._look()
        keys = self.identity.text_keys(self.identity.prepare(texts, role), role)
        self._check_shards_of(keys)
        lacking = len({key for key in keys if key not in self._places})
        if lacking:
            raise UserError(
                f"{lacking} of {len(set(keys))} texts have no vector of '{self.identity.name}' in {self.folder}",
                hint="run the encode step: it encodes what is missing",
            )
        by_shard: dict[str, list[tuple[int, int]]] = {}
        for position, key in enumerate(keys):
            name, row = self._places[key]
            by_shard.setdefault(name, []).append((row, position))
        vectors = np.empty((len(keys), self.identity.dimension), np.float32)
        for name, places in by_shard.items():
            rows, positions = np.array(sorted(places), np.int64).T
            vectors[positions] = np.load(self._vectors_path(name), mmap_mode="r")[rows]
        return vectors

    def encode_missing(
        self,
        encoder: BatchEncoder,
        texts_by_role: Mapping[Role, Sequence[str | Reading]],
        *,
        device: str = "cpu",
        flush_seconds: float = 1.0,
        flush_texts: int = 8192,
    ) -> EncodeReport:
        """Encode what has no vector yet. A killed call loses at most what it did since its last flush.

        Args:
            encoder: the encoder whose identity this store has.
            texts_by_role: texts of the queries and of the documents, or readings of them; repeats cost nothing.
            device: what the encoder runs on: its speed is told by it.
            flush_seconds, flush_texts: write a shard when either is reached. The seconds grow with the time spent, to
                a fiftieth of it, so that a long call leaves hundreds of shards, not thousands. No vector waits longer
                than 30: a shard is written before a batch that may last until then, going by those before it.

        Raises:
            UserError: the encoder is another one, or gives vectors of another length than promised.
        """
        if encoder.key != self.identity.key:
            raise UserError(f"{self.folder} holds the vectors of '{self.identity.name}', not those of {encoder.key}")
        started = time.monotonic()
        n_texts = 0
        planned: set[bytes] = set()
        work: list[tuple[Role, dict[bytes, Prepared]]] = []
        for role, texts in sorted(texts_by_role.items()):
            prepared = list(dict.fromkeys(self.identity.prepare(texts, role)))
            n_texts += len(prepared)
            missing = self._missing(prepared, role)
            work.append((role, {key: text for key, text in missing.items() if key not in planned}))
            planned.update(missing)
        with Progress(len(planned), self.identity.name) as progress:
            for role, new in work:
                writer = _Writer(self, list(new), flush_seconds, flush_texts)
                try:
                    for rows, vectors in encoder.batches(list(new.values()), role):
                        writer.add(rows, vectors)
                        progress.add(len(rows))
                finally:  # an interrupt or an error keeps what is done
                    writer.flush()
        seconds = time.monotonic() - started
        if planned:
            with (self.folder / SPEEDS).open("a", encoding="ascii") as stream:
                stream.write(f"\n{len(planned)},{seconds:.3f},{device}\n")  # a line that a kill tore ends here
        return EncodeReport(n_texts, len(planned), seconds)

    def speed(self, device: str) -> Speed | None:
        """How fast the vectors of this store were made, over all calls that ended well; None before the first.

        On ``device``; where nothing was encoded on it, on the one that encoded most.
        """
        try:
            told = (self.folder / SPEEDS).read_text(encoding="ascii")
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        texts: defaultdict[str, int] = defaultdict(int)
        seconds: defaultdict[str, float] = defaultdict(float)
        for n, spent, where in re.findall(r"^(\d+),(\d+\.\d{3}),(\w+)$", told, re.MULTILINE):
            texts[where] += int(n)
            seconds[where] += float(spent)
        usable = [where for where in sorted(texts) if seconds[where] > 0]
        if not usable:
            return None
        chosen = device if device in usable else max(usable, key=texts.__getitem__)
        return Speed(texts[chosen] / seconds[chosen], chosen)

    def __len__(self) -> int:
        """The number of prepared strings that have a vector."""
        self._look()
        return len(self._places)

    def add(self, keys: list[bytes], vectors: np.ndarray) -> None:
        """Write a shard: n keys and float32 [n, d]."""
        name = uuid.uuid4().hex
        with atomic_path(self._vectors_path(name)) as temporary:
            with temporary.open("wb") as stream:
                np.save(stream, np.ascontiguousarray(vectors, "<f4"))
                _sync(stream)
            checksum = _checksum(temporary)
        joined = b"".join(keys)
        with atomic_path(self._keys_path(name)) as temporary, temporary.open("wb") as stream:
            stream.write(HEADER.pack(MAGIC, *vectors.shape, zlib.crc32(joined), checksum) + joined)
            _sync(stream)
        self._known.add(name)
        self._checked.add(name)
        self._place(name, keys)

    def _missing(self, prepared: list[Prepared], role: Role) -> dict[bytes, Prepared]:
        """The distinct prepared strings without a vector, by their keys."""
        self._look()
        keys = self.identity.text_keys(prepared, role)
        self._check_shards_of(keys)
        return {key: text for key, text in zip(keys, prepared, strict=True) if key not in self._places}

    def _vectors_path(self, name: str) -> Path:
        return self.folder / f"{name}.npy"

    def _keys_path(self, name: str) -> Path:
        return self.folder / f"{name}.keys"

    def _look(self) -> None:
        """Take in the shards that were written since, by this process or another."""
        for path in sorted(self.folder.glob("*.keys")):
            name = path.stem
            if name not in self._known and not name.startswith("."):
                self._known.add(name)
                self._place(name, self._read_keys(name))

    def _place(self, name: str, keys: list[bytes]) -> None:
        for row, key in enumerate(keys):
            self._places.setdefault(key, (name, row))

    def _read_keys(self, name: str) -> list[bytes]:
        """The keys of a shard; none, with a warning, when one of its files is not whole."""
        content = self._keys_path(name).read_bytes()
        joined = content[HEADER.size :]
        if len(content) < HEADER.size or not content.startswith(MAGIC):
            return self._ignore(name, "its header is not whole")
        _, rows, columns, checksum, _ = HEADER.unpack(content[: HEADER.size])
        if len(joined) != rows * KEY_BYTES or zlib.crc32(joined) != checksum:
            return self._ignore(name, "its keys are not whole")
        vectors = self._vectors_path(name)
        whole = vectors.is_file() and vectors.stat().st_size >= 4 * rows * columns
        if not whole or columns != self.identity.dimension:
            return self._ignore(name, "its vectors are not whole")
        return [joined[start : start + KEY_BYTES] for start in range(0, len(joined), KEY_BYTES)]

    def _check_shards_of(self, keys: list[bytes]) -> None:
        """Compare the checksums of the shards that hold ``keys``, once each; forget a shard that has changed."""
        while unchecked := {self._places[key][0] for key in keys if key in self._places} - self._checked:
            for name in sorted(unchecked):
                self._checked.add(name)
                *_, checksum = HEADER.unpack(self._keys_path(name).read_bytes()[: HEADER.size])
                if _checksum(self._vectors_path(name)) != checksum:
                    self._ignore(name, "its vectors are not those that were written")
                    self._forget(name)

    def _forget(self, broken: str) -> None:
        """Place all keys again without the shard ``broken``: another one may hold the same strings."""
        names = sorted({name for name, _ in self._places.values()} | self._known)
        self._places = {}
        for name in names:
            if name != broken:
                self._place(name, self._read_keys(name))

    def _ignore(self, name: str, why: str) -> list[bytes]:
        log.warning("%s: ignored, %s; its texts will be encoded again", self._keys_path(name), why)
        return []


class _Writer:
    """Gathers batches and writes them as shards, by time and by number."""

    def __init__(self, store: VectorStore, keys: list[bytes], seconds: float, texts: int):
        self.store, self.keys, self.seconds, self.texts = store, keys, seconds, texts
        self.rows: list[np.ndarray] = []
        self.parts: list[np.ndarray] = []
        self.started = self.flushed = self.added = self.oldest = time.monotonic()
        self.gap = 0.0

    def add(self, rows: np.ndarray, vectors: np.ndarray) -> None:
        promised = self.store.identity.dimension
        if vectors.shape[1] != promised:
            raise UserError(
                f"'{self.store.identity.name}' gives vectors of length {vectors.shape[1]}, not {promised}",
                hint="correct `dimension` of its entry in the registry",
            )
        now = time.monotonic()
        if not self.rows:
            self.oldest = now
        self.rows.append(rows)
        self.parts.append(vectors)
        self.gap = max(now - self.added, self.gap / 2)  # how long the next batch may take
        self.added = now
        due = now - self.flushed >= max(self.seconds, (now - self.started) / 50)
        if due or now + self.gap - self.oldest >= LONGEST or sum(map(len, self.rows)) >= self.texts:
            self.flush()

    def flush(self) -> None:
        if self.rows:
            self.store.add([self.keys[row] for row in np.concatenate(self.rows)], np.concatenate(self.parts))
        self.rows, self.parts, self.flushed = [], [], time.monotonic()


def _checksum(path: Path) -> int:
    """CRC-32 of a file: it finds torn and decayed files, not forged ones."""
    value = 0
    with path.open("rb") as stream:
        while block := stream.read(2**22):
            value = zlib.crc32(block, value)
    return value


def _sync(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())
