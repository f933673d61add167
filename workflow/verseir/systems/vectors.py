"""Vectors on disk, found by the string that was encoded: encoded once, kept through a kill, shared by all studies.

A store is a folder of shards. A shard is two files that never change: ``<name>.npy`` (float32 [n, d]) and, renamed into
place after it, ``<name>.keys`` (a header with sizes and checksums, then n keys of 16 bytes). Several processes may write
at once: each makes shards of its own.
"""

from __future__ import annotations

import hashlib
import logging
import os
import struct
import time
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np

from verseir.atomic import atomic_path
from verseir.faults import UserError
from verseir.systems.prepare import Role
from verseir.systems.progress import Progress
from verseir.systems.sources import cache_folder

log = logging.getLogger(__name__)

HEADER = struct.Struct("<8sIIII")  # magic, rows, columns, checksum of the keys, checksum of the vectors' file
MAGIC = b"verseir1"
KEY_BYTES = 16


class Source(Protocol):
    """What a store asks of an encoder (see ``encoders.Encoder``)."""

    @property
    def key(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def prepare(self, texts: list[str], role: Role) -> list[str]: ...

    def batches(self, prepared: list[str], role: Role) -> Iterator[tuple[np.ndarray, np.ndarray]]: ...


@dataclass(frozen=True)
class EncodeReport:
    """What ``encode_missing`` did: distinct strings asked for, those encoded now, and the seconds that took."""

    n_texts: int
    n_encoded: int
    seconds: float


def store_root() -> Path:
    """The folder of all stores."""
    return cache_folder() / "vectors"


class VectorStore:
    """The vectors of one encoder, in ``root / encoder_key``. Strings are prepared ones, see ``prepare.prepare``."""

    def __init__(self, root: Path, encoder_key: str):
        self.folder = Path(root) / encoder_key
        self.encoder_key = encoder_key
        self._places: dict[bytes, tuple[str, int]] = {}
        self._known: set[str] = set()
        self._checked: set[str] = set()

    def missing(self, prepared: Sequence[str]) -> list[str]:
        """The distinct strings that have no vector yet, in their order."""
        self._look()
        distinct = list(dict.fromkeys(prepared))
        keys = _keys(distinct)
        self._check_shards_of(keys)
        return [text for text, key in zip(distinct, keys, strict=True) if key not in self._places]

    def get(self, prepared: Sequence[str]) -> np.ndarray:
        """float32 [n, d]: the vector of each string.

        Raises:
            UserError: some strings have none.
        """
        self._look()
        keys = _keys(prepared)
        self._check_shards_of(keys)
        lacking = len({key for key in keys if key not in self._places})
        if lacking:
            raise UserError(
                f"{lacking} of {len(set(keys))} texts have no vector in {self.folder}",
                hint="run the encode step: it encodes what is missing",
            )
        by_shard: dict[str, list[tuple[int, int]]] = {}
        for position, key in enumerate(keys):
            name, row = self._places[key]
            by_shard.setdefault(name, []).append((row, position))
        vectors = np.empty((0, 0), np.float32)
        for name, places in by_shard.items():
            shard = np.load(self._vectors_path(name), mmap_mode="r")
            if not vectors.size:
                vectors = np.empty((len(keys), shard.shape[1]), np.float32)
            rows, positions = np.array(sorted(places), np.int64).T
            vectors[positions] = shard[rows]
        return vectors

    def encode_missing(
        self,
        encoder: Source,
        texts_by_role: Mapping[Role, Sequence[str]],
        *,
        flush_seconds: float = 5.0,
        flush_texts: int = 8192,
    ) -> EncodeReport:
        """Encode what has no vector yet. A killed call loses at most what it did since its last flush.

        Args:
            encoder: the encoder whose key this store has.
            texts_by_role: texts of the queries and of the documents, not prepared; repeats cost nothing.
            flush_seconds, flush_texts: write a shard when either is reached.

        Raises:
            UserError: the encoder is another one, or gives vectors of another length than promised.
        """
        if encoder.key != self.encoder_key:
            raise UserError(f"{self.folder} does not hold the vectors of '{encoder.name}'", hint=f"its key is {encoder.key}")
        started = time.monotonic()
        asked: set[str] = set()
        work: list[tuple[Role, list[str]]] = []
        for role, texts in sorted(texts_by_role.items()):
            prepared = [text for text in dict.fromkeys(encoder.prepare(list(texts), role)) if text not in asked]
            asked.update(prepared)
            work.append((role, self.missing(prepared)))
        total = sum(len(texts) for _, texts in work)
        with Progress(total, encoder.name) as progress:
            for role, prepared in work:
                writer = _Writer(self, _keys(prepared), encoder.dimension, flush_seconds, flush_texts)
                try:
                    for rows, vectors in encoder.batches(prepared, role):
                        writer.add(rows, vectors)
                        progress.add(len(rows))
                finally:  # an interrupt or an error keeps what is done
                    writer.flush()
        return EncodeReport(len(asked), total, time.monotonic() - started)

    def __len__(self) -> int:
        """The number of strings that have a vector."""
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
        if not vectors.is_file() or vectors.stat().st_size < 4 * rows * columns:
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

    def __init__(self, store: VectorStore, keys: list[bytes], dimension: int, seconds: float, texts: int):
        self.store, self.keys, self.dimension, self.seconds, self.texts = store, keys, dimension, seconds, texts
        self.rows: list[np.ndarray] = []
        self.parts: list[np.ndarray] = []
        self.flushed = time.monotonic()

    def add(self, rows: np.ndarray, vectors: np.ndarray) -> None:
        if vectors.shape[1] != self.dimension:
            raise UserError(
                f"the encoder gives vectors of length {vectors.shape[1]}, not {self.dimension}",
                hint="correct `dimension` of its entry in the registry",
            )
        self.rows.append(rows)
        self.parts.append(vectors)
        if time.monotonic() - self.flushed >= self.seconds or sum(map(len, self.rows)) >= self.texts:
            self.flush()

    def flush(self) -> None:
        if self.rows:
            self.store.add([self.keys[row] for row in np.concatenate(self.rows)], np.concatenate(self.parts))
        self.rows, self.parts, self.flushed = [], [], time.monotonic()


def _keys(prepared: Sequence[str]) -> list[bytes]:
    return [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest() for text in prepared]


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
