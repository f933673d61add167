"""The validation curve of a training run: which epoch was best, and when a run stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from verseir.tables import define

CURVE = define(
    "validation curve of a training run",
    {
        "recipe": pl.String,
        "seed": pl.Int64,
        "fold": pl.String,
        "epoch": pl.Float64,
        "step": pl.Int64,
        "train_loss": pl.Float64,
        "learning_rate": pl.Float64,
        "measure": pl.String,
        "value": pl.Float64,
        "best": pl.Boolean,
    },
    nullable="train_loss learning_rate",
    unique="recipe seed fold step",
)


@dataclass(frozen=True)
class Point:
    """One look at the validation queries: after so many steps; the mean loss of the steps since the look before."""

    epoch: float
    step: int
    value: float
    train_loss: float | None = None
    learning_rate: float | None = None


def best_of(points: Sequence[Point]) -> int:
    """The place of the first point with the highest value among those of training; 0, the start, where there is none.

    The encoder before training stands first and takes no part: a run always ends in a trained encoder.
    """
    trained = range(1, len(points))
    return max(trained, key=lambda place: (points[place].value, -place), default=0)


def is_over(points: Sequence[Point], patience: int) -> bool:
    """Whether ``patience`` looks in a row brought nothing better than the best before them."""
    return len(points) > 1 and len(points) - 1 - best_of(points) >= patience


def curve_frame(points: Sequence[Point], recipe: str, seed: int, fold: str, measure: str) -> pl.DataFrame:
    """The points of one run as a CURVE frame, in their order."""
    best = best_of(points)
    rows = [
        (recipe, seed, fold, one.epoch, one.step, one.train_loss, one.learning_rate, measure, one.value, place == best)
        for place, one in enumerate(points)
    ]
    return pl.DataFrame(rows, schema=dict(CURVE.columns), orient="row")
