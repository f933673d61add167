"""Tests and intervals of many columns at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from agreement import require_close
from harness.line import Line, Peer

ORDER = 40
QUERIES, FLIPS, RESAMPLES = 250, 99_999, 9_999
#: Columns that the peers of the permutation test are timed on: by itself, and together.
ALONE, TOGETHER = 1, 20
#: Flips that scipy draws at once where it is given its best: of 20, 100 and 1,000 the quickest for 20 columns.
BATCH = 100


@dataclass(frozen=True)
class Differences:
    """Paired differences float64 [n, m], and as many of 12 queries: few enough to enumerate all signs."""

    values: np.ndarray
    few: np.ndarray


def prepare(size: int, _: int) -> Differences:
    """``size`` columns of differences of reciprocal ranks, half of them 0."""
    rng = np.random.default_rng(7)

    def draw(n: int) -> np.ndarray:
        ranks = rng.integers(1, 20, (2, n, size))
        return np.where(rng.random((n, size)) < 0.5, 0.0, 1 / ranks[0] - 1 / ranks[1])

    return Differences(draw(QUERIES), draw(12))


def _sums(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    return np.sum(a - b, axis=axis)


def _scipy(values: np.ndarray, **options: Any) -> np.ndarray:
    from scipy.stats import permutation_test

    return permutation_test(
        (values, np.zeros_like(values)), _sums, permutation_type="samples", vectorized=True,
        rng=np.random.default_rng(1), **options,
    ).pvalue  # fmt: skip


# ---- sign flips ----


def flip(data: Differences, _: int) -> np.ndarray:
    from verseir.stats.permutation import sign_flip

    return sign_flip(data.values, None, FLIPS, 1).p


def flip_alone(data: Differences, _: int) -> np.ndarray:
    """A call for each column, everything else as it comes."""
    return np.array([_scipy(column, n_resamples=FLIPS) for column in data.values.T[:ALONE]])


def flip_together(data: Differences, _: int) -> np.ndarray:
    return _scipy(data.values[:, :TOGETHER], n_resamples=FLIPS, batch=BATCH)


def same_p(data: Differences, ours: np.ndarray, theirs: np.ndarray, _: str) -> None:
    """Where all signs are enumerated p is the same; of random flips it is as near as chance lets it be."""
    from verseir.stats.permutation import sign_flip

    some = data.few[:, : len(theirs)]
    require_close(sign_flip(some).p, _scipy(some, n_resamples=np.inf), 1e-9, "exact p")
    p = np.clip(ours[: len(theirs)], 10 / FLIPS, 1.0)
    errors = np.sqrt((p * (1 - p) + 2 * p) / FLIPS)  # scipy doubles the smaller tail: twice the variance
    require_close((ours[: len(theirs)] - theirs) / errors, np.zeros(len(theirs)), 6.0, "p in standard errors")


# ---- bootstrap ----


def resample(data: Differences, _: int) -> Any:
    from verseir.stats.bootstrap import bootstrap_means

    return bootstrap_means(data.values, None, RESAMPLES, 1)


def _bootstrap(values: np.ndarray, **options: Any) -> np.ndarray:
    from scipy.stats import bootstrap

    interval = bootstrap(
        (values,), np.mean, axis=0, vectorized=True, n_resamples=RESAMPLES, rng=np.random.default_rng(1), **options
    ).confidence_interval
    return np.array([interval.low, interval.high])


def resample_all(data: Differences, _: int) -> np.ndarray:
    return _bootstrap(data.values)


def resample_alone(data: Differences, _: int) -> np.ndarray:
    return np.array([_bootstrap(column) for column in data.values.T]).T


def resample_batched(data: Differences, _: int) -> np.ndarray:
    return _bootstrap(data.values, batch=BATCH)


def same_interval(_: Differences, ours: Any, theirs: np.ndarray, __: str) -> None:
    """The same seed gives the same resamples, so the intervals are equal, and not only near."""
    require_close(np.array([ours.low, ours.high]), theirs, 1e-9, "ends of intervals")


LINES = (
    Line(
        name="permutation",
        work=f"sign-flip permutation test, {FLIPS:,} flips of {QUERIES} queries, float64",
        unit="columns",
        sizes=(20, 60, 180),
        quick=(4,),
        prepare=prepare,
        ours=flip,
        peers=(
            Peer(
                "scipy.stats.permutation_test",
                flip_alone,
                floors={2: 200.0},
                share=lambda data: ALONE / data.values.shape[1],
                remark="a call for each column, as the function is documented",
            ),
            Peer(
                "the same at its best batch",
                flip_together,
                share=lambda data: min(TOGETHER, data.values.shape[1]) / data.values.shape[1],
                remark=f"{TOGETHER} columns in a call, {BATCH} flips at once",
            ),
        ),
        same=same_p,
        packages=("scipy", "numpy"),
        binds="the matrix product of signs with columns, then comparing the sums, in one thread",
    ),
    Line(
        name="bootstrap",
        work=f"paired bootstrap, {RESAMPLES:,} resamples of {QUERIES} queries, BCa intervals",
        unit="columns",
        sizes=(4, 12, 40),
        quick=(12,),
        prepare=prepare,
        ours=resample,
        peers=(
            Peer("scipy.stats.bootstrap", resample_all, floors={2: 10.0}, remark="all columns in one call"),
            Peer("the same, a call for each column", resample_alone),
            Peer("the same at its best batch", resample_batched, remark=f"{BATCH} resamples at once"),
        ),
        same=same_interval,
        packages=("scipy", "numpy"),
        binds="drawing the resamples, the same stream as the peer's, and counting them: half of the time at 40 columns "
        "and as long for one; then the product with the columns and their quantiles",
    ),
)
