"""What a step cost: seconds, peak memory, size on disk."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import polars as pl

from verseir.atomic import write_text
from verseir.tables import COSTS


def peak_memory_mb() -> float:
    """Peak resident memory of this process in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def write_cost(
    path: str | Path,
    stage: str,
    corpus: str,
    system: str,
    *,
    seconds: float,
    n_texts: int | None = None,
    index_mb: float | None = None,
    device: str = "cpu",
) -> None:
    """Write what a step cost as JSON, a row of the COSTS table: its texts, its seconds, the memory of this process."""
    row = {
        "corpus": corpus,
        "system": system,
        "stage": stage,
        "n_texts": n_texts,
        "seconds": seconds,
        "texts_per_second": n_texts / seconds if n_texts and seconds > 0 else None,
        "peak_memory_mb": peak_memory_mb(),
        "index_mb": index_mb,
        "device": device,
    }
    write_text(path, json.dumps(row, indent=1) + "\n")


class Stopwatch:
    """Measures one step from its making to ``write``."""

    def __init__(self, stage: str, corpus: str, system: str):
        self.step = (stage, corpus, system)
        self.start = time.perf_counter()

    def write(self, path: str | Path, n_texts: int | None = None, index_mb: float | None = None) -> None:
        """Write what the step cost so far, see ``write_cost``."""
        seconds = time.perf_counter() - self.start
        write_cost(path, *self.step, seconds=seconds, n_texts=n_texts, index_mb=index_mb)


def read_costs(paths: Iterable[str | Path]) -> pl.DataFrame:
    """The COSTS table of all cost files, summed over steps of one corpus, system and stage; memory is the largest."""
    rows = [json.loads(Path(path).read_text(encoding="utf-8")) for path in sorted(map(str, paths))]
    frame = pl.DataFrame(rows, schema=dict(COSTS.columns), orient="row")
    keys = ["corpus", "system", "stage"]
    summed = frame.group_by(keys).agg(
        pl.col("n_texts").sum(),
        pl.col("seconds").sum(),
        pl.col("peak_memory_mb").max(),
        pl.col("index_mb").sum(),
        pl.col("device").sort().first(),
    )
    rate = pl.when(pl.col("n_texts") > 0).then(pl.col("n_texts") / pl.col("seconds"))
    index = pl.when(pl.col("index_mb") > 0).then(pl.col("index_mb"))
    return summed.with_columns(texts_per_second=rate, index_mb=index).select(list(COSTS.columns)).sort(keys)


class Speed(NamedTuple):
    """How fast a step of a system was, in which study it was measured and on which device."""

    texts_per_second: float
    study: str
    device: str


def known_speeds(results: str | Path, study: str) -> dict[tuple[str, str, str], Speed]:
    """The speeds that studies measured, by system, stage and kind of device (``cpu`` or ``gpu``).

    Those of ``study`` itself come before those of others, of which the last to finish counts.

    Args:
        results: the folder of all studies. A table there that cannot be read is passed over.
    """
    found: dict[tuple[str, str, str], Speed] = {}
    tables = [path for path in Path(results).glob("*/tables/costs.csv") if path.is_file()]
    for path in sorted(tables, key=lambda path: (path.parts[-3] == study, path.stat().st_mtime_ns)):
        try:
            rows = pl.read_csv(path, schema=dict(COSTS.columns), null_values=[""])
        except pl.exceptions.PolarsError:
            continue
        device = pl.when(pl.col("device") == "cpu").then(pl.lit("cpu")).otherwise(pl.lit("gpu")).alias("kind")
        measured = pl.col("device").is_not_null() & (pl.col("n_texts") > 0)
        timed = rows.filter(measured & (pl.col("seconds") > 0) & pl.col("seconds").is_finite()).with_columns(device)
        sums = timed.group_by("system", "stage", "kind").agg(
            pl.col("n_texts", "seconds").sum(), pl.col("device").first()
        )
        for system, stage, kind, n_texts, seconds, on in sums.iter_rows():
            found[system, stage, kind] = Speed(n_texts / seconds, path.parts[-3], on)
    return found
