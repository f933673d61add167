"""The mixed models and the shares of explained variance of studies whose answers are known."""

import time

import numpy as np
import polars as pl
import pytest

from verseir.__main__ import main
from verseir.analyses.mixed_model import MIXED_MODEL, MIXED_MODEL_FIT, MIXED_MODEL_TESTS, mixed_models
from verseir.analyses.variance_shares import VARIANCE_SHARES, variance_shares
from verseir.overlap import PROXIMITY, WORDING
from verseir.tables import PER_QUERY, QRELS, QUERIES, check_table, read_table, write_table

SLOPES = {"bm25": 3.0, "dense": 1.0, "weak": 0.8}
LEVELS = {"bm25": 0.3, "dense": 0.8, "weak": -0.8}


def study(corpora=("fof",), systems=("bm25", "dense", "weak"), n=120, modes=("verse",), seed=0, poems=None):
    """PER_QUERY, QUERIES, QRELS and WORDING of one known-item set in each corpus, with known log-odds."""
    rng = np.random.default_rng(seed)
    outcomes, queries, qrels, wording = [], [], [], []
    for corpus in corpora:
        name, ids = f"known-{corpus}", [f"{corpus}{i:03d}" for i in range(n)]
        gold = [f"p{i % (poems or n)}" for i in range(n)]
        containment = rng.beta(1.2, 2.5, n)
        z = (containment - containment.mean()) / (containment.std() or 1.0)
        tokens = rng.integers(4, 25, size=(n, 2)) * [1, 12]
        queries += [(q, name, "text", *[None] * 5) for q in ids]
        qrels += [(q, p, 1, name) for q, p in zip(ids, gold, strict=True)]
        wording += [
            (corpus, name, q, p, 1, int(a), int(b), int(8 * c), 0, "span", 0, 9, 0, float(c))
            for q, p, (a, b), c in zip(ids, gold, tokens, containment, strict=True)
        ]
        for mode in modes:
            own = 1.2 * rng.normal(size=n)
            for system in systems:
                eta = LEVELS.get(system, 0.0) + SLOPES.get(system, 1.0) * z + own
                success = rng.random(n) < 1 / (1 + np.exp(-eta))
                outcomes += [
                    (corpus, mode, name, system, q, "Recall@5", float(v)) for q, v in zip(ids, success, strict=True)
                ]
    return (
        pl.DataFrame(outcomes, schema=dict(PER_QUERY.columns), orient="row"),
        pl.DataFrame(queries, schema=dict(QUERIES.columns), orient="row"),
        pl.DataFrame(qrels, schema=dict(QRELS.columns) | {"query_set": pl.String}, orient="row"),
        pl.DataFrame(wording, schema=dict(WORDING.columns), orient="row"),
    )


def fitted(frames, lexical=("bm25",), fusions=(), reference=None):
    """The three tables, checked."""
    tables = mixed_models(*frames, "Recall@5", lexical, fusions, reference)
    contracts = (MIXED_MODEL, MIXED_MODEL_TESTS, MIXED_MODEL_FIT)
    for table, contract in zip(tables, contracts, strict=True):
        check_table(table, contract, contract.name)
        floats = table.select(pl.col(pl.Float64))
        assert not any(floats[name].is_nan().any() for name in floats.columns)
        assert not table.filter((pl.col("p") == 0) if "p" in table.columns else pl.lit(False)).height
    return tables


def row(table, **where):
    return table.row(by_predicate=pl.all_horizontal(*[pl.col(k) == v for k, v in where.items()]), named=True)


def succeed(per_query, system, value):
    """``per_query`` with ``value`` (a number or an expression) as the outcome of ``system``."""
    value = value if isinstance(value, pl.Expr) else pl.lit(value)
    changed = pl.when(pl.col("system") == system).then(value).otherwise(pl.col("value"))
    return per_query.with_columns(value=changed)


