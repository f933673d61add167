"""The file that a corpus is read from: on disk, or one file of a data set on the Hugging Face hub."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verseir.faults import UserError, closest

_COMMIT = re.compile(r"[0-9a-f]{40}")
#: What an adapter that reads one file, or a folder of files, takes as ``path`` in place of a data set.
_FILE, _FOLDER = "the file itself", "the folder that holds it"


def is_pinned(hub: Mapping[str, Any], name: str | None = None) -> bool:
    """Whether the spec says what the file ``name`` of the hub (``file`` when None) holds.

    It does by a commit (40 hexadecimal digits), not by a branch or tag, which can move; or by the sha256 of the file.
    """
    named = (name or hub.get("file")) in (hub.get("sha256") or {})
    return named or bool(_COMMIT.fullmatch(str(hub.get("revision") or "")))


def unpinned(spec: Mapping[str, Any], base: Path, name: str | None = None) -> list[str]:
    """A warning where the file of ``source_file`` is of the hub and can change there; else nothing."""
    hub = spec.get("hub")
    if not hub or is_pinned(hub, name):
        return []
    commit = resolved_revision(source_file(spec, base, name)[0])
    return [f"hub data set '{hub['id']}' is unpinned: revision '{hub.get('revision') or 'main'}' is now {commit}"]


def source_file(spec: Mapping[str, Any], base: Path, name: str | None = None) -> tuple[Path, str]:
    """The file to read for ``spec`` and the name to call it by in messages.

    A ``path`` starts from ``base``. A ``hub`` entry (``id``, ``file``, perhaps ``revision`` and ``sha256`` of the file
    by its name) is downloaded into the hub's cache, or found there. With ``name``, ``path`` is a folder that holds the
    file of that name, and so is ``folder`` of a ``hub`` entry (the data set itself where it is empty or absent).
    ``local``, a folder that is not there, is named where the file cannot be had.

    Raises UserError when a hub file can be had neither from the cache nor from the network, when it is not the one
    that ``sha256`` pins, or when ``path`` is a file where a folder is read.
    """
    if hub := spec.get("hub"):
        found = {**hub, "file": _hub_file(hub, name), "in_place": _FOLDER if name else _FILE}
        try:
            path = fetch(found)
        except UserError as error:
            if not spec.get("local"):
                raise
            place = f"put {name or found['file']} into the folder {spec['local']}, which is read in place of the hub"
            raise UserError(str(error.args[0]), f"{place}; or: {error.hint}") from error
        label = f"{hub['id']}@{hub.get('revision') or 'main'}/{found['file']}"
        if wanted := (hub.get("sha256") or {}).get(name or hub.get("file")):
            _check_content(path, label, wanted)
        return path, label
    if not spec.get("path"):
        raise UserError("a corpus names neither a 'path' nor a 'hub' data set", hint="path: poems.jsonl")
    path, label = base / spec["path"], str(spec["path"])
    if name and path.is_file():
        raise UserError(f"{label} is a file, and a folder is read", f"give the folder that holds {name} as 'path'")
    return (path / name, f"{label.rstrip('/')}/{name}") if name else (path, label)


def _hub_file(hub: Mapping[str, Any], name: str | None) -> str:
    """The file within a data set."""
    if name is not None:
        if "file" in hub:
            raise UserError(
                f"hub data set '{hub['id']}': the adapter reads a folder, not one 'file'", "hub.folder: test"
            )
        folder = str(hub.get("folder") or "").strip("/")
        return f"{folder}/{name}" if folder else name
    if not hub.get("file"):
        raise UserError(f"hub data set '{hub['id']}': no 'file' is named", hint="hub.file: data/poems.json")
    for other in sorted(set(hub.get("sha256") or {}) - {hub["file"]}):
        raise UserError(f"hub.sha256 pins '{other}', which is not read", closest(other, [hub["file"]]))
    return str(hub["file"])


def _check_content(path: Path, label: str, wanted: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != wanted.lower():
        raise UserError(
            f"{label} is not the file that the study pins: its sha256 is {found}, expected {wanted} ({path})",
            "the data set has changed, or the copy is damaged: name the revision that holds the file, hub.revision, or "
            "look at what changed and give the new sha256",
        )


def fetch(hub: Mapping[str, Any]) -> Path:
    """The local copy of one file of a hub data set; see ``source_file``. Nothing but this file is downloaded."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    revision = hub.get("revision") or "main"
    place = "folder" if hub.get("in_place") == _FOLDER else "file"
    what = f"'{hub['file']}' of the hub data set '{hub['id']}' at revision '{revision}'"
    try:
        return Path(hf_hub_download(hub["id"], hub["file"], repo_type="dataset", revision=revision))
    except LocalEntryNotFoundError as error:
        hint = (
            "it is not in the cache and the hub was not asked or not reached: unset HF_HUB_OFFLINE and connect; or run "
            f"`hf download --repo-type dataset {hub['id']} {hub['file']} --revision {revision}` on a machine with a "
            "network and copy its cache here; "
            f"or give {hub.get('in_place', _FILE)} as 'path' in place of 'hub'"
        )
        raise UserError(f"cannot get {what}", hint) from error
    except HfHubHTTPError as error:
        raise UserError(
            f"the hub refused {what}: {error}", f"check id, revision and {place}; a gated set needs `hf auth login`"
        ) from error
    except (OSError, ValueError) as error:
        raise UserError(f"cannot get {what}: {error}", f"check id, revision and {place}, and the connection") from error


def resolved_revision(path: Path) -> str | None:
    """The commit that a file in the hub's cache belongs to, or None for any other file."""
    parts = path.parts
    if "snapshots" in parts:
        commit = parts[len(parts) - 1 - parts[::-1].index("snapshots") + 1]
        if _COMMIT.fullmatch(commit):
            return commit
    return None
