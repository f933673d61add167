"""Small studies of imported runs in which little or nothing can be estimated."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import yaml
from project import ROOT, Project, verse

from verseir.judging.rubrics import read_rubric
from verseir.tables import RUN, write_table

POEMS, VERSES = 8, 5
STRANGE = ["سؤال", "جواب", "عنوان"]
ERAS = ("العصر الجاهلي", "العصر العباسي", "العصر الحديث")

#: Where a system ranks the poem that query number i asks for, 1 or more; 0 where it does not find it.
Place = Callable[[int], int]


def first(i: int) -> int:
    return 1


def never(i: int) -> int:
    return 0


def quoted_first(i: int) -> int:
    return 1 if i % 2 else 0


#: The score that a judge gives to a poem for query number i, by the number of the poem: 0 refuses, None is not judged.
Score = Callable[[int, int], int | None]


def kind(i: int, poem: int) -> int:
    return 1 + (2 * i + 3 * poem) % 5


def strict(i: int, poem: int) -> int:
    return 1


def silent(i: int, poem: int) -> int:
    return 0


def absent(i: int, poem: int) -> None:
    return None


def near(i: int) -> int:
    return 1 + i % 3


def far(i: int) -> int:
    return 2 + (5 * i) % 7


@dataclass(frozen=True)
class Asked:
    """Queries: number i asks for poem number ``poem(i)``, in words that stand in it in this order or the other way."""

    n: int
    quotes: Callable[[int], bool]
    poem: Callable[[int], int] = lambda i: i % POEMS
    register: Callable[[int], str | None] = lambda i: None
    also: int = 0
    judged: bool = True
    more: bool = True

    def rows(self, name: str, corpus: str) -> list[dict[str, Any]]:
        """The rows of its file; ``also`` more poems are relevant to each query, ``more`` adds words that none has."""
        found = []
        for i in range(self.n):
            words = " ".join(verse(10 * self.poem(i) + i % VERSES)).split()[:4]
            strange = STRANGE[: 1 + i % 3] if self.more else []
            relevant = [poem_id(corpus, (self.poem(i) + k) % POEMS) for k in range(1 + self.also)]
            row = {
                "query_id": f"{name}-q{i}",
                "text": " ".join([*(words if self.quotes(i) else words[::-1]), *strange]),
                "register": self.register(i),
                "relevant": relevant if self.judged else [],
            }
            found.append({key: value for key, value in row.items() if value is not None})
        return found


def poem_id(corpus: str, number: int) -> str:
    """Corpora of one text have one name for a poem, so that a query can be searched in each."""
    return f"poem-{number}"


class Degenerate(Project):
    """A study of corpora with the same poems, whose systems are imported runs."""

    def __init__(
        self,
        folder: Path,
        *,
        corpora: Mapping[str, Mapping[str, Any]],
        query_sets: Mapping[str, tuple[Asked | None, Mapping[str, Any]]],
        systems: Mapping[str, tuple[Place | None, Mapping[str, Any]]],
        judges: Mapping[str, tuple[Score, str]] | None = None,
        **study: Any,
    ):
        """A study that differs from the usual one by ``study``.

        Args:
            folder: to write it to.
            corpora: name -> its entry; with ``bare`` poems have no poet, era or genre, without ``explained`` no
                explanations.
            query_sets: name -> its queries (None: it is edited from another) and its entry.
            systems: name -> its ranks (None: it is no imported one) and its entry in the registry; with ``arm`` it is
                no system of the study itself.
            judges: name -> its scores of the thematic queries, and its rubric in ``resources/prompts``.
        """
        super().__init__(folder)
        self.study = {
            "study": "small",
            "registry": ["mine.yaml"],
            "corpora": {name: self._corpus(name, dict(entry)) for name, entry in corpora.items()},
            "modes": {"verse": ["verse"], "ai": ["explanation:ai"]},
            "query_sets": {},
            "systems": [name for name, (_, entry) in systems.items() if not entry.get("arm")],
            "depth": 10,
            "measures": ["Recall@5", "MRR"],
            "bootstrap": 200,
            "flips": 999,
            **study,
        }
        for name, (asked, entry) in query_sets.items():
            self.study["query_sets"][name] = dict(entry)
            if asked is not None:
                self.write_rows(f"data/{name}.jsonl", asked.rows(name, entry["corpora"][0]))
                self.study["query_sets"][name]["path"] = f"data/{name}.jsonl"
        registry = {}
        for name, (place, entry) in systems.items():
            registry[name] = {key: value for key, value in entry.items() if key != "arm"}
            if place is not None:
                path = f"given/{{corpus}}/{{mode}}/{{query_set}}/{name}.parquet"
                registry[name] |= {"kind": "imported", "path": path}
                self._rank(name, place, query_sets)
        shutil.copytree(ROOT / "resources" / "prompts", folder / "resources" / "prompts")
        for name, (score, rubric) in (judges or {}).items():
            entry = {"rubric": f"resources/prompts/{rubric}.yaml", "path": f"data/{name}.jsonl"}
            self.study.setdefault("judging", {"depth": 3}).setdefault("judges", {})[name] = entry
            self.write_rows(entry["path"], self._scores(score, entry["rubric"], query_sets))
        (self.folder / "mine.yaml").write_text(yaml.safe_dump(registry, allow_unicode=True), encoding="utf-8")
        self.save_study()

    def _corpus(self, name: str, entry: dict[str, Any]) -> dict[str, Any]:
        bare, explained = entry.pop("bare", False), entry.pop("explained", True)
        rows = []
        for i in range(POEMS):
            row = {"poem_id": poem_id(name, i), "verses": [verse(10 * i + j) for j in range(VERSES)]}
            if not bare:
                row |= {"poet": f"poet {i % 3}", "era": ERAS[i % 3], "genre": "مدح" if i % 2 else "غزل"}
            if explained:
                row["explanations"] = {"ai": [" ".join(verse(5000 + 10 * i + j)) for j in range(VERSES)]}
            rows.append(row)
        self.write_rows(f"data/{name}.jsonl", rows)
        return {"adapter": "jsonl", "path": f"data/{name}.jsonl", "language": "ar", **entry}

    def _scores(
        self, score: Score, rubric: str, query_sets: Mapping[str, tuple[Asked | None, Mapping[str, Any]]]
    ) -> list[dict[str, Any]]:
        """The rows of a judge's file: all poems for all thematic queries, or one of no item of a pool."""
        aspects, rows = read_rubric(ROOT / rubric).ids, []
        for name, (asked, entry) in query_sets.items():
            for i in range(asked.n if asked and entry.get("purpose") == "thematic" else 0):
                for poem in range(POEMS):
                    said = score(i, poem)
                    row = {"query_set": name, "query_id": f"{name}-q{i}", "poem_id": poem_id("", poem)}
                    if said is not None:
                        rows.append(row | (dict.fromkeys(aspects, said) if said else {"status": "refused"}))
        return rows or [{"item_id": "i000000000000", **dict.fromkeys(aspects, 1)}]

    def _rank(
        self, system: str, place: Place, query_sets: Mapping[str, tuple[Asked | None, Mapping[str, Any]]]
    ) -> None:
        """Write the runs of a system: of an edited set those of its source, under the ids of the edited queries."""
        for name, (asked, entry) in query_sets.items():
            source = asked or query_sets[entry["edit"]["of"]][0]
            assert source is not None
            ids = [f"{name}-q{i}" for i in range(source.n)] if asked else _edited_ids(source, entry["edit"])
            rows = [
                (query_id, poem_id("", number), rank, float(100 - rank), None)
                for i, query_id in enumerate(ids)
                if query_id
                for rank, number in enumerate(_order(source.poem(i), place(i)), start=1)
            ]
            run = pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")
            for corpus in entry["corpora"]:
                for mode in self.study["corpora"][corpus].get("modes", self.study["modes"]):
                    write_table(run, self.folder / "given" / corpus / mode / name / f"{system}.parquet", RUN)


def _edited_ids(source: Asked, edit: Mapping[str, Any]) -> list[str]:
    """The ids of the edited queries, in the order of their originals; empty for those that cannot be edited."""
    if edit["rule"] == "delete-quoted":  # nothing is left of a query that is a quotation and no more
        suffix, can = "delete-quoted", [source.more and source.quotes(i) for i in range(source.n)]
    else:
        suffix, can = f"append-{edit['verse']}", [not source.quotes(i) for i in range(source.n)]
    return [f"{edit['of']}-q{i}~{suffix}" if can[i] else "" for i in range(source.n)]


def _order(gold: int, place: int) -> Iterable[int]:
    """The poems in the order in which they are ranked."""
    others = [number for number in range(POEMS) if number != gold]
    return [*others[: place - 1], gold, *others[place - 1 :]] if place else others
