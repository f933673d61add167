"""The search for the best fusion: its ranks are those of the real fusion, and its choices do not flatter themselves."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from strata_study import cross as strata_cross
from strata_study import verb, write_results

from verseir.__main__ import main
from verseir.analyses.fused_ranks import code_arm, fused_ranks, measure_subsets, unite
from verseir.analyses.fusion_search import (
    FUSION,
    FUSION_CONTRASTS,
    FUSION_SUBSETS,
    SELECTIONS,
    Search,
    choose,
    search_fusions,
    subsets_of,
)
from verseir.analyses.inputs import whole_modes
from verseir.analyses.paired import Draws
from verseir.faults import UserError
from verseir.fusion import reciprocal_rank_fusion
from verseir.layout import Run
from verseir.measures import parse_measure, per_query, read_judgements
from verseir.stats.cross_validation import corrected_t, deal_folds, widened_means
from verseir.tables import PER_QUERY, QRELS, QUERIES, RUN, check_table, read_table, write_table

DRAWS = Draws(500, 999, 1)
SEARCH = Search(max_arms=3, k=60, depth=100, folds=10)


def run_of(rankings):
    rows = [(q, p, r, -float(r), None) for q, poems in rankings.items() for r, p in enumerate(poems, 1)]
    return pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")


def qrels_of(grades):
    rows = [(q, p, g) for q, poems in grades.items() for p, g in poems.items()]
    return pl.DataFrame(rows, schema=dict(QRELS.columns), orient="row")


def queries_of(ids):
    rows = [(q, "set", "text", *[None] * 5) for q in ids]
    return pl.DataFrame(rows, schema=dict(QUERIES.columns), orient="row")


def judged(arms, qrels, ids, corpus="c"):
    """What ``judged_runs`` gives; ``arms``: (system, mode) -> RUN."""
    return [(Run(corpus, mode, "set", system), run, qrels, ids) for (system, mode), run in arms.items()]


def known_item(successes, poems=None):
    """A study in which each arm has the poem of a query at rank 1 or, where it fails, another poem alone."""
    n = len(next(iter(successes.values())))
    ids = [f"q{i:03d}" for i in range(n)]
    gold = poems or [f"p{i:03d}" for i in range(n)]
    arms = {
        arm: run_of({q: [g if s else "other"] for q, g, s in zip(ids, gold, success, strict=True)})
        for arm, success in successes.items()
    }
    return judged(arms, qrels_of({q: {g: 1} for q, g in zip(ids, gold, strict=True)}), ids), queries_of(ids)


def searched(study, lexical=("bm25",), measure="Recall@1", search=SEARCH, draws=DRAWS):
    found = search_fusions(*study, {"set": measure}, lexical, search, draws, threads=1)
    for table, contract in zip(found, (FUSION, FUSION_CONTRASTS, FUSION_SUBSETS), strict=True):
        check_table(table, contract, "here")
        floats = table.select(pl.col(pl.Float64))
        assert floats.fill_nan(None).null_count().equals(floats.null_count()), "a NaN in a table"
    return found


def selection(found, name):
    return found.best.filter(pl.col("selection") == name).row(0, named=True)


POEMS = [f"{letter}{digit}" for letter in "abcdé" for digit in range(8)]
RANKINGS = st.dictionaries(st.sampled_from("pqr"), st.lists(st.sampled_from(POEMS), unique=True), max_size=3)
GRADES = st.dictionaries(st.sampled_from("pqrs"), st.dictionaries(st.sampled_from(POEMS), st.integers(0, 3)))
MEASURES = st.sampled_from(["Recall@1", "Recall@5", "MRR", "nDCG@10", "nDCG", "MAP", "Rprec", "P@3", "Success@2"])


@settings(max_examples=60, deadline=None)
@given(st.lists(RANKINGS, min_size=1, max_size=5), GRADES, MEASURES, st.sampled_from([0, 1, 60]), st.integers(1, 30))
def test_every_subset_has_the_value_of_the_real_fusion(rankings, grades, measure, k, depth):
    runs, qrels, ids = [run_of(one) for one in rankings], qrels_of(grades), ["p", "q", "r", "s"]
    subsets = subsets_of(len(runs), 4)
    arms = unite([code_arm(run, ids) for run in runs])
    values = measure_subsets(arms, read_judgements(qrels, ids), subsets, parse_measure(measure), k, depth, threads=1)
    for subset, value in zip(subsets, values, strict=True):
        fused = reciprocal_rank_fusion([runs[arm] for arm in subset if arm >= 0], k, depth)
        assert value.tolist() == per_query(fused, qrels, ids, [measure])["value"].to_list()


@pytest.mark.parametrize("cut", [5, 300])
def test_deep_lists_give_the_ranks_of_the_real_fusion(cut):
    rng = np.random.default_rng(4)
    poems, ids = [f"p{i:04d}" for i in range(900)], ["q1", "q2", "q3"]
    runs = [run_of({q: rng.permutation(poems)[:300].tolist() for q in ids}) for _ in range(6)]
    qrels = qrels_of({q: dict.fromkeys(poems[i::60], 1) for i, q in enumerate(ids)})
    relevant = read_judgements(qrels, ids)
    arms = unite([code_arm(run, ids) for run in runs])
    subsets = subsets_of(6, 3)
    ranks = fused_ranks(arms, relevant, subsets, 60, cut, threads=2)
    for s in rng.choice(len(subsets), 20, replace=False):
        fused = reciprocal_rank_fusion([runs[arm] for arm in subsets[s] if arm >= 0], 60, cut)
        known = {(q, p): r for q, p, r in fused.select("query_id", "poem_id", "rank").rows()}
        expected = [known.get(key, 0) for key in relevant.relevant.select("query_id", "poem_id").rows()]
        assert ranks[s].tolist() == expected
    assert (ranks > 0).any()


def test_subsets_come_in_order_and_not_without_end():
    assert subsets_of(3, 2).tolist() == [[0, -1], [1, -1], [2, -1], [0, 1], [0, 2], [1, 2]]
    assert subsets_of(1, 3).tolist() == [[0]]
    assert len(subsets_of(30, 3)) == 4525
    with pytest.raises(UserError, match="more than"):
        subsets_of(100, 4)


def test_the_best_of_each_selection_is_found():
    rng = np.random.default_rng(1)
    half = rng.random(60) < 0.5
    found = searched(known_item({("bm25", "verse"): half, ("e", "verse"): ~half, ("f", "verse"): np.zeros(60)}))
    assert found.best["selection"].to_list() == list(SELECTIONS)
    best = selection(found, "any")
    # A fusion of two arms ties the poem that is sought with "other", which comes first by name: no fusion helps here.
    assert best["arms"] == ("bm25/verse" if half.sum() >= 30 else "e/verse")
    assert (best["n_subsets"], best["n_queries"]) == (7, 60)
    assert best["in_sample"] == max(half.mean(), 1 - half.mean())
    assert selection(found, "single without lexical")["arms"] == "e/verse"
    assert found.subsets["n_arms"].value_counts().sort("n_arms")["count"].to_list() == [3, 3, 1]
    assert found.subsets.filter("lexical")["arms"].str.contains("bm25").all()
    assert found.subsets["in_sample"].is_sorted(descending=True)


def test_fusing_finds_what_no_arm_finds_alone():
    n = 40
    ids = [f"q{i:02d}" for i in range(n)]
    first = run_of({q: [f"x{i}", f"p{i}", f"y{i}"] for i, q in enumerate(ids)})
    second = run_of({q: [f"z{i}", f"p{i}", f"w{i}"] for i, q in enumerate(ids)})
    qrels = qrels_of({q: {f"p{i}": 1} for i, q in enumerate(ids)})
    arms = {("bm25", "verse"): first, ("e", "verse"): second}
    found = searched((judged(arms, qrels, ids), queries_of(ids)))
    best = selection(found, "any")
    assert (best["arms"], best["in_sample"], best["cross_validated"]) == ("bm25/verse + e/verse", 1.0, 1.0)
    assert (best["n_distinct_choices"], best["most_chosen"]) == (1, "bm25/verse + e/verse")
    assert best["ci_low"] < 1.0
    assert selection(found, "single arm")["cross_validated"] == 0.0
    gain = found.contrasts.filter(pl.col("a") == "any").row(0, named=True)
    assert (gain["b"], gain["in_sample_difference"], gain["estimate"]) == ("single arm", 1.0, 1.0)
    assert 0 < gain["p"] < 0.01
    assert gain["family_size"] == 2


def test_equals_are_decided_by_fewer_arms_then_by_name():
    found = searched(known_item({("b", "verse"): [1] * 20, ("a", "verse"): [1] * 20}), lexical=())
    assert selection(found, "any")["arms"] == "a/verse"
    assert selection(found, "with a lexical arm")["note"] == "not estimable: no run is lexical"


def test_chance_is_not_taken_for_skill():
    rng = np.random.default_rng(0)
    gaps = []
    for seed in range(40):
        value = (rng.random((200, 100)) < 0.5).astype(float)
        choice = choose(value, np.arange(200), deal_folds(100, None, 10, seed))
        gaps.append((value[choice.best].mean() - 0.5, choice.held_out.mean() - 0.5))
    in_sample, held_out = np.mean(gaps, axis=0)
    assert in_sample > 0.1
    assert abs(held_out) < 0.04


def test_a_choice_sees_nothing_of_the_fold_it_is_judged_on():
    rng = np.random.default_rng(2)
    value, folds = rng.random((30, 50)), deal_folds(50, None, 5, 0)
    before = choose(value, np.arange(30), folds)
    value[:, folds == 3] = 0.0
    after = choose(value, np.arange(30), folds)
    assert after.of_fold[3] == before.of_fold[3]


def test_folds_keep_clusters_whole_and_level():
    clusters = np.repeat(np.arange(25), 3)
    folds = deal_folds(75, clusters, 10, 7)
    assert all(len(set(folds[clusters == c])) == 1 for c in range(25))
    assert sorted(np.bincount(folds) // 3) == [2] * 5 + [3] * 5
    assert np.array_equal(folds, deal_folds(75, clusters, 10, 7))
    assert sorted(deal_folds(4, None, 10, 0)) == [0, 1, 2, 3]
    assert deal_folds(6, np.zeros(6, dtype=np.int64), 10, 0) is None


def test_the_correction_keeps_a_test_of_equals_near_its_level():
    """Two sets of candidates of the same skill: a plain t test of the held-out values rejects far too often."""
    from scipy import stats

    rng = np.random.default_rng(3)
    corrected, plain = 0, 0
    for seed in range(200):
        value = (rng.random((40, 120)) < 0.5).astype(float)
        folds = deal_folds(120, None, 10, seed)
        a, b = (choose(value, np.arange(part, part + 20), folds).held_out for part in (0, 20))
        corrected += corrected_t(a - b, None, 10).p < 0.05
        plain += stats.ttest_rel(a, b).pvalue < 0.05
    assert plain / 200 > 0.15
    assert corrected / 200 < 0.12


def test_corrected_t_by_hand():
    values = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    found = corrected_t(values, None, 3)
    error = values.std(ddof=1) / np.sqrt(6) * np.sqrt(1 + 3 / 2)
    assert found.estimate == pytest.approx(2 / 3)
    assert (found.high - found.low) / 2 == pytest.approx(2.5705818366 * error)
    by_poem = corrected_t(np.repeat(values, 2), np.repeat(np.arange(6), 2), 3)
    assert by_poem == pytest.approx(found)
    assert np.isnan(corrected_t(np.ones(5), None, 5).p)


def test_widened_intervals_stay_on_the_scale():
    values = np.column_stack([np.r_[np.ones(19), 0.0], np.ones(20), np.zeros(20)])
    mean, low, high = widened_means(values, None, 10, 500, 0)
    assert mean.tolist() == [0.95, 1.0, 0.0]
    assert (low >= 0).all()
    assert (high <= 1).all()


def test_the_order_of_the_input_and_threads_change_nothing():
    rng = np.random.default_rng(6)
    names = [("bm25", "verse"), ("bm25", "both"), ("e", "verse"), ("e", "both")]
    runs, queries = known_item({name: rng.random(40) < 0.5 for name in names}, [f"p{i // 2}" for i in range(40)])
    first = searched((runs, queries), measure="MRR")
    turned = [(one, run.reverse(), qrels.reverse(), ids[::-1]) for one, run, qrels, ids in reversed(runs)]
    again = search_fusions(turned, queries.reverse(), {"set": "MRR"}, ["bm25"], SEARCH, DRAWS, threads=2)
    for a, b in zip(first, again, strict=True):
        assert_frame_equal(a, b, check_exact=True)
    assert first.contrasts["test"].str.ends_with("by poem").all()


def test_one_run_alone_has_single_rows_only():
    found = searched(known_item({("bm25", "verse"): [1, 0] * 10}))
    assert selection(found, "single arm")["in_sample"] == 0.5
    for name in ("any", "with a lexical arm", "without a lexical arm"):
        row = selection(found, name)
        assert row["note"] == "not estimable: there is one run alone, nothing to fuse"
        assert row["arms"] is row["cross_validated"] is None
    assert "every run is lexical" in selection(found, "single without lexical")["note"]
    assert found.contrasts["p"].null_count() == 2
    assert found.contrasts["note"].str.starts_with("not estimable").all()
    assert found.contrasts["family_size"].to_list() == [0, 0]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_queries_are_told(n):
    found = searched(known_item({("bm25", "verse"): [1] * n, ("e", "verse"): [0] * n}))
    row = selection(found, "any")
    assert row["in_sample"] == 1.0
    if n == 1:
        assert row["cross_validated"] is None
        assert "fewer than two independent queries" in row["note"]
        assert found.contrasts["p"].null_count() == 2
    else:
        assert row["cross_validated"] == 1.0
        assert row["note"] == f"{n} folds: one for each independent query"
        assert (found.contrasts["p"] > 0).all()


def test_queries_without_answers_and_studies_without_queries():
    qrels = qrels_of({"q1": {"p1": 1}, "q2": {"p2": 1}})
    arms = {("bm25", "verse"): run_of({}), ("e", "verse"): run_of({})}
    found = searched((judged(arms, qrels, ["q1", "q2"]), queries_of(["q1", "q2"])))
    assert found.best["in_sample"].to_list() == [0.0] * 5
    assert found.contrasts["p"].to_list() == [1.0, 1.0]
    assert all(table.is_empty() for table in searched((judged(arms, qrels, []), queries_of([]))))
    assert all(table.is_empty() for table in searched(([], queries_of([]))))


def test_the_verb_writes_its_tables(tmp_path):
    runs, queries = known_item({("bm25", "verse"): [1, 0] * 6, ("e", "verse"): [0, 1] * 6})
    (tmp_path / "queries").mkdir()
    write_table(queries, tmp_path / "queries/set.parquet", QUERIES)
    write_table(runs[0][2], tmp_path / "queries/set.qrels.parquet", QRELS)
    for one, run, _, _ in runs:
        path = one.path(tmp_path / "runs")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_table(run, path, RUN)
    cross = {
        "query_sets": {"set": ["c"], "other": ["c"]},
        "modes": {"c": ["verse"]},
        "systems": {"bm25": "bm25", "e": "dense"},
    }
    files = [tmp_path / name for name in ("fusion.csv", "contrasts.csv", "subsets.csv")]
    options = {"--max-arms": 3, "--k": 60, "--depth": 10, "--folds": 10, "--resamples": 200, "--flips": 999}
    options |= {"--seed": 1, "--output": files[0], "--contrasts": files[1], "--subsets": files[2], "--lexical": "bm25"}
    options |= {"--results": tmp_path, "--cross": json.dumps(cross)}
    for measures in ({"set": "Recall@1"}, {}):
        told = [str(part) for option in (options | {"--measures": json.dumps(measures)}).items() for part in option]
        assert main(["search_fusions", *told]) == 0
        tables = [read_table(*one) for one in zip(files, (FUSION, FUSION_CONTRASTS, FUSION_SUBSETS), strict=True)]
        assert [len(table) for table in tables] == ([5, 2, 3] if measures else [0, 0, 0])


def test_runs_with_other_relevant_poems_are_not_fused():
    runs, queries = known_item({("bm25", "verse"): [1, 0] * 6, ("e", "some"): [0, 1] * 6})
    (run, ranked, qrels, ids) = runs[1]
    with pytest.raises(ValueError, match="other judgements"):
        searched(([runs[0], (run, ranked, qrels.head(6), ids)], queries))
    with pytest.raises(ValueError, match="other judgements"):
        searched(([runs[0], (run, ranked, qrels, ids[:6])], queries))


@pytest.mark.parametrize("modes", [("full", "plain"), ("aaa", "plain"), ("plain", "zzz")])
def test_single_arms_have_the_means_of_the_leaderboard_whatever_modes_are_called(tmp_path, modes):
    write_results(tmp_path, modes=("full", "plain"))
    whole = next(mode for mode in modes if mode != "plain")
    if whole != "full":
        (tmp_path / "runs/c/full").rename(tmp_path / f"runs/c/{whole}")
    cross = strata_cross(modes=modes)
    assert verb("evaluate_runs", tmp_path, cross=cross, measures=["nDCG@10"], output=tmp_path / "values.parquet") == 0
    values = read_table(tmp_path / "values.parquet", PER_QUERY)
    files = {"output": "fusion.csv", "contrasts": "contrasts.csv", "subsets": "subsets.csv"}
    options = {"max_arms": 2, "k": 60, "depth": 20, "folds": 3, "resamples": 99, "flips": 99, "seed": 1}
    options |= {name: tmp_path / file for name, file in files.items()}
    assert verb("search_fusions", tmp_path, cross=cross, measures={"span": "nDCG@10"}, **options) == 0
    subsets = read_table(tmp_path / "subsets.csv", FUSION_SUBSETS)
    found = dict(subsets.filter(pl.col("n_arms") == 1).select("arms", "in_sample").iter_rows())
    board = values.filter(pl.col("mode") == whole).group_by("system").agg(pl.col("value").mean()).iter_rows()
    assert found == pytest.approx({f"{system}/{whole}": mean for system, mean in board})
    assert len(found) == 2
    assert subsets["arms"].str.contains("plain").sum() == 0
    said = read_table(tmp_path / "fusion.csv", FUSION)["note"]
    assert said.str.contains("modes of some poems only take no part: plain").all()


def test_where_every_mode_keeps_some_poems_there_is_nothing_to_fuse(tmp_path):
    write_results(tmp_path, modes=("plain",))
    rest, apart = whole_modes(strata_cross(modes=("plain",)))
    assert (rest["modes"], apart) == ({"c": []}, {("c", "span"): ["plain"]})
    assert "kept" not in rest
    unkept = {name: value for name, value in strata_cross(modes=("full",)).items() if name != "kept"}
    assert whole_modes(unkept) == (unkept, {})
