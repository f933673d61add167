"""What the analyses of idiom benchmarks read, and the verbs that write their tables."""

import json

import numpy as np
import polars as pl
import pytest
from small_idioms import CROSS, DEPTH, PLACES, documents, questions, write_study

from verseir.__main__ import main
from verseir.analyses.confusion import CONFUSION, confusions
from verseir.analyses.idiom_data import IDIOM_DATA, idiom_data
from verseir.analyses.idiom_overlap import IDIOM_OVERLAP, idiom_overlap
from verseir.analyses.idioms import NAMES, estimates, read_cells, read_documents, read_queries, read_runs, read_texts
from verseir.analyses.string_match import STRING_MATCH, string_match
from verseir.analyses.subjects import SUBJECTS, subject_means
from verseir.faults import UserError
from verseir.tables import read_table

MEASURES = ["Rprec", "nDCG@3", "RR", "Bpref"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("study"))


def test_attributes_become_columns(study):
    found = read_documents(study, "c")
    assert found.columns == ["poem_id", *NAMES]
    row = found.filter(pl.col("poem_id") == "d013").row(0, named=True)
    assert row == {
        "poem_id": "d013",
        "idiom": "cold feet",
        "usage": "sense",
        "subject": "Food",
        "span": "doubt",
        "quality": "silver",
    }
    queries, qrels = read_queries(study, "span")
    assert queries["query_id"].to_list() == sorted(row[0] for row in questions())
    assert queries["span"].to_list()[0] == "Cold Feet"
    assert len(qrels) == 4 * 2 + 4 * 6


def test_texts_are_those_of_the_documents(study):
    assert dict(read_texts(study, "c").iter_rows()) == {row[0]: row[1] for row in documents()}


def test_a_document_without_a_use_is_told(tmp_path):
    rows = documents()
    rows[3] = (*rows[3][:5], None, rows[3][6])
    study = write_study(tmp_path, docs=rows)
    with pytest.raises(UserError, match="'d003' has no attribute 'usage'"):
        read_documents(study, "c")


def test_a_query_without_attributes_is_told(tmp_path):
    study = write_study(tmp_path)
    path = study / "queries" / "span.attributes.parquet"
    known = pl.read_parquet(path)
    known.filter(pl.col("query_id") != "q00_lit").write_parquet(path)
    with pytest.raises(UserError, match="'q00_lit' has no attribute 'idiom'"):
        read_queries(study, "span")


def test_a_cell_holds_what_its_mode_indexes(study):
    cells = {cell.name: cell for cell in read_cells(study, PLACES)}
    assert list(cells) == sorted(tuple(place) for place in PLACES)
    some = cells["c", "span", "lit_idiom"]
    assert set(some.documents["usage"]) == {"literal", "idiomatic"}
    assert set(some.qrels["poem_id"]) == set(some.documents["poem_id"])
    assert some.clusters(some.queries["query_id"].to_list()).tolist() == [0] * 4 + [1] * 4


def test_runs_come_with_their_cell(study):
    found = [(cell.name, [system for system, _ in ranked]) for cell, ranked in read_runs(study, CROSS)]
    assert found == [(tuple(place), ["one", "two"]) for place in sorted(PLACES)]


def test_an_estimate_that_is_not_there_says_why():
    alike, none = estimates(np.full((4, 1), 0.5), None, 50, 1), estimates(np.empty((0, 2)), None, 50, 1)
    assert alike == [(0.5, None, None, "interval not estimable: every query scores alike")]
    assert [one.mean for one in none] == [None, None]
    assert none[0].note.startswith("not estimable")
    assert estimates(np.array([[0.2], [0.4]]), np.array([0, 0]), 50, 1)[0].note.endswith("two independent queries")
    crossed = estimates(np.array([[0.2], [0.4], [0.4], [0.2]]), np.array([0, 0, 1, 1]), 50, 1)
    assert crossed[0].note == "interval not estimable: every idiom scores alike"


CALLS = {
    "compare_subjects": (
        ["--cross", json.dumps(CROSS), "--measures", *MEASURES, "--depth", str(DEPTH)],
        SUBJECTS,
        lambda folder: subject_means(folder, CROSS, MEASURES, DEPTH, 200, 3),
    ),
    "count_confusions": (
        ["--cross", json.dumps(CROSS)],
        CONFUSION,
        lambda folder: confusions(folder, CROSS, 200, 3),
    ),
    "match_strings": (
        ["--places", json.dumps(PLACES), "--measures", *MEASURES],
        STRING_MATCH,
        lambda folder: string_match(folder, PLACES, MEASURES, 200, 3),
    ),
    "describe_idioms": (
        ["--corpora", json.dumps({"c": "span"})],
        IDIOM_DATA,
        lambda folder: idiom_data(folder, {"c": "span"}),
    ),
    "measure_idiom_overlap": (
        ["--corpora", json.dumps({"c": "span"})],
        IDIOM_OVERLAP,
        lambda folder: idiom_overlap(folder, {"c": "span"}, 200, 3),
    ),
}


@pytest.mark.parametrize("verb", CALLS)
def test_each_verb_writes_its_table_whatever_the_order_of_the_rows(verb, study, tmp_path):
    options, contract, table = CALLS[verb]
    drawn = [] if verb == "describe_idioms" else ["--resamples", "200", "--seed", "3"]
    shuffled = write_study(tmp_path / "study", shuffle=5)
    written = []
    for number, folder in enumerate((study, shuffled)):
        output = tmp_path / f"{number}.csv"
        assert main([verb, "--results", str(folder), *options, *drawn, "--output", str(output)]) == 0
        written.append(output.read_bytes())
    assert written[0] == written[1]
    found = read_table(tmp_path / "0.csv", contract)
    assert len(found) > 0
    exact = pl.exclude(pl.Float64)
    assert found.select(exact).equals(table(study).select(list(contract.columns)).select(exact))
    assert found.sort(list(contract.unique)).equals(found)
    for column in found.select(pl.col(pl.Float64)):
        assert not column.is_nan().any()
