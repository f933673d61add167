"""What does finding the words of an idiom score, with no understanding of its use?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.idioms import ALL, IDIOMATIC, LITERAL, Cell, Estimate, estimates, read_cells
from verseir.measures import RELEVANT, Measure, parse_measure
from verseir.tables import define

STRING_MATCH = define(
    "string_match",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "match": pl.String,
        "usage": pl.String,
        "measure": pl.String,
        "n_queries": pl.Int64,
        "n_matched": pl.Float64,
        "mean": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "note": pl.String,
    },
    nullable="n_matched mean ci_low ci_high note",
    unique="corpus query_set mode match usage measure",
)

#: Why a measure that looks at how other documents were judged has no value.
NO_EXPECTATION = "not estimable: of a random order only measures that look at relevant documents alone are had exactly"

#: Expectations that differ by less are equal: a certain success is 1, however its terms were added up.
DIGITS = 12


class Halves(NamedTuple):
    """A list of two parts, each in random order: how many documents each part holds, and how many relevant ones."""

    first: int
    rest: int
    relevant_first: int
    relevant_rest: int


def string_match(
    results: str | Path, places: Iterable[Sequence[str]], measures: Sequence[str], resamples: int, seed: int
) -> pl.DataFrame:
    """The STRING_MATCH table: exact expectations of a ranking that knows where the idiom stands, and nothing else.

    Documents that match come first in random order, all others after them in random order. A document matches
    ``annotated`` when its own idiom is that of the query and stands in it, in whatever form and use; it matches
    ``verbatim`` when the span of the query stands in its text as whole words, regardless of case. Lists are not cut.

    Args:
        results: the folder of a study.
        places: corpus, query set and indexing mode of each search; query sets with idioms alone.
        measures: names that ``measures.parse_measure`` knows; relevance is binary.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    names = sorted(set(measures))
    parsed = [parse_measure(name) for name in names]
    rows: list[tuple] = []
    holding: dict[tuple[str, str], dict[str, list[str]]] = {}
    for cell in read_cells(results, places):
        known = holding.setdefault((cell.corpus, cell.mode), {})
        for match, pairs in (("annotated", annotated(cell)), ("verbatim", verbatim(cell, known))):
            halves = matched_halves(cell, pairs)
            values = _expectations(parsed, halves)
            n_matched = np.array([one.first for one in halves], dtype=np.float64)
            for usage, inside in [(ALL, np.arange(len(halves))), *cell.by_usage()]:
                ids = cell.queries["query_id"].gather(inside).to_list()
                found = estimates(values[inside], cell.clusters(ids), resamples, seed)
                mean_matched = float(n_matched[inside].mean()) if len(ids) else None
                for measure, name, estimate in zip(parsed, names, found, strict=True):
                    end = (None, None, None, NO_EXPECTATION) if measure.needs_judged else _written(estimate)
                    rows.append((*cell.name, match, usage, name, len(ids), mean_matched, *end))
    frame = pl.DataFrame(rows, schema=dict(STRING_MATCH.columns), orient="row")
    return frame.sort("corpus", "query_set", "mode", "match", "usage", "measure")


def _written(estimate: Estimate) -> Estimate:
    """An estimate without the noise that adding up the expectations of many queries leaves behind the last digit."""
    mean, low, high = (None if end is None else float(f"{end:.{DIGITS}g}") for end in estimate[:3])
    return Estimate(mean, low, high, estimate.note)


def annotated(cell: Cell) -> pl.DataFrame:
    """query_id, poem_id: the indexed documents in which the idiom of each query stands, in either use."""
    holding = cell.documents.filter(pl.col("usage").is_in([LITERAL, IDIOMATIC])).select("poem_id", "idiom")
    return cell.queries.select("query_id", "idiom").join(holding, on="idiom").select("query_id", "poem_id")


def verbatim(cell: Cell, known: dict[str, list[str]] | None = None) -> pl.DataFrame:
    """query_id, poem_id: the indexed documents whose text holds the span of each query as whole words.

    Case and the width of blanks count for nothing. A query without a span matches nothing. ``known`` remembers the
    documents of each span, for query sets that share spans.
    """
    holding = {} if known is None else known
    asked = cell.queries.select("query_id", span=_plain("span")).filter(pl.col("span").str.len_chars() > 0)
    texts = cell.documents.select("poem_id", text=_plain("text"))
    pairs = list(texts.iter_rows())
    for span in asked["span"].unique():
        if span not in holding:
            # Where a span ends in a mark, \b would ask for a word to follow: what counts is that no word goes on.
            whole = re.compile(rf"(?<!\w){re.escape(span)}(?!\w)")
            holding[span] = [poem_id for poem_id, text in pairs if span in text and whole.search(text)]
    found = pl.DataFrame(
        {"span": list(holding), "poem_id": list(holding.values())},
        schema={"span": pl.String, "poem_id": pl.List(pl.String)},
    )
    matched = asked.join(found, on="span").explode("poem_id").drop_nulls("poem_id")
    return matched.select("query_id", "poem_id")


