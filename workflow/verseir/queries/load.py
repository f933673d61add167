"""Query sets and their relevance judgements, checked whole."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from verseir.corpora.attributes import absent_columns, attributes_of, first_break
from verseir.corpora.checks import id_problem
from verseir.faults import Fault, InputFaults, UserError, closest, first_few
from verseir.orders import REGISTERS
from verseir.queries.judgements import LARGEST, Judgement, read_qrels, relevant_of
from verseir.queries.sheet import query_rows
from verseir.rows import FORBIDDEN, Row, first_forbidden, is_delimited, json_type, read_rows, rename, whole_number
from verseir.tables import QRELS, QUERIES, QUERY_ATTRIBUTES

#: How the judgements of a set come about. Only queries that are judged later may have no relevant poem.
JUDGED = ("now", "later")

_OPTIONAL = ("source_query_id", "edit", "span", "cluster")


def query_attributes(rows: Iterable[tuple[str, str, str]] = ()) -> pl.DataFrame:
    """A QUERY_ATTRIBUTES frame of ``rows`` (query_id, attribute, value), in the order of query and attribute."""
    frame = pl.DataFrame(list(rows), schema=dict(QUERY_ATTRIBUTES.columns), orient="row")
    return frame.sort("query_id", "attribute")


@dataclass(frozen=True)
class QuerySet:
    """Queries that share a purpose and a source of relevance; the frames are in the order of their ids."""

    name: str
    queries: pl.DataFrame
    qrels: pl.DataFrame
    purpose: str | None = None
    judged: str = "now"
    #: Where each query was read: (file, line). For faults that only the corpora can show.
    places: Mapping[str, tuple[str, int]] = field(default_factory=dict, repr=False)
    #: Where each judgement was read, by (query_id, poem_id).
    judgement_places: Mapping[tuple[str, str], tuple[str, int]] = field(default_factory=dict, repr=False)
    #: QUERY_ATTRIBUTES.
    attributes: pl.DataFrame = field(default_factory=query_attributes, repr=False)
    #: How the file was read, where it left that open.
    notes: tuple[str, ...] = ()


class PartlyLoaded(InputFaults):
    """The faults of a query set.

    ``query_set`` is what was read of it, so that what the corpora tell of it is told together with them; None where
    some of it could not be read, and nothing follows from what it lacks.
    """

    def __init__(self, faults: list[Fault], query_set: QuerySet | None):
        super().__init__(faults)
        self.query_set = query_set


def load_query_set(name: str, spec: dict[str, Any], base: Path) -> QuerySet:
    """The query set that ``spec`` describes; relative paths in it start from ``base``.

    The file (JSON Lines, or a table: see ``sheet``) has rows ``query_id``, ``text`` and perhaps ``register`` (else that
    of the spec), ``span``, ``edit``, ``source_query_id``, ``cluster`` (queries that share one are not independent) and
    ``relevant``: one poem_id, a list of them, or {poem_id: grade}. Or the judgements are in the file ``qrels`` (see
    ``judgements``). Other fields are passed over, but for those that ``attributes`` names.
    ``columns`` renames fields (ours to the file's); ``filter`` {field: value} takes only the rows that have these
    values; ``binary`` makes every grade above 0 a 1.

    ``max_grade`` is the largest grade that they have. What only the corpora can tell is left to ``cross_check``.

    Raises:
        PartlyLoaded: with all faults at once.
    """
    base = Path(base)
    label = str(spec["path"])
    faults: list[Fault] = []
    notes: list[str] = []
    rows = read_rows(base / label, label, faults, spec.get("sheet"), notes)
    rows = rename(rows, spec.get("columns") or {}, label, faults)
    if is_delimited(Path(label)):
        rows = query_rows(rows, spec, label, faults, notes)
    rows = _filtered(rows, spec.get("filter") or {}, label, faults)
    kept = spec.get("attributes") or []
    faults += absent_columns(rows, kept, label)
    _check_names(rows, [] if spec.get("qrels") else ["relevant"], label, faults)
    if spec.get("register") is not None and spec["register"] not in REGISTERS:
        raise UserError(
            f"query set '{name}': register '{spec['register']}' is not known", closest(spec["register"], REGISTERS)
        )
    if spec.get("judged", "now") not in JUDGED:
        raise UserError(f"query set '{name}': judged '{spec['judged']}' is not known", closest(spec["judged"], JUDGED))
    queries: dict[str, dict[str, Any]] = {}
    places: dict[str, tuple[str, int]] = {}
    judgements: list[Judgement] = []
    largest, complete = spec.get("max_grade", LARGEST), not faults
    attributes: list[tuple[str, str, str]] = []
    for row in rows:
        before = len(faults)
        query = _query(row, spec.get("register"), label, faults)
        complete = complete and len(faults) == before
        if query is None:
            continue
        query_id = query["query_id"]
        if query_id in queries:
            problem = f"duplicate id '{query_id}', first on line {places[query_id][1]}"
            faults.append(Fault(label, row.line, "query_id", problem, "give each query of a set an id of its own"))
            complete = False
            continue
        queries[query_id] = query | {"query_set": name}
        places[query_id] = (label, row.line)
        attributes += [(query_id, *pair) for pair in _attributes(row, kept, label, faults).items()]
        relevant = relevant_of(query_id, row, label, faults, largest)
        judgements += relevant.rows
        complete = complete and relevant.complete
    if spec.get("qrels"):
        if judgements:
            problem = f"has relevant poems, and so has the file {spec['qrels']}"
            faults.append(Fault(label, judgements[0].line, "relevant", problem, "keep one: the field or the file"))
        read = read_qrels(
            base / spec["qrels"], str(spec["qrels"]), places, faults, all_rows=not spec.get("filter"), largest=largest
        )
        judgements += read.rows
        complete = complete and read.complete
    if not rows and not faults:
        faults.append(Fault(label, 0, "", "holds no queries", "a query set needs at least one"))
    binary = bool(spec.get("binary"))
    loaded = QuerySet(
        name,
        pl.DataFrame(list(queries.values()), schema=dict(QUERIES.columns)).sort("query_id"),
        pl.DataFrame(
            [(j.query_id, j.poem_id, min(j.grade, 1) if binary else j.grade) for j in judgements],
            schema=dict(QRELS.columns),
            orient="row",
        ).sort("query_id", "poem_id"),
        spec.get("purpose"),
        spec.get("judged", "now"),
        places,
        {(j.query_id, j.poem_id): (j.file, j.line) for j in judgements},
        query_attributes(attributes),
        tuple(f"{label}: {note}" for note in notes),
    )
    if faults:
        raise PartlyLoaded(faults, loaded if complete and rows else None)
    return loaded


def _attributes(row: Row, names: list[str], label: str, faults: list[Fault]) -> dict[str, str]:
    found = attributes_of(row, names, label, faults)
    for name, value in found.items():
        if code := first_forbidden([value]) or first_break(value):
            faults.append(Fault(label, row.line, name, f"holds the character {code}", "take it out"))
    return found


def _check_names(rows: list[Row], wanted: list[str], label: str, faults: list[Fault]) -> None:
    """Fields that look like a misspelling of one that no row has: passed over, they would be missed in silence."""
    seen = {name for row in rows for name in row.values}
    for name in [*wanted, "register"]:
        near = difflib.get_close_matches(name, sorted(seen), n=1, cutoff=0.85) if name not in seen else []
        if near:
            line = next(row.line for row in rows if near[0] in row.values)
            faults.append(Fault(label, line, near[0], "is no field of a query", f"did you mean '{name}'?"))


def _filtered(rows: list[Row], wanted: dict[str, Any], label: str, faults: list[Fault]) -> list[Row]:
    for name, value in wanted.items():
        seen = {str(row.values.get(name)) for row in rows}
        if rows and str(value) not in seen:
            faults.append(
                Fault(
                    label,
                    0,
                    name,
                    f"no row has the value '{value}' that the filter asks for",
                    closest(str(value), seen),
                )
            )
        rows = [row for row in rows if str(row.values.get(name)) == str(value)]
    return rows


def _query(row: Row, register: str | None, label: str, faults: list[Fault]) -> dict[str, Any] | None:
    """The QUERIES fields of a row but for ``query_set``; None when it has no usable id. Faults are added."""

    def fault(name: str, problem: str, hint: str) -> None:
        faults.append(Fault(label, row.line, name, problem, hint))

    values = row.values
    query: dict[str, Any] = {}
    for name in ("text", "register", *_OPTIONAL):
        value = values.get(name)
        if value is not None and not isinstance(value, str):
            fault(name, f"is {json_type(value)}, expected text", "put it in quotes")
            value = None
        elif value and (code := first_forbidden([value.replace("\n", " ")])):
            fault(name, f"holds the character {code}", "take it out")
        query[name] = value.strip() or None if value else None
    if query["text"] is None and (values.get("text") is None or isinstance(values.get("text"), str)):
        found = "is missing" if "text" not in values else "is empty"
        fault("text", found, "every query needs a text; if the column has another name: columns: {text: name}")
    query["register"] = query["register"] or register
    if query["register"] is not None and query["register"] not in REGISTERS:
        fault("register", f"'{query['register']}' is not a register", closest(query["register"], REGISTERS))
    query_id = values.get("query_id")
    if not isinstance(query_id, str) or not query_id:
        found = "is missing" if "query_id" not in values else f"is {json_type(query_id) if query_id != '' else 'empty'}"
        fault("query_id", f"{found}, expected an id", "every query needs an id; columns: {query_id: name}, or add it")
        return None
    if FORBIDDEN.search(query_id) or any(map(str.isspace, query_id)):
        fault(
            "query_id",
            f"{query_id!r} holds a blank or a control character",
            "use - or _: TREC files part columns by blanks",
        )
    elif found_id := id_problem(query_id):
        fault("query_id", *found_id)
    return query | {"query_id": query_id}


def _same_number(poem_id: str, known: Collection[str]) -> str:
    """A hint where the ids of poems hold the number of ``poem_id``, written otherwise: 7, 007, 7.0, or other digits."""
    number = whole_number(poem_id)
    same = sorted(name for name in known if whole_number(name) == number) if number is not None else []
    return f"did you mean '{same[0]}'?" if same else ""


def _titles_given(
    query_set: QuerySet, known: Collection[str], titles: Mapping[str, str]
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The queries whose answer is a title: its words, of which each was read as an id, none of them known."""
    strange: dict[str, set[str]] = {}
    for query_id, poem_id in query_set.qrels.select("query_id", "poem_id").iter_rows():
        if poem_id not in known:
            strange.setdefault(query_id, set()).add(poem_id)
    by_words = {frozenset(title.split()): title for title in sorted(titles, reverse=True)}
    return {
        query_id: (title, tuple(sorted(words)))
        for query_id, words in strange.items()
        if (title := by_words.get(frozenset(words)))
    }


def cross_check(
    query_set: QuerySet,
    poem_ids_by_corpus: Mapping[str, Collection[str]],
    faulty: Collection[str] = (),
    titles: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Fault]:
    """The faults of a query set against the corpora that it is run on ({corpus: ids of its poems}); sorted.

    The poems of corpora in ``faulty`` have faults: that one is not there may follow from them. ``titles`` are those of
    poems, {corpus: {title: poem_id}}: one that stands where an id should is told as one.

    A judged poem must be in every corpus of the set, and every query must have a relevant poem unless the set is judged
    later. The mean of a measure is over all queries, so neither can be passed over in silence.
    """
    if not poem_ids_by_corpus:
        hint = "name the corpora that it is run on: corpora: [...]"
        return [Fault(f"query set '{query_set.name}'", 0, "corpora", "names no corpus", hint)]
    faults = []
    for corpus in sorted(poem_ids_by_corpus):
        known, strange = set(poem_ids_by_corpus[corpus]), []
        meant = _titles_given(query_set, known, (titles or {}).get(corpus, {}))
        for query_id, (title, words) in meant.items():
            problem = f"'{title}' of query '{query_id}' is the title of a poem of corpus '{corpus}', not its id"
            hint = f"write its id: {(titles or {})[corpus][title]}"
            strange.append(Fault(*query_set.judgement_places[query_id, words[0]], "relevant", problem, hint))
        for query_id, poem_id, grade in query_set.qrels.select("query_id", "poem_id", "grade").iter_rows():
            if poem_id not in known and poem_id not in meant.get(query_id, ("", ()))[1]:
                file, line = query_set.judgement_places[query_id, poem_id]
                hint = (
                    _same_number(poem_id, known) or closest(poem_id, known)
                    if len(known) <= 1000
                    else "check the id, and whether sampling left the poem out"
                )
                if (whole := f"{poem_id}:{grade}") in known:
                    hint = f"what stands behind the last colon is read as a grade: write '{whole}:1'"
                problem = f"judged poem '{poem_id}' of query '{query_id}' is not in corpus '{corpus}'"
                strange.append(Fault(file, line, "relevant", problem, hint, corpus in faulty))
        faults += first_few(strange)
    if query_set.judged == "now":
        answered = set(query_set.qrels.filter(pl.col("grade") > 0)["query_id"])
        hint = "give it one, take it out, or declare the set as judged later: judged: later"
        faults += first_few(
            [
                Fault(*query_set.places[query_id], "relevant", f"query '{query_id}' has no relevant poem", hint)
                for query_id in query_set.queries["query_id"]
                if query_id not in answered
            ]
        )
    return sorted(faults)
