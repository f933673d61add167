"""A corpus from its spec: read, checked whole, names made canonical, sampled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from verseir.corpora import anthology, beir, fannorflop, idiolink, jsonl, openiti, poetrymteb, tabular
from verseir.corpora.canonical import canonical_era, canonical_meter, unknown_names
from verseir.corpora.checks import check_records
from verseir.corpora.explanations import add_explanations
from verseir.corpora.hub import unpinned
from verseir.corpora.model import (
    Adapter,
    Corpus,
    Noted,
    PartlyRead,
    Record,
    attributes_frame,
    explanations_frame,
    poems_frame,
)
from verseir.corpora.sampling import sample
from verseir.faults import Fault, InputFaults, UserError, closest

ADAPTERS: dict[str, Adapter] = {
    "anthology": anthology.read,
    "beir": beir.read,
    "csv": tabular.read,
    "fannorflop": fannorflop.read,
    "idiolink": idiolink.read,
    "jsonl": jsonl.read,
    "openiti": openiti.read,
    "poetrymteb": poetrymteb.read,
}
#: The adapters whose files have columns of any name, so that a spec can name ``attributes``.
WITH_COLUMNS = ("csv", "jsonl")
#: Poems that become a table at a time: before, each verse takes several times its memory.
_BATCH = 5_000


def load_corpus(name: str, spec: dict[str, Any], base: Path) -> Corpus:
    """The corpus that ``spec`` describes; relative paths in it start from ``base``.

    Raises PartlyRead with all faults of the corpus and its explanations at once; UserError when a hub file cannot be
    had or is not the one that the spec pins.
    """
    if spec.get("adapter") not in ADAPTERS:
        raise UserError(
            f"corpus '{name}': no adapter is called '{spec.get('adapter')}'",
            closest(str(spec.get("adapter")), ADAPTERS),
        )
    base = Path(base)
    faults: list[Fault] = []
    known_ids: frozenset[str] = frozenset()
    readable = True
    try:
        records = ADAPTERS[spec["adapter"]]({**spec, "name": name}, base)  # some ids begin with the name
    except PartlyRead as error:
        records, faults, known_ids, readable = error.records, error.faults, error.known_ids, error.complete
    except InputFaults as error:
        records, faults, readable = [], error.faults, False
    faults = [*faults, *check_records(records)]
    warnings = _unpinned(spec, base)
    notes: tuple[str, ...] = ()
    if isinstance(records, Noted):
        notes, warnings = records.notes, [*warnings, *records.warnings]
    if "attributes" in spec and spec["adapter"] not in WITH_COLUMNS:
        problem = f"the adapter {spec['adapter']} reads no columns that could be named"
        faults.append(Fault(f"corpus '{name}'", 0, "attributes", problem, "take it out"))
    if readable:
        more, joined = add_explanations(records, spec.get("explanations") or {}, base, known_ids)
        faults += more
        warnings += joined
    if not records and not faults:
        faults.append(Fault(str(spec.get("path") or name), 0, "", "holds no poems", "a corpus needs at least one"))
    if faults:
        raise PartlyRead(faults, records, known_ids | {record.poem_id for record in records}, readable)
    poems = _poems(records, spec.get("language"))
    try:
        poems = sample(poems, spec.get("sample") or {})
    except UserError as error:
        raise InputFaults([Fault(f"corpus '{name}'", 0, "sample", error.args[0], error.hint)]) from error
    warnings += unknown_names(poems["meter"], poems["era"])
    if spec["adapter"] == "poetrymteb":
        warnings += poetrymteb.count_differences(spec, base, records)
    return Corpus(name, poems, _explanations(records, poems), tuple(warnings), _attributes(records, poems), notes)


def _unpinned(spec: dict[str, Any], base: Path) -> list[str]:
    """A warning where a file of the hub that the poems are read from can change there."""
    names: list[str | None] = [idiolink.DOCUMENTS if spec["adapter"] == "idiolink" else None]
    if spec["adapter"] == "poetrymteb":
        names = list(poetrymteb.hub_names(spec, base))
    if spec["adapter"] == "beir":
        names = list(beir.hub_names(spec, base, beir.DOCUMENTS))
    return list(dict.fromkeys(warning for name in names for warning in unpinned(spec, base, name)))


def _poems(records: list[Record], language: str | None) -> pl.DataFrame:
    parts = [
        poems_frame([_poem(record, language) for record in records[at : at + _BATCH]])
        for at in range(0, len(records), _BATCH)
    ]
    return pl.concat(parts).sort("poem_id")


def _poem(record: Record, language: str | None) -> dict[str, Any]:
    era, order = canonical_era(record.era) if record.era else (None, None)
    return {
        "poem_id": record.poem_id,
        "title": record.title,
        "poet": record.poet,
        "era": era,
        "era_order": record.era_order if record.era_order is not None else order,
        "meter": canonical_meter(record.meter) if record.meter else None,
        "genre": record.genre,
        "language": record.language or language,
        "verses": [{"first": first, "second": second} for first, second in record.verses],
        "source": record.source,
    }


def _explanations(records: list[Record], poems: pl.DataFrame) -> pl.DataFrame:
    kept = set(poems["poem_id"])
    return explanations_frame(
        [
            {"poem_id": record.poem_id, "verse_index": index, "source": source, "text": text}
            for record in records
            if record.poem_id in kept
            for source, texts in record.explanations.items()
            for index, text in texts.items()
        ]
    )


def _attributes(records: list[Record], poems: pl.DataFrame) -> pl.DataFrame:
    kept = set(poems["poem_id"])
    return attributes_frame(
        [
            (record.poem_id, attribute, value)
            for record in records
            if record.poem_id in kept
            for attribute, value in record.attributes.items()
        ]
    )
