"""The part of the report on an idiom benchmark: who is above string match, on what, and what cannot be said."""

import re

import polars as pl
import pytest
from idiom_study import MANY, MODES, SETS, SYSTEMS, idiom_spec, idiom_tables, level, unknown, write_idiom_study
from report_study import frame, study
from test_report_page import page_of

from verseir.analyses.published import PUBLISHED
from verseir.analyses.strata import STRATA
from verseir.report.deployment import published
from verseir.report.idiom_scores import ABOVE, BELOW, LEVEL, levels_said, scored, spread, stand, uses_said
from verseir.report.idiom_settings import data
from verseir.report.idiom_settings import settings as idiom_settings
from verseir.report.idioms import LIMITS, QUESTION, confusion, idioms
from verseir.report.question import asked
from verseir.report.reading import read_shown
from verseir.report.settings import settings
from verseir.report.spoken import compares_settings, has_strata, idiom_sets, repeating, set_order
from verseir.report.wording import Scope
from verseir.tables import write_table

SCOPE = Scope("full", 3, dict.fromkeys([*SETS, "val_span"], "nDCG@10"), ["bm25-okapi"], [], [])
REGISTRY = {name: {"kind": "dense", "description": name} for name in MANY} | {"bm25-okapi": {"kind": "bm25"}}
PANELS = {
    "idioms": lambda tables, sets=SETS: idioms(tables, SCOPE, sets),
    "confusion": lambda tables, sets=SETS: confusion(tables, SCOPE, sets),
    "settings": lambda tables, sets=SETS: idiom_settings(tables, SCOPE, sets),
    "data": lambda tables, sets=SETS: data(tables),
}


@pytest.fixture(scope="module")
def tables():
    return idiom_tables()


def text_of(grid):
    return [[cell.text for cell in row] for row in grid.rows]


def mean(value, low, high):
    return {"system": "one", "mean": value, "ci_low": low, "ci_high": high, "note": None}


@pytest.mark.parametrize(
    ("row", "bar", "expected"),
    [
        (mean(0.6, 0.55, 0.65), mean(0.5, 0.46, 0.54), ABOVE),
        (mean(0.6, 0.53, 0.65), mean(0.5, 0.46, 0.54), LEVEL),  # above it in the mean is not enough
        (mean(0.4, 0.35, 0.45), mean(0.5, 0.46, 0.54), BELOW),
        (mean(0.6, 0.55, 0.65), mean(0.5, None, None), ABOVE),
        (mean(0.6, None, None), mean(0.5, 0.46, 0.54), ""),
        (mean(None, None, None), mean(0.5, 0.46, 0.54), ""),
        (mean(0.6, 0.55, 0.65), mean(None, None, None), ""),
        (mean(0.6, 0.55, 0.65), None, ""),
    ],
)
def test_above_needs_the_interval(row, bar, expected):
    assert stand(row, bar) == expected


def test_query_sets_go_from_the_sentence_to_the_instructed_span():
    spec = idiom_spec()
    assert idiom_sets(spec) == SETS  # val_span is searched nowhere
    assert idiom_sets(spec | {"query_sets": dict(reversed(spec["query_sets"].items()))}) == SETS
    assert idiom_sets(study()) == [] and not has_strata(study())
    assert has_strata(spec) and compares_settings(spec) and not compares_settings(study())


def test_levels_are_told_for_all_queries_and_by_use():
    tables = idiom_tables(MANY)
    said = levels_said(scored(tables, SCOPE, SETS), ("test", "span", "full"))
    at = {
        usage: [level(name, "span", "full", "nDCG@10", usage) for name in MANY]
        for usage in ("all", "literal", "idiomatic")
    }
    above = {
        usage: sum(value - 0.03 > bar + 0.01 for value in at[usage])
        for usage, bar in (("all", 0.5), ("literal", 0.6667), ("idiomatic", 0.3333))
    }
    assert said.startswith("span on test, mode full (nDCG@10): finding the idiom’s words and nothing else scores 0.5")
    assert f"of 27 systems {above['all']} lie above it" in said
    assert f"On literal queries it scores 0.667, and {above['literal']} of 27 lie above it" in said
    assert f"on idiomatic queries it scores 0.333, and {above['idiomatic']} of 27 lie above it" in said
    assert 0 < above["literal"] < above["idiomatic"]
    assert f"on both, {above['literal']} systems" in said
    assert "not told apart" in said


