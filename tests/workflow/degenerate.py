"""Small studies of imported runs in which little or nothing can be estimated, and a way to run all their jobs fast."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import yaml
from project import Project, verse

from verseir.__main__ import main
from verseir.tables import RUN, write_table

POEMS, VERSES = 8, 5
STRANGE = ["سؤال", "جواب", "عنوان"]
ERAS = ("العصر الجاهلي", "العصر العباسي", "العصر الحديث")

_JOB = re.compile(r"^Reason: (?P<reason>.*)\nShell command: python -m verseir (?P<call>.*?) 2>&1 \| tee ", re.MULTILINE)
_WAITS = re.compile(r"Input files updated by another job: (.*?)(?:; |$)")

#: Where a system ranks the poem that query number i asks for, 1 or more; 0 where it does not find it.
Place = Callable[[int], int]


def first(i: int) -> int:
    return 1


def never(i: int) -> int:
    return 0


def quoted_first(i: int) -> int:
    return 1 if i % 2 else 0


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

    def run_here(self, *targets: str) -> list[str]:
        """Run the jobs that Snakemake would run, with the parameters that it would give, in this process.

        Returns the verbs that failed, with what they said: none, if all is well. Starting Python for each job is what a
        run of a small study costs.
        """
        told = self.run("-n", "-p", *targets)
        assert told.returncode == 0, told.stdout[-4000:]
        waiting = [(_waits(job["reason"]), shlex.split(job["call"])) for job in _JOB.finditer(told.stdout)]
        waiting.insert(0, ([], self._check()))
        with contextlib.chdir(self.folder):
            while waiting:
                ready = [job for job in waiting if all(map(os.path.exists, job[0]))]
                assert ready, f"jobs wait for what none makes: {waiting[0]}"
                for _, call in ready:
                    failed = _call(call)
                    if failed:
                        return [f"{call[0]}: {failed}"]
                waiting = [job for job in waiting if job not in ready]
        return []

    def _check(self) -> list[str]:
        """The check of all inputs, which Snakemake does before the first job, by the config that it was given."""
        from verseir.config import canonical, load_study

        spec = load_study(self.study, self.folder).spec
        options = {"--corpora": "corpora", "--query-sets": "query_sets", "--modes": "modes"}
        parts = [part for option, name in options.items() for part in (option, canonical(spec[name]))]
        return ["check_inputs", *parts, "--output", "results/small/inputs.json"]


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


def _waits(reason: str) -> list[str]:
    found = _WAITS.search(reason)
    return found[1].split(", ") if found else []


def _call(call: list[str]) -> str:
    """What a verb says when it fails; nothing where it does not."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        try:
            code = main(call)
        except (Exception, SystemExit) as error:  # whatever it is, a user would see it
            import traceback

            return told.getvalue() + "".join(traceback.format_exception(error)[-12:])
    return told.getvalue() if code else ""
