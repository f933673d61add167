"""The analyses on small studies whose answers are known."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.analyses.clusters import cluster_kind, clusters_of
from verseir.analyses.contrasts import contrasts
from verseir.analyses.leaderboard import means, means_by_register, unmeasured
from verseir.stats.mcnemar import mcnemar_exact, tango_interval
from verseir.tables import CONTRASTS, LEADERBOARD, PER_QUERY, QRELS, QUERIES, REGISTERS, check_table

FAMILY = {"family": "against-b", "baseline": "b", "measures": ["Recall@5"], "per": ["mode"]}
SETTINGS = {"resamples": 500, "flips": 999, "seed": 1}


def study(values, gold=None, registers=None):
    """PER_QUERY, QUERIES and QRELS of one query set; ``values``: system -> one Recall@5 a query."""
    n = len(next(iter(values.values())))
    ids = [f"q{i:03d}" for i in range(n)]
    rows = [
        ("c", "verse", "set", s, q, "Recall@5", float(v))
        for s, vs in values.items()
        for q, v in zip(ids, vs, strict=True)
    ]
    per_query = pl.DataFrame(rows, schema=dict(PER_QUERY.columns), orient="row")
    registers = registers or [None] * n
    queries = pl.DataFrame(
        [(q, "set", "text", r, *[None] * 4) for q, r in zip(ids, registers, strict=True)],
        schema=dict(QUERIES.columns),
        orient="row",
    )
    gold = gold or [f"p{i}" for i in range(n)]
    qrels = pl.DataFrame([(q, g, 1) for q, g in zip(ids, gold, strict=True)], schema=dict(QRELS.columns), orient="row")
    return per_query, queries, qrels.with_columns(query_set=pl.lit("set"))


def test_a_binary_measure_on_independent_queries_gets_mcnemar_and_tango():
    a, b = [1] * 30 + [0] * 10 + [1] * 9 + [0] * 2, [1] * 30 + [0] * 10 + [0] * 9 + [1] * 2
    row = contrasts(*study({"a": a, "b": b}), families=[FAMILY], **SETTINGS).row(0, named=True)
    assert (row["a"], row["b"], row["n"], row["test"]) == ("a", "b", 51, "McNemar exact")
    assert row["estimate"] == pytest.approx(7 / 51)
    assert row["p"] == pytest.approx(mcnemar_exact(9, 2))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tango_interval(9, 2, 51))


def test_queries_that_share_a_poem_are_tested_by_poem():
    rng = np.random.default_rng(0)
    values = {"a": rng.integers(0, 2, 60), "b": rng.integers(0, 2, 60)}
    table = contrasts(*study(values, gold=[f"p{i // 3}" for i in range(60)]), families=[FAMILY], **SETTINGS)
    assert table["test"].to_list() == ["sign-flip by poem"]
    assert table["ci_low"][0] < table["estimate"][0] < table["ci_high"][0]


def test_a_graded_measure_gets_a_permutation_test_with_t_beside_it():
    rng = np.random.default_rng(0)
    table = contrasts(*study({"a": rng.random(40), "b": rng.random(40)}), families=[FAMILY], **SETTINGS)
    assert table["test"].to_list() == ["sign-flip"]
    assert 0 < table["p_t"][0] <= 1


def test_holm_is_applied_within_each_declared_part():
    rng = np.random.default_rng(3)
    base = rng.integers(0, 2, 80)
    systems = {"b": base} | {name: np.where(rng.random(80) < 0.3, 1, base) for name in "acd"}
    table = contrasts(*study(systems), families=[FAMILY], **SETTINGS)
    assert table["family_size"].to_list() == [3, 3, 3]
    smallest = table["p"].min()
    assert table["p_holm"].min() == pytest.approx(min(1, 3 * smallest))


def test_the_best_is_compared_with_all_others_and_says_how_it_was_picked():
    systems = {"a": [1] * 20 + [0] * 20, "b": [1] * 35 + [0] * 5, "c": [0] * 40}
    family = FAMILY | {"family": "against-best", "baseline": "best"}
    table = contrasts(*study(systems), families=[family], **SETTINGS)
    assert table["b"].unique().to_list() == ["b"]
    assert table["a"].to_list() == ["a", "c"]
    assert table["note"].str.contains("picked on the same queries").all()


def test_what_cannot_be_tested_says_so_and_does_not_count_in_the_family():
    table = contrasts(*study({"a": [1], "b": [0]}), families=[FAMILY], **SETTINGS)
    row = table.row(0, named=True)
    assert row["p"] is None
    assert row["p_holm"] is None
    assert row["family_size"] == 0
    assert "not estimable" in row["note"]


def test_systems_that_never_differ_are_not_given_an_interval_of_zero_width():
    values = [0.5, 0.25, 1.0] * 5
    row = contrasts(*study({"a": values, "b": values}), families=[FAMILY], **SETTINGS).row(0, named=True)
    assert row["p"] == 1.0
    assert row["ci_low"] is None
    assert "alike on every query" in row["note"]


def test_a_difference_that_does_not_vary_has_no_interval_and_says_why():
    row = contrasts(*study({"a": [0.75] * 9, "b": [0.25] * 9}), families=[FAMILY], **SETTINGS).row(0, named=True)
    assert (row["estimate"], row["ci_low"], row["ci_high"]) == (0.5, None, None)
    assert row["note"] == "interval not estimable: the difference does not vary"


def test_one_system_alone_gives_an_empty_table():
    table = contrasts(*study({"b": [1, 0, 1]}), families=[FAMILY], **SETTINGS)
    assert table.is_empty()
    assert check_table(table, CONTRASTS, "here").columns == list(CONTRASTS.columns)


def test_means_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(5)
    per_query, queries, qrels = study({"a": rng.random(30), "b": rng.random(30)})
    first = means(per_query, queries, qrels, 500, 1)
    again = means(per_query.sample(fraction=1, shuffle=True, seed=3), queries.reverse(), qrels.reverse(), 500, 1)
    assert first.equals(again)
    assert check_table(first, LEADERBOARD, "here")["n_queries"].to_list() == [30, 30]


def test_a_mean_without_an_interval_says_why():
    table = means(*study({"a": [1]}), 500, 1)
    assert table["note"].to_list() == ["interval not estimable: fewer than two independent queries"]
    alike = means(*study({"a": [0.5, 0.5]}), 500, 1)
    assert alike["note"].to_list() == ["interval not estimable: every query scores alike"]
    assert means(*study({"a": [1, 0, 1]}), 500, 1)["note"].to_list() == [None]


def test_a_run_of_which_no_query_is_measured_stands_in_the_leaderboard():
    per_query, _, _ = study({"a": [1, 0]})
    corpus, mode, query_set = per_query.select("corpus", "mode", "query_set").row(0)
    cross = {
        "query_sets": {query_set: [corpus], "later": [corpus]},
        "modes": {corpus: [mode]},
        "systems": {"a": "bm25"},
    }
    table = check_table(unmeasured(per_query, cross, ["Recall@5"]), LEADERBOARD, "here")
    assert table.select("query_set", "system", "n_queries", "mean").rows() == [("later", "a", 0, None)]
    assert table["note"][0] == "not estimable: no query of the set has a relevant poem"


def test_registers_are_measured_apart():
    per_query, queries, qrels = study({"a": [1, 1, 0, 0]}, registers=["quoting", "quoting", "abstract", None])
    table = check_table(means_by_register(per_query, queries, qrels, 500, 1), REGISTERS, "here")
    assert table.select("register", "n_queries", "mean").rows() == [("abstract", 1, 0.0), ("quoting", 2, 1.0)]


def test_clusters_join_queries_of_one_poem_and_edits_of_one_query():
    queries = pl.DataFrame(
        {"query_id": ["a", "b", "c", "c2", "many"], "source_query_id": [None, None, None, "c", None]}
    )
    qrels = pl.DataFrame(
        {
            "query_id": ["a", "b", "c", "many", "many", "a"],
            "poem_id": ["p", "p", "r", "p", "r", "other"],
            "grade": [1, 1, 1, 1, 1, 0],
        }
    )
    a, b, c, edited, many = clusters_of(["a", "b", "c", "c2", "many"], queries, qrels)
    assert a == b
    assert c == edited
    assert len({a, c, many}) == 3


def test_queries_that_ask_for_the_same_poems_belong_together():
    queries = pl.DataFrame({"query_id": ["a", "b", "c"], "source_query_id": pl.Series([None] * 3, dtype=pl.String)})
    judged = [("a", "p"), ("a", "twin"), ("b", "twin"), ("b", "p"), ("c", "p"), ("c", "other")]
    qrels = pl.DataFrame(judged, schema=["query_id", "poem_id"], orient="row").with_columns(grade=pl.lit(1))
    a, b, c = clusters_of(["a", "b", "c"], queries, qrels)
    assert a == b != c


def test_independent_queries_have_no_clusters():
    queries = pl.DataFrame({"query_id": ["a", "b"], "source_query_id": [None, None]})
    qrels = pl.DataFrame({"query_id": ["a", "b"], "poem_id": ["p", "r"], "grade": [1, 1]})
    assert clusters_of(["a", "b"], queries, qrels) is None


def named(*clusters, source=None):
    ids = [f"q{n}" for n in range(len(clusters))]
    data = {"query_id": ids, "source_query_id": source or [None] * len(ids), "cluster": list(clusters)}
    return ids, pl.DataFrame(data, schema=dict.fromkeys(data, pl.String))


SAME_POEM = pl.DataFrame({"query_id": [f"q{n}" for n in range(5)], "poem_id": ["p"] * 5, "grade": [1] * 5})


def test_a_cluster_that_queries_name_decides_and_others_stand_for_themselves():
    ids, queries = named("idiom", "idiom", "other", None, None)
    a, b, c, d, e = clusters_of(ids, queries, SAME_POEM)
    assert a == b and len({a, c, d, e}) == 4
    assert cluster_kind(queries) == "cluster"


def test_an_edited_query_is_in_the_cluster_of_its_original():
    ids, queries = named("idiom", "other", None, None, None, source=[None, None, None, "q0", "q2"])
    a, b, c, of_a, of_c = clusters_of(ids, queries, SAME_POEM)
    assert a == of_a and c == of_c and len({a, b, c}) == 3
    alone = queries.filter(pl.col("query_id") != "q2")  # the original is in another set
    assert clusters_of(["q3", "q4"], alone, SAME_POEM) is None


def test_without_named_clusters_the_poems_decide():
    ids, queries = named(None, None)
    assert clusters_of(ids, queries, SAME_POEM).tolist() == [0, 0]
    assert cluster_kind(queries) == cluster_kind(queries.drop("cluster")) == "poem"
    assert cluster_kind(queries.clear()) == "poem"


@given(st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_clusters_do_not_depend_on_the_order_of_queries(clusters, chance):
    ids, queries = named(*clusters)
    nothing = SAME_POEM.clear()
    shuffled = chance.sample(ids, len(ids))
    found, turned = clusters_of(ids, queries, nothing), clusters_of(shuffled, queries.reverse(), nothing)
    if found is None:
        assert turned is None
    else:
        assert dict(zip(ids, found.tolist(), strict=True)) == dict(zip(shuffled, turned.tolist(), strict=True))
