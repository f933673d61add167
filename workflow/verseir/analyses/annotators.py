"""Do people agree with each other and with the judges, and which systems do they prefer?"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.agreement_notes import few_queries, lacking
from verseir.analyses.clusters import clusters_of
from verseir.analyses.judged import Judged, aspects_of, empty_places, item_scores
from verseir.analyses.paired import TESTED, Draws, Pair, compare_columns, notes, system_pairs, tested, tidy
from verseir.judging.annotations import GRADES
from verseir.judging.pool import standing
from verseir.judging.rubrics import ABOUTNESS, OVERALL
from verseir.layout import Run
from verseir.stats.clustered import clustered_kappa, clustered_spearman, clustered_within
from verseir.tables import QRELS, define

#: Stands for the mean grade of all annotators of an item.
MEAN = "mean of annotators"
ANNOTATOR_AGREEMENT = define(
    "annotator_agreement",
    {
        "sheet": pl.String,
        "annotator_a": pl.String,
        "annotator_b": pl.String,
        "n_items": pl.Int64,
        "n_queries": pl.Int64,
        "kappa": pl.Float64,
        "kappa_low": pl.Float64,
        "kappa_high": pl.Float64,
        "within_one": pl.Float64,
        "within_one_low": pl.Float64,
        "within_one_high": pl.Float64,
        "same": pl.Float64,
        "note": pl.String,
    },
    nullable="kappa kappa_low kappa_high within_one within_one_low within_one_high same note",
    unique="sheet annotator_a annotator_b",
)
HUMAN_JUDGE = define(
    "human_judge",
    {
        "sheet": pl.String,
        "annotator": pl.String,
        "judge": pl.String,
        "aspect": pl.String,
        "n_items": pl.Int64,
        "n_queries": pl.Int64,
        "rho": pl.Float64,
        "rho_low": pl.Float64,
        "rho_high": pl.Float64,
        "note": pl.String,
    },
    nullable="rho rho_low rho_high note",
    unique="sheet annotator judge aspect",
)
ANNOTATOR_CONTRASTS = define(
    "annotator_contrasts",
    {
        "family": pl.String,
        "sheet": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "annotator": pl.String,
        "a": pl.String,
        "b": pl.String,
        "n": pl.Int64,
        "mean_a": pl.Float64,
        "mean_b": pl.Float64,
        **TESTED,
        "note": pl.String,
    },
    nullable="mean_a mean_b estimate ci_low ci_high p p_holm note",
    unique="sheet mode annotator a b",
)
#: A sheet of thematic items; the other kind, ``known-item``, has the first poems of a system's misses.
THEMATIC = "thematic"
#: What is left where no item has both grades.
APART = "not estimable: no item was graded by both"
UNGRADED = "not estimable: nothing was graded of both"

_ITEM = {"item_id": pl.String, "query_id": pl.String, "poem_id": pl.String}
_NO_QRELS = pl.DataFrame(schema=dict(QRELS.columns))


def grades_by(annotations: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The grades of each annotator, sorted by name, and last of their ``MEAN`` where there are several.

    The mean of an item is over those who graded it, be it one.

    Args:
        annotations: ANNOTATIONS of one sheet.

    Returns:
        frames of item_id, query_id, poem_id and grade (Float64), sorted by item_id.
    """
    graded = annotations.select(*_ITEM, "annotator", pl.col("grade").cast(pl.Float64)).sort("item_id")
    names = sorted(graded["annotator"].unique())
    found = {name: graded.filter(pl.col("annotator") == name).drop("annotator") for name in names}
    if len(names) > 1:
        found[MEAN] = graded.group_by(*_ITEM).agg(pl.col("grade").mean()).sort("item_id")
    return found


def clusters_in(
    query_ids: list[str], spec: Mapping[str, Any], queries: pl.DataFrame, qrels: pl.DataFrame
) -> NDArray[np.int64] | None:
    """The cluster of each item or query of a sheet, by its query; None where each is its own.

    Known-item queries of one poem belong together. Themes are independent, though they have poems in common.

    Args:
        query_ids: may repeat.
        spec: of the sheet: ``kind`` and ``query_set``.
        queries: QUERIES of all query sets.
        qrels: their QRELS, with a column ``query_set``.
    """
    inside = pl.col("query_set") == spec["query_set"]
    judged = _NO_QRELS if spec["kind"] == THEMATIC else qrels.filter(inside)
    return clusters_of(query_ids, queries.filter(inside), judged)