def test_slopes_and_their_differences_from_the_best_dense_system():
    terms, tests, fits = fitted(study(n=400))
    fit = row(fits, model="fof/known-fof/verse")
    assert (fit["reference"], fit["n_rows"], fit["n_queries"], fit["n_systems"]) == ("dense", 1200, 400, 3)
    assert fit["converged"] and not fit["separated"] and fit["note"] is None and fit["left_out"] is None
    assert fit["sd_query"] == pytest.approx(1.2, abs=0.4)
    for kind in ("conditional", "marginal"):
        of = {r["term"]: r for r in terms.filter(kind=kind).iter_rows(named=True)}
        assert of["containment"]["estimate"] == of["containment for dense"]["estimate"]
        assert of["containment"]["p"] is None and "containment for dense" in of["containment"]["note"]
        both = of["containment"]["estimate"] + of["containment x bm25"]["estimate"]
        assert of["containment for bm25"]["estimate"] == pytest.approx(both)
        assert of["containment x bm25"]["p_holm"] < 0.001
        assert of["containment x bm25"]["family_size"] == 2
        assert of["containment for weak"]["family_size"] == 3
        assert {"intercept", "bm25", "weak", "query length", "target length"} <= set(of)
    conditional = row(terms, kind="conditional", term="containment for bm25")
    assert abs(conditional["estimate"] - 3.0) < 3 * conditional["se"]
    assert row(tests, block="containment x system")["df"] == 2
    assert row(tests, block="containment")["df"] == 3
    assert row(tests, block="query and target length")["p"] > 0.001
    assert tests["family_size"].to_list() == [3, 3, 3]


def test_the_reference_can_be_given_and_changes_only_what_is_set_against_it():
    frames = study()
    one, tests, _ = fitted(frames)
    other, tests_other, fits = fitted(frames, reference="weak")
    assert fits["reference"].to_list() == ["weak"]
    for kind in ("conditional", "marginal"):
        a = row(one, kind=kind, term="containment for bm25")
        b = row(other, kind=kind, term="containment for bm25")
        assert b["estimate"] == pytest.approx(a["estimate"], abs=1e-5)
        assert b["se"] == pytest.approx(a["se"], rel=1e-3)
    assert tests_other["chi2"].to_list() == pytest.approx(tests["chi2"].to_list(), abs=1e-5)


def test_a_reference_that_is_not_there_is_replaced_with_a_note():
    _, _, fits = fitted(study(), reference="absent")
    assert fits["reference"].to_list() == ["dense"]
    assert "the reference is not absent" in fits["note"][0]


def test_query_sets_of_one_corpus_are_pooled_with_others_each_with_its_own_effect():
    one, two = study(corpora=("diwan", "fof"), n=60), study(corpora=("fof",), n=60, seed=1)
    renamed = [frame.with_columns(query_set=pl.lit("second")) for frame in two]
    terms, _, fits = fitted([pl.concat(parts) for parts in zip(one, renamed, strict=True)])
    pooled = terms.filter(pl.col("corpus") == "pooled")["term"].to_list()
    assert {"corpus fof/known-fof", "corpus fof/second"} <= set(pooled)
    fit = row(fits, model="pooled/pooled/verse")
    assert (fit["n_queries"], fit["n_clusters"]) == (180, 120)  # both sets of fof ask for the same poems


def test_corpora_are_pooled_with_a_fixed_effect():
    terms, _, fits = fitted(study(corpora=("diwan", "fof"), modes=("explanation", "verse"), n=60))
    assert fits["model"].to_list() == [
        "diwan/known-diwan/explanation",
        "diwan/known-diwan/verse",
        "fof/known-fof/explanation",
        "fof/known-fof/verse",
        "pooled/pooled/explanation",
        "pooled/pooled/verse",
    ]
    pooled = terms.filter(pl.col("corpus") == "pooled", pl.col("mode") == "verse", pl.col("kind") == "conditional")
    assert "corpus fof" in pooled["term"].to_list() and "corpus diwan" not in pooled["term"].to_list()
    assert row(fits, model="pooled/pooled/verse")["n_queries"] == 120


def test_fusions_are_not_in_the_models():
    terms, _, fits = fitted(study(systems=("bm25", "dense", "fused")), fusions=["fused"])
    assert fits["n_systems"].to_list() == [2]
    assert not terms["term"].str.contains("fused").any()


def test_the_order_of_the_input_changes_nothing():
    frames = study(corpora=("diwan", "fof"), n=40)
    for a, b in zip(fitted(frames), fitted([f.sample(fraction=1, shuffle=True, seed=1) for f in frames]), strict=True):
        assert a.equals(b)


