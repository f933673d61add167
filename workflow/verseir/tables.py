"""The file contracts: the columns of every table, checked when it is written and when it is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from verseir.atomic import atomic_path
from verseir.faults import UserError

#: Rows of a table that are read in blocks.
ROWS = 1 << 13

VERSE = pl.Struct({"first": pl.String, "second": pl.String})


@dataclass(frozen=True)
class Table:
    """The contract of one table: column types in order, which may be null, and which are unique together."""

    name: str
    columns: Mapping[str, pl.DataType | type[pl.DataType]]
    nullable: frozenset[str] = field(default_factory=frozenset)
    unique: tuple[str, ...] = ()


def define(name: str, columns: dict, nullable: str = "", unique: str = "") -> Table:
    """A contract; ``nullable`` and ``unique`` name columns, parted by blanks."""
    return Table(name, columns, frozenset(nullable.split()), tuple(unique.split()))


POEMS = define(
    "poems",
    {
        "poem_id": pl.String,
        "title": pl.String,
        "poet": pl.String,
        "era": pl.String,
        "era_order": pl.Int32,
        "meter": pl.String,
        "genre": pl.String,
        "language": pl.String,
        "verses": pl.List(VERSE),
        "source": pl.String,
    },
    nullable="title poet era era_order meter genre language source",
    unique="poem_id",
)
EXPLANATIONS = define(
    "explanations",
    {"poem_id": pl.String, "verse_index": pl.Int32, "source": pl.String, "text": pl.String},
    unique="poem_id verse_index source",
)
ATTRIBUTES = define(
    "attributes",
    {"poem_id": pl.String, "attribute": pl.String, "value": pl.String},
    unique="poem_id attribute",
)
QUERY_ATTRIBUTES = define(
    "query_attributes",
    {"query_id": pl.String, "attribute": pl.String, "value": pl.String},
    unique="query_id attribute",
)
DUPLICATES = define(
    "duplicates",
    {"poem_id": pl.String, "class_id": pl.String, "class_size": pl.Int32, "kind": pl.String, "similarity": pl.Float64},
    unique="poem_id",
)
CHUNKS = define(
    "chunks",
    {"chunk_id": pl.String, "poem_id": pl.String, "first_verse": pl.Int32, "n_verses": pl.Int32, "text": pl.String},
    unique="chunk_id",
)
QUERIES = define(
    "queries",
    {
        "query_id": pl.String,
        "query_set": pl.String,
        "text": pl.String,
        "register": pl.String,
        "source_query_id": pl.String,
        "edit": pl.String,
        "span": pl.String,
        "cluster": pl.String,
    },
    nullable="register source_query_id edit span cluster",
    unique="query_id",
)
QRELS = define(
    "qrels",
    {"query_id": pl.String, "poem_id": pl.String, "grade": pl.Int32},
    unique="query_id poem_id",
)
RUN = define(
    "run",
    {"query_id": pl.String, "poem_id": pl.String, "rank": pl.Int32, "score": pl.Float32, "chunk_id": pl.String},
    nullable="chunk_id",
    unique="query_id poem_id",
)
PER_QUERY = define(
    "per_query",
    {
        "corpus": pl.String,
        "mode": pl.String,
        "query_set": pl.String,
        "system": pl.String,
        "query_id": pl.String,
        "measure": pl.String,
        "value": pl.Float64,
    },
    unique="corpus mode query_set system query_id measure",
)
LEADERBOARD = define(
    "leaderboard",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "measure": pl.String,
        "n_queries": pl.Int64,
        "mean": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "note": pl.String,
    },
    nullable="mean ci_low ci_high note",
    unique="corpus query_set mode system measure",
)
REGISTERS = define(
    "registers",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "register": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "measure": pl.String,
        "n_queries": pl.Int64,
        "mean": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "note": pl.String,
    },
    nullable="ci_low ci_high note",
    unique="corpus query_set register mode system measure",
)
CONTRASTS = define(
    "contrasts",
    {
        "family": pl.String,
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "a": pl.String,
        "b": pl.String,
        "measure": pl.String,
        "n": pl.Int64,
        "estimate": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "test": pl.String,
        "p": pl.Float64,
        "p_holm": pl.Float64,
        "family_size": pl.Int64,
        "p_t": pl.Float64,
        "note": pl.String,
    },
    nullable="estimate ci_low ci_high p p_holm p_t note",
)
TIES = define(
    "ties",
    {
        "corpus": pl.String,
        "query_set": pl.String,
        "mode": pl.String,
        "system": pl.String,
        "measure": pl.String,
        "n_queries": pl.Int64,
        "share_tied_at_5": pl.Float64,
        "share_tied_at_10": pl.Float64,
        "share_tied_at_R": pl.Float64,
        "mean": pl.Float64,
        "lowest": pl.Float64,
        "highest": pl.Float64,
        "note": pl.String,
    },
    nullable="share_tied_at_5 share_tied_at_10 share_tied_at_R mean lowest highest note",
    unique="corpus query_set mode system measure",
)
COSTS = define(
    "costs",
    {
        "corpus": pl.String,
        "system": pl.String,
        "stage": pl.String,
        "n_texts": pl.Int64,
        "seconds": pl.Float64,
        "texts_per_second": pl.Float64,
        "peak_memory_mb": pl.Float64,
        "index_mb": pl.Float64,
        "device": pl.String,
    },
    nullable="n_texts texts_per_second peak_memory_mb index_mb device",
)
ENCODING = define(
    "encoding",
    {
        "corpus": pl.String,
        "system": pl.String,
        "role": pl.String,
        "n_texts": pl.Int64,
        "truncated_share": pl.Float64,
        "unknown_token_share": pl.Float64,
        "dimension": pl.Int64,
        "revision": pl.String,
    },
    nullable="truncated_share unknown_token_share dimension revision",
)


def check_table(frame: pl.DataFrame, table: Table, where: str) -> pl.DataFrame:
    """Return ``frame`` with the columns of ``table`` in order; raise ``UserError`` where it breaks the contract.

    Extra columns are a breach too: a column that no contract names is read by nobody. NaN is as null.
    """
    breaches = list(_breaches(frame, table))
    if breaches:
        raise UserError(
            f"{where} is not a valid '{table.name}' table: " + "; ".join(breaches[:8]),
            hint=f"expected columns: {', '.join(table.columns)}",
        )
    return frame.select(list(table.columns))


def _breaches(frame: pl.DataFrame, table: Table) -> Iterator[str]:
    for name in frame.columns:
        if name not in table.columns:
            yield f"{name}: the contract has no such column"
    for name, dtype in table.columns.items():
        if name not in frame.columns:
            yield f"{name}: there is no such column"
        elif frame.schema[name] != dtype:
            yield f"{name}: holds {frame.schema[name]}, not {dtype}"
        elif name not in table.nullable:
            empty = frame[name].is_null()
            if frame.schema[name].is_float():
                empty |= frame[name].is_nan().fill_null(False)
            if lacking := int(empty.sum()):
                yield f"{name}: lacks a value in {lacking} of {len(frame)} rows, the first is row {empty.arg_max()}"
    if table.unique and set(table.unique) <= set(frame.columns):
        keys = frame.select(table.unique)
        if (repeated := keys.is_duplicated()).any():
            first = keys.filter(repeated).row(0)
            yield f"{', '.join(table.unique)}: {int(repeated.sum())} rows are not unique, such as {first}"


def read_table(path: str | os.PathLike[str], table: Table) -> pl.DataFrame:
    """Read a Parquet or CSV file and check it against ``table``.

    Raises UserError when the file is absent or breaks the contract.
    """
    source = _present(path)
    with _told_as_damage(source, table):
        if source.suffix == ".csv":
            frame = pl.read_csv(source, schema=dict(table.columns), null_values=[""])
        else:
            frame = pl.read_parquet(source)
    return check_table(frame, table, str(source))


def read_columns(path: str | os.PathLike[str], table: Table, columns: Sequence[str]) -> pl.DataFrame:
    """Some columns of a Parquet file, checked and faulted as in ``read_table``; the others are not looked at."""
    source = _present(path)
    with _told_as_damage(source, table):
        frame = pl.read_parquet(source, columns=list(columns))
    return check_table(frame, _part(table, columns), str(source))


def read_blocks(path: str | os.PathLike[str], table: Table, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The rows of ``read_columns``, about ``ROWS`` at a time: that is what is held, and what is checked together."""
    source = _present(path)
    part = _part(table, columns)
    import pyarrow.parquet

    with _told_as_damage(source, table, pyarrow.ArrowException), pyarrow.parquet.ParquetFile(source) as file:
        for batch in file.iter_batches(ROWS, columns=list(columns)):
            yield check_table(pl.DataFrame(batch), part, str(source))


