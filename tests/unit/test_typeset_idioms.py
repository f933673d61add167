"""Tables of a paper on an idiom benchmark: whose numbers stand where, and LaTeX that is well formed."""

import csv
import json
import re

import polars as pl
import pytest
from idiom_study import CONTRACTS, MANY, MEASURES, MODES, SETS, SYSTEMS, idiom_tables, level, unknown
from typeset_study import assert_well_formed, said

from verseir.__main__ import main
from verseir.tables import write_table
from verseir.typeset.idioms import MISSING, PAGE_ROWS, Tables, ablation, data, overlap, variants, zero_shot
from verseir.typeset.latex import latex

MATCHES = ["string match, annotated", "string match, verbatim"]


def of(tables):
    return Tables(tables["leaderboard"], tables["strata"], tables["subjects"], tables["string_match"])


@pytest.fixture(scope="module")
def tables():
    return idiom_tables()


def sheets(tables, sets=SETS, modes=MODES):
    yield zero_shot(of(tables), sets, "full", MEASURES)
    yield from (variants(of(tables), name, "full", MEASURES) for name in sets)
    yield from (ablation(of(tables), name, modes, MEASURES) for name in sets)
    yield overlap(tables["idiom_overlap"], sets)
    yield data(tables["idiom_data"])


def well_formed(sheet):
    """A label may hold an underscore: TeX prints none of it."""
    text = latex(sheet)
    assert_well_formed(re.sub(r"\\label\{[^}]*\}", "", text))
    return text


@pytest.mark.parametrize("systems", [SYSTEMS, MANY, ["drama-1b"]])
def test_latex_is_well_formed(systems):
    for sheet in sheets(idiom_tables(systems)):
        assert sheet.rows, sheet.name
        assert sheet.name in well_formed(sheet)


def test_zero_shot_has_the_query_sets_in_the_order_that_is_given(tables):
    sheet = zero_shot(of(tables), SETS, "full", MEASURES)
    assert [column.heading for column in sheet.columns] == ["corpus", "measure", "system", *SETS]
    rows = {(row[1], row[2]): row[3:] for row in said(sheet)}
    assert list(rows) == [(m, name) for m in ("R-Precision", "nDCG@10") for name in [*SYSTEMS, *MATCHES]]
    assert rows["R-Precision", "drama-1b"][0] == "0.2758 [0.2458, 0.3058] *"
    assert rows["R-Precision", "bm25-okapi"][2:] == [MISSING] * 2  # it follows no instruction
    assert rows["nDCG@10", MATCHES[0]] == ["0.5000 [0.4900, 0.5100]"] * 4  # higher, and no system: not bold
    for system in SYSTEMS:
        for place, query_set in enumerate(SETS):
            shown = rows["nDCG@10", system][place]
            if shown != MISSING:
                assert shown.startswith(f"{level(system, query_set, 'full', 'nDCG@10'):.4f} [")


def test_variants_have_uses_in_order_and_the_ceiling_of_subjects(tables):
    sheet = variants(of(tables), "span", "full", MEASURES)
    assert [column.heading for column in sheet.columns[3:]] == [
        *("overall", "literal", "idiomatic", "by subject", "at most"),
    ]
    rows = {(row[1], row[2]): row[3:] for row in said(sheet)}
    mean = level("bm25-okapi", "span", "full", "Rprec")
    bm25 = [cell.split(" ")[0] for cell in rows["R-Precision", "bm25-okapi"]]
    assert bm25 == [f"{mean:.4f}", f"{mean + 0.1:.4f}", f"{mean - 0.1:.4f}", "0.0600", "0.1333"]
    assert rows["nDCG@10", "drama-1b"][-1] == "1.0000"
    assert rows["R-Precision", MATCHES[0]][1:] == ["0.6667 [0.6567, 0.6767]", "0.3333 [0.3233, 0.3433]", *[MISSING] * 2]


def test_ablation_shows_each_query_set_its_own_row_of_bm25(tables):
    """The tables of the original print the row of sentences in all four."""
    found = {}
    for query_set in SETS:
        rows = {(row[1], row[2], row[3]): row[4:] for row in said(ablation(of(tables), query_set, MODES, MEASURES))}
        found[query_set] = {key: row for key, row in rows.items() if key[2] == "bm25-okapi"}
        assert {key[1] for key in rows} == {"all", "literal", "idiomatic"}
        assert ("R-Precision", "all", MATCHES[0]) in rows
    assert not found["instruction_span"] and not found["instruction_sentence"]
    assert found["sentence"].keys() == found["span"].keys()
    for key, row in found["span"].items():
        expected = [
            level("bm25-okapi", "span", mode, "Rprec" if key[0] == "R-Precision" else key[0], key[1]) for mode in MODES
        ]
        assert [cell.split(" ")[0] for cell in row] == [f"{value:.4f}" for value in expected]


