"""What is shared, found and shown, by language and wording, on made-up pairs."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from verseir.analyses.found_by_language import FOUND_BY_LANGUAGE, Pool, found_by_language
from verseir.analyses.found_by_wording import FOUND_BY_WORDING, GAP, RHO, RHO_BY_GRADE, Side, found_by_wording
from verseir.analyses.found_model import CONTAINMENT, FOUND_MODEL, GRADE, found_models
from verseir.analyses.paired import Draws
from verseir.analyses.shared_pairs import ALL, LANGUAGE, NONE, OTHER, SAME, SCRIPT, SHARES, pair_sets
from verseir.analyses.shared_wording import SHARED_WORDING, shared_wording
from verseir.figures.languages import plot_languages
from verseir.report.languages import languages
from verseir.report.wording import Scope
from verseir.shared import SHARED
from verseir.tables import QRELS, QUERIES, check_table

N, K = 12, 2
LANGUAGES = ("ar", "zh")


def shared(wording=True, two=True):
    """Each query has two Arabic and two Chinese poems; it shares words with the first of each where ``wording``."""
    rows = []
    for q in range(N):
        for i in range(4):
            language = LANGUAGES[i // 2] if two else "ar"
            script = {"ar": "Arabic", "zh": "Han"}[language]
            n = (1 + q % 3) * (i % 2 == 0) * wording
            names = ("c", "verse", "set", f"q{q:02d}", f"p{q:02d}{i}")
            scripts = ("Han", script, script == "Han")
            rows.append((*names, (3, 1, 2, 0)[i], language, *scripts, 4, n, n / 4, min(n, 1), None))
    return pl.DataFrame(rows, schema=dict(SHARED.columns), orient="row")


def asked(pairs):
    ids = pairs["query_id"].unique().sort().to_list()
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in QUERIES.columns.items()]
    queries = (
        pl.DataFrame({"query_id": ids}).with_columns(absent[1:]).with_columns(query_set=pl.lit("set"), text=pl.lit("t"))
    )
    qrels = pairs.select(list(QRELS.columns)).with_columns(query_set=pl.lit("set"))
    return queries.select(list(QUERIES.columns)), qrels


def first():
    """Words finds what shares a word in two of three queries; ``meaning`` shows Arabic poems alone."""
    lists = {"words": (0, 2), "meaning": (0, 1)}
    names = {
        name: [(f"q{q:02d}", f"p{q:02d}{i}") for q in range(N) for i in places if q % 3]
        for name, places in lists.items()
    }
    return {name: pl.DataFrame(rows, schema=["query_id", "poem_id"], orient="row") for name, rows in names.items()}


def by_language(pairs):
    queries, qrels = asked(pairs)
    poems = pairs.select("poem_id", "language", "script").unique().sort("poem_id")
    sets = [(one, first()) for one in pair_sets(pairs, queries, qrels)]
    return found_by_language(sets, lambda one: Pool(poems), lambda one: True, {"set": K}, 199, 1)


def by_wording(pairs):
    queries, qrels = asked(pairs)
    (one,) = pair_sets(pairs, queries, qrels)
    values = {"words": {f"q{q:02d}": q % 3 / 2 for q in range(N)}, "meaning": {f"q{q:02d}": q / N for q in range(N)}}
    side = Side(one, first(), values, "nDCG@10", K)
    return found_by_wording([side], ["words"], [], Draws(199, 999, 1)), found_models([side], [])


def row(table, **where):
    (found,) = table.filter(*(pl.col(name).eq_missing(pl.lit(value)) for name, value in where.items())).to_dicts()
    return found


def test_means_over_pairs_by_language_and_grade():
    pairs = shared()
    table = check_table(shared_wording(pairs, *asked(pairs), 199, 1), SHARED_WORDING, "table")
    every = row(table, attribute=ALL, grade="relevant")
    relevant = pairs.filter(pl.col("grade") > 0)
    assert every["n_pairs"] == len(relevant) == 3 * N
    assert every["containment"] == pytest.approx(relevant["containment"].mean())
    assert every["shares_none"] == pytest.approx(1 / 3)
    assert every["containment_low"] < every["containment"] < every["containment_high"]
    assert row(table, attribute=LANGUAGE, value="zh", grade="0")["shares_none"] == 1.0
    assert row(table, attribute=SCRIPT, value=OTHER, grade="relevant")["n_pairs"] == 2 * N
    assert table.equals(shared_wording(pairs.sample(fraction=1, shuffle=True, seed=3), *asked(pairs), 199, 1))


def test_what_is_found_and_what_is_shown():
    table = check_table(by_language(shared()), FOUND_BY_LANGUAGE, "table")
    words = row(table, system="words", attribute=ALL, wording=ALL)
    assert (words["n_relevant"], words["n_found"]) == (3 * N, 2 * N * 2 // 3)
    assert row(table, system="words", attribute=ALL, wording=SHARES)["found"] == pytest.approx(2 / 3)
    assert row(table, system="words", attribute=ALL, wording=NONE)["found"] == 0.0
    arabic = row(table, system="meaning", attribute=LANGUAGE, value="ar", wording=ALL)
    assert (arabic["corpus_share"], arabic["shown_share"], arabic["preference"]) == (0.5, 1.0, 2.0)
    assert 1 < arabic["preference_low"] < arabic["preference_high"] == 2.0
    assert arabic["relevant_share"] == pytest.approx(2 / 3)
    assert math.isclose(row(table, system="words", attribute=LANGUAGE, value="zh", wording=ALL)["preference"], 1.0)
    same = row(table, system="meaning", attribute=SCRIPT, value=SAME, wording=ALL)
    assert (same["preference"], same["n_found"]) == (0.0, 0)


def test_a_set_that_is_searched_within_a_language_has_no_preference_of_its_own():
    pairs = shared()
    queries, qrels = asked(pairs)
    poems = pairs.select("poem_id", "language", "script").unique().sort("poem_id")
    group_of = {f"q{q:02d}": "ar" for q in range(N)}
    pool = Pool(poems, poems["language"].to_list(), group_of, "language")
    sets = [(one, first()) for one in pair_sets(pairs, queries, qrels)]
    table = found_by_language(sets, lambda one: pool, lambda one: False, {"set": K}, 99, 1)
    arabic = row(table, system="meaning", attribute=LANGUAGE, value="ar", wording=ALL)
    assert (arabic["corpus_share"], arabic["preference"]) == (1.0, 1.0)
    assert "searched within language" in arabic["note"]
    assert set(table["wording"]) == {ALL}


def test_finding_hangs_on_words_for_one_system_more():
    table = check_table(by_wording(shared())[0], FOUND_BY_WORDING, "table")
    gap = row(table, quantity=GAP, a="words", b=None)
    assert gap["n"] == N
    assert gap["estimate"] == pytest.approx(2 / 3)
    assert 0 < gap["p"] <= gap["p_holm"] < 0.05
    pair = row(table, quantity=GAP, a="words", b="meaning")
    other = row(table, quantity=GAP, a="meaning", b=None)
    assert pair["estimate"] == pytest.approx(gap["estimate"] - other["estimate"])
    assert row(table, quantity=RHO, a="words", b=None)["estimate"] == pytest.approx(1.0)
    assert {pair["family_size"], gap["family_size"]} == {1, 2}
    assert set(table["quantity"]) == {GAP, RHO, RHO_BY_GRADE}


def test_where_no_word_is_shared_nothing_is_estimated_and_the_note_says_why():
    table, models = by_wording(shared(wording=False))
    assert models.filter(term=CONTAINMENT)["estimate"].null_count() == 4
    assert models.filter(term=CONTAINMENT)["note"].str.starts_with("not estimable").all()
    assert table["estimate"].null_count() == table["p"].null_count() == len(table)
    assert table["note"].str.starts_with("not estimable").all()
    assert set(table.filter(pl.col("quantity") == RHO)["note"]) == {
        "not estimable: no query shares a word with its relevant poems"
    }


def test_a_model_that_its_columns_separate_has_no_estimates_and_another_has_signs_as_made():
    models = check_table(by_wording(shared())[1], FOUND_MODEL, "table")
    words = models.filter(system="words")
    assert words["estimate"].null_count() == len(words)  # nothing that shares no word is found
    assert words["note"].str.contains("separated").all()
    rng, pairs = np.random.default_rng(1), shared()
    queries, qrels = asked(pairs)
    (one,) = pair_sets(pairs, queries, qrels)
    seen = pairs.filter(pl.Series(rng.random(len(pairs)) < 0.15 + 0.25 * pairs["n_shared"].to_numpy()))
    side = Side(one, {"drawn": seen.select("query_id", "poem_id")}, {}, "nDCG@10", K)
    drawn = found_models([side], [])
    assert row(drawn, term=CONTAINMENT, kind="conditional")["estimate"] > 0
    assert row(drawn, term=GRADE, kind="marginal")["n_pairs"] == 3 * N
    assert drawn.equals(
        found_models([side._replace(first={"drawn": seen.reverse().select("query_id", "poem_id")})], [])
    )


def panel(pairs):
    tables = {"shared_wording": shared_wording(pairs, *asked(pairs), 199, 1)}
    tables |= dict(zip(("found_by_wording", "found_model"), by_wording(pairs), strict=True))
    tables |= {"found_by_language": by_language(pairs)}
    return languages(tables, Scope("verse", 3, {}, ["words"], ["meaning"], []))


def test_the_page_says_what_the_tables_say():
    found = panel(shared())
    said = " ".join(found.sentences)
    assert "50.0%" not in said
    assert "33.3% of 36 relevant pairs share no word" in said
    assert "meaning shows poems more in ar (× 2.00)" in said
    assert "those that share a word with it are found at another rate" in said
    assert [grid.caption.split(",")[0] for grid in found.grids][1] == "Relevant poems found"
    none = panel(shared(wording=False))
    assert none.sentences[0] == "No query of set on c shares a word with a poem that answers it (36 relevant pairs)."
    assert any("not estimable" in sentence for sentence in none.sentences)


def test_a_study_of_one_language_shows_the_wording_alone():
    pairs = shared(two=False)
    table = by_language(pairs)
    assert set(table["attribute"]) == {ALL}
    found = panel(pairs)
    assert not any("by language and script" in grid.caption for grid in found.grids)
    assert languages({}, Scope("verse", 3, {}, [], [], [])) is None


def test_the_figure_holds_a_number_for_each_system_and_kind():
    figure = plot_languages(by_language(shared()), "verse")
    (axes,) = figure.subfigs[0].axes
    headings = [tick.get_text() for tick in axes.get_xticklabels()]
    assert headings == ["all", SHARES, NONE, "same script", "other script", "ar", "zh"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["meaning", "words"]
    assert [text.get_text() for text in axes.texts][-7:] == ["44", "67", "0", "67", "33", "33", "67"]
    empty = pl.DataFrame(schema=dict(FOUND_BY_LANGUAGE.columns))
    assert plot_languages(empty, "verse").texts[0].get_text().startswith("There is nothing to plot")


def test_findings_of_many_sets_are_told_once_with_the_sets_that_they_hold_of():
    def of_sets(frame):
        """The same table for five sets."""
        return pl.concat([frame.with_columns(query_set=pl.lit(f"set-{number}")) for number in range(1, 6)])

    def tables_of(pairs):
        found = {"shared_wording": shared_wording(pairs, *asked(pairs), 199, 1)}
        found |= dict(zip(("found_by_wording", "found_model"), by_wording(pairs), strict=True))
        found |= {"found_by_language": by_language(pairs)}
        return {name: of_sets(frame) for name, frame in found.items()}

    scope = Scope("verse", 3, {}, ["words"], ["meaning"], [])
    worded, silent = tables_of(shared()), tables_of(shared(wording=False))
    panel = languages(worded, scope)
    carried, *told = panel.sentences
    assert carried.startswith("Of 5 query sets, from ")
    assert carried.endswith("and from 33.3% to 33.3% of relevant pairs share no word.")
    assert "words on set-1 +0.667, set-2 +0.667, set-3 +0.667 and 2 more" in " ".join(told)
    assert "meaning shows more poems in ar (on 5 of 5 sets, × 2.00)" in " ".join(told)
    assert panel.brief == [told[0]]
    assert len(panel.sentences) < 10
    none = languages(silent, scope).sentences
    assert none[0] == "No query of any of 5 query sets shares a word with a poem that answers it."
    assert sum("(on 5 of 5 sets this is not estimable)" in sentence for sentence in none) == 3
    mixed = {name: pl.concat([worded[name], silent[name].filter(query_set="set-5")]) for name in worded}
    mixed = {
        name: frame.filter((pl.col("query_set") != "set-5") | pl.Series(range(len(frame))).ge(len(worded[name])))
        for name, frame in mixed.items()
    }
    assert "; on 1 set all of them." in languages(mixed, scope).sentences[0]