def test_a_system_that_prefers_literal_uses_is_not_above_on_both(tables):
    """Over all queries it may pass the level; on idiomatic ones it fails."""
    biased = tables["strata"].with_columns(
        *(
            pl.when(pl.col("value") == "literal").then(high).otherwise(low).alias(column)
            for column, high, low in (("mean", 0.99, 0.05), ("ci_low", 0.98, 0.04), ("ci_high", 1.0, 0.06))
        )
    )
    said = levels_said(scored(tables | {"strata": biased}, SCOPE, SETS), ("test", "span", "full"))
    assert (
        "and 3 of 3 lie above it; on idiomatic queries it scores 0.333, and 0 of 3 lie above it; on both, none." in said
    )
    panel = idioms(tables | {"strata": biased}, SCOPE, SETS)
    assert "no system on span" in panel.brief[0]


def test_uses_are_compared_system_by_system(tables):
    scores = scored(tables, SCOPE, SETS)
    said = uses_said(scores, ("test", "sentence", "full"))
    assert "3 of 3 systems score higher on literal ones, 3 with intervals that do not overlap" in said
    assert "Literal ones score 0.450 (all-minilm-l6-v2) to 0.476 (drama-1b)" in said
    one = scored(idiom_tables(["drama-1b"]), SCOPE, SETS)
    said = uses_said(one, ("test", "sentence", "full"))
    assert "drama-1b scores 0.476" in said and "systems" not in said
    assert "drama-1b lies below it" in levels_said(one, ("test", "sentence", "full"))


def test_spread_names_both_ends_unless_they_are_one():
    assert spread([("b", 0.5), ("a", 0.25)]) == "0.250 (a) to 0.500 (b)"
    assert spread([("b", 0.5), ("a", 0.5)]) == "0.500" == spread([("a", 0.5)])


def test_zero_shot_has_string_match_and_marks_the_best_system(tables):
    panel = idioms(tables, SCOPE, SETS)
    assert panel.sentences[0] == QUESTION and panel.lede == LIMITS
    grid = panel.grids[0]
    assert [column.heading for column in grid.columns] == ["System", *SETS]
    rows = {row[0].text: row[1:] for row in grid.rows}
    assert list(rows) == [*SYSTEMS, "string match, annotated", "string match, verbatim"]
    assert [cell.text for cell in rows["bm25-okapi"]][2:] == ["not searched"] * 2
    assert [cell.mark for cell in rows["drama-1b"]] == ["best"] * 4  # string match is higher, and no system
    assert not any(cell.mark for name, row in rows.items() if name != "drama-1b" for cell in row)
    stands = {(row[0], row[1]): row[2:] for row in text_of(panel.grids[1])}
    assert stands["drama-1b", "instruction_span"][1::2] == [LEVEL, BELOW, ABOVE]
    reach = [sentence for sentence in panel.sentences if sentence.startswith("By shared subject alone, span")]
    assert len(reach) == 1 and reach[0].endswith(
        "Rprec 0.060, where lists of this length reach 0.133 at most; nDCG@10 0.400."
    )


def test_confusion_tells_uses_apart(tables):
    panel = confusion(tables, SCOPE, SETS)
    assert panel.figure == "idioms-confusion" and len(panel.sentences) == 2 * len(SETS)
    low, high = (100 * level(name, "span", "full", "Rprec", "literal") for name in ("all-minilm-l6-v2", "drama-1b"))
    said = next(sentence for sentence in panel.sentences if sentence.startswith("Top R of literal queries, span"))
    assert f"relevant {low:.1f}% (all-minilm-l6-v2) to {high:.1f}% (drama-1b)" in said
    row = next(row for row in panel.grids[0].rows if [cell.text for cell in row[:3]] == ["drama-1b", "span", "literal"])
    assert row[3].sort == pytest.approx(level("drama-1b", "span", "full", "Rprec", "literal"))
    assert sum(cell.sort for cell in row[3:]) == pytest.approx(1)
    assert row[3].small and not row[4].small  # one use has an interval, a sum of three has none