def annotator_agreement(
    annotations: Mapping[str, pl.DataFrame],
    specs: Mapping[str, Mapping[str, Any]],
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    draws: Draws,
) -> pl.DataFrame:
    """The ANNOTATOR_AGREEMENT table: each pair of annotators of a sheet, over the items that both graded.

    Kappa is weighted by squared distance over the whole scale; its interval and that of the share within one point are
    from a bootstrap of queries.

    Args:
        annotations: sheet -> its ANNOTATIONS.
        specs: sheet -> ``kind`` and ``query_set``, and ``grades``: its scale, where it is not ``GRADES``.
        queries: QUERIES of the query sets of the sheets.
        qrels: their QRELS, with a column ``query_set``.
        draws: resamples and seed.
    """
    rows = list[dict[str, Any]]()
    for sheet, frame in sorted(annotations.items()):
        graded = grades_by(frame)
        graded.pop(MEAN, None)
        for one, other in combinations(graded, 2):
            both = graded[one].join(graded[other].select("item_id", other="grade"), on="item_id").sort("item_id")
            ids = both["query_id"].to_list()
            clusters = clusters_in(ids, specs[sheet], queries, qrels)
            a, b = both["grade"].to_numpy(), both["other"].to_numpy()
            kappa = clustered_kappa(a, b, specs[sheet].get("grades", GRADES), clusters, draws.resamples, draws.seed)
            within = clustered_within(a, b, 1.0, clusters, draws.resamples, draws.seed)
            n, n_clusters = len(both), _count(ids, clusters)
            constant = {"kappa": "both gave all items the same grade"}
            why = lacking({"kappa": kappa, "share within one": within}, constant, n, n_clusters)
            why.append(few_queries(n_clusters, [kappa], [within]))
            rows.append(
                {"sheet": sheet, "annotator_a": one, "annotator_b": other}
                | {"n_items": len(both), "n_queries": both["query_id"].n_unique()}
                | dict(zip(("kappa", "kappa_low", "kappa_high"), kappa, strict=True))
                | dict(zip(("within_one", "within_one_low", "within_one_high"), within, strict=True))
                | {"same": float((a == b).mean()) if len(both) else math.nan}
                | {"note": notes(*why) if len(both) else APART}
            )
    return tidy(pl.DataFrame(rows, schema=dict(ANNOTATOR_AGREEMENT.columns))).sort(ANNOTATOR_AGREEMENT.unique)


def human_judge(
    annotations: Mapping[str, pl.DataFrame],
    specs: Mapping[str, Mapping[str, Any]],
    judged: Sequence[Judged],
    queries: pl.DataFrame,
    draws: Draws,
) -> pl.DataFrame:
    """The HUMAN_JUDGE table: Spearman's rho of people's grades with what each judge gave overall and for aboutness.

    A judge whose rubric has no aspects of aboutness stands there by its overall score alone. Thematic sheets only:
    nobody else judges the misses of known-item queries. The interval is from a bootstrap of queries.

    Args:
        annotations: sheet -> its ANNOTATIONS.
        specs: sheet -> ``kind``, ``corpus`` and ``query_set``.
        judged: what was judged, by corpus, query set and judge.
        queries: QUERIES of the query sets of the sheets.
        draws: resamples and seed.
    """
    rows = list[dict[str, Any]]()
    for sheet, frame in sorted(annotations.items()):
        spec = specs[sheet]
        place = (spec["corpus"], spec["query_set"])
        own = [one for one in judged if (one.corpus, one.query_set) == place] if spec["kind"] == THEMATIC else []
        for one, aspect in product(own, (OVERALL, ABOUTNESS)):
            if aspect not in aspects_of(one.rubric):
                continue
            scores = _scores_of(one).select("item_id", score=aspect).drop_nulls()
            for annotator, grades in grades_by(frame).items():
                both = grades.join(scores, on="item_id").sort("item_id")
                ids = both["query_id"].to_list()
                clusters = clusters_in(ids, spec, queries, _NO_QRELS)
                pair = both["grade"].to_numpy(), both["score"].to_numpy()
                rho = clustered_spearman(*pair, clusters, draws.resamples, draws.seed)
                n, n_clusters = len(both), _count(ids, clusters)
                constant = {"rho": "all grades or all scores are equal"}
                why = [*lacking({"rho": rho}, constant, n, n_clusters), few_queries(n_clusters, [rho])]
                rows.append(
                    {"sheet": sheet, "annotator": annotator, "judge": one.judge, "aspect": aspect}
                    | {"n_items": len(both), "n_queries": both["query_id"].n_unique()}
                    | dict(zip(("rho", "rho_low", "rho_high"), rho, strict=True))
                    | {"note": notes(*why) if len(both) else APART}
                )
    return tidy(pl.DataFrame(rows, schema=dict(HUMAN_JUDGE.columns))).sort(HUMAN_JUDGE.unique)


