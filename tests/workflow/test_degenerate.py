"""Studies in which little or nothing can be estimated: tables, figures and the report say so, and say why."""

from __future__ import annotations

import html
import importlib
import pkgutil
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from degenerate import Asked, Degenerate, absent, far, first, kind, near, never, quoted_first, silent, strict
from in_process import run_in_process

from verseir import analyses, tables
from verseir.judging import judgements
from verseir.tables import Table, read_table

WORDS, VECTORS = {"signal": "lexical"}, {"signal": "dense"}
EAST = {"corpora": ["east"]}
THEMATIC = {"purpose": "thematic"}
LATER = {"judged": "later"}
SEVEN, NEUTRAL = "rubric-thematic", "rubric-thematic-neutral"

PUBLISHED = """
source: nowhere
title: A paper
read_from: itself
figures:
  - id: slope
    place: p. 1
    quantity: a slope
    printed: "0.5"
    unit: score
    lookup: {table: quotation_slopes, where: {query_set: one, threshold: 3, measure: MRR}, value: estimate}
  - id: change
    place: p. 2
    quantity: a change
    printed: "0.5"
    unit: score
    lookup: {table: edits, where: {query_set: cut}, value: estimate}
"""


def every(i: int) -> bool:
    return True


def none(i: int) -> bool:
    return False


def every_other(i: int) -> bool:
    return i % 2 == 1


def register(i: int) -> str:
    return "quoting" if i % 2 else "abstract"


def edited(source: str, rule: str, **options: str) -> tuple[None, dict[str, Any]]:
    """A query set that is made from another on the corpus ``east``."""
    return None, EAST | {"edit": {"of": source, "rule": rule, **options}}


def many_sets(folder: Path) -> Degenerate:
    """Query sets of every odd kind; a corpus without the base mode; sheets with one grade in all, and no judge."""
    project = Degenerate(
        folder,
        corpora={
            "east": {},
            "plain": {"bare": True, "explained": False, "modes": ["verse"]},
            "west": {"modes": ["ai"]},
        },
        query_sets={
            "mixed": (Asked(8, every_other, register=register), EAST),
            "quoting": (Asked(6, every), EAST),
            "not-quoting": (Asked(6, none), EAST),
            "single": (Asked(1, every), EAST),
            "one-poem": (Asked(6, every_other, poem=lambda i: 3), EAST),
            "several": (Asked(6, every_other, also=2), EAST),
            "both": (Asked(6, every_other, register=register), {"corpora": ["east", "plain"]}),
            "elsewhere": (Asked(6, every_other), {"corpora": ["west"]}),
            "later": (Asked(4, every_other, judged=False), EAST | THEMATIC | LATER),
            "known-later": (Asked(4, every_other, judged=False), EAST | LATER),
            "themes": (Asked(4, none, also=3), EAST | THEMATIC | {"register": "thematic"}),
        },
        systems={
            "words": (quoted_first, WORDS),
            "near": (near, VECTORS),
            "far": (far, VECTORS),
            "unsigned": (near, {}),
            "fused": (None, {"kind": "fusion", "arms": ["words", "near"]}),
        },
        judging={
            "query_sets": ["themes"],
            "sheets": {
                "answers": {"corpus": "east", "query_set": "themes"},
                "misses": {"corpus": "east", "query_set": "mixed", "system": "words", "n": 3},
                "nothing": {"corpus": "east", "query_set": "mixed"},
                "begun": {"corpus": "east", "query_set": "themes", "files": ["data/begun.jsonl"]},
                "faith": {"corpus": "east", "explanations": "ai", "n": 4},
            },
        },
    )
    grades = [{"query_id": f"themes-q{i}", "poem_id": "poem-0", "grade": "" if i else "1"} for i in range(4)]
    project.write_rows("data/begun.jsonl", grades)
    return project


def constant(folder: Path) -> Degenerate:
    """Every system finds every poem at once, or none."""
    return Degenerate(
        folder,
        corpora={"east": {}},
        query_sets={"found": (Asked(6, every_other, register=register), EAST)},
        systems={
            "words": (first, WORDS),
            "near": (first, VECTORS),
            "far": (never, VECTORS),
            "farther": (never, VECTORS),
        },
    )


