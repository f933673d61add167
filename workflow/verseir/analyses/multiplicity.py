"""How many of the nominally significant tests are left after Holm's correction? Counted over tables of tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from verseir.faults import UserError, closest
from verseir.tables import define

#: The line of significance.
LINE = 0.05
TOTAL = "all tables"

MULTIPLICITY = define(
    "multiplicity",
    {
        "table": pl.String,
        "n_families": pl.Int64,
        "n_tests": pl.Int64,
        "n_nominal": pl.Int64,
        "n_after_holm": pl.Int64,
        "lost": pl.Int64,
    },
    unique="table",
)
MULTIPLICITY_LOST = define(
    "multiplicity_lost",
    {"table": pl.String, "family": pl.String, "what": pl.String, "p": pl.Float64, "p_holm": pl.Float64},
)
NEEDED = ("family", "p", "p_holm")
#: Columns that say what was done to a row, not which row it is.
NOT_IDENTIFYING = {"family", "test", "note", "statement", "verdict"}
#: Columns of numbers that say which row it is.
IDENTIFYING = {"threshold"}


def read_tests(path: str | Path) -> pl.DataFrame:
    """A CSV table of tests, every column as text.

    Raises:
        UserError: it is absent or has no column ``family``, ``p`` or ``p_holm``.
    """
    source = Path(path)
    if not source.exists():
        raise UserError(f"{source} does not exist", hint="it is made by the workflow: run snakemake first")
    frame = pl.read_csv(source, infer_schema=False, null_values=[""])
    for column in NEEDED:
        if column not in frame.columns:
            raise UserError(
                f"{source} has no column '{column}': it is no table of tests", closest(column, frame.columns)
            )
    return frame


def multiplicity(tables: Mapping[str, pl.DataFrame]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables MULTIPLICITY, with a row for all tables together, and MULTIPLICITY_LOST.

    A row without a p is no test. A test is lost when its p is below 0.05 and its adjusted p is not.

    Args:
        tables: name of the table -> its rows, every column as text, as ``read_tests`` gives them.
    """
    counts: list[tuple[str, int, int, int, int, int]] = []
    lost = [pl.DataFrame(schema=dict(MULTIPLICITY_LOST.columns))]
    for name, frame in sorted(tables.items()):
        tests = frame.with_columns(pl.col("p", "p_holm").cast(pl.Float64), what=_what(frame), table=pl.lit(name))
        tests = tests.filter(pl.col("p").is_not_null())
        nominal = tests.filter(pl.col("p") < LINE)
        kept = nominal.filter(pl.col("p_holm") < LINE)
        gone = nominal.filter(pl.col("p_holm") >= LINE)
        counts.append((name, tests["family"].n_unique(), len(tests), len(nominal), len(kept), len(gone)))
        lost.append(gone.select(list(MULTIPLICITY_LOST.columns)))
    table = pl.DataFrame(counts, schema=dict(MULTIPLICITY.columns), orient="row")
    total = table.select(pl.lit(TOTAL).alias("table"), pl.exclude("table").sum())
    return pl.concat([table, total]), pl.concat(lost).sort("table", "family", "p", "what")


def _what(frame: pl.DataFrame) -> pl.Expr:
    """The columns of a row that are words, as ``column=value`` joined by ``; ``: they tell it from the others."""
    named = []
    for column in frame.columns:
        numbers = frame[column].cast(pl.Float64, strict=False)
        words = numbers.null_count() > frame[column].null_count()
        if column in IDENTIFYING or (words and column not in NOT_IDENTIFYING):
            named.append(pl.lit(f"{column}=") + pl.col(column))
    return pl.concat_str(named, separator="; ", ignore_nulls=True) if named else pl.lit("")
