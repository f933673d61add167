"""Checks of the corpora that results could hang on."""

from __future__ import annotations

import polars as pl

from verseir.formats import count, listing, number
from verseir.report.panel import Panel, grid, notes, p, places, share, text, value, whole
from verseir.report.wording import Scope, Tables


def checks(tables: Tables, scope: Scope) -> Panel:
    """Checks of the corpora that results could hang on."""
    names = [
        "quoted_spans",
        "span_success",
        "era_trend",
        "poet_frequency",
        "gold_poems",
        "duplicate_folding",
        "explanation_audit",
    ]
    grids, sentences = [], []
    spans = tables["quoted_spans"]
    if len(spans):
        for row in spans.filter((pl.col("aspect") == "in other poems") & (pl.col("value") == "unique")).iter_rows(
            named=True
        ):
            where = f"{row['query_set']}, {row['corpus']}"
            if not row["n_all"]:
                told = "whether quoted spans stand in other poems is not estimable"
                sentences.append(f"No query quotes its poem on {where}: {told}.")
                continue
            stand = "stands" if row["n_spans"] == 1 else "stand"
            sentences.append(
                f"{count(row['n_spans'], 'quoted span')} of {row['n_all']} on {where}, {stand} in no other poem."
            )
        grids.append(
            grid(
                spans,
                "Quoted spans",
                [
                    *places(spans, "corpus", "query_set"),
                    text("aspect", "Aspect"),
                    text("value", "Value"),
                    whole("n_spans", "Spans"),
                    whole("n_all", "Of"),
                    share("share", "Share", "ci_low", "ci_high"),
                    share("by_chance", "By chance"),
                    notes(spans),
                ],
            )
        )
    for key, caption in (
        (
            "era_trend",
            "Era of the poem: log-odds of success per step towards the present, and a test of linearity (exploratory)",
        ),
        ("poet_frequency", "How many poems the poet has in the corpus"),
    ):
        frame = tables[key].filter(pl.col("mode") == scope.base_mode)
        if len(frame):
            who = "who" if "who" in frame.columns else "system"
            grids.append(
                grid(
                    frame,
                    caption,
                    [
                        text(who, "Systems"),
                        *places(frame, "corpus", "query_set"),
                        text("quantity", "Quantity"),
                        whole("n_queries", "n"),
                        value("estimate", "Estimate", "ci_low", "ci_high", sign=True),
                        p("p", "p"),
                        p(),
                        notes(frame),
                    ],
                )
            )
    gold = tables["gold_poems"]
    if len(gold):
        grids.append(
            grid(
                gold,
                "Poems that queries ask for against the rest of the corpus",
                [
                    text("property", "Property"),
                    *places(gold, "corpus", "query_set"),
                    whole("n_gold", "Asked for"),
                    whole("n_rest", "Rest"),
                    text("statistic", "Statistic"),
                    value("estimate", "Estimate", "ci_low", "ci_high", sign=True),
                    text("test", "Test"),
                    p("p", "p"),
                    p(),
                    notes(gold),
                ],
            )
        )
    folded = scope.main(tables["duplicate_folding"])
    if len(folded):
        changes = folded.filter(pl.col("n_changed") > 0)["difference"].abs().to_list()
        told = f"Counting poems that repeat each other as one changes {len(changes)} of {count(len(folded), 'mean')}"
        sentences.append(f"{told}, at most by {number(max(changes))}." if changes else f"{told}.")
        grids.append(
            grid(
                folded,
                "Duplicates folded",
                [
                    text("system", "System"),
                    *places(folded, "corpus", "query_set", "mode", "measure"),
                    whole("n_duplicates", "Duplicates"),
                    value("unfolded", "As they are"),
                    value("folded", "Folded"),
                    value("difference", "Difference", "ci_low", "ci_high", sign=True),
                    notes(folded),
                ],
            )
        )
    if not grids:
        sentences.append("No check could be made: no known-item query set was searched.")
    audit = tables["explanation_audit"]
    if len(audit):
        said = [
            f"{row['count']} of {row['n']} {row['verdict']}"
            for row in audit.filter(pl.col("annotator") == "all").iter_rows(named=True)
        ]
        sentences.append(f"People audited explanations: {listing(said)}.")
        grids.append(
            grid(
                audit,
                "Audit of explanations",
                [
                    text("source", "Source"),
                    *places(audit, "corpus"),
                    text("annotator", "Annotator"),
                    text("verdict", "Verdict"),
                    whole("count", "Count"),
                    whole("n", "Of"),
                    share("share", "Share", "ci_low", "ci_high"),
                    notes(audit),
                ],
            )
        )
    else:
        sentences.append("No explanation of this study was audited by a person.")
    return Panel("checks", "Checks of the corpora", "", sentences, grids, names)
