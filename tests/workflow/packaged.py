"""A small study that builds a benchmark: two aspects with a judge each, people beside one of them, and a package."""

from __future__ import annotations

import csv
import random
import shutil
from pathlib import Path
from typing import Any

from project import ROOT, Project, verse

POEMS, ASKED, GOLD, CANDIDATES = 12, 12, 3, 5
ASPECTS = ("emotion", "theme")
PACKAGE = "bench"
#: Setting -> split -> query set.
SETTINGS = {
    "emotion_cross": {"train": "emotion_train", "silver": "emotion_silver", "gold": "emotion_gold"},
    "theme_mono": {"train": "theme_train", "silver": "theme_silver"},
}


def language_of(poem: int) -> str:
    return "ar" if poem % 2 else "fa"


def score(query: int, poem: int) -> int:
    """What a judge says: a poem answers the query that it gave words to best, and hardly one of another language."""
    if query % 2 != poem % 2:
        return 0
    return 3 if poem == query else (query + poem) // 2 % 3


class Packaged(Project):
    """A corpus in two languages; the judges and the reader are files."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        shutil.copytree(ROOT / "resources/prompts", folder / "resources/prompts")
        poems = [
            {
                "poem_id": f"p{i:02}",
                "title": f"poem {i}",
                "poet": "Layla" if i % 3 else None,
                "language": language_of(i),
                "verses": [verse(10 * i + j) for j in range(3)],
            }
            for i in range(POEMS)
        ]
        self.write_rows("data/poems.jsonl", poems)
        for number, aspect in enumerate(ASPECTS):
            with (folder / f"data/{aspect}.csv").open("w", encoding="utf-8", newline="") as file:
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(["query_id", "text", "language"])
                for i in range(ASKED):
                    words = " ".join(poems[i]["verses"][number]).split()
                    rows.writerow([f"{aspect[0]}{i:02}", " ".join(random.Random(i).sample(words, 4)), language_of(i)])
            scores = [
                {"query_id": f"{aspect[0]}{i:02}", "poem_id": f"p{j:02}", "overall": score(i, j)}
                for i in range(ASKED)
                for j in range(POEMS)
            ]
            self.write_rows(f"data/{aspect}-judge.jsonl", scores)
        read = [
            {"query_id": f"e{i:02}", "poem_id": f"p{j:02}", "annotator": who, "grade": min(3, score(i, j) + more)}
            for i in range(ASKED)
            for j in range(POEMS)
            for who, more in (("amal", 0), ("basil", (i + j) % 2))
        ]
        self.write_rows("data/people.jsonl", read)
        self.study = self._study()
        self.save_study()

    def _study(self) -> dict[str, Any]:
        split = {"test": 0.5, "clusters": 2, "encoder": "use-m3", "gold": GOLD}
        sets: dict[str, Any] = {
            aspect: {
                "corpora": ["archive"],
                "path": f"data/{aspect}.csv",
                "purpose": "thematic",
                "judged": "later",
                "attributes": ["language"],
                "split": split,
            }
            for aspect in ASPECTS
        }
        sets["theme"]["within"] = "language"
        for setting, splits in SETTINGS.items():
            aspect = setting.partition("_")[0]
            for name, query_set in splits.items():
                part = {"train": "train", "silver": "test", "gold": "gold"}[name]
                by = {"sheet": "people"} if name == "gold" else {"judge": f"by-{aspect}"}
                sets[query_set] = {"corpora": ["archive"], "graded": {"of": aspect, "part": part} | by}
        corpus = {"adapter": "jsonl", "path": "data/poems.jsonl", "licence": "cc-by-4.0"}
        return {
            "study": "small",
            "title": "A small benchmark",
            "corpora": {"archive": corpus},
            "modes": {"verse": ["verse"]},
            "query_sets": sets,
            "systems": ["bm25", "use-m3"],
            "measures": ["nDCG@10"],
            "depth": 10,
            "bootstrap": 200,
            "flips": 999,
            "judging": {
                "depth": 3,
                "pooling": {"candidates": CANDIDATES, "depth": 6},
                "main": "by-theme",
                "judges": {
                    f"by-{aspect}": {
                        "rubric": f"resources/prompts/rubric-{aspect}.yaml",
                        "path": f"data/{aspect}-judge.jsonl",
                        "query_sets": [aspect],
                    }
                    for aspect in ASPECTS
                },
                "sheets": {
                    "people": {
                        "corpus": "archive",
                        "query_set": "emotion",
                        "part": "gold",
                        "files": ["data/people.jsonl"],
                    }
                },
            },
            "packages": {PACKAGE: {"corpus": "archive", "settings": SETTINGS}},
        }

    @property
    def package(self) -> Path:
        return self.results / "packages" / PACKAGE
