"""Adapter ``poetrymteb``: the poems of the PoetryMTEB benchmark, or of any in the form of its card.

A poem has ``id``, ``title``, ``author``, ``content``, ``language`` (a code of three letters, kept as it is written),
``token_count`` and ``link``; other fields are passed over. Its verses are the lines of ``content`` that hold a letter
or a digit, each one hemistich; blanks and line breaks in a title or name become one blank. The file is JSON Lines or
Parquet, in the folder ``path`` or the data set ``hub``, under the first of the names of ``CORPUS_NAMES`` that there is,
or ``files.corpus``. In messages the line of a Parquet file is the number of the row, from 1.

Queries and judgements, which ``verseir.queries.poetry`` reads, have one file for each config (``queries_<aspect>_
<scope>``, ``qrels_<aspect>_<scope>``) and split, see ``part_names``.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from verseir.corpora.model import PartlyRead, Record
from verseir.corpora.named_files import Source, find_files, local_files
from verseir.corpora.part_counts import document_difference, read_counts
from verseir.faults import Fault, InputFaults, shown
from verseir.rows import Row, as_found, json_type, read_rows, whole_number

ASPECTS = ("emotion", "intent", "theme", "thought")
#: ``mono``: a query is asked of the poems of one language, its target; ``cross``: of all.
SCOPES = ("mono", "cross")
SPLITS = ("train", "silver", "gold")
#: The languages of the benchmark, in the order of its card.
LANGUAGES = tuple(
    "ARA CES DEU ENG FAS FRA ITA JPN RUS SPA BUL TUR TEL POR VIE HIN SLV NOR HUN URD BEN PAN ZHO KOR".split()
)

#: Where the file of a config and split may be, within the folder; shards of Parquet are as the hub names them.
LAYOUTS = (
    "{config}/{split}.jsonl",
    "{config}/{split}.parquet",
    "{config}_{split}.jsonl",
    "{config}/{split}-*.parquet",
    "data/{config}/{split}-*.parquet",
)
#: The card names the first and does not say where it lies; the others are those of the config ``corpus``.
CORPUS_NAMES = (
    *("poems_all.jsonl", "corpus.jsonl", "poems_all.parquet", "corpus.parquet"),
    *(layout.format(config="corpus", split="test") for layout in LAYOUTS),
)

#: What a poem must have, with what is expected there; of ``NULLABLE`` the value may be null or empty.
FIELDS = {
    "id": "the id of the poem",
    "title": "the title",
    "author": "the name of the poet",
    "content": "the lines of the poem",
    "language": "a code of three letters",
    "token_count": "a whole number",
    "link": "the address of the source",
}
NULLABLE = frozenset({"title", "author", "token_count", "link"})


@dataclass(frozen=True)
class Setting:
    """One evaluation setting on one split: which queries are asked, and of what."""

    aspect: str
    scope: str
    split: str

    def __str__(self) -> str:
        return f"{self.aspect}_{self.scope}, split {self.split}"


def read(spec: dict[str, Any], base: Path) -> list[Record]:
    """The poems of a benchmark, in the order of the file.

    Raises:
        PartlyRead: with every fault of the file, and of the file ``counts`` where the spec names one.
        UserError: a file of the hub can be had from nowhere, or is not the one that ``sha256`` pins.
    """
    faults: list[Fault] = []
    records: list[Record] = []
    known_ids: set[str] = set()
    complete = True
    languages = frozenset(spec.get("languages") or LANGUAGES)
    if "counts" in spec:
        read_counts(base / spec["counts"], str(spec["counts"]), faults)
    try:
        sources = find_files(spec, base, corpus_names(spec), "the poems", "files.corpus")
    except InputFaults as found:
        raise PartlyRead([*faults, *found.faults], [], complete=False) from found
    for source in sources:
        before = len(faults)
        rows = read_part(source, faults)
        complete = complete and len(faults) == before
        absent = absent_fields(rows, {field: (field,) for field in FIELDS}, source.label, faults)
        rows.reverse()
        while rows:  # each row is let go when it is read: the poems of the benchmark fill much memory
            row = rows.pop()
            if isinstance(row.values.get("id"), str):
                known_ids.add(row.values["id"])
            if record := _record(row, absent, languages, source.label, faults):
                records.append(record)
    if faults:
        raise PartlyRead(faults, records, known_ids, complete)
    return records


def poem_languages(spec: dict[str, Any], base: Path) -> pl.DataFrame:
    """``poem_id`` and ``language`` of all poems of a corpus without faults, also of those that no sample draws.

    Raises what ``read`` does.
    """
    rows = [(record.poem_id, record.language) for record in read(spec, base)]
    return pl.DataFrame(rows, schema={"poem_id": pl.String, "language": pl.String}, orient="row")


def count_differences(spec: Mapping[str, Any], base: Path, records: Sequence[Record]) -> list[str]:
    """A warning where the file ``counts`` of the spec counts other numbers of poems; none where it names none."""
    if "counts" not in spec:
        return []
    counts = read_counts(base / spec["counts"], str(spec["counts"]), [])
    told = document_difference(counts, [record.language for record in records], str(spec["counts"]))
    return [told] if told else []


def hub_names(spec: Mapping[str, Any], base: Path) -> list[str]:
    """The names of the files of the hub that the poems are read from; none where they are read from a folder."""
    try:
        return [source.name for source in find_files(spec, base, corpus_names(spec), "")] if "hub" in spec else []
    except InputFaults:
        return []


def corpus_names(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that the file of the poems may have."""
    own = spec.get("files", {}).get("corpus")
    return (own,) if own else CORPUS_NAMES


