"""Folders that are either whole or absent: written beside their place, then renamed into it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new folder beside ``path``; put it in the place of ``path`` when the block ends well.

    What was there before goes as a whole, so that no file of an older export is left. Nothing is left of a block that
    fails.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    try:
        new = work / "new"
        new.mkdir()
        yield new
        if target.exists():
            target.replace(work / "old")
        new.replace(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