def test_a_table_that_no_page_holds_is_parted():
    many = idiom_tables(MANY)
    sheet = ablation(of(many), "sentence", MODES, MEASURES)
    assert (sheet.parts, sheet.blocks) == (3, 0)  # by corpus, measure and use of the query
    text = latex(sheet)
    assert text.count(r"\begin{tabular}") == 6
    assert max(part.count(r"\\") for part in text.split(r"\end{tabular}")) <= PAGE_ROWS
    assert (zero_shot(of(many), SETS, "full", MEASURES).parts, len(MANY)) == (1, 27)
    few = ablation(of(idiom_tables()), "sentence", MODES, MEASURES)
    assert (few.parts, few.blocks) == (1, 2)


def test_overlap_and_data(tables):
    sheet = overlap(tables["idiom_overlap"], SETS)
    assert [column.heading for column in sheet.columns[4:]] == [
        *("jaccard", "jaccard, without spans", "query recall", "query recall, without spans"),
    ]
    rows = said(sheet)
    assert [row[1:3] for row in rows[:4]] == [["all", "all"], ["literal", "all"], ["literal"] * 2, ["idiomatic", "all"]]
    assert rows[0][3:5] == ["20", "0.1200 [0.1100, 0.1300]"]
    other = tables["idiom_overlap"].with_columns(corpus=pl.lit("val"), query_set=pl.lit("val_span"))
    assert len(overlap(pl.concat([tables["idiom_overlap"], other]), SETS).rows) == 2 * len(rows)
    more = tables["idiom_overlap"].with_columns(query_set=pl.lit("span"))
    twice = overlap(pl.concat([tables["idiom_overlap"], more]), SETS)  # which set a row is of is told where it matters
    assert [column.heading for column in twice.columns[:3]] == ["corpus", "query set", "queries"]
    assert list(dict.fromkeys(row[1] for row in said(twice))) == ["sentence", "span"]
    held = said(data(tables["idiom_data"]))
    assert [row[2] for row in held[:5]] == ["all", "literal", "idiomatic", "simplification", "sense"]
    assert held[0] == ["test", "documents", "all", "40", "2", "5", "3", "10", "16.32", "32", "3.06", "7"]


def test_what_is_not_known_is_said_and_no_mean_is_made_up(tables):
    for sheet in sheets(unknown(tables)):
        well_formed(sheet)
        assert not any(cell.best for row in sheet.rows for cell in row)
        if sheet.name != "table-idioms-data":
            assert "not estimable: one idiom alone" in sheet.notes
            numbers = [cell.text for row in sheet.rows for cell in row if re.match(r"\d\.\d", cell.text)]
            assert not numbers, sheet.name


def test_tables_without_rows_say_why(tables):
    empty = {name: frame.clear() for name, frame in tables.items()}
    for sheet in sheets(empty):
        assert not sheet.rows and sheet.notes[0].startswith("not estimable: ")
        well_formed(sheet)
    assert "in the mode other" in zero_shot(of(tables), SETS, "other", MEASURES).notes[0]


def test_several_corpora_are_tables_of_their_own(tables):
    twice = {
        name: pl.concat([frame, frame.filter(pl.col("corpus") == "test").with_columns(corpus=pl.lit("dev"))])
        for name, frame in tables.items()
    }
    sheet = zero_shot(of(twice), SETS, "full", MEASURES)
    assert list(dict.fromkeys(row[0].text for row in sheet.rows)) == ["dev", "test"]
    assert latex(sheet).count(r"\begin{table*}") == 2
    assert sum(cell.best for row in sheet.rows for cell in row) == 2 * sum(
        cell.best for row in zero_shot(of(tables), SETS, "full", MEASURES).rows for cell in row
    )


@pytest.mark.parametrize("given", ["strata", "subjects", "string_match", "idiom_overlap", "idiom_data"])
def test_the_verb_writes_every_table_without_one_of_its_inputs(given, tables, tmp_path):
    options = {"strata": "strata", "subjects": "subjects", "string_match": "string-match"}
    options |= {"idiom_overlap": "overlap", "idiom_data": "data", "leaderboard": "leaderboard"}
    arguments = []
    for name, option in options.items():
        if name != given:
            write_table(tables[name], tmp_path / f"{name}.csv", CONTRACTS[name][0])
            arguments += [f"--{option}", str(tmp_path / f"{name}.csv")]
    arguments += ["--query-sets", json.dumps(SETS), "--modes", *MODES, "--base-mode", "full", "--measures", *MEASURES]
    arguments += ["--systems", *SYSTEMS[:2]]
    assert main(["typeset_idioms", *arguments, "--output", str(tmp_path / "paper")]) == 0
    names = ["zero-shot", "overlap", "data", *(f"{kind}-{name}" for kind in ("variants", "ablation") for name in SETS)]
    assert {path.name for path in (tmp_path / "paper").iterdir()} == {
        f"table-idioms-{name}.{suffix}" for name in names for suffix in ("csv", "tex")
    }
    rows = list(csv.reader((tmp_path / "paper" / "table-idioms-zero-shot.csv").open(encoding="utf-8")))
    assert rows[0] == ["corpus", "measure", "system", *SETS] and {len(row) for row in rows} == {7}
    written = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "paper").iterdir())
    assert SYSTEMS[0] in written and SYSTEMS[2] not in written  # what was not asked for is not shown
