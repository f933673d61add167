"""Indexing modes against the base mode."""

import numpy as np
import polars as pl
import pytest
from paired_study import DRAWS, asked, outcomes, shuffled, wording

from verseir.analyses.augmentation import (
    AUGMENTATION,
    AUGMENTATION_BY_QUOTATION,
    augmentation,
    augmentation_by_quotation,
)
from verseir.analyses.paired import cells
from verseir.stats.mcnemar import mcnemar_exact
from verseir.tables import check_table


def measured(modes, registers=None, gold=None, base="verse"):
    """AUGMENTATION of ``modes``: mode -> system -> outcomes."""
    per_query = pl.concat([outcomes(values, mode=mode) for mode, values in modes.items()])
    n = per_query["query_id"].n_unique()
    frame = augmentation(per_query, *asked(n, registers=registers, gold=gold), base, ["Recall@5"], DRAWS)
    check_table(frame, AUGMENTATION, "augmentation")
    assert not any(frame.select(pl.col(pl.Float64).is_nan().any()).row(0))
    return frame


def test_the_printed_loss_comes_out():
    base, explained = [1] * 182 + [0] * 62, [1] * 87 + [0] * 157
    row = measured({"verse": {"bm25": base}, "explanation": {"bm25": explained}}).row(0, named=True)
    assert (row["register"], row["mode"], row["base_mode"], row["n"]) == ("all", "explanation", "verse", 244)
    assert row["base_mean"] == pytest.approx(0.746, abs=5e-4)
    assert row["mean"] == pytest.approx(0.357, abs=5e-4)
    assert row["estimate"] == pytest.approx(-95 / 244)
    assert row["p"] == pytest.approx(mcnemar_exact(0, 95))


def test_each_register_of_a_mixed_set_is_measured_alone():
    modes = {"verse": {"x": [1, 1, 0, 0, 0]}, "explanation": {"x": [0, 0, 1, 1, 0]}}
    frame = measured(modes, ["quoting"] * 2 + ["abstract"] * 2 + [None])
    assert dict(frame.select("register", "estimate").iter_rows()) == {"all": 0.0, "abstract": 1.0, "quoting": -1.0}
    assert frame["family"].n_unique() == 3


def test_a_set_of_one_register_is_tested_once():
    modes = {"verse": {"x": [1, 0]}, "explanation": {"x": [0, 1]}}
    assert measured(modes, ["abstract"] * 2)["register"].to_list() == ["all"]


def test_systems_of_one_mode_are_a_family_and_the_order_is_of_no_matter():
    rng = np.random.default_rng(0)
    modes = {mode: {s: rng.integers(0, 2, 30).tolist() for s in "xyz"} for mode in ("verse", "ai", "fof")}
    frame = measured(modes)
    assert frame["family_size"].unique().to_list() == [3]
    assert frame["family"].n_unique() == 2
    per_query = pl.concat([outcomes(values, mode=mode) for mode, values in modes.items()])
    judged = (shuffled(part) for part in asked(30))
    assert augmentation(shuffled(per_query), *judged, "verse", ["Recall@5"], DRAWS).equals(frame)


@pytest.mark.parametrize(
    "modes",
    [
        {"verse": {"x": [1, 0]}},
        {"explanation": {"x": [1, 0]}},
        {"verse": {"x": [1, 0]}, "explanation": {"y": [1, 0]}},
    ],
)
def test_nothing_to_compare_is_an_empty_table(modes):
    assert measured(modes).is_empty()
    per_query = pl.concat([outcomes(values, mode=mode) for mode, values in modes.items()])
    frame = augmentation_by_quotation(per_query, *asked(2), wording([3, 1]), "verse", 3, ["Recall@5"], DRAWS)
    assert frame.is_empty()


def test_one_query_and_no_change_say_so():
    one = measured({"verse": {"x": [1]}, "explanation": {"x": [0]}}).row(0, named=True)
    assert one["p"] is None
    assert one["note"].startswith("not estimable")
    same = measured({"verse": {"x": [1, 0]}, "explanation": {"x": [1, 0]}}).row(0, named=True)
    assert (same["p"], same["note"]) == (1.0, "alike on every query")


def by_quotation(modes, runs, gold=None):
    per_query = pl.concat([outcomes(values, mode=mode) for mode, values in modes.items()])
    judged = asked(len(runs), gold=gold)
    frame = augmentation_by_quotation(per_query, *judged, wording(runs), "verse", 3, ["Recall@5"], DRAWS)
    check_table(frame, AUGMENTATION_BY_QUOTATION, "by quotation")
    assert not any(frame.select(pl.col(pl.Float64).is_nan().any()).row(0))
    return frame.row(0, named=True)


def test_quoting_queries_lose_what_others_win():
    modes = {"verse": {"x": [1] * 20 + [0] * 20}, "explanation": {"x": [0] * 15 + [1] * 5 + [1] * 15 + [0] * 5}}
    row = by_quotation(modes, [4] * 20 + [1] * 20)
    assert (row["change_quoting"], row["change_not_quoting"], row["estimate"]) == (-0.75, 0.75, -1.5)
    assert row["test"] == "Welch t"
    assert row["p"] < 0.001
    clustered = by_quotation(modes, [4] * 20 + [1] * 20, gold=[f"p{i // 2}" for i in range(40)])
    assert clustered["test"] == "cluster-robust t"


@pytest.mark.parametrize(
    ("runs", "why"), [([None] * 3, "no query has a target"), ([1, 1, 1], "no query quotes"), ([3, 3, 1], "only one")]
)
def test_an_empty_stratum_says_so(runs, why):
    row = by_quotation({"verse": {"x": [1, 0, 1]}, "explanation": {"x": [0, 1, 1]}}, runs)
    assert row["p"] is None
    assert why in row["note"]


KEPT = {"some": {"genre": ["praise"]}, "same": {"genre": ["praise"]}}


def of_both_tables(keep, base):
    """The modes that each of the two tables compares with ``base``."""
    modes = {mode: {"x": [1, 0, 1, 0]} for mode in ("verse", "prose", "some", "same")}
    per_query = pl.concat([outcomes(values, mode=mode) for mode, values in modes.items()])
    tables = (
        augmentation(per_query, *asked(4), base, ["Recall@5"], DRAWS, keep),
        augmentation_by_quotation(per_query, *asked(4), wording([3, 3, 1, 1]), base, 3, ["Recall@5"], DRAWS, keep),
    )
    return [table["mode"].to_list() for table in tables]


def test_modes_of_other_poems_are_not_compared():
    assert of_both_tables(KEPT, "verse") == [["prose"]] * 2
    assert of_both_tables(KEPT, "some") == [["same"]] * 2
    assert of_both_tables(KEPT | {"same": {"genre": ["satire"]}}, "some") == [[]] * 2
    assert of_both_tables(None, "verse") == [["prose", "same", "some"]] * 2


def test_a_query_that_a_mode_has_no_answer_to_is_no_miss_there():
    """Of a set that is judged later a mode of some poems measures fewer queries."""
    whole = outcomes({"x": [1, 1, 0, 0], "bm25": [0, 1, 1, 0]})
    some = outcomes({"x": [1, 1], "bm25": [0, 1]}, mode="some")
    found = list(cells(pl.concat([whole, some]), *asked(4), ["Recall@5"]))
    assert [(cell.modes(), len(cell.query_ids)) for cell in found] == [(["some"], 2), (["verse"], 4)]
    assert found[0].of("some", "x", "Recall@5").mean() == 1.0
    assert [cell.modes() for cell in cells(whole, *asked(4), ["Recall@5"])] == [["verse"]]