def test_settings_tell_what_survives_correction(tables):
    panel = settings(tables, SCOPE, SETS)
    assert panel.sentences[0].startswith("span against sentence, mode full on test (nDCG@10): of 3 systems")
    assert "1 scores higher (all-minilm-l6-v2) and 1 scores lower (drama-1b) after Holm" in panel.sentences[0]
    assert [told.partition(" against ")[0] for told in panel.sentences[:3]] == SETS[1:]
    assert sum(" against full, " in told for told in panel.sentences) == 2 * len(SETS)
    rows = tables["setting_contrasts"].to_dicts()
    shown = [sum(row["mode"] == "full" for row in rows), sum(row["setting"] == "mode" for row in rows)]
    assert [len(grid.rows) for grid in panel.grids] == shown
    assert [[column.heading for column in grid.columns[:4]] for grid in panel.grids] == [
        ["System", "a", "b", "Mode"],
        ["System", "a", "b", "Query set"],
    ]
    one = {"setting_contrasts": tables["setting_contrasts"].filter(pl.col("system") == "drama-1b")}
    assert (
        "drama-1b alone scores lower after Holm’s correction; difference −0.060."
        in settings(one, SCOPE, SETS).sentences[0]
    )
    noted = {"setting_contrasts": tables["setting_contrasts"].with_columns(note=pl.lit("other relevant documents"))}
    assert all(grid.caption.endswith("; other relevant documents") for grid in settings(noted, SCOPE, SETS).grids)
    weak = {"setting_contrasts": tables["setting_contrasts"].with_columns(p_holm=pl.lit(0.2))}
    assert "of 3 systems none differs after Holm’s correction" in settings(weak, SCOPE, SETS).sentences[0]
    other = {"setting_contrasts": tables["setting_contrasts"].with_columns(measure=pl.lit("MRR"))}
    assert "No two ways" in settings(other, SCOPE, SETS).sentences[0]
    assert settings({}, SCOPE, SETS) is None


def test_filtered_indexes_have_levels_of_their_own(tables):
    panel = idiom_settings(tables, SCOPE, SETS)
    assert len(panel.sentences) == 2 * len(SETS) and panel.lede
    assert {told.partition(", mode ")[2].split(" ")[0] for told in panel.sentences} == set(MODES) - {"full"}
    modes = ["full", "lit_idiom", "lit_sim_sense"]
    assert [column.heading for column in panel.grids[0].columns] == ["System", "Query set", "Queries", *modes]
    rows = text_of(panel.grids[0])
    assert ["string match, annotated", "span", "literal", "0.667", "0.667", "0.667"] in rows
    alone = idiom_settings(idiom_tables(["drama-1b"], ["span"], ["full"]), SCOPE, ["span"])
    assert alone.sentences == ["One mode was searched, full: what leaving texts out does cannot be seen."]
    assert alone.lede == ""


def test_data_are_counted_and_overlap_is_told(tables):
    panel = data(tables)
    assert panel.sentences[0] == (
        "test: 40 documents (10 literal, 10 idiomatic, 10 simplification, 10 sense) and 20 queries (10 literal, 10 "
        "idiomatic) on 2 idioms; people checked 7.5% of the documents and 15.0% of the queries."
    )
    assert panel.sentences[-1].endswith(
        "of literal queries 0.210, 0.120 without the spans; of idiomatic queries 0.210, 0.120 without the spans."
    )


@pytest.mark.parametrize("name", PANELS)
def test_nothing_known_is_said_and_nothing_made_up(name, tables):
    panel = PANELS[name](unknown(tables))
    said = " ".join(panel.sentences)
    if name != "data":
        assert "not estimable: one idiom alone" in said and not any("0." in s for s in panel.sentences)
        assert not any(cell.mark for grid in panel.grids for row in grid.rows for cell in row)
    empty = PANELS[name]({key: frame.clear() for key, frame in tables.items()})
    assert len(empty.sentences) == 1 and empty.sentences[0].startswith("Not estimable: ") and not empty.grids


