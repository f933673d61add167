"""Tables 1 to 4 and 6 of a paper on what retrieval results depend on, from the tables of any study."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from verseir.analyses.edited import CHANGE, DIFFERENCE
from verseir.analyses.fusion_search import SELECTIONS
from verseir.analyses.mechanism import EMBEDDING, LEXICAL
from verseir.analyses.overlap_spectrum import ALL
from verseir.figures.panels import main_rows
from verseir.orders import mode_order, register_order
from verseir.typeset.cells import (
    ALPHA,
    LEVEL,
    UNTESTED,
    cells,
    columns,
    p_of,
    places,
    plain,
    reasons,
    share,
    sheet,
    value,
    versus,
    with_best,
)
from verseir.typeset.sheet import LONG_WORDS, NUMBERS, Cell, Column, Sheet

_SHARE = re.compile(r"share with (\d+) tokens in a row")


def spectrum(table: pl.DataFrame) -> Sheet:
    """Table 1: what the queries carry of their targets' wording, from an OVERLAP_SPECTRUM table."""
    rows = table.filter(pl.col("mode").is_null()).to_dicts()
    thresholds = sorted({int(found[1]) for row in rows if (found := _SHARE.fullmatch(row["quantity"]))})
    cell = {(row["corpus"], row["query_set"], row["register"], row["quantity"]): row for row in rows}
    strata = sorted({key[:3] for key in cell}, key=lambda key: (*key[:2], key[2] != ALL, register_order(key[2])))
    printed = []
    for key in strata:
        n = next(row["n_queries"] for at, row in cell.items() if at[:3] == key)
        shares = [share(cell.get((*key, f"share with {t} tokens in a row"))) for t in thresholds]
        printed.append(cells(*key, f"{n:,}", *shares, value(cell.get((*key, "mean containment")), "mean")))
    heads = columns("corpus, query set, register", ["queries", *(f"≥ {t}, %" for t in thresholds), "containment"])
    return sheet(
        "table-1-spectrum",
        "How much of the wording of their targets the queries carry: share of queries with so many verbatim tokens in a"
        " row, and mean lexical containment, with 95% intervals.",
        heads,
        printed,
        "no query has a target whose words could be compared",
        [reasons(rows)],
        blocks=2,
    )


def known_item(
    leaderboard: pl.DataFrame, contrasts: pl.DataFrame, query_sets: Collection[str], measures: Sequence[str]
) -> Sheet:
    """Table 2: every system in every mode, from a LEADERBOARD and the declared CONTRASTS."""
    within = pl.col("query_set").is_in(list(query_sets))
    rows = leaderboard.filter(within, pl.col("measure").is_in(list(measures)))
    shown = [measure for measure in measures if measure in rows["measure"]]
    tested = _tested_pairs(contrasts.filter(within))
    printed = []
    for place in places(rows, "corpus", "query_set", "mode", "n_queries"):
        part = _at(rows, place)
        systems = sorted(part["system"].unique())
        block = [_marked(part.filter(pl.col("measure") == measure), systems, tested) for measure in shown]
        for i, system in enumerate(systems):
            printed.append([*cells(*place[:3], f"{place[3]:,}", system), *(column[i] for column in block)])
    marks = {cell.text[-1] for row in printed for cell in row}
    untested = [measure for measure in shown if measure not in {pair.measure for pair in tested}]
    notes = [f"{LEVEL} not separated from the best: Holm p ≥ {ALPHA} in the declared contrasts"] * (LEVEL in marks)
    notes += [f"{UNTESTED} no declared contrast could compare it with the best"] * (UNTESTED in marks)
    notes += [f"no declared contrast tests {', '.join(untested)}"] * bool(untested)
    return sheet(
        "table-2-known-item",
        "Known-item retrieval: means with 95% intervals, the highest in bold.",
        columns("corpus, query set, mode, queries, system", shown),
        printed,
        "no known-item query set was searched and judged",
        notes,
        parts=2,
        blocks=2,
    )


