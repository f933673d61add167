"""Runs measured by the subject of the query."""

import polars as pl
import pytest
from small_idioms import CROSS, DEPTH, IDIOMS, documents, in_order, questions, write_study

from verseir.analyses.subjects import NO_JUDGEMENTS, subject_means
from verseir.measures import per_query
from verseir.tables import QRELS

MEASURES = ["Rprec", "nDCG@10", "P@5", "R@12", "RR", "AP"]


def table(folder, measures=MEASURES, depth=DEPTH):
    return subject_means(folder, CROSS, measures, depth, 100, 1)


def by_subject(docs, asked):
    pairs = [(q[0], d[0], 1) for q in asked for d in docs if q[4] is not None and q[4] == d[4]]
    return pl.DataFrame(pairs, schema=dict(QRELS.columns), orient="row")


def test_means_are_those_of_judgements_by_subject(tmp_path):
    folder = write_study(tmp_path)
    docs = [row for row in documents() if row[5] in ("literal", "idiomatic")]
    run = pl.read_parquet(folder / "runs/c/lit_idiom/span/two.parquet")
    expected = per_query(run, by_subject(docs, questions()), [q[0] for q in questions()], MEASURES)
    means = dict(expected.group_by("measure").agg(pl.col("value").mean()).iter_rows())
    cell = pl.col("query_set") == "span"
    found = table(folder).filter(cell & (pl.col("mode") == "lit_idiom") & (pl.col("system") == "two"))
    assert found["n_queries"].to_list() == [8] * len(MEASURES)
    for name, mean, low, high in found.select("measure", "mean", "ci_low", "ci_high").iter_rows():
        assert mean == pytest.approx(means[name])
        assert low is None or low <= mean <= high


def test_a_list_cut_above_all_relevant_documents_reaches_the_ceiling_and_no_more(tmp_path):
    # Eight documents share a subject; lists of 3 find three of them.
    folder = write_study(tmp_path, one=in_order(lambda q, d: q[4] == d[4]))
    for path in folder.glob("runs/c/*/*/*.parquet"):
        pl.read_parquet(path).filter(pl.col("rank") <= 3).write_parquet(path)
    found = table(folder, depth=3).filter((pl.col("mode") == "full") & (pl.col("query_set") == "span"))
    ceilings = dict(found.select("measure", "ceiling").unique().iter_rows())
    assert ceilings["Rprec"] == pytest.approx(3 / 8)
    assert ceilings["P@5"] == pytest.approx(3 / 5)
    assert ceilings["R@12"] == pytest.approx(3 / 8)
    assert ceilings["RR"] == 1
    assert ceilings["nDCG@10"] < 0.75
    ideal = found.filter(pl.col("system") == "one")
    assert ideal["mean"].to_list() == pytest.approx(ideal["ceiling"].to_list())
    assert (found["mean"] <= found["ceiling"] + 1e-12).all()


def test_idiom_and_use_count_for_nothing(tmp_path):
    other = dict(zip(IDIOMS, reversed(IDIOMS), strict=True))
    swapped = [(*row[:2], other[row[2]], *row[3:]) for row in documents()]
    first, second = (table(write_study(tmp_path / name, docs=docs)) for name, docs in (("a", None), ("b", swapped)))
    assert first.equals(second)


def test_queries_without_a_subject_that_is_indexed_are_left_out(tmp_path):
    asked = questions()
    asked[0] = (*asked[0][:4], None, *asked[0][5:])
    asked[1] = (*asked[1][:4], "History", *asked[1][5:])
    found = table(write_study(tmp_path, asked=asked), ["Rprec"])
    assert found["n_queries"].to_list() == [6] * len(found)
    assert all(note.startswith("2 of 8 queries left out") or "; 2 of 8 queries" in note for note in found["note"])


def test_no_subject_at_all_leaves_no_mean(tmp_path):
    asked = [(*row[:4], None, *row[5:]) for row in questions()]
    found = table(write_study(tmp_path, asked=asked), ["Rprec", "Bpref"])
    assert found["n_queries"].to_list() == [0] * len(found)
    assert found.select("mean", "ci_low", "ci_high", "ceiling").null_count().row(0) == (len(found),) * 4
    assert all("not estimable" in note and "8 of 8" in note for note in found["note"])


def test_a_measure_of_other_judgements_is_not_made_up(tmp_path):
    names = ["Bpref", "Judged@10", "nDCG(judged_only=True)@10"]
    found = table(write_study(tmp_path), [*names, "Rprec"])
    lacking = found.filter(pl.col("measure").is_in(names))
    assert lacking["note"].unique().to_list() == [NO_JUDGEMENTS]
    assert lacking["mean"].null_count() == len(lacking) == 3 * 8
    assert found.filter(pl.col("measure") == "Rprec")["mean"].null_count() == 0
