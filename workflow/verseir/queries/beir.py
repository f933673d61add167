"""The queries and judgements of a data set in the format of BEIR: ``queries.jsonl`` and ``qrels/<split>.tsv``.

A line of ``queries.jsonl`` has ``_id``, ``text`` and perhaps ``metadata``, of which ``register``, ``span``,
``cluster`` and what the set names in ``attributes`` are kept. A split is a table of ``query-id``, ``corpus-id`` and
``score``, parted by tabs; the queries that it judges are the set, the others belong to other splits.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from verseir.corpora.attributes import attributes_of
from verseir.corpora.beir import QUERIES as FILE
from verseir.corpora.beir import JsonLines, hub_names, identified, part_of
from verseir.corpora.checks import id_problem
from verseir.corpora.hub import source_file, unpinned
from verseir.corpora.named_files import find_files
from verseir.faults import Fault, InputFaults, UserError, closest, first_few, shown
from verseir.orders import REGISTERS
from verseir.queries.judgements import LARGEST
from verseir.queries.load import QuerySet, query_attributes
from verseir.rows import Row, first_forbidden, json_type, read_utf8
from verseir.tables import QUERIES

HEADER = ("query-id", "corpus-id", "score")

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Item:
    """One query as it was read."""

    text: str
    metadata: Mapping[str, Any]
    line: int


@dataclass(frozen=True)
class Asked:
    """The queries of a data set, of all its splits, and what is wrong with their file.

    Attributes:
        items: id -> query, in the order of the file; those without a fault.
        lines: id -> line, of all that have an id.
        label: name of the file in messages.
    """

    items: Mapping[str, Item]
    lines: Mapping[str, int]
    label: str
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True)
class Drawn:
    """A query set, and what was left out of it."""

    query_set: QuerySet
    warnings: tuple[str, ...] = field(default=())


def read_queries(spec: Mapping[str, Any], base: Path) -> Asked:
    """The queries of the folder that ``spec``, a corpus, is read from. Raises UserError where it names none."""
    path, label = part_of(spec, base, FILE)
    faults: list[Fault] = []
    items: dict[str, Item] = {}
    lines: dict[str, int] = {}
    for line, values in JsonLines(path, label, faults):
        query_id = identified(values, line, label, lines, faults)
        text = _text(values, line, label, faults)
        if query_id and (problem := id_problem(query_id)):
            faults.append(Fault(label, line, "_id", *problem))
        elif query_id and text:
            metadata = values.get("metadata")
            items[query_id] = Item(text, metadata if isinstance(metadata, dict) else {}, line)
    if not lines and not faults:
        faults.append(Fault(label, 0, "", "holds no queries", "a query set needs at least one"))
    return Asked(items, lines, label, tuple(faults))


def beir_queries(
    name: str,
    asked: Asked,
    spec: Mapping[str, Any],
    home: Mapping[str, Any],
    base: Path,
    poem_ids: Collection[str] | None = None,
    known_ids: Collection[str] | None = None,
    sound: bool = True,
) -> Drawn:
    """The query set ``name``: the queries that a split judges, with its judgements.

    Judgements of poems that a sample of the corpus leaves out go with them, and so do the queries that lose all their
    positives by it; these are told in ``warnings``.

    Args:
        name: of the query set.
        asked: the queries of the data set.
        spec: the query set, with ``beir``: corpus and split; and perhaps ``register``, ``attributes``, ``judged`` and
            ``binary``.
        home: the spec of the corpus, with its folder or data set.
        base: the folder that relative paths start from.
        poem_ids: the poems of the corpus, as it was sampled; None where they are not known.
        known_ids: all documents of the folder; ``poem_ids`` when None.
        sound: False where some documents have faults: then that one is not there may follow from its own.

    Raises:
        InputFaults: with every fault of the queries and of the split.
    """
    known_ids = poem_ids if known_ids is None else known_ids
    faults = list(asked.faults)
    later = spec.get("judged", "now") == "later"
    judged, label = _read_split(home, base, spec["beir"]["split"], faults, spec.get("max_grade", LARGEST))
    faults += _reference_faults(judged, label, asked, known_ids, sound)
    if not later:
        faults += _unanswered(judged, label)
    in_split = set(judged["query_id"])
    items = {query_id: item for query_id, item in asked.items.items() if query_id in in_split}
    attributes = _attributes(items, spec.get("attributes") or [], asked.label, faults)
    rows = [_query(name, query_id, item, spec, asked.label, faults) for query_id, item in items.items()]
    if faults:
        raise InputFaults(faults)
    queries = pl.DataFrame(rows, schema=dict(QUERIES.columns)).sort("query_id")
    qrels = judged.select("query_id", "poem_id", pl.col("grade").cast(pl.Int32))
    if spec.get("binary"):
        qrels = qrels.with_columns(pl.col("grade").clip(upper_bound=1))
    parts = hub_names(home, base, FILE, f"qrels/{spec['beir']['split']}.tsv")
    warnings = tuple(dict.fromkeys(warning for part in parts for warning in unpinned(home, base, part)))
    if poem_ids is not None and known_ids is not poem_ids:
        queries, qrels, more = _sampled(queries, qrels, poem_ids, later, spec["beir"])
        warnings += more
    kept = set(queries["query_id"])
    return Drawn(
        QuerySet(
            name,
            queries,
            qrels.sort("query_id", "poem_id"),
            spec.get("purpose"),
            spec.get("judged", "now"),
            places={query_id: (asked.label, items[query_id].line) for query_id in queries["query_id"]},
            attributes=query_attributes(row for row in attributes if row[0] in kept),
        ),
        warnings,
    )


def _text(values: Mapping[str, Any], line: int, label: str, faults: list[Fault]) -> str | None:
    text = values.get("text")
    if not isinstance(text, str) or not text.strip():
        found = f"is {json_type(text)}" if "text" in values else "is missing"
        told = "is empty" if isinstance(text, str) else found
        faults.append(Fault(label, line, "text", f"{told}, expected the text of a query", "every query needs a text"))
        return None
    if code := first_forbidden([text.replace("\n", " ")]):
        faults.append(Fault(label, line, "text", f"holds the character {code}", "take it out"))
        return None
    return text.strip()


def _query(
    name: str, query_id: str, item: Item, spec: Mapping[str, Any], label: str, faults: list[Fault]
) -> dict[str, Any]:
    """The QUERIES fields of a query. A register that is none of ours is another data set's word, and passed over."""
    found: dict[str, Any] = {"query_id": query_id, "query_set": name, "text": item.text}
    for key in ("register", "span", "cluster"):
        value = item.metadata.get(key)
        if isinstance(value, str) and value.strip():
            if code := first_forbidden([value.replace("\n", " ")]):
                faults.append(Fault(label, item.line, f"metadata.{key}", f"holds the character {code}", "take it out"))
            found[key] = value.strip()
    if found.get("register") not in REGISTERS:
        found["register"] = spec.get("register")
    return found