class Pair(NamedTuple):
    """Two systems in one place, in either order."""

    corpus: str
    query_set: str
    mode: str
    measure: str
    a: str
    b: str


def _tested_pairs(contrasts: pl.DataFrame) -> dict[Pair, bool]:
    """Which pairs are compared, and whether every contrast of them is separated."""
    found: dict[Pair, bool] = {}
    for row in contrasts.filter(pl.col("p_holm").is_not_null()).iter_rows(named=True):
        separated = row["p_holm"] < ALPHA
        for a, b in ((row["a"], row["b"]), (row["b"], row["a"])):
            pair = Pair(row["corpus"], row["query_set"], row["mode"], row["measure"], a, b)
            found[pair] = separated and found.get(pair, True)
    return found


def _marked(rows: pl.DataFrame, systems: Sequence[str], tested: Mapping[Pair, bool]) -> list[Cell]:
    """The column of one measure in one mode: the best, and how the others compare with it."""
    found = {row["system"]: row for row in rows.iter_rows(named=True)}
    values = [found.get(system) for system in systems]
    column = with_best([(value(row, "mean"), row["mean"] if row else None) for row in values])
    best = [system for system, cell in zip(systems, column, strict=True) if cell.best]
    if not best or not any(pair.measure == row["measure"] for pair in tested for row in found.values()):
        return column
    for i, (system, row) in enumerate(zip(systems, values, strict=True)):
        if row is not None and system not in best:
            place = (row["corpus"], row["query_set"], row["mode"], row["measure"], system)
            known = [tested.get(Pair(*place, other)) for other in best]
            mark = LEVEL if False in known else UNTESTED if None in known else ""
            column[i] = Cell(f"{column[i].text}{mark}")
    return column


def _at(rows: pl.DataFrame, place: Sequence[Any]) -> pl.DataFrame:
    corpus, query_set, mode = place[:3]
    return rows.filter(pl.col("corpus") == corpus, pl.col("query_set") == query_set, pl.col("mode") == mode)


def edits(table: pl.DataFrame, mode: str, measures: Mapping[str, str]) -> Sheet:
    """Table 3: what edits of the queries do, from an EDITS table; by system, then between systems."""
    rows = main_rows(table.filter(pl.col("mode") == mode, pl.col("effect").is_in([CHANGE, DIFFERENCE])), measures)
    rows = rows.sort(pl.col("effect") != CHANGE, "a", "b")
    printed = []
    for place in places(rows, "corpus", "source_query_set", "measure", "edit", "query_set"):
        corpus, source, measure, edit, query_set = place
        same = (pl.col("edit") == edit) & (pl.col("query_set") == query_set) & (pl.col("measure") == measure)
        part = rows.filter(same, pl.col("corpus") == corpus, pl.col("source_query_set") == source).to_dicts()
        after = with_best([(plain(row, "after"), row["after"] if row["effect"] == CHANGE else None) for row in part])
        for row, best in zip(part, after, strict=True):
            pair = row["effect"] == DIFFERENCE
            rejected = "" if row["n_rejected"] is None else f"{row['n_rejected']:,}"
            lead = [*cells(corpus, source, measure, edit, f"{row['n']:,}", rejected)]
            last = Cell(plain(row, "after", sign=True)) if pair else best
            name = versus(row["a"], row["b"]) if pair else row["a"]
            lead += [*cells(name, plain(row, "before", sign=pair)), last]
            printed.append([*lead, *cells(value(row, "estimate", sign=True), p_of(row))])
    heads = columns("corpus, query set, measure, edit, queries, rejected", [])
    heads += [Column("system"), *(Column(name, NUMBERS) for name in ("before", "after", "change", "Holm p"))]
    return sheet(
        "table-3-edits",
        f"Edited queries, indexing mode {mode}: means of the same queries before and after the edit, and the change"
        " with its 95% interval; between two systems, the lead of the first and its change.",
        heads,
        printed,
        f"no edited query was searched in the mode {mode} beside its original",
        [reasons(rows.to_dicts())],
        parts=3,
        blocks=3,
    )


