"""Tables of thematic retrieval: the systems by judges (5), by aspect (9), and the agreement of judges (10)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from verseir.figures.panels import main_rows
from verseir.formats import DECIMALS, number, printed, signed
from verseir.judging.rubrics import ABOUTNESS, OVERALL
from verseir.typeset.cells import (
    ABSENT,
    ALPHA,
    LEVEL,
    UNTESTED,
    Row,
    cells,
    columns,
    p_of,
    places,
    reasons,
    share,
    sheet,
    value,
    with_best,
)
from verseir.typeset.sheet import NUMBERS, WORDS, Cell, Column, Sheet

#: The order of aspects by their kind: the overall score, what a poem is about, its wording.
KINDS = (OVERALL, ABOUTNESS, "wording")
#: Decimals of scores.
SCORE = 2
CAPTION = "with 95% intervals, the highest in bold; ranks"
EMPTY = "no thematic query set was searched and judged"


def thematic(
    leaderboard: pl.DataFrame,
    moves: pl.DataFrame,
    measures: Mapping[str, str],
    query_sets: Collection[str],
    lexical: Collection[str],
    means: pl.DataFrame,
    contrasts: pl.DataFrame,
) -> Sheet:
    """Table 5: the systems on thematic queries, and their ranks there and on known-item queries.

    By the overall score of judges where there are any, beside the measure of the query set; else by that alone.

    Args:
        leaderboard: a LEADERBOARD.
        moves: a RANK_MOVES table.
        measures: query set -> its main measure.
        query_sets: thematic query sets.
        lexical: systems that match words.
        means: a THEMATIC_MEANS table.
        contrasts: a THEMATIC_CONTRASTS table.
    """
    within = pl.col("query_set").is_in(list(query_sets))
    measured = main_rows(leaderboard.filter(within), measures)
    moved = moves.filter(pl.col("thematic").is_in(list(query_sets)))
    overall = means.filter(within, pl.col("aspect") == OVERALL)
    if overall.is_empty():
        main = pl.struct("thematic", "measure_thematic").is_in(
            [{"thematic": name, "measure_thematic": measure} for name, measure in sorted(measures.items())]
        )
        return _by_measure(measured, moved.filter(main) if measures else moved.clear(), query_sets, lexical)
    return _by_judge(overall, contrasts.filter(within, pl.col("aspect") == OVERALL), measured, moved, lexical)


def _by_measure(
    rows: pl.DataFrame, moves: pl.DataFrame, query_sets: Collection[str], lexical: Collection[str]
) -> Sheet:
    found = moves.sort("known_item", descending=True).to_dicts()
    others = sorted({row["known_item"] for row in found})
    move = {tuple(row[k] for k in ("corpus", "thematic", "mode", "system", "known_item")): row for row in found}
    rank = {key[:4]: (row["rank_thematic"], row["n_systems"]) for key, row in move.items()}
    printed, said = [], []
    for place in places(rows, "corpus", "query_set", "mode", "measure", "n_queries"):
        corpus, query_set, mode, measure, n = place
        part = _at(rows, place).sort(-pl.col("mean").round(DECIMALS), "system").to_dicts()
        own = rank if others else {**rank, **_ranks(part)}
        best = with_best([(value(row, "mean"), row["mean"]) for row in part])
        for row, mean in zip(part, best, strict=True):
            name = row["system"]
            key = (corpus, query_set, mode, name)
            at, among = own.get(key, (None, 0))
            line = cells(corpus, query_set, measure, mode, f"{n:,}", f"{name} (lexical)" if name in lexical else name)
            line += [mean, Cell("" if at is None else f"{at:g}")]
            for other in others:
                one = move.get((*key, other))
                line += cells(*(("", "") if one is None else (f"{one['rank_known_item']:g}", _places(one["move"]))))
            printed.append(line)
            if name in lexical and at is not None:
                said.append(f"{name}: {at:g} of {among} in {corpus}, {query_set}, {mode}")
    heads = columns("corpus, query set, measure, mode, queries, system", ["mean", "rank"])
    heads += [Column(text, NUMBERS) for name in others for text in (f"rank in {name}", f"move from {name}")]
    notes = [f"rank of lexical systems: {'; '.join(said)}" if said else ""]
    notes += ["a move above 0 is a fall"] * bool(others)
    return sheet(
        "table-5-thematic",
        f"Thematic retrieval: means {CAPTION}, and what they are in known-item retrieval.",
        heads,
        printed,
        EMPTY if query_sets else "the study has no thematic query set",
        notes,
        parts=3,
        blocks=2,
    )


def _ranks(rows: list[dict[str, Any]]) -> dict[tuple, tuple[float, int]]:
    """The rank of each system, 1 for the highest mean, and of how many; tied systems share the mean of their ranks."""
    means = [round(row["mean"], DECIMALS) for row in rows]
    names = ("corpus", "query_set", "mode", "system")
    return {
        tuple(row[name] for name in names): (
            sum(other > mean for other in means) + (means.count(mean) + 1) / 2,
            len(means),
        )
        for row, mean in zip(rows, means, strict=True)
    }


def _places(move: float) -> str:
    return signed(move, 0 if move == int(move) else 1)


def _by_judge(
    overall: pl.DataFrame,
    contrasts: pl.DataFrame,
    measured: pl.DataFrame,
    moves: pl.DataFrame,
    lexical: Collection[str],
) -> Sheet:
    judges = sorted(overall["judge"].unique())
    known = {
        (row["corpus"], row["thematic"], row["mode"], row["system"], row["known_item"]): row["rank_known_item"]
        for row in moves.iter_rows(named=True)
    }
    others = sorted({key[-1] for key in known})
    with_measure = not measured.is_empty()
    names = ("corpus", "query_set", "mode")
    everywhere = pl.concat([overall.select(names), measured.select(names)]).unique()
    printed, said = [], []
    for place in places(everywhere, *names):
        own = [_at(overall, place).filter(pl.col("judge") == judge) for judge in judges]
        by_measure = _ranked(_at(measured, place).to_dicts())
        tested = _at(contrasts, place)
        columns_ = [
            _marked(part, tested.filter(pl.col("judge") == judge)) for judge, part in zip(judges, own, strict=True)
        ]
        systems = _ordered([*(part.to_dicts() for part in own), list(by_measure.values())])
        best = dict(
            zip(by_measure, with_best([(value(r, "mean"), r["mean"]) for r in by_measure.values()]), strict=True)
        )
        for system in systems:
            line = cells(*place, f"{system} (lexical)" if system in lexical else system)
            if with_measure:
                row = by_measure.get(system)
                line += [best.get(system, Cell("")), Cell("" if row is None else f"{row['rank']:g}")]
            for column in columns_:
                line += column.get(system, cells("", ""))
            for other in others:
                rank = known.get((*place, system, other))
                line.append(Cell("" if rank is None else f"{rank:g}"))
            printed.append(line)
        for judge, part in zip(judges, own, strict=True):
            for row in part.filter(pl.col("system").is_in(list(lexical))).sort("system").iter_rows(named=True):
                if row["rank"] is not None:
                    said.append(
                        f"{row['system']}: {row['rank']:g} of {row['n_systems']} in {', '.join(place)} by {judge}"
                    )
    heads = columns("corpus, query set, mode, system", [])
    if with_measure:
        heads += [Column(_listed(measured["measure"]), NUMBERS), Column("rank", NUMBERS)]
    heads += [Column(text, NUMBERS) for judge in judges for text in (judge, "rank")]
    heads += [Column(f"rank in {name}", NUMBERS) for name in others]
    return sheet(
        "table-5-thematic",
        f"Thematic retrieval: mean overall scores by judges, {CAPTION}, and what they are in known-item retrieval.",
        heads,
        printed,
        EMPTY,
        [
            *_marks(printed, contrasts),
            *_counted(overall),
            _joined("rank of lexical systems", said),
            _joined("empty places score the lowest grade; of what is shown alone", _filled(overall)),
            reasons(overall.to_dicts()),
        ],
        parts=2,
        blocks=1,
    )


def _filled(overall: pl.DataFrame) -> list[str]:
    """Of the means that empty places lower: how many they are, and the mean without them."""
    lowered = overall.filter(pl.col("empty_at_k") > 0, pl.col("mean_shown").is_not_null())
    key = ["corpus", "query_set", "mode", "system", "judge"]
    return [
        f"{row['system']} {number(row['mean_shown'], 2)} ({printed(100 * row['empty_at_k'], '.0f')}% empty) in "
        f"{row['corpus']}, {row['query_set']}, {row['mode']} by {row['judge']}"
        for row in lowered.sort(key).iter_rows(named=True)
    ]


def _ordered(sides: list[list[dict[str, Any]]]) -> list[str]:
    """The systems of a place: the highest mean by the first judge or measure that has them first."""
    order: dict[str, None] = {}
    for rows in sides:
        with_mean = [row for row in rows if row["mean"] is not None]
        for row in sorted(with_mean, key=lambda row: (-round(row["mean"], DECIMALS), row["system"])):
            order.setdefault(row["system"])
    for system in sorted(row["system"] for rows in sides for row in rows):
        order.setdefault(system)
    return list(order)


def _ranked(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The rows of a place by system, with their rank; sorted."""
    ranks = _ranks(rows)
    return {
        row["system"]: row | {"rank": ranks[row["corpus"], row["query_set"], row["mode"], row["system"]][0]}
        for row in sorted(rows, key=lambda row: row["system"])
    }


