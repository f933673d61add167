"""Part a query set into train and test, so that clusters of its queries have equal shares in both.

Queries that hang together, by their text, by a cluster of the set or by a poem that answers both, stay together: else
the training part would give away what the test part asks for.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from verseir.faults import UserError
from verseir.measures import RELEVANT
from verseir.tables import define

#: ``gold``: a query of the test part that people judge.
SPLIT = define(
    "split",
    {"query_id": pl.String, "cluster": pl.Int64, "part": pl.String, "gold": pl.Boolean},
    unique="query_id",
)
#: What a graded set may take of a split. Gold is in test.
PARTS = ("train", "test", "gold")
#: Runs of k-means from other starts, of which the best counts.
_STARTS = 10


@dataclass(frozen=True)
class Shares:
    """How a set is parted: the share of test, the number of clusters, and how many of test are gold."""

    test: float = 0.2
    clusters: int = 20
    gold: int = 0


def of_part(split: pl.DataFrame, part: str | None) -> list[str]:
    """The ids of the queries of a part of a SPLIT, sorted; of all where ``part`` is None."""
    if part is not None:
        split = split.filter(pl.col("gold") if part == "gold" else pl.col("part") == part)
    return sorted(split["query_id"].to_list())


def split_queries(
    queries: pl.DataFrame, qrels: pl.DataFrame, vectors: NDArray[np.float32], shares: Shares, seed: int
) -> pl.DataFrame:
    """The SPLIT of a query set, sorted by id; the order of the rows of ``queries`` and ``qrels`` changes nothing.

    The queries are clustered by k-means (Lloyd, 1982; starts: Arthur and Vassilvitskii, 2007) on their vectors, made to
    have length 1. Each cluster gives to test what is due to it by its size; of all ways to round these shares to whole
    groups of queries, that with the smallest squares of what is over or wanting. For queries that hang together with no
    other it is the method of largest remainders (Hamilton). A group counts in the cluster of most of its queries. Gold
    is drawn from test by largest remainders too; here each query is for itself.

    Args:
        queries: QUERIES.
        qrels: their QRELS: two queries that one poem answers are one group, and so are two of one text (``same_text``).
        vectors: float [n, d], those of the queries, in the order of their rows.
        shares: see ``Shares``.
        seed: of k-means and of the draws.

    Raises:
        UserError: more clusters than queries, no way to part the queries, or more gold than test queries.
    """
    order = queries.with_row_index("row").sort("query_id")["row"].to_numpy()
    ids = queries["query_id"].sort().to_list()
    groups = groups_of(queries, qrels)
    n_test = size_of_test([len(group) for group in groups], shares.test)
    if shares.gold > n_test:
        raise UserError(f"{shares.gold} queries are to be gold, but test has {n_test}", f"gold: {n_test}, or fewer")
    own = dict(zip(ids, _clusters(vectors[order], shares.clusters, seed), strict=True))
    most = [_most([own[name] for name in group]) for group in groups]
    cluster_of = {name: cluster for group, cluster in zip(groups, most, strict=True) for name in group}
    strata: dict[int, list[list[str]]] = {}
    for group in groups:
        strata.setdefault(cluster_of[group[0]], []).append(group)
    test: set[str] = set()
    numbers = sorted(strata)
    sizes = [[len(group) for group in strata[number]] for number in numbers]
    for number, size in zip(numbers, _rounded(sizes, n_test), strict=True):
        drawn = sorted(strata[number], key=lambda group: drawn_place(group[0], "test", seed))
        test.update(name for group in _of_size(drawn, size) for name in group)
    asked = [[name for name in ids if name in test and cluster_of[name] == number] for number in numbers]
    gold: set[str] = set()
    for names, size in zip(asked, largest_remainders([len(names) for names in asked], shares.gold), strict=True):
        gold.update(sorted(names, key=lambda name: drawn_place(name, "gold", seed))[:size])
    renamed = {number: place for place, number in enumerate(dict.fromkeys(cluster_of[name] for name in ids), 1)}
    rows = [(name, renamed[cluster_of[name]], "test" if name in test else "train", name in gold) for name in ids]
    return pl.DataFrame(rows, schema=dict(SPLIT.columns), orient="row")


def same_text(text: str) -> str:
    """What two texts share that are the same but for case, forms of compatibility (NFKC) and blanks."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def groups_of(queries: pl.DataFrame, qrels: pl.DataFrame) -> list[list[str]]:
    """The queries that must stay together, as sorted lists in the order of their first: by text, ``cluster``, poem."""
    leader = {name: name for name in sorted(queries["query_id"].to_list())}

    def first(name: str) -> str:
        while leader[name] != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    ties: dict[tuple[str, str], str] = {}
    relevant = qrels.filter(pl.col("grade") >= RELEVANT).join(queries, on="query_id", how="semi")
    by_poem = ((name, ("poem", poem_id)) for name, poem_id in relevant.select("query_id", "poem_id").iter_rows())
    named = queries.filter(pl.col("cluster").is_not_null()).select("query_id", "cluster")
    by_cluster = ((name, ("cluster", cluster)) for name, cluster in named.iter_rows())
    by_text = ((name, ("text", same_text(text))) for name, text in queries.select("query_id", "text").iter_rows())
    for name, tie in (*by_poem, *by_cluster, *by_text):
        one, other = sorted([first(name), first(ties.setdefault(tie, name))])
        leader[other] = one
    groups: dict[str, list[str]] = {}
    for name in leader:
        groups.setdefault(first(name), []).append(name)
    return list(groups.values())


