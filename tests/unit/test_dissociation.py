"""Whether two protocols put the same systems first: small studies whose orders are built in."""

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from verseir.__main__ import main
from verseir.analyses.dissociation import DISSOCIATION, RANK_MOVES, dissociation, judged_measure
from verseir.analyses.paired import Draws
from verseir.analyses.thematic_scores import JUDGED_PER_QUERY
from verseir.stats.rank_orders import resampled_means, tau_interval
from verseir.stats.resampled_orders import move_interval, places
from verseir.tables import PER_QUERY, QRELS, QUERIES, check_table, read_table, write_table

MEASURES = {"known": "Recall@5", "themes": "nDCG@10"}
DRAWS = Draws(499, 999, 1)
TEN = {f"s{i}": i for i in range(9)} | {"words": 9}
LAST = {f"s{i}": i for i in range(9)} | {"words": -1}
NO_JUDGE = pl.DataFrame(schema=dict(JUDGED_PER_QUERY.columns))


def per_query_of(values, mode="verse"):
    """PER_QUERY of {query set: {system: values by query}}, with rows of another measure that must not count."""
    rows = []
    for query_set, by_system in values.items():
        for system, outcomes in by_system.items():
            for i, value in enumerate(outcomes):
                rows.append(("c", mode, query_set, system, f"{query_set}-{i:02}", MEASURES[query_set], float(value)))
                rows.append(("c", mode, query_set, system, f"{query_set}-{i:02}", "MAP", 0.5))
    return pl.DataFrame(rows, schema=dict(PER_QUERY.columns), orient="row")


def means_study(known, thematic, n=4):
    """PER_QUERY of systems whose means are given, in twentieths, on one known-item and one thematic set."""
    sides = {"known": known, "themes": thematic}
    return per_query_of({name: {s: [mean / 20] * n for s, mean in means.items()} for name, means in sides.items()})


def judged_of(by_judge, aspect="overall", mode="verse"):
    """JUDGED_PER_QUERY of {judge: {system: scores by query}}."""
    rows = [
        ("c", mode, "themes", system, f"themes-{i:02}", judge, aspect, score, 5, 0)
        for judge, by_system in by_judge.items()
        for system, scores in by_system.items()
        for i, score in enumerate(scores)
    ]
    return pl.DataFrame(rows, schema=dict(JUDGED_PER_QUERY.columns), orient="row")


def asked(gold, per_query):
    """QUERIES and QRELS of the queries of a study; ``gold``: query -> poem, each its own where it names none."""
    ids = sorted(set(per_query.select("query_set", "query_id").iter_rows()))
    rows = [(query, query_set, "t", *[None] * 5) for query_set, query in ids]
    queries = pl.DataFrame(rows, schema=dict(QUERIES.columns), orient="row")
    judged = [(query, gold.get(query, f"poem of {query}"), 1, query_set) for query_set, query in ids]
    return queries, pl.DataFrame(judged, schema={**QRELS.columns, "query_set": pl.String}, orient="row")


def related(per_query, judged=NO_JUDGE, systems=(), gold=None, draws=DRAWS):
    judged_ids = judged.select("query_set", "query_id")
    queries, qrels = asked(gold or {}, pl.concat([per_query.select("query_set", "query_id"), judged_ids]))
    found = dissociation(per_query, judged, queries, qrels, ["known"], ["themes"], MEASURES, systems, draws)
    tests, moves = (
        check_table(frame, table, "test") for frame, table in zip(found, (DISSOCIATION, RANK_MOVES), strict=True)
    )
    return tests, moves


@pytest.fixture(scope="module")
def noisy():
    """Four systems, 30 known-item and 20 thematic queries with real noise."""
    rng = np.random.default_rng(3)
    names = ["a", "b", "c", "words"]
    known = {
        name: (rng.random(30) < rate).astype(float) for name, rate in zip(names, (0.3, 0.5, 0.6, 0.8), strict=True)
    }
    themes = {name: rng.random(20) + shift for name, shift in zip(names, (0, 0.1, 0.2, -0.3), strict=True)}
    return per_query_of({"known": known, "themes": themes})


