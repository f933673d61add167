"""The tables of a paper on an idiom benchmark: zero-shot, by use and subject, filtered indexes, overlap and data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from verseir.formats import known, number
from verseir.typeset.cells import cells, columns, reasons, sheet, value, with_best
from verseir.typeset.sheet import NUMBERS, Cell, Column, Sheet

#: The uses of an idiom in the order in which people read them.
USAGES = ("literal", "idiomatic", "simplification", "sense")
ALL = "all"
#: What was not searched, or has no such value.
MISSING = "–"
DIGITS = 4
#: Measures whose name in tables is not the one that papers print.
PRINTED = {"Rprec": "R-Precision"}
#: The reference levels of finding the words of an idiom, and how they are called.
MATCHES = {"annotated": "string match, annotated", "verbatim": "string match, verbatim"}
MATCH_NOTE = (
    "string match: what is expected when texts that match come first and the others after them, both in random order;"
    " annotated: their own idiom is the query's and stands in them, in whatever form and use; verbatim: they hold the"
    " query's span"
)
#: What the two kinds of texts are called.
ROLES = {"document": "documents", "query": "queries"}
#: Rows of a page: a table of more is parted once more.
PAGE_ROWS = 60

Row = Mapping[str, Any]
Key = tuple[str, ...]


class Tables(NamedTuple):
    """The tables that sheets are made from, by their contracts."""

    leaderboard: pl.DataFrame
    strata: pl.DataFrame
    subjects: pl.DataFrame
    string_match: pl.DataFrame


def usage_order(usage: str) -> tuple[int, str]:
    """Sort key: all uses together, then the uses in the order in which people read them, then others by name."""
    order = (ALL, *USAGES)
    return (order.index(usage) if usage in order else len(order), usage)


def printed_measure(measure: str) -> str:
    """A measure as papers print it."""
    return PRINTED.get(measure, measure)


class Scores:
    """Means by place: of systems by use of the query, and of string match."""

    def __init__(self, tables: Tables, query_sets: Sequence[str]):
        within = pl.col("query_set").is_in(list(query_sets))
        overall = tables.leaderboard.filter(within).with_columns(usage=pl.lit(ALL))
        split = tables.strata.filter(within, pl.col("attribute") == "usage").rename({"value": "usage"})
        self.rows: dict[Key, Row] = {}
        for frame in (overall, split):
            for row in frame.iter_rows(named=True):
                self.rows[_at(row, "system", "usage")] = row
        self.subjects = {_at(row, "system"): row for row in tables.subjects.filter(within).iter_rows(named=True)}
        self.matches = {
            _at(row, "match", "usage"): row for row in tables.string_match.filter(within).iter_rows(named=True)
        }
        self.corpora = sorted(set(overall["corpus"]))
        self._searched = set(overall.select("corpus", "system").iter_rows())
        self.usages = [ALL, *sorted({key[5] for key in self.rows} - {ALL}, key=usage_order)]

    def systems(self, corpus: str) -> list[str]:
        """The systems that searched any of the query sets in ``corpus``, sorted."""
        return sorted(system for at, system in self._searched if at == corpus)

    def matched(self, places: Iterable[Key]) -> list[str]:
        """The kinds of string match that have a level in any of ``places``."""
        at = {key[4] for key in self.matches if key[:4] in set(places)}
        return [match for match in MATCHES if match in at]

    def means(self, place: Key, usage: str, systems: Iterable[str], matches: Iterable[str]) -> list[Row | None]:
        """The rows of systems and then of string match in one place, for one use of the query."""
        return [
            *(self.rows.get((*place, system, usage)) for system in systems),
            *(self.matches.get((*place, match, usage)) for match in matches),
        ]


def _at(row: Row, *more: str) -> Key:
    """Where a row belongs: corpus, query set, mode and measure, and what ``more`` columns say."""
    return tuple(str(row[name]) for name in ("corpus", "query_set", "mode", "measure", *more))


def text(row: Row | None) -> str:
    """A mean with its interval, to four decimals."""
    return MISSING if row is None else value(row, "mean", digits=DIGITS)


class _Blocks:
    """The rows of a sheet as they grow block by block, and what their means come from."""

    def __init__(self) -> None:
        self.printed: list[list[Cell]] = []
        self.used: list[Row] = []

    def add(
        self,
        lead: Sequence[str],
        systems: Sequence[str],
        matches: Sequence[str],
        means: Sequence[Sequence[Row | None]],
        more: Sequence[Sequence[Cell]] = (),
    ) -> None:
        """A row for each system and kind of string match; nothing where no mean is known.

        Args:
            lead: what the rows have in common.
            systems: their names; the best of them is bold. String match is no system.
            matches: the kinds of string match, which come after.
            means: the columns, in the order of systems and matches.
            more: columns of cells that stand after them.
        """
        rows = [row for column in means for row in column if row is not None]
        if not rows:
            return
        self.used += rows
        n = len(systems)
        table = [
            [
                *with_best([(text(row), row["mean"] if row else None) for row in column[:n]]),
                *cells(*map(text, column[n:])),
            ]
            for column in means
        ]
        for place, name in enumerate([*systems, *(MATCHES[match] for match in matches)]):
            self.printed.append([*cells(*lead, name), *(column[place] for column in [*table, *more])])


def zero_shot(tables: Tables, query_sets: Sequence[str], mode: str, measures: Sequence[str]) -> Sheet:
    """Systems by query sets in one mode, with the levels of string match.

    Args:
        tables: of the study.
        query_sets: in the order of the columns.
        mode: the indexing mode.
        measures: in order.
    """
    scores, blocks = Scores(tables, query_sets), _Blocks()
    for corpus in scores.corpora:
        systems = scores.systems(corpus)
        for measure in measures:
            places = [(corpus, query_set, mode, measure) for query_set in query_sets]
            matches = scores.matched(places)
            means = [scores.means(place, ALL, systems, matches) for place in places]
            blocks.add((corpus, printed_measure(measure)), systems, matches, means)
    return _sheet(
        "zero-shot",
        f"Zero-shot retrieval by how the query is read, indexing mode {mode}: means with 95% intervals, the highest of"
        " the systems in each column in bold.",
        columns("corpus, measure, system", query_sets),
        blocks,
        f"no query set of an idiom benchmark was searched in the mode {mode}",
    )


def variants(tables: Tables, query_set: str, mode: str, measures: Sequence[str]) -> Sheet:
    """One query set in one mode: systems over all queries, by the use of the idiom, and by the subject of results."""
    scores, blocks = Scores(tables, [query_set]), _Blocks()
    for corpus in scores.corpora:
        systems = scores.systems(corpus)
        for measure in measures:
            place = (corpus, query_set, mode, measure)
            matches = scores.matched([place])
            subjects: list[Row | None] = [
                *(scores.subjects.get((*place, system)) for system in systems),
                *[None] * len(matches),
            ]
            means = [scores.means(place, usage, systems, matches) for usage in scores.usages]
            # A check and no headline: none of them is bold.
            checks = [cells(*map(text, subjects)), cells(*map(_ceiling, subjects))]
            blocks.used += [row for row in subjects if row is not None]
            blocks.add((corpus, printed_measure(measure)), systems, matches, means, checks)
    names = ["overall" if usage == ALL else usage for usage in scores.usages]
    return _sheet(
        f"variants-{query_set}",
        f"Query set {query_set}, indexing mode {mode}: all queries, literal and idiomatic ones, and the same lists"
        " judged by shared subject alone; means with 95% intervals, the highest of the systems in"
        " each column in bold, but for the subject, which is a check.",
        columns("corpus, measure, system", [*names, "by subject", "at most"]),
        blocks,
        f"{query_set} was not searched in the mode {mode}",
        ["at most: what a list of this length can reach by subject"],
    )


def _ceiling(row: Row | None) -> str:
    return number(row["ceiling"], DIGITS) if row is not None and known(row["ceiling"]) else MISSING


def ablation(tables: Tables, query_set: str, modes: Sequence[str], measures: Sequence[str]) -> Sheet:
    """One query set in all ``modes``: systems by which documents are indexed, and by the use of the idiom."""
    scores, blocks = Scores(tables, [query_set]), _Blocks()
    for corpus in scores.corpora:
        systems = scores.systems(corpus)
        for measure in measures:
            places = [(corpus, query_set, mode, measure) for mode in modes]
            matches = scores.matched(places)
            for usage in scores.usages:
                means = [scores.means(place, usage, systems, matches) for place in places]
                blocks.add((corpus, printed_measure(measure), usage), systems, matches, means)
    return _sheet(
        f"ablation-{query_set}",
        f"Query set {query_set} by which documents are indexed, over all queries and by the use of the idiom: means"
        " with 95% intervals, the highest of the systems in each column in bold. What is relevant is counted among"
        " what is indexed.",
        columns("corpus, measure, queries, system", modes),
        blocks,
        f"{query_set} was searched in none of the modes {', '.join(modes)}",
    )


def _sheet(
    name: str,
    caption: str,
    heads: list[Column],
    blocks: _Blocks,
    empty: str,
    more: Iterable[str] = (),
) -> Sheet:
    """A sheet of scores: a table for each corpus, and for each further leading column while a table is too long."""
    printed, lead = blocks.printed, [column.heading for column in heads].index("system")
    parts = next((n for n in range(1, lead) if _longest(printed, n) <= PAGE_ROWS), lead)
    texts = {cell.text for row in printed for cell in row}
    notes = [f"{MISSING}: not searched, or no such value"] * (MISSING in texts)
    notes += [MATCH_NOTE] * bool(texts & set(MATCHES.values()))
    return sheet(
        f"table-idioms-{name}",
        caption,
        heads,
        printed,
        empty,
        [*notes, *more, reasons(blocks.used)],
        parts=parts,
        blocks=lead - parts,
    )


def _longest(printed: list[list[Cell]], parts: int) -> int:
    """Rows of the longest table when the first ``parts`` columns part them."""
    keys = [tuple(cell.text for cell in row[:parts]) for row in printed]
    return max((keys.count(key) for key in set(keys)), default=0)


def overlap(table: pl.DataFrame, query_sets: Sequence[str]) -> Sheet:
    """How many words queries share with what is relevant to them, from an IDIOM_OVERLAP table."""
    order = list(query_sets)
    order += sorted(set(table["query_set"]) - set(order))  # of corpora that are not searched
    kinds = sorted(set(table.select("quantity", "words").iter_rows()), key=lambda kind: (kind[0], kind[1] != ALL))
    found = {
        tuple(row[name] for name in ("corpus", "query_set", "usage", "found", "quantity", "words")): row
        for row in table.iter_rows(named=True)
    }
    keys = sorted(
        {key[:4] for key in found},
        key=lambda key: (key[0], order.index(key[1]), usage_order(key[2]), usage_order(key[3])),
    )
    printed = []
    for key in keys:
        own = [found.get((*key, *kind)) for kind in kinds]
        n = max(row["n_queries"] for row in own if row is not None)
        printed.append(cells(*key[:2], key[2], key[3], f"{n:,}", *(text(row) for row in own)))
    # The sets of a corpus mostly hold the same queries, and one of them stands for all.
    several = len({key[:2] for key in keys}) > len({key[0] for key in keys})
    if not several:
        printed = [[row[0], *row[2:]] for row in printed]
    lead = "corpus, query set, queries, documents" if several else "corpus, queries, documents"
    names = [quantity if words == ALL else f"{quantity}, {words}" for quantity, words in kinds]
    return sheet(
        "table-idioms-overlap",
        "Words that queries share with the documents that are relevant to them, with and without the spans that carry"
        " the meaning: means over queries with 95% intervals.",
        [*columns(lead, []), *(Column(name, NUMBERS) for name in ("n", *names))],
        printed,
        "no query of an idiom benchmark has a relevant document",
        [
            "jaccard: shared words of all words of both",
            "query recall: shared words of those of the query",
            reasons(table.iter_rows(named=True)),
        ],
        blocks=2 if several else 1,
    )


def data(table: pl.DataFrame) -> Sheet:
    """What a benchmark holds, from an IDIOM_DATA table."""
    rows = sorted(table.to_dicts(), key=lambda row: (row["corpus"], row["role"], usage_order(row["usage"])))
    counts, means = ("n", "n_idioms", "n_subjects", "n_gold"), ("words_mean", "span_words_mean")
    printed = []
    for row in rows:
        said = {key: MISSING if row[key] is None else f"{row[key]:,}" for key in (*counts, "words_min", "words_max")}
        said |= {key: number(row[key], 2) if known(row[key]) else MISSING for key in means}
        words = [said[key] for key in ("words_min", "words_mean", "words_max", "span_words_mean")]
        same = MISSING if row["n_span_is_idiom"] is None else f"{row['n_span_is_idiom']:,}"
        lead = (row["corpus"], ROLES.get(row["role"], row["role"]), row["usage"])
        printed.append(cells(*lead, *(said[key] for key in counts), *words, same))
    heads = ["n", "idioms", "subjects", "checked", "words, least", "mean", "most", "span, mean", "span is idiom"]
    return sheet(
        "table-idioms-data",
        "Documents and queries of the idiom benchmark by the use of the idiom; lengths in words.",
        columns("corpus, texts, use", heads),
        printed,
        "no corpus of the study is an idiom benchmark",
        ["checked: by people (gold)"],
        blocks=2,
    )
