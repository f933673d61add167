"""What a study trains: the encoders that its recipes make, and the systems that these are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

#: The fold of an encoder that all training queries made.
WHOLE = "whole"

#: What says where an encoder comes from; a trained one has a folder of its own.
_SOURCE = ("path", "package", "hub", "revision", "weights", "loader", "only", "as_published", "description")

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
