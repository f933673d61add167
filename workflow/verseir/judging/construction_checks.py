"""What can be known of splits, pools and graded sets before anything is searched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from verseir.faults import Fault, InputFaults, UserError
from verseir.formats import count
from verseir.judging.rubrics import OVERALL, read_rubric
from verseir.queries.load import QuerySet
from verseir.queries.splits import groups_of, size_of_test
from verseir.rows import read_rows, whole_number

#: What was read of each query set; None for what could not be read.
QuerySets = Mapping[str, QuerySet | None]


def split_faults(query_sets: QuerySets, specs: Mapping[str, Any]) -> Iterator[Fault]:
    """Query sets that cannot be split as they are to be: too few queries, or all hang together."""
    for name, query_set in sorted(query_sets.items()):
        asked = specs[name].get("split")
        if query_set is None or asked is None:
            continue
        n, where = len(query_set.queries), f"query set {name}"
        if asked["clusters"] > n:
            problem = f"{asked['clusters']} clusters of {count(n, 'query', 'queries')}"
            yield Fault(where, 0, "split.clusters", problem, f"clusters: {n}, or fewer")
        try:
            groups = groups_of(query_set.queries, query_set.qrels)
            n_test = size_of_test([len(group) for group in groups], asked["test"])
        except UserError as error:
            yield Fault(where, 0, "split.test", str(error.args[0]), error.hint)
            continue
        if asked["gold"] > n_test:
            problem = f"{asked['gold']} queries are to be gold, but test has {n_test} of {n}"
            yield Fault(where, 0, "split.gold", problem, f"gold: {n_test}, or fewer; or a larger `test`")


def pooling_faults(query_sets: QuerySets, judging: Mapping[str, Any]) -> Iterator[Fault]:
    """Queries with more poems that are known to be relevant than their pool has places."""
    pooling = judging.get("pooling")
    if not pooling:
        return
    for name in judging.get("query_sets", []):
        query_set = query_sets.get(name)
        if query_set is None:
            continue
        relevant = query_set.qrels.filter(pl.col("grade") > 0).group_by("query_id").len()
        over = relevant.filter(pl.col("len") > pooling["candidates"]).sort(-pl.col("len").cast(pl.Int64), "query_id")
        if len(over):
            query_id, most = over.row(0)
            places = pooling["candidates"]
            file, line = query_set.places.get(query_id, (f"query set {name}", 0))
            more = f", and so have {count(len(over) - 1, 'other query', 'other queries')}" if len(over) > 1 else ""
            problem = f"query '{query_id}' has {most} relevant poems for {count(places, 'place')} in its pool{more}"
            yield Fault(file, line, "relevant", problem, f"judging.pooling.candidates: {most}")


def ungraded_faults(specs: Mapping[str, Any], judging: Mapping[str, Any]) -> Iterator[Fault]:
    """Files of scores from which a query set is graded, and that have no score above 0 for it: it would be empty.

    Files with rows that cannot be read are told elsewhere.
    """
    asked: dict[str, dict[str, list[str]]] = {}
    for name, spec in sorted(specs.items()):
        given = spec.get("graded", {})
        file = judging.get("judges", {}).get(given.get("judge"), {}).get("path")
        if file and given["of"] in specs:
            asked.setdefault(file, {}).setdefault(given["of"], []).append(name)
    for file, by_parent in sorted(asked.items()):
        unread: list[Fault] = []
        try:
            rows = [row.values for row in read_rows(Path(file), file, unread)]
        except (InputFaults, UserError, OSError):
            continue
        if unread or not rows:
            continue
        for parent, names in sorted(by_parent.items()):
            corpora = {corpus for name in names for corpus in specs[name]["corpora"]}
            if not any(_answers(row, parent, corpora) for row in rows):
                problem = f"no row has a score above 0 for {parent}, so {', '.join(names)} would have no query"
                yield Fault(
                    file, 0, OVERALL, problem, "is it the file of this query set, and is its scale the rubric's?"
                )


def _answers(row: Mapping[str, Any], parent: str, corpora: set[str]) -> bool:
    """Whether a row of a file of scores says of a query set that a poem answers."""
    for key, known in (("query_set", {parent}), ("corpus", corpora)):
        if isinstance(row.get(key), str) and row[key].strip() and row[key].strip() not in known:
            return False
    scores = row.get("scores")
    score = whole_number(scores.get(OVERALL) if isinstance(scores, dict) else row.get(OVERALL))
    return score is not None and score > 0


def rubric_faults(specs: Mapping[str, Any], judging: Mapping[str, Any]) -> Iterator[Fault]:
    """Sheets with a rubric of another scale than that by which a judge grades the same queries.

    Rubrics that cannot be read are told elsewhere.
    """
    sheets, judges = judging.get("sheets", {}), judging.get("judges", {})
    graded = [(spec["graded"], name) for name, spec in sorted(specs.items()) if "graded" in spec]
    named = {(given["of"], given["sheet"]) for given, _ in graded if "sheet" in given}
    scored = {(given["of"], given["judge"]) for given, _ in graded if "judge" in given}
    for parent, sheet in sorted(named):
        own = _scale(sheets.get(sheet, {}).get("rubric"))
        for _, judge in sorted(place for place in scored if place[0] == parent):
            other = _scale(judges.get(judge, {}).get("rubric"))
            if own and other and own != other:
                scales = [f"{scale[0]} to {scale[-1]}" for scale in (own, other)]
                problem = f"the sheet {sheet} grades {parent} from {scales[0]}, but {judge} from {scales[1]}"
                hint = f"one scale for both: judging.sheets.{sheet}.rubric: {judges[judge]['rubric']}"
                yield Fault(sheets[sheet]["rubric"], 0, "scale", problem, hint)


def _scale(file: str | None) -> tuple[int, ...]:
    """The scale of a rubric; empty where there is none, or it cannot be read."""
    try:
        return tuple(read_rubric(Path(file)).scale) if file else ()
    except (InputFaults, UserError):
        return ()


def scale_faults(specs: Mapping[str, Any], judging: Mapping[str, Any]) -> Iterator[Fault]:
    """Rubrics by which a query set is graded, and whose lowest grade is not 0.

    Those that cannot be read are told elsewhere.
    """
    grading: dict[str, list[str]] = {}
    for name, spec in sorted(specs.items()):
        asked = spec.get("graded", {})
        given = judging.get("judges", {}).get(asked.get("judge")) or judging.get("sheets", {}).get(asked.get("sheet"))
        if given and "rubric" in given:
            grading.setdefault(given["rubric"], []).append(name)
    for file, names in sorted(grading.items()):
        try:
            scale = read_rubric(Path(file)).scale
        except (InputFaults, UserError):
            continue
        if scale[0] != 0:
            problem = f"begins at {scale[0]}, and its scores are the grades of {', '.join(names)}"
            yield Fault(file, 0, "scale", problem, "0 is the grade of a poem that does not answer")