def alone(folder: Path) -> Degenerate:
    """One system; one query of each kind; edited sets without a query; families and figures that it cannot tell."""
    project = Degenerate(
        folder,
        corpora={"east": {"modes": ["verse"]}},
        query_sets={
            "one": (Asked(1, every, more=False), EAST),
            "not-quoting": (Asked(6, none), EAST),
            "cut": edited("not-quoting", "delete-quoted"),
            "cut-one": edited("one", "delete-quoted"),
            "grown": edited("one", "append-half-verse", verse="opening"),
            "theme": (Asked(1, none), EAST | THEMATIC),
        },
        systems={"bm25": (None, {"kind": "bm25"})},
        judges={"kind": (kind, SEVEN), "strict": (strict, SEVEN)},
        analyses={
            "normalisation": {},
            "published": {"file": "data/published.yaml"},
            "families": [
                {"family": "slopes", "table": "quotation_slopes", "where": {"threshold": 3, "measure": "MRR"}},
                {"family": "edits", "table": "edits"},
            ],
        },
    )
    (project.folder / "data" / "published.yaml").write_text(PUBLISHED, encoding="utf-8")
    return project


def dense(folder: Path) -> Degenerate:
    """Only dense systems; no measure is a recall, and one is analysed, which is not the main one."""
    return Degenerate(
        folder,
        corpora={"east": {}},
        query_sets={
            "quoting": (Asked(6, every), EAST),
            "mixed": (Asked(6, every_other), EAST),
            "cut": edited("mixed", "delete-quoted"),
            "grown": edited("quoting", "append-half-verse", verse="opening"),
            "themes": (Asked(5, none, also=1), EAST | THEMATIC),
        },
        systems={"near": (near, VECTORS), "far": (far, VECTORS)},
        judges={"kind": (kind, SEVEN), "neutral": (kind, NEUTRAL)},
        measures=["MRR", "nDCG@10"],
        analyses={"measures": ["MRR"]},
    )


def lexical(folder: Path) -> Degenerate:
    """Only lexical systems, and a base mode that is not the verses."""
    return Degenerate(
        folder,
        corpora={"east": {}},
        query_sets={"mixed": (Asked(8, every_other, register=register), EAST)},
        systems={"words": (quoted_first, WORDS), "terms": (far, WORDS)},
        analyses={"base_mode": "ai"},
    )


def fused(folder: Path) -> Degenerate:
    """Only a fusion, whose arms are no systems of the study."""
    return Degenerate(
        folder,
        corpora={"east": {}},
        query_sets={"mixed": (Asked(6, every_other), EAST)},
        systems={
            "words": (quoted_first, WORDS | {"arm": True}),
            "near": (near, VECTORS | {"arm": True}),
            "fused": (None, {"kind": "fusion", "arms": ["words", "near"]}),
        },
    )


def thematic(folder: Path) -> Degenerate:
    """No known-item query set."""
    return Degenerate(
        folder,
        corpora={"east": {}},
        query_sets={
            "themes": (Asked(4, none, also=3), EAST | THEMATIC),
            "later": (Asked(4, none, judged=False), EAST | THEMATIC | LATER),
        },
        systems={"words": (quoted_first, WORDS), "near": (near, VECTORS)},
        judges={"kind": (kind, SEVEN), "stray": (absent, SEVEN), "silent": (silent, NEUTRAL)},
    )


def unjudged(folder: Path) -> Degenerate:
    """No query has a relevant poem."""
    return Degenerate(
        folder,
        corpora={"east": {"bare": True}},
        query_sets={
            "later": (Asked(4, none, judged=False), EAST | THEMATIC | LATER),
            "known-later": (Asked(4, none, judged=False), EAST | LATER),
            "cut": edited("known-later", "delete-quoted"),
        },
        systems={"words": (quoted_first, WORDS), "near": (near, VECTORS)},
        judges={"stray": (absent, SEVEN)},
    )