def size_of_test(sizes: Sequence[int], share: float) -> int:
    """How many queries test has: ``share`` of them, rounded, or what is nearest to it where groups stay together.

    Args:
        sizes: of the groups that stay together.
        share: of test, between 0 and 1.

    Raises:
        UserError: both parts cannot have a query.
    """
    total = sum(sizes)
    wanted = min(max(int(total * share + 0.5), 1), total - 1)
    possible = [size for size in _sums(_reachable(sizes)[0]) if 0 < size < total]
    if not possible:
        problem = (
            f"the {total} queries cannot be parted: all share a text, a `cluster` or relevant poems, one with the next"
        )
        if total < 2:
            problem = f"{total} queries cannot be parted into train and test"
        raise UserError(problem, "leave the set whole, or take apart what its queries share")
    return min(possible, key=lambda size: (abs(size - wanted), size))


def largest_remainders(sizes: Sequence[int], total: int) -> list[int]:
    """``total`` shared out by ``sizes``, of which it is no more than the sum: method of largest remainders (Hamilton).

    The sum is ``total``, and each share is what is due, rounded down or up; of equal remainders the first goes up.
    """
    whole = max(sum(sizes), 1)
    shares = [total * size // whole for size in sizes]
    by_rest = sorted(range(len(sizes)), key=lambda i: (-(total * sizes[i] % whole), i))
    for i in by_rest[: total - sum(shares)]:
        shares[i] += 1
    return shares


def _clusters(vectors: NDArray[np.float32], n: int, seed: int) -> list[int]:
    """The cluster of each row."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    if n > len(vectors):
        raise UserError(f"{n} clusters of {len(vectors)} queries", f"clusters: {len(vectors)}, or fewer")
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0, lengths, 1.0)
    distinct = min(n, len(np.unique(unit, axis=0)))
    with threadpool_limits(1):  # sums of several threads differ in their last bits
        found = KMeans(distinct, n_init=_STARTS, random_state=seed % 2**32).fit_predict(unit)
    return [int(label) for label in found]


def _most(labels: Sequence[int]) -> int:
    """The label that stands most often, the smallest of several."""
    return min(set(labels), key=lambda label: (-labels.count(label), label))


def _reachable(sizes: Sequence[int]) -> list[int]:
    """Of the groups from each place on, and from behind the last: bit s is set where some of them have s queries."""
    sums = [1]
    for size in reversed(sizes):
        sums.append(sums[-1] | sums[-1] << size)
    return sums[::-1]


def _sums(bits: int) -> list[int]:
    return [place for place, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"]


def _rounded(strata: Sequence[Sequence[int]], total: int) -> list[int]:
    """How many queries each stratum gives: sizes that its groups can have, which sum up to ``total``.

    The sum of the squared differences from what is due is the smallest, found by dynamic programming over the strata.
    """
    n = sum(map(sum, strata))
    best = np.full(total + 1, np.inf)
    best[0] = 0.0
    given: list[NDArray[np.int64]] = []
    for sizes in strata:
        due = total * sum(sizes) / n
        after, choice = np.full(total + 1, np.inf), np.zeros(total + 1, dtype=np.int64)
        for size in (size for size in _sums(_reachable(sizes)[0]) if size <= total):
            cost = best[: total + 1 - size] + (size - due) ** 2
            better = cost < after[size:]
            after[size:][better] = cost[better]
            choice[size:][better] = size
        best = after
        given.append(choice)
    found: list[int] = []
    left = total
    for choice in reversed(given):
        found.append(int(choice[left]))
        left -= found[-1]
    return found[::-1]


def _of_size(groups: Sequence[list[str]], size: int) -> list[list[str]]:
    """Groups with ``size`` queries in all: each in turn, where those behind it can make up the rest."""
    reachable = _reachable([len(group) for group in groups])
    chosen = []
    for place, group in enumerate(groups):
        rest = size - len(group)
        if rest >= 0 and reachable[place + 1] >> rest & 1:
            chosen.append(group)
            size = rest
    return chosen


def drawn_place(name: str, what: str, seed: int) -> bytes:
    """Where a query stands in a draw: it hangs on the seed and the id alone."""
    return hashlib.sha256(f"{seed}\0{what}\0{name}".encode()).digest()


def share_of(spec: Mapping[str, float]) -> Shares:
    """The ``Shares`` of the part ``split`` of a query set."""
    return Shares(float(spec["test"]), int(spec["clusters"]), int(spec["gold"]))