def _attributes(
    items: Mapping[str, Item], names: list[str], label: str, faults: list[Fault]
) -> list[tuple[str, str, str]]:
    rows = []
    for query_id, item in items.items():
        given = attributes_of(Row(item.line, dict(item.metadata)), names, label, faults)
        for name, value in given.items():
            if code := first_forbidden([value]):
                problem = f"holds the character {code}"
                faults.append(Fault(label, item.line, f"metadata.{name}", problem, "take it out"))
        rows += [(query_id, name, value) for name, value in given.items()]
    for absent in sorted(set(names) - {name for _, name, _ in rows}) if items else []:
        known = {key for item in items.values() for key in item.metadata}
        problem = "no query has it in its metadata, though it is named as an attribute"
        faults.append(Fault(label, 0, absent, problem, closest(absent, known)))
    return rows


def _read_split(
    home: Mapping[str, Any], base: Path, split: str, faults: list[Fault], largest: int
) -> tuple[pl.DataFrame, str]:
    """The sound rows of a split: columns line, query_id, poem_id, grade; and the name of its file."""
    name = f"qrels/{split}.tsv"
    if home.get("hub"):
        try:
            source = find_files(home, base, (name,), f"the split '{split}'", "hub.folder")[0]
        except InputFaults as found:
            faults += found.faults
            return _no_rows(), name
        path, label = source.path, source.label
    else:
        path, label = source_file({"path": home["path"]}, base, name)
    if not path.is_file():
        there = closest(split, [file.stem for file in path.parent.glob("*.tsv")])
        faults.append(Fault(label, 0, "split", "there is no such file", there or f"looked for {path}"))
        return _no_rows(), label
    before = len(faults)
    text = read_utf8(path, label, faults)
    # One column of lines first, so that a line with too few cells has its number.
    lines = pl.DataFrame({"row": [text]}).select(pl.col("row").str.split("\n")).explode("row")
    del text
    lines = lines.with_row_index("line", offset=1).filter(pl.col("row").str.strip_chars() != "")
    header = lines["row"][0] if len(lines) else ""
    if tuple(cell.strip() for cell in header.split("\t")) != HEADER:
        if len(faults) == before:
            hint = f"a header, then a judgement on each line: {' '.join(HEADER)}, parted by tabs"
            problem = f"begins with '{shown(header)}', which is no header" if header else "is empty"
            faults.append(Fault(label, int(lines["line"][0]) if header else 0, "", problem, hint))
        return _no_rows(), label
    cells = lines.slice(1).with_columns(cells=pl.col("row").str.split("\t"))
    quoted = pl.col("row").str.contains('"', literal=True)
    if cells.select(quoted.any()).item():
        parsed = [next(csv.reader([row], delimiter="\t")) for row in cells.filter(quoted)["row"]]
        replaced = cells.filter(quoted).with_columns(cells=pl.Series(parsed, dtype=pl.List(pl.String)))
        cells = pl.concat([cells.filter(~quoted), replaced]).sort("line")
    odd = cells.filter(pl.col("cells").list.len() != len(HEADER))
    hint = f"{', '.join(HEADER)}, parted by tabs"
    _tell(odd, faults, label, "", lambda row: f"has {len(row['cells'])} cells, expected {len(HEADER)}", hint)
    names = ("query_id", "poem_id", "score")
    rows = cells.filter(pl.col("cells").list.len() == len(HEADER)).select(
        "line", *(pl.col("cells").list.get(at).alias(name) for at, name in enumerate(names))
    )
    score = pl.col("score").str.strip_chars()
    digits = score.str.contains(r"^[0-9]{1,9}$")
    rows = rows.with_columns(grade=pl.when(digits).then(score.cast(pl.Int64, strict=False)))
    for at, name in enumerate(names[:2]):
        empty = rows.filter(pl.col(name) == "")
        _tell(empty, faults, label, HEADER[at], lambda _: "is empty, expected an id", "or take the row out")
    unsound = rows.filter(pl.col("grade").is_null() | (pl.col("grade") > largest))
    _tell(
        *(unsound, faults, label, "score"),
        lambda row: f"the score of '{row['poem_id']}' for query '{row['query_id']}' is '{shown(row['score'])}'",
        f"a score is a whole number from 0 (not relevant) to {largest}",
    )
    # A score that is none may have been a positive one: its own fault is enough.
    rows = rows.with_columns(grade=pl.when(pl.col("grade") <= largest).then("grade").otherwise(pl.lit(1, pl.Int64)))
    sound = rows.filter((pl.col("query_id") != "") & (pl.col("poem_id") != ""))
    if not len(rows) and len(faults) == before:
        faults.append(Fault(label, 0, "", "holds no judgements", "a split needs at least one"))
    return sound.select("line", "query_id", "poem_id", "grade"), label