def _marked(rows: pl.DataFrame, contrasts: pl.DataFrame) -> dict[str, list[Cell]]:
    """Mean and rank of each system by one judge; a mark says how it compares with what it is tested against."""
    found = rows.sort("system").to_dicts()
    best = with_best([(value(row, "mean", digits=SCORE), row["mean"]) for row in found])
    against = set(contrasts["a"])
    cells_ = {}
    for row, cell in zip(found, best, strict=True):
        system, mark = row["system"], ""
        if against and system not in against and row["mean"] is not None:
            tests = [p for b, p in contrasts.select("b", "p_holm").iter_rows() if b == system]
            known = [p for p in tests if p is not None]
            mark = LEVEL if any(p >= ALPHA for p in known) else UNTESTED if len(known) < len(against) else ""
        rank = ABSENT if row["rank"] is None else f"{row['rank']:g}"
        cells_[system] = [Cell(f"{cell.text}{mark}", cell.best), Cell(rank)]
    return cells_


def _marks(printed: list[list[Cell]], contrasts: pl.DataFrame) -> list[str]:
    """What the marks mean."""
    found = {mark for row in printed for cell in row for mark in (LEVEL, UNTESTED) if mark in cell.text}
    against = " or ".join(sorted(set(contrasts["a"])))
    notes = [f"{LEVEL} not separated from {against}: Holm p ≥ {ALPHA}"] * (LEVEL in found)
    return notes + [f"{UNTESTED} no test could compare it with {against}"] * (UNTESTED in found)


