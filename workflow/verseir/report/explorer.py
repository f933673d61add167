"""The part of the page in which a reader looks up single queries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from verseir.faults import UserError
from verseir.formats import count
from verseir.report.markup import embedded
from verseir.report.spoken import idiom_sets


class Explorer(NamedTuple):
    """What the page needs: the data as they stand in it, and what it says of them without any script."""

    data: Markup
    sentence: str
    preset: str
    depth: int
    places: list[dict[str, Any]]


def read_explorer(path: Path) -> Explorer:
    """What ``collect_examples`` wrote.

    Raises:
        UserError: the file is absent or no JSON.
    """
    try:
        text = path.read_text(encoding="utf-8")
        told = json.loads(text)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}", hint="it is made by the workflow: run snakemake") from error
    return Explorer(embedded(text.strip()), _sentence(told), told["preset"], told["depth"], told["places"])


def _sentence(told: Mapping[str, Any]) -> str:
    """How many of the queries are shown, and which."""
    shown, in_all = len(told["queries"]), told["in_all"]
    if shown == in_all:
        return f"All {count(in_all, 'query', 'queries')} of the study are shown." if in_all > 1 else ""
    texts = told["texts"]
    cut = f" Verses are shown of the first {count(texts, 'result')} of each system." if texts < told["depth"] else ""
    return (
        f"{shown:,} of {in_all:,} queries are shown: the same share of each query set and register, of the queries "
        f"that {told['reference']} finds and of those that it misses, drawn by the hash of their ids.{cut}"
    )


def themes(explorer: Explorer, study: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The places whose queries name a theme and are judged poem by poem: what is not judged is not known there."""
    apart, sets = idiom_sets(study), study["query_sets"]
    return [
        place
        for place in explorer.places
        if sets[place["set"]].get("purpose") == "thematic" and place["set"] not in apart
    ]
