"""What is true of the query sets of a benchmark with many settings, each finding told once and not once a set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from verseir.analyses.found_by_language import WITHIN
from verseir.analyses.found_by_wording import GAP, RHO
from verseir.analyses.found_model import CONDITIONAL, CONTAINMENT
from verseir.analyses.shared_pairs import ALL, LANGUAGE
from verseir.analyses.shared_wording import ANY
from verseir.formats import count, listing, number, percent, signed
from verseir.report.wording import places_of

#: Languages that a sentence names, and query sets.
NAMED = 3

Rows = Sequence[Mapping[str, Any]]


def carried(shared: pl.DataFrame) -> Iterator[str]:
    """How much of a query stands in the poems that answer it: from which set to which."""
    rows = shared.filter(pl.col("attribute") == ALL, pl.col("grade") == ANY).sort("containment", "corpus", "query_set")
    none = rows.filter(pl.col("shares_none") == 1)
    sets = count(len(rows), "query set")
    if len(none) == len(rows):
        yield f"No query of any of {sets} shares a word with a poem that answers it."
        return
    low, high = rows.row(0, named=True), rows.row(-1, named=True)
    least, most = (percent(share) for share in (min(rows["shares_none"]), max(rows["shares_none"])))
    wordless = f"; on {count(len(none), 'set')} all of them" if len(none) else ""
    yield (
        f"Of {sets}, from {percent(low['containment'])} ({low['query_set']}) to {percent(high['containment'])} "
        f"({high['query_set']}) of a query's words stand in a poem that answers it, and from {least} to {most} of "
        f"relevant pairs share no word{wordless}."
    )
    own = shared.filter(pl.col("attribute") == LANGUAGE, pl.col("grade") == ANY)
    languages = own.group_by("value").agg(pl.col("shares_none").min())
    silent = languages.filter(pl.col("shares_none") == 1)["value"].sort().to_list()
    if silent and len(languages) > 1:
        which = f"{len(silent)} of {len(languages)} languages"
        yield f"In {which} no relevant poem of any set shares a word with its query: {listing(silent)}."


def hangs(related: pl.DataFrame) -> Iterator[str]:
    """Of which systems what is found hangs on shared words, and on which sets."""
    single = related.filter(pl.col("b").is_null())
    gaps = single.filter(pl.col("quantity") == GAP)
    said = "That, of the relevant poems of one query, those that share a word with it are found at another rate than"
    yield from _where(gaps, f"{said} those that share none", "a")
    rhos = single.filter(pl.col("quantity") == RHO)
    measures = listing(sorted(rhos["measure"].unique()))
    yield from _where(
        rhos, f"That the {measures} of a query goes with how much of it stands in its relevant poems", "a", "ρ"
    )
    pairs = related.filter(pl.col("b").is_not_null(), pl.col("p_holm") < 0.05)
    for quantity, what in ((GAP, "difference"), (RHO, "correlation")):
        for (a, b), own in places_of(pairs.filter(pl.col("quantity") == quantity), "a", "b"):
            for way, some in (("higher", own["estimate"] > 0), ("lower", own["estimate"] < 0)):
                sets = sorted(own.filter(some)["query_set"])
                if sets:
                    yield f"This {what} is {way} for {a} than for {b} on {_some(sets)}, after Holm's correction."


def held(models: pl.DataFrame) -> Iterator[str]:
    """For which systems shared words predict that a poem is found, among poems of one grade and script."""
    own = models.filter(pl.col("term") == CONTAINMENT, pl.col("kind") == CONDITIONAL)
    said = "That, with grade and script held, a poem is found the more of the query's words it holds, or the fewer,"
    yield from _where(own, said, "system", "log-odds for one standard deviation")


def preferred(found: pl.DataFrame) -> Iterator[str]:
    """Which languages each system shows more, and less, than chance would, and on how many sets."""
    own = found.filter(
        pl.col("attribute") == LANGUAGE,
        pl.col("wording") == ALL,
        ~pl.col("note").fill_null("").str.contains(WITHIN, literal=True),
    )
    for (system,), part in places_of(own, "system"):
        n = part.select("corpus", "query_set").n_unique()
        more = list(_languages(part.filter(pl.col("preference_low") > 1), n))
        less = list(_languages(part.filter(pl.col("preference_high") < 1), n))
        ways = [f"{way} {listing(told)}" for way, told in (("more poems in", more), ("fewer in", less)) if told]
        if ways:
            yield f"Than the shares of the poems searched would have it, {system} shows {'; '.join(ways)}."


def _languages(rows: pl.DataFrame, n: int) -> Iterator[str]:
    """The languages that are shown so on most sets."""
    by = rows.group_by("value").agg(
        pl.len().alias("n"), pl.col("preference").min().alias("low"), pl.col("preference").max().alias("high")
    )
    by = by.sort("n", "value", descending=[True, False])
    for row in by.head(NAMED).iter_rows(named=True):
        low, high = number(row["low"], 2), number(row["high"], 2)
        yield f"{row['value']} (on {row['n']} of {n} sets, × {low if low == high else f'{low} to {high}'})"
    if len(by) > NAMED:
        yield f"{len(by) - NAMED} more"


def _where(rows: pl.DataFrame, said: str, system: str, called: str = "") -> Iterator[str]:
    """Of each system the sets on which its Holm's p is below .05, then on how many sets nothing can be said."""
    if rows.is_empty():
        return
    n = rows.select("corpus", "query_set").n_unique()
    unknown = rows.filter(pl.col("estimate").is_not_null()).select("corpus", "query_set").n_unique()
    clear = rows.filter(pl.col("p_holm") < 0.05)
    of = [_of(name, own.sort("query_set").to_dicts(), called) for (name,), own in places_of(clear, system)]
    left = f" (on {n - unknown} of {count(n, 'set')} this is not estimable)" if unknown < n else ""
    yield f"{said} is established for {'; '.join(of) if of else 'no system on any query set'}{left}."


def _of(name: str, rows: Rows, called: str) -> str:
    told = [f"{row['query_set']} {signed(row['estimate'])}" for row in rows]
    shown = _some(told)
    return f"{name} on {shown}" if not called else f"{name} on {shown} ({called})"


def _some(names: Iterable[str]) -> str:
    told = list(names)
    return listing(told if len(told) <= NAMED + 1 else [*told[:NAMED], f"{len(told) - NAMED} more"])