def limited(folder: Path) -> Degenerate:
    """Runs of some places only: no two systems searched the same, and one query set was searched by none."""
    return Degenerate(
        folder,
        corpora={"east": {}},
        query_sets={
            "mixed": (Asked(8, every_other, register=register), EAST),
            "others": (Asked(6, every_other), EAST),
            "nobody": (Asked(6, every_other), EAST),
            "cut": edited("mixed", "delete-quoted"),
            "grown": edited("mixed", "append-half-verse", verse="final"),
        },
        systems={
            "words": (quoted_first, WORDS | {"only": [{"modes": ["verse"], "query_sets": ["mixed", "cut"]}]}),
            "near": (near, VECTORS | {"only": [{"modes": ["ai"], "query_sets": ["mixed", "grown"]}]}),
            "far": (far, VECTORS | {"only": [{"query_sets": ["others"]}]}),
        },
    )


STUDIES: dict[str, Callable[[Path], Degenerate]] = {
    make.__name__: make for make in (many_sets, constant, alone, dense, lexical, fused, thematic, unjudged, limited)
}

#: What the report of each study says.
SAID = {
    "many_sets": [
        "Later queries of east: not estimable: no query of the set has a relevant poem.",
        "known-later (known-item, none with a relevant poem)",
        "west is not indexed in mode verse",
        "On not-quoting, east, slopes are not estimable: no query quotes.",
        "On single, east, slopes are not estimable: every query quotes.",
        "the queries of a stratum share one poem",
        "On single, east, for 5 systems the comparison is not estimable: one query.",
        "100.0% of 1 query shares 3 words in a row with a poem that they ask for",
        "No query quotes its poem on not-quoting, east: whether quoted spans stand in other poems is not estimable.",
        "No test could be made against",
        "How far judges can be trusted Not estimable: no judge has judged results of this study.",
    ],
    "constant": [
        "the slope of every system is 0.000 Recall@5",
        "for 4 systems the comparison is not estimable: the value is the same for every query",
        "Model east/found/verse: not estimable: no outcome to model; far left out: it never succeeds",
        "Recall@5 changes by 0.000 for every system",
        "MRR equals Recall@5 in every row.",
    ],
    "alone": [
        "bm25 scores 1.000 (interval not estimable) in mode verse (Recall@5, 1 query).",
        "cut: not estimable: no query was edited.",
        "cut-one: not estimable: no query was edited (1 rejected).",
        "grown: not estimable: no query was edited.",
        "Not estimable: no two systems were measured on one query set.",
        "Not estimable: no system was measured in mode verse and in another.",
        "not estimable: there is one run alone, nothing to fuse",
        "Of the families that the study declares, no test could be made.",
        "Of 2 printed figures: 2 open.",
        "kind and strict on theme, east: rho not estimable: a judge gives one score to all",
        "kind by overall and strict by overall on theme, east: not estimable: fewer than three systems.",
    ],
    "dense": [
        "the subsets with a lexical arm against the subsets without one: not estimable: no run is lexical",
        "On quoting, east, slopes are not estimable: every query quotes.",
        "its other queries where they quote",
        "cut on east (3 queries) changes MRR by:",
        "the best was picked on the same queries",
    ],
    "lexical": ["This study lacks a dense encoder", "not estimable: every run is lexical", "Mode verse in place of ai"],
    "fused": [
        "It is the only system: there is no comparison.",
        "the slope of fused is",
        "not estimable: no outcome to model; fusions are left out",
        "Not estimable: there is no run of a single system on a query set with relevant poems.",
    ],
    "thematic": [
        "Not estimable: no known-item query set was measured in the base mode.",
        "Not estimable: no corpus has both a known-item and a thematic query set that were measured.",
        "No check could be made: no known-item query set was searched.",
        "stray (seven aspects) judged 0 of 14 items of themes on east; 14 unjudged, and scored nowhere.",
        "silent (neutral) judged 0 of 14 items of themes on east; 14 refused, and scored nowhere.",
        "kind and stray on themes, east: not estimable: no item was scored by both.",
    ],
    "unjudged": [
        "No mean is estimable: no query of the study has a relevant poem.",
        "cut: not estimable: no query was edited (4 rejected).",
        "Of all tests in all tables, no test could be made.",
        "No measured query of this study names its register",
        "Not estimable: no query has a poem that it asks for.",
        "later on east: not estimable: nothing that it put first was judged.",
    ],
    "limited": [
        "nobody (known-item, which no system searched)",
        "No lexical and dense system were both searched in mode verse at both ends of the scale.",
        "grown: not estimable: no system searched both it and mixed in mode verse.",
        "This study has no tested difference",
    ],
}

