"""A project with a study of a small idiom benchmark, made up for the tests."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from project import Project

#: Expression -> what it means, in words that the expression does not share.
IDIOMS = {
    "spill the beans": "reveal a secret",
    "break the ice": "ease a stiff mood",
    "cold feet": "sudden doubt",
    "hit the sack": "go to sleep",
    "cut corners": "do careless work",
}
SPLITS = {"test": ["spill the beans", "break the ice", "cold feet"], "val": ["hit the sack", "cut corners"]}
SUBJECTS = ["Politics", "Sport"]
#: Documents of each use, for one idiom and subject.
PLAN = {"idiomatic": 2, "literal": 4, "sense": 2, "simplification": 2}
WORDS = """
team market garden river doctor painter train kitchen council harbour engine festival teacher window bridge letter
winter coach border picture history forest player market senator evening village station meeting summer
""".split()

KEEP = {
    "lit_sim_sense": {"usage": ["literal", "simplification", "sense"]},
    "lit_idiom": {"usage": ["literal", "idiomatic"]},
}
INSTRUCTION = "Retrieve documents in which a span means the same as '{span}' does here."


def item(draw: random.Random, name: str, idiom: str, subject: str, usage: str) -> dict[str, Any]:
    """A document or a query: made-up words around the idiom, or around what it means."""
    words = draw.choices(WORDS, k=12)
    span = idiom if usage in ("literal", "idiomatic") else IDIOMS[idiom]
    place = draw.randrange(3, 9)
    sentence = " ".join([*words[:place], span, *words[place:]]).capitalize() + "."
    return {
        "id": name,
        "sentence": sentence,
        "idiom": idiom,
        "span": span,
        "subject": subject,
        "usage": usage,
        "is_gold": draw.random() < 0.3,
    }


def write_split(folder: Path, idioms: list[str], seed: int) -> None:
    """Write ``indexes.json`` and ``queries.json`` of one split."""
    draw = random.Random(seed)
    documents, queries = [], []
    for number, idiom in enumerate(idioms, start=1):
        for at, subject in enumerate(SUBJECTS, start=1):
            place = f"{seed}{number:02d}_s{at:02d}"
            for usage, count in PLAN.items():
                documents += [item(draw, f"{place}_{usage}_{k}", idiom, subject, usage) for k in range(count)]
            queries += [item(draw, f"q_{place}_{usage}", idiom, subject, usage) for usage in ("idiomatic", "literal")]
    folder.mkdir(parents=True)
    (folder / "indexes.json").write_text(json.dumps(documents), encoding="utf-8")
    (folder / "queries.json").write_text(json.dumps(queries), encoding="utf-8")


class Idioms(Project):
    """The study ``small``: splits ``test`` and ``val``, tuned BM25 with both orders of ties, and MiniLM."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        for seed, (split, idioms) in enumerate(SPLITS.items(), start=1):
            write_split(folder / "data" / split, idioms, seed)
        self.study = {
            "study": "small",
            "registry": ["config/systems.yaml", "config/systems-idiolink.yaml"],
            "corpora": {split: {"adapter": "idiolink", "path": f"data/{split}", "language": "en"} for split in SPLITS},
            "modes": {mode: ["verse"] for mode in ("full", *KEEP)},
            "keep": KEEP,
            "query_sets": {
                "sentence": self.asked("sentence"),
                "span": self.asked("span"),
                "instruction_span": self.asked("instruction_span"),
                "val_sentence": {"corpora": [], "idioms": {"corpus": "val"}, "encoding": {"view": "sentence"}},
                "val_span": {"corpora": [], "idioms": {"corpus": "val"}, "encoding": {"view": "span"}},
            },
            "systems": ["bm25-okapi", "bm25-okapi-as-published", "all-minilm-l6-v2"],
            "measures": ["Rprec", "nDCG@10"],
            "depth": 20,
            "contrasts": [
                {"family": "against-best", "baseline": "best"},
                {"family": "ways-to-ask", "of": "query_sets", "baseline": "sentence"},
                {"family": "filters", "of": "modes", "baseline": "full", "measures": ["Rprec"], "per": ["system"]},
            ],
            "analyses": {"base_mode": "full", "measures": ["Rprec", "nDCG@10"], "reference_encoder": None},
            "bootstrap": 500,
            "flips": 999,
        }
        self.save_study()

    def asked(self, view: str) -> dict[str, Any]:
        """A query set of the test split."""
        encoding = {"view": view} | ({"instruction": INSTRUCTION} if view.startswith("instruction") else {})
        given = {"corpora": ["test"], "idioms": {"corpus": "test"}, "encoding": encoding}
        if view in ("sentence", "span"):
            given["validation"] = {"corpus": "val", "query_set": f"val_{view}"}
        return given
