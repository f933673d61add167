"""Edited queries against their originals, on counts whose answers are known."""

import numpy as np
import polars as pl
import pytest
from paired_study import DRAWS, asked, names, outcomes, shuffled, wording

from verseir.analyses.edited import EDIT_LENGTHS, EDITS, edit_effects, edit_lengths, edits_of
from verseir.faults import UserError
from verseir.queries.edits import REJECTS
from verseir.stats.mcnemar import mcnemar_exact
from verseir.tables import check_table


def study(before, after, gold=None, edit="rewrite", edited="edited"):
    """The originals ``set`` and an edit of the first of them; ``before``, ``after``: system -> outcomes."""
    n, m = (len(next(iter(values.values()))) for values in (before, after))
    source = asked(n, gold=gold)
    made = asked(m, query_set=edited, source=names(m), edit=edit, gold=gold and gold[:m])
    queries, qrels = (pl.concat(pair) for pair in zip(source, made, strict=True))
    ids = [f"{query}~{edit}" for query in names(m)]
    return pl.concat([outcomes(before), outcomes(after, query_set=edited, ids=ids)]), queries, qrels


def effects(per_query, queries, qrels, edited=None, rejected=None, lexical=("bm25",), fusions=()):
    edited = {"edited": "set"} if edited is None else edited
    frame = edit_effects(per_query, queries, qrels, edited, rejected or {}, ["Recall@5"], lexical, fusions, DRAWS)
    check_table(frame, EDITS, "edits")
    assert not any(frame.select(pl.col(pl.Float64).is_nan().any()).row(0))
    return frame


def only(frame, **where):
    return frame.filter(*(pl.col(name).eq_missing(value) for name, value in where.items())).row(0, named=True)


def test_the_printed_rewrites_give_the_printed_figures():
    before = {"bm25": [1] * 79 + [0] * 10, "encoder": [1] * 68 + [0] * 21}
    after = {"bm25": [1] * 51 + [0] * 28, "encoder": [1] * 50 + [0] * 29}
    frame = effects(*study(before, after))
    change = only(frame, effect="change", a="bm25")
    assert (change["n"], change["before"], change["test"]) == (79, 1.0, "McNemar exact")
    assert change["after"] == pytest.approx(0.646, abs=5e-4)
    assert change["estimate"] == pytest.approx(-28 / 79)
    assert change["p"] == pytest.approx(mcnemar_exact(0, 28))
    lead = only(frame, effect="after")
    assert lead["estimate"] == lead["after"] == pytest.approx(1 / 79)
    assert lead["before"] == pytest.approx(11 / 79)
    difference = only(frame, effect="difference of changes")
    assert difference["estimate"] == pytest.approx((-28 + 18) / 79)
    assert difference["estimate"] == pytest.approx(difference["after"] - difference["before"])
    assert difference["family_size"] == 1


def test_the_printed_half_verses_give_the_printed_figure():
    before = {"bm25": [1] * 102 + [0] * 62}
    frame = effects(*study(before, {"bm25": [1] * 164}, edit="append-opening"))
    row = only(frame, effect="change")
    assert row["estimate"] == pytest.approx(0.378, abs=5e-4)
    assert row["p"] < 1e-15
    assert set(frame["effect"]) == {"change"}


def test_pairs_are_matched_by_the_original_not_by_place():
    per_query, queries, qrels = study({"bm25": [1, 0, 0, 1]}, {"bm25": [1, 0, 0, 1]})
    frame = effects(shuffled(per_query), shuffled(queries), shuffled(qrels))
    assert only(frame, effect="change")["note"] == "alike on every query"


def three_positions(gold=None):
    parts = [
        study({"bm25": [0] * 12, "x": [1, 0] * 6}, {"bm25": column, "x": [1, 0] * 6}, gold, edit, edit)
        for edit, column in [
            ("append-opening", [1] * 12),
            ("append-middle", [1] * 9 + [0] * 3),
            ("append-final", [1] * 3 + [0] * 9),
        ]
    ]
    frames = [pl.concat(frames).unique(maintain_order=True) for frames in zip(*parts, strict=True)]
    return frames, dict.fromkeys(("append-opening", "append-middle", "append-final"), "set")


def test_positions_are_compared_on_the_same_originals():
    frames, edited = three_positions()
    rows = effects(*frames, edited=edited).filter(pl.col("effect") == "difference between positions")
    assert rows["edit"].unique().sort().to_list() == [
        "append-final vs append-middle",
        "append-final vs append-opening",
        "append-middle vs append-opening",
    ]
    row = only(rows, edit="append-middle vs append-opening", a="bm25")
    assert (row["before"], row["after"], row["estimate"]) == (1.0, 0.75, -0.25)
    assert row["p"] == pytest.approx(mcnemar_exact(0, 3))


def test_originals_that_share_a_poem_are_clusters():
    frames, edited = three_positions(gold=[f"p{i // 2}" for i in range(12)])
    rows = effects(*frames, edited=edited)
    assert all(test.endswith("by poem") for test in rows["test"])


def test_two_variants_of_one_query_are_one_cluster():
    per_query, queries, qrels = study({"bm25": [1, 0, 1, 0]}, {"bm25": [0, 0, 1, 1]}, edit="rewrite")
    again = {"~rewrite": "~rewrite-again"}
    more = [frame.with_columns(pl.col("query_id").str.replace_many(again)) for frame in (per_query, queries, qrels)]
    both = [pl.concat(pair).unique() for pair in zip((per_query, queries, qrels), more, strict=True)]
    row = only(effects(*both), effect="change")
    assert row["n"] == 8
    assert row["test"].endswith("by poem")