def _counted(overall: pl.DataFrame) -> list[str]:
    """How many queries each judge scored."""
    most = overall.group_by("judge", "corpus", "query_set").agg(pl.col("n_queries").max()).sort(pl.all())
    return [
        _joined(
            "queries",
            [f"{n:,} of {query_set} in {corpus} by {judge}" for judge, corpus, query_set, n in most.iter_rows()],
        )
    ]


def _joined(what: str, said: list[str]) -> str:
    return f"{what}: {'; '.join(said)}" if said else ""


def _listed(names: pl.Series) -> str:
    return ", ".join(sorted(names.unique()))


def _at(rows: pl.DataFrame, place: tuple) -> pl.DataFrame:
    corpus, query_set, mode = place[:3]
    return rows.filter(pl.col("corpus") == corpus, pl.col("query_set") == query_set, pl.col("mode") == mode)


def aspects(means: pl.DataFrame, mode: str, lexical: Collection[str]) -> Sheet:
    """Table 9: the systems by each aspect that judges score, in one mode, from a THEMATIC_MEANS table."""
    rows = means.filter(pl.col("mode") == mode)
    kinds = dict(rows.select("aspect", "kind").unique().iter_rows())

    def order(aspect: str) -> tuple:
        kind = kinds[aspect]
        return (KINDS.index(kind) if kind in KINDS else len(KINDS), aspect != ABOUTNESS, aspect)

    shown = sorted(kinds, key=order)
    printed = []
    for place in places(rows, "corpus", "query_set", "judge"):
        corpus, query_set, judge = place
        part = rows.filter(pl.col("corpus") == corpus, pl.col("query_set") == query_set, pl.col("judge") == judge)
        found = {(row["system"], row["aspect"]): row for row in part.iter_rows(named=True)}
        systems = _ordered([part.filter(pl.col("aspect") == aspect).to_dicts() for aspect in shown])
        block = [_column(found, systems, aspect) for aspect in shown]
        for i, system in enumerate(systems):
            name = f"{system} (lexical)" if system in lexical else system
            printed.append([*cells(*place, name), *(column[i] for column in block)])
    return sheet(
        "table-9-aspects",
        f"Mean scores of thematic results by aspect, indexing mode {mode}, with 95% intervals, the highest in bold.",
        columns("corpus, query set, judge, system", [aspect.replace("_", " ") for aspect in shown]),
        printed,
        f"no judge scored thematic results in the mode {mode}",
        [
            f"{ABOUTNESS}: the mean of the aspects of what a poem is about" if ABOUTNESS in kinds else "",
            reasons(rows.to_dicts()),
        ],
        parts=3,
    )


