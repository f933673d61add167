"""The queries of a benchmark of poetry and their grades, checked whole: see ``verseir.corpora.poetrymteb``.

Queries have ``_id`` (or ``id``, ``query_id``), ``text`` (or ``query``) and, where the scope is ``mono``,
``target_document_language`` (or ``language``). Judgements have ``query-id``, ``corpus-id`` and ``score`` (or
``query_id``, ``poem_id``, ``grade``), a whole number from 0, judged and not relevant, to 3. Other fields are passed
over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from verseir.corpora.checks import id_problem
from verseir.corpora.hub import unpinned
from verseir.corpora.named_files import Source, find_files
from verseir.corpora.part_counts import compare_setting, read_counts
from verseir.corpora.poetrymteb import Setting, absent_fields, part_names, read_part
from verseir.faults import Fault, InputFaults, UserError, closest, first_few, shown
from verseir.queries.load import query_attributes
from verseir.rows import Row, as_found, first_forbidden, json_type, whole_number
from verseir.tables import QUERIES

#: The largest grade.
MOST = 3

#: Our name -> the names that a field may have. The first that a file has is read.
QUERY_FIELDS = {"query_id": ("_id", "id", "query_id"), "text": ("text", "query")}
TARGET = {"language": ("target_document_language", "language")}
JUDGEMENT_FIELDS = {
    "query_id": ("query-id", "query_id"),
    "poem_id": ("corpus-id", "poem_id"),
    "grade": ("score", "grade"),
}
#: The attributes of a query; ``language`` only where the scope is ``mono``.
ATTRIBUTES = ("aspect", "language", "scope")

_SHOWN = 5


@dataclass(frozen=True)
class PoetryQueries:
    """The QUERIES, QRELS and QUERY_ATTRIBUTES of one setting; where each query was read; what a reader should know.

    ``counted`` says that there are as many as the file ``counts`` of the corpus says; a difference is a warning.
    """

    queries: pl.DataFrame
    qrels: pl.DataFrame
    attributes: pl.DataFrame
    places: Mapping[str, tuple[str, int]] = field(repr=False)
    warnings: tuple[str, ...] = ()
    counted: str = ""


def poetry_queries(
    name: str,
    setting: Setting,
    spec: Mapping[str, Any],
    base: Path,
    poems: pl.DataFrame | None,
    kept: Collection[str] | None = None,
    sound: bool = True,
) -> PoetryQueries:
    """The query set ``name``: the queries of ``setting`` in the order of their ids, with all their grades.

    The target of a ``mono`` query is spelt as the corpus spells the language, whatever its capitals.

    Args:
        name: of the query set.
        setting: which of the settings of the benchmark, on which split.
        spec: of the corpus that the queries come with.
        base: folder that relative paths in it start from.
        poems: ``poem_id`` and ``language`` (null where it is not known) of all its poems; None where they could not be
            read, and nothing is compared with them.
        kept: the poems that a sample drew. Grades of others are left out, and so are queries that keep no relevant
            poem. None: all.
        sound: False where some poems have faults: then that one is not there may follow from its own.

    Raises:
        InputFaults: with every fault of both files, such as a poem or query that there is not, a grade that is none, a
            poem judged twice, a query without a relevant poem; for ``mono`` a query without a target, or with a
            relevant poem in another language.
        UserError: no query keeps a relevant poem; or a file of the hub cannot be had.
    """
    faults: list[Fault] = []
    warnings: list[str] = []
    asked = _queries(spec, base, setting, faults, warnings)
    graded = _judgements(spec, base, setting, faults, warnings)
    queries, judged = asked.rows, graded.rows
    if poems is not None:
        if setting.scope == "mono":
            queries = _with_targets(queries, poems, faults)
            faults += first_few(list(_foreign_faults(queries, judged, poems)))
        faults += first_few(list(_unknown_poems(judged, poems, follows=not sound)))
    faults += _repeated_pairs(judged)
    if asked.complete:
        faults += first_few(list(_unknown_queries(queries, judged, setting, follows=bool(asked.misnamed))))
    if graded.complete:
        faults += first_few(list(_unanswered(queries, judged, asked.misnamed)))
    if faults:
        raise InputFaults(faults)
    counted = ""
    if "counts" in spec:
        label, place = str(spec["counts"]), (setting.aspect, setting.scope, setting.split)
        counts = read_counts(base / label, label, [])  # its faults are those of the corpus
        if compared := compare_setting(counts, place, len(queries), len(judged), label):
            counted = compared[1] if compared[0] else ""
            warnings += [] if compared[0] else [compared[1]]
    if kept is not None:
        queries, judged = _sampled(queries, judged, kept, warnings)
    texts = queries.select("query_id", "text").with_columns(query_set=pl.lit(name), register=pl.lit("thematic"))
    known = [
        (query_id, attribute, value)
        for query_id, language in queries.select("query_id", "language").iter_rows()
        for attribute, value in zip(ATTRIBUTES, (setting.aspect, language, setting.scope), strict=True)
        if value is not None
    ]
    return PoetryQueries(
        pl.concat([pl.DataFrame(schema=dict(QUERIES.columns)), texts], how="diagonal").sort("query_id"),
        judged.select("query_id", "poem_id", pl.col("grade").cast(pl.Int32)).sort("query_id", "poem_id"),
        query_attributes(known),
        {query_id: (file, line) for query_id, file, line in queries.select("query_id", "file", "line").iter_rows()},
        tuple(dict.fromkeys(warnings)),
        counted,
    )


class _Part(NamedTuple):
    """What was read of one kind of files. Where it is not ``complete``, nothing follows from what is not in it.

    ``misnamed`` are the ids that are none, or that more than one row has.
    """

    rows: pl.DataFrame
    complete: bool
    misnamed: frozenset[str] = frozenset()


def _queries(spec: Mapping[str, Any], base: Path, setting: Setting, faults: list[Fault], warnings: list[str]) -> _Part:
    """``query_id``, ``text``, ``language`` (mono), ``file`` and ``line`` of each query that has an id."""
    wanted = QUERY_FIELDS | (TARGET if setting.scope == "mono" else {})
    found: dict[str, tuple[Any, ...]] = {}
    misnamed: set[str] = set()
    sources, complete = _sources(spec, base, "queries", setting, faults, warnings)
    for source in sources:
        rows, names, whole = _columns(source, wanted, faults)
        complete = complete and whole
        for row in rows:
            values = _query_values(row, names, source.label, faults)
            query_id = values.get("query_id")
            if query_id is None:
                complete = False
            elif query_id in found:
                file, line = found[query_id][-2:]
                problem = f"duplicate id '{query_id}', first on {_at(file, line, source.label)}"
                hint = "give each query of a set an id of its own"
                faults.append(Fault(source.label, row.line, names["query_id"], problem, hint))
                misnamed.add(query_id)
            else:
                if id_problem(query_id):
                    misnamed.add(query_id)
                found[query_id] = (query_id, values.get("text"), values.get("language"), source.label, row.line)
    schema = {"query_id": pl.String, "text": pl.String, "language": pl.String, "file": pl.String, "line": pl.Int64}
    return _Part(pl.DataFrame(list(found.values()), schema=schema, orient="row"), complete, frozenset(misnamed))


def _query_values(row: Row, names: Mapping[str, str], label: str, faults: list[Fault]) -> dict[str, str]:
    """The texts of a query; what is wrong with any is told, and does not hide that there is such a query."""
    what = {"query_id": "an id", "text": "the text of the query", "language": "the target language"}
    found: dict[str, str] = {}
    for ours, theirs in names.items():
        value = row.values.get(theirs)
        if not isinstance(value, str):
            is_what = "is missing" if theirs not in row.values else f"is {json_type(value)}"
            faults.append(Fault(label, row.line, theirs, f"{is_what}, expected {what[ours]}", "in quotes"))
            continue
        if not value.strip():
            faults.append(Fault(label, row.line, theirs, f"is empty, expected {what[ours]}", "fill it"))
            continue
        found[ours] = value if ours == "query_id" else value.strip()
        if code := first_forbidden([value.replace("\n", " ")]):
            faults.append(Fault(label, row.line, theirs, f"holds the character {code}", "take it out"))
        elif ours == "query_id" and (problem := id_problem(value)):
            faults.append(Fault(label, row.line, theirs, *problem))
    return found


def _judgements(
    spec: Mapping[str, Any], base: Path, setting: Setting, faults: list[Fault], warnings: list[str]
) -> _Part:
    """``query_id``, ``poem_id``, ``grade`` (null where it is none), ``file`` and ``line`` of each row with both ids."""
    schema = {"query_id": pl.String, "poem_id": pl.String, "grade": pl.Int64, "file": pl.String, "line": pl.Int64}
    found: list[tuple[Any, ...]] = []
    sources, complete = _sources(spec, base, "qrels", setting, faults, warnings)
    for source in sources:
        rows, names, whole = _columns(source, JUDGEMENT_FIELDS, faults)
        complete = complete and whole
        if len(names) < len(JUDGEMENT_FIELDS):
            continue
        query_field, poem_field, grade_field = (names[ours] for ours in JUDGEMENT_FIELDS)
        for row in rows:
            query_id, poem_id = row.values.get(query_field), row.values.get(poem_field)
            grade = _grade(row.values.get(grade_field))
            if grade is None:
                problem = f"{as_found(row.values.get(grade_field))}, and no grade"
                hint = f"a grade is a whole number from 0 (not relevant) to {MOST}"
                faults.append(Fault(source.label, row.line, grade_field, problem, hint))
            named = True
            for theirs, value in ((query_field, query_id), (poem_field, poem_id)):
                if not isinstance(value, str) or not value:
                    named = complete = False
                    faults.append(Fault(source.label, row.line, theirs, f"{as_found(value)}, not an id", "in quotes"))
            if named:
                found.append((query_id, poem_id, grade, source.label, row.line))
    return _Part(pl.DataFrame(found, schema=schema, orient="row"), complete)


def _grade(value: Any) -> int | None:
    number = value if type(value) is int else whole_number(value)
    return number if number is not None and 0 <= number <= MOST else None


def _sources(
    spec: Mapping[str, Any], base: Path, kind: str, setting: Setting, faults: list[Fault], warnings: list[str]
) -> tuple[list[Source], bool]:
    """The files of one kind, and whether there are any."""
    what = f"the {'queries' if kind == 'queries' else 'judgements'} of {setting}"
    try:
        sources = find_files(spec, base, part_names(spec, kind, setting), what, f"files.{kind}")
    except InputFaults as found:
        faults += found.faults
        return [], False
    for source in sources:
        warnings += unpinned(spec, base, source.name)
    return sources, True


def _columns(
    source: Source, wanted: Mapping[str, tuple[str, ...]], faults: list[Fault]
) -> tuple[list[Row], dict[str, str], bool]:
    """The rows of a file; what it calls each of our fields, but for those that no row has; whether all was read."""
    before = len(faults)
    rows = read_part(source, faults)
    absent = absent_fields(rows, wanted, source.label, faults)
    seen: set[str] = set().union(*(row.values for row in rows))
    named = {
        ours: next(name for name in names if name in seen)
        for ours, names in wanted.items()
        if rows and ours not in absent
    }
    return rows, named, len(faults) == before


def _with_targets(queries: pl.DataFrame, poems: pl.DataFrame, faults: list[Fault]) -> pl.DataFrame:
    """The queries with their targets as the corpus spells them; one in which it has no poem is a fault."""
    known = set(poems["language"].drop_nulls())
    if not known:
        return queries
    spelt = {code.upper(): code for code in sorted(known)}
    targets = [code if code is None or code in known else spelt.get(code.upper()) for code in queries["language"]]
    for row, target in zip(queries.iter_rows(named=True), targets, strict=True):
        if target is None and row["language"] is not None:
            problem = f"the target of query '{row['query_id']}', '{shown(row['language'])}', is the language of no poem"
            faults.append(Fault(row["file"], row["line"], "language", problem, closest(row["language"], known)))
    return queries.with_columns(language=pl.Series(targets, dtype=pl.String))


# The rest is joins: a setting may have 120,000 judgements.


def _unknown_queries(queries: pl.DataFrame, judged: pl.DataFrame, setting: Setting, follows: bool) -> Iterator[Fault]:
    for row in judged.join(queries, on="query_id", how="anti").iter_rows(named=True):
        problem = f"no query of {setting} is called '{row['query_id']}'"
        yield Fault(row["file"], row["line"], "query_id", problem, "check the id, or take the row out", follows)


def _unknown_poems(judged: pl.DataFrame, poems: pl.DataFrame, follows: bool) -> Iterator[Fault]:
    for row in judged.join(poems, on="poem_id", how="anti").iter_rows(named=True):
        problem = f"judged poem '{row['poem_id']}' of query '{row['query_id']}' is not in the corpus"
        yield Fault(row["file"], row["line"], "poem_id", problem, "check the id, or take the row out", follows)


def _repeated_pairs(judged: pl.DataFrame) -> Iterator[Fault]:
    pairs = judged.with_row_index("row")
    firsts = pairs.unique(["query_id", "poem_id"], keep="first", maintain_order=True)
    again = pairs.join(firsts, on="row", how="anti").join(firsts, on=["query_id", "poem_id"], suffix="_first")
    for row in again.iter_rows(named=True):
        where = _at(row["file_first"], row["line_first"], row["file"])
        problem = f"poem '{row['poem_id']}' is judged twice for query '{row['query_id']}', first on {where}"
        yield Fault(row["file"], row["line"], "poem_id", problem, "keep one")


def _unanswered(queries: pl.DataFrame, judged: pl.DataFrame, misnamed: Collection[str]) -> Iterator[Fault]:
    # A grade that is none may have been a positive one: its own fault is enough. So is that of an id.
    answered = judged.filter(pl.col("grade").is_null() | (pl.col("grade") > 0))
    for row in queries.join(answered, on="query_id", how="anti").iter_rows(named=True):
        if row["query_id"] in misnamed:
            continue
        hint = f"give a poem a grade of 1 to {MOST} for it, or take it out"
        yield Fault(row["file"], row["line"], "query_id", f"query '{row['query_id']}' has no relevant poem", hint)


def _foreign_faults(queries: pl.DataFrame, judged: pl.DataFrame, poems: pl.DataFrame) -> Iterator[Fault]:
    """Relevant poems in another language than the target of their query, which no search finds there.

    A language in other capitals is not told here: it is a fault of the poems.
    """
    targets = queries.select("query_id", target="language")
    relevant = judged.filter(pl.col("grade") > 0).join(targets, on="query_id").join(poems, on="poem_id")
    for row in relevant.filter(pl.col("language").str.to_uppercase() != pl.col("target").str.to_uppercase()).iter_rows(
        named=True
    ):
        problem = f"poem '{row['poem_id']}' is relevant to query '{row['query_id']}', and in {row['language']}"
        hint = f"the query asks for poems in {row['target']} alone: grade it 0, or correct the target"
        yield Fault(row["file"], row["line"], "poem_id", problem, hint)


def _sampled(
    queries: pl.DataFrame, judged: pl.DataFrame, kept: Collection[str], warnings: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What is left of both when only some poems were drawn."""
    there = judged.filter(pl.col("poem_id").is_in(pl.Series(sorted(kept), dtype=pl.String).implode()))
    answered = there.filter(pl.col("grade") > 0).select("query_id").unique()
    lost = queries.join(answered, on="query_id", how="anti").sort("query_id")
    if len(lost) == len(queries):
        hint = "its sample leaves none: raise sample.n or leave it out"
        raise UserError(f"none of the {len(queries)} queries has a relevant poem in the corpus", hint)
    if len(there) < len(judged):
        told = f"{len(judged) - len(there)} of {len(judged)} judgements are of poems that the sample left out"
        if len(lost):
            some = ", ".join(lost["query_id"][:_SHOWN]) + (", ..." if len(lost) > _SHOWN else "")
            told += f"; {len(lost)} of {len(queries)} queries keep no relevant poem and are left out: {some}"
        warnings.append(told)
    return queries.join(answered, on="query_id", how="semi"), there.join(answered, on="query_id", how="semi")


def _at(file: str, line: int, here: str) -> str:
    return f"line {line}" if file == here else f"{file}:{line}"
