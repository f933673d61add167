"""A copy of the project with a small study over two corpora, to run and to edit."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
PARTS = ["Snakefile", "workflow", "config", "envs", "profiles", "pyproject.toml"]

WORDS = """
ليل نجم ريح رمل نخل جبل بحر سيف درع خيل فجر شمس قمر نهر غيم برق ورد غصن طير صقر دار باب درب جار ضيف نار
كتاب قلم حبر علم صبر شوق دمع عين قلب روح عمر شيب موت قبر عهد وعد صدق غدر مال فقر بخل جود مجد فخر
""".split()


def verse(seed: int) -> list[str]:
    """A verse of eight words, another one for each seed."""
    words = random.Random(seed).choices(WORDS, k=8)
    return [" ".join(words[:4]), " ".join(words[4:])]


class Project:
    """A folder with the project's files and a study ``small``: corpora ``east`` and ``west``, BM25 and one encoder."""

    def __init__(self, folder: Path, poems: int = 8):
        self.folder = folder
        folder.mkdir(parents=True)
        for part in PARTS:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc"))
            else:
                shutil.copy(source, folder / part)
        (folder / "data").mkdir()
        corpora, query_sets = {}, {}
        for shift, name in enumerate(["east", "west"]):
            rows = [
                {"poem_id": f"{name}-{i}", "verses": [verse(1000 * shift + 10 * i + j) for j in range(5)]}
                for i in range(poems)
            ]
            self.write_rows(f"data/{name}.jsonl", rows)
            queries = [
                {
                    "query_id": f"{name}-q{i}",
                    "register": "quoting" if i % 2 else "abstract",
                    "text": row["verses"][i % 5][0],
                    "relevant": [row["poem_id"]],
                }
                for i, row in enumerate(rows)
            ]
            self.write_rows(f"data/{name}-queries.jsonl", queries)
            corpora[name] = {"adapter": "jsonl", "path": f"data/{name}.jsonl", "language": "ar"}
            query_sets[f"{name}-set"] = {"corpora": [name], "path": f"data/{name}-queries.jsonl"}
        self.study = {
            "study": "small",
            "corpora": corpora,
            "modes": {"verse": ["verse"]},
            "query_sets": query_sets,
            "systems": ["bm25", "use-m3"],
            "measures": ["Recall@5", "MRR"],
            "bootstrap": 500,
            "flips": 999,
        }
        self.save_study()

    def save_study(self, study: dict | None = None) -> None:
        text = yaml.safe_dump(study or self.study, allow_unicode=True, sort_keys=False)
        (self.folder / "study.yaml").write_text(text, encoding="utf-8")

    def write_rows(self, path: str, rows: list[dict]) -> None:
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (self.folder / path).write_text("".join(lines), encoding="utf-8")

    def read_rows(self, path: str) -> list[dict]:
        return [json.loads(line) for line in (self.folder / path).read_text(encoding="utf-8").splitlines()]

    def command(self, *arguments: str) -> list[str]:
        options = ["--cores", "2", "--resources", "gpu=1", "--configfile", "study.yaml"]
        return [sys.executable, "-m", "snakemake", *arguments, *options]

    def environment(self) -> dict[str, str]:
        plain = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VERSEIR_CACHE")}
        return plain | {"HF_HUB_OFFLINE": "1", "NUMBA_CACHE_DIR": str(self.folder / ".cache" / "numba")}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Snakemake on the study; stdout and stderr together."""
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )

    def kill_when(self, ready: Callable[[], Any], *arguments: str, seconds: float = 200) -> None:
        """Run Snakemake on the study and kill it with all its jobs as soon as ``ready``, or when the time is over."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command, where = self.command(*arguments), {"cwd": self.folder, "env": self.environment()}
        running = subprocess.Popen(command, **where, **quiet, start_new_session=True)
        deadline = time.monotonic() + seconds
        while not ready() and time.monotonic() < deadline and running.poll() is None:
            time.sleep(0.005)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        assert self.run("--unlock").returncode == 0  # a killed Snakemake leaves its lock behind

    def jobs(self, *arguments: str) -> dict[str, int]:
        """The rules that a dry run would run, with their number of jobs; empty where nothing is to be done."""
        told = self.run("-n", *arguments)
        assert told.returncode == 0, told.stdout
        table = told.stdout.rpartition("Job stats:")[2]
        return {
            name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE) if name != "total"
        }

    @property
    def results(self) -> Path:
        return self.folder / "results" / "small"
