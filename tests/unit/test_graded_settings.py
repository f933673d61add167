"""Settings of a benchmark: their means are those of the leaderboard, and each counts alike in means over them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.analyses.graded_settings import (
    ALIKE,
    GRADED_SETTINGS,
    ONE_QUERY,
    graded_settings,
    read_setting,
    setting_text,
)
from verseir.analyses.leaderboard import means
from verseir.analyses.setting_views import views
from verseir.report.graded import (
    graded,
    judged_elsewhere,
    measured_grades,
    ranked_within,
    searched_within,
    settings_briefs,
)
from verseir.report.spoken import graded_only, setting_sets
from verseir.report.standings import Gap, Score, Standing
from verseir.report.wording import Scope
from verseir.stats.macro import Part, macro_means
from verseir.tables import PER_QUERY, QRELS, QUERIES, QUERY_ATTRIBUTES, check_table
from verseir.typeset.settings import means as sheet_of_means
from verseir.typeset.settings import values as sheet_of_values

DRAWS = (500, 7)
MEASURES = ["nDCG@10", "Recall@5"]
SYSTEMS = ["bm25", "e5"]
#: Of each set: aspect, scope, split, and how many queries ask for each language.
SETS: dict[str, tuple[str, str, str, dict[str | None, int]]] = {
    "emotion_mono": ("emotion", "mono", "gold", {"fas": 6, "zho": 2}),
    "emotion_cross": ("emotion", "cross", "gold", {None: 5}),
    "theme_mono": ("theme", "mono", "gold", {"fas": 3, "zho": 4}),
    "theme_cross": ("theme", "cross", "gold", {None: 9}),
    "theme_cross_silver": ("theme", "cross", "silver", {None: 4}),
}


class Made:
    """The tables of a study of these sets, with values drawn at random."""

    def __init__(self, sets: dict[str, Any] = SETS, seed: int = 0, clustered: bool = False):
        chance = np.random.default_rng(seed)
        queries, qrels, values, self.attributes = [], [], [], {}
        self.splits = {name: split for name, (_, _, split, _) in sets.items()}
        for name, (aspect, scope, _, languages) in sets.items():
            known = []
            ids = [(f"{name}{code}{i}", code) for code, n in languages.items() for i in range(n)]
            for place, (query_id, code) in enumerate(ids):
                cluster = f"{name}{place // 2}" if clustered else None
                queries.append((query_id, name, "text", None, None, None, None, cluster))
                qrels += [(query_id, query_id, 1, name), (query_id, "other", 0, name)]
                given = {"aspect": aspect, "scope": scope} | ({"language": code} if code else {})
                known += [(query_id, attribute, value) for attribute, value in given.items()]
                for system in SYSTEMS:
                    values += [
                        ("c", "poem", name, system, query_id, measure, chance.integers(0, 8) / 8)
                        for measure in MEASURES
                    ]
            self.attributes[name] = pl.DataFrame(known, schema=dict(QUERY_ATTRIBUTES.columns), orient="row")
        self.queries = pl.DataFrame(queries, schema=dict(QUERIES.columns), orient="row")
        self.qrels = pl.DataFrame(qrels, schema={**QRELS.columns, "query_set": pl.String}, orient="row")
        self.per_query = pl.DataFrame(values, schema=dict(PER_QUERY.columns), orient="row")

    def table(self, **changes: pl.DataFrame) -> pl.DataFrame:
        given = {"per_query": self.per_query, "queries": self.queries, "qrels": self.qrels} | changes
        table = graded_settings(
            **given, attributes=self.attributes, splits=self.splits, resamples=DRAWS[0], seed=DRAWS[1]
        )
        return check_table(table, GRADED_SETTINGS, "here")

    def mean(self, system: str, measure: str, query_set: str, language: str | None = None) -> float:
        rows = self.per_query.filter(
            pl.col("system") == system, pl.col("measure") == measure, pl.col("query_set") == query_set
        )
        if language:
            rows = rows.filter(pl.col("query_id").str.starts_with(f"{query_set}{language}"))
        return rows["value"].mean()  # type: ignore[return-value]


def row(table: pl.DataFrame, setting: str, over: str | None = None, **more: Any) -> dict[str, Any]:
    """The one row of a setting, of ``e5`` on ``nDCG@10`` in the split ``gold``."""
    wanted = {"system": "e5", "measure": "nDCG@10", "split": "gold", "setting": setting} | more
    found = table.filter(pl.col("over").eq_missing(over), **wanted)
    assert len(found) == 1, found
    return found.row(0, named=True)


# Means of means


def part(name: str, n: int, seed: int, clusters: bool = False) -> Part:
    values = np.random.default_rng(seed).integers(0, 10, (n, 2)) / 10
    return Part(name, values, np.arange(n) // 2 if clusters else None)


def test_a_mean_of_means_counts_each_part_alike() -> None:
    parts = [part("a", 40, 1), part("b", 4, 2), part("c", 9, 3, clusters=True)]
    both, nested, alone = macro_means(
        parts, [{"a": 0.5, "b": 0.5}, {"a": 0.25, "b": 0.25, "c": 0.5}, {"c": 1.0}], 2000, 0
    )
    mean = [part.values.mean(axis=0) for part in parts]
    assert np.allclose(both.mean, (mean[0] + mean[1]) / 2)
    assert np.allclose(nested.mean, (mean[0] + mean[1]) / 4 + mean[2] / 2)
    assert np.allclose(alone.mean, mean[2])
    for found in (both, nested, alone):
        assert (found.low < found.mean).all() and (found.mean < found.high).all()


@pytest.mark.parametrize("n", [2, 3, 10])
def test_the_interval_has_the_variance_of_the_mean_also_of_few_queries(n: int) -> None:
    # Many parts of few queries: nearly normal, so its width is that of the unbiased variance, s^2 / n of each part.
    parts = [part(f"p{i}", n, i) for i in range(60)]
    weights = {part.name: 1 / len(parts) for part in parts}
    (found,) = macro_means(parts, [weights], 20_000, 1)
    variance = sum(part.values.var(axis=0, ddof=1) / n for part in parts) / len(parts) ** 2
    assert np.allclose((found.high - found.low) / (2 * 1.959964), np.sqrt(variance), rtol=0.03)


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(5)), st.integers(0, 100))
def test_the_order_of_parts_and_what_else_is_wanted_change_nothing(order: list[int], seed: int) -> None:
    parts = [part(f"p{i}", 3 + i, seed + i, clusters=i % 2 == 0) for i in range(5)]
    first, second = {"p0": 0.5, "p3": 0.5}, {"p1": 0.2, "p2": 0.8}
    one = macro_means(parts, [first, second], 200, seed)
    other = macro_means([parts[i] for i in order], [second, {"p4": 1.0}, first], 200, seed)
    for a, b in ((one[0], other[2]), (one[1], other[0])):
        assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_no_interval_where_a_part_has_one_query_or_nothing_varies() -> None:
    alike = Part("alike", np.full((5, 2), 0.25))
    pair = Part("pair", np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([1, 1]))
    parts = [alike, pair, Part("one", np.array([[0.1, 0.2]])), part("many", 9, 0)]
    found = macro_means(
        parts, [{"alike": 1.0}, {"pair": 0.5, "many": 0.5}, {"one": 0.5, "many": 0.5}, {"many": 1.0}], 100, 0
    )
    for interval in found[:3]:
        assert np.isnan(interval.low).all() and np.isnan(interval.high).all() and np.isfinite(interval.mean).all()
    assert np.isfinite(found[3].low).all()


# The table


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.text("abc_", min_size=1, max_size=5), st.text(min_size=1, max_size=8), max_size=4))
def test_a_setting_reads_back_whatever_its_values(facets: dict[str, str]) -> None:
    assert read_setting(setting_text(facets)) == facets or facets == {}


@pytest.mark.parametrize("clustered", [False, True])
def test_rows_of_sets_are_those_of_the_leaderboard(clustered: bool) -> None:
    made = Made(clustered=clustered)
    table = made.table()
    board = means(made.per_query, made.queries, made.qrels, *DRAWS)
    keys = ["query_set", "system", "measure"]
    whole = table.filter(pl.col("over").is_null(), ~pl.col("setting").str.contains("language"))
    columns = [*keys, "n_queries", "mean", "ci_low", "ci_high"]
    assert whole.select(columns).sort(keys).equals(board.select(columns).sort(keys))
    assert row(table, "aspect=emotion, scope=mono")["query_set"] == "emotion_mono"
    language = row(table, "aspect=theme, language=zho, scope=mono")
    assert language["n_queries"] == 4 and language["mean"] == pytest.approx(
        made.mean("e5", "nDCG@10", "theme_mono", "zho")
    )


def test_means_over_settings_and_languages_count_each_alike() -> None:
    made = Made()
    table = made.table()
    of = {name: made.mean("e5", "nDCG@10", name) for name in SETS}
    mono = row(table, "scope=mono", "aspect")
    assert mono["mean"] == pytest.approx((of["emotion_mono"] + of["theme_mono"]) / 2)
    assert (mono["n_parts"], mono["n_queries"], mono["query_set"], mono["note"]) == (2, 15, None, None)
    assert mono["ci_low"] < mono["mean"] < mono["ci_high"]
    theme = row(table, "aspect=theme", "scope")
    assert theme["mean"] == pytest.approx((of["theme_mono"] + of["theme_cross"]) / 2)  # the silver split is another
    everything = row(table, "all", "aspect, scope")
    assert everything["mean"] == pytest.approx(sum(of[name] for name in list(SETS)[:4]) / 4)
    by = {
        (name, code): made.mean("e5", "nDCG@10", name, code)
        for name in ("emotion_mono", "theme_mono")
        for code in ("fas", "zho")
    }
    own = row(table, "aspect=emotion, scope=mono", "language")
    assert own["mean"] == pytest.approx((by["emotion_mono", "fas"] + by["emotion_mono", "zho"]) / 2)
    assert own["query_set"] == "emotion_mono" and own["n_parts"] == 2
    zho = row(table, "language=zho, scope=mono", "aspect")
    assert zho["mean"] == pytest.approx((by["emotion_mono", "zho"] + by["theme_mono", "zho"]) / 2)
    assert row(table, "scope=mono", "aspect, language")["mean"] == pytest.approx(sum(by.values()) / 4)
    assert not len(table.filter(pl.col("split") == "silver", pl.col("over").is_not_null()))


def test_the_mean_over_languages_is_within_each_setting_first() -> None:
    sets = {
        "a": ("a", "mono", "gold", {"fas": 3, "zho": 3, "eng": 3}),
        "b": ("b", "mono", "gold", {"fas": 3}),
        "c": ("c", "mono", "gold", {"fas": 4, "zho": 2}),
    }
    made = Made(sets)
    mean = {(name, code): made.mean("e5", "nDCG@10", name, code) for name in sets for code in sets[name][3]}
    # All queries of b ask for one language: it is part of what the set is, and no part of it.
    inside = [
        np.mean([mean["a", code] for code in ("fas", "zho", "eng")]),
        np.mean([mean["c", c] for c in ("fas", "zho")]),
    ]
    assert row(made.table(), "scope=mono", "aspect, language")["mean"] == pytest.approx(np.mean(inside))


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1000))
def test_the_order_of_rows_changes_nothing(seed: int) -> None:
    made = Made()
    mixed = {
        name: getattr(made, name).sample(fraction=1, shuffle=True, seed=seed)
        for name in ("per_query", "queries", "qrels")
    }
    assert made.table(**mixed).equals(made.table())


def test_what_has_no_interval_says_why() -> None:
    sets = {
        "a": ("a", "mono", "gold", {"fas": 4, "zho": 1}),
        "b": ("b", "mono", "gold", {"fas": 4, "zho": 3}),
    }
    made = Made(sets)
    table = made.table()
    assert row(table, "language=zho, scope=mono", "aspect")["note"] == ONE_QUERY
    assert row(table, "language=fas, scope=mono", "aspect")["note"] is None
    flat = made.table(per_query=made.per_query.with_columns(value=pl.lit(0.25)))
    found = row(flat, "scope=mono", "aspect")
    assert (found["mean"], found["ci_low"], found["note"]) == (0.25, None, ALIKE)


def test_a_system_that_did_not_search_a_set_has_no_mean_over_it() -> None:
    made = Made()
    some = made.per_query.filter(~((pl.col("system") == "bm25") & (pl.col("query_set") == "theme_mono")))
    table = made.table(per_query=some)
    bm25 = table.filter(pl.col("system") == "bm25", pl.col("split") == "gold", pl.col("measure") == "nDCG@10")
    assert "theme_mono" not in bm25["query_set"].to_list()
    assert bm25.filter(pl.col("over") == "aspect")["setting"].to_list() == ["scope=cross"]
    full = made.table().filter(pl.col("system") == "e5")
    assert table.filter(pl.col("system") == "e5").equals(full)


# What is shown


def test_views_have_settings_first_and_means_over_most_last() -> None:
    made = Made()
    found = list(views(made.table(), ["nDCG@10"]))
    assert [view.place for view in found] == [("c", "poem", split, "nDCG@10") for split in ("gold", "silver")]
    gold, silver = found
    assert [shown.label for shown in gold.settings] == [
        "emotion, cross",
        "emotion, mono",
        "theme, cross",
        "theme, mono",
        "cross, mean over aspects",
        "mono, mean over aspects",
        "emotion, mean over scopes",
        "theme, mean over scopes",
        "mean over aspects and scopes",
    ]
    assert gold.overall is gold.settings[-1] and silver.overall is None
    language = gold.values["language"]
    assert language.common == "mono, mean over aspects"
    assert [shown.label for shown in language.shown] == ["fas", "zho", "mean over languages"]
    zho = language.shown[1].rows["e5"]
    assert zho["mean"] == row(made.table(), "language=zho, scope=mono", "aspect")["mean"]
    assert silver.values == {}


def test_sets_without_common_attributes_are_called_by_their_names() -> None:
    made = Made({name: ("x", "mono", "gold", {"fas": 3, "zho": 3}) for name in ("one", "two")})
    (view,) = views(made.table(), ["nDCG@10"])
    assert [shown.label for shown in view.settings] == ["x, mono, one", "x, mono, two"]
    assert len(view.values["language"].shown) == 6  # two languages and their mean, in each


def test_no_system_is_best_where_all_score_nothing() -> None:
    made = Made()
    flat = made.table(per_query=made.per_query.with_columns(value=pl.lit(0.0)))
    assert {tuple(shown.highest) for view in views(flat, MEASURES) for shown in view.settings} == {()}
    sheet = sheet_of_means(flat, MEASURES)
    assert not any(cell.best for printed in sheet.rows for cell in printed)


def test_the_sheets_of_a_paper() -> None:
    table = Made().table()
    sheet = sheet_of_means(table, MEASURES)
    assert [column.heading for column in sheet.columns][:6] == [
        *("corpus", "mode", "split", "measure", "system", "emotion, cross")
    ]
    assert len(sheet.rows) == 2 * 2 * 2  # splits, measures, systems
    silver = [printed for printed in sheet.rows if printed[2].text == "silver"]
    assert {printed[5].text for printed in silver} == {"–"}
    last = next(printed for printed in sheet.rows if printed[4].text == "e5" and printed[2].text == "gold")[-1].text
    found = row(table, "all", "aspect, scope")
    assert last.startswith(f"{found['mean']:.3f} [")
    values = sheet_of_values(table, MEASURES)
    assert [column.heading for column in values.columns][-5:] == ["means of", "value", "n", *SYSTEMS]
    assert [printed[6].text for printed in values.rows[:3]] == ["fas", "zho", "mean over languages"]


STUDY: dict[str, Any] = {
    "bootstrap": 500,
    "corpora": {"c": {"adapter": "poetrymteb", "hub": {"id": "someone/poems", "revision": "r1"}}},
    "query_sets": {
        name: {"corpora": ["c"], "poetry": {"corpus": "c", "aspect": aspect, "scope": scope, "split": split}}
        | ({"within": "language"} if scope == "mono" else {})
        for name, (aspect, scope, split, _) in SETS.items()
    },
}


def test_the_page_says_what_is_searched_and_who_judged() -> None:
    assert setting_sets(STUDY) == {name: SETS[name][2] for name in sorted(SETS)} and graded_only(STUDY)
    (within,) = searched_within(STUDY)
    assert within.startswith(
        "Each query of emotion_mono and theme_mono is searched among the poems of its language alone"
    )
    assert "Document frequencies, the number of documents and their average length" in ranked_within(STUDY)
    (judged,) = judged_elsewhere(STUDY)
    assert "c (someone/poems at r1) and were not made for this study: split gold (emotion_cross" in judged
    assert "no judgement names counts as not relevant" in measured_grades(STUDY)
    plain = {"corpora": {"c": {}}, "query_sets": {"s": {"corpora": ["c"], "path": "q.jsonl"}}}
    assert [searched_within(plain), judged_elsewhere(plain), measured_grades(plain), ranked_within(plain)] == [
        *([], [], "", "")
    ]
    assert not graded_only(plain) and setting_sets(plain) == {}


def test_sets_that_were_graded_for_the_study_have_the_attributes_of_their_queries() -> None:
    asked = {"corpora": ["c"], "path": "q.csv", "attributes": ["aspect"], "judged": "later"}
    graded_set = {"corpora": ["c"], "graded": {"of": "asked", "part": "test", "judge": "llm"}}
    assert setting_sets({"query_sets": {"asked": asked, "silver": graded_set}}) == {"asked": None, "silver": "test"}
    bare = {name: value for name, value in asked.items() if name != "attributes"}
    assert setting_sets({"query_sets": {"asked": bare, "silver": graded_set}}) == {}


def test_the_panel_names_the_highest_and_among_which_poems_a_set_is_searched() -> None:
    made = Made()
    better = made.per_query.with_columns(
        value=pl.when(pl.col("system") == "e5").then(pl.col("value") / 2 + 0.5).otherwise(pl.col("value") / 2)
    )
    scope = Scope("poem", 3, dict.fromkeys(SETS, "nDCG@10"), ["bm25"], ["e5"], [])
    panel = graded({"graded_settings": made.table(per_query=better)}, scope, STUDY["query_sets"])
    assert panel is not None and panel.brief == panel.sentences
    assert panel.sentences[0].startswith(
        "By setting, split gold, nDCG@10, mode poem: e5 has the highest mean over aspects and scopes (0."
    )
    assert panel.sentences[0].endswith("e5 is highest in each of 4 settings.")
    assert panel.sentences[1].endswith("the highest mean has e5 in theme, cross.")
    first = panel.grids[0]
    assert [column.heading for column in first.columns] == ["Setting", "Searched", "Queries", "bm25", "e5"]
    said = {cells[0].text: cells[1].text for cells in first.rows}
    assert said["emotion, mono"] == "its language" and said["emotion, cross"] == "all poems"
    assert said["mono, mean over aspects"] == ""
    assert all(cells[4].mark == "best" for cells in first.rows)
    assert graded({}, scope, {}) is None


def standing(query_set: str, state: str) -> Standing:
    scores = (Score("e5", 0.5, 0.4, 0.6), Score("bm25", 0.2, 0.1, 0.3))
    gap = Gap("bm25", state, 0.3, 0.2, 0.4, 0.01 if state == "separated" else 0.3)
    return Standing("c", query_set, "poem", "nDCG@10", 9, scores, (gap,), True)


def test_leads_on_the_settings_of_a_split_are_told_together() -> None:
    found = [standing("emotion_mono", "separated"), standing("theme_mono", "not separated"), standing("x", "separated")]
    splits = {"emotion_mono": "gold", "theme_mono": "gold"}
    assert settings_briefs(found, splits) == [
        "Queries of c, split gold, nDCG@10: e5 leads on emotion_mono; no lead is established on the others of 2."
    ]
    assert settings_briefs(found[1:2], splits) == [
        "Queries of c, split gold, nDCG@10: no lead is established on any of 1."
    ]