def _plain(column: str) -> pl.Expr:
    folded = pl.col(column).map_elements(lambda text: " ".join(text.casefold().split()), return_dtype=pl.String)
    return folded.alias(column)


def matched_halves(cell: Cell, pairs: pl.DataFrame) -> list[Halves]:
    """The parts of the list of each query of ``cell``, in their order; ``pairs`` (query_id, poem_id) match."""
    relevant = cell.qrels.filter(pl.col("grade") >= RELEVANT).select("query_id", "poem_id")
    counts = cell.queries.select("query_id")
    for name, part in (("m", pairs), ("a", pairs.join(relevant, on=["query_id", "poem_id"])), ("R", relevant)):
        sizes = part.group_by("query_id").agg(pl.len().cast(pl.Int64).alias(name))
        counts = counts.join(sizes, on="query_id", how="left", maintain_order="left")
    n = len(cell.documents)
    return [Halves(m, n - m, a, r - a) for m, a, r in counts.select("m", "a", "R").fill_null(0).iter_rows()]


def _expectations(measures: Sequence[Measure], halves: Sequence[Halves]) -> NDArray[np.float64]:
    """float64 [q, m]; 0 where a measure has none. Many queries have the same parts: each is reckoned once."""
    known = {
        one: [0.0 if measure.needs_judged else expected(measure, one) for measure in measures] for one in set(halves)
    }
    values = np.array([known[one] for one in halves], dtype=np.float64).reshape(len(halves), len(measures))
    return values.round(DIGITS)


def expected(measure: Measure, halves: Halves) -> float:
    """The exact expectation of a measure over the orders of both parts; 0 where no document is relevant.

    Precision, recall, R-precision and nDCG are sums over ranks of the chance that a relevant document stands there;
    average precision sums chances of pairs; success and reciprocal rank rest on the chance that the first ranks hold
    none, which is hypergeometric in each part.

    Raises:
        ValueError: the measure looks at documents that were judged not relevant.
    """
    n, n_relevant = halves.first + halves.rest, halves.relevant_first + halves.relevant_rest
    if measure.needs_judged:
        raise ValueError(f"{measure} has no expectation here")
    if not n_relevant:
        return 0.0
    cutoff = n_relevant if measure.family == "Rprec" else n if measure.cutoff is None else min(measure.cutoff, n)
    rank = np.arange(1, cutoff + 1)
    here = _chances(halves, rank)
    if measure.family == "P":
        return float(here.sum() / (measure.cutoff or n))
    if measure.family in ("R", "Rprec"):
        return float(here.sum() / n_relevant)
    if measure.family == "nDCG":
        discount = 1.0 / np.log2(rank + 1.0)
        return float(here @ discount / discount[:n_relevant].sum())
    if measure.family == "AP":
        return float(((here + _pairs_above(halves, rank)) / rank).sum() / n_relevant)
    none = np.concatenate([[1.0], np.cumprod(1.0 - _chances_after_none(halves, rank))])
    if measure.family == "Success":
        return float(1.0 - none[-1])
    assert measure.family == "RR"
    return float(((none[:-1] - none[1:]) / rank).sum())


def _chances(halves: Halves, rank: NDArray[np.int64]) -> NDArray[np.float64]:
    """The chance of each rank to hold a relevant document, float64 [k]."""
    first = halves.relevant_first / max(halves.first, 1)
    return np.where(rank <= halves.first, first, halves.relevant_rest / max(halves.rest, 1))


def _pairs_above(halves: Halves, rank: NDArray[np.int64]) -> NDArray[np.float64]:
    """How many relevant documents are expected above each rank, times the chance that it holds one, float64 [k]."""
    m, rest, a, b = halves
    both_first = a * (a - 1) / max(m * (m - 1), 1)
    both_rest = b * (b - 1) / max(rest * (rest - 1), 1)
    below = a * b / max(rest, 1) + (rank - m - 1) * both_rest
    return np.where(rank <= m, (rank - 1) * both_first, below)


def _chances_after_none(halves: Halves, rank: NDArray[np.int64]) -> NDArray[np.float64]:
    """The chance of each rank to hold a relevant document where no rank above it does, float64 [k]."""
    m, rest, a, b = halves
    left = np.where(rank <= m, m - rank + 1, m + rest - rank + 1)
    return np.minimum(np.where(rank <= m, a, b) / left, 1.0)