def _part(table: Table, columns: Sequence[str]) -> Table:
    unique = table.unique if set(table.unique) <= set(columns) else ()
    return replace(table, columns={name: table.columns[name] for name in columns}, unique=unique)


def _present(path: str | os.PathLike[str]) -> Path:
    source = Path(path)
    if not source.exists():
        raise UserError(f"{source} does not exist", hint="it is made by the workflow: run snakemake first")
    return source


@contextmanager
def _told_as_damage(source: Path, table: Table, *others: type[Exception]) -> Iterator[None]:
    damage: tuple[type[Exception], ...] = (pl.exceptions.PolarsError, OSError, UnicodeDecodeError, *others)
    try:
        yield
    except damage as error:
        hint = "it is damaged: remove it and run again"
        raise UserError(f"{source} cannot be read as a '{table.name}' table: {error}", hint) from error


def write_table(frame: pl.DataFrame, path: str | os.PathLike[str], table: Table) -> None:
    """Check ``frame`` against ``table`` and write it atomically as Parquet or CSV, by the suffix of ``path``."""
    checked = check_table(frame.select(list(table.columns)), table, str(path))
    with atomic_path(path) as temporary:
        if temporary.suffix == ".csv":
            checked.write_csv(temporary)
        else:
            checked.write_parquet(temporary, compression="zstd", statistics=False)


def write_blocks(frames: Iterable[pl.DataFrame], path: str | os.PathLike[str], table: Table) -> None:
    """As ``write_table``, to Parquet, of a table that comes in blocks, of which one is held at a time.

    Each is checked by itself: that rows of different blocks are unique is up to whoever makes them.
    """
    import pyarrow.parquet

    empty = pl.DataFrame(schema=dict(table.columns)).to_arrow()
    with (
        atomic_path(path) as temporary,
        pyarrow.parquet.ParquetWriter(temporary, empty.schema, compression="zstd", write_statistics=False) as writer,
    ):
        for frame in frames:
            writer.write_table(check_table(frame, table, str(path)).to_arrow())