def whole(tests, **where):
    return tests.filter(pl.col("left_out").is_null(), **where).row(0, named=True)


def test_one_system_that_falls_from_first_to_last():
    tests, moves = related(means_study(TEN, LAST))
    row = whole(tests)
    assert row["tau"] == pytest.approx((36 - 9) / 45)
    assert row["p"] == pytest.approx(stats.kendalltau([*range(10)], [*range(1, 10), 0], method="exact").pvalue)
    assert (row["test"], row["n_systems"]) == ("Kendall tau-b, exact", 10)
    assert (row["measure_known_item"], row["measure_thematic"]) == ("Recall@5", "nDCG@10")
    without = {row["left_out"]: row for row in tests.iter_rows(named=True) if row["left_out"]}
    assert len(without) == 10
    assert without["words"]["tau"] == 1
    assert without["s0"]["tau"] < 1
    assert row["family_size"] == 1
    assert without["s0"]["family_size"] == 10
    moved = {row["system"]: row for row in moves.iter_rows(named=True)}
    assert (moved["words"]["rank_known_item"], moved["words"]["rank_thematic"], moved["words"]["move"]) == (1, 10, 9)
    assert {moved[f"s{i}"]["move"] for i in range(9)} == {-1}


def test_tied_means_share_a_rank_and_are_permuted():
    tests, moves = related(means_study({"a": 3, "b": 3, "c": 1, "d": 0}, {"a": 3, "b": 2, "c": 1, "d": 0}))
    assert tests["test"][0] == "Kendall tau-b, all permutations"
    assert moves.filter(pl.col("system") == "a")["rank_known_item"].to_list() == [1.5]
    assert 0 < tests["p"][0] <= 1


def test_too_few_systems_and_equal_means_are_not_estimable():
    tests, moves = related(means_study({"a": 3, "b": 1}, {"a": 3, "b": 2}))
    assert tests["note"].to_list() == ["not estimable: fewer than three systems"]
    assert tests["tau"].to_list() == [None]
    assert len(moves) == 2
    tests, _ = related(means_study({"a": 3, "b": 3, "c": 3}, {"a": 3, "b": 2, "c": 1}))
    assert whole(tests)["note"] == "not estimable: all systems have one mean on the known-item side"
    assert tests.filter(pl.col("left_out").is_not_null())["note"].null_count() == 0
    tests, _ = related(means_study({"a": 3, "b": 2, "c": 1}, {"a": 3, "b": 3, "c": 3}))
    assert whole(tests)["note"] == "not estimable: all systems have one mean on the thematic side"
    tests, _ = related(means_study({"a": 2, "b": 2, "c": 2}, {"a": 3, "b": 3, "c": 3}))
    assert whole(tests)["note"] == "not estimable: all systems have one mean on both sides"


def test_means_that_no_resample_moves_have_no_interval_and_say_so():
    tests, moves = related(means_study(TEN, LAST))
    for frame, low, high in ((tests, "ci_low", "ci_high"), (moves, "move_low", "move_high")):
        assert frame[low].null_count() == frame[high].null_count() == len(frame)
        assert set(frame["note"]) == {"interval not estimable: no resample of queries moves a mean on both sides"}


@pytest.mark.parametrize("side", ["known", "themes"])
def test_a_side_of_one_query_or_without_variation_leaves_no_interval(noisy, side):
    named = {"known": "known-item", "themes": "thematic"}[side]
    one = noisy.filter((pl.col("query_set") != side) | pl.col("query_id").str.ends_with("-00"))
    # All systems must differ on that query, else its order is all ties.
    one = one.with_columns(value=pl.col("value") + pl.col("system").rank("dense") * 2)
    even = noisy.with_columns(
        value=pl.when(query_set=side).then(pl.col("value").mean().over("query_set", "system")).otherwise("value")
    )
    for study, why in ((one, "fewer than two independent queries"), (even, "no resample of queries moves a mean")):
        for frame, low in zip(related(study), ("ci_low", "move_low"), strict=True):
            assert frame[low].null_count() == len(frame)
            assert set(frame["note"]) == {f"interval not estimable: {why} on the {named} side"}


