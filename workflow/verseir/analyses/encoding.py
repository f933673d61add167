"""What did each encoder see of the texts? Truncated texts and unknown tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from verseir.tables import ENCODING


def encoding_table(files: Iterable[str | Path]) -> pl.DataFrame:
    """The ENCODING table: one row for each corpus, encoder and role, from what the encode steps wrote down."""
    rows = []
    for path in files:
        seen = json.loads(Path(path).read_text(encoding="utf-8"))
        for role, counts in seen["roles"].items():
            rows.append(
                {**{key: seen[key] for key in ("corpus", "system", "dimension", "revision")}, "role": role, **counts}
            )
    frame = (
        pl.DataFrame(rows, schema_overrides=dict(ENCODING.columns))
        if rows
        else pl.DataFrame(schema=dict(ENCODING.columns))
    )
    return frame.select(list(ENCODING.columns)).sort("corpus", "system", "role")