def _no_rows() -> pl.DataFrame:
    return pl.DataFrame(schema={"line": pl.UInt32, "query_id": pl.String, "poem_id": pl.String, "grade": pl.Int64})


def _reference_faults(
    judged: pl.DataFrame, label: str, asked: Asked, known_ids: Collection[str] | None, sound: bool
) -> list[Fault]:
    """Rows of queries or poems that are not there, and second rows of one pair."""
    faults: list[Fault] = []
    named = not any(fault.field in ("", "_id") for fault in asked.faults)
    places: list[tuple[str, str, Collection[str], str, bool]] = [
        ("query_id", HEADER[0], asked.lines, f"query of {asked.label}", named),
        ("poem_id", HEADER[1], () if known_ids is None else known_ids, "document of the corpus", sound),
    ]
    for column, name, known, what, whole in places:
        if not len(known):
            continue  # its file could not be read: that is the fault
        ids = pl.DataFrame({column: pl.Series(list(known), dtype=pl.String)})
        strange = judged.join(ids, on=column, how="anti", maintain_order="left")
        told = [first_forbidden([found]) for found in strange[column]]
        strange = strange.with_columns(code=pl.Series(told, dtype=pl.String))
        unreadable = strange.filter(pl.col("code").is_not_null())
        _tell(unreadable, faults, label, name, lambda row: f"holds the character {row['code']}", "take it out")
        unknown = strange.filter(pl.col("code").is_null())
        hint = "check the id, or take the row out"
        _tell(unknown, faults, label, name, partial(_unknown, what, column), hint, follows=not whole)
    twice = judged.with_columns(first=pl.col("line").first().over("query_id", "poem_id"))
    _tell(
        *(twice.filter(pl.col("line") != pl.col("first")), faults, label, HEADER[1]),
        lambda row: f"'{row['poem_id']}' is judged twice for query '{row['query_id']}', first on line {row['first']}",
        "keep one",
    )
    return faults


