"""What judges said, by the corpus and query set that it is about, and the values that follow from it as matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.analyses.clusters import clusters_of
from verseir.faults import UserError, closest
from verseir.judging.judgements import JUDGEMENTS
from verseir.judging.rubrics import ABOUTNESS, Rubric, read_rubric
from verseir.tables import DUPLICATES, QRELS, read_table

#: Joins the names of a column; no name holds a tab.
TAB = "\t"
#: Means that differ by less are equal: they hang on the order in which values are added up.
DIGITS = 12


class Judged(NamedTuple):
    """The JUDGEMENTS of one judge on the pool of one corpus and query set, and the rubric that they follow."""

    corpus: str
    query_set: str
    judge: str
    rubric: Rubric
    judgements: pl.DataFrame


def read_rubrics(paths: Mapping[str, str]) -> dict[str, Rubric]:
    """The rubric of each judge, from judge -> its file; each file is read once."""
    read = {path: read_rubric(path) for path in sorted(set(paths.values()))}
    return {judge: read[path] for judge, path in sorted(paths.items())}


def read_judgements(files: Iterable[str | Path], rubrics: Mapping[str, Rubric]) -> list[Judged]:
    """The judgements in files ``.../<corpus>/<query_set>/<judge>.parquet``, sorted by these names.

    Raises:
        UserError: a judge has no rubric.
    """
    found = []
    for path in map(Path, files):
        corpus, query_set, judge = path.parts[-3], path.parts[-2], path.stem
        if judge not in rubrics:
            raise UserError(f"{path}: no rubric is given for the judge '{judge}'", hint=closest(judge, rubrics))
        found.append(Judged(corpus, query_set, judge, rubrics[judge], read_table(path, JUDGEMENTS)))
    return sorted(found, key=lambda one: one[:3])


def read_duplicates(files: Iterable[str | Path]) -> dict[str, pl.DataFrame]:
    """The DUPLICATES of each corpus, from files ``.../<corpus>/duplicates.csv``."""
    return {Path(file).parent.name: read_table(file, DUPLICATES) for file in files}


def aspects_of(rubric: Rubric) -> tuple[str, ...]:
    """What a judge has values of: the aspects of its rubric and, where any is about what a poem says, ``aboutness``."""
    return (*rubric.ids, ABOUTNESS) if rubric.about else rubric.ids


def item_scores(one: Judged) -> pl.DataFrame:
    """query_id, poem_id and the score of each of ``aspects_of``; ``aboutness`` is the mean where no score is absent."""
    about = one.rubric.about
    scores = one.judgements.group_by("query_id", "poem_id").agg(
        pl.col("score").filter(pl.col("aspect") == aspect).first().cast(pl.Float64).alias(aspect)
        for aspect in one.rubric.ids
    )
    if not about:
        return scores
    return scores.with_columns(pl.mean_horizontal(about, ignore_nulls=False).round(DIGITS).alias(ABOUTNESS))


def empty_places(share: float, whose: str) -> str:
    """A note of the share of ``whose`` places that are empty; no note where none is."""
    return f"{f'{share:.0%}' if share >= 0.005 else 'less than 1%'} of {whose} places are empty" if share else ""


class Matrix(NamedTuple):
    """Values float64 [n, m] of n queries (sorted) by m columns, NaN where there is none.

    ``columns`` maps (judge, aspect, system) to its column; ``clusters`` int64 [n] is None where all queries are
    independent.
    """

    corpus: str
    query_set: str
    mode: str
    columns: dict[tuple[str, str, str], int]
    values: NDArray[np.float64]
    clusters: NDArray[np.int64] | None

    def of(self, judge: str, aspect: str) -> dict[str, NDArray[np.float64]]:
        """system -> its values float64 [n] by one judge and aspect, sorted by system."""
        return {key[2]: self.values[:, j] for key, j in sorted(self.columns.items()) if key[:2] == (judge, aspect)}

    def judge_aspects(self) -> list[tuple[str, str]]:
        """The pairs of a judge and an aspect, sorted."""
        return sorted({key[:2] for key in self.columns})


def matrices(per_query: pl.DataFrame, queries: pl.DataFrame) -> Iterator[Matrix]:
    """Each corpus, query set and mode of a JUDGED_PER_QUERY table, in a fixed order.

    Args:
        per_query: a JUDGED_PER_QUERY table.
        queries: the QUERIES of its query sets: an edited query belongs to its original. Themes are else independent.
    """
    place = ["corpus", "query_set", "mode"]
    unjudged = pl.DataFrame(schema=dict(QRELS.columns))
    for (corpus, query_set, mode), part in sorted(per_query.group_by(place), key=lambda item: item[0]):
        named = part.with_columns(column=pl.concat_str("judge", "aspect", "system", separator=TAB))
        wide = named.pivot("column", index="query_id", values="value", sort_columns=True).sort("query_id")
        keys = [(judge, aspect, system) for judge, aspect, system in (name.split(TAB) for name in wide.columns[1:])]
        clusters = clusters_of(wide["query_id"].to_list(), queries.filter(pl.col("query_set") == query_set), unjudged)
        values = wide.drop("query_id").fill_null(float("nan")).to_numpy().astype(np.float64)
        columns = {key: j for j, key in enumerate(keys)}
        yield Matrix(str(corpus), str(query_set), str(mode), columns, values, clusters)


def by_gaps(present: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
    """The columns of ``present`` [n, m] that have values in the same rows: the rows bool [n], and their indices."""
    if present.shape[1]:
        patterns, codes = np.unique(present, axis=1, return_inverse=True)
        for number in range(patterns.shape[1]):
            yield patterns[:, number], np.flatnonzero(codes.ravel() == number)
