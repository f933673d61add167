"""What can be known of the indexing modes of a study's corpora before anything is indexed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from verseir.corpora.model import Corpus
from verseir.faults import Fault
from verseir.kept import Keep, keep_problems
from verseir.written import written_sources


def modes_of(spec: Mapping[str, Any], modes: Iterable[str]) -> list[str]:
    """The modes, sorted, in which the corpus of ``spec`` is indexed: those that it names, or all of the study."""
    return sorted(spec.get("modes", modes))


def bare_modes(
    corpora: Mapping[str, Corpus | None], specs: Mapping[str, Any], modes: Mapping[str, list[str]]
) -> Iterator[Fault]:
    """Modes that would index a corpus without any text: their explanations are from a source that it does not have."""
    for name, corpus in corpora.items():
        if corpus is None:
            continue
        sources = {*corpus.explanations["source"], *written_sources(specs[name])}
        for mode in modes_of(specs[name], modes):
            wanted = [field.partition(":")[2] for field in modes[mode] if field.startswith("explanation:")]
            for source in sorted(set(wanted) - sources):
                yield Fault(
                    f"corpus {name}",
                    0,
                    f"modes.{mode}",
                    f"the corpus has no explanations from '{source}'; it has {sorted(sources) or 'none'}",
                    f"name a file at corpora.{name}.explanations.{source}, or its own modes at corpora.{name}.modes",
                )


def keep_faults(
    corpora: Mapping[str, Corpus | None], places: Iterable[tuple[str, str]], keep: Mapping[str, Keep]
) -> Iterator[Fault]:
    """Modes that keep poems by an attribute or a value that a corpus does not have, or keep none of it.

    Args:
        corpora: name -> corpus, None for one that could not be read.
        places: (corpus, mode) for each that is indexed.
        keep: mode -> attribute -> values.
    """
    for name, mode in sorted(set(places)):
        corpus = corpora.get(name)
        if corpus is not None and mode in keep:
            for attribute, problem, hint in keep_problems(corpus.poems, corpus.attributes, keep[mode]):
                field = f"keep.{mode}" + (f".{attribute}" if attribute else "")
                more = f"; or give the corpus its own modes, without this one: corpora.{name}.modes"
                yield Fault(f"corpus {name}", 0, field, problem, f"{hint}{more}".removeprefix("; "))
