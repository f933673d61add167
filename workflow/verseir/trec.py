"""Runs and judgements in the formats of TREC, for other tools.

A run line is ``query_id Q0 poem_id rank score tag``. trec_eval ignores the rank column and sorts by score (float32),
then by document name, descending: it would put ties in another order than ours. So the written scores fall strictly: a
score that is not below the one before it is replaced by the next lower float32. Untied scores stay as they are, ranks
read back are ours, and ties can no longer be seen.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from verseir.atomic import atomic_path
from verseir.faults import Fault, InputFaults, UserError
from verseir.ranking import top_k
from verseir.rows import read_utf8

COLUMNS = "query_id Q0 poem_id rank score tag"
LARGEST = float(np.finfo(np.float32).max)
#: White space that ends a column; wider blanks of Unicode may be part of a name.
_BLANKS = re.compile(r"[ \t\v\f]+")


def write_run(run: pl.DataFrame, path: str | os.PathLike[str], tag: str) -> None:
    """Write a RUN frame as a TREC run.

    Raises:
        UserError: an id or the tag is empty or has white space in it, which the format cannot hold.
    """
    _check_names(run, ["query_id", "poem_id"], path)
    if not tag or len(tag.split()) != 1 or tag != tag.strip():
        raise UserError(f"the tag '{tag}' of a TREC run is empty or has white space in it")
    ordered = run.sort("query_id", "rank")
    lines = ordered.select(
        "query_id",
        pl.lit("Q0").alias("q0"),
        "poem_id",
        "rank",
        pl.Series("score", strictly_falling(ordered)),
        pl.lit(tag).alias("tag"),
    )
    with atomic_path(path) as temporary:
        lines.write_csv(temporary, include_header=False, separator=" ", quote_style="never")


def write_qrels(qrels: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a QRELS frame as TREC judgements: ``query_id 0 poem_id grade``.

    Raises:
        UserError: an id is empty or has white space in it.
    """
    _check_names(qrels, ["query_id", "poem_id"], path)
    lines = qrels.sort("query_id", "poem_id").select("query_id", pl.lit(0).alias("iteration"), "poem_id", "grade")
    with atomic_path(path) as temporary:
        lines.write_csv(temporary, include_header=False, separator=" ", quote_style="never")


def strictly_falling(run: pl.DataFrame) -> np.ndarray:
    """float32 [m]: the scores of a run, sorted by query_id and rank, lowered as little as makes them fall strictly."""
    scores = run["score"].to_numpy().astype(np.float32) + np.float32(0.0)
    bits = scores.view(np.int32).astype(np.int64)
    steps = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)  # neighbouring float32 numbers are neighbouring integers
    rank = run["rank"].to_numpy().astype(np.int64)
    # steps[r] = min(steps[r], steps[r - 1] - 1) is a running minimum once the rank is added. An offset per query,
    # further down than any score reaches, makes one running minimum of all.
    query = run["query_id"].rle_id().to_numpy().astype(np.int64)
    offset = query * np.int64(1 << 34)
    steps = np.minimum.accumulate(steps + rank - offset) - rank + offset
    return np.where(steps < 0, -steps | 0x80000000, steps).astype(np.uint32).view(np.float32)


def read_run(path: str | os.PathLike[str]) -> pl.DataFrame:
    """Read a TREC run.

    Scores are taken as float32 and ranked by the policy of ``verseir.ranking``: highest first, ties by poem_id,
    ascending. The columns Q0, rank and tag are not used.

    Returns:
        A RUN frame, sorted by query_id and rank; ``chunk_id`` is null.

    Raises:
        InputFaults: all faults at once: no such file, no line, lines without six columns, scores that are not finite
            numbers, a document that comes twice for a query, invalid UTF-8, a byte order mark, CRLF line ends.
    """
    label = str(path)
    faults: list[Fault] = []
    lines = read_utf8(Path(path), label, faults).rstrip("\n").split("\n")
    if lines == [""]:
        if not faults:
            faults.append(Fault(label, 0, "", "the file is empty", f"expected lines '{COLUMNS}'"))
        lines = []
    rows: list[tuple[str, str, float]] = []
    lines_of: dict[tuple[str, str], int] = {}
    broken = {fault.line for fault in faults}
    for number, line in enumerate(lines, start=1):
        if not line and number in broken:
            continue  # what could not be decoded comes as an empty line
        row = _parse_line(line)
        if isinstance(row, Fault):
            faults.append(replace(row, file=label, line=number))
            continue
        first = lines_of.setdefault(row[:2], number)
        if first != number:
            problem = f"document '{row[1]}' comes again for query '{row[0]}', first on line {first}"
            faults.append(Fault(label, number, "poem_id", problem, "a document comes once per query"))
        rows.append(row)
    if faults:
        raise InputFaults(faults)
    scored = pl.DataFrame(rows, schema={"query_id": pl.String, "poem_id": pl.String, "score": pl.Float64}, orient="row")
    return top_k(scored, depth=len(scored))


def _parse_line(line: str) -> tuple[str, str, float] | Fault:
    """Query, document and score of a line, or what is wrong with it."""
    fields = [field for field in _BLANKS.split(line) if field]
    if len(fields) != 6:
        return Fault("", 0, "", f"{len(fields)} columns, expected six", f"a line is '{COLUMNS}'")
    number = fields[4]
    try:
        # float() takes more than other readers do: 1_000, and digits of other scripts
        score = float(number if number.isascii() and "_" not in number else "")
    except ValueError:
        return Fault("", 0, "score", f"'{number}' is not a number", "column 5 is the score")
    if not abs(score) <= LARGEST:
        return Fault(
            "", 0, "score", f"'{number}' is not a finite float32 number", "leave out documents without a score"
        )
    return fields[0], fields[2], score


def _check_names(frame: pl.DataFrame, columns: list[str], path: str | os.PathLike[str]) -> None:
    for column in columns:
        names = frame[column].unique().sort()
        bad = names.filter(names.str.contains(r"\s") | (names == ""))
        if len(bad):
            raise UserError(
                f"{path}: {column} '{bad[0]}' is empty or has white space in it ({len(bad)} such ids)",
                hint="TREC files separate columns by white space: rename the ids",
            )
