"""Folds of a query set: each is held out once, and searched by an encoder that was trained without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from verseir.faults import UserError, shown
from verseir.formats import count
from verseir.queries.splits import drawn_place, groups_of
from verseir.tables import define

#: ``fold`` counts from 1.
FOLDS = define("folds", {"query_id": pl.String, "fold": pl.Int64}, unique="query_id")


@dataclass(frozen=True)
class Parts:
    """What the queries are to the encoder of one fold: sorted ids, and no query is in two parts."""

    train: list[str]
    validation: list[str]
    test: list[str]


def classes_of(duplicates: pl.DataFrame | None) -> dict[str, str]:
    """The class of each poem of DUPLICATES; a poem that it lacks, as all do where it is None, is alone in its own."""
    return {} if duplicates is None else dict(duplicates.select("poem_id", "class_id").iter_rows())


def deal_folds(
    queries: pl.DataFrame, qrels: pl.DataFrame, n_folds: int, seed: int, duplicates: pl.DataFrame | None = None
) -> pl.DataFrame:
    """The FOLDS of a query set, sorted by id; the order of the rows changes nothing.

    Queries that hang together stay together (``splits.groups_of``), copies of a poem being one. Groups are dealt one by
    one, the largest first: each goes to the fold where its queries meet the fewest of their own register, then to that
    with the fewest queries. So no fold stays empty, and where each query is for itself, folds differ by one query at
    most, in all and of each register. Groups of one size are dealt in an order drawn by ``seed``.

    Args:
        queries: QUERIES.
        qrels: their QRELS.
        n_folds: how many folds.
        seed: of the draw.
        duplicates: DUPLICATES of the corpus, if it is known which poems are copies.

    Raises:
        UserError: there are fewer groups than folds.
    """
    same = qrels.with_columns(pl.col("poem_id").replace(classes_of(duplicates)))
    groups = groups_of(queries, same)
    if len(groups) < n_folds:
        raise UserError(
            f"{count(len(queries), 'query', 'queries')} cannot be dealt to {n_folds} folds: those that share a text, a"
            f" `cluster` or relevant poems stay together, which leaves {count(len(groups), 'group')}",
            f"folds: {len(groups)}, or fewer"
            if len(groups) > 2
            else "give `validation` and `test` in place of `folds`",
        )
    register_of = {name: register or "" for name, register in queries.select("query_id", "register").iter_rows()}
    registers = [Counter(register_of[name] for name in group) for group in groups]
    # Groups of one size and register follow each other: what one register leaves uneven, the next evens out.
    order = sorted(
        range(len(groups)),
        key=lambda i: (-len(groups[i]), sorted(registers[i].items()), drawn_place(groups[i][0], "fold", seed)),
    )
    dealt: list[Counter[str]] = [Counter() for _ in range(n_folds)]
    rows: list[tuple[str, int]] = []
    for i in order:
        met = [sum(n * fold[register] for register, n in registers[i].items()) for fold in dealt]
        best = min(range(n_folds), key=lambda place: (met[place], dealt[place].total()))
        dealt[best] += registers[i]
        rows += [(name, best + 1) for name in groups[i]]
    return pl.DataFrame(rows, schema=dict(FOLDS.columns), orient="row").sort("query_id")


def parts_of(folds: pl.DataFrame, held_out: int) -> Parts:
    """The parts for the encoder that is tested on the fold ``held_out``: it is validated on the next, in a ring.

    Raises:
        UserError: there is no such fold, or none is left to train on.
    """
    members: Mapping[int, list[str]] = {
        number: sorted(rows["query_id"].to_list()) for (number,), rows in folds.group_by("fold")
    }
    n_folds = len(members)
    if held_out not in members:
        raise UserError(f"there is no fold {held_out}", f"folds are numbered from 1 to {n_folds}")
    if n_folds < 3:
        raise UserError(f"of {count(n_folds, 'fold')} none is left to train on", "folds: 3, or more")
    validation = held_out % n_folds + 1
    train = [name for number, names in members.items() if number not in (held_out, validation) for name in names]
    return Parts(sorted(train), members[validation], members[held_out])


def join_runs(runs: Sequence[pl.DataFrame], folds: pl.DataFrame) -> pl.DataFrame:
    """One RUN of those of all folds: each query has the list of the encoder whose fold held it out.

    Args:
        runs: RUN frames, that of fold 1 first.
        folds: FOLDS.

    Raises:
        UserError: there are not as many runs as folds, or a query of a run is in no fold.
    """
    n_folds = folds["fold"].n_unique()
    if len(runs) != n_folds:
        raise UserError(
            f"{count(len(runs), 'run')} for {count(n_folds, 'fold')}", "give the run of each fold, in order"
        )
    known = set(folds["query_id"])
    strange = sorted({name for run in runs for name in run["query_id"].unique()} - known)
    if strange:
        raise UserError(
            f"{count(len(strange), 'query', 'queries')} of the runs, such as '{shown(strange[0])}',"
            f" {'is' if len(strange) == 1 else 'are'} in no fold",
            "folds are of the query set that is trained on; another set is searched by no encoder of a fold",
        )
    own = [
        run.join(folds.filter(pl.col("fold") == number), on="query_id", how="semi")
        for number, run in enumerate(runs, start=1)
    ]
    return pl.concat(own).sort("query_id", "rank")
