"""A valid study: what it holds, and which runs its cross has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from verseir.fine_tuning import TrainedEncoder, system_name, trained_encoders
from verseir.layout import UNTUNED, validated
from verseir.written import written_sources

#: How queries are read where their set does not say.
PLAIN = {"view": "sentence", "instruction": ""}


def variant(system: str, preset: str) -> str:
    """The name of ``system`` reading text under another normalisation than its own."""
    return f"{system}.{preset}"


@dataclass(frozen=True)
class Study:
    """A valid study. ``spec`` is the config with all defaults filled in; ``registry`` holds the systems it may use."""

    spec: dict[str, Any]
    registry: dict[str, dict[str, Any]]

    @property
    def name(self) -> str:
        return self.spec["study"]

    @property
    def corpora(self) -> list[str]:
        return sorted(self.spec["corpora"])

    @property
    def modes(self) -> list[str]:
        return sorted(self.spec["modes"])

    @property
    def query_sets(self) -> list[str]:
        return sorted(self.spec["query_sets"])

    @property
    def analyses(self) -> dict[str, Any]:
        return self.spec["analyses"]

    def systems(self, *kinds: str) -> list[str]:
        """Names of the study's systems (with the arms of its fusions) of these kinds, sorted; all without a kind."""
        names = set(self.spec["systems"])
        for name in self.spec["systems"]:
            names.update(arm["system"] for arm in self.arms(name))
        return sorted(name for name in names if not kinds or self.registry[name]["kind"] in kinds)

    def arms(self, system: str) -> list[dict[str, str]]:
        """The arms of a fusion as ``{"system": ..., "mode": ...}``, ``mode`` only where the arm fixes one; of a system
        in folds the encoders of the folds."""
        entry = self.registry[system]
        if entry["kind"] not in ("fusion", "folds"):
            return []
        return [{"system": arm} if isinstance(arm, str) else dict(arm) for arm in entry["arms"]]

    @property
    def single_systems(self) -> list[str]:
        """The study's own systems that are no fusions, sorted."""
        return sorted(name for name in self.spec["systems"] if self.registry[name]["kind"] != "fusion")

    @property
    def shown_systems(self) -> list[str]:
        """The study's own systems that are compared and shown, sorted: not those that repeat what was published, unless
        it has no other."""
        own = sorted(self.spec["systems"])
        return [name for name in own if not self.registry[name].get("as_published", False)] or own

    @property
    def fine_tuning(self) -> dict[str, Any]:
        """The recipes by which encoders are trained, with all defaults; none where the study trains nothing."""
        return self.spec["fine_tuning"]

    @property
    def trained(self) -> dict[str, TrainedEncoder]:
        """The encoders that the study trains, by the names of their systems."""
        return trained_encoders(self.spec)

    def tuned_systems(self, recipe: str) -> dict[int, str]:
        """The system that a recipe makes with each of its seeds."""
        return {seed: system_name(recipe, seed) for seed in self.fine_tuning[recipe]["seeds"]}

    @property
    def looked(self) -> list[str]:
        """The study's own systems in the order that gives each its colour and mark: what is shown comes first."""
        return [*self.shown_systems, *sorted(set(self.spec["systems"]) - set(self.shown_systems))]

    @property
    def deployed(self) -> dict[str, Any]:
        """What gains are measured over: a system, a mode, whether the study names them; BM25 in the base mode else."""
        given = self.analyses["deployment"].get("baseline", {})
        words = [name for name in self.shown_systems if self.registry[name]["kind"] == "bm25"]
        usual = "bm25" if "bm25" in words else (words or self.shown_systems)[0]
        place = {"system": given.get("system", usual), "mode": given.get("mode", self.analyses["base_mode"])}
        return place | {"named": bool(given)}

    @property
    def lexical(self) -> list[str]:
        """The single systems that match words: BM25, and imported systems that say so."""
        return [name for name in self.single_systems if self._signal(name) == "lexical"]

    @property
    def dense(self) -> list[str]:
        """The single systems that compare vectors: encoders, and imported systems that say so."""
        return [name for name in self.single_systems if self._signal(name) == "dense"]

    def _signal(self, name: str) -> str:
        entry = self.registry[name]
        return {"bm25": "lexical", "dense": "dense"}.get(entry["kind"], entry.get("signal", ""))

    @property
    def variants(self) -> dict[str, dict[str, str]]:
        """Of each system in the ablation of normalisation: the name of the system that reads each preset."""
        asked = self.analyses.get("normalisation")
        if asked is None:
            return {}
        return {
            name: {
                preset: name if self.registry[name]["text"] == preset else variant(name, preset)
                for preset in asked["presets"]
            }
            for name in sorted(asked["systems"])
        }

    @property
    def searched(self) -> list[str]:
        """All systems that some rule searches with: those of ``systems`` and their variants, sorted."""
        return sorted({*self.systems(), *(name for named in self.variants.values() for name in named.values())})

    def searched_kind(self, *kinds: str) -> list[str]:
        return [name for name in self.searched if self.registry[name]["kind"] in kinds]

    @property
    def encoders(self) -> list[str]:
        """All dense systems that some rule encodes with: those that search, and the reference encoder."""
        reference = self.analyses["reference_encoder"]
        return sorted({*self.searched_kind("dense"), *([reference] if reference else [])})

    def shards(self, encoder: str) -> int:
        """How many jobs share the texts of an encoder: of a variant as many as of its system."""
        given = self.spec.get("shards", {})
        own = {name: system for system, named in self.variants.items() for name in named.values()} if given else {}
        return given.get(own.get(encoder, encoder), 1)

    @property
    def cross(self) -> dict[str, Any]:
        """What is crossed with what: see ``verseir.layout.runs``."""
        return self.cross_of(self.spec["systems"])

    def cross_of(self, systems: Iterable[str]) -> dict[str, Any]:
        """The cross of the study with other systems than its own."""
        names = sorted(systems)
        cross = {
            "query_sets": {name: sorted(self.spec["query_sets"][name]["corpora"]) for name in self.query_sets},
            "modes": {corpus: self.modes_of(corpus) for corpus in self.corpora},
            "systems": {name: self.registry[name]["kind"] for name in names},
        }
        limits = {name: boxes for name in names if (boxes := self._boxes(name))}
        sets = self.spec["query_sets"]
        modes = {name: sorted(sets[name]["modes"]) for name in self.query_sets if "modes" in sets[name]}
        places = {name: place for name in self.query_sets if (place := self.validation(name))}
        more = {
            "only": limits,
            "only_modes": modes,
            "tuned": {name: places for name in names if self.is_tuned(name)},
            "kept": sorted(self.spec["keep"]),
            "within": {name: attribute for name in self.query_sets if (attribute := self.within(name))},
        }
        return cross | {key: value for key, value in more.items() if value}

    def _boxes(self, system: str) -> list[dict[str, list[str]]]:
        """Where a system has runs, see ``verseir.layout.runs``: what matches words follows no instruction."""
        entry = self.registry[system]
        boxes = entry.get("only", [])
        instructed = [name for name in self.query_sets if self.encoding_of(name)["view"].startswith("instruction_")]
        if entry["kind"] != "bm25" or not instructed:
            return boxes
        others = sorted(set(self.query_sets) - set(instructed))
        return [
            box | {"query_sets": [name for name in box.get("query_sets", others) if name in others]}
            for box in boxes or [{}]
        ]

    def encoding_of(self, query_set: str) -> dict[str, str]:
        """How the queries of a set are read, see ``verseir.systems.query_encoding``; edited ones as their originals."""
        return self._of_originals(query_set).get("encoding", PLAIN)

    @property
    def graded_sets(self) -> list[str]:
        """The query sets that are graded by what judges or people say of the pool of another, sorted."""
        return [name for name in self.query_sets if "graded" in self.spec["query_sets"][name]]

    @property
    def judgeable_sets(self) -> list[str]:
        """The thematic query sets that can be judged: all but those that are made of judgements. Sorted."""
        return [name for name in self.query_sets_for("thematic") if name not in self.graded_sets]

    def split_place(self, query_set: str) -> str:
        """The first corpus in which the encoder of the split of a query set reads its queries; "" for none."""
        spec = self.spec["query_sets"][query_set]
        encoder = spec["split"]["encoder"]
        read = (corpus for corpus in sorted(spec["corpora"]) if query_set in self.query_sets_read(corpus, encoder))
        return next(read, "")

    def within(self, query_set: str) -> str:
        """The attribute whose value a query shares with the poems that it is searched among; "" for all poems."""
        return self._of_originals(query_set).get("within", "")

    def attributed(self, query_set: str) -> str:
        """The query set that has the attributes of the queries of a set: of an edited one, that of its originals."""
        edit = self.spec["query_sets"][query_set].get("edit")
        return edit["of"] if edit else query_set

    def validation(self, query_set: str) -> list[str] | None:
        """The corpus and the query set on which a tuned system chooses its parameters for ``query_set``."""
        own = self.spec["query_sets"][query_set].get("validation")
        given = own or self._of_originals(query_set).get("validation")
        return [given["corpus"], given["query_set"]] if given else None

    def _of_originals(self, query_set: str) -> dict[str, Any]:
        spec: dict[str, Any] = self.spec["query_sets"][self._worded(self.attributed(query_set))]
        return spec

    def _worded(self, query_set: str) -> str:
        """The query set that has the texts of a set: of a graded one, its parent."""
        graded = self.spec["query_sets"][query_set].get("graded")
        return graded["of"] if graded else query_set

    def is_tuned(self, system: str) -> bool:
        """Whether the parameters of a system are chosen on validation queries."""
        return "tune" in self.registry[system]

    def tuned_on(self, system: str, query_set: str) -> str:
        """What a system is tuned on for a query set, see ``layout.validated``; ``UNTUNED`` for fixed parameters."""
        place = self.validation(query_set) if self.is_tuned(system) else None
        return validated(*place) if place else UNTUNED

    @property
    def strata(self) -> dict[str, list[str]]:
        """Of each searched query set that has any: the attributes by whose values means are given."""
        sets = self.spec["query_sets"]
        return {
            name: sets[name]["strata"] for name in self.query_sets if sets[name]["strata"] and sets[name]["corpora"]
        }

    @property
    def idiom_sets(self) -> list[str]:
        """The query sets of idiom benchmarks, sorted."""
        return [name for name in self.query_sets if "idioms" in self.spec["query_sets"][name]]

    def idiom_home(self, query_set: str) -> str:
        """The corpus that the queries of an idiom benchmark come with."""
        return self.spec["query_sets"][query_set]["idioms"]["corpus"]

    @property
    def idiom_corpora(self) -> list[str]:
        """The corpora that are splits of an idiom benchmark, sorted."""
        return [name for name in self.corpora if self.spec["corpora"][name]["adapter"] == "idiolink"]

    @property
    def ablation_cross(self) -> dict[str, Any]:
        """The cross of the ablation of normalisation: nothing where the study asks for none."""
        asked = self.analyses.get("normalisation")
        systems = {name for named in self.variants.values() for name in named.values()}
        cross = self.cross_of(systems)
        if asked is None:
            return cross | {"query_sets": {}}
        wanted = cross["query_sets"]
        cross["query_sets"] = {name: wanted[name] for name in sorted(asked["query_sets"])}
        cross["modes"] = {
            corpus: [mode for mode in modes if mode in asked["modes"]] for corpus, modes in cross["modes"].items()
        }
        return cross

    def modes_of(self, corpus: str) -> list[str]:
        """The modes in which a corpus is indexed: its own list, or all modes of the study."""
        return sorted(self.spec["corpora"][corpus].get("modes", self.modes))

    def query_sets_of(self, corpus: str) -> list[str]:
        return [name for name in self.query_sets if corpus in self.spec["query_sets"][name]["corpora"]]

    def modes_read(self, corpus: str, system: str) -> list[str]:
        """The modes of a corpus that an encoder reads: fewer where it runs for the ablation of normalisation alone."""
        return self.ablation_cross["modes"][corpus] if self._is_variant(system) else self.modes_of(corpus)

    def query_sets_read(self, corpus: str, system: str) -> list[str]:
        """The query sets of a corpus that an encoder reads, likewise, and none that it is not to search.

        In place of a graded set its parent: the texts are the same, and the set is not there when they are encoded.
        """
        names = self.query_sets_of(corpus)
        if self._is_variant(system):
            names = [name for name in names if name in self.ablation_cross["query_sets"]]
        elif system in self.searched:  # the reference encoder need not be
            boxes = self.registry[system].get("only", [{}])
            names = [name for name in names if any(name in box.get("query_sets", names) for box in boxes)]
        return sorted({self._worded(name) for name in names})

    def _is_variant(self, system: str) -> bool:
        return any(system in named.values() and system != own for own, named in self.variants.items())

    @property
    def judging(self) -> dict[str, Any]:
        """Settings of judges and sheets with all defaults; empty where the study has no ``judging``."""
        return self.spec.get("judging", {})

    @property
    def judges(self) -> list[str]:
        """Names of the judges, sorted."""
        return sorted(self.judging.get("judges", {}))

    @property
    def judged_places(self) -> list[tuple[str, str]]:
        """(corpus, query set) for each pool that is judged."""
        return self.searched_places(self.judging.get("query_sets", []))

    def sheets(self, *kinds: str) -> list[str]:
        """Names of the sheets of these kinds (``thematic``, ``known-item``, ``explanations``), sorted."""
        return sorted(name for name, sheet in self.judging.get("sheets", {}).items() if self.kind_of(sheet) in kinds)

    def kind_of(self, sheet: dict[str, Any]) -> str:
        """What a sheet is about."""
        return "explanations" if "explanations" in sheet else self.spec["query_sets"][sheet["query_set"]]["purpose"]

    @property
    def written(self) -> dict[str, list[str]]:
        """Of each corpus: the sources of its explanations that a language model writes, sorted."""
        return {corpus: written_sources(spec) for corpus, spec in self.spec["corpora"].items()}

    def query_sets_for(self, *purposes: str) -> list[str]:
        """The query sets of these purposes, sorted."""
        return [name for name in self.query_sets if self.spec["query_sets"][name]["purpose"] in purposes]

    def searched_places(self, query_sets: Iterable[str]) -> list[tuple[str, str]]:
        """(corpus, query set) for each corpus that each of ``query_sets`` is searched in."""
        return [
            (corpus, name) for name in sorted(query_sets) for corpus in sorted(self.spec["query_sets"][name]["corpora"])
        ]
