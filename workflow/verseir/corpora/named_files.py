"""Files whose names are not fixed: the first of several names that a folder or a hub data set has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from verseir.corpora.hub import source_file
from verseir.faults import Fault, InputFaults, UserError, closest


class Source(NamedTuple):
    """A file: where it is, what messages call it, and its name within the folder or data set."""

    path: Path
    label: str
    name: str


def find_files(spec: Mapping[str, Any], base: Path, names: Sequence[str], what: str, field: str = "") -> list[Source]:
    """The files that have the first of ``names`` that any has; with ``*`` in a name, all that fit, in their order.

    Args:
        spec: of a corpus, with the folder ``path``, or with ``hub`` and perhaps its ``folder``.
        base: folder that a relative ``path`` starts from.
        names: of the files within the folder.
        what: they hold, for messages.
        field: of the spec that names them, for messages.

    Raises:
        InputFaults: there is no such file, with all the names that were looked for.
        UserError: the data set cannot be had, or a file is not the one that ``sha256`` pins.
    """
    hub = spec.get("hub")
    there = _of_hub(hub) if hub else ()
    for name in names:
        if hub:
            found = sorted(known for known in there if fnmatchcase(known, name))
        else:
            folder = base / spec["path"]
            paths = folder.glob(name) if "*" in name else [folder / name]
            found = sorted(path.relative_to(folder).as_posix() for path in paths if path.is_file())
        if found:
            return [Source(*source_file(spec, base, one), one) for one in found]
    label = f"{hub['id']}@{hub.get('revision') or 'main'}" if hub else str(spec["path"])
    hint = f"looked for {', '.join(names)}"
    hint += f"; if it has another name: {field}" if field else ""
    raise InputFaults([Fault(label, 0, "", f"has no file of {what}", hint)])


def local_files(spec: Mapping[str, Any], base: Path, names: Sequence[str]) -> list[Path]:
    """The files of this machine that ``find_files`` would find: none of a hub, and none where there is none."""
    if "path" not in spec:
        return []
    try:
        return [source.path for source in find_files(spec, base, names, "")]
    except InputFaults:
        return []


def _of_hub(hub: Mapping[str, Any]) -> list[str]:
    """The names of the files of a data set, or of a folder of it, within it. Raises UserError as ``listed`` does."""
    folder = str(hub.get("folder") or "").strip("/")
    before = f"{folder}/" if folder else ""
    names = [name.removeprefix(before) for name in listed(hub["id"], hub.get("revision")) if name.startswith(before)]
    for pinned in sorted(set(hub.get("sha256") or {}) - set(names)):
        raise UserError(f"hub.sha256 pins '{pinned}', which is no file of the data set", closest(pinned, names))
    return names


@lru_cache(maxsize=16)
def listed(hub_id: str, revision: str | None) -> tuple[str, ...]:
    """The names of all files of a hub data set at a revision; without a network, of those in the hub's cache.

    Raises UserError when they can be had from neither, or the hub refuses.
    """
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    at = f"the hub data set '{hub_id}' at revision '{revision or 'main'}'"
    try:
        return tuple(sorted(HfApi().list_repo_files(hub_id, repo_type="dataset", revision=revision)))
    except HfHubHTTPError as error:
        raise UserError(
            f"the hub refused {at}: {error}", "check id and revision; a gated set needs `hf auth login`"
        ) from error
    except Exception as error:  # the errors of its connection are of a library that is not ours to name
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    try:
        folder = Path(snapshot_download(hub_id, repo_type="dataset", revision=revision, local_files_only=True))
    except (LocalEntryNotFoundError, OSError, ValueError) as error:
        hint = (
            "it is not in the cache and the hub was not asked or not reached: unset HF_HUB_OFFLINE and connect; or run "
            f"`hf download --repo-type dataset {hub_id} --revision {revision or 'main'}` on a machine with a network "
            "and copy its cache here; or put its files in a folder, and give that as 'path' in place of 'hub'"
        )
        raise UserError(f"cannot list the files of {at}: {reason}", hint) from error
    return tuple(sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()))