def mechanism(table: pl.DataFrame, measures: Mapping[str, str]) -> Sheet:
    """Table 4: what success follows, from a MECHANISM table; the better predictor in bold where it is separated."""
    rows = main_rows(table, measures).sort("system").to_dicts()
    rows.sort(
        key=lambda row: (
            *(row[name] for name in ("corpus", "query_set", "measure")),
            row["against_mode"] is not None,
            mode_order(row["mode"]),
            row["against_mode"] or "",
        )
    )
    printed = []
    for row in rows:
        against = row["against_mode"]
        what = f"values, {row['mode']}" if against is None else f"change, {against} to {row['mode']}"
        name = f"{row['system']} (reference)" if row["reference"] else row["system"]
        printed.append(
            [
                *cells(row["corpus"], row["query_set"], row["measure"], what, f"{row['n']:,}", name),
                Cell(value(row, "rho_lexical", "lexical_low", "lexical_high"), row["better"] == LEXICAL),
                Cell(value(row, "rho_embedding", "embedding_low", "embedding_high"), row["better"] == EMBEDDING),
                *cells(value(row, "difference", "difference_low", "difference_high", sign=True), p_of(row)),
            ]
        )
    heads = columns("corpus, query set, measure, outcome, queries, system", [])
    heads += [Column(name, NUMBERS) for name in ("ρ lexical", "ρ embedding", "difference", "Holm p")]
    reference = any(row["reference"] for row in rows)
    return sheet(
        "table-4-mechanism",
        "Rank correlation of each system's outcomes with lexical containment and with embedding proximity, with 95%"
        " intervals; the higher in bold where the difference is separated from 0.",
        heads,
        printed,
        "no query has a target whose overlap is known",
        ["a reference encoder is not independent of its own proximities" if reference else "", reasons(rows)],
        parts=3,
        blocks=2,
    )


def fusion(table: pl.DataFrame, contrasts: pl.DataFrame) -> Sheet:
    """Table 6: the best fusions with and without a lexical arm, from FUSION and FUSION_CONTRASTS tables."""
    printed = []
    pairs = contrasts.sort("a", "b").to_dicts()
    names = ("corpus", "query_set", "measure")
    for place in places(table, *names, "n_queries"):
        lead = cells(*place[:3], f"{place[3]:,}")
        same = dict(zip(names, place, strict=False))
        part = [row for row in table.iter_rows(named=True) if same.items() <= row.items()]
        part.sort(key=lambda row: SELECTIONS.index(row["selection"]) if row["selection"] in SELECTIONS else 9)
        validated = with_best([(value(row, "cross_validated"), row["cross_validated"]) for row in part])
        for row, best in zip(part, validated, strict=True):
            choices = "" if row["n_distinct_choices"] is None else f"{row['n_distinct_choices']:,}"
            printed.append([*lead, *cells(row["selection"], row["arms"] or "", plain(row, "in_sample")), best])
            printed[-1] += cells("", choices)
        for row in pairs:
            if same.items() <= row.items():
                texts = ["difference", versus(row["a"], row["b"]), plain(row, "in_sample_difference", sign=True)]
                printed.append([*lead, *cells(*texts, value(row, "estimate", sign=True), p_of(row), "")])
    heads = [*columns("corpus, query set, measure, queries, selection", []), Column("arms of the best", LONG_WORDS)]
    heads += [Column(name, NUMBERS) for name in ("in-sample", "cross-validated", "Holm p", "choices")]
    return sheet(
        "table-6-fusion",
        "Reciprocal-rank fusion: the best of all subsets of runs on the queries it was chosen on (in-sample), and what"
        " subsets chosen on other queries reach (cross-validated, with 95% intervals).",
        heads,
        printed,
        "no runs of a known-item query set were fused",
        ["choices: distinct subsets that the folds chose", reasons([*table.to_dicts(), *pairs])],
        blocks=4,
    )
