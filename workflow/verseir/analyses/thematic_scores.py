"""How do judges rank the systems on thematic queries?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from verseir.analyses.clusters import no_interval
from verseir.analyses.judged import DIGITS, Judged, Matrix, aspects_of, by_gaps, empty_places, item_scores, matrices
from verseir.analyses.paired import TESTED, independent, notes, tidy
from verseir.judging.pool import standing
from verseir.judging.rubrics import ABOUTNESS, OVERALL, Rubric
from verseir.layout import Run
from verseir.stats.bootstrap import bootstrap_means
from verseir.tables import define

JUDGED_PER_QUERY = define(
    "judged_per_query",
    {
        "corpus": pl.String,
        "mode": pl.String,
        "query_set": pl.String,
        "system": pl.String,
        "query_id": pl.String,
        "judge": pl.String,
        "aspect": pl.String,
        "value": pl.Float64,
        "n_judged": pl.Int64,
        "n_empty": pl.Int64,
    },
    nullable="value",
    unique="corpus mode query_set system query_id judge aspect",
)
THEMATIC_MEANS = define(
    "thematic_means",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "judge": pl.String,
        "rubric": pl.String,
        "aspect": pl.String,
        "kind": pl.String,
        "system": pl.String,
        "k": pl.Int64,
        "n_queries": pl.Int64,
        "judged_at_k": pl.Float64,
        "empty_at_k": pl.Float64,
        "mean": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "rank": pl.Float64,
        "n_systems": pl.Int64,
        "n_shown": pl.Int64,
        "mean_shown": pl.Float64,
        "note": pl.String,
    },
    nullable="judged_at_k mean ci_low ci_high rank mean_shown note",
    unique="corpus query_set mode judge aspect system",
)
THEMATIC_CONTRASTS = define(
    "thematic_contrasts",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "judge": pl.String,
        "aspect": pl.String,
        "a": pl.String,
        "b": pl.String,
        "n": pl.Int64,
        **TESTED,
        "p_t": pl.Float64,
        "note": pl.String,
    },
    nullable="estimate ci_low ci_high p p_holm p_t note",
    unique="corpus query_set mode judge aspect a b",
)
#: How much of what each system put first was judged at all.
POOL_COVERAGE = define(
    "pool_coverage",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "judge": pl.String,
        "k": pl.Int64,
        "n_queries": pl.Int64,
        "judged_at_k": pl.Float64,
        "empty_at_k": pl.Float64,
    },
    nullable="judged_at_k",
    unique="corpus query_set mode system judge",
)


def judged_per_query(
    searched: Iterable[tuple[Run, pl.DataFrame]],
    query_ids: Mapping[str, Sequence[str]],
    duplicates: Mapping[str, pl.DataFrame],
    judged: Sequence[Judged],
    k: int,
) -> pl.DataFrame:
    """The JUDGED_PER_QUERY table: what each judge gives to the first k places of each system, by aspect.

    The value is the mean score of the places that were judged, each by its poem's class of duplicates. A place that was
    not judged is left out (condensed lists: Sakai, 2007); one that the system left empty scores the lowest grade of the
    scale. A query of which the judge judged nothing has no value for any system, though some left places empty: else a
    judge that stopped half-way would hold against them what it never read. ``aboutness`` is the mean of the aspects of
    that kind, over the items that have them all; a rubric without such aspects has none.

    Args:
        searched: runs with their RUN tables.
        query_ids: query set -> the ids of all its queries.
        duplicates: corpus -> its DUPLICATES.
        judged: what was judged, by corpus, query set and judge.
        k: places that count.
    """
    cells: dict[tuple[str, str], list[tuple[Run, pl.DataFrame]]] = {}
    for run, ranked in searched:
        first = ranked.filter(pl.col("rank") <= k).select("query_id", "poem_id")
        named = first.with_columns(mode=pl.lit(run.mode), system=pl.lit(run.system))
        cells.setdefault((run.corpus, run.query_set), []).append((run, named))
    parts = [pl.DataFrame(schema=dict(JUDGED_PER_QUERY.columns))]
    for one in judged:
        cell = cells.get((one.corpus, one.query_set), [])
        if cell:
            places = standing(pl.concat([named for _, named in cell]), item_scores(one), duplicates[one.corpus])
            asked = _crossed([run for run, _ in cell], query_ids[one.query_set])
            parts += _scored(one, places, asked, k)
    return pl.concat(parts).sort(JUDGED_PER_QUERY.unique)


def _crossed(cell: Sequence[Run], query_ids: Sequence[str]) -> pl.DataFrame:
    """mode, system, query_id: every query for every run, whether it found anything or not."""
    searched = pl.DataFrame(
        [(run.mode, run.system) for run in cell], schema={"mode": pl.String, "system": pl.String}, orient="row"
    )
    return searched.join(pl.DataFrame({"query_id": pl.Series(query_ids, dtype=pl.String)}), how="cross")


def _scored(one: Judged, places: pl.DataFrame, asked: pl.DataFrame, k: int) -> Iterator[pl.DataFrame]:
    """JUDGED_PER_QUERY rows of one judge in one corpus and query set, aspect by aspect."""
    names = aspects_of(one.rubric)
    key = ["mode", "system", "query_id"]
    found = places.join(item_scores(one), on=["query_id", "poem_id"], how="left").group_by(key)
    totals = found.agg(
        pl.len().cast(pl.Int64).alias("n_found"),
        pl.col(names).sum().name.prefix("sum of "),
        pl.col(names).count().cast(pl.Int64).name.prefix("n of "),
    )
    table = asked.join(totals, on=key, how="left").with_columns(pl.col(totals.columns[3:]).fill_null(0))
    table = table.with_columns(n_empty=k - pl.col("n_found"), nothing=pl.col("n_found").sum().over("query_id") == 0)
    lowest = min(one.rubric.scale)
    for name in names:
        counted = pl.col(f"n of {name}")
        read = pl.col("nothing") | (counted.sum().over("query_id") > 0)
        mean = (pl.col(f"sum of {name}") + pl.col("n_empty") * lowest) / (counted + pl.col("n_empty"))
        yield table.select(
            corpus=pl.lit(one.corpus),
            mode="mode",
            query_set=pl.lit(one.query_set),
            system="system",
            query_id="query_id",
            judge=pl.lit(one.judge),
            aspect=pl.lit(name),
            value=pl.when(read & (counted + pl.col("n_empty") > 0)).then(mean.round(DIGITS)),
            n_judged=counted,
            n_empty="n_empty",
        )


def thematic_means(
    per_query: pl.DataFrame, queries: pl.DataFrame, rubrics: Mapping[str, Rubric], k: int, resamples: int, seed: int
) -> pl.DataFrame:
    """The THEMATIC_MEANS table: BCa intervals over queries, and the place of each system, 1 for the highest mean.

    Tied systems share their mean rank; ``n_systems`` is how many have a mean. ``judged_at_k`` is the share of the
    places filled, over all queries of the set, that the judge scored. ``mean_shown`` is the mean score of those
    places alone, ``n_shown`` of them: a system that shows little and shows it well has a low mean for the places that
    it leaves empty, ``empty_at_k`` of all.

    Args:
        per_query: a JUDGED_PER_QUERY table.
        queries: the QUERIES of its query sets.
        rubrics: judge -> its rubric.
        k: places that count.
        resamples: bootstrap resamples.
        seed: of the bootstrap.
    """
    rows: list[dict[str, Any]] = []
    shares = shown(per_query, rubrics, k)
    for matrix in matrices(per_query, queries):
        found = _intervals(matrix, resamples, seed)
        for judge, aspect in matrix.judge_aspects():
            systems = {system: j for (*of, system), j in matrix.columns.items() if of == [judge, aspect]}
            places = _places([found[j]["mean"] for j in systems.values()])
            kinds = {one.id: one.kind for one in rubrics[judge].aspects} | {ABOUTNESS: ABOUTNESS}
            place = {"corpus": matrix.corpus, "query_set": matrix.query_set, "mode": matrix.mode, "judge": judge}
            ranked = {"rubric": rubrics[judge].name, "kind": kinds[aspect], "n_systems": int((~np.isnan(places)).sum())}
            for rank, (system, j) in zip(places, systems.items(), strict=True):
                share = shares[*place.values(), aspect, system]
                told = notes(found[j]["note"], empty_places(share.empty_at_k, "its"))
                cell = place | ranked | {"aspect": aspect, "system": system, "k": k} | share._asdict()
                rows.append(cell | found[j] | {"rank": float(rank), "note": told})
    return tidy(pl.DataFrame(rows, schema=dict(THEMATIC_MEANS.columns))).sort(THEMATIC_MEANS.unique)


def _places(means: Sequence[float]) -> NDArray[np.float64]:
    """Ranks [m], 1 for the highest; NaN for a mean that is NaN."""
    values = -np.asarray(means, dtype=np.float64)
    places = np.full(len(values), math.nan)
    known = ~np.isnan(values)
    places[known] = scipy.stats.rankdata(values[known])
    return places


def _intervals(matrix: Matrix, resamples: int, seed: int) -> dict[int, dict[str, Any]]:
    """n_queries, mean, ci_low, ci_high and note of each column; columns with the same gaps share their resamples."""
    n = len(matrix.values)
    found: dict[int, dict[str, Any]] = {}
    for rows, columns in by_gaps(~np.isnan(matrix.values)):
        values = matrix.values[rows][:, columns]
        clusters = None if matrix.clusters is None else independent(matrix.clusters[rows])
        low, high = np.full(len(columns), math.nan), np.full(len(columns), math.nan)
        # A grade is no proportion: that all queries score 1 says nothing of how far they might have moved.
        varying = np.ptp(values, axis=0) > 0 if len(values) else np.zeros(len(columns), dtype=bool)
        if varying.any():
            interval = bootstrap_means(values[:, varying], clusters, resamples, seed)
            low[varying], high[varying] = interval.low, interval.high
        few = f"{len(values)} of {n} queries have a value" if len(values) < n else ""
        for i, j in enumerate(columns.tolist()):
            why = no_interval(len(values), clusters) if math.isnan(low[i]) or math.isnan(high[i]) else ""
            found[j] = {
                "n_queries": len(values),
                "mean": round(float(values[:, i].mean()), DIGITS) if len(values) else math.nan,
                "ci_low": low[i],
                "ci_high": high[i],
                "note": notes(why, few) if len(values) else "not estimable: nothing that it put first was judged",
            }
    return found


#: What a JUDGED_PER_QUERY group says of its places: the share of the filled ones that was judged, null where none is
#: filled, and the share of all that is empty. A column ``k`` must be there.
_JUDGED_AT_K = pl.col("n_judged").sum() / (pl.col("k") - pl.col("n_empty")).sum()
_EMPTY_AT_K = pl.col("n_empty").sum() / pl.col("k").sum()


class Shown(NamedTuple):
    """What a system put first, over all queries: shares of its places, and the mean score of those that were scored."""

    judged_at_k: float | None
    empty_at_k: float
    n_shown: int
    mean_shown: float | None


def shown(per_query: pl.DataFrame, rubrics: Mapping[str, Rubric], k: int) -> dict[tuple[str, ...], Shown]:
    """``Shown`` by corpus, query set, mode, judge, aspect and system. Arguments as of ``thematic_means``."""
    key = ["corpus", "query_set", "mode", "judge", "aspect", "system"]
    scales = [(judge, float(min(rubric.scale))) for judge, rubric in rubrics.items()]
    lowest = pl.DataFrame(scales, schema={"judge": pl.String, "lowest": pl.Float64}, orient="row")
    filled = pl.col("value") * (pl.col("n_judged") + pl.col("n_empty")) - pl.col("n_empty") * pl.col("lowest")
    table = per_query.with_columns(k=k).join(lowest, on="judge")
    # In one order: a sum must not hang on that of the rows.
    shares = (
        table.sort(JUDGED_PER_QUERY.unique)
        .group_by(key, maintain_order=True)
        .agg(
            _JUDGED_AT_K.alias("judged_at_k"),
            _EMPTY_AT_K.alias("empty_at_k"),
            pl.col("n_judged").sum().alias("n_shown"),
            (filled.sum() / pl.col("n_judged").sum()).round(DIGITS).fill_nan(None).alias("mean_shown"),
        )
    )
    return {tuple(row[:6]): Shown(*row[6:]) for row in shares.iter_rows()}


def pool_coverage(per_query: pl.DataFrame, k: int) -> pl.DataFrame:
    """The POOL_COVERAGE table: how much of what each system put first has the overall score of each judge.

    ``judged_at_k`` is over the places filled, ``empty_at_k`` over all, k for each query of the set.

    Args:
        per_query: a JUDGED_PER_QUERY table.
        k: places that count.
    """
    table = per_query.filter(pl.col("aspect") == OVERALL).with_columns(k=pl.lit(k, dtype=pl.Int64))
    counted = table.group_by(*POOL_COVERAGE.unique, "k").agg(
        n_queries=pl.len().cast(pl.Int64), judged_at_k=_JUDGED_AT_K, empty_at_k=_EMPTY_AT_K
    )
    return tidy(counted.select(list(POOL_COVERAGE.columns)).sort(POOL_COVERAGE.unique))
