"""The tables of a study as its page reads them: without the systems that only repeat what was published."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import polars as pl

from verseir.tables import Table, read_table

#: Columns that name systems.
SYSTEMS = ("system", "who", "a", "b")


def read_shown(folder: Path, table: Table, repeating: Collection[str]) -> pl.DataFrame:
    """The table of this contract in ``folder``, without rows about ``repeating`` systems.

    Raises:
        UserError: the file is absent or breaks its contract.
    """
    frame = read_table(folder / f"{table.name}.csv", table)
    for column in SYSTEMS:
        if repeating and column in frame.columns:
            named = pl.col(column)
            frame = frame.filter(named.is_null() | ~named.is_in(sorted(repeating)))
    return frame
