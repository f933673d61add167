"""What queries carry of their poems' wording, and what it does to each system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from verseir.formats import NOT_ESTIMABLE, count, known, listing, percent, signed
from verseir.report.panel import Panel, empty, grid, notes, ordered, p, places, share, text, value, whole, why_not

Tables = Mapping[str, pl.DataFrame]


class Scope(NamedTuple):
    """What the page shows of each table: the base mode, the number of words that make a query quoting, the main measure
    of each query set, which systems are lexical or dense, which query sets are edits of others, which modes index some
    poems only (``kept``), and which index others than the base mode (``apart``)."""

    base_mode: str
    quoting: int
    measures: Mapping[str, str]
    lexical: list[str]
    dense: list[str]
    edited: list[str]
    kept: Sequence[str] = ()
    apart: Sequence[str] = ()

    def main(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows of each query set's main measure; where that was not analysed, of the first that was."""
        if frame.is_empty():
            return frame
        parts = []
        for (query_set,), part in frame.group_by(["query_set"], maintain_order=True):
            found = sorted(part["measure"].unique())
            wanted = self.measures.get(str(query_set))
            parts.append(part.filter(pl.col("measure") == (wanted if wanted in found else found[0])))
        return pl.concat(parts)


def places_of(frame: pl.DataFrame, *keys: str) -> Iterator[tuple[tuple[str, ...], pl.DataFrame]]:
    """The parts of ``frame`` with equal ``keys``, sorted."""
    yield from sorted(frame.partition_by(list(keys), as_dict=True).items())


def spectrum(tables: Tables, scope: Scope) -> Panel:
    """How much of their poems' wording queries carry."""
    title, frame = "What the queries remember", tables["overlap_spectrum"]
    shown = frame.filter(pl.col("mode").is_null())
    if shown.is_empty():
        return empty("wording", title, "no query has a poem that it asks for", ["overlap_spectrum"])
    quoting = f"share with {scope.quoting} tokens in a row"
    if quoting not in shown["quantity"].unique():
        quoting = sorted(name for name in shown["quantity"].unique() if name.startswith("share with"))[0]
    wanted = {"quoting": quoting, "contained": "mean containment"}
    if "mean proximity" in frame["quantity"].unique():
        near = frame.filter((pl.col("mode") == scope.base_mode) & (pl.col("quantity") == "mean proximity"))
    else:
        near = frame.clear()
    keys = ["corpus", "query_set", "register", "n_queries"]
    wide = shown.select(keys).unique()
    for name, quantity in wanted.items():
        part = shown.filter(pl.col("quantity") == quantity)
        wide = wide.join(_renamed(part, name), on=keys[:3], how="left")
    wide = wide.join(_renamed(near, "near"), on=keys[:3], how="left")
    wide = ordered(wide, "corpus", "query_set", "register")
    words = count(int(quoting.split()[2]), "word")
    whole_sets = wide.filter(pl.col("register") == "all").with_columns(edited=pl.col("query_set").is_in(scope.edited))
    in_order = whole_sets.sort("corpus", "edited", "query_set")
    sentences = [_carried(row, words) for row in in_order.iter_rows(named=True)]
    columns = [
        *places(wide, "corpus"),
        text("query_set", "Query set"),
        text("register", "Register"),
        whole("n_queries", "Queries"),
        share("quoting", f"{quoting.removeprefix('share with ').capitalize()}", "quoting_low", "quoting_high"),
        value("contained", "Words contained", "contained_low", "contained_high"),
        value("near", "Nearness of vectors", "near_low", "near_high") if len(near) else None,
    ]
    lede = "Shared words are counted between a query and the verses of the poem that it asks for, whatever is indexed."
    return Panel(
        "wording",
        title,
        lede,
        sentences,
        [grid(wide, "Wording that queries share with their poems, with 95% intervals", columns)],
        ["overlap_spectrum"],
        "spectrum",
        "The share of queries with words in a row from their poem, and the mean share of a query's words in it.",
    )


def _carried(row: Mapping[str, Any], words: str) -> str:
    """How many queries of a set quote so many ``words``, and how much of a query is in its poem."""
    share = "shares" if row["n_queries"] == 1 else "share"
    return (
        f"Of {row['query_set']} on {row['corpus']}, {percent(row['quoting'])} of "
        f"{count(row['n_queries'], 'query', 'queries')} {share} {words} in a row with a poem that they ask for; "
        f"on average {percent(row['contained'])} of a query's words stand in it."
    )


