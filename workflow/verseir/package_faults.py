"""What is wrong with the packages of a study before anything is made: names and query sets that do not fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from verseir.faults import Fault, closest
from verseir.study import Study
from verseir.study_faults import known_attributes

#: The attribute of a query that says in which language a ``mono`` setting asks for poems.
TARGET = "language"


def package_faults(study: Study, where: str) -> Iterator[Fault]:
    """Packages that name what the study does not have, or query sets that are not judged on their corpus."""
    for name, package in sorted(study.spec["packages"].items()):
        field = f"packages.{name}"
        if package["corpus"] not in study.corpora:
            problem = f"unknown corpus '{package['corpus']}'"
            yield Fault(where, 0, f"{field}.corpus", problem, closest(package["corpus"], study.corpora))
        for setting, splits in sorted(package["settings"].items()):
            yield from _setting_faults(study, package["corpus"], setting, splits, f"{field}.settings.{setting}", where)


def _setting_faults(
    study: Study, corpus: str, setting: str, splits: Mapping[str, str], field: str, where: str
) -> Iterator[Fault]:
    first: dict[str, str] = {}
    for split, name in sorted(splits.items()):
        place = f"{field}.{split}"
        if name not in study.query_sets:
            yield Fault(where, 0, place, f"unknown query set '{name}'", closest(name, study.query_sets))
            continue
        if first.setdefault(name, split) != split:
            problem = f"'{name}' is the split {first[name]} of this setting already"
            yield Fault(where, 0, place, problem, "each split has a query set of its own")
        query_set = study.spec["query_sets"][name]
        if corpus in study.corpora and query_set["corpora"] != [corpus]:
            problem = f"{name} is searched in {', '.join(query_set['corpora']) or 'no corpus'}, and judged there"
            yield Fault(where, 0, place, problem, f"query_sets.{name}.corpora: [{corpus}]")
        if query_set["judged"] == "later":
            hint = f"a set with `graded: {{of: {name}, judge: ...}}`"
            yield Fault(where, 0, place, f"{name} is judged later: its queries may have no relevant poem", hint)
        origin = study.spec["query_sets"][study.attributed(name)]
        origin = study.spec["query_sets"].get(origin.get("graded", {}).get("of"), origin)
        if setting.endswith("_mono") and TARGET not in known_attributes(origin):
            problem = (
                f"the queries of {name} have no attribute '{TARGET}', which says in what language they ask for poems"
            )
            yield Fault(where, 0, place, problem, f"attributes: [{TARGET}] at their `path`, or {setting[:-5]}_cross")
        elif setting.endswith("_mono") and study.within(name) != TARGET:
            source = query_set.get("graded", query_set.get("edit", {})).get("of", name)
            problem = f"{name} is searched among poems in any language, so other poems than `mono` has were judged"
            hint = f"query_sets.{source}.within: {TARGET}; or {setting[:-5]}_cross"
            yield Fault(where, 0, place, problem, hint)
