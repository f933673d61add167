"""Building a benchmark on one's own corpus: query sets that are split, pooled and graded in the study itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from verseir.faults import Fault, closest
from verseir.layout import runs
from verseir.study import Study

#: What a graded set may say of itself, beside what is filled in for every set.
_OWN = {"corpora", "modes", "graded", "validation", "purpose", "judged", "strata"}


def fill_construction(study: Study) -> None:
    """Fill in what splits and pooling leave to the rest of the study, whose other defaults are filled in."""
    for query_set in study.spec["query_sets"].values():
        if "split" in query_set and study.analyses["reference_encoder"] is not None:
            query_set["split"].setdefault("encoder", study.analyses["reference_encoder"])
    pooling = study.judging.get("pooling")
    if pooling is not None:
        voters = [name for name in study.single_systems if name in study.shown_systems]
        pooling.setdefault("systems", voters or sorted(study.spec["systems"]))
        pooling.setdefault("mode", study.analyses["base_mode"])


def pooled_cross(study: Study, corpus: str, query_set: str) -> dict[str, Any]:
    """The cross of the runs that the pool of a query set in a corpus is made of."""
    pooling = study.judging.get("pooling")
    cross = study.cross_of(pooling["systems"] if pooling else study.spec["systems"])
    if pooling:
        modes = {name: [mode for mode in found if mode == pooling["mode"]] for name, found in cross["modes"].items()}
        cross = cross | {"modes": modes}
    return cross | {"query_sets": {query_set: [corpus]}}


def graded_faults(spec: Mapping[str, Any], where: str) -> Iterator[Fault]:
    """Graded sets whose parent is none, or that say what their parent says; splits of what cannot be split."""
    query_sets = spec["query_sets"]
    parents = [name for name, given in query_sets.items() if "graded" not in given and "edit" not in given]
    for name, query_set in query_sets.items():
        field = f"query_sets.{name}"
        if "split" in query_set and ("graded" in query_set or "edit" in query_set):
            hint = "give `split` to the set that its queries are from"
            yield Fault(where, 0, f"{field}.split", "this set has its queries from another", hint)
        if "graded" not in query_set:
            continue
        asked = query_set["graded"]
        for key in sorted(set(query_set) - _OWN - {"split"}):
            if key in ("path", "probe", "chapters", "idioms", "beir", "poetry", "edit"):
                continue  # told as a second source
            hint = f"take it out, or give it to {asked['of']}"
            yield Fault(where, 0, f"{field}.{key}", "a graded set has this from its parent", hint)
        given = [key for key in ("judge", "sheet") if key in asked]
        if len(given) != 1:
            yield Fault(where, 0, f"{field}.graded", f"needs exactly one of judge, sheet; found {given or 'none'}")
        if query_set["judged"] != "now":
            yield Fault(where, 0, f"{field}.judged", "a graded set is judged when it is made", "take it out")
        if query_set["purpose"] != "thematic":
            yield Fault(where, 0, f"{field}.purpose", "a graded set is thematic", "take it out")
        if asked["of"] not in parents:
            known = asked["of"] in query_sets
            problem = (
                f"'{asked['of']}' is itself made from another set" if known else f"unknown query set '{asked['of']}'"
            )
            yield Fault(where, 0, f"{field}.graded.of", problem, closest(asked["of"], parents))
            continue
        parent = query_sets[asked["of"]]
        if "part" in asked and "split" not in parent:
            problem = f"{asked['of']} has no part '{asked['part']}': it is not split"
            yield Fault(where, 0, f"{field}.graded.part", problem, f"query_sets.{asked['of']}.split: {{test: 0.2}}")
        if asked.get("part") == "gold" and not parent.get("split", {"gold": 1})["gold"]:
            hint = f"query_sets.{asked['of']}.split.gold: how many queries people judge"
            yield Fault(where, 0, f"{field}.graded.part", f"no query of {asked['of']} is gold", hint)
        if len(query_set["corpora"]) != 1:
            problem = f"names {len(query_set['corpora'])} corpora, but grades are of the poems of one"
            yield Fault(where, 0, f"{field}.corpora", problem, "a graded set for each corpus")
        strange = sorted(set(query_set["corpora"]) - set(parent["corpora"]))
        if strange:
            problem = f"{', '.join(strange)}: {asked['of']} is not searched there, so nothing was judged"
            yield Fault(where, 0, f"{field}.corpora", problem, f"corpora: one of {parent['corpora']}")


def construction_faults(study: Study, where: str) -> Iterator[Fault]:
    """Splits, pools and graded sets that name what the study does not have. All defaults are filled in."""
    for name in study.query_sets:
        if "split" in study.spec["query_sets"][name]:
            yield from _split_faults(study, name, where)
        if "graded" in study.spec["query_sets"][name]:
            yield from _label_faults(study, name, where)
    if study.judging.get("pooling") is not None:
        yield from _pooling_faults(study, where)


def _split_faults(study: Study, name: str, where: str) -> Iterator[Fault]:
    field = f"query_sets.{name}.split.encoder"
    query_set = study.spec["query_sets"][name]
    encoder = query_set["split"].get("encoder")
    if encoder is None:
        yield Fault(where, 0, field, "is missing, and analyses.reference_encoder is null", "name a dense system")
        return
    if encoder not in study.encoders:
        yield Fault(where, 0, field, f"'{encoder}' is no dense system of the study", closest(encoder, study.encoders))
        return
    if not query_set["corpora"]:
        hint = "name the corpora that the set is searched in"
        yield Fault(where, 0, f"query_sets.{name}.corpora", "a set that is searched nowhere is not encoded", hint)
    elif not study.split_place(name):
        problem = f"{encoder} does not read {name}"
        yield Fault(where, 0, field, problem, f"see `only` of {encoder}, or name another dense system")


def _label_faults(study: Study, name: str, where: str) -> Iterator[Fault]:
    asked = study.spec["query_sets"][name]["graded"]
    parent, field = asked["of"], f"query_sets.{name}.graded"
    corpus = study.spec["query_sets"][name]["corpora"][0]
    if "judge" in asked:
        if asked["judge"] not in study.judges:
            problem = f"unknown judge '{asked['judge']}'"
            yield Fault(where, 0, f"{field}.judge", problem, closest(asked["judge"], study.judges))
        else:
            judge = study.judging["judges"][asked["judge"]]
            if parent not in study.judging["query_sets"]:
                problem = f"{parent} is not judged, so {asked['judge']} says nothing of it"
                hint = "`purpose: thematic` at it; and judging.query_sets, where it is given, names it"
                yield Fault(where, 0, f"{field}.of", problem, hint)
            elif parent not in judge.get("query_sets", [parent]):
                problem = f"{asked['judge']} does not judge {parent}"
                yield Fault(
                    where, 0, f"{field}.judge", problem, f"judging.judges.{asked['judge']}.query_sets: [{parent}]"
                )
    else:
        sheets = study.judging.get("sheets", {})
        fitting = [
            key
            for key, sheet in sheets.items()
            if sheet.get("query_set") == parent and sheet["corpus"] == corpus and study.kind_of(sheet) == "thematic"
        ]
        if asked["sheet"] not in sheets:
            problem = f"unknown sheet '{asked['sheet']}'"
            yield Fault(where, 0, f"{field}.sheet", problem, closest(asked["sheet"], fitting))
        elif asked["sheet"] not in fitting:
            problem = f"the sheet {asked['sheet']} is not of thematic results of {parent} in {corpus}"
            yield Fault(where, 0, f"{field}.sheet", problem, closest(asked["sheet"], fitting))
        else:
            sheet = sheets[asked["sheet"]]
            if not sheet["files"]:
                problem = f"nobody has filled in the sheet {asked['sheet']} yet"
                hint = f"judging.sheets.{asked['sheet']}.files: [...]; till then, leave this set out"
                yield Fault(where, 0, f"{field}.sheet", problem, hint)
            parts = {sheet.get("part"), asked.get("part")}
            if "train" in parts and parts & {"test", "gold"}:
                problem = (
                    f"the sheet {asked['sheet']} is of the part {sheet['part']}, which has no query of {asked['part']}"
                )
                yield Fault(where, 0, f"{field}.part", problem, f"part: {sheet['part']}")
    on = study.validation(parent)
    if on and "graded" in study.spec["query_sets"].get(on[1], {}):
        problem = f"a run of {parent} would need {on[1]}, which is graded when runs have been judged"
        yield Fault(where, 0, f"query_sets.{parent}.validation", problem, "name queries that are judged before")


def _pooling_faults(study: Study, where: str) -> Iterator[Fault]:
    asked, field = study.judging["pooling"], "judging.pooling"
    known = sorted(study.spec["systems"])
    wrong = [name for name in asked["systems"] if name not in known]
    for name in wrong:
        yield Fault(where, 0, f"{field}.systems", f"unknown system '{name}'", closest(name, known))
    if asked["mode"] not in study.modes:
        yield Fault(where, 0, f"{field}.mode", f"unknown mode '{asked['mode']}'", closest(asked["mode"], study.modes))
        return
    n_systems = len(set(asked["systems"]))
    if n_systems * asked["depth"] < asked["candidates"]:
        most = f"{n_systems} x {asked['depth']}"
        problem = f"{asked['candidates']} candidates cannot be found: systems vote for {most} poems at most"
        deeper = -(-asked["candidates"] // max(n_systems, 1))
        hint = f"candidates: {n_systems * asked['depth']}, or fewer; or depth: {deeper}"
        yield Fault(where, 0, f"{field}.candidates", problem, hint)
    if asked["depth"] > study.spec["depth"]:
        problem = f"systems vote for {asked['depth']} poems, but ranked lists hold {study.spec['depth']}"
        yield Fault(where, 0, f"{field}.depth", problem, f"depth: {asked['depth']}")
    if not study.judged_places:
        yield Fault(where, 0, field, "no query set of the study is judged, so nothing is pooled", "take it out")
    for corpus, query_set in [] if wrong else study.judged_places:
        if next(runs(pooled_cross(study, corpus, query_set)), None) is None:
            problem = (
                f"none of {', '.join(asked['systems'])} searches {query_set} in {corpus} in mode '{asked['mode']}'"
            )
            yield Fault(where, 0, f"{field}.mode", problem, f"modes of {corpus}: {', '.join(study.modes_of(corpus))}")