def _unknown(what: str, column: str, row: Mapping[str, Any]) -> str:
    return f"no {what} is called '{row[column]}'"


def _unanswered(judged: pl.DataFrame, label: str) -> list[Fault]:
    """Queries that no row answers."""
    faults: list[Fault] = []
    best = judged.group_by("query_id", maintain_order=True).agg(pl.col("grade").max(), pl.col("line").first())
    _tell(
        *(best.filter(pl.col("grade") == 0), faults, label, "score"),
        lambda row: f"query '{row['query_id']}' has no positive: no document with a score above 0",
        "give it one, take its rows out, or declare the set as judged later: judged: later",
    )
    return faults


def _tell(
    rows: pl.DataFrame,
    faults: list[Fault],
    label: str,
    name: str,
    problem: Callable[[dict[str, Any]], str],
    hint: str,
    follows: bool = False,
) -> None:
    """Add a fault for each of the first rows, and one that counts the rest."""
    told = [Fault(label, row["line"], name, problem(row), hint, follows) for row in rows.iter_rows(named=True)]
    faults += first_few(told)


def _sampled(
    queries: pl.DataFrame, qrels: pl.DataFrame, poem_ids: Collection[str], later: bool, asked: Mapping[str, Any]
) -> tuple[pl.DataFrame, pl.DataFrame, tuple[str, ...]]:
    """What a sample of the corpus leaves of a set, and what to say of the rest. Raises UserError: it leaves nothing."""
    poems = pl.DataFrame({"poem_id": pl.Series(list(poem_ids), dtype=pl.String)})
    qrels = qrels.join(poems, on="poem_id", how="semi", maintain_order="left")
    if later:
        return queries, qrels, ()
    answered = qrels.filter(pl.col("grade") > 0)
    lost = queries.join(answered, on="query_id", how="anti")["query_id"].sort().to_list()
    if len(lost) == len(queries):
        raise UserError(
            f"none of the {len(lost)} queries of '{asked['split']}' has a relevant document in {asked['corpus']}",
            hint="its sample leaves none: raise sample.n or leave it out",
        )
    if not lost:
        return queries, qrels, ()
    what = "1 query" if len(lost) == 1 else f"{len(lost)} queries"
    named = ", ".join(lost[:_NAMED]) + (", ..." if len(lost) > _NAMED else "")
    warning = f"{what} without a relevant document in {asked['corpus']} as it was sampled, left out: {named}"
    kept = queries.filter(~pl.col("query_id").is_in(lost))
    return kept, qrels.join(kept, on="query_id", how="semi", maintain_order="left"), (warning,)
