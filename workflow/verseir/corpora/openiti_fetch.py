"""Raw OpenITI files from GitHub: each pinned by repository, commit and path, and checked by its sha256."""

from __future__ import annotations

import hashlib
import http.client
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from verseir.atomic import atomic_path
from verseir.faults import Fault, InputFaults, UserError, closest
from verseir.rows import Row, read_delimited

BASE_URL = "https://raw.githubusercontent.com"
_PATTERNS = {
    "repository": re.compile(r"[\w.-]+/[\w.-]+"),
    "commit": re.compile(r"[0-9a-f]{40}"),
    "path": re.compile(r"(?!/)(?!.*(?:^|/)\.\.?(?:/|$)).*[^/]"),
    "bytes": re.compile(r"[1-9]\d*"),
    "sha256": re.compile(r"[0-9a-f]{64}"),
}
_EXPECTED = {
    "repository": "owner/name",
    "commit": "40 hex digits",
    "path": "a path inside the repository",
    "bytes": "a number",
    "sha256": "64 hex digits",
}
_BLOCK = 1 << 16
_SHOWN = 20


@dataclass(frozen=True)
class Source:
    """One row of a list of sources. ``columns`` are all its columns, those of the list's own (author, era) too."""

    repository: str
    commit: str
    path: str
    bytes: int
    sha256: str
    columns: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def name(self) -> str:
        """The name of the file, an OpenITI version URI."""
        return PurePosixPath(self.path).name


class _Unfetched(Exception):
    """Why one file was not fetched. ``everywhere``: the next file would fare no better."""

    def __init__(self, reason: str, everywhere: bool = False):
        self.everywhere = everywhere
        super().__init__(reason)


def read_sources(path: Path, label: str, select: Mapping[str, str] | None = None) -> list[Source]:
    """The list of sources at ``path`` (CSV), in the order of file names.

    ``label`` names the list in faults; ``select`` keeps the rows whose columns have these values.

    Raises:
        InputFaults: with every row that names no file, and with a ``select`` that no column or no row has.
    """
    faults: list[Fault] = []
    rows = read_delimited(path, label, faults)
    present = list(rows[0].values) if rows else []
    for name in (*_PATTERNS, *(select or ())):
        if rows and name not in present:
            faults.append(Fault(label, 1, name, "there is no such column", closest(name, present)))
    if faults:
        raise InputFaults(faults)
    for row in rows:
        for name, pattern in _PATTERNS.items():
            if not pattern.fullmatch(row.values[name]):
                faults.append(Fault(label, row.line, name, f"is '{row.values[name]}', expected {_EXPECTED[name]}"))
    if faults:
        raise InputFaults(faults)
    selected = [row for row in rows if all(row.values[name] == str(value) for name, value in (select or {}).items())]
    sources = [_source(row) for row in selected]
    lines: dict[str, int] = {}
    for row, source in zip(selected, sources, strict=True):
        if source.name in lines:
            problem = f"the file {source.name} is listed twice, first in line {lines[source.name]}"
            faults.append(Fault(label, row.line, "path", problem))
        lines.setdefault(source.name, row.line)
    if not sources:
        wanted = ", ".join(f"{name} = {value}" for name, value in (select or {}).items())
        faults.append(Fault(label, 0, "", f"no row has {wanted}" if wanted else "lists no file"))
    if faults:
        raise InputFaults(faults)
    return sorted(sources, key=lambda source: source.name)


def _source(row: Row) -> Source:
    values = row.values
    return Source(
        values["repository"], values["commit"], values["path"], int(values["bytes"]), values["sha256"], dict(values)
    )


def fetch(sources_csv: Path, target_dir: Path, base_url: str = BASE_URL) -> list[Path]:
    """Fetch the files of the list at ``sources_csv`` into ``target_dir``: see ``fetch_sources``."""
    return fetch_sources(read_sources(Path(sources_csv), str(sources_csv)), Path(target_dir), base_url)


