"""The part of the report on query sets that the study graded itself."""

import polars as pl

from verseir.judging.labels import LABELS
from verseir.report.graded import judged_here
from verseir.report.labels import labels
from verseir.report.spoken import graded_only, shown_sets

ROW = {
    "query_set": "train",
    "corpus": "demo",
    "parent": "emotion",
    "part": "train",
    "source": "judge",
    "labelled_by": "llm",
    "n_queries": 8,
    "n_left_out": 1,
    "n_unscored": 2,
    "note": None,
}


def table(*rows):
    return pl.DataFrame(rows, schema=dict(LABELS.columns))


def test_each_set_has_a_row_with_its_grades_and_a_sentence_that_counts_them():
    train = [ROW | {"grade": grade, "n_pairs": n} for grade, n in enumerate([90, 6, 3, 1])]
    gold = [
        ROW | {"query_set": "gold", "part": "all", "source": "people", "labelled_by": "readers", "grade": grade}
        | {"n_queries": 1, "n_left_out": 0, "n_unscored": 0, "n_pairs": n}
        for grade, n in enumerate([0, 5])
    ]  # fmt: skip
    panel = labels({"labels": table(*train, *gold)})
    [grid] = panel.grids
    assert [column.heading for column in grid.columns if column.heading.startswith("Grade ")] == [
        f"Grade {grade}" for grade in range(4)
    ]
    assert [[cell.text for cell in row] for row in grid.rows] == [
        ["train", "emotion", "train", "llm", "8", "1", "90", "6", "3", "1", "2"],
        ["gold", "emotion", "all", "readers", "1", "0", "0", "5", "", "", "0"],
    ]
    assert panel.sentences == [
        "train (emotion, part train): 8 queries, graded by the judge llm; 10 of 100 judged pairs (10.0%) have a grade "
        "above 0; left out: 1 query without a grade above 0 and 2 items without a grade.",
        "gold (emotion): 1 query, graded by people on the sheet readers; 5 of 5 judged pairs (100.0%) have a grade "
        "above 0.",
    ]


def test_a_study_that_grades_nothing_has_no_such_part():
    assert labels({}) is None
    assert labels({"labels": table()}) is None


def test_queries_that_the_study_graded_are_told_of_and_their_source_is_ranked_nowhere():
    study = {
        "query_sets": {
            "emotion": {"corpora": ["demo"], "purpose": "thematic", "judged": "later", "split": {"gold": 3}},
            "train": {"corpora": ["demo"], "graded": {"of": "emotion", "part": "train", "judge": "llm"}},
            "gold": {"corpora": ["demo"], "graded": {"of": "emotion", "part": "gold", "sheet": "people"}},
            "unsearched": {"corpora": [], "graded": {"of": "other", "judge": "llm"}},
        }
    }
    assert shown_sets(study) == ["gold", "train", "unsearched"]
    assert graded_only(study)
    assert not graded_only({"query_sets": study["query_sets"] | {"known": {"corpora": ["demo"]}}})
    assert judged_here(study) == [
        "The queries of gold (part gold, graded by people on the sheet people) and train (part train, graded by the "
        "judge llm) are those of emotion, whose results were pooled and graded in this study; emotion itself, of which "
        "only the poems are known that its file names, is ranked nowhere on this page. Queries of the part gold are in "
        "the part test too."
    ]