@pytest.mark.parametrize("systems", [SYSTEMS, ["drama-1b"]])
def test_the_page_has_the_panels_first(systems, tmp_path):
    spec = idiom_spec(systems)
    results = write_idiom_study(tmp_path / "idioms", spec, idiom_tables(systems))
    markup, page = page_of(results, spec, {name: REGISTRY[name] for name in systems})
    assert page.wrong == [] and page.open == []
    places = [
        markup.index(f'<section id="{name}"') for name in ("leaderboard", "idioms", "idiom-confusion", "idiom-settings")
    ]
    assert places == sorted(places) < [markup.index('<section id="contrasts"')] * 4
    assert "Above what finding an idiom’s words scores" in page.words
    assert "What cannot be concluded: that use is understood" in page.words
    assert "every query set against sentence" in page.words or len(systems) == 1
    for name in ("strata", "string_match", "confusion", "setting_contrasts", "idiom_data", "idiom_overlap"):
        assert f"../tables/{name}.csv" in markup


def test_other_studies_have_no_such_panel_and_read_no_such_table(tmp_path):
    from report_study import write_study

    results = write_study(tmp_path / "small")
    markup, _ = page_of(results)
    assert 'id="idioms"' not in markup and "string match" not in markup


def test_the_page_without_families_of_settings_or_strata(tmp_path):
    spec = idiom_spec(contrasts=[])
    for query_set in spec["query_sets"].values():
        query_set["strata"] = []
    tables = {name: frame for name, frame in idiom_tables().items() if name not in ("strata", "setting_contrasts")}
    results = write_idiom_study(tmp_path / "idioms", spec, tables)
    markup, page = page_of(results, spec, REGISTRY)
    assert "../tables/strata.csv" not in markup and 'id="settings"' not in markup
    assert "Literal against idiomatic queries, sentence on test, mode full (Rprec): not estimable." in page.words


def test_the_question_is_of_idioms_and_says_what_is_indexed(tables):
    spec = idiom_spec()
    audits = [{"corpus": "test", "n_poems": 40}]
    told = asked(spec, tables["leaderboard"], audits)
    assert told[0].startswith("How well do 3 systems") and "what a query means by an idiom" in told[0]
    assert "Searched: test (40 documents)." in told[1] and "val_span" not in told[1]
    assert "lit_idiom (literal and idiomatic alone)" in told[1]
    with_poems = spec | {"query_sets": spec["query_sets"] | study()["query_sets"]}
    assert (
        "find poems"
        in asked(with_poems | {"corpora": {"poems": {}, **spec["corpora"]}}, tables["leaderboard"], audits)[0]
    )


def test_verdicts_are_counted_in_order_and_ties_are_explained():
    row = {"source": "s", "place": "p", "quantity": "q", "unit": "share", "published": ".4741", "computed": 0.47}
    rows = [row | {"id": str(n), "difference": -0.0041, "verdict": verdict, "note": None}
            for n, verdict in enumerate(["fail", "tied", "ok", "tied"])]  # fmt: skip
    panel = published({"published": pl.DataFrame(rows)})
    assert panel.sentences == ["Of 4 printed figures: 1 ok, 2 tied and 1 fail."]
    assert panel.lede.startswith("Tied: ")
    assert {row[4].text for row in panel.grids[0].rows} == {"0.4700"}  # as many decimals as are printed
    assert published({"published": pl.DataFrame(rows[:1])}).lede == ""


def test_computed_counts_are_whole():
    row = {"source": "s", "place": "p", "quantity": "q", "unit": "count", "verdict": "ok", "note": None}
    rows = [
        row | {"id": "a", "published": "22", "computed": 22.0, "difference": 0.0},
        row | {"id": "b", "published": "2200", "computed": 2200.0, "difference": 0.0},
        row | {"id": "c", "published": "40", "computed": 40.0, "difference": 0.0, "unit": "percent"},
    ]
    assert [cells[4].text for cells in published({"published": pl.DataFrame(rows)}).grids[0].rows] == [
        "22",
        "2,200",
        "40",
    ]


