"""The queries of an idiom benchmark: sentences that use an idiom, each judged by how it uses it.

A query that uses its idiom literally asks for the documents that do so too. Any other query asks for what the idiom
means, in its own words or not: its idiomatic uses, simplifications and senses. Subject and quality do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from verseir.corpora.idiolink import ATTRIBUTES, Item
from verseir.faults import Fault, UserError, closest, shown
from verseir.queries.load import query_attributes
from verseir.tables import QRELS, QUERIES

#: Usage of a query -> usages of the documents of its idiom that are relevant to it.
RELEVANT: Mapping[str, tuple[str, ...]] = {
    "literal": ("literal",),
    "idiomatic": ("idiomatic", "simplification", "sense"),
}

#: The attributes of a query: its span stands in QUERIES.
_KEPT = tuple(name for name in ATTRIBUTES if name != "span")
#: How many lost queries a warning names, and how many are faults of their own; the rest are counted.
_SHOWN, _TOLD = 5, 10


@dataclass(frozen=True)
class IdiomQueries:
    """The QUERIES, QRELS and QUERY_ATTRIBUTES of an idiom benchmark; ``lost`` are the queries left out of them."""

    queries: pl.DataFrame
    qrels: pl.DataFrame
    attributes: pl.DataFrame
    warnings: tuple[str, ...] = ()
    lost: tuple[Item, ...] = ()


def filtered(items: Sequence[Item], wanted: Mapping[str, str | float | bool]) -> list[Item]:
    """Those of ``items`` whose attributes have the values of ``wanted`` {attribute: value}, in their order.

    Raises:
        UserError: no query has a value that is asked for.
    """
    found = list(items)
    for name, value in sorted(wanted.items()):
        found = [item for item in found if item.attributes[name] == str(value)]
        if not found:
            known = {item.attributes[name] for item in items}
            raise UserError(f"the filter {name}: {value} leaves no query", hint=closest(str(value), known))
    return found


def idiom_queries(
    name: str,
    corpus: str,
    items: Sequence[Item],
    attributes: pl.DataFrame,
    poem_ids: Collection[str],
    sampled: bool = False,
) -> IdiomQueries:
    """The query set ``name``: those of ``items`` that have a relevant document among ``poem_ids``.

    The cluster of a query is its idiom, since the queries of an idiom are judged by the same documents. Idioms are
    compared exactly. Every relevant document has grade 1.

    Args:
        name: of the query set.
        corpus: name of the corpus, for messages.
        items: the queries as they were read.
        attributes: ATTRIBUTES of the corpus, with ``idiom`` and ``usage`` of each document.
        poem_ids: the documents of the corpus.
        sampled: whether these may be some only of those that the corpus had.

    Raises:
        UserError: no query has a relevant document.
    """
    documents = _documents(attributes, set(poem_ids))
    queries, judged, known, lost = [], [], [], []
    for item in sorted(items, key=lambda item: item.item_id):
        relevant = [poem for usage in RELEVANT[item.usage] for poem in documents.get((item.idiom, usage), ())]
        if not relevant:
            lost.append(item)
            continue
        of_query = {"query_id": item.item_id, "query_set": name, "text": item.sentence}
        queries.append(of_query | {"span": item.span, "cluster": item.idiom})
        judged += [(item.item_id, poem, 1) for poem in relevant]
        known += [(item.item_id, attribute, item.attributes[attribute]) for attribute in _KEPT]
    if not queries:
        raise UserError(
            f"none of the {len(lost)} queries that come with {corpus} has a relevant document in it",
            hint="its sample leaves none: raise sample.n or leave it out; or the queries are of another split"
            if sampled
            else "are its documents and its queries of one split?",
        )
    warnings = []
    if lost:
        named = ", ".join(f"{item.item_id} ({item.file}:{item.line})" for item in lost[:_SHOWN])
        more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
        what = "1 query" if len(lost) == 1 else f"{len(lost)} queries"
        where = f"{corpus} as it was sampled" if sampled else corpus
        warnings.append(f"{what} without a relevant document in {where}, left out: {named}{more}")
    return IdiomQueries(
        pl.DataFrame(queries, schema=dict(QUERIES.columns)).sort("query_id"),
        pl.DataFrame(judged, schema=dict(QRELS.columns), orient="row").sort("query_id", "poem_id"),
        query_attributes(known),
        tuple(warnings),
        tuple(lost),
    )


def lost_faults(lost: Sequence[Item], corpus: str, attributes: pl.DataFrame) -> Iterator[Fault]:
    """A fault for each query that no document of the whole ``corpus``, of these ATTRIBUTES, answers; many are counted.

    The mean of a measure is over all queries, so that none can be passed over in silence.
    """
    known = set(attributes.filter(pl.col("attribute") == "idiom")["value"])
    for item in lost[:_TOLD]:
        problem, idiom = f"query '{item.item_id}' has no relevant document in {corpus}", f"'{shown(item.idiom)}'"
        if item.idiom in known:
            missing = f"none of the idiom {idiom} is {' or '.join(RELEVANT[item.usage])}"
            yield Fault(item.file, item.line, "usage", f"{problem}: {missing}", "add one, or take the query out")
        else:
            hint = closest(item.idiom, known) if len(known) <= _TOLD else ""
            hint = hint or "check how the idiom is spelt, add such documents, or take the query out"
            yield Fault(item.file, item.line, "idiom", f"{problem}: none has the idiom {idiom}", hint)
    if len(lost) > _TOLD:
        problem = f"{len(lost) - _TOLD} more queries have no relevant document in it, such as '{lost[_TOLD].item_id}'"
        yield Fault(f"corpus {corpus}", 0, "idiom", problem, "are its documents and its queries of one split?")


def _documents(attributes: pl.DataFrame, kept: set[str]) -> dict[tuple[str, str], list[str]]:
    """The documents of each idiom and usage."""
    idiom_of, usage_of = (
        dict(attributes.filter(pl.col("attribute") == name).select("poem_id", "value").iter_rows())
        for name in ("idiom", "usage")
    )
    found: dict[tuple[str, str], list[str]] = {}
    for poem_id in sorted(kept & set(idiom_of) & set(usage_of)):
        found.setdefault((idiom_of[poem_id], usage_of[poem_id]), []).append(poem_id)
    return found
