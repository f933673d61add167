"""What is wrong with the judges, sheets and language models of a study: unknown names, keys out of place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from verseir.faults import Fault, closest
from verseir.labelling import sheet_rubric
from verseir.study import Study

#: What a sheet of each kind may say beside its corpus, guidelines and n.
SHEET_KEYS = {
    "thematic": {"query_set", "depth", "systems", "modes", "part", "rubric", "files"},
    "known-item": {"query_set", "system", "mode", "measure", "files"},
    "explanations": {"explanations", "files"},
}


def model_faults(spec: Mapping[str, Any], where: str) -> Iterator[Fault]:
    """Parts of the study that need exactly one language model, or file in its place, and have none or several."""
    for name, query_set in spec["query_sets"].items():
        if query_set.get("edit", {}).get("rule") == "rewrite-by-model":
            yield from _one_of(query_set["edit"], ("endpoint", "model"), f"query_sets.{name}.edit", where)
    for name, corpus in spec["corpora"].items():
        for source, given in corpus.get("explanations", {}).items():
            if isinstance(given, dict):
                yield from _one_of(given, ("endpoint", "model"), f"corpora.{name}.explanations.{source}", where)
    for name, judge in spec.get("judging", {}).get("judges", {}).items():
        yield from _one_of(judge, ("path", "endpoint", "model"), f"judging.judges.{name}", where)
        if "path" in judge and "queries" in judge:
            yield Fault(where, 0, f"judging.judges.{name}.queries", "a file of scores says itself what it judges")


def _one_of(given: Mapping[str, Any], keys: tuple[str, ...], field: str, where: str) -> Iterator[Fault]:
    found = [key for key in keys if key in given]
    if len(found) != 1:
        yield Fault(where, 0, field, f"needs exactly one of {', '.join(keys)}; found {found or 'none'}")
    for key, model in ((key, given[key]) for key in found if key == "model"):
        places = [place for place in ("path", "hub") if place in model]
        if len(places) != 1:
            yield Fault(where, 0, f"{field}.{key}", f"needs exactly one of path, hub; found {places or 'none'}")
        if "hub" in model and "revision" not in model:
            yield Fault(
                where, 0, f"{field}.{key}", "a model of a hub needs its `revision`", "the 40 hex digits of a commit"
            )
    prices = [key for key in ("prompt_price", "completion_price") if key in given.get("endpoint", {})]
    if len(prices) == 1:
        yield Fault(where, 0, f"{field}.endpoint.{prices[0]}", "costs need both prices, or none")


def judging_faults(study: Study, where: str) -> Iterator[Fault]:
    """Judges and sheets that name what the study does not have. The defaults of sheets are not filled in yet."""
    asked = study.judging
    if not asked:
        return

    def unknown(names: Iterable[str], known: Iterable[str], field: str, what: str) -> Iterator[Fault]:
        for name in names:
            if name not in known:
                yield Fault(where, 0, f"judging.{field}", f"unknown {what} '{name}'", closest(name, list(known)))

    thematic = study.judgeable_sets
    wanting = [key for key in ("query_sets", "judges") if asked.get(key)]
    if wanting and not thematic:
        problem = "no query set of the study is thematic, so there is nothing to judge"
        yield Fault(where, 0, f"judging.{wanting[0]}", problem, "`purpose: thematic` at the set that is judged")
    else:
        yield from unknown(asked.get("query_sets", []), thematic, "query_sets", "thematic query set")
    judged = asked.get("query_sets", thematic)
    for name in study.judges:
        own = asked["judges"][name].get("query_sets", [])
        yield from unknown(own, judged, f"judges.{name}.query_sets", "query set that is judged")
    yield from unknown([asked["main"]] if "main" in asked else [], study.judges, "main", "judge")
    if asked["depth"] > study.spec["depth"]:
        problem = f"{asked['depth']} poems are judged, but ranked lists hold {study.spec['depth']}"
        yield Fault(where, 0, "judging.depth", problem, f"depth: {asked['depth']}")
    for name, sheet in sorted(asked["sheets"].items()):
        yield from _sheet_faults(study, name, sheet, unknown, where)


def _sheet_faults(study: Study, name: str, sheet: Mapping[str, Any], unknown: Any, where: str) -> Iterator[Fault]:
    field = f"sheets.{name}"
    yield from unknown([sheet["corpus"]], study.corpora, f"{field}.corpus", "corpus")
    given = [key for key in ("query_set", "explanations") if key in sheet]
    if len(given) != 1:
        problem = f"needs exactly one of query_set, explanations; found {given or 'none'}"
        yield Fault(where, 0, f"judging.{field}", problem)
        return
    if "query_set" in sheet:
        sets = study.query_sets_for("thematic", "known-item")
        if sheet["query_set"] not in sets:
            yield from unknown([sheet["query_set"]], sets, f"{field}.query_set", "thematic or known-item query set")
            return
        searched = study.spec["query_sets"][sheet["query_set"]]["corpora"]
        if sheet["corpus"] in study.corpora and sheet["corpus"] not in searched:
            problem = f"{sheet['query_set']} is not searched in {sheet['corpus']}"
            yield Fault(where, 0, f"judging.{field}.corpus", problem, closest(sheet["corpus"], searched))
        judged = study.judging.get("query_sets", study.judgeable_sets)
        if study.kind_of(dict(sheet)) == "thematic" and sheet["query_set"] not in judged:
            problem = f"{sheet['query_set']} is not judged, so it has no pool to draw from"
            yield Fault(where, 0, f"judging.{field}.query_set", problem, "add it to judging.query_sets")
    elif sheet["corpus"] in study.corpora:
        sources = study.spec["corpora"][sheet["corpus"]].get("explanations", {})
        inside = study.spec["corpora"][sheet["corpus"]]["adapter"] in ("jsonl", "csv", "fannorflop")
        if not inside:  # such corpora may bring sources of their own
            yield from unknown([sheet["explanations"]], sources, f"{field}.explanations", "source of explanations")
    kind = study.kind_of(dict(sheet))
    for key in sorted(set(sheet) - SHEET_KEYS[kind] - {"corpus", "guidelines", "n"}):
        problem = f"does not belong to a sheet of this kind ({kind})"
        yield Fault(where, 0, f"judging.{field}.{key}", problem, "take it out")
    if kind == "explanations" and sheet.get("files"):
        hint = f"corpora.{sheet['corpus']}.audits.{sheet['explanations']}: <file>"
        yield Fault(where, 0, f"judging.{field}.files", "audits of explanations stand beside their corpus", hint)
    if "part" in sheet and kind == "thematic":
        yield from _part_faults(study, name, sheet, where)
    for key, known in (("systems", study.spec["systems"]), ("modes", study.modes)):
        yield from unknown(sheet.get(key, []), known, f"{field}.{key}", key[:-1])
    for key, known in (("system", study.spec["systems"]), ("mode", study.modes), ("measure", study.spec["measures"])):
        yield from unknown([sheet[key]] if key in sheet else [], known, f"{field}.{key}", key)
    if sheet.get("depth", 1) > study.judging["depth"]:
        problem = f"{sheet['depth']} poems of a list, but the pool holds {study.judging['depth']} of each"
        yield Fault(where, 0, f"judging.{field}.depth", problem, f"judging.depth: {sheet['depth']}")


def _part_faults(study: Study, name: str, sheet: Mapping[str, Any], where: str) -> Iterator[Fault]:
    """What is wrong with a sheet of a part of a query set, which holds the pool of that part as a whole."""
    field, query_set, part = f"judging.sheets.{name}", sheet["query_set"], sheet["part"]
    split = study.spec["query_sets"][query_set].get("split")
    if split is None:
        hint = f"query_sets.{query_set}.split: {{}}"
        yield Fault(where, 0, f"{field}.part", f"{query_set} is not split", hint)
    elif part == "gold" and not split.get("gold"):
        problem = f"the split of {query_set} draws no queries for people"
        yield Fault(where, 0, f"{field}.part", problem, f"query_sets.{query_set}.split.gold: 12")
    for key in ("n", "depth", "systems", "modes"):
        if key in sheet:
            problem = "does not belong to a sheet of a part, which holds every item of its pool"
            yield Fault(where, 0, f"{field}.{key}", problem, "take it out")
    # A set without a pool has its own fault.
    judged = study.judging.get("query_sets", study.judgeable_sets)
    if query_set in judged and sheet_rubric(study, sheet) is None:
        problem = "no judge judges this query set, so nothing says on which scale people grade"
        yield Fault(where, 0, f"{field}.rubric", problem, "a rubric, such as resources/prompts/rubric-theme.yaml")


def named_files(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(key, path) of every file that judges, sheets and writers of explanations name."""
    for name, corpus in spec["corpora"].items():
        for source, given in corpus.get("explanations", {}).items():
            if isinstance(given, dict):
                yield f"corpora.{name}.explanations.{source}.prompt", given["prompt"]
    judging = spec.get("judging", {})
    for name, judge in judging.get("judges", {}).items():
        yield from ((f"judging.judges.{name}.{key}", judge[key]) for key in ("rubric", "path") if key in judge)
    for name, sheet in judging.get("sheets", {}).items():
        yield from ((f"judging.sheets.{name}.{key}", sheet[key]) for key in ("guidelines", "rubric") if key in sheet)
        yield from ((f"judging.sheets.{name}.files", file) for file in sheet["files"])


def missing_judging_files(spec: Mapping[str, Any], base: Path) -> list[Fault]:
    """Files that ``named_files`` gives and that are not there."""
    absent = ((key, path) for key, path in named_files(spec) if not (base / path).is_file())
    later = (
        "no scores yet? leave `judges` and what needs them out, make the pool (pool/<corpus>/<query set>.csv), score it"
    )
    return [
        Fault(path, 0, key, "there is no such file", later if ".judges." in key and key.endswith(".path") else "")
        for key, path in absent
    ]