def test_queries_that_share_poems_are_clusters_of_the_marginal_model():
    terms, _, fits = fitted(study(poems=60))
    assert fits["n_clusters"].to_list() == [60] and "by poem" in fits["note"][0]
    alone, _, _ = fitted(study())
    same = {"kind": "conditional", "term": "containment for bm25"}
    assert row(terms, **same)["se"] == pytest.approx(row(alone, **same)["se"])
    same["kind"] = "marginal"
    assert row(terms, **same)["se"] != pytest.approx(row(alone, **same)["se"])


@pytest.mark.parametrize(("value", "why"), [(1.0, "it always succeeds"), (0.0, "it never succeeds")])
def test_a_system_of_constant_success_is_left_out_with_a_note(value, why):
    per_query, *rest = study()
    terms, _, fits = fitted((succeed(per_query, "weak", value), *rest))
    assert fits["left_out"].to_list() == ["weak"] and fits["converged"].all() and why in fits["note"][0]
    left = row(terms, kind="conditional", term="containment for weak")
    assert left["p"] is None and left["note"] == f"not estimable: {why}"
    assert row(terms, kind="conditional", term="containment x bm25")["p"] is not None


def test_a_system_that_containment_separates_is_left_out():
    per_query, queries, qrels, wording = study()
    high = wording.filter(pl.col("containment") > 0.3)["query_id"].to_list()
    outcome = pl.col("query_id").is_in(high).cast(pl.Float64)
    terms, _, fits = fitted((succeed(per_query, "dense", outcome), queries, qrels, wording))
    assert fits["left_out"].to_list() == ["dense"] and fits["reference"].to_list() == ["weak"]
    assert "containment alone separates" in row(terms, kind="marginal", term="containment x dense")["note"]


def test_a_model_that_lengths_separate_has_no_p():
    per_query, queries, qrels, wording = study()
    long = wording.filter(pl.col("n_query_tokens") > 12)["query_id"].to_list()
    outcomes = per_query.with_columns(value=pl.col("query_id").is_in(long).cast(pl.Float64))
    terms, tests, fits = fitted((outcomes, queries, qrels, wording))
    assert fits["separated"].all() and "query length" in fits["note"][0]
    assert terms["p"].null_count() == len(terms) and tests["p"].null_count() == len(tests)
    assert terms["note"].str.contains("not estimable: separated").all()


def test_a_nearly_separated_system_has_no_p():
    per_query, queries, qrels, wording = study()
    ranked = wording.sort("containment")["query_id"].to_list()
    succeeding = [*ranked[60:], ranked[59]]
    succeeding.remove(ranked[60])  # two neighbours are swapped: all but separated
    outcome = pl.col("query_id").is_in(succeeding).cast(pl.Float64)
    terms, _, fits = fitted((succeed(per_query, "weak", outcome), queries, qrels, wording))
    steep = row(terms, kind="marginal", term="containment for weak")
    assert fits["left_out"].to_list() == [None]
    assert steep["se"] > 10 and steep["p"] is None and "nearly separated" in steep["note"]
    assert row(terms, kind="marginal", term="containment for bm25")["p"] < 0.001


def test_constant_outcomes_give_notes():
    per_query, *rest = study()
    terms, tests, fits = fitted((per_query.with_columns(value=pl.lit(1.0)), *rest))
    assert fits["left_out"].to_list() == ["bm25, dense, weak"] and fits["n_systems"].to_list() == [0]
    assert terms["p"].null_count() == len(terms) > 0 and tests["note"].null_count() == 0


def test_one_system_has_a_marginal_model_only():
    terms, _, fits = fitted(study(systems=("bm25",)))
    assert "one row for each group" in fits["note"][0] and fits["reference"].to_list() == ["bm25"]
    assert row(terms, kind="marginal", term="containment for bm25")["p"] < 0.001
    assert row(terms, kind="conditional", term="containment for bm25")["p"] is None


def test_one_query_few_queries_and_no_queries_do_not_crash():
    for n in (1, 2, 5):
        terms, tests, fits = fitted(study(n=n))
        assert terms["p"].null_count() == len(terms) and len(fits) == 1 and len(tests) == 3
    empty = [frame.clear() for frame in study(n=1)]
    assert all(table.is_empty() for table in fitted(empty))


