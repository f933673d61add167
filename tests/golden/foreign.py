"""Another Python, with packages that this project does not install: what its tests are held against."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

PYTHON = os.environ.get("VERSEIR_MTEB_PYTHON", "")


def needs(packages: str) -> pytest.MarkDecorator:
    """Skips tests where no such Python is named; ``packages`` says what it must have."""
    return pytest.mark.skipif(not PYTHON, reason=f"VERSEIR_MTEB_PYTHON names no Python with {packages}")


def run_foreign(code: str, job: Any, folder: Path) -> Any:
    """What ``code`` prints as its last line, as JSON; it reads ``job`` so from standard input, without a network."""
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    homes = {"HF_HOME": str(folder / ".hf"), "MTEB_CACHE": str(folder / ".mteb"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [PYTHON, "-c", code],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        env=plain | homes,
        timeout=600,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.strip().split("\n")[-1])
