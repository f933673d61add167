"""What sets that are searched within an attribute cannot find, or leave out, is told before the first job."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from poetry_benchmark import benchmark, write_rows

from verseir.__main__ import main
from verseir.corpora.poetrymteb import Setting

MONO = Setting("theme", "mono", "gold")
KINDS = ("poetry", "beir", "path")


class Given:
    """Six poems each in ENG and ARA, and two queries with two relevant poems in their language; changed, then read."""

    def __init__(self, kind: str) -> None:
        self.kind, self.later = kind, False
        self.poems = benchmark(("ARA", "ENG"), n_poems=6, n_queries=2, asked=[MONO]).poems
        self.asked = {"q1": "ENG", "q2": "ARA"}
        self.grades = [
            ("q1", "eng_000000", 3),
            ("q1", "eng_000001", 1),
            ("q2", "ara_000000", 2),
            ("q2", "ara_000001", 1),
        ]

    def write(self, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
        """The corpus and the query set in the config."""
        if self.kind == "poetry":
            asked = [{"_id": q, "text": q, "target_document_language": code} for q, code in self.asked.items()]
            judged = [{"query-id": q, "corpus-id": p, "score": grade} for q, p, grade in self.grades]
            write_rows(folder / "c/poems_all.jsonl", self.poems)
            write_rows(folder / "c/queries_theme_mono/gold.jsonl", asked)
            write_rows(folder / "c/qrels_theme_mono/gold.jsonl", judged)
            setting = {"corpus": "c", "aspect": "theme", "scope": "mono", "split": "gold"}
            return {"adapter": "poetrymteb", "path": "c"}, {"poetry": setting, "purpose": "thematic"}
        texts = [(row["id"], row["content"], row["language"]) for row in self.poems]
        if self.kind == "beir":
            known = [{"_id": i, "text": text, "metadata": {"language": code}} for i, text, code in texts]
            asked = [{"_id": q, "text": q, "metadata": {"language": code}} for q, code in self.asked.items()]
            write_rows(folder / "c/corpus.jsonl", known)
            write_rows(folder / "c/queries.jsonl", asked)
            rows = ["query-id\tcorpus-id\tscore", *(f"{q}\t{p}\t{grade}" for q, p, grade in self.grades)]
            (folder / "c/qrels").mkdir(exist_ok=True)
            (folder / "c/qrels/test.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
            query_set = {"beir": {"corpus": "c", "split": "test"}, "attributes": ["language"]}
            return {"adapter": "beir", "path": "c"}, query_set
        known = [{"poem_id": i, "verses": text.split("\n"), "language": code} for i, text, code in texts]
        relevant = {q: {p: grade for one, p, grade in self.grades if one == q} for q in self.asked}
        asked = [{"query_id": q, "text": q, "language": c, "relevant": relevant[q]} for q, c in self.asked.items()]
        write_rows(folder / "c/poems.jsonl", known)
        write_rows(folder / "c/queries.jsonl", asked)
        return {"adapter": "jsonl", "path": "c/poems.jsonl"}, {"path": "c/queries.jsonl", "attributes": ["language"]}


@pytest.fixture
def checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The faults and the warnings that the check tells."""
    monkeypatch.chdir(tmp_path)

    def check(given: Given, **more: Any) -> tuple[list[str], list[str]]:
        corpus, query_set = given.write(tmp_path)
        query_set |= {"corpora": ["c"], "within": "language", "judged": "now"} | more
        modes = {"poem": ["verse"], "title": ["title", "verse"]}
        options = {"corpora": {"c": corpus}, "query-sets": {"s": query_set}, "modes": modes}
        main(["check_inputs", *(f"--{key}={json.dumps(value)}" for key, value in options.items()), "--output=i.json"])
        told = capsys.readouterr()
        lines = [line.removeprefix("  - ") for line in told.err.split("\n") if line.startswith("  - ")]
        return lines, [line[9:] for line in told.out.split("\n") if line.startswith("warning: ")]

    return check


@pytest.mark.parametrize("kind", KINDS)
def test_what_can_be_found_is_told_of_by_nothing(checked, kind: str) -> None:
    assert checked(Given(kind)) == ([], [])


@pytest.mark.parametrize("kind", KINDS)
def test_a_language_in_two_spellings_parts_the_poems(checked, kind: str) -> None:
    given = Given(kind)
    for row in given.poems[7:10]:
        row["language"] = "eng"
    faults, _ = checked(given)
    assert faults[0] == (
        "corpus c [language]: 'ENG' (3 poems) and 'eng' (3 poems) differ by capitals alone,"
        " and their poems are searched apart"
    )
    assert len(faults) == 1  # not one for each judgement


@pytest.mark.parametrize("kind", ("beir", "path"))
def test_two_codes_of_one_language_are_a_warning(checked, kind: str) -> None:
    given = Given(kind)
    for row in given.poems[9:]:
        row["language"] = "en"
    random.Random(1).shuffle(given.poems)
    told = "corpus c: 'ENG' (3 poems) and 'en' (3 poems) may be one language, and are searched apart"
    assert checked(given) == ([], [told])


@pytest.mark.parametrize("kind", ("beir", "path"))
def test_poems_without_a_language_are_counted(checked, kind: str) -> None:
    given = Given(kind)
    for row in given.poems[8:]:
        row["language"] = None
    told = "4 of 12 poems in c have no 'language', and no query of the set is searched among them"
    assert checked(given) == ([], [f"query set s: {told}"])


@pytest.mark.parametrize("kind", ("beir", "path"))
def test_a_query_with_no_relevant_poem_in_its_language_is_refused(checked, kind: str) -> None:
    given = Given(kind)
    given.asked["q1"] = "ARA"
    faults, _ = checked(given)
    told = "query 'q1': none of its 2 relevant poems has the language 'ARA', within which it is searched in c"
    assert faults == [f"c/queries.jsonl:1 [relevant]: {told}"]
    given.grades.append(("q1", "ara_000003", 1))
    faults, warnings = checked(given)
    assert faults == []
    told = (
        "2 relevant poems of 1 query cannot be found within the language of the query in c; most of 'q1' (2 of its 3)"
    )
    assert warnings == [f"query set s: {told}"]


def test_a_query_that_is_judged_later_may_have_none(checked) -> None:
    given = Given("path")
    given.asked["q1"] = "ARA"
    faults, warnings = checked(given, judged="later")
    assert faults == [] and len(warnings) == 1


def test_many_queries_out_of_reach_are_counted(checked) -> None:
    given = Given("path")
    given.asked = {f"q{n:02}": "ARA" for n in range(30)}
    given.grades = [(query, "eng_000000", 1) for query in given.asked]
    faults, _ = checked(given)
    assert len(faults) == 11
    assert faults[-1].startswith("c/queries.jsonl:11 [relevant]: and 20 more like this: query 'q10': its only relevant")