def test_queries_of_one_poem_are_one(noisy):
    tests, moves = related(noisy, gold={f"known-{i:02}": "p" for i in range(30)})
    for frame in (tests, moves):
        assert set(frame["note"]) == {
            "interval not estimable: fewer than two independent queries on the known-item side"
        }


def test_an_order_that_no_resample_changes_has_no_interval():
    rng = np.random.default_rng(1)
    levels = {"a": 0.0, "b": 2.0, "c": 4.0}
    study = per_query_of(
        {name: {system: level + rng.random(9) for system, level in levels.items()} for name in ("known", "themes")}
    )
    tests, moves = related(study)
    row = whole(tests)
    assert (row["tau"], row["ci_low"], row["ci_high"]) == (1, None, None)
    assert row["note"] == "interval not estimable: no resample changes the order"
    assert moves["move"].to_list() == [0, 0, 0]
    assert moves["move_low"].null_count() == moves["move_high"].null_count() == 3
    assert set(moves["note"]) == {"interval not estimable: no resample changes the places"}


def test_only_systems_that_were_searched_in_both_are_ranked():
    tests, moves = related(means_study(TEN, {name: mean for name, mean in LAST.items() if name != "s0"}))
    assert tests["n_systems"][0] == 9
    assert "s0" not in moves["system"].to_list()
    tests, moves = related(means_study(TEN, LAST), systems=["s1", "s2", "words"])
    assert sorted(moves["system"].to_list()) == ["s1", "s2", "words"]


def test_nothing_to_relate_is_an_empty_table():
    tests, moves = related(means_study(TEN, {}))
    assert len(tests) == len(moves) == 0
    tests, moves = related(pl.DataFrame(schema=dict(PER_QUERY.columns)))
    assert len(tests) == len(moves) == 0


def test_the_interval_is_that_of_the_statistic(noisy):
    """Whole and without each system; whole poems are drawn where known-item queries share one."""
    gold = {f"known-{i:02}": f"p{i // 3}" for i in range(30)}
    for given_gold, clusters in (({}, None), (gold, np.arange(30) // 3)):
        tests, _ = related(noisy, gold=given_gold)
        values = {
            name: noisy.filter(query_set=name, measure=MEASURES[name])
            .pivot("system", index="query_id", values="value")
            .sort("query_id")
            for name in MEASURES
        }
        for row in tests.iter_rows(named=True):
            kept = [system for system in ("a", "b", "c", "words") if system != row["left_out"]]
            first, second = (values[name].select(kept).to_numpy() for name in ("known", "themes"))
            low, high, _ = tau_interval(first, second, clusters, None, False, DRAWS.resamples, DRAWS.seed)
            assert (row["ci_low"], row["ci_high"]) == (low, high)
            assert row["note"] is None and low < high


def test_moves_have_intervals_of_whole_places(noisy):
    _, moves = related(noisy)
    assert moves["move_low"].null_count() < len(moves)
    for row in moves.filter(pl.col("move_low").is_not_null()).iter_rows(named=True):
        assert row["move_low"] <= row["move"] <= row["move_high"]
        assert row["move_low"] < row["move_high"]
        assert {2 * row[end] % 1 for end in ("move_low", "move_high")} == {0}  # ties make halves
    fall = moves.row(by_predicate=pl.col("system") == "words", named=True)
    assert (fall["move"], fall["move_low"]) == (3, None)
    assert fall["note"] == "interval not estimable: nearly all resamples give one move"


def test_a_judge_is_a_thematic_side_of_its_own(noisy):
    scores = {"a": [1.0, 2.0] * 10, "b": [2.0, 3.0] * 10, "c": [3.0, 4.0] * 10, "words": [4.0, 5.0] * 10}
    reverse = dict(zip(scores, reversed(scores.values()), strict=True))
    judged = pl.concat([judged_of({"first": scores, "second": reverse}), judged_of({"first": reverse}, "theme")])
    tests, moves = related(noisy, judged)
    found = {row["measure_thematic"]: row for row in tests.filter(pl.col("left_out").is_null()).iter_rows(named=True)}
    assert set(found) == {"nDCG@10", "first: overall", "second: overall"}
    assert (found["first: overall"]["tau"], found["second: overall"]["tau"]) == (1, -1)
    assert {row["family"] for row in found.values()} == {
        "dissociation/c/known/themes",
        "dissociation/c/known/themes/first",
        "dissociation/c/known/themes/second",
    }
    assert {row["family_size"] for row in found.values()} == {1}
    by_judge = moves.filter(measure_thematic=judged_measure("first"), system="words").row(0, named=True)
    assert (by_judge["mean_thematic"], by_judge["rank_thematic"]) == (4.5, 1)
    without, _ = related(noisy)
    kept = tests.filter(pl.col("measure_thematic") == "nDCG@10")
    assert kept.equals(without)  # a judge changes nothing of the measure beside it


def test_a_judge_is_enough_and_scores_that_are_null_are_left_out(noisy):
    scores = {"a": [1.0, 3.0], "b": [None, 4.0], "c": [2.0, 4.0], "words": [None, None]}
    tests, moves = related(noisy.filter(query_set="known"), judged_of({"only": scores}))
    assert dict(moves.select("system", "mean_thematic").iter_rows()) == {"a": 2, "b": 4, "c": 3}
    assert whole(tests)["n_systems"] == 3


def test_the_order_of_rows_does_not_matter(noisy):
    judged = judged_of({"j": {name: [1.0, 2.0, value] for name, value in (("a", 3.0), ("b", 4.0), ("words", 1.0))}})
    shuffled = [frame.sample(fraction=1, shuffle=True, seed=4) for frame in (noisy, judged)]
    for one, other in zip(related(noisy, judged), related(*shuffled), strict=True):
        assert one.equals(other)


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=5))
def test_places_are_mean_ranks(rows):
    found = places(np.array(rows, dtype=float))
    for row, place in zip(rows, found, strict=True):
        assert place.tolist() == stats.rankdata([-value for value in row]).tolist()
    assert np.isnan(places(np.array([[1.0, math.nan]]))).all()


