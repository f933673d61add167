"""Which poems a query is searched among, where its set is searched ``within`` an attribute: those that share its value.

Poems and queries have the attribute by the same name: poems as an attribute of their corpus or a column of POEMS,
queries as an attribute. What is relevant to a query is not changed by it: a relevant poem of another value is missed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import polars as pl

from verseir.faults import UserError, closest
from verseir.kept import poem_values
from verseir.tables import ATTRIBUTES, POEMS, QUERY_ATTRIBUTES, read_table

#: How many queries a message names.
_NAMED = 5


def values_of_queries(queries: pl.DataFrame, attributes: pl.DataFrame, name: str) -> list[str | None]:
    """The value of the attribute ``name`` of each query of a QUERIES frame; None of one without.

    ``attributes`` is the QUERY_ATTRIBUTES frame of the set. An edited query that is not in it has its original's value.
    """
    value_of = dict(attributes.filter(pl.col("attribute") == name).select("query_id", "value").iter_rows())
    pairs = queries.select("query_id", "source_query_id").iter_rows()
    return [value_of.get(query_id, value_of.get(source)) for query_id, source in pairs]


def beyond_reach(
    query_ids: Iterable[str], values: Sequence[str | None], known: Collection[str], name: str
) -> list[tuple[str, str, str]]:
    """(query_id, what is wrong, hint) for each query that has no value of ``name``, or one that no poem has."""
    found = []
    for query_id, value in zip(query_ids, values, strict=True):
        if value is None:
            found.append((query_id, f"has no '{name}', within which it is searched", f"name its {name}"))
        elif value not in known:
            found.append((query_id, f"no poem that is indexed has the {name} '{value}'", closest(value, known)))
    return found


def read_poem_groups(poem_ids: pl.Series, poems: str, attributes: str | None, name: str) -> list[str | None]:
    """The value of ``name`` of the poem of each chunk; None of one without, which is then not searched.

    Args:
        poem_ids: the poem of each chunk.
        poems, attributes: files of the corpus, POEMS and ATTRIBUTES.

    Raises:
        UserError: a file cannot be read, or no poem has the attribute.
    """
    value_of = poem_values(
        read_table(poems, POEMS), None if attributes is None else read_table(attributes, ATTRIBUTES), name
    )
    if not any(value is not None for value in value_of.values()):
        raise UserError(f"no poem has the attribute '{name}'", hint="within: an attribute or column of the poems")
    return [value_of.get(poem_id) for poem_id in poem_ids]


def read_query_groups(queries: pl.DataFrame, attributes: str, name: str, known: Collection[str]) -> list[str]:
    """The value of ``name`` of each query of a QUERIES frame.

    Args:
        attributes: file of the query set, QUERY_ATTRIBUTES.
        known: the values of the poems that are indexed.

    Raises:
        UserError: the file cannot be read, a query has no value, or one that no poem has.
    """
    values = values_of_queries(queries, read_table(attributes, QUERY_ATTRIBUTES), name)
    lost = beyond_reach(queries["query_id"], values, known, name)
    if lost:
        told = "; ".join(f"'{query_id}' {problem}" for query_id, problem, _ in lost[:_NAMED])
        more = f"; and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
        raise UserError(f"{len(lost)} queries cannot be searched within their {name}: {told}{more}", hint=lost[0][2])
    return [value for value in values if value is not None]