def test_rejects_are_counted_once_a_query():
    rows = [
        ("edited", "q7", "rewrite", "t", "long"),
        ("edited", "q7", "rewrite", "t", "name"),
        ("edited", "q8", "rewrite", "t", "long"),
    ]
    rejected = {"edited": pl.DataFrame(rows, schema=dict(REJECTS.columns), orient="row")}
    frames = study({"bm25": [1, 0]}, {"bm25": [0, 1]})
    assert effects(*frames, rejected=rejected)["n_rejected"].to_list() == [2]
    assert effects(*frames)["n_rejected"].to_list() == [None]


def test_the_source_is_looked_up_where_it_is_not_named():
    per_query, queries, qrels = study({"bm25": [1, 0]}, {"bm25": [0, 1]})
    assert effects(per_query, queries, qrels, edited={"edited": None})["source_query_set"].to_list() == ["set"]
    twin = queries.filter(pl.col("query_set") == "set").with_columns(query_set=pl.lit("twin"))
    with pytest.raises(UserError, match="set, twin"):
        edits_of(pl.concat([queries, twin]), {"edited": None}, {})
    assert edits_of(pl.concat([queries, twin]), {"edited": "set"}, {})[0].source_query_set == "set"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"bm25": [1]}, {"bm25": [0]}),
        ({"bm25": [1, 1]}, {"bm25": [1, 1]}),
        ({"x": [1, 0, 1]}, {"y": [1, 0, 1]}),
        ({"x": [1, 0, 1], "y": [0, 0, 1]}, {"x": [1, 0, 1], "y": [1, 1, 1]}),
    ],
)
def test_little_is_no_crash(before, after):
    frame = effects(*study(before, after))
    assert frame.filter(pl.col("p").is_null())["note"].str.starts_with("not estimable").all()
    if set(before) != set(after):
        assert frame.is_empty()


def test_no_edited_sets_no_originals_no_runs():
    per_query, queries, qrels = study({"bm25": [1, 0]}, {"bm25": [0, 1]})
    assert effects(per_query, queries, qrels, edited={}).is_empty()
    assert effects(per_query, queries, qrels, edited={"edited": "absent"}).is_empty()
    assert effects(per_query.clear(), queries, qrels).is_empty()
    alone = queries.filter(pl.col("query_set") == "edited")
    assert effects(per_query, alone, qrels, edited={"edited": None}).is_empty()


def test_lengths_are_over_pairs():
    _, queries, _ = study({"bm25": [1, 0, 1]}, {"bm25": [0, 1, 1]})
    ids = [f"{query}~rewrite" for query in names(3)]
    counted = pl.concat([wording([3, 3, 3], tokens=11), wording([1, 1, None], "edited", ids=ids, tokens=6)])
    again = counted.with_columns(corpus=pl.lit("another"))
    frame = edit_lengths(queries, pl.concat([counted, again]), {"edited": "set"}, {})
    check_table(frame, EDIT_LENGTHS, "lengths")
    row = frame.row(0, named=True)
    assert (row["n"], row["tokens_before"], row["tokens_after"]) == (2, 11.0, 6.0)
    assert row["note"] == "1 of 3 pairs without a target left out"
    empty = edit_lengths(queries, counted.clear(), {"edited": "set"}, {}).row(0, named=True)
    assert empty["tokens_after"] is None
    assert empty["note"].startswith("not estimable")


def test_an_edited_set_without_a_query_says_why():
    queries, _ = asked(2)
    rejects = pl.DataFrame(
        [("cut", "q0", "delete-quoted", None, "nothing remains without the quoted words")],
        schema=dict(REJECTS.columns),
        orient="row",
    )
    rejected = {"cut": rejects, "bare": rejects.clear()}
    frame = edit_lengths(queries, wording([3, 3]).clear(), {"cut": "set", "bare": "set"}, rejected)
    assert frame.sort("query_set").select("query_set", "edit", "n", "n_rejected", "note").rows() == [
        ("bare", "bare", 0, 0, "not estimable: no query was edited"),
        ("cut", "delete-quoted", 0, 1, "not estimable: no query was edited"),
    ]


def test_changes_of_a_graded_measure_are_flipped():
    rng = np.random.default_rng(0)
    frame = effects(*study({"bm25": rng.random(30)}, {"bm25": rng.random(30)}))
    assert only(frame, effect="change")["test"] == "sign-flip"
    assert frame["p_t"].null_count() == 0


def test_a_mode_that_measures_fewer_queries_has_its_own_changes():
    before, after = {"bm25": [1, 1, 0, 0], "encoder": [1, 0, 1, 0]}, {"bm25": [0, 1, 0, 0], "encoder": [1, 1, 1, 0]}
    per_query, queries, qrels = study(before, after)
    some = per_query.filter(pl.col("query_id").str.slice(0, 4).is_in(names(2)))
    frame = effects(pl.concat([per_query, some.with_columns(mode=pl.lit("some"))]), queries, qrels)
    assert only(frame, effect="change", a="bm25", mode="some")["n"] == 2
    assert only(frame, effect="change", a="bm25", mode="some")["before"] == 1.0
    assert frame.filter(pl.col("mode") == "verse").equals(effects(per_query, queries, qrels))
