"""How many of the nominally significant tests are left after Holm's correction? Counted over tables of tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import polars as pl

from verseir.faults import UserError, closest
from verseir.stats.holm import holm
from verseir.tables import define

#: The line of significance.
LINE = 0.05
TOTAL = "all tables"
DECLARED = "declared families"

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
DECLARED_FAMILIES = define(
    "declared_families",
    {
        "family": pl.String,
        "table": pl.String,
        "what": pl.String,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "family_size": pl.Int64,
        "note": pl.String,
    },
    nullable="p p_holm note",
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


def multiplicity(tables: Mapping[str, pl.DataFrame], declared: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables MULTIPLICITY, with a row for all tables together and one for declared families, and MULTIPLICITY_LOST.

    A row without a p is no test. A test is lost when its p is below 0.05 and its adjusted p is not.

    Args:
        tables: name of the table -> its rows, every column as text, as ``read_tests`` gives them.
        declared: a DECLARED_FAMILIES table; without rows it has no row in the counts.
    """
    parts = {name: _tests(name, frame) for name, frame in sorted(tables.items())}
    rows = [_counts(name, tests) for name, tests in parts.items()]
    table = pl.DataFrame(rows, schema=dict(MULTIPLICITY.columns), orient="row")
    total = table.select(pl.lit(TOTAL).alias("table"), pl.exclude("table").sum())
    tested = declared.filter(pl.col("p").is_not_null())
    own = [_counts(DECLARED, tested)] if len(declared) else []
    chosen = pl.DataFrame(own, schema=dict(MULTIPLICITY.columns), orient="row")
    lost = [pl.DataFrame(schema=dict(MULTIPLICITY_LOST.columns))]
    lost += [_lost(tests).select(list(MULTIPLICITY_LOST.columns)) for tests in parts.values()]
    lost.append(_lost(tested).with_columns(table=pl.lit(DECLARED)).select(list(MULTIPLICITY_LOST.columns)))
    return pl.concat([table, total, chosen]), pl.concat(lost).sort("table", "family", "p", "what")


def declared_families(tables: Mapping[str, pl.DataFrame], families: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The table DECLARED_FAMILIES: the tests that a study names as its own, corrected within the families it declares.

    A test that could not be made stands there without p, and its note says why. ``family_size`` counts the others.

    Args:
        tables: name of the table -> its rows, every column as text.
        families: ``family``, ``table`` and ``where`` (column -> the value that a test has there, with ``*`` for any
            text). Several entries may name one family: their tests are corrected together.

    Raises:
        UserError: an entry names a table or column that is not there, or no row of a table that has rows.
    """
    found: dict[str, list[tuple[str, str, float | None, str | None]]] = {}
    for entry in families:
        name, table = entry["family"], entry["table"]
        if table not in tables:
            raise UserError(f"family '{name}': there is no table of tests '{table}'", closest(table, tables))
        frame = tables[table]
        for column in entry.get("where", {}):
            if column not in frame.columns:
                raise UserError(f"family '{name}': {table} has no column '{column}'", closest(column, frame.columns))
        chosen = _named(table, frame)
        for column, wanted in entry.get("where", {}).items():
            held = [fnmatchcase(value or "", str(wanted)) for value in chosen[column].to_list()]
            chosen = chosen.filter(pl.Series(held, dtype=pl.Boolean))
        if chosen.is_empty() and len(frame):
            raise UserError(
                f"family '{name}' chooses no test from {table}", "compare `where` with the rows of the table"
            )
        tests = found.setdefault(name, [])
        tests += chosen.select("table", "what", "p", _why_none(chosen)).iter_rows()
        if chosen.is_empty():
            tests.append((table, "all", None, "not estimable: the table holds no test"))
    rows = [
        (name, *test[:3], adjusted, sum(p is not None for _, _, p, _ in tests), test[3])
        for name, tests in sorted(found.items())
        for test, adjusted in zip(tests, holm([math.nan if p is None else p for _, _, p, _ in tests]), strict=True)
    ]
    frame = pl.DataFrame(rows, schema=dict(DECLARED_FAMILIES.columns), orient="row")
    return frame.with_columns(pl.col("p_holm").fill_nan(None)).sort("family", "table", "what")


def _why_none(chosen: pl.DataFrame) -> pl.Expr:
    """The note of rows without a p."""
    said = pl.col("note") if "note" in chosen.columns else pl.lit(None, dtype=pl.String)
    return pl.when(pl.col("p").is_null()).then(said.fill_null("not estimable: no test was made")).alias("why")


def _named(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of a table, with ``table``, ``what`` and numbers in ``p`` and ``p_holm``."""
    return frame.with_columns(pl.col("p", "p_holm").cast(pl.Float64), what=_what(frame), table=pl.lit(name))


def _tests(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of a table that hold a test, named."""
    return _named(name, frame).filter(pl.col("p").is_not_null())


def _lost(tests: pl.DataFrame) -> pl.DataFrame:
    return tests.filter((pl.col("p") < LINE) & (pl.col("p_holm") >= LINE))


def _counts(name: str, tests: pl.DataFrame) -> tuple[str, int, int, int, int, int]:
    nominal = tests.filter(pl.col("p") < LINE)
    lost = len(_lost(tests))
    return name, tests["family"].n_unique(), len(tests), len(nominal), len(nominal) - lost, lost


def _what(frame: pl.DataFrame) -> pl.Expr:
    """The columns of a row that are words, as ``column=value`` joined by ``; ``: they tell it from the others."""
    named = []
    for column in frame.columns:
        numbers = frame[column].cast(pl.Float64, strict=False)
        words = numbers.null_count() > frame[column].null_count()
        if column in IDENTIFYING or (words and column not in NOT_IDENTIFYING):
            named.append(pl.lit(f"{column}=") + pl.col(column))
    return pl.concat_str(named, separator="; ", ignore_nulls=True) if named else pl.lit("")
