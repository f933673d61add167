"""What the poem that a query asks for is like."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray


def target_values(query_ids: Sequence[str], qrels: pl.DataFrame, values: pl.DataFrame) -> NDArray[np.float64]:
    """A value of the target of each query, float64 [n]: NaN where no target has one, or where its targets differ.

    Args:
        query_ids: n names.
        qrels: QRELS of their query set; a poem is a target from grade 1 on.
        values: columns poem_id and value, a number, of the poems that have one.
    """
    known = values.drop_nulls().select("poem_id", pl.col("value").cast(pl.Float64))
    targets = qrels.filter(pl.col("grade") > 0).join(known, on="poem_id", how="left")
    agreed = (
        targets.group_by("query_id")
        .agg(pl.col("value").first(), same=pl.col("value").n_unique() == 1)
        .filter("same")
        .select("query_id", "value")
    )
    asked = pl.DataFrame({"query_id": pl.Series(query_ids, dtype=pl.String)})
    found = asked.join(agreed, on="query_id", how="left", maintain_order="left")["value"]
    return found.fill_null(float("nan")).to_numpy().astype(np.float64)