def _column(found: Mapping[tuple[str, str], Row], systems: list[str], aspect: str) -> list[Cell]:
    """The scores of one aspect; empty where the judge's rubric does not have it."""
    rows = [found.get((system, aspect)) for system in systems]
    return with_best(
        [("" if row is None else value(row, "mean", digits=SCORE), row["mean"] if row else None) for row in rows]
    )


def judges(agreement: pl.DataFrame, orders: pl.DataFrame, mode: str) -> Sheet:
    """Table 10: how judges agree, aspect by aspect, from a JUDGE_AGREEMENT table, and the orders that they put the
    systems in, in one mode, from a JUDGE_ORDERS table."""
    shown = orders.filter(pl.col("mode") == mode)
    lines = []
    for row in agreement.sort("aspect").iter_rows(named=True):
        pair = f"{row['judge_a']}, {row['judge_b']}"
        values = [value(row, "rho", "rho_low", "rho_high", digits=SCORE), _kappa(row)]
        values.append(share(row, "within_one", "within_one_low", "within_one_high"))
        what = row["aspect"].replace("_", " ")
        key = (row["corpus"], row["query_set"], pair, 0, row["aspect"] != OVERALL, what)
        lines.append((key, [what, f"{row['n_items']:,}", f"{row['n_queries']:,}", *values, "", ""]))
    for row in shown.sort("judge_a", "aspect_a", "judge_b", "aspect_b").iter_rows(named=True):
        pair = ", ".join(dict.fromkeys([row["judge_a"], row["judge_b"]]))
        by = " and ".join(dict.fromkeys([row["aspect_a"], row["aspect_b"]]))
        what = f"order by {by}"
        key = (row["corpus"], row["query_set"], pair, 1, by != OVERALL, what)
        lines.append((key, [what, str(row["n_systems"]), "", "", "", "", value(row, "tau", digits=SCORE), p_of(row)]))
    lines.sort(key=lambda line: line[0])
    heads = [*columns("corpus, query set, judges", []), Column("aspect", WORDS)]
    heads += [Column(name, NUMBERS) for name in ("n", "queries", "ρ", "κ", "within one, %", "τ", "Holm p")]
    return sheet(
        "table-10-judges",
        "Agreement of judges on thematic results, by aspect: Spearman's ρ, quadratic-weighted κ and the share within"
        f" one point; and Kendall's τ of their orders of the systems, indexing mode {mode}; with 95% intervals.",
        heads,
        [cells(*key[:3], *texts) for key, texts in lines],
        "no two judges scored the same items, and no judge ranked three systems",
        [
            "n: items that both scored; of an order, systems",
            reasons([*agreement.iter_rows(named=True), *shown.iter_rows(named=True)]),
        ],
        parts=2,
        blocks=1,
    )


def _kappa(row: Row) -> str:
    """Kappa; empty for the mean of aspects, which is no grade of the scale."""
    absent = row["kappa"] is None and row["aspect"] == ABOUTNESS
    return "" if absent else value(row, "kappa", "kappa_low", "kappa_high", digits=SCORE)