def test_resampled_means_leave_out_what_is_not_there():
    values = np.array([[1.0, math.nan], [1.0, 2.0], [1.0, 4.0]])
    means = resampled_means(values, None, 200, 1)
    assert set(means[:, 0]) == {1.0}
    seen = means[~np.isnan(means[:, 1]), 1]
    assert 0 < len(seen) < 200 and seen.min() == 2 and seen.max() == 4
    assert math.isnan(move_interval(np.full(20, math.nan), np.ones(20)).low)


def test_the_verb_writes_its_tables(tmp_path, noisy):
    judged = judged_of({"j": {"a": [1.0, 2.0], "b": [2.0, 3.0], "c": [4.0, 5.0]}})
    write_table(noisy, tmp_path / "per_query.parquet", PER_QUERY)
    write_table(judged, tmp_path / "judged.parquet", JUDGED_PER_QUERY)
    queries, qrels = asked({}, noisy)
    (tmp_path / "queries").mkdir()
    for name in MEASURES:
        write_table(queries.filter(query_set=name), tmp_path / f"queries/{name}.parquet", QUERIES)
        write_table(qrels.filter(query_set=name).drop("query_set"), tmp_path / f"queries/{name}.qrels.parquet", QRELS)
    options = f"relate_protocols --results {tmp_path} --known-item known --thematic themes --resamples 199 --flips 99"
    options += f" --seed 1 --output {tmp_path}/d.csv --moves {tmp_path}/r.csv"
    given = [*options.split(), "--measures", json.dumps(MEASURES)]
    assert main(given) == 0
    assert (len(read_table(tmp_path / "d.csv", DISSOCIATION)), len(read_table(tmp_path / "r.csv", RANK_MOVES))) == (
        5,
        4,
    )
    assert main([*given, "--judged", str(tmp_path / "judged.parquet")]) == 0
    assert len(read_table(tmp_path / "d.csv", DISSOCIATION)) == 5 + 4
    assert set(read_table(tmp_path / "r.csv", RANK_MOVES)["measure_thematic"]) == {"nDCG@10", "j: overall"}
