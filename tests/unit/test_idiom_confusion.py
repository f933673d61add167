"""What stands in the top R of each list."""

import polars as pl
import pytest
from small_idioms import CROSS, documents, in_order, questions, ranked, relevant, table, write_study

from verseir.analyses.confusion import confusions
from verseir.faults import UserError
from verseir.measures import per_query
from verseir.tables import QRELS

RUN_KEY = ["corpus", "query_set", "mode", "system", "usage"]


def shares(found, **where):
    for column, value in where.items():
        found = found.filter(pl.col(column) == value)
    return {(row["idiom"], row["found"]): row["share"] for row in found.iter_rows(named=True)}


@pytest.mark.parametrize("seed", range(5))
def test_shares_add_up_to_one_and_those_of_relevant_kinds_to_r_precision(tmp_path, seed):
    # Lists of three may end before R.
    short = lambda q, d: ranked([x[0] for x in q], [x[0] for x in d], seed, depth=3)  # noqa: E731
    folder = write_study(tmp_path, one=short)
    found = confusions(folder, CROSS, 100, 1)
    sums = found.group_by(RUN_KEY).agg(pl.col("share").sum(), hit=pl.col("share").filter("relevant").sum())
    assert len(sums) == 2 * 2 * 2 * 2
    assert sums["share"].to_list() == pytest.approx([1] * len(sums))
    for row in sums.iter_rows(named=True):
        kept = documents()
        if row["mode"] == "lit_idiom":
            kept = [d for d in kept if d[5] in ("literal", "idiomatic")]
        asked = [q for q in questions() if q[5] == row["usage"]]
        run = pl.read_parquet(folder / f"runs/c/{row['mode']}/{row['query_set']}/{row['system']}.parquet")
        values = per_query(run, table(relevant(kept, asked), QRELS), [q[0] for q in asked], ["Rprec"])
        assert row["hit"] == pytest.approx(values["value"].mean())


def test_each_kind_is_told_apart(tmp_path):
    same_idiom = in_order(lambda q, d: q[2] == d[2])
    other_idiom = in_order(lambda q, d: q[2] != d[2])
    found = confusions(write_study(tmp_path, one=same_idiom, two=other_idiom), CROSS, 100, 1)
    place = {"query_set": "span", "mode": "full"}
    # Documents stand by their number: of each idiom d.00, d.01 ... whose uses are literal, idiomatic, ...
    literal = shares(found, system="one", usage="literal", **place)
    assert literal["same", "literal"] == literal["same", "idiomatic"] == 0.5
    assert sum(literal.values()) == 1
    idiomatic = shares(found, system="one", usage="idiomatic", **place)
    assert idiomatic["same", "literal"] == pytest.approx(2 / 6)
    assert idiomatic["same", "sense"] == pytest.approx(1 / 6)
    away = shares(found, system="two", usage="literal", **place)
    assert away["other", "literal"] == away["other", "idiomatic"] == 0.5
    assert set(literal) == set(away)
    assert len(literal) == 2 * 4 + 1


def test_a_kind_that_is_not_indexed_has_no_row_and_r_is_that_of_the_index(tmp_path):
    found = confusions(write_study(tmp_path, one=in_order(lambda q, d: q[2] == d[2])), CROSS, 100, 1)
    some = shares(found, system="one", usage="idiomatic", mode="lit_idiom", query_set="span")
    assert set(some) == {(i, u) for i in ("same", "other") for u in ("literal", "idiomatic")} | {("none", None)}
    # Two idiomatic documents are relevant here; the first two of the idiom are one literal and one idiomatic.
    assert some["same", "idiomatic"] == some["same", "literal"] == 0.5


def test_relevant_kinds_follow_the_use_of_the_query(tmp_path):
    found = confusions(write_study(tmp_path), CROSS, 100, 1)
    for usage, kinds in {"literal": {"literal"}, "idiomatic": {"idiomatic", "sense", "simplification"}}.items():
        rows = found.filter((pl.col("usage") == usage) & pl.col("relevant") & (pl.col("mode") == "full"))
        assert set(rows["idiom"]) == {"same"}
        assert set(rows["found"]) == kinds


def test_an_empty_run_leaves_all_places_empty(tmp_path):
    empty = lambda q, d: ranked([], [], 0)  # noqa: E731
    found = confusions(write_study(tmp_path, one=empty), CROSS, 100, 1).filter(pl.col("system") == "one")
    none = found.filter(pl.col("idiom") == "none")
    assert none["share"].to_list() == [1] * len(none)
    assert found["share"].sum() == len(none)


def test_a_query_without_a_relevant_document_is_counted_as_empty_and_told(tmp_path):
    folder = write_study(tmp_path)
    for path in folder.glob("queries/*.qrels.parquet"):
        pl.read_parquet(path).filter(pl.col("query_id") != "q00_lit").write_parquet(path)
    cross = CROSS | {"modes": {"c": ["full"]}}
    found = confusions(folder, cross, 100, 1).filter(pl.col("usage") == "literal")
    assert all("1 of 4 queries have no relevant document" in note for note in found["note"])
    assert found.filter(pl.col("idiom") == "none")["share"].to_list() == [0.25] * 4


def test_a_document_that_is_not_indexed_is_refused(tmp_path):
    every = [row[0] for row in documents()]
    folder = write_study(tmp_path, two=lambda q, d: ranked([x[0] for x in q], every, 1, depth=16))
    with pytest.raises(UserError, match=r"c/lit_idiom/sentence/two holds 'd0"):
        confusions(folder, CROSS, 100, 1)


def test_intervals_are_over_idioms(tmp_path):
    """Queries of one idiom are one cluster: two idioms that score apart leave an interval from one to the other."""
    sure = in_order(lambda q, d: (q[2] == d[2] and (q[5] == "literal") == (d[5] == "literal")) == (q[2] < "d"))
    found = confusions(write_study(tmp_path, one=sure), CROSS, 400, 1)
    row = found.filter(
        (pl.col("system") == "one")
        & (pl.col("usage") == "literal")
        & (pl.col("found") == "literal")
        & (pl.col("idiom") == "same")
        & (pl.col("mode") == "full")
        & (pl.col("query_set") == "span")
    ).row(0, named=True)
    assert row["share"] == 0.5
    assert (row["ci_low"], row["ci_high"]) == (0, 1)