#: Numbers that are no numbers, as words.
NO_NUMBER = re.compile(r"(?<![\w-])(?:NaN|nan|None|null|[+-]?inf)(?![\w-])")
#: Columns of what some rows do not have: the p of a second test, a share that chance would give, the size of an index,
#: the cost of a judge that is a file.
BESIDE = {
    *("p_t", "p_permutation", "p_meng", "p_steiger", "p_hittner", "p_williams"),
    *("by_chance", "index_mb", "cost"),
    *("proximity", "proximity_low", "proximity_high"),  # empty where a study has no reference encoder
}
#: Reasons in the rows' own words.
OWN = (
    "alike on every query",
    "the systems score alike on every query",
    "all queries score alike",
    "the system's own",
    "the corpus has no duplicates",
    "folding changes no query",
    "no interval: ",
    "no p: ",
    "no share: ",
    "not tested",
    "tested as ",
)


def contracts() -> dict[str, Table]:
    """The contract of every table of a study, by name."""
    modules = [
        importlib.import_module(f"verseir.analyses.{one.name}") for one in pkgutil.iter_modules(analyses.__path__)
    ]
    return {
        value.name: value
        for module in (tables, judgements, *modules)
        for value in vars(module).values()
        if isinstance(value, Table)
    }


def words_of(page: str) -> str:
    """The text of a page, without its figures, scripts and the manifest, on one line."""
    bare = re.sub(r"<(script|style|svg|pre|summary)\b.*?</\1>", " ", page, flags=re.DOTALL)
    spans = re.sub(r"</?(?:span|bdi|b|i|code|small)\b[^>]*>", "", bare)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", spans)))


@pytest.fixture(scope="module", params=list(STUDIES))
def finished(request, tmp_path_factory):
    """Each study, run once."""
    project = STUDIES[request.param](tmp_path_factory.mktemp(request.param) / "project")
    project.failed, project.name = run_in_process(project), request.param
    return project


def test_every_job_ends_well(finished):
    assert finished.failed == []


def test_every_table_keeps_its_contract(finished):
    known, found = contracts(), sorted((finished.results / "tables").glob("*.csv"))
    assert len(found) > 30
    for path in found:
        read_table(path, known[path.stem])


def test_nothing_that_is_written_holds_a_number_that_is_none(finished):
    written = [path for part in ("tables", "paper") for path in sorted((finished.results / part).iterdir())]
    written += sorted((finished.results / "figures").glob("*.svg"))
    texts = {path: path.read_text(encoding="utf-8") for path in written}
    page = (finished.results / "report" / "index.html").read_text(encoding="utf-8")
    texts[Path("report")] = words_of(page)
    found = {path.name: match[0] for path, text in texts.items() if (match := NO_NUMBER.search(text))}
    assert found == {}


def test_a_row_without_a_number_says_why(finished):
    known, silent = contracts(), []
    for path in sorted((finished.results / "tables").glob("*.csv")):
        table = read_table(path, known[path.stem])
        floats = [name for name, dtype in table.schema.items() if dtype == pl.Float64 and name not in BESIDE]
        for row in table.iter_rows(named=True):
            absent = [name for name in floats if row[name] is None]
            note = row.get("note") or ""
            explained = "not estimable" in note or note.startswith(OWN) or (row.get("verdict") == "open" and note)
            if absent and not explained:
                silent.append((path.stem, absent, note))
    assert silent == []


def test_the_report_says_what_is_not_estimable_and_why(finished):
    words = words_of((finished.results / "report" / "index.html").read_text(encoding="utf-8"))
    for sentence in SAID[finished.name]:
        assert sentence in words
    assert "not estimable: not estimable" not in words.lower()
    assert "0 of 0" not in words


def test_sheets_are_drawn_also_where_nobody_graded_them(finished):
    sheets = finished.study.get("judging", {}).get("sheets", {})
    pages = {path.parent.name: path for path in (finished.results / "sheets").glob("*/*.html")}
    assert set(pages) == set(sheets)
    if sheets:
        lengths = {name: len(pl.read_csv(next(path.parent.glob("*.csv")))) for name, path in pages.items()}
        assert lengths["answers"] == lengths["begun"] > lengths["faith"] == 4
        assert (lengths["misses"], lengths["nothing"]) == (3, 0)
