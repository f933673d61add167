"""The table of a paper on fine-tuning: trained encoders against their bases, by group of queries."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from verseir.analyses.fine_tuning import ALL, REGISTER, few_groups, group_name
from verseir.formats import known, number
from verseir.orders import mode_order, register_order
from verseir.typeset.cells import ABSENT, ALPHA, Row, cells, columns, p_of, plain, reasons, sheet, value
from verseir.typeset.sheet import Sheet

NAME = "table-fine-tuning"
LEAD = "corpus, query set, mode, measure"


def gains(table: pl.DataFrame, measures: Sequence[str]) -> Sheet:
    """Means before and after training, from a FINE_TUNING table; of attributes with many values none."""
    place = {measure: number for number, measure in enumerate(measures)}

    def rank(row: Row) -> tuple:
        at = (row["corpus"], row["query_set"], mode_order(row["mode"]), place.get(row["measure"], len(place)))
        return (*at, row["by"] != ALL, row["by"] != REGISTER, row["by"], register_order(row["group"]), row["recipe"])

    rows = sorted(few_groups(table).to_dicts(), key=rank)
    printed = [
        cells(
            row["corpus"],
            row["query_set"],
            row["mode"],
            row["measure"],
            group_name(row),
            row["recipe"],
            row["base"],
            f"{row['n']:,}",
            f"{row['n_seeds']}",
            plain(row, "zero_shot"),
            _trained(row),
            value(row, "difference", sign=True),
            p_of(row),
        )
        for row in rows
    ]
    return sheet(
        NAME,
        "Encoders before and after training: the mean over seeds with its standard deviation over seeds (n − 1 in the"
        " denominator), and the gain with its 95% interval over queries.",
        columns(f"{LEAD}, queries, recipe, base", ("n", "seeds", "untrained", "trained", "gain", "Holm p")),
        printed,
        "no trained encoder was searched beside its base",
        [
            "intervals and p are over queries, with the trained encoders as they are; the standard deviation is over"
            " trainings (with n in the denominator: sd_population in fine_tuning.csv)",
            f"Holm’s correction is within one recipe, measure and kind of group; a gain is established below {ALPHA}",
            reasons(rows),
        ],
        parts=LEAD.count(",") + 1,
        blocks=1,
    )


def _trained(row: Row) -> str:
    """``0.429 ± 0.011``."""
    if not known(row["mean"]):
        return ABSENT
    return f"{number(row['mean'])} ± {number(row['sd'])}" if known(row["sd"]) else number(row["mean"])