def _renamed(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    keys = ["corpus", "query_set", "register"]
    ends = {"mean": name, "ci_low": f"{name}_low", "ci_high": f"{name}_high"}
    return frame.select(*keys, *ends).rename(ends)


def quotation(tables: Tables, scope: Scope) -> Panel:
    """Queries that quote against queries that do not."""
    title, names = "Quoting and not quoting", ["quotation", "quotation_slopes", "quotation_pairs"]
    here = (pl.col("mode") == scope.base_mode) & (pl.col("threshold") == scope.quoting)
    means = scope.main(tables["quotation"].filter(here))
    slopes = scope.main(tables["quotation_slopes"].filter(here))
    if means.is_empty():
        return empty("quotation", title, "no known-item query set was measured in the base mode", names)
    sentences = []
    for (corpus, query_set), part in places_of(slopes, "corpus", "query_set"):
        own = part.filter(pl.col("b").is_null())
        sentences.append(f"On {query_set}, {corpus}, {_gains(own)}.")
        if own["estimate"].count():
            pairs = part.filter(pl.col("b").is_not_null(), pl.col("a").is_in(scope.lexical))
            sentences += [_steeper(str(lexical), rest) for (lexical,), rest in places_of(pairs, "a")]
    wide = means.pivot(
        "stratum", index=["corpus", "query_set", "system", "measure"], values=["mean", "ci_low", "ci_high", "n_queries"]
    )
    for stratum in ("quoting", "not quoting"):
        for column in ("mean", "ci_low", "ci_high", "n_queries"):
            if f"{column}_{stratum}" not in wide.columns:
                wide = wide.with_columns(pl.lit(None, dtype=means.schema[column]).alias(f"{column}_{stratum}"))
    own = slopes.filter(pl.col("b").is_null()).select(
        "corpus", "query_set", "measure", pl.col("a").alias("system"), "estimate", "ci_low", "ci_high", "note"
    )
    wide = ordered(
        wide.join(own, on=["corpus", "query_set", "measure", "system"], how="left"), "corpus", "query_set", "system"
    )
    rates = grid(
        wide,
        (
            f"Means of queries with at least {scope.quoting} words in a row from their poem and of the others, mode "
            f"{scope.base_mode}"
        ),
        [
            text("system", "System"),
            *places(wide, "corpus", "query_set", "measure"),
            whole("n_queries_quoting", "n quoting"),
            value("mean_quoting", "Quoting", "ci_low_quoting", "ci_high_quoting"),
            whole("n_queries_not quoting", "n not"),
            value("mean_not quoting", "Not quoting", "ci_low_not quoting", "ci_high_not quoting"),
            value("estimate", "Slope", "ci_low", "ci_high", sign=True),
            notes(wide),
        ],
    )
    pairs = ordered(slopes.filter(pl.col("b").is_not_null()), "corpus", "query_set", "a", "b")
    tested = grid(
        pairs,
        "Differences of slopes, a minus b",
        [
            text("a", "a"),
            text("b", "b"),
            *places(pairs, "corpus", "query_set"),
            value("estimate", "a − b", "ci_low", "ci_high", sign=True),
            text("test", "Test"),
            p("p", "p"),
            p(),
            p("p_permutation", "p of permutation"),
            notes(pairs),
        ],
    )
    inside = scope.main(tables["quotation_pairs"].filter(here))
    inside = ordered(inside, "corpus", "query_set", "stratum", "a", "b")
    direct = grid(
        inside,
        "Systems compared inside each stratum, a minus b",
        [
            text("a", "a"),
            text("b", "b"),
            *places(inside, "corpus", "query_set"),
            text("stratum", "Stratum"),
            whole("n", "n"),
            value("estimate", "a − b", "ci_low", "ci_high", sign=True),
            text("test", "Test"),
            p("p", "p"),
            p(),
            notes(inside),
        ],
    )
    return Panel(
        "quotation",
        title,
        (
            "The slope of a system is its mean on queries that quote minus its mean on those that do not. Other "
            "numbers of words and other measures are in the tables."
        ),
        sentences,
        [rates, *([tested] if len(pairs) else []), *([direct] if len(inside) else [])],
        names,
        "quotation",
        "Each system on queries that quote their poem and on queries that do not.",
        brief=sentences,
    )


def _gains(slopes: pl.DataFrame) -> str:
    """Which system gains most from a quotation, and which least, from the slopes of the systems of one place."""
    own = slopes.filter(pl.col("estimate").is_not_null()).sort("estimate", "a", descending=True)
    if own.is_empty():
        return f"slopes are {why_not(slopes)}"
    first, last = own.row(0, named=True), own.row(-1, named=True)
    gain = f"{signed(first['estimate'])} {first['measure']}"
    if len(own) == 1:
        return f"the slope of {first['a']} is {gain}"
    if signed(first["estimate"]) == signed(last["estimate"]):
        return f"the slope of every system is {gain}"
    if first["estimate"] <= 0:
        lost = f"{last['a']} loses most, {signed(last['estimate'])}, {first['a']} least, {signed(first['estimate'])}"
        return f"no system scores above its other queries where they quote ({first['measure']}): {lost}"
    least = f"least so {last['a']}: {signed(last['estimate'])}"
    return f"{first['a']} scores most above its other queries where they quote: {gain}; {least}"


def _steeper(lexical: str, pairs: pl.DataFrame) -> str:
    """How many systems a lexical one depends on quotation more than, of those that it could be tested against."""
    unknown = pairs.filter(pl.col("p").is_null())
    if len(unknown) == len(pairs):
        return f"Whether {lexical} depends on quotation more than other systems is {why_not(unknown)}."
    steeper = pairs.filter((pl.col("p_holm") < 0.05) & (pl.col("estimate") > 0))["b"].sort().to_list()
    which = f": {listing(steeper)}" if steeper else ""
    others = count(len(pairs), "other single system")
    but = f" ({count(len(unknown), 'comparison')} {NOT_ESTIMABLE})" if len(unknown) else ""
    if not steeper:
        return f"{lexical} is not shown to depend on quotation more than any of {others}{but}."
    return f"{lexical} depends on quotation more than {len(steeper)} of {others} after Holm's correction{which}{but}."


def edits(tables: Tables, scope: Scope) -> Panel:
    """The same queries with other wording."""
    title, names = "The same queries, edited", ["edits", "edit_lengths"]
    frame = scope.main(tables["edits"].filter(pl.col("mode") == scope.base_mode))
    lengths = tables["edit_lengths"]
    if lengths.is_empty():
        return empty("edits", title, "the study has no edited query set", names)
    changes = ordered(frame.filter(pl.col("effect") == "change"), "corpus", "source_query_set", "query_set", "a")
    sentences = []
    for (corpus, query_set), part in places_of(changes, "corpus", "query_set"):
        told = [f"{row['a']} {signed(row['estimate'])}" for row in part.iter_rows(named=True) if known(row["estimate"])]
        head = part.row(0, named=True)
        rejected = f", {head['n_rejected']} rejected" if head["n_rejected"] else ""
        size = f"{count(head['n'], 'query', 'queries')}{rejected}"
        sentences.append(
            f"{query_set} on {corpus} ({size}) changes {head['measure']} by: {listing(told)}."
            if told
            else f"{query_set} on {corpus}: {why_not(part)}."
        )
    for query_set in sorted(set(lengths["query_set"]) - set(changes["query_set"])):
        sentences.append(f"{query_set}: {_no_change(lengths.filter(pl.col('query_set') == query_set), scope)}.")
    effects = grid(
        changes,
        f"What each edit changes, edited minus original, mode {scope.base_mode}",
        [
            text("a", "System"),
            *places(changes, "corpus"),
            text("query_set", "Edited set"),
            *places(changes, "measure"),
            whole("n", "n"),
            value("before", "Before"),
            value("after", "After"),
            value("estimate", "Change", "ci_low", "ci_high", sign=True),
            text("test", "Test"),
            p(),
            notes(changes),
        ],
    )
    between = ordered(frame.filter(pl.col("effect") != "change"), "effect", "corpus", "query_set", "a", "b")
    others = grid(
        between,
        "Edits compared between systems (a minus b) and between positions (the first minus the second)",
        [
            text("a", "a"),
            text("b", "b", "none"),
            *places(between, "corpus"),
            text("query_set", "Edited set"),
            text("edit", "Edit"),
            text("effect", "Compared"),
            whole("n", "n"),
            value("estimate", "a − b", "ci_low", "ci_high", sign=True),
            text("test", "Test"),
            p(),
            notes(between),
        ],
    )
    sizes = grid(
        lengths,
        "Length of the queries",
        [
            text("query_set", "Edited set"),
            whole("n", "Made"),
            whole("n_rejected", "Rejected"),
            value("tokens_before", "Words before"),
            value("tokens_after", "Words after"),
            notes(lengths),
        ],
    )
    return Panel(
        "edits",
        title,
        "Edits change the words of a query and not the poem that it asks for, so each query is compared with itself.",
        sentences,
        [*([effects] if len(changes) else []), *([others] if len(between) else []), sizes],
        names,
        "edits",
        "Change of each system's mean under each edit, with 95% intervals.",
    )


def _no_change(lengths: pl.DataFrame, scope: Scope) -> str:
    """Why an edited set has no change in the base mode, from its EDIT_LENGTHS."""
    if lengths["n"].sum():
        both = f"both it and {lengths['source_query_set'][0]}"
        return f"{NOT_ESTIMABLE}: no system searched {both} in mode {scope.base_mode}"
    rejected = lengths["n_rejected"].sum()
    return why_not(lengths) + (f" ({rejected} rejected)" if rejected else "")


def augmentation(tables: Tables, scope: Scope) -> Panel:
    """What indexing explanations does."""
    title, names = "What explanations in the index do", ["augmentation", "augmentation_by_quotation"]
    frame = scope.main(tables["augmentation"])
    if frame.is_empty():
        other = "another of the same poems" if scope.apart else "another"
        return empty("augmentation", title, f"no system was measured in mode {scope.base_mode} and in {other}", names)
    frame = ordered(frame, "corpus", "query_set", "register", "mode", "system")
    sentences = []
    for (corpus, query_set, mode), part in places_of(
        frame.filter(pl.col("estimate").is_not_null()), "corpus", "query_set", "mode"
    ):
        lead = f"Mode {mode} in place of {part['base_mode'][0]}, {query_set} on {corpus}"
        sentences.append(f"{lead}: {part['measure'][0]} changes by {_range(part)}.")
    table = grid(
        frame,
        f"Every mode against {scope.base_mode}",
        [
            text("system", "System"),
            *places(frame, "corpus", "query_set"),
            text("register", "Register"),
            text("mode", "Mode"),
            *places(frame, "measure"),
            whole("n", "n"),
            value("base_mean", "Without"),
            value("mean", "With"),
            value("estimate", "Change", "ci_low", "ci_high", sign=True),
            p(),
            notes(frame),
        ],
    )
    split = scope.main(tables["augmentation_by_quotation"])
    split = ordered(split.filter(pl.col("threshold") == scope.quoting), "corpus", "query_set", "mode", "system")
    by = grid(
        split,
        "The change on quoting queries less the change on the others",
        [
            text("system", "System"),
            *places(split, "corpus", "query_set"),
            text("mode", "Mode"),
            value("change_quoting", "Quoting", sign=True),
            value("change_not_quoting", "Not quoting", sign=True),
            value("estimate", "Difference", "ci_low", "ci_high", sign=True),
            p(),
            notes(split),
        ],
    )
    told = f"{listing(scope.apart)}: not compared, since other poems are indexed there." if scope.apart else ""
    return Panel(
        "augmentation",
        title,
        told,
        sentences,
        [table, *([by] if len(split) else [])],
        names,
        "augmentation",
        "Change of each mode against the base mode, by register and system, with 95% intervals.",
    )


def _range(changes: pl.DataFrame) -> str:
    """The lowest change and the highest, and whose they are."""

    def named(row: Mapping[str, Any]) -> str:
        where = "" if row["register"] == "all" else f" on {row['register']} queries"
        return f"{signed(row['estimate'])} ({row['system']}{where})"

    best, worst = (changes.sort("estimate", "system", descending=down).row(0, named=True) for down in (True, False))
    if len(changes) == 1:
        return named(best)
    if signed(best["estimate"]) == signed(worst["estimate"]):
        return f"{signed(best['estimate'])} for every system"
    return f"{named(worst)} to {named(best)}"
