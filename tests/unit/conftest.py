"""What several unit tests stand on."""

from pathlib import Path

import pytest

from verseir.corpora import hub, named_files

#: The revision that the hub of ``on_hub`` has.
COMMIT = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture
def on_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub whose one data set is a folder: its files are listed and fetched from there."""
    snapshot = tmp_path / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    monkeypatch.setattr(hub, "fetch", lambda asked: snapshot / asked["file"])
    names = lambda *_: tuple(p.relative_to(snapshot).as_posix() for p in snapshot.rglob("*") if p.is_file())  # noqa: E731
    monkeypatch.setattr(named_files, "listed", names)
    return snapshot