def part_names(spec: Mapping[str, Any], kind: str, setting: Setting) -> tuple[str, ...]:
    """The names that the file of ``kind`` (``queries`` or ``qrels``) may have for a setting."""
    if own := spec.get("files", {}).get(kind):
        for name in ("aspect", "scope", "split"):
            own = own.replace(f"{{{name}}}", getattr(setting, name))
        return (own,)
    config = f"{kind}_{setting.aspect}_{setting.scope}"
    return tuple(layout.format(config=config, split=setting.split) for layout in LAYOUTS)


def files_read(spec: Mapping[str, Any], base: Path, settings: Collection[Setting] = ()) -> list[Path]:
    """The files of this machine that the poems are read from, or with ``settings`` their queries and judgements."""
    if not settings:
        return local_files(spec, base, corpus_names(spec))
    names = [part_names(spec, kind, setting) for setting in settings for kind in ("queries", "qrels")]
    return sorted({path for some in names for path in local_files(spec, base, some)})


def read_part(source: Source, faults: list[Fault]) -> list[Row]:
    """The rows of a file, JSON Lines, a table or Parquet; ``line`` of a row of Parquet is its number from 1."""
    if source.path.suffix.lower() != ".parquet":
        rows = read_rows(source.path, source.label, faults)
    else:
        try:
            frame = pl.read_parquet(source.path)
        except (pl.exceptions.PolarsError, OSError) as error:
            problem = f"cannot be read as Parquet: {str(error).splitlines()[0]}"
            faults.append(Fault(source.label, 0, "", problem, "it is damaged or cut off: fetch it again"))
            return []
        rows = [Row(number, values) for number, values in enumerate(frame.iter_rows(named=True), 1)]
    if not rows and not any(fault.file == source.label for fault in faults):
        faults.append(Fault(source.label, 0, "", "holds no rows", "it needs at least one"))
    return rows


def absent_fields(
    rows: Sequence[Row], wanted: Mapping[str, Sequence[str]], label: str, faults: list[Fault]
) -> frozenset[str]:
    """The fields of ``wanted`` (name -> names that it may have) that no row has: told once, not for every row."""
    if not rows:
        return frozenset()
    seen: set[str] = set().union(*(row.values for row in rows))
    missing = [name for name, names in wanted.items() if seen.isdisjoint(names)]
    for name in missing:
        listed = " or ".join(wanted[name])
        near = difflib.get_close_matches(wanted[name][0], sorted(seen), n=1)
        hint = f"did you mean '{wanted[name][0]}' by '{near[0]}'?" if near else f"fields: {', '.join(sorted(seen))}"
        faults.append(Fault(label, 0, wanted[name][0], f"no row has the field {listed}", hint))
    return frozenset(missing)


def _record(
    row: Row, absent: frozenset[str], languages: frozenset[str], label: str, faults: list[Fault]
) -> Record | None:
    before, values = len(faults), row.values

    def fault(field: str, problem: str, hint: str = "") -> None:
        faults.append(Fault(label, row.line, field, problem, hint))

    for field, what in FIELDS.items():
        value = values.get(field)
        if value is None or value == "":
            if field not in absent and (field not in NULLABLE or field not in values):
                found = as_found(value) if field not in values or value == "" else "is null"
                fault(field, f"{found}, expected {what}", "fill it, or take the poem out")
        elif field == "token_count":
            if (whole_number(value) or 0) < 0 or whole_number(value) is None:
                fault(field, f"{as_found(value)}, expected {what}", "0 or more, or null where it is not known")
        elif not isinstance(value, str):
            fault(field, f"is {json_type(value)}, expected {what}", "put it in quotes")
    if len(faults) > before or absent:
        return None
    code = values["language"]
    if code.upper() not in languages:
        fault("language", f"'{shown(code)}' is no language of the benchmark", _languages_hint(code, languages))
    # Not only \n: pages give line breaks of many kinds, and a line that holds only ornaments is no verse.
    lines = [line.strip() for line in values["content"].splitlines() if any(map(str.isalnum, line))]
    if not lines:
        fault("content", "has no line with a letter", "fill it, or take the poem out")
    if len(faults) > before:
        return None
    return Record(
        poem_id=values["id"],
        verses=[(line, None) for line in lines],
        title=_one_line(values["title"]),
        poet=_one_line(values["author"]),
        language=code,
        source=_one_line(values["link"]),
        file=label,
        line=row.line,
    )


def _one_line(text: str | None) -> str | None:
    return " ".join(text.split()) or None if text else None


@lru_cache(maxsize=256)
def _languages_hint(code: str, languages: frozenset[str]) -> str:
    near = difflib.get_close_matches(code.upper(), sorted(languages), n=1)
    meant = f"did you mean '{near[0]}'? " if near else ""
    return f"{meant}known: {', '.join(sorted(languages))}; a corpus in other languages lists them: languages"
