"""Who grades what: the query sets of each judge, and the rubric by which people fill in a sheet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from verseir.study import Study

#: What people are told where a rubric gives the scale.
GUIDELINES = "resources/prompts/guidelines-graded.md"


def judged_by(judging: Mapping[str, Any], judge: str) -> list[str]:
    """The query sets that a judge judges, sorted: those that it names, or all that are judged."""
    everything = judging.get("query_sets", [])
    return sorted(judging["judges"][judge].get("query_sets", everything))


def judge_places(study: Study) -> list[tuple[str, str, str]]:
    """(corpus, query set, judge) for each pool that each judge judges, sorted by query set, corpus and judge."""
    return [
        (corpus, query_set, judge)
        for corpus, query_set in study.judged_places
        for judge in study.judges
        if query_set in judged_by(study.judging, judge)
    ]


def speaking(judges: Iterable[str], main: str | None) -> str | None:
    """The judge that is spoken of where these have judged: ``main`` if it is among them, else the first by name."""
    there = sorted(judges)
    return main if main in there else next(iter(there), None)


def sheet_rubric(study: Study, sheet: Mapping[str, Any]) -> str | None:
    """The file of the rubric that gives a sheet its scale; None where the scale is that of sheets of its kind.

    A sheet of a part has that of the judge of its query set, so that people and the judge grade alike.
    """
    if "rubric" in sheet or "part" not in sheet:
        return sheet.get("rubric")
    judges, query_set = study.judging["judges"], sheet["query_set"]
    named = [judge for judge in judges if query_set in judges[judge].get("query_sets", [query_set])]
    judge = speaking(named, study.judging.get("main"))
    return judges[judge]["rubric"] if judge else None


def graded_sheet(study: Study, sheet: dict[str, Any]) -> None:
    """Fill in what a sheet with a rubric or of a part leaves to the rest of the study, before other defaults."""
    if rubric := sheet_rubric(study, sheet):
        sheet["rubric"] = rubric
        sheet.setdefault("guidelines", GUIDELINES)


def labelled_by(study: Study, query_set: str) -> dict[str, Any]:
    """Of a graded query set: what it is graded from, and the rubric, the model or the guidelines by which it was.

    Keys are those of ``graded``, and ``rubric``, ``guidelines`` and ``model`` where there are any; none for other sets.
    """
    asked = dict(study.spec["query_sets"][query_set].get("graded", {}))
    if "judge" in asked:
        judge = study.judging["judges"][asked["judge"]]
        local = judge.get("model", {})
        model = judge.get("endpoint", {}).get("model") or local.get("hub") or Path(local.get("path", "")).name
        return asked | {"rubric": judge["rubric"]} | ({"model": model} if model else {})
    if "sheet" in asked:
        sheet = study.judging["sheets"][asked["sheet"]]
        return asked | {key: sheet[key] for key in ("rubric", "guidelines") if key in sheet}
    return asked


def package_prompts(study: Study, package: Mapping[str, Any]) -> dict[str, str]:
    """What judges and people of a package read: name in its folder of prompts -> file."""
    found = {}
    for setting, splits in package["settings"].items():
        for query_set in splits.values():
            label = labelled_by(study, query_set)
            who = next((f"{kind}-{label[kind]}" for kind in ("judge", "sheet") if kind in label), "")
            for key, suffix in (("rubric", ".yaml"), ("guidelines", ".md")):
                if key in label:
                    found[f"{setting}/{who}{suffix}"] = label[key]
    return dict(sorted(found.items()))
