"""Whether the queries of a study can be answered by the poems among which they are searched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from verseir.faults import Fault
from verseir.kept import Keep, keep_problems, kept_poems
from verseir.measures import RELEVANT, parse_measure
from verseir.queries.checks import Corpora, QuerySets, Specs

#: Measures that, without a cutoff, want all relevant poems in a list: one that is too short for them is never perfect.
_OF_ALL_RELEVANT = ("AP", "Bpref", "Rprec", "nDCG")
#: How many queries that a mode robs of their poems are told one by one; the rest are counted.
_SHOWN = 10


def unanswered_faults(
    corpora: Corpora,
    query_sets: QuerySets,
    places: Mapping[str, set[tuple[str, str]]],
    keep: Mapping[str, Keep],
) -> Iterator[Fault]:
    """Queries that have a relevant poem in a corpus, but none among those that a mode keeps in which they are searched.

    Args:
        corpora, query_sets: those that were read or drawn.
        places: of each query set, (corpus, mode) for each in which it is searched.
        keep: mode -> attribute -> values.
    """
    indexed = _Indexed(corpora, keep)
    for name, query_set in sorted(query_sets.items()):
        if query_set is None or query_set.judged != "now":
            continue
        relevant = query_set.qrels.filter(pl.col("grade") >= RELEVANT)
        for place in sorted(places.get(name, ())):
            corpus, mode, poems = corpora.get(place[0]), place[1], indexed.poems(*place)
            if corpus is None or mode not in keep or poems is None:
                continue
            there = relevant.filter(pl.col("poem_id").is_in(corpus.poems["poem_id"].implode()))
            answered = set(there.filter(pl.col("poem_id").is_in(poems.implode()))["query_id"])
            lost = sorted(set(there["query_id"]) - answered)
            hint = f"widen keep.{mode}, or search the query set in other modes: its modes"
            for query_id in lost[:_SHOWN]:
                file, line = query_set.places.get(query_id, (f"query set {name}", 0))
                problem = f"mode '{mode}' keeps no poem of {corpus.name} that is relevant to query '{query_id}'"
                yield Fault(file, line, "relevant", problem, hint)
            if len(lost) > _SHOWN:
                problem = (
                    f"keeps no poem that is relevant to {len(lost) - _SHOWN} more queries, such as '{lost[_SHOWN]}'"
                )
                yield Fault(f"corpus {corpus.name}", 0, f"keep.{mode}", problem, hint)


def depth_faults(
    corpora: Corpora,
    query_sets: QuerySets,
    specs: Specs,
    places: Mapping[str, set[tuple[str, str]]],
    keep: Mapping[str, Keep],
    depth: int,
    measures: Sequence[str],
) -> Iterator[Fault]:
    """Query sets, judged now, with queries of which more poems are relevant than ranked lists hold.

    R-precision, and the other measures of all relevant poems that have no cutoff, would be capped in silence: the best
    list could not reach 1.

    Args:
        corpora, query_sets, places, keep: as for ``unanswered_faults``.
        specs: the query sets in the config.
        depth: poems in a ranked list.
        measures: names that ``parse_measure`` knows; those that have a cutoff are passed over.

    Raises:
        UserError: a name that it does not know.
    """
    parsed = [(name, parse_measure(name)) for name in measures]
    capped = [name for name, measure in parsed if measure.family in _OF_ALL_RELEVANT and measure.cutoff is None]
    indexed = _Indexed(corpora, keep)
    for name, query_set in sorted(query_sets.items() if capped else ()):
        if query_set is None or "later" in (query_set.judged, specs[name].get("judged")):
            continue
        relevant = query_set.qrels.filter(pl.col("grade") >= RELEVANT)
        found: dict[str, int] = {}
        for place in sorted(places.get(name, ())):
            poems = indexed.poems(*place)
            if poems is None:
                continue
            there = relevant.filter(pl.col("poem_id").is_in(poems.implode()))
            for query_id, n in there.group_by("query_id").len().filter(pl.col("len") > depth).iter_rows():
                found[query_id] = max(n, found.get(query_id, 0))
        if found:
            queries = "1 query has" if len(found) == 1 else f"{len(found)} queries have"
            most = max(found.values())
            problem = f"{queries} up to {most} relevant poems, which {', '.join(capped)} would find in a perfect list,"
            yield Fault(f"query set {name}", 0, "depth", f"{problem} but lists hold {depth}", f"depth: {most}")


@dataclass
class _Indexed:
    """The poems that each mode indexes of each corpus, found once."""

    corpora: Corpora
    keep: Mapping[str, Keep]
    _found: dict[tuple[str, str], pl.Series | None] = field(default_factory=dict)

    def poems(self, name: str, mode: str) -> pl.Series | None:
        """Their ids; None where the corpus could not be read, or does not have what the mode asks for."""
        if (name, mode) not in self._found:
            corpus, keep = self.corpora.get(name), self.keep.get(mode, {})
            fits = corpus is not None and not keep_problems(corpus.poems, corpus.attributes, keep)
            kept = kept_poems(corpus.poems, corpus.attributes, keep) if corpus is not None and fits else None
            self._found[name, mode] = None if kept is None else kept["poem_id"]
        return self._found[name, mode]
