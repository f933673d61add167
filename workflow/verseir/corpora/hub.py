"""The file that a corpus is read from: on disk, or one file of a data set on the Hugging Face hub."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from verseir.faults import UserError

_COMMIT = re.compile(r"[0-9a-f]{40}")


def is_pinned(hub: dict[str, Any]) -> bool:
    """Whether the spec names a commit (40 hexadecimal digits), not a branch or tag, which can move."""
    return bool(_COMMIT.fullmatch(str(hub.get("revision") or "")))


def source_file(spec: dict[str, Any], base: Path) -> tuple[Path, str]:
    """The file to read for ``spec`` and the name to call it by in messages.

    A ``path`` starts from ``base``. A ``hub`` entry (``id``, ``revision``, ``file``) is downloaded into the hub's
    cache, or found there.

    Raises UserError when a hub file can be had neither from the cache nor from the network.
    """
    if spec.get("hub"):
        hub = spec["hub"]
        return fetch(hub), f"{hub['id']}@{hub.get('revision') or 'main'}/{hub['file']}"
    if not spec.get("path"):
        raise UserError("a corpus names neither a 'path' nor a 'hub' data set", hint="path: poems.jsonl")
    return base / spec["path"], str(spec["path"])


def fetch(hub: dict[str, Any]) -> Path:
    """The local copy of one file of a hub data set; see ``source_file``. Nothing but this file is downloaded."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    revision = hub.get("revision") or "main"
    what = f"'{hub['file']}' of the hub data set '{hub['id']}' at revision '{revision}'"
    try:
        return Path(hf_hub_download(hub["id"], hub["file"], repo_type="dataset", revision=revision))
    except LocalEntryNotFoundError as error:
        hint = (
            "it is not in the cache and the hub was not asked or not reached: unset HF_HUB_OFFLINE and connect; or run "
            f"`hf download --repo-type dataset {hub['id']} {hub['file']} --revision {revision}` on a machine with a "
            "network and copy its cache here; or give the file itself as 'path' in place of 'hub'"
        )
        raise UserError(f"cannot get {what}", hint) from error
    except HfHubHTTPError as error:
        raise UserError(
            f"the hub refused {what}: {error}", "check id, revision and file; a gated set needs `hf auth login`"
        ) from error
    except (OSError, ValueError) as error:
        raise UserError(f"cannot get {what}: {error}", "check id, revision and file, and the connection") from error


def resolved_revision(path: Path) -> str | None:
    """The commit that a file in the hub's cache belongs to, or None for any other file."""
    parts = path.parts
    if "snapshots" in parts:
        commit = parts[len(parts) - 1 - parts[::-1].index("snapshots") + 1]
        if _COMMIT.fullmatch(commit):
            return commit
    return None
