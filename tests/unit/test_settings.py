"""Ways to ask and to index, compared by one system on the same queries; and families of systems beside them."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paired_study import DRAWS, asked, names, outcomes, shuffled
from strata_study import SYSTEMS, cross, verb, write_results

from verseir.analyses.contrasts import compare, contrasts
from verseir.analyses.inputs import Indexed
from verseir.analyses.paired import cells, compare_columns
from verseir.analyses.settings import SETTING_CONTRASTS, _together, setting_contrasts
from verseir.tables import CONTRASTS, check_table, read_table

ASKING = {"family": "asking", "of": "query_sets", "baseline": "sentence", "measures": ["nDCG@10"]}
INDEXING = {"family": "indexing", "of": "modes", "baseline": "full", "measures": ["nDCG@10"]}
ALONE = Indexed("nowhere")


def together(*parts):
    return pl.concat(parts)


def clustered(frame, size=4):
    """Queries that name their clusters: ``size`` neighbours each."""
    return frame.with_columns(cluster=pl.Series([f"c{i // size}" for i in range(len(frame))]))


def study(
    n=24, sets=("sentence", "span"), modes=("full",), systems=("s1", "s2"), seed=0, cluster=4, measures=("nDCG@10",)
):
    """PER_QUERY, QUERIES and QRELS of random values: the same queries in each set."""
    rng = np.random.default_rng(seed)
    values, queries, qrels = [], [], []
    for query_set in sets:
        given, judged = asked(n, query_set)
        queries.append(clustered(given, cluster) if cluster else given)
        qrels.append(judged)
        for mode in modes:
            for measure in measures:
                drawn = {system: rng.random(n).round(3) for system in systems}
                values.append(outcomes(drawn, query_set, mode=mode, measure=measure))
    return together(*values), together(*queries), together(*qrels)


def compared(study, *families, indexed=ALONE, draws=DRAWS):
    return check_table(setting_contrasts(*study, families, draws, indexed), SETTING_CONTRASTS, "here")


def values_of(per_query, **place):
    return per_query.filter(**place).sort("query_id")["value"].to_numpy()


def test_every_other_query_set_is_compared_with_the_baseline_query_by_query():
    given = study(sets=("sentence", "span", "instruction"), modes=("full", "plain"))
    table = compared(given, ASKING)
    assert table.select("setting", "query_set", "b").unique().rows() == [("query_set", None, "sentence")]
    assert table.select("mode", "system", "a").rows() == [
        (mode, system, a) for mode in ("full", "plain") for system in SYSTEMS for a in ("instruction", "span")
    ]
    clusters = np.repeat(np.arange(6), 4)
    for row in table.to_dicts():
        place = {"mode": row["mode"], "system": row["system"]}
        a, b = (values_of(given[0], query_set=name, **place) for name in (row["a"], row["b"]))
        expected = compare(a, b, clusters, *DRAWS, kind="cluster")
        assert row["n"] == 24
        assert row["test"] == expected.test == "exact sign-flip by cluster"
        for key in ("estimate", "ci_low", "ci_high", "p", "p_t"):
            assert row[key] == pytest.approx(getattr(expected, key)), key
        assert row["note"] is None
    assert table["family_size"].unique().to_list() == [8]


def test_every_other_mode_is_compared_with_the_baseline():
    given = study(modes=("full", "one", "two"))
    table = compared(given, INDEXING | {"query_sets": ["span"], "systems": ["s2"]})
    assert table.select("setting", "query_set", "mode", "system", "a", "b").rows() == [
        ("mode", "span", None, "s2", "one", "full"),
        ("mode", "span", None, "s2", "two", "full"),
    ]
    a, b = (values_of(given[0], query_set="span", system="s2", mode=mode) for mode in ("one", "full"))
    assert table["estimate"][0] == pytest.approx((a - b).mean())
    assert table["note"].to_list() == [None, None]


def test_what_is_compared_can_be_selected_without_naming_the_baseline():
    given = study(sets=("sentence", "span", "instruction"), modes=("full", "plain"), measures=("nDCG@10", "Rprec"))
    chosen = ASKING | {"query_sets": ["span"], "modes": ["plain"], "systems": ["s1"], "measures": ["Rprec"]}
    table = compared(given, chosen)
    assert table.select("mode", "system", "a", "b", "measure").rows() == [("plain", "s1", "span", "sentence", "Rprec")]
    named = compared(given, chosen | {"query_sets": ["span", "sentence"]})
    assert named.equals(table)


def test_sets_that_share_no_query_are_not_estimable():
    per_query, queries, qrels = study(sets=("sentence",))
    others = [f"other{i}" for i in range(5)]
    strange, judged = asked(5, "span")
    renamed = [frame.with_columns(query_id=pl.lit("x") + pl.col("query_id")) for frame in (strange, judged)]
    given = (
        together(per_query, outcomes({"s1": [1, 0, 1, 0, 1]}, "span", mode="full", measure="nDCG@10", ids=others)),
        together(queries, renamed[0]),
        together(qrels, renamed[1]),
    )
    table = compared(given, ASKING)
    assert len(table) == 1
    row = table.row(0, named=True)
    assert row["note"] == "not estimable: the two query sets share no query"
    assert (row["n"], row["test"], row["estimate"], row["p"], row["p_holm"], row["family_size"]) == (
        *(0, "none", None, None, None),
        0,
    )


def test_queries_of_one_set_alone_are_left_out_and_counted():
    per_query, queries, qrels = study(systems=("s1",))
    gone = (pl.col("query_set") == "span") & pl.col("query_id").is_in(names(3))
    gone_too = (pl.col("query_set") == "sentence") & (pl.col("query_id") == "q010")
    row = compared((per_query.filter(~gone, ~gone_too), queries, qrels), ASKING).row(0, named=True)
    assert row["n"] == 20
    assert row["note"] == "1 query of span and 3 queries of sentence left out: not in the other query set"
    kept = per_query.filter(~pl.col("query_id").is_in([*names(3), "q010"]))
    again = compared((kept, queries, qrels), ASKING).row(0, named=True)
    assert again == row | {"note": None}


def test_a_system_with_runs_of_one_set_alone_is_not_compared():
    per_query, queries, qrels = study()
    only = per_query.filter(~((pl.col("system") == "s2") & (pl.col("query_set") == "span")))
    assert compared((only, queries, qrels), ASKING)["system"].to_list() == ["s1"]


def test_modes_that_keep_other_poems_say_that_the_answers_differ(tmp_path):
    write_results(tmp_path)
    options = {"cross": cross(), "measures": ["Rprec", "nDCG@10"], "output": tmp_path / "per_query.parquet"}
    assert verb("evaluate_runs", tmp_path, **options) == 0
    families = [INDEXING, INDEXING | {"family": "again", "baseline": "plain"}]
    given = {"query_sets": ["span"], "families": str(families).replace("'", '"'), "resamples": 300, "flips": 999}
    output = tmp_path / "settings.csv"
    assert verb("compare_settings", tmp_path, **given, seed=1, kept=["plain"], output=output) == 0
    table = read_table(output, SETTING_CONTRASTS)
    assert set(table["note"]) == {"the two modes have other relevant documents"}
    assert table.select("family", "system", "a", "b").rows() == [
        *(("again", system, "full", "plain") for system in SYSTEMS),
        *(("indexing", system, "plain", "full") for system in SYSTEMS),
    ]
    assert table["estimate"][0] == pytest.approx(-table["estimate"][2])
    assert table["test"].unique().to_list() == ["exact sign-flip by cluster"]
    assert verb("compare_settings", tmp_path, **given, seed=1, output=output) == 0
    assert read_table(output, SETTING_CONTRASTS)["note"].null_count() == 4  # had both kept all poems


def test_query_sets_with_other_answers_say_so():
    per_query, queries, qrels = study(systems=("s1",))
    other = pl.DataFrame([("q001", "elsewhere", 1, "span")], schema=qrels.schema, orient="row")
    row = compared((per_query, queries, together(qrels, other)), ASKING).row(0, named=True)
    assert row["note"] == "the two query sets have other relevant documents"
    judged = other.with_columns(grade=pl.lit(0, dtype=pl.Int32))
    assert compared((per_query, queries, together(qrels, judged)), ASKING)["note"].to_list() == [None]


@pytest.mark.parametrize(
    ("per", "sizes"),
    [
        ([], {16}),
        (["system"], {8}),
        (["mode"], {8}),
        (["measure"], {8}),
        (["query_set"], {8}),
        (["mode", "system"], {4}),
    ],
)
def test_holm_is_applied_within_each_part(per, sizes):
    given = study(
        sets=("sentence", "span", "instruction"), modes=("full", "plain"), measures=("nDCG@10", "Rprec"), seed=3
    )
    table = compared(given, ASKING | {"per": per, "measures": ["nDCG@10", "Rprec"]})
    assert len(table) == 16
    assert set(table["family_size"]) == sizes
    keys = ["a" if key == "query_set" else key for key in per]
    for _, part in table.group_by(keys or ["family"]):
        rising = part.sort("p")
        assert (rising["p_holm"].diff().drop_nulls() >= 0).all()
        assert (part["p_holm"] >= part["p"]).all()
        assert part["p_holm"].min() == pytest.approx(min(1, len(part) * part["p"].min()))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 99), st.sampled_from([0, 1, 4]))
def test_the_order_of_rows_changes_nothing(seed, cluster):
    given = study(sets=("sentence", "span", "instruction"), modes=("full", "plain"), cluster=cluster)
    families = [ASKING, INDEXING]
    assert compared([shuffled(frame, seed) for frame in given], *families).equals(compared(given, *families))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 999), st.integers(1, 4))
def test_holm_keeps_the_order_of_p_and_never_lowers_one(seed, n_sets):
    given = study(sets=("sentence", *(f"set{i}" for i in range(n_sets))), seed=seed)
    table = compared(given, ASKING).sort("p")
    assert (table["p_holm"] >= table["p"]).all()
    assert (table["p_holm"].diff().drop_nulls() >= 0).all()
    assert table["p_holm"].max() <= 1


def test_queries_without_a_named_cluster_are_tested_by_poem_or_alone():
    per_query, queries, qrels = study(cluster=0)
    assert compared((per_query, queries, qrels), ASKING)["test"].unique().to_list() == ["sign-flip"]
    shared = qrels.with_columns(poem_id=pl.col("query_id").str.slice(0, 3))
    assert compared((per_query, queries, shared), ASKING)["test"].unique().to_list() == ["exact sign-flip by poem"]


def test_a_binary_measure_of_single_queries_gets_mcnemar():
    hits = {"sentence": [1, 1, 0, 1, 0] * 4, "span": [0, 1, 1] * 6 + [1, 1]}
    values = [outcomes({"s": column}, query_set, measure="R@5") for query_set, column in hits.items()]
    asked_, judged = zip(asked(20, "sentence"), asked(20, "span"), strict=True)
    table = compared((together(*values), together(*asked_), together(*judged)), ASKING | {"measures": ["R@5"]})
    assert table["test"].to_list() == ["McNemar exact"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_joint_clusters_split_no_cluster_of_either_and_join_no_more(pairs):
    first, second = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    joint = _together(first, second)
    reached = {i: {i} for i in range(len(pairs))}
    for _ in pairs:
        for i in reached:
            for j in list(reached[i]):
                reached[i] |= {k for k in range(len(pairs)) if first[k] == first[j] or second[k] == second[j]}
    for i in range(len(pairs)):
        assert {k for k in range(len(pairs)) if joint[k] == joint[i]} == reached[i]


def test_clusters_of_one_side_alone_count():
    codes = np.array([0, 0, 1])
    assert _together(None, None) is None
    assert _together(codes, None) is codes
    assert _together(None, codes) is codes


def test_no_families_give_an_empty_table():
    assert compared(study()).is_empty()
    assert compared(study(), {"family": "f", "baseline": "s1", "measures": ["nDCG@10"]}).is_empty()
    assert compared(study(), ASKING | {"baseline": "none"}).is_empty()
    assert compared(study(sets=("sentence",)), ASKING).is_empty()


def test_families_of_settings_are_no_contrasts_of_systems():
    given = study()
    family = {"family": "systems", "of": "systems", "baseline": "s1", "measures": ["nDCG@10"], "per": ["query_set"]}
    table = contrasts(*given, [ASKING, family, INDEXING], *DRAWS)
    assert check_table(table, CONTRASTS, "here")["family"].unique().to_list() == ["systems"]
    assert table.equals(contrasts(*given, [{key: family[key] for key in family if key != "of"}], *DRAWS))
    assert table["test"].unique().to_list() == ["exact sign-flip by cluster"]


def test_a_family_of_systems_can_be_corrected_for_each_system():
    table = contrasts(
        *study(systems=("s1", "s2", "s3"), modes=("full", "plain")),
        [{"family": "f", "baseline": "s1", "measures": ["nDCG@10"], "per": ["system"]}],
        *DRAWS,
    )
    assert set(table["family_size"]) == {4}
    assert (table["a"] != "s1").all()


def test_the_name_of_a_test_says_what_is_flipped_whole():
    per_query, queries, qrels = study(sets=("sentence",))
    (cell,) = cells(per_query, queries, qrels, ["nDCG@10"])
    assert cell.kind == cell.rows(np.arange(8)).kind == "cluster"
    (plain,) = cells(per_query, queries.with_columns(cluster=pl.lit(None, dtype=pl.String)), qrels, ["nDCG@10"])
    assert (plain.kind, plain.clusters) == ("poem", None)
    a, b = cell.values[:, :1], cell.values[:, 1:]
    for kind in ("poem", "cluster"):
        (outcome,) = compare_columns(a, b, cell.clusters, DRAWS, kind=kind)
        assert outcome.test == compare(a[:, 0], b[:, 0], cell.clusters, *DRAWS, kind=kind).test
        assert outcome.test == f"exact sign-flip by {kind}"
    (single,) = compare_columns(a, b, None, DRAWS, kind="cluster")
    assert single.test == "sign-flip"