POEMS = ("registers", "wording", "quotation", "edits", "mechanism", "models", "augmentation", "fusion")
POEMS += ("normalisation", "protocols", "sameness", "checks")


def test_a_page_of_idioms_alone_has_no_part_about_poems(tmp_path):
    spec = idiom_spec()
    markup, page = page_of(write_idiom_study(tmp_path / "idioms", spec), spec, REGISTRY)
    assert not [name for name in POEMS if f'id="{name}"' in markup or f'href="#{name}"' in markup]
    assert "What the register does" not in page.words and "What the Query Remembers" not in page.words
    said = page.words.partition("The whole manifest")[0]
    assert "Documents and duplicates" in said and not re.search(r"\b(a|the|of|tied) poems?\b", said, re.IGNORECASE)


def test_a_page_of_idioms_and_poems_has_all_parts(tmp_path):
    sets = idiom_spec()["query_sets"] | {"known": {"corpora": ["test"], "purpose": "known-item", "judged": "now"}}
    spec = idiom_spec(query_sets=sets)
    markup, page = page_of(write_idiom_study(tmp_path / "both", spec), spec, REGISTRY)
    assert [name for name in POEMS if f'<section id="{name}"' not in markup or f'href="#{name}"' not in markup] == []
    assert "What the register does" in page.words and "What the Query Remembers" in page.words
    assert "Poems and duplicates" in page.words


def test_query_sets_stand_in_the_order_of_their_reading(tmp_path):
    spec = idiom_spec()
    markup, _ = page_of(write_idiom_study(tmp_path / "idioms", spec), spec, REGISTRY)
    board = markup[markup.index('<section id="leaderboard"') :]
    places = [board.index(f'aria-label="Leaderboard of {name}, test"') for name in SETS]
    assert places == sorted(places)
    ties = markup[markup.index('<section id="ties"') : markup.index('<section id="costs"')]
    assert [ties.index(f"<td>{name}</td>") for name in SETS] == sorted(ties.index(f"<td>{name}</td>") for name in SETS)
    led = markup[markup.index("Who leads on") :]
    assert [led.index(f"Who leads on {name}, test") for name in SETS] == sorted(
        led.index(f"Who leads on {name}, test") for name in SETS
    )
    order = set_order(spec | {"query_sets": spec["query_sets"] | {"zz": {"corpora": ["test"]}}})
    assert sorted([*SETS, "zz", "val_span"], key=order) == ["val_span", "zz", *SETS]


def test_what_repeats_published_figures_is_shown_beside_them_alone(tmp_path):
    old = "drama-1b"
    entries = {name: REGISTRY[name] for name in SYSTEMS}
    entries[old] = entries[old] | {"as_published": True}
    spec = idiom_spec(analyses={**idiom_spec()["analyses"], "published": {"file": "p.yaml", "names": {}}})
    results = write_idiom_study(tmp_path / "idioms", spec)
    row = {"source": "s", "id": "a", "place": "p", "quantity": f"nDCG@10 of {old}", "unit": "share"}
    row |= {"published": ".47", "computed": 0.47, "difference": 0.0, "verdict": "ok"}
    write_table(frame(PUBLISHED, [row]), results / "tables" / "published.csv", PUBLISHED)
    markup, page = page_of(results, spec, entries)
    parts = re.split(r'(?=<section id="([a-z-]+)")', markup[: markup.index("The whole manifest")])
    assert [name for name, part in zip(parts[1::2], parts[2::2], strict=True) if old in part] == [
        "published",
        "methods",
    ]
    assert f"Systems. {old} repeats a defect or an order of ties" in page.words
    assert "How well do 2 systems (all-minilm-l6-v2 and bm25-okapi)" in page.words
    shown = read_shown(results / "tables", STRATA, [old])
    assert old not in shown["system"] and set(shown["system"]) == set(SYSTEMS) - {old}
    every = {name: entry | {"as_published": True} for name, entry in entries.items()}
    assert repeating(spec, every) == []  # a study of nothing else shows it
