"""What the report says of a study's spec alone, before any number is there: main measures and synthetic query sets.

Needs the standard library only, so that the Snakefile can ask it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def main_measures(study: Mapping[str, Any]) -> dict[str, str]:
    """The measure that is spoken of, for each query set.

    The first of the first family against the best that covers the query set; else of the first family that covers it;
    else the study's first. A set whose queries are edited is spoken of as the set that it is made from.
    """
    families = sorted(study.get("contrasts", []), key=lambda family: family["baseline"] != "best")
    sources = {name: spec.get("edit", {}).get("of", name) for name, spec in sorted(study["query_sets"].items())}
    return {
        query_set: next(
            (family["measures"][0] for family in families if family.get("measures") and _covers(family, source)),
            study["measures"][0],
        )
        for query_set, source in sources.items()
    }


def analysed_measures(study: Mapping[str, Any]) -> dict[str, str]:
    """The measure that the analyses are spoken of by, for each query set: its main one, or the first that they have."""
    own = study["analyses"]["measures"]
    return {query_set: name if name in own else own[0] for query_set, name in main_measures(study).items()}


def _covers(family: Mapping[str, Any], query_set: str) -> bool:
    return query_set in family.get("query_sets", [query_set])


def synthetic_sets(study: Mapping[str, Any]) -> list[str]:
    """Names of the query sets that are probes drawn from the poems, sorted."""
    return sorted(name for name, query_set in study["query_sets"].items() if "probe" in query_set)


def signals(systems: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What each system compares: ``lexical``, ``dense`` or ``fusion``; empty for an imported one that does not say."""
    kinds = {"bm25": "lexical", "dense": "dense", "fusion": "fusion"}
    return {name: kinds.get(entry["kind"], entry.get("signal", "")) for name, entry in systems.items()}


def shown_sets(study: Mapping[str, Any]) -> list[str]:
    """Names of the query sets that stand for themselves, sorted: the edited ones are compared with their sources, and
    those that others are graded from are judged by these."""
    apart = graded_from(study)
    return sorted(
        name for name, spec in study["query_sets"].items() if spec.get("purpose") != "edited" and name not in apart
    )


def graded_from(study: Mapping[str, Any]) -> set[str]:
    """Names of the query sets whose results the study has graded, for other sets of the same queries."""
    return {spec["graded"]["of"] for spec in study["query_sets"].values() if "graded" in spec and spec["corpora"]}


#: The ways in which a query of an idiom benchmark is read, in the order in which they are shown.
VIEWS = ("sentence", "span", "instruction_sentence", "instruction_span")


def idiom_sets(study: Mapping[str, Any]) -> list[str]:
    """Names of the searched query sets of idiom benchmarks: by how their queries are read, then by name."""
    found = {name: spec for name, spec in study["query_sets"].items() if "idioms" in spec and spec["corpora"]}

    def place(name: str) -> tuple[int, str]:
        view = found[name].get("encoding", {}).get("view", VIEWS[0])
        return (VIEWS.index(view) if view in VIEWS else len(VIEWS), name)

    return sorted(found, key=place)


def idioms_only(study: Mapping[str, Any]) -> bool:
    """Whether all queries that are searched for are those of idiom benchmarks: nothing is asked of poems."""
    searched = {name for name, spec in study["query_sets"].items() if spec["corpora"]}
    return bool(searched) and searched == set(idiom_sets(study))


def set_order(study: Mapping[str, Any]) -> Callable[[str], tuple[int, str]]:
    """Sort key of query sets: by name, and after the others those of idiom benchmarks by how their queries are read."""
    places = {name: place for place, name in enumerate(idiom_sets(study), 1)}
    return lambda name: (places.get(name, 0), name)


def repeating(study: Mapping[str, Any], systems: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Names of the systems that only repeat what was published, sorted: the page shows them beside published figures
    alone. None where the study has no other system.

    Args:
        study: its spec.
        systems: the registry's entries, by system.
    """
    found = sorted(name for name, entry in systems.items() if entry.get("as_published", False))
    return found if set(study["systems"]) - set(found) else []


def compares_settings(study: Mapping[str, Any]) -> bool:
    """Whether the study declares a family of tests between query sets or between modes."""
    return any(family.get("of", "systems") != "systems" for family in study.get("contrasts", []))


def has_strata(study: Mapping[str, Any]) -> bool:
    """Whether means are given by attributes of queries."""
    return any(spec.get("strata") and spec["corpora"] for spec in study["query_sets"].values())


def graded_only(study: Mapping[str, Any]) -> bool:
    """Whether all queries that are searched for are those of benchmarks of poetry, read or built here: none has a
    register but thematic, and what they share with poems in other languages are not words."""
    apart = graded_from(study)
    searched = [spec for name, spec in study["query_sets"].items() if spec["corpora"] and name not in apart]
    return bool(searched) and all({"poetry", "graded"} & set(spec) for spec in searched)


def setting_sets(study: Mapping[str, Any]) -> dict[str, str | None]:
    """The searched query sets whose settings are compared: those that say more of a query than its text; of each the
    split that it is, or None. None where there is one such set alone, or where all are of idioms."""
    splits: dict[str, str | None] = {}
    for name, spec in sorted(study["query_sets"].items()):
        # Queries that were graded for the study have the attributes of the set that they are of.
        asked = study["query_sets"].get(spec.get("graded", {}).get("of"), spec)
        if spec["corpora"] and "idioms" not in asked and ("poetry" in asked or asked.get("attributes")):
            source: Mapping[str, Any] = next((spec[key] for key in ("graded", "poetry", "beir") if key in spec), {})
            splits[name] = source.get("part", source.get("split"))
    return splits if len(splits) > 1 else {}


def shared_sets(study: Mapping[str, Any]) -> list[str]:
    """Names of the searched query sets whose queries ask for many poems and are judged now, sorted: what such a query
    shares with each judged poem is measured."""
    return sorted(
        name
        for name, spec in study["query_sets"].items()
        if spec.get("purpose") == "thematic" and spec.get("judged", "now") == "now" and spec["corpora"]
    )


def shared_mode(study: Mapping[str, Any], corpus: str) -> str:
    """The mode whose text queries are compared with: the base mode, or the first of a corpus that has not got it."""
    modes = sorted(study["corpora"][corpus].get("modes", study["modes"]))
    base = study["analyses"]["base_mode"]
    return base if base in modes else modes[0]
