"""Where the files of a study lie, and which runs its cross of corpora, modes, query sets and systems has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

#: The step that searches with a system of each kind, where it has costs: an imported run has none that are known, and
#: of a system in folds each encoder has its own.
SEARCHES = {"bm25": "search_bm25", "dense": "search_dense", "fusion": "fuse_runs"}

#: In place of a query set, for a system that is tuned on none.
UNTUNED = "untuned"

#: The scope of a BM25 index of all poems of a mode.
ALL_POEMS = "whole"

#: The files of a BM25 index.
BM25_FILES = ("index.json", "data.npy", "indices.npy", "indptr.npy", "poem_of.npy")


def validated(corpus: str, query_set: str) -> str:
    """What a system that is tuned on a query set in a corpus is called after: no name of either holds an ``@``."""
    return f"{query_set}@{corpus}"


class Run(NamedTuple):
    """One ranked list: of one system, for one corpus, indexing mode and query set."""

    corpus: str
    mode: str
    query_set: str
    system: str

    def path(self, folder: str | Path, suffix: str = ".parquet") -> Path:
        """Its file below ``folder``."""
        return Path(folder) / self.corpus / self.mode / self.query_set / f"{self.system}{suffix}"


def runs(cross: Mapping[str, Any]) -> Iterator[Run]:
    """The runs of a cross, in a fixed order.

    Args:
        cross: ``query_sets`` (name -> corpora it is searched in), ``modes`` (corpus -> its modes) and ``systems``
            (name -> kind); perhaps ``only`` (name of a system -> boxes of ``corpora``, ``modes`` and ``query_sets``:
            it has runs in one of them), ``only_modes`` (name of a query set -> the modes that it is limited to),
            ``tuned`` (name of a system -> of each query set the corpus and query set that it is tuned on), ``kept``
            (the modes that index some poems only) and ``within`` (name of a query set -> the attribute whose value its
            queries share with the poems that they are searched among).
    """
    limits = cross.get("only", {})
    for query_set, corpora in sorted(cross["query_sets"].items()):
        for corpus in sorted(corpora):
            modes = cross["modes"][corpus]
            for mode in sorted(set(modes) & set(cross.get("only_modes", {}).get(query_set, modes))):
                for system in sorted(cross["systems"]):
                    run = Run(corpus, mode, query_set, system)
                    if any(_within(run, box) for box in limits.get(system, [{}])):
                        yield run


def _within(run: Run, box: Mapping[str, list[str]]) -> bool:
    places = {"corpora": run.corpus, "modes": run.mode, "query_sets": run.query_set}
    return all(places[key] in names for key, names in box.items())


def scope_of(within: str) -> str:
    """The scope of a BM25 index: all poems, or an index for each value of the attribute ``within``."""
    return f"within-{within}" if within else ALL_POEMS


def index_place(cross: Mapping[str, Any], run: Run) -> Path:
    """Where the BM25 index that a run is searched in lies: corpus, mode, system, what it is tuned on, scope."""
    place = cross.get("tuned", {}).get(run.system, {}).get(run.query_set)
    tuned_on = validated(*place) if place else UNTUNED
    scope = scope_of(cross.get("within", {}).get(run.query_set, ""))
    return Path(run.corpus, run.mode, run.system, tuned_on, scope)


def cost_files(cross: Mapping[str, Any], folder: str | Path) -> list[Path]:
    """The cost files of all steps that the systems of a cross take, sorted."""
    files = set()
    for run in runs(cross):
        kind = cross["systems"][run.system]
        if kind in SEARCHES:
            files.add(run.path(Path(folder) / SEARCHES[kind], ".json"))
        if kind == "bm25":
            index = Path(folder) / "index_bm25" / index_place(cross, run)
            files.add(index.with_name(f"{index.name}.json"))
            if place := cross.get("tuned", {}).get(run.system, {}).get(run.query_set):
                files.add(Path(folder) / "tune_bm25" / place[0] / run.mode / place[1] / f"{run.system}.json")
        if kind == "dense":
            files.add(Path(folder) / "encode_texts" / run.corpus / f"{run.system}.json")
    return sorted(files)


def encoding_files(cross: Mapping[str, Any], folder: str | Path) -> list[Path]:
    """What is known of the texts that each encoder of a cross saw: one file for each corpus and encoder, sorted."""
    dense = [run for run in runs(cross) if cross["systems"][run.system] == "dense"]
    return sorted({Path(folder) / run.corpus / f"{run.system}.json" for run in dense})
