"""What predicts success: small studies whose answers are built in."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from verseir.__main__ import main
from verseir.analyses.mechanism import MECHANISM, MECHANISM_SUMMARY, Kinds, mechanism, summarise_mechanism
from verseir.analyses.paired import Draws
from verseir.overlap import INDEXED, PROXIMITY
from verseir.tables import PER_QUERY, QRELS, QUERIES, check_table, read_table, write_table

KINDS = Kinds(["words"], ["fused"], [])
DRAWS = Draws(199, 0, 1)


class Study:
    """Outcomes of three systems in two modes; in the base mode they follow what their kind sees."""

    def __init__(self, n=80, gold=None, modes=("verse", "explanation"), seed=0):
        rng = np.random.default_rng(seed)
        ids = [f"q{i:03d}" for i in range(n)]
        self.containment = {mode: rng.integers(0, 9, n) / 8 for mode in modes}
        self.proximity = {mode: rng.random(n) for mode in modes}
        self.outcomes = {}
        for mode in modes:
            noise = 0.1 * rng.normal(size=(4, n))
            self.outcomes[mode, "words"] = self.containment[mode] + noise[0] > 0.5
            self.outcomes[mode, "meaning"] = self.proximity[mode] + noise[1] > 0.5
            self.outcomes[mode, "nearness"] = self.proximity[mode] > 0.5
            self.outcomes[mode, "fused"] = rng.random(n) > 0.5
        self.queries = pl.DataFrame(
            [(q, "known", "text", *[None] * 5) for q in ids], schema=dict(QUERIES.columns), orient="row"
        )
        gold = gold or [f"p{i}" for i in range(n)]
        qrels = [(q, poem, 1) for q, poem in zip(ids, gold, strict=True)]
        self.qrels = pl.DataFrame(qrels, schema=dict(QRELS.columns), orient="row").with_columns(
            query_set=pl.lit("known")
        )
        rows = [
            ("c", mode, "known", system, q, "Recall@5", float(value))
            for (mode, system), values in self.outcomes.items()
            for q, value in zip(ids, values, strict=True)
        ]
        self.per_query = pl.DataFrame(rows, schema=dict(PER_QUERY.columns), orient="row")
        lexical = [
            ("c", m, "known", q, float(v), 0) for m in modes for q, v in zip(ids, self.containment[m], strict=True)
        ]
        self.indexed = pl.DataFrame(lexical, schema=dict(INDEXED.columns), orient="row")
        near = [
            ("c", m, "known", q, "nearness", float(v))
            for m in modes
            for q, v in zip(ids, self.proximity[m], strict=True)
        ]
        self.near = pl.DataFrame(near, schema=dict(PROXIMITY.columns), orient="row")

    def table(self, **given):
        frames = {"per_query": self.per_query, "queries": self.queries, "qrels": self.qrels} | {
            "indexed": self.indexed,
            "proximity": self.near,
        }
        return mechanism(**(frames | given), measures=["Recall@5"], base_mode="verse", kinds=KINDS, draws=DRAWS).pipe(
            check_table, MECHANISM, "test"
        )


def row(table, system, mode="verse", against=None):
    (found,) = table.filter(
        pl.col("system") == system, pl.col("mode") == mode, pl.col("against_mode").eq_missing(pl.lit(against))
    ).iter_rows(named=True)
    return found


@pytest.fixture(scope="module")
def study():
    return Study()


@pytest.fixture(scope="module")
def table(study):
    return study.table()


def test_each_kind_of_system_follows_what_it_sees(study, table):
    words, meaning = row(table, "words"), row(table, "meaning")
    assert (words["better"], meaning["better"]) == ("lexical", "embedding")
    assert row(table, "fused")["better"] == "not separated"
    expected = stats.spearmanr(study.outcomes["verse", "words"], study.containment["verse"]).statistic
    assert words["rho_lexical"] == pytest.approx(expected)
    assert words["lexical_low"] < words["rho_lexical"] < words["lexical_high"]
    assert words["difference"] == pytest.approx(words["rho_lexical"] - words["rho_embedding"])
    assert words["difference_low"] > 0
    assert words["mean"] == pytest.approx(study.outcomes["verse", "words"].mean())
    assert words["n"] == 80
    assert words["note"] is None


def test_changes_between_modes_are_set_beside_changes_of_the_predictors(study, table):
    found = row(table, "words", "explanation", "verse")
    change = study.outcomes["explanation", "words"].astype(float) - study.outcomes["verse", "words"]
    # Eighths are exact: no change here is tied or parted by rounding.
    expected = stats.spearmanr(change, study.containment["explanation"] - study.containment["verse"]).statistic
    assert found["rho_lexical"] == pytest.approx(expected)
    assert found["mean"] == pytest.approx(study.outcomes["verse", "words"].mean())
    assert found["better"] == "lexical"
    assert set(table["against_mode"]) == {None, "verse"}
    assert len(table) == 4 * 3


def test_the_four_tests_stand_beside_where_queries_are_independent(table):
    found = row(table, "words")
    assert all(0 < found[name] < 0.001 for name in ("p_meng", "p_steiger", "p_hittner", "p_williams"))
    assert 2 / 200 <= found["p"] < 0.05
    shared = row(Study(gold=[f"p{i // 2}" for i in range(80)]).table(), "words")
    assert shared["p_hittner"] is None
    assert "share poems" in shared["note"]
    assert shared["rho_lexical"] == found["rho_lexical"]
    assert shared["better"] == "lexical"


def test_corrections_are_over_the_systems_of_one_place(table):
    sizes = table.group_by("family").agg(pl.len(), pl.col("family_size").first(), pl.col("mode").n_unique())
    assert sizes["len"].to_list() == sizes["family_size"].to_list() == [4, 4, 4]
    assert sizes["mode"].to_list() == [1, 1, 1]
    assert (table["p_holm"] >= table["p"]).all()


def test_the_reference_encoder_is_marked_and_left_out_of_the_second_count(table):
    assert table.filter("reference")["system"].unique().to_list() == ["nearness"]
    assert table.group_by("system").agg(pl.col("signal").first()).sort("system")["signal"].to_list() == [
        "fusion", "dense", "dense", "lexical",
    ]  # fmt: skip
    summary = check_table(summarise_mechanism(table), MECHANISM_SUMMARY, "test")
    dense = summary.filter(pl.col("signal") == "dense", pl.col("mode") == "verse").sort("with_reference")
    assert dense["n_systems"].to_list() == [1, 2]
    assert dense["embedding_better"].to_list() == dense["embedding_separated"].to_list() == [1, 2]
    assert dense["lexical_better"].to_list() == [0, 0]
    assert dense["note"].to_list() == ["not estimable: fewer than three dense systems"] * 2
    assert dense["p"].to_list() == [None, None]


def test_stronger_dense_encoders_that_lean_less_on_words_are_seen():
    study = Study()
    rng = np.random.default_rng(9)
    ids, words = study.queries["query_id"].to_list(), study.containment["verse"]
    parts = [study.per_query]
    for k in range(4):  # the more queries succeed whatever their wording, the less success follows the wording
        values = (rng.random(80) < 0.25 * k) | (words > 0.6)
        rows = [("c", "verse", "known", f"dense{k}", q, "Recall@5", float(v)) for q, v in zip(ids, values, strict=True)]
        parts.append(pl.DataFrame(rows, schema=dict(PER_QUERY.columns), orient="row"))
    kept = pl.concat(parts).filter(~pl.col("system").is_in(["meaning", "nearness"]))
    summary = summarise_mechanism(study.table(per_query=kept))
    (found,) = summary.filter(pl.col("signal") == "dense", pl.col("mode") == "verse").iter_rows(named=True)
    assert found["tau"] == -1
    assert found["p"] == pytest.approx(2 / 24)
    assert found["rho"] == -1
    assert found["test"] == "Kendall tau-b, exact"


def test_without_a_reference_encoder_containment_is_still_reported(study, table):
    found = row(study.table(proximity=pl.DataFrame(schema=dict(PROXIMITY.columns))), "words")
    assert found["rho_lexical"] == row(table, "words")["rho_lexical"]
    assert (found["rho_embedding"], found["p"], found["better"]) == (None, None, None)
    assert "no reference encoder" in found["note"]
    assert not found["reference"]


def test_queries_without_a_proximity_are_left_out_and_counted(study):
    found = row(study.table(proximity=study.near.filter(pl.col("query_id") > "q004")), "words")
    assert found["n"] == 75
    assert found["note"] == "5 without a proximity left out"


def test_what_is_not_estimable_says_why(study):
    flat = study.per_query.with_columns(value=pl.when(pl.col("system") == "words").then(1.0).otherwise(pl.col("value")))
    found = row(study.table(per_query=flat), "words")
    assert found["note"] == "not estimable: the value is the same for every query"
    assert (found["rho_lexical"], found["p"], found["mean"]) == (None, None, 1.0)
    found = row(study.table(per_query=flat), "words", "explanation", "verse")
    assert found["note"] == "not estimable: the change is the same for every query"
    no_words = study.table(indexed=study.indexed.with_columns(containment=0.0))
    assert "containment is the same for every query" in row(no_words, "words")["note"]
    assert row(no_words, "words")["rho_embedding"] is not None
    no_targets = row(study.table(indexed=study.indexed.clear()), "words")
    assert no_targets["note"].startswith("not estimable: no query has a target")
    assert no_targets["n"] == 0


def test_one_query_one_system_and_nothing_at_all():
    study = Study()
    one = study.table(per_query=study.per_query.filter(pl.col("query_id") == "q000"))
    assert set(one["note"]) == {"not estimable: one query"}
    alone = study.table(per_query=study.per_query.filter(pl.col("system") == "words"))
    assert alone["family_size"].unique().to_list() == [1]
    few = study.table(per_query=study.per_query.filter(pl.col("query_id") < "q003"))
    assert few["p"].null_count() == len(few)
    assert few["note"].null_count() == 0
    nothing = study.table(per_query=study.per_query.clear())
    assert len(nothing) == 0
    assert len(check_table(summarise_mechanism(nothing), MECHANISM_SUMMARY, "test")) == 0


def test_the_order_of_rows_does_not_matter(study, table):
    shuffled = study.table(
        per_query=study.per_query.sample(fraction=1, shuffle=True, seed=2),
        indexed=study.indexed.sample(fraction=1, shuffle=True, seed=3),
        proximity=study.near.sample(fraction=1, shuffle=True, seed=4),
    )
    assert shuffled.equals(table)
    assert summarise_mechanism(shuffled.sample(fraction=1, shuffle=True, seed=5)).equals(summarise_mechanism(table))


def test_the_verb_writes_its_tables(tmp_path, study):
    (tmp_path / "queries").mkdir()
    write_table(study.per_query, tmp_path / "per_query.parquet", PER_QUERY)
    write_table(study.queries, tmp_path / "queries/known.parquet", QUERIES)
    write_table(study.qrels.drop("query_set"), tmp_path / "queries/known.qrels.parquet", QRELS)
    write_table(study.indexed, tmp_path / "indexed.parquet", INDEXED)
    write_table(study.near, tmp_path / "proximity.parquet", PROXIMITY)
    options = f"relate_overlap --results {tmp_path} --query-sets known --indexed {tmp_path}/indexed.parquet"
    options += f" --proximity {tmp_path}/proximity.parquet --measures Recall@5 --base-mode verse --lexical words"
    options += f" --fusions fused --resamples 199 --seed 1 --output {tmp_path}/m.csv --summary {tmp_path}/s.csv"
    assert main(options.split()) == 0
    assert len(read_table(tmp_path / "m.csv", MECHANISM)) == 12
    assert len(read_table(tmp_path / "s.csv", MECHANISM_SUMMARY)) == 3 * 4


def test_changes_to_a_mode_of_other_poems_are_not_related():
    study = Study(n=20, modes=("verse", "explanation", "some"))
    keep = {"some": {"genre": ["praise"]}}
    changed = [table.filter(pl.col("against_mode").is_not_null()) for table in (study.table(), study.table(keep=keep))]
    assert [set(table["mode"]) for table in changed] == [{"explanation", "some"}, {"explanation"}]
    assert set(study.table(keep=keep)["mode"]) == {"verse", "explanation", "some"}
