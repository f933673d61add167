"""Query sets whose relevance is what a judge or people said of a pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from verseir.faults import UserError
from verseir.formats import count
from verseir.judging.pool import representatives
from verseir.judging.rubrics import OVERALL
from verseir.tables import QRELS, define

#: One row a graded set and grade. ``n_queries``, ``n_left_out`` and ``n_unscored`` are of the whole set.
LABELS = define(
    "labels",
    {
        "query_set": pl.String,
        "corpus": pl.String,
        "parent": pl.String,
        "part": pl.String,
        "source": pl.String,
        "labelled_by": pl.String,
        "n_queries": pl.Int64,
        "n_left_out": pl.Int64,
        "n_unscored": pl.Int64,
        "grade": pl.Int64,
        "n_pairs": pl.Int64,
        "note": pl.String,
    },
    nullable="note",
    unique="query_set grade",
)
#: In place of a part, for a set of all queries.
WHOLE = "all"
#: Who gave the grades.
JUDGE, PEOPLE = "judge", "people"
_PAIR = ["query_id", "poem_id"]
_GRADES = {"query_id": pl.String, "poem_id": pl.String, "grade": pl.Int64}


@dataclass(frozen=True)
class Origin:
    """Where a graded set is from: its names in LABELS."""

    query_set: str
    corpus: str
    parent: str
    part: str
    source: str
    labelled_by: str


@dataclass(frozen=True)
class Labelled:
    """A graded set: its QUERIES, QRELS and QUERY_ATTRIBUTES, and its LABELS."""

    queries: pl.DataFrame
    qrels: pl.DataFrame
    attributes: pl.DataFrame
    labels: pl.DataFrame


def grades_of_judge(judgements: pl.DataFrame) -> pl.DataFrame:
    """query_id, poem_id, grade: the score of the aspect ``overall`` of each item of JUDGEMENTS that has one."""
    scored = judgements.filter(pl.col("aspect") == OVERALL, pl.col("score").is_not_null())
    return scored.select(*_PAIR, grade="score").sort(_PAIR)


def grades_of_people(annotations: pl.DataFrame) -> pl.DataFrame:
    """query_id, poem_id, grade: the median of the grades of each item of ANNOTATIONS, half a grade rounded down."""
    middle = annotations.group_by(_PAIR).agg(pl.col("grade").median().floor().cast(pl.Int64))
    return middle.select(list(_GRADES)).sort(_PAIR)


def of_classes(grades: pl.DataFrame, duplicates: pl.DataFrame) -> pl.DataFrame:
    """``grades`` with a row for every poem of the class of duplicates that a graded poem stands for.

    Copies, by the audit of duplicates, have one grade: else a system would be held to the copy that happened to be
    judged. A class of the audit holds near copies too (poems of which half the wording is shared, and poems that only
    another of the class links), so the grade is that of a text near to the one that was read. A poem with a grade of
    its own keeps it; another has that of the poem that the class is called after, or of the smallest id.
    """
    class_of = representatives(duplicates)
    named = grades.join(class_of, on="poem_id", how="left").with_columns(
        pl.coalesce("class_id", "poem_id").alias("class_id")
    )
    firsts = named.sort(pl.col("poem_id") != pl.col("class_id"), "poem_id").unique(
        ["query_id", "class_id"], keep="first", maintain_order=True
    )
    spread = firsts.select("query_id", "class_id", "grade").join(class_of, on="class_id").select(list(_GRADES))
    own = pl.concat([grades.select(list(_GRADES)), spread])
    return own.unique(_PAIR, keep="first", maintain_order=True).sort(_PAIR)


def labelled(
    origin: Origin,
    queries: pl.DataFrame,
    attributes: pl.DataFrame,
    items: pl.DataFrame,
    grades: pl.DataFrame,
    duplicates: pl.DataFrame,
    scale: Sequence[int],
) -> Labelled:
    """The graded set of some queries.

    An item without a grade is left out of the QRELS and counted; a query is left out that has no grade above 0. A grade
    of what was not to be judged, such as a pair that people graded beyond their sheet, is passed over and counted.

    Args:
        origin: the names of the set and of what it is from.
        queries: the QUERIES of the part of the parent.
        attributes: QUERY_ATTRIBUTES of the parent; may have rows of other queries.
        items: query_id and poem_id of what was to be judged; may have rows of other queries.
        grades: query_id, poem_id and grade, likewise.
        duplicates: the DUPLICATES of the corpus; where queries are searched within an attribute, with classes parted by
            value (``reach``), so that no grade spreads to what they cannot find.
        scale: the grades that could be given.

    Raises:
        UserError: no query has a grade above 0.
    """
    asked = items.select(_PAIR).join(queries, on="query_id", how="semi")
    said = grades.join(queries, on="query_id", how="semi")
    given = said.join(asked, on=_PAIR, how="semi")
    beyond = len(said) - len(given)
    unscored = asked.join(given, on=_PAIR, how="anti")
    answered = given.filter(pl.col("grade") > 0)
    kept = queries.join(answered, on="query_id", how="semi").sort("query_id")
    if kept.is_empty():
        problem = f"{origin.query_set}: {origin.labelled_by} gave no grade above 0 to any of the "
        problem += f"{count(len(asked), 'item')} of {count(len(queries), 'query', 'queries')} of {origin.parent}"
        raise UserError(problem, "judge more, or take the set out of `query_sets`")
    spread = of_classes(given, duplicates).join(kept, on="query_id", how="semi")
    qrels = spread.select("query_id", "poem_id", pl.col("grade").cast(pl.Int32)).select(list(QRELS.columns))
    untouched = len(queries.join(given, on="query_id", how="anti"))
    lost = len(queries) - len(kept)
    place = "sheet" if origin.source == PEOPLE else "pool"
    notes = [
        *([f"{count(lost, 'query', 'queries')} left out: no grade above 0"] if lost else []),
        *([f"{untouched} of them without any grade"] if untouched else []),
        *([f"{count(len(unscored), 'item')} without a grade left out"] if len(unscored) else []),
        *([f"{count(beyond, 'graded pair')} not on the {place} passed over"] if beyond else []),
    ]
    found = dict(spread["grade"].value_counts().iter_rows())
    rows = [
        {
            **origin.__dict__,
            "n_queries": len(kept),
            "n_left_out": lost,
            "n_unscored": len(unscored),
            "grade": grade,
            "n_pairs": found.get(grade, 0),
            "note": "; ".join(notes) or None,
        }
        for grade in sorted({*scale, *found})
    ]
    return Labelled(
        kept.with_columns(query_set=pl.lit(origin.query_set)),
        qrels.sort(_PAIR),
        attributes.join(kept, on="query_id", how="semi").sort("query_id", "attribute"),
        pl.DataFrame(rows, schema=dict(LABELS.columns)),
    )
