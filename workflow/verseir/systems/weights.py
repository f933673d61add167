"""Weights are read from safetensors only. Pickled ones are refused, or rewritten once where the registry allows it."""

from __future__ import annotations

import json
import logging
import tempfile
from pathlib import Path

from verseir.faults import UserError
from verseir.systems.sources import cache_folder

log = logging.getLogger(__name__)


def safe_folder(folder: Path, name: str, identity: str, convert: bool) -> Path:
    """``folder``, or a copy of it in the cache whose weights are safetensors.

    Args:
        folder: a model in the layout of sentence-transformers or transformers.
        name: the name of the system, for messages.
        identity: what names the copy: it changes whenever the files of ``folder`` do.
        convert: whether pickled weights may be read, with PyTorch's restricted unpickler, to be rewritten.

    Raises:
        UserError: a part of the model has pickled weights only, and ``convert`` is false; or no weights at all.
    """
    pickled = pickled_parts(folder)
    if not pickled:
        return folder
    if not convert:
        files = ", ".join(sorted(str(path.relative_to(folder)) for path in pickled))
        raise UserError(
            f"the encoder '{name}' has pickled weights, which are not read: {files}",
            hint="choose a revision with safetensors, or set `weights: converted` if you trust the file",
        )
    target = cache_folder() / "models" / f"{name}-{_slug(identity)}"
    if not target.is_dir():
        _convert(folder, pickled, target)
    return target


def pickled_parts(folder: Path) -> list[Path]:
    """The pickled files of the parts of a model that have no safetensors beside them, sorted."""
    parts = [folder]
    listed = folder / "modules.json"
    if listed.is_file():
        modules = json.loads(listed.read_text(encoding="utf-8"))
        parts = sorted({folder / module["path"] for module in modules})
    return [
        path
        for part in parts
        if not any(part.glob("*.safetensors"))
        for path in sorted(part.glob("*.bin"))
        if path.name.startswith("pytorch_model")
    ]


def _convert(folder: Path, pickled: list[Path], target: Path) -> None:
    """Write ``target``: links to the files of ``folder``, and safetensors in place of the pickled ones."""
    import torch
    from safetensors.torch import save_file

    log.warning("rewriting pickled weights of %s as safetensors in %s", folder, target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".converted-") as temporary:
        made = Path(temporary) / "model"
        for path in sorted(folder.rglob("*")):
            copy = made / path.relative_to(folder)
            if path.is_file() and path not in pickled and path.name != "pytorch_model.bin.index.json":
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.symlink_to(path.resolve())
        for path in pickled:
            try:
                state = torch.load(path, map_location="cpu", weights_only=True)
            except Exception as error:  # the restricted unpickler refuses all but tensors
                raise UserError(f"{path} cannot be read as weights: {error}", hint="choose another revision") from error
            copy = (made / path.relative_to(folder)).with_name(path.name.replace("pytorch_model", "model"))
            copy.parent.mkdir(parents=True, exist_ok=True)
            # safetensors refuses tensors that share memory: tied weights are written twice
            tensors = {key: value.clone().contiguous() for key, value in state.items()}
            save_file(tensors, copy.with_suffix(".safetensors"), metadata={"format": "pt"})
        _rewrite_index(folder, made)
        try:
            made.rename(target)
        except OSError:
            if not target.is_dir():  # else another process was first: its folder is as good
                raise


def _rewrite_index(folder: Path, made: Path) -> None:
    """The index of a model in several files, with the names of the safetensors."""
    index = folder / "pytorch_model.bin.index.json"
    if index.is_file():
        text = index.read_text(encoding="utf-8").replace("pytorch_model", "model").replace(".bin", ".safetensors")
        (made / "model.safetensors.index.json").write_text(text, encoding="utf-8")


def _slug(identity: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in identity)[-60:]