def fetch_sources(
    sources: list[Source],
    target_dir: Path,
    base_url: str = BASE_URL,
    workers: int = 4,
    timeout: float = 30,
    pause: float = 1,
) -> list[Path]:
    """Fetch ``sources`` into ``target_dir`` under their file names; return the paths in the same order.

    A file that is there and has the right sha256 is not fetched again, so a second call goes on where the first
    stopped. A file is either whole and right, or absent.

    Args:
        base_url: of a host that serves ``<base_url>/<repository>/<commit>/<path>``.
        workers: downloads at a time.
        timeout: seconds without an answer after which a try has failed.
        pause: seconds before the second try; doubled before the third.

    Raises:
        UserError: naming every file that could not be fetched, and why.
    """
    targets = [target_dir / source.name for source in sources]
    wanted = [(source, path) for source, path in zip(sources, targets, strict=True) if not is_right(source, path)]
    hopeless = threading.Event()

    def attempt(source: Source, target: Path) -> str:
        if hopeless.is_set():
            return "not tried, for the host cannot be reached"
        try:
            _fetch_one(source, target, base_url, timeout, pause)
        except _Unfetched as error:
            if error.everywhere:
                hopeless.set()
            return str(error)
        return ""

    with ThreadPoolExecutor(max_workers=workers) as pool:
        reasons = list(pool.map(lambda pair: attempt(*pair), wanted))
    failed = [f"{source.name}: {reason}" for (source, _), reason in zip(wanted, reasons, strict=True) if reason]
    if failed:
        _raise_missing(failed, len(sources), f"fetched from {base_url}")
    return targets


def find_local(sources: list[Source], folder: Path, label: str) -> list[Path]:
    """The files of ``sources`` in ``folder`` or below it, matched by name and checked by sha256, in the same order.

    Raises:
        UserError: naming every file that is not there or is another version.
    """
    at: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")) if folder.is_dir() else []:
        if path.is_file():
            at.setdefault(path.name, []).append(path)
    found: list[Path] = []
    failed = []
    for source in sources:
        candidates = at.get(source.name, [])
        right = next((path for path in candidates if is_right(source, path)), None)
        if right:
            found.append(right)
        else:
            reason = "another version of it (its sha256 differs)" if candidates else "not there"
            failed.append(f"{source.name}: {reason}")
    if failed:
        _raise_missing(failed, len(sources), f"found in the folder '{label}'")
    return found


def is_right(source: Source, path: Path) -> bool:
    """Whether the file at ``path`` has the size and the sha256 of ``source``."""
    if not path.is_file() or path.stat().st_size != source.bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == source.sha256


def _raise_missing(failed: list[str], n: int, how: str) -> None:
    more = f"\n  ... and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
    listed = "".join(f"\n  - {line}" for line in failed[:_SHOWN])
    raise UserError(
        f"{len(failed)} of {n} OpenITI files could not be {how}:{listed}{more}",
        hint="either connect to the network and run again (files that are right are kept), or put the same files into "
        "a folder and name it in the study as 'local' beside 'sources' (they are matched by name, checked by sha256)",
    )


def _fetch_one(source: Source, target: Path, base_url: str, timeout: float, pause: float, tries: int = 3) -> None:
    url = f"{base_url.rstrip('/')}/{source.repository}/{source.commit}/{urllib.parse.quote(source.path)}"
    for left in range(tries - 1, -1, -1):
        try:
            _download(source, url, target, timeout)
            return
        except urllib.error.HTTPError as error:
            failure = _Unfetched(f"HTTP {error.code} {error.reason}")
            passing = error.code in (408, 429) or error.code >= 500
        except urllib.error.URLError as error:
            failure = _Unfetched(f"the host cannot be reached ({error.reason})", everywhere=True)
            passing = True
        except (OSError, http.client.HTTPException) as error:
            failure = _Unfetched(f"the connection was cut ({type(error).__name__})")
            passing = True
        if not passing or not left:
            raise failure
        time.sleep(pause * 2 ** (tries - 1 - left))


def _download(source: Source, url: str, target: Path, timeout: float) -> None:
    digest = hashlib.sha256()
    request = urllib.request.Request(url, headers={"User-Agent": "verseir"})
    with urllib.request.urlopen(request, timeout=timeout) as answer, atomic_path(target) as temporary:
        size = 0
        with temporary.open("wb") as file:
            while block := answer.read(_BLOCK):
                size += len(block)
                if size > source.bytes:
                    raise _Unfetched(f"has more than the {source.bytes} bytes that the list says")
                digest.update(block)
                file.write(block)
        if answer.length:  # bytes that were announced and never came; read(n) does not tell
            raise http.client.IncompleteRead(b"", answer.length)
        if digest.hexdigest() != source.sha256:
            raise _Unfetched(f"its sha256 is {digest.hexdigest()[:12]}..., the list says {source.sha256[:12]}...")