def _scores_of(one: Judged) -> pl.DataFrame:
    """item_id, and what the judge gave it, by aspect; null where it gave none."""
    items = one.judgements.select("item_id", "query_id", "poem_id").unique()
    return items.join(item_scores(one), on=["query_id", "poem_id"]).select("item_id", *aspects_of(one.rubric))


def annotator_contrasts(
    annotations: Mapping[str, pl.DataFrame],
    specs: Mapping[str, Mapping[str, Any]],
    runs: Mapping[Run, pl.DataFrame],
    duplicates: Mapping[str, pl.DataFrame],
    queries: pl.DataFrame,
    lexical: Collection[str],
    draws: Draws,
) -> pl.DataFrame:
    """The ANNOTATOR_CONTRASTS table: which systems each annotator of a thematic sheet prefers.

    A system's value for a query is the mean grade of its first ``depth`` places: a poem stands for its class of
    duplicates, a place that was not graded is left out (the condensed list of Sakai, 2007), and a place that the system
    leaves empty scores the lowest grade, so that a query for which it found nothing counts, as with judges. Only
    systems and modes that the sheet was drawn from are compared, and only queries of which the annotator graded an
    item: of others next to nothing was graded. The values are grades, whichever grades occur, and never tested as hits
    and misses.

    Args:
        annotations: sheet -> its ANNOTATIONS.
        specs: sheet -> ``kind``, ``corpus``, ``query_set``, ``systems``, ``modes``, ``depth``, perhaps ``grades``.
        runs: at least those of the systems and modes of the sheets.
        duplicates: corpus -> its DUPLICATES.
        queries: QUERIES of the query sets of the sheets.
        lexical: the systems that match words.
        draws: resamples, flips and seed.
    """
    rows = list[dict[str, Any]]()
    for sheet, frame in sorted(annotations.items()):
        spec = specs[sheet]
        if spec["kind"] != THEMATIC:
            continue
        for mode in sorted(set(spec["modes"])):
            cell = (spec["corpus"], mode, spec["query_set"])
            own = {name: runs[Run(*cell, name)] for name in sorted(set(spec["systems"])) if Run(*cell, name) in runs}
            places = standing(_places(own, spec["depth"]), frame, duplicates[spec["corpus"]])
            named = {"sheet": sheet, "corpus": spec["corpus"], "query_set": spec["query_set"], "mode": mode}
            for annotator, grades in grades_by(frame).items():
                named |= {"annotator": annotator, "family": f"annotators/{sheet}/{annotator}/{mode}"}
                lowest = min(spec.get("grades", GRADES))
                values = _values(places, grades, list(own), spec["depth"], lowest)
                rows += [named | row for row in _compared(values, spec, queries, lexical, draws)]
    return tested(rows, ANNOTATOR_CONTRASTS, ANNOTATOR_CONTRASTS.unique)


