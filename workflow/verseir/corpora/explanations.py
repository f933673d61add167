"""Explanations of verses that come in files of their own, beside the corpus."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import polars as pl

from verseir.corpora.model import Record
from verseir.faults import Fault, closest, shown
from verseir.rows import Row, first_forbidden, json_type, read_rows, whole_number
from verseir.tables import EXPLANATIONS, read_table


def read_explanations(paths: Iterable[str | Path]) -> pl.DataFrame:
    """The explanations of one corpus: EXPLANATIONS tables of different sources, as one, sorted."""
    parts = [read_table(path, EXPLANATIONS) for path in paths]
    return pl.concat(parts).sort("poem_id", "verse_index", "source")


def add_explanations(
    records: list[Record], files: dict[str, str], base: Path, also_known: Collection[str]
) -> tuple[list[Fault], list[str]]:
    """Add the explanations in ``files`` to ``records``; return all faults, and warnings.

    ``files`` maps the name of a source to a file (JSON Lines, CSV, TSV) of rows ``poem_id``, ``verse_index`` (from 0)
    and ``text`` (or ``explanation``). Rows of one verse are joined in the order of the file, since a commentary comes
    back to a verse; repeats are dropped. ``also_known`` are ids of poems that could not be read: to name one is no
    fault here.
    """
    faults: list[Fault] = []
    warnings: list[str] = []
    by_id = {record.poem_id: record for record in records}
    for source in sorted(files):
        label = str(files[source])
        gathered: dict[tuple[str, int], list[str]] = {}
        for row in read_rows(base / label, label, faults):
            if found := _explanation(row, by_id, also_known, label, faults):
                poem_id, index, text = found
                texts = gathered.setdefault((poem_id, index), [])
                if text not in texts:
                    texts.append(text)
        for (poem_id, index), texts in gathered.items():
            own = by_id[poem_id].explanations.setdefault(source, {})
            if index in own:
                problem = f"the corpus itself has an explanation '{source}' of poem '{poem_id}', verse {index}"
                faults.append(Fault(label, 0, source, problem, "give the source in this file another name"))
            own[index] = "\n".join(texts)
        if joined := sum(len(texts) > 1 for texts in gathered.values()):
            warnings.append(f"{label}: {joined} verses have several explanations each; they were joined")
    return faults, warnings


def _explanation(
    row: Row, by_id: dict[str, Record], also_known: Collection[str], label: str, faults: list[Fault]
) -> tuple[str, int, str] | None:
    """Poem, verse and text of a good row; None with its faults, or when the poem could not be read."""
    before = len(faults)

    def fault(field: str, problem: str, hint: str) -> None:
        faults.append(Fault(label, row.line, field, problem, hint))

    poem_id, index = row.values.get("poem_id"), row.values.get("verse_index")
    name = "text" if "text" in row.values else "explanation"
    text = row.values.get(name)
    if not isinstance(text, str) or not text.strip():
        found = "is missing" if text is None else "is empty" if isinstance(text, str) else f"is {json_type(text)}"
        fault("text", f"{found}, expected the text of an explanation", "give it, or take the row out")
    elif code := first_forbidden([text.replace("\n", " ")]):
        fault(name, f"holds the character {code}", "take it out")
    given, index = index, whole_number(index)
    if index is None or index < 0:
        found = "is missing" if "verse_index" not in row.values else f"is {shown(repr(given))}"
        fault("verse_index", f"{found}, expected a whole number from 0", "0 is the first verse of the poem")
        index = None
    if not isinstance(poem_id, str) or not poem_id:
        found = f"is {json_type(poem_id)}" if poem_id is not None else "is missing"
        fault("poem_id", f"{found}, expected the id of a poem", "name the poem that is explained")
    elif poem_id in by_id:
        n_verses = len(by_id[poem_id].verses)
        if index is not None and index >= n_verses:
            problem = f"is {index}, but poem '{poem_id}' has {n_verses} verses"
            fault("verse_index", problem, f"0 to {n_verses - 1}; 0 is the first verse")
    elif poem_id not in also_known:
        near = closest(poem_id, by_id) if len(by_id) <= 1000 else "check the spelling of the id"
        fault("poem_id", f"no poem of the corpus is called '{poem_id}'", near)
    if len(faults) > before or poem_id not in by_id:
        return None
    return str(poem_id), int(index or 0), str(text).strip()
