"""What can be known of packages before anything is searched: languages that are no codes, scales that go too far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from verseir.corpora.model import Corpus
from verseir.exchange.languages import three_letters
from verseir.faults import Fault, InputFaults, UserError, shown
from verseir.formats import count
from verseir.judging.rubrics import read_rubric
from verseir.queries.poetry import MOST


def packaging_faults(
    packages: Mapping[str, Any],
    corpora: Mapping[str, Corpus | None],
    specs: Mapping[str, Any],
    judging: Mapping[str, Any],
) -> Iterator[Fault]:
    """All for which packages would be refused when the study has run, as far as their inputs tell.

    Args:
        packages: those of the study.
        corpora: those that were read.
        specs: the query sets in the config.
        judging: the judging of the study.
    """
    for name in sorted({package["corpus"] for package in packages.values()}):
        corpus = corpora.get(name)
        if corpus is not None:
            yield from language_faults(corpus)
    yield from _scale_faults(packages, specs, judging)


def language_faults(corpus: Corpus) -> Iterator[Fault]:
    """Languages of the poems of a corpus that have no code of ISO 639-3."""
    told = corpus.poems.select("poem_id", "language").sort("poem_id").drop_nulls()
    for (code,), rows in sorted(told.partition_by("language", as_dict=True).items()):
        if three_letters(code) is None:
            poems = f"{count(len(rows), 'poem')}, such as {rows['poem_id'][0]}"
            problem = f"'{shown(code)}', the language of {poems}, is no code, so the corpus cannot be packaged"
            yield Fault(f"corpus {corpus.name}", 0, "language", problem, "a code of ISO 639, such as ar or ara")


def _scale_faults(packages: Mapping[str, Any], specs: Mapping[str, Any], judging: Mapping[str, Any]) -> Iterator[Fault]:
    """Rubrics by which a query set of a package is graded, and which go beyond its grades."""
    grading: dict[str, set[str]] = {}
    for package in packages.values():
        for name in (name for splits in package["settings"].values() for name in splits.values()):
            asked = specs.get(name, {}).get("graded", {})
            by = judging.get("judges", {}).get(asked.get("judge")) or judging.get("sheets", {}).get(asked.get("sheet"))
            if by and "rubric" in by:
                grading.setdefault(by["rubric"], set()).add(name)
    for file, names in sorted(grading.items()):
        try:
            scale = read_rubric(Path(file)).scale
        except (InputFaults, UserError):
            continue  # told where it is read for the judge
        if scale[-1] > MOST:
            problem = f"goes up to {scale[-1]}, but {', '.join(sorted(names))} is packaged, where {MOST} is the most"
            hint = f"a rubric from 0 to {MOST}, or leave the set out of `packages`"
            yield Fault(file, 0, "scale", problem, hint)
