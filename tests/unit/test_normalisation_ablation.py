"""Systems under other normalisations of the text than their own."""

import json

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from verseir.__main__ import main
from verseir.analyses.contrasts import compare
from verseir.analyses.normalisation import NORMALISATION, ablate_normalisation
from verseir.analyses.paired import Draws
from verseir.layout import Run
from verseir.measures import per_query
from verseir.tables import QRELS, QUERIES, RUN, check_table, read_table, write_table

DRAWS = Draws(500, 999, 1)
MEASURES = ["Recall@1", "MRR"]
VARIANTS = {
    "bm25": {"raw": "bm25.raw", "light": "bm25.light", "full": "bm25"},
    "e": {"raw": "e.raw", "light": "e", "full": "e.full"},
}


def study(ranks, n=40, poems=None, modes=("verse",)):
    """What ``judged_runs`` gives, and QUERIES; ``ranks``: run -> the rank of each query's poem, 0 where not found."""
    ids = [f"q{i:03d}" for i in range(n)]
    gold = poems or [f"p{i:03d}" for i in range(n)]
    qrels = pl.DataFrame([(q, p, 1) for q, p in zip(ids, gold, strict=True)], schema=dict(QRELS.columns), orient="row")
    queries = pl.DataFrame([(q, "set", "t", *[None] * 5) for q in ids], schema=dict(QUERIES.columns), orient="row")
    judged = []
    for mode in modes:
        for name, places in ranks.items():
            rows = [
                (q, p if r == rank else f"x{r}", r, -float(r), None)
                for q, p, rank in zip(ids, gold, places, strict=True)
                for r in range(1, rank + 1)
            ]
            run = pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")
            judged.append((Run("c", mode, "set", name), run, qrels, ids))
    return judged, queries


def random_ranks(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return {run: rng.integers(0, 5, n).tolist() for runs in VARIANTS.values() for run in runs.values()}


def ablated(ranks, variants=VARIANTS, measures=MEASURES, draws=DRAWS, **settings):
    table = ablate_normalisation(*study(ranks, **settings), variants, measures, draws)
    check_table(table, NORMALISATION, "here")
    assert not table.select(pl.col(pl.Float64).is_nan().any()).row(0).count(True)
    return table


def test_each_preset_is_compared_with_the_systems_own():
    ranks = random_ranks()
    judged, _ = study(ranks)
    table = ablated(ranks)
    assert len(table) == 2 * 3 * 2
    values = {}
    for one, run, qrels, ids in judged:
        for (measure,), part in per_query(run, qrels, ids, MEASURES).group_by("measure"):
            values[one.system, measure] = part.sort("query_id")["value"].to_numpy()
    for row in table.iter_rows(named=True):
        theirs = values[VARIANTS[row["system"]][row["preset"]], row["measure"]]
        assert row["mean"] == pytest.approx(theirs.mean())
        assert row["mean_ci_low"] < row["mean"] < row["mean_ci_high"]
        assert row["own_preset"] == {"bm25": "full", "e": "light"}[row["system"]]
        if row["preset"] == row["own_preset"]:
            assert (row["estimate"], row["p"], row["note"]) == (None, None, "the system's own")
        else:
            expected = compare(theirs, values[row["system"], row["measure"]], None, *DRAWS)
            assert (row["estimate"], row["test"]) == (pytest.approx(expected.estimate), expected.test)
            assert (row["p"], row["ci_low"]) == pytest.approx((expected.p, expected.ci_low))
            assert row["note"] is None


def test_a_family_is_one_measure_in_one_corpus_query_set_and_mode():
    table = ablated(random_ranks(), modes=("both", "verse"))
    assert table["family"].unique().sort().to_list() == [
        f"normalisation/c/set/{mode}/{measure}" for mode in ("both", "verse") for measure in ("MRR", "Recall@1")
    ]
    assert table["family_size"].to_list() == [4] * 24
    assert (table["p_holm"].drop_nulls() >= table["p"].drop_nulls()).all()


def test_texts_that_no_preset_changes_score_alike():
    ranks = random_ranks()
    ranks["e.raw"] = ranks["e"]
    table = ablated(ranks).filter(pl.col("system") == "e", pl.col("preset") == "raw")
    assert table["estimate"].to_list() == [0.0, 0.0]
    assert table["note"].to_list() == ["all queries score alike"] * 2
    assert table["p"].to_list() == [1.0, 1.0]


def test_queries_of_one_poem_are_tested_together():
    table = ablated(random_ranks(), poems=[f"p{i // 2}" for i in range(40)])
    assert table.filter(pl.col("estimate").is_not_null())["test"].str.ends_with("by poem").all()


def test_the_order_of_the_input_changes_nothing():
    judged, queries = study(random_ranks(), modes=("both", "verse"))
    first = ablate_normalisation(judged, queries, VARIANTS, MEASURES, DRAWS)
    turned = [(one, run.reverse(), qrels.reverse(), ids[::-1]) for one, run, qrels, ids in reversed(judged)]
    again = ablate_normalisation(turned, queries.reverse(), VARIANTS, MEASURES[::-1], DRAWS)
    assert_frame_equal(first, again, check_exact=True)


def test_one_query_and_missing_runs_are_told():
    table = ablated(random_ranks(n=1), n=1)
    assert table.filter(pl.col("preset") != pl.col("own_preset"))["note"].str.contains("fewer than two").all()
    ranks = random_ranks()
    del ranks["e"]
    table = ablated(ranks)
    assert table.filter(system="e")["note"].unique().to_list() == ["not estimable: no run of the system's own preset"]
    assert table.filter(system="bm25")["family_size"].unique().to_list() == [2]
    table = ablated(random_ranks(), variants={"e": {"raw": "e.raw"}})
    assert table["own_preset"].null_count() == len(table) == 2


def test_constant_outcomes_and_nothing_at_all():
    table = ablated(dict.fromkeys(random_ranks(), [1] * 40))
    assert table["mean"].unique().to_list() == [1.0]
    assert table.filter(pl.col("estimate").is_not_null())["p"].unique().to_list() == [1.0]
    assert ablated({}).is_empty()
    assert ablated(random_ranks(n=0), n=0).is_empty()


def test_the_verb_writes_its_table(tmp_path):
    judged, queries = study(random_ranks())
    (tmp_path / "queries").mkdir()
    write_table(queries, tmp_path / "queries/set.parquet", QUERIES)
    write_table(judged[0][2], tmp_path / "queries/set.qrels.parquet", QRELS)
    for one, run, _, _ in judged:
        path = one.path(tmp_path / "runs")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_table(run, path, RUN)
    systems = {run: "dense" for runs in VARIANTS.values() for run in runs.values()}
    cross = {"query_sets": {"set": ["c"]}, "modes": {"c": ["verse"]}, "systems": systems}
    options = ["--results", str(tmp_path), "--variants", json.dumps(VARIANTS), "--measures", "Recall@1", "MRR"]
    options += ["--resamples", "200", "--flips", "999", "--seed", "1", "--output", str(tmp_path / "out.csv")]
    assert main(["ablate_normalisation", "--cross", json.dumps(cross), *options]) == 0
    assert len(read_table(tmp_path / "out.csv", NORMALISATION)) == 12
    assert main(["ablate_normalisation", "--cross", json.dumps(cross | {"query_sets": {}}), *options]) == 0
    assert read_table(tmp_path / "out.csv", NORMALISATION).is_empty()
