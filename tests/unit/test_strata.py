"""Means by attributes of queries: the leaderboard of a part, and never outside of what ties allow."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strata_study import IDIOMS, MEASURES, SYSTEMS, asked, cross, kept_poems, ranked, verb, write_results

from verseir.analyses.clusters import clusters_of
from verseir.analyses.inputs import judged_runs, read_attributes, read_judged
from verseir.analyses.leaderboard import means
from verseir.analyses.strata import STRATA, UNJUDGED, members_of, strata
from verseir.faults import UserError
from verseir.layout import Run
from verseir.measures import per_query
from verseir.stats.bootstrap import bootstrap_means
from verseir.tables import PER_QUERY, check_table, read_table

DRAWS = (400, 3)
EVERY = ["idiom", "usage", "language", "quality"]


def made(runs, queries, qrels, attributes, wanted=EVERY, measures=MEASURES):
    """The strata of RUN frames: (mode, system) -> RUN, all of one query set."""
    ids = sorted(queries["query_id"].to_list())
    judged = [(Run("c", mode, "span", system), run, qrels, ids) for (mode, system), run in sorted(runs.items())]
    named = qrels.with_columns(query_set=pl.lit("span"))
    members = {"span": members_of(attributes, wanted, "span")}
    return check_table(strata(judged, queries, named, members, measures, *DRAWS), STRATA, "here")


def measured(runs, queries, qrels, measures=MEASURES):
    """The PER_QUERY of the same runs."""
    parts = [
        per_query(run, qrels, queries["query_id"].to_list(), measures)
        .with_columns(corpus=pl.lit("c"), mode=pl.lit(mode), query_set=pl.lit("span"), system=pl.lit(system))
        .select(list(PER_QUERY.columns))
        for (mode, system), run in runs.items()
    ]
    return pl.concat(parts)


def some_runs(queries, seed=0, levels=12):
    poems = kept_poems("full")
    places = [(mode, system) for mode in ("m1", "m2") for system in SYSTEMS]
    return {place: ranked(queries, poems, 10 * seed + i, levels) for i, place in enumerate(places)}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 50), st.booleans(), st.sampled_from([2, 12, 1000]))
def test_an_attribute_with_one_value_gives_the_leaderboard(seed, clustered, levels):
    queries, qrels, attributes = asked("span", clustered=clustered)
    runs = some_runs(queries, seed, levels)
    table = made(runs, queries, qrels, attributes, ["language"])
    board = means(measured(runs, queries, qrels), queries, qrels.with_columns(query_set=pl.lit("span")), *DRAWS)
    assert table["value"].unique().to_list() == ["en"]
    assert table.select(board.columns).equals(board)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 50), st.sampled_from([1, 2, 5, 12, 1000]))
def test_a_mean_lies_between_what_ties_allow(seed, levels):
    queries, qrels, attributes = asked("span")
    table = made(some_runs(queries, seed, levels), queries, qrels, attributes, measures=[*MEASURES, "RR", "Judged@5"])
    assert (table["lowest"] <= table["mean"]).all()
    assert (table["mean"] <= table["highest"]).all()
    if levels == 1000:
        usage = table.filter(pl.col("attribute") == "usage")
        assert ((usage["highest"] - usage["lowest"]) < 0.2).all()
    if levels == 1:
        ties = table.filter(pl.col("measure") == "Rprec")
        assert (ties["highest"] - ties["lowest"] > 0.1).all()


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 50))
def test_the_order_of_rows_changes_nothing(seed):
    queries, qrels, attributes = asked("span")
    runs = some_runs(queries)
    first = made(runs, queries, qrels, attributes)
    mixed = [frame.sample(fraction=1, shuffle=True, seed=seed) for frame in (queries, qrels, attributes)]
    shuffled = {place: run.sample(fraction=1, shuffle=True, seed=seed) for place, run in runs.items()}
    assert made(shuffled, *mixed).equals(first)


@pytest.mark.parametrize("clustered", [True, False])
def test_a_stratum_is_measured_as_a_set_of_its_own(clustered):
    queries, qrels, attributes = asked("span", clustered=clustered)
    runs = some_runs(queries)
    table = made(runs, queries, qrels, attributes)
    values = measured(runs, queries, qrels)
    judged = qrels.with_columns(query_set=pl.lit("span"))
    for attribute, value in table.select("attribute", "value").unique().iter_rows():
        part = attributes.filter(pl.col("attribute") == attribute, pl.col("value") == value)
        alone = means(values.join(part, on="query_id", how="semi"), queries, judged, *DRAWS)
        here = table.filter(pl.col("attribute") == attribute, pl.col("value") == value)
        assert here.select(alone.columns).equals(alone)
    gold = attributes.filter(pl.col("attribute") == "quality")["query_id"].sort().to_list()
    assert (clusters_of(gold, queries, judged) is None) == (not clustered)  # so both kinds of intervals were made


def test_strata_of_one_idiom_have_no_interval_and_say_why():
    queries, qrels, attributes = asked("span")
    table = made(some_runs(queries), queries, qrels, attributes)
    idioms = table.filter(pl.col("attribute") == "idiom")
    assert sorted(idioms["value"].unique()) == IDIOMS
    assert idioms["n_queries"].unique().to_list() == [6]
    assert idioms.select("ci_low", "ci_high").null_count().row(0) == (len(idioms), len(idioms))
    assert set(idioms["note"]) == {"interval not estimable: fewer than two independent queries"}
    usages = table.filter(pl.col("attribute") == "usage")
    assert usages["n_queries"].unique().to_list() == [12]
    assert (usages["ci_low"] <= usages["mean"]).all() and (usages["mean"] <= usages["ci_high"]).all()
    assert usages["note"].null_count() == len(usages)


def test_intervals_draw_whole_clusters():
    queries, qrels, attributes = asked("span")
    runs = some_runs(queries)
    table = made(runs, queries, qrels, attributes)
    place = {"mode": "m1", "system": "s1", "measure": "AP"}
    (row,) = table.filter(**place, attribute="usage", value="literal").to_dicts()
    values = measured(runs, queries, qrels).filter(pl.col("query_id").str.contains("literal"), **place).sort("query_id")
    clusters = np.repeat(np.arange(4), 3)
    interval = bootstrap_means(values["value"].to_numpy()[:, None], clusters, *DRAWS)
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(interval.low[0]), pytest.approx(interval.high[0]))


def test_queries_without_a_value_are_in_no_stratum():
    queries, qrels, attributes = asked("span")
    table = made(some_runs(queries), queries, qrels, attributes)
    assert table.filter(pl.col("attribute") == "quality")["n_queries"].unique().to_list() == [8]


def test_an_attribute_that_no_query_has_is_an_error():
    attributes = asked("span")[2]
    with pytest.raises(UserError) as caught:
        members_of(attributes, ["usgae"], "span")
    assert "'usgae'" in str(caught.value)
    assert "did you mean 'usage'?" in str(caught.value)


def test_a_value_of_which_no_query_is_measured_stands_without_numbers():
    queries, qrels, attributes = asked("span")
    run = ranked(queries, kept_poems("full"), 0)
    ids = [name for name in queries["query_id"] if "_literal_" in name]
    members = {"span": members_of(attributes, ["usage"], "span")}
    judged = [(Run("c", "m", "span", "s"), run, qrels, ids)]
    table = strata(judged, queries, qrels.with_columns(query_set=pl.lit("span")), members, ["AP"], *DRAWS)
    table = check_table(table, STRATA, "here")
    assert table.select("value", "n_queries", "note").rows() == [("idiomatic", 0, UNJUDGED), ("literal", 12, None)]
    assert table.row(0)[8:13] == (None,) * 5


def test_a_measure_over_judged_poems_alone_needs_others_than_relevant_ones():
    queries, qrels, attributes = asked("span")
    table = made(some_runs(queries), queries, qrels, attributes, ["usage"], ["AP", "AP(judged_only=True)"])
    told = dict(table.select("measure", "note").unique().iter_rows())
    assert told["AP"] is None
    assert "nothing to tell it apart from" in told["AP(judged_only=True)"]


def test_no_runs_give_an_empty_table():
    queries, qrels, _ = asked("span")
    assert check_table(strata([], queries, qrels, {}, ["AP"], *DRAWS), STRATA, "here").is_empty()


def test_the_verb_writes_strata_of_the_sets_that_have_some(tmp_path):
    write_results(tmp_path, query_sets=("span", "sentence"))
    (tmp_path / "queries" / "sentence.attributes.parquet").unlink()
    given = cross(("span", "sentence"))
    options = {"strata": {"span": ["usage", "idiom"], "sentence": []}, "measures": ["Rprec", "nDCG@10"]}
    options |= {"resamples": 300, "seed": 1, "output": tmp_path / "strata.csv"}
    assert verb("make_strata", tmp_path, cross=given, **options) == 0
    table = read_table(tmp_path / "strata.csv", STRATA)
    assert table.equals(table.sort(STRATA.unique))
    assert table["query_set"].unique().to_list() == ["span"]
    assert len(table) == 2 * len(SYSTEMS) * 2 * (2 + len(IDIOMS))
    # R is that of the mode's own poems.
    one = cross()
    values = pl.concat(
        per_query(run, judged, ids, ["Rprec"]).with_columns(mode=pl.lit(at.mode), system=pl.lit(at.system))
        for at, run, judged, ids in judged_runs(tmp_path, one, [])
    )
    usage = read_attributes(tmp_path, "span").filter(pl.col("attribute") == "usage").select("query_id", "value")
    expected = values.rename({"value": "of_query"}).join(usage, on="query_id").group_by("mode", "system", "value")
    both = table.filter(pl.col("attribute") == "usage", pl.col("measure") == "Rprec").join(
        expected.agg(pl.col("of_query").mean()), on=["mode", "system", "value"]
    )
    assert len(both) == 8
    assert both["mean"].to_list() == pytest.approx(both["of_query"].to_list())
    assert len(read_judged(tmp_path, ["span"])[0]) == 24