def _places(runs: Mapping[str, pl.DataFrame], depth: int) -> pl.DataFrame:
    """system, query_id, poem_id of the first ``depth`` places of each run."""
    schema = {"system": pl.String, "query_id": pl.String, "poem_id": pl.String}
    parts = [pl.DataFrame(schema=schema)]
    for system, run in runs.items():
        top = run.filter(pl.col("rank") <= depth)
        parts.append(top.select(pl.lit(system).alias("system"), "query_id", "poem_id"))
    return pl.concat(parts)


def _values(places: pl.DataFrame, grades: pl.DataFrame, systems: list[str], depth: int, lowest: int) -> pl.DataFrame:
    """query_id, system, value (null where no place was graded or empty), n_graded, n_empty, of the graded queries."""
    asked = grades.select("query_id").unique()
    cells = asked.join(pl.DataFrame({"system": systems}, schema={"system": pl.String}), how="cross")
    graded = places.join(grades.select("query_id", "poem_id", "grade"), on=["query_id", "poem_id"], how="left")
    found = graded.group_by("query_id", "system").agg(
        total=pl.col("grade").sort().sum(), n_graded=pl.col("grade").count(), n_found=pl.len()
    )
    counted = cells.join(found, on=["query_id", "system"], how="left").with_columns(
        pl.col("total", "n_graded", "n_found").fill_null(0)
    )
    n_empty = depth - pl.col("n_found").cast(pl.Int64)
    n = pl.col("n_graded").cast(pl.Int64) + n_empty
    value = pl.when(n > 0).then((pl.col("total") + n_empty * lowest) / n)
    return counted.select("query_id", "system", value=value, n_graded="n_graded", n_empty=n_empty).sort(
        "system", "query_id"
    )


def _compared(
    values: pl.DataFrame, spec: Mapping[str, Any], queries: pl.DataFrame, lexical: Collection[str], draws: Draws
) -> Iterator[dict[str, Any]]:
    """The tested pairs of systems, each over the queries for which both have a value."""
    systems = {name: part for (name,), part in values.partition_by("system", as_dict=True).items()}
    means = {str(name): _mean(part["value"].drop_nulls().to_numpy(), -math.inf) for name, part in systems.items()}
    for pair in system_pairs(means, lexical, ()):
        a, b = (systems[name].filter(pl.col("value").is_not_null()) for name in (pair.a, pair.b))
        both = a.join(b, on="query_id", suffix="_b").sort("query_id")
        ids = both["query_id"].to_list()
        first, second = both["value"].to_numpy(), both["value_b"].to_numpy()
        clusters = clusters_in(ids, spec, queries, _NO_QRELS)
        (outcome,) = compare_columns(first[:, None], second[:, None], clusters, draws, graded=True)
        said = [outcome.note if len(both) else UNGRADED, pair.note]
        yield (
            {"a": pair.a, "b": pair.b, "n": len(both), "mean_a": _mean(first), "mean_b": _mean(second)}
            | {name: getattr(outcome, name) for name in ("estimate", "ci_low", "ci_high", "test", "p")}
            | {"note": notes(*said, _ungraded(pair, both, spec["depth"]), *_empty(pair, both, spec["depth"]))}
        )


def _ungraded(pair: Pair, both: pl.DataFrame, depth: int) -> str:
    """How many of the places that were found have no grade, where any has none."""
    said = []
    for name, suffix in ((pair.a, ""), (pair.b, "_b")):
        found = len(both) * depth - int(both[f"n_empty{suffix}"].sum())
        left = found - int(both[f"n_graded{suffix}"].sum())
        if left:
            said.append(f"{left} of {found} places of {name}")
    return f"not graded: {', '.join(said)}" if said else ""


def _empty(pair: Pair, both: pl.DataFrame, depth: int) -> Iterator[str]:
    """The share of its places that each system leaves empty, where it leaves any."""
    for name, column in ((pair.a, "n_empty"), (pair.b, "n_empty_b")):
        yield empty_places(int(both[column].sum()) / max(1, len(both) * depth), f"{name}'s")


def _mean(values: NDArray[np.float64], empty: float = math.nan) -> float:
    return float(values.mean()) if len(values) else empty


def _count(ids: list[str], clusters: NDArray[np.int64] | None) -> int:
    return len(ids) if clusters is None else len(np.unique(clusters))