def test_queries_without_target_are_left_out_and_counted():
    per_query, queries, qrels, wording = study()
    _, _, fits = fitted((per_query, queries, qrels, wording.head(118)))
    assert fits["n_queries"].to_list() == [118] and "2 queries without a target left out" in fits["note"][0]
    terms, _, fits = fitted((per_query, queries, qrels, wording.clear()))
    assert fits["n_rows"].to_list() == [0] and "no outcome to model" in fits["note"][0]
    assert terms["p"].null_count() == len(terms)


def test_constant_containment_is_dropped():
    per_query, queries, qrels, wording = study()
    terms, tests, fits = fitted((per_query, queries, qrels, wording.with_columns(containment=pl.lit(0.2))))
    assert "dropped" in fits["note"][0] and fits["converged"].all()
    assert row(terms, kind="conditional", term="containment for bm25")["note"].startswith("not estimable: constant")
    assert row(terms, kind="conditional", term="bm25")["p"] is not None
    assert row(tests, block="containment")["p"] is None


def shares(frames, proximity=None, fusions=()):
    empty = pl.DataFrame(schema=dict(PROXIMITY.columns))
    table = variance_shares(*frames, empty if proximity is None else proximity, "Recall@5", fusions)
    return check_table(table, VARIANCE_SHARES, "shares")


def test_overlap_has_most_of_what_is_explained():
    table = shares(study(n=300))
    assert len(table) == 9
    bm25 = row(table, system="bm25", group="overlap")
    assert bm25["share"] > 0.8 and 0.2 < bm25["r2_total"] < 0.9 and bm25["n"] == 300
    assert bm25["features"] == "containment longest_run"
    assert table.group_by("system").agg(pl.col("share").sum())["share"].to_list() == pytest.approx([1.0] * 3)


def test_proximity_joins_the_overlap_features():
    frames = study(n=200)
    near = frames[3].select("corpus", "query_set", "query_id", proximity=pl.col("containment").sqrt())
    near = near.with_columns(mode=pl.lit("verse"), encoder=pl.lit("e5")).select(list(PROXIMITY.columns))
    table = shares(frames, near)
    assert "proximity" in row(table, system="bm25", group="overlap")["features"]
    one = row(table, system="bm25", group="overlap")["r2_total"]
    assert one >= row(shares(frames), system="bm25", group="overlap")["r2_total"] - 1e-9


def test_shares_that_cannot_be_estimated_say_why():
    per_query, *rest = study()
    table = shares((succeed(per_query, "weak", 0.0), *rest))
    left = row(table, system="weak", group="overlap")
    assert left["share"] is None and left["note"] == "not estimable: the outcome is constant"
    assert shares((per_query, *rest[:2], rest[2].clear()))["note"].null_count() == 0
    assert shares(study(n=1))["share"].null_count() == 9


def test_the_verb_writes_the_tables(tmp_path):
    per_query, queries, qrels, wording = study(n=60)
    write_table(per_query, tmp_path / "per_query.parquet", PER_QUERY)
    write_table(queries, tmp_path / "queries" / "known-fof.parquet", QUERIES)
    write_table(qrels, tmp_path / "queries" / "known-fof.qrels.parquet", QRELS)
    write_table(wording, tmp_path / "wording.parquet", WORDING)
    out = {name: str(tmp_path / f"{name}.csv") for name in ("terms", "tests", "fits", "shares")}
    options = ["--results", str(tmp_path), "--query-sets", "known-fof", "--wording", str(tmp_path / "wording.parquet")]
    written = [part for name, path in out.items() for part in (f"--{name}", path)]
    verb = ["fit_mixed_models", *options, "--success", "Recall@5", "--lexical", "bm25", *written]
    assert main(verb) == 0
    assert len(read_table(out["terms"], MIXED_MODEL)) == 2 * 11
    assert len(read_table(out["tests"], MIXED_MODEL_TESTS)) == 3
    assert read_table(out["fits"], MIXED_MODEL_FIT)["reference"].to_list() == ["dense"]
    assert len(read_table(out["shares"], VARIANCE_SHARES)) == 9


@pytest.mark.slow
def test_a_study_of_the_size_of_the_paper_is_fast():
    frames = study(
        corpora=("diwan", "fof"),
        systems=("bm25", *(f"dense{i}" for i in range(9))),
        modes=("explanation", "verse", "verse+explanation"),
        n=250,
    )
    start = time.perf_counter()
    _, _, fits = fitted(frames)
    assert len(fits) == 9 and fits["converged"].all()
    assert time.perf_counter() - start < 60
