"""What the people who judged blind found, sentence by sentence; each names its sheet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from verseir.analyses.annotators import MEAN
from verseir.formats import count, interval, number, p_phrase, percent, signed
from verseir.judging.rubrics import OVERALL
from verseir.report.panel import why_not
from verseir.report.remarks import NAMED, against, ends, remark, spoken
from verseir.report.wording import Tables, places_of


def found(tables: Tables, main: str | None) -> list[str]:
    """How far annotators agree, with each other and with a judge, what they prefer, and what they accept.

    The judge is ``main``, or the first by name where that has not judged what is on a sheet.

    Where several annotated a sheet, what they prefer and accept is told of all together; the tables hold each.
    """
    agreement, human = tables["annotator_agreement"], tables["human_judge"]
    contrasts, acceptable = tables["annotator_contrasts"], tables["acceptability"]
    sentences = []
    for (sheet,), pairs in places_of(agreement, "sheet"):
        told = [_agreed(row) for row in pairs.iter_rows(named=True)]
        sentences += told if len(told) <= NAMED else [_all_agreed(pairs, sheet)]
    by_main = spoken(human.filter(pl.col("aspect") == OVERALL), main, "sheet")
    sentences += [_with_judge(row) for row in _together(by_main).iter_rows(named=True)]
    for _, rows in places_of(_together(contrasts), "sheet", "mode", "a"):
        sentences += _preferred(rows, contrasts)
    sentences += [_acceptable(row) for row in _together(acceptable).iter_rows(named=True)]
    return sentences


def _together(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows about all annotators of a sheet together; those of the one annotator where it has no other."""
    several = pl.col("annotator").eq(MEAN).any().over("sheet")
    return rows.filter(~several | (pl.col("annotator") == MEAN))


def _agreed(row: Mapping[str, Any]) -> str:
    pair = f"{row['sheet']}: {row['annotator_a']} and {row['annotator_b']}"
    if row["kappa"] is None:
        return f"{pair}: {row['note']}."
    kappa = f"{signed(row['kappa'], 2)}{ends(row, 'kappa_low', 'kappa_high', sign=True)}"
    near = f"{percent(row['within_one'])} of {count(row['n_items'], 'item')} are within one point"
    return f"{pair}: quadratic-weighted κ {kappa}; {near}{remark(row)}."


def _all_agreed(pairs: pl.DataFrame, sheet: str) -> str:
    """The lowest and the highest kappa of many pairs of annotators."""
    known = pairs.filter(pl.col("kappa").is_not_null()).sort("kappa", "annotator_a", "annotator_b").to_dicts()
    if not known:
        return f"{sheet}: κ of {len(pairs)} pairs of annotators is {why_not(pairs)}."
    low, high = (
        f"{signed(row['kappa'], 2)} ({row['annotator_a']} and {row['annotator_b']})" for row in (known[0], known[-1])
    )
    return f"{sheet}: quadratic-weighted κ of {len(known)} pairs of annotators is from {low} to {high}."


def _with_judge(row: Mapping[str, Any]) -> str:
    pair = f"{row['sheet']}: {row['annotator']} and {row['judge']}"
    if row["rho"] is None:
        return f"{pair}: {row['note']}."
    rho = f"{signed(row['rho'], 2)}{ends(row, 'rho_low', 'rho_high', sign=True)}"
    return f"{pair} correlate with ρ {rho} over {count(row['n_items'], 'item')}{remark(row)}."


def _preferred(rows: pl.DataFrame, contrasts: pl.DataFrame) -> list[str]:
    """What one sheet says in one mode of system ``a`` and others: pair by pair, or of many in one sentence."""
    first = rows.row(0, named=True)
    where = f"{first['sheet']}, {first['annotator']}"
    modes = contrasts.filter(pl.col("sheet") == first["sheet"])["mode"].n_unique()
    where += f", mode {first['mode']}" if modes > 1 else ""
    if len(rows) > NAMED:
        return [f"{where}, {against(rows, first['a'])}."]
    return [f"{where}: {row['a']} against {row['b']}{_difference(row)}." for row in rows.iter_rows(named=True)]


def _difference(row: Mapping[str, Any]) -> str:
    if row["estimate"] is None:
        return f": {row['note']}"
    estimate = f" {signed(row['estimate'], 2)}{ends(row, 'ci_low', 'ci_high', sign=True)}"
    tests = f", {p_phrase('p', row['p'])}, {p_phrase('Holm p', row['p_holm'])}" if row["p"] is not None else ""
    return f"{estimate} over {count(row['n'], 'query', 'queries')}{tests}{remark(row)}"


def _acceptable(row: Mapping[str, Any]) -> str:
    where = f"{row['sheet']}, {row['annotator']}: what {row['system']} shows first where it misses"
    if row["share"] is None:
        return f"{where}: {row['note']}."
    within = f" ({percent(row['share_low'])} to {percent(row['share_high'])})" if row["share_low"] is not None else ""
    bounds = f" {interval(row['adjusted_low'], row['adjusted_high'])}" if row["adjusted_low"] is not None else ""
    accepted = row["threshold"] if row["threshold"].endswith("acceptable") else f"{row['threshold']} acceptable"
    return (
        f"{where} is {accepted} in {percent(row['share'])}{within} of "
        f"{count(row['n_judged'], 'case')}; counted as found, {row['measure']} {number(row['value'])} becomes "
        f"{number(row['adjusted'])}{bounds}{remark(row)}."
    )
