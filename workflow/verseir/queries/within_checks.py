"""Whether the queries of sets that are searched ``within`` an attribute can find what is relevant to them there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import polars as pl

from verseir.faults import Fault, closest, first_few
from verseir.kept import COLUMNS, Keep, keep_problems, kept_poems, poem_values
from verseir.measures import RELEVANT
from verseir.queries.checks import Corpora, QuerySets, Specs
from verseir.queries.load import QuerySet
from verseir.queries.within import beyond_reach, values_of_queries

#: How many queries that cannot be searched are told one by one; the rest are counted.
_SHOWN = 10


class _Searched(NamedTuple):
    """A query set where it is searched, and the value of its attribute of each poem there that has one.

    ``where`` names the corpus, and the mode where it keeps some poems only; else ``mode`` does.
    """

    query_set: str
    within: str
    corpus: str
    attributes: frozenset[str]
    where: str
    mode: str
    poem_ids: pl.Series
    groups: Mapping[str, str]
    known: frozenset[str]


def within_faults(
    corpora: Corpora,
    query_sets: QuerySets,
    specs: Specs,
    places: Mapping[str, set[tuple[str, str]]],
    keep: Mapping[str, Keep],
) -> Iterator[Fault]:
    """Queries that are searched within an attribute where nothing can be found for them.

    They have no value of it, or one that no indexed poem has, or one that no poem has that is relevant to them. And
    attributes that are spelt with and without capitals, so that poems of one kind are searched apart.

    Args:
        corpora, query_sets: those that were read or drawn.
        specs: the query sets in the config.
        places: of each query set, (corpus, mode) for each in which it is searched.
        keep: mode -> attribute -> values.
    """
    for there in _searched(corpora, specs, places, keep):
        name, within = there.query_set, there.within
        if not there.groups:
            hint = closest(within, {*COLUMNS, *there.attributes})
            yield Fault(f"corpus {there.corpus}", 0, f"query_sets.{name}.within", f"no poem has '{within}'", hint)
            continue
        parted = _spelt_apart(there, str.casefold)
        for spellings in parted:
            problem = f"{spellings} differ by capitals alone, and their poems are searched apart"
            yield Fault(f"corpus {there.corpus}", 0, within, problem, "spell it in one way")
        query_set = query_sets.get(name)
        if query_set is None:
            continue
        values = values_of_queries(query_set.queries, query_set.attributes, within)
        lost = beyond_reach(query_set.queries["query_id"], values, there.known, within)
        for query_id, problem, hint in lost[:_SHOWN]:
            file, line = query_set.places.get(query_id, (f"query set {name}", 0))
            where = "" if problem.startswith("has no") else f"{there.where}{there.mode}"
            yield Fault(file, line, within, f"query '{query_id}': {problem}{where}", hint)
        if len(lost) > _SHOWN:
            problem = f"{len(lost) - _SHOWN} more queries cannot be searched within it, such as '{lost[_SHOWN][0]}'"
            yield Fault(f"query set {name}", 0, f"within.{within}", problem, lost[_SHOWN][2])
        if "later" not in (query_set.judged, specs[name].get("judged")):
            yield from first_few(list(_unreached_faults(query_set, there, bool(parted))))


def _unreached_faults(query_set: QuerySet, there: _Searched, parted: bool) -> Iterator[Fault]:
    """Queries with relevant poems in a corpus of which none shares their value."""
    for query_id, n, reached, value in _relevant(query_set, there).iter_rows():
        if not reached and value in there.known:
            file, line = query_set.places.get(query_id, (f"query set {there.query_set}", 0))
            none = "its only relevant poem does not have" if n == 1 else f"none of its {n} relevant poems has"
            problem = f"query '{query_id}': {none} the {there.within} '{value}', within which it is searched"
            hint = f"correct its {there.within}, or what is relevant to it; or take it out"
            yield Fault(file, line, "relevant", f"{problem}{there.where}", hint, follows=parted)


def within_warnings(
    corpora: Corpora,
    query_sets: QuerySets,
    specs: Specs,
    places: Mapping[str, set[tuple[str, str]]],
    keep: Mapping[str, Keep],
    code_of: Callable[[str], str | None],
) -> list[str]:
    """What sets that are searched within an attribute leave out, a line each.

    Poems without a value; relevant poems of other values than their query; and languages whose codes differ though they
    may be one.

    Args:
        corpora, query_sets, specs, places, keep: as for ``within_faults``, which found none.
        code_of: a language's code in one form; None of what is no code.
    """
    told: list[str] = []
    for there in _searched(corpora, specs, places, keep):
        without = len(there.poem_ids) - len(there.groups)
        if without:
            n = f"{without} of {len(there.poem_ids)} poems"
            problem = f"have no '{there.within}', and no query of the set is searched among them"
            told.append(f"query set {there.query_set}: {n}{there.where} {problem}")
        if there.within == "language":
            for spellings in _spelt_apart(there, lambda value: code_of(value) or value):
                told.append(f"corpus {there.corpus}: {spellings} may be one language, and are searched apart")
        query_set = query_sets.get(there.query_set)
        if query_set is None:
            continue
        missed = _relevant(query_set, there).filter(pl.col("reached") < pl.col("n"))
        if len(missed):
            n_missed = int((missed["n"] - missed["reached"]).sum())
            most = missed.sort(pl.col("reached") - pl.col("n"), "query_id").row(0, named=True)
            queries = "1 query" if len(missed) == 1 else f"{len(missed)} queries"
            poems = "1 relevant poem" if n_missed == 1 else f"{n_missed} relevant poems"
            problem = f"{poems} of {queries} cannot be found within the {there.within} of the query"
            most_of = f"'{most['query_id']}' ({most['n'] - most['reached']} of its {most['n']})"
            told.append(f"query set {there.query_set}: {problem}{there.where}; most of {most_of}")
    return list(dict.fromkeys(told))


def _searched(
    corpora: Corpora, specs: Specs, places: Mapping[str, set[tuple[str, str]]], keep: Mapping[str, Keep]
) -> Iterator[_Searched]:
    """Each place in which a set is searched within an attribute, of the corpora that could be read."""
    for name in sorted(specs):
        within = specs[name].get("within", "")
        for place in sorted(places.get(name, ())) if within else ():
            corpus, kept = corpora.get(place[0]), keep.get(place[1], {})
            if corpus is None or keep_problems(corpus.poems, corpus.attributes, kept):
                continue
            poems = kept_poems(corpus.poems, corpus.attributes, kept)
            found = poem_values(poems, corpus.attributes, within)
            groups = {poem_id: value for poem_id, value in found.items() if value is not None}
            names, known = frozenset(corpus.attributes["attribute"]), frozenset(groups.values())
            where, mode = f" in {corpus.name}", f", mode '{place[1]}'"
            where, mode = (where + mode, "") if kept else (where, mode)
            yield _Searched(name, within, corpus.name, names, where, mode, poems["poem_id"], groups, known)


def _spelt_apart(there: _Searched, alike: Callable[[str], str]) -> list[str]:
    """Values that are ``alike``, with how many poems have each: ``'ENG' (6 poems) and 'eng' (1 poem)``."""
    sizes = Counter(there.groups.values())
    spelt: dict[str, list[str]] = {}
    for value in sorted(sizes):
        spelt.setdefault(alike(value), []).append(value)
    counted = {value: f"'{value}' ({n} poem{'s' if n != 1 else ''})" for value, n in sizes.items()}
    return [" and ".join(counted[value] for value in values) for values in spelt.values() if len(values) > 1]


def _relevant(query_set: QuerySet, there: _Searched) -> pl.DataFrame:
    """Of each query with relevant poems in a corpus: ``n`` of them, ``reached`` within its value, and the value."""
    values = values_of_queries(query_set.queries, query_set.attributes, there.within)
    asked = query_set.queries.select("query_id", value=pl.Series(values, dtype=pl.String))
    groups = {poem_id: there.groups.get(poem_id) for poem_id in there.poem_ids}
    schema = {"poem_id": pl.String, "group": pl.String}
    poems = pl.DataFrame(list(groups.items()), schema=schema, orient="row")
    relevant = query_set.qrels.filter(pl.col("grade") >= RELEVANT).join(poems, on="poem_id").join(asked, on="query_id")
    reached = (pl.col("group") == pl.col("value")).fill_null(False).sum().cast(pl.Int64).alias("reached")
    counted = relevant.group_by("query_id").agg(pl.len().cast(pl.Int64).alias("n"), reached, pl.col("value").first())
    return counted.sort("query_id")
