"""What an archive should deploy: verdicts, costs, mixes of registers, and sentences that say no more than is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from paired_study import asked, names, outcomes, shuffled
from polars.testing import assert_frame_equal

from verseir.analyses.deployment import DEPLOYMENT, Asked, recommend
from verseir.analyses.deployment_choice import KEEP, LEVEL, OPEN, RECOMMENDED, Margin
from verseir.analyses.deployment_costs import Config, Costs, Size
from verseir.analyses.paired import Draws
from verseir.report.advice import deploy
from verseir.tables import COSTS, PER_QUERY, QUERIES, check_table

MODES = {"verse": ["verse"], "verse+explanation": ["verse", "explanation:ai"]}
KINDS = {
    "bm25": {"kind": "bm25", "arms": []},
    "e5": {"kind": "dense", "arms": []},
    "big": {"kind": "dense", "arms": []},
    "fused": {"kind": "fusion", "arms": [{"system": "bm25"}, {"system": "e5"}]},
    "theirs": {"kind": "imported", "arms": []},
}
SIZES = {"verse": Size(100, 50), "verse+explanation": Size(100, 50)}
SPENT = [
    ("c", "bm25", "index", 200, 2.0, None, None, 4.0, "cpu"),
    ("c", "bm25", "search", 100, 0.4, None, None, None, "cpu"),
    ("c", "e5", "encode", 300, 3.0, None, None, 6.0, "cpu"),
    ("c", "e5", "search", 100, 0.5, None, None, None, "cpu"),
    ("c", "big", "encode", 300, 3.0, None, None, 6.0, "NVIDIA H200"),
    ("c", "big", "search", 100, 0.5, None, None, None, "cpu"),
    ("c", "fused", "fuse", 100, 0.1, None, None, None, "cpu"),
]


def costs(rows=SPENT) -> Costs:
    return Costs(pl.DataFrame(rows, schema=dict(COSTS.columns), orient="row"), KINDS, MODES, SIZES)


def advised(per_query, queries, qrels, seed=1, **changes):
    """The table of a study of one corpus."""
    sets = sorted(set(queries["query_set"]))
    given = {
        "measures": dict.fromkeys(sets, "Recall@5"),
        "known_item": sets,
        "thematic": [],
        "synthetic": [],
        "systems": list(KINDS),
        "kept": [],
        "mix": None,
        "baseline": Config("bm25", "verse"),
        "named": False,
        "margin": Margin(0.05, 10),
    }
    found = recommend(
        per_query, queries, qrels, {"c": costs()}, {"c": sets}, Asked(**given | changes), Draws(400, 999, seed)
    )
    return check_table(found, DEPLOYMENT, "here")


def hits(n, share, seed=0):
    return (np.random.default_rng(seed).permutation(n) < share * n).astype(float)


def row(frame, register=None, scope="register"):
    named = pl.col("register").is_null() if register is None else pl.col("register") == register
    return frame.filter(pl.col("scope") == scope, named).row(0, named=True)


def said(frame):
    return deploy({"deployment": frame}, MODES)


# Abstract queries gain by the encoder; where words are quoted all are alike and the cheapest stays.
def two_registers(n=60):
    registers = ["quoting"] * n + ["abstract"] * n
    queries, qrels = asked(2 * n, registers=registers)
    bm25 = np.concatenate([np.ones(n), hits(n, 0.2, 1)])
    e5 = np.concatenate([np.ones(n), hits(n, 0.7, 2)])
    fused = np.concatenate([np.ones(n), hits(n, 0.5, 3)])
    return outcomes({"bm25": bm25, "e5": e5, "fused": fused}), queries, qrels


def test_each_register_has_its_advice_and_the_mix_weighs_them():
    found = advised(*two_registers())
    quoting, abstract, mix = row(found, "quoting"), row(found, "abstract"), row(found, scope="mix")
    assert (quoting["verdict"], quoting["system"], quoting["reason"]) == (LEVEL, "bm25", "it needs no encoder")
    assert (abstract["verdict"], abstract["system"], abstract["mode"]) == (RECOMMENDED, "e5", "verse")
    assert abstract["estimate"] == pytest.approx(0.5) and abstract["ci_low"] > 0.2 and abstract["p_holm"] < 0.01
    assert abstract["family_size"] == 3 and quoting["p"] == 1
    assert (mix["verdict"], mix["system"]) == (RECOMMENDED, "e5")
    assert mix["estimate"] == pytest.approx(0.25) and mix["mean"] == pytest.approx(0.85)
    assert mix["mean_low"] < 0.85 < mix["mean_high"]
    empty = row(found, "half-remembered")
    assert (empty["n"], empty["verdict"], empty["system"]) == (0, OPEN, None) and "no query" in empty["note"]


def test_a_declared_mix_weighs_the_registers():
    found = advised(*two_registers(), mix={"quoting": 30, "abstract": 10})
    mix = row(found, scope="mix")
    assert mix["estimate"] == pytest.approx(0.125) and row(found, "quoting")["share"] == 0.75
    none = row(advised(*two_registers(), mix={"half-remembered": 1}), scope="mix")
    assert none["verdict"] == OPEN and none["system"] is None and "half-remembered" in none["note"]
    alone = advised(*two_registers(), mix={"quoting": 1, "half-remembered": 0})
    assert alone.filter(pl.col("scope") == "mix").is_empty()


def test_a_mix_is_told_of_the_registers_that_there_are():
    found = advised(*two_registers(), mix={"quoting": 3, "abstract": 1, "half-remembered": 1})
    whole = advised(*two_registers(), mix={"quoting": 3, "abstract": 1})
    assert row(found, scope="mix")["estimate"] == pytest.approx(row(whole, scope="mix")["estimate"])
    assert [row(found, name)["share"] for name in ("quoting", "abstract", "half-remembered")] == pytest.approx(
        [0.75, 0.25, 0]
    )
    told = said(found).sentences[0]
    assert "The mix: 75% quoting and 25% abstract. The mix is told without half-remembered (20.0%)" in told
    single = advised(*two_registers(), mix={"quoting": 1, "half-remembered": 1})
    assert row(single, scope="mix")["n"] == 60 and "The mix: 100% quoting." in said(single).sentences[0]


def test_probes_alone_are_said_to_be_alone():
    registers = ["quoting"] * 30 + ["abstract"] * 30
    queries, qrels = asked(60, registers=registers)
    values = outcomes({"bm25": np.zeros(60), "e5": hits(60, 0.7)})
    synthetic = queries["query_set"].unique().to_list()
    told = said(advised(values, queries, qrels, synthetic=synthetic)).sentences
    assert "rests on synthetic probes alone" in told[0] and "in part" not in " ".join(told)


def test_nothing_that_was_found_is_no_advice():
    found = advised(outcomes({"bm25": np.zeros(30), "e5": np.zeros(30)}), *asked(30))
    assert found["verdict"][0] == OPEN
    assert "nothing was ever found: no configuration has Recall@5 above 0" in said(found).sentences[0]


@pytest.mark.parametrize("n", [12, 90])
def test_the_same_gain_on_every_query_is_recommended(n):
    found = advised(outcomes({"bm25": np.full(n, 0.2), "e5": np.full(n, 0.5)}), *asked(n))
    assert found["verdict"][0] == RECOMMENDED and found["test"][0] == "exact sign flip"
    assert found["p"][0] == pytest.approx(2.0 ** (1 - n))
    loss = advised(outcomes({"bm25": np.full(n, 0.5), "e5": np.full(n, 0.2)}), *asked(n))
    assert loss["verdict"][0] == KEEP
    few = advised(outcomes({"bm25": np.full(6, 0.2), "e5": np.full(6, 0.5)}), *asked(6))
    assert few["verdict"][0] == OPEN


def test_a_difference_reads_as_one_and_stays_within_what_is_possible():
    rng = np.random.default_rng(3)
    values = {name: rng.integers(0, 2, 10).astype(float) for name in ("bm25", "e5", "big", "fused")}
    for seed in range(8):
        found = advised(outcomes(values), *asked(10), seed=seed)
        for column in ("ci_low", "ci_high", "level_low", "level_high"):
            assert found[column].drop_nulls().is_between(-1, 1).all()
    bm25 = np.concatenate([np.ones(12), np.zeros(12)])
    worse = bm25.copy()
    worse[[0, 1, 2, 15]] = 1 - worse[[0, 1, 2, 15]]
    told = said(advised(outcomes({"bm25": bm25, "e5": worse}), *asked(24))).sentences[0]
    assert "e5 over verses has Recall@5 0.083 below bm25 over verses (difference [" in told


def test_equal_data_in_another_order_give_the_same_advice():
    per_query, queries, qrels = two_registers(20)
    first = advised(per_query, queries, qrels)
    assert_frame_equal(first, advised(shuffled(per_query), shuffled(queries, 1), shuffled(qrels, 2)))


def test_too_few_queries_name_how_many_would_tell():
    queries, qrels = asked(40, registers=["abstract"] * 40)
    bm25 = hits(40, 0.4, 1)
    e5 = bm25.copy()
    e5[:4] = 1 - e5[:4]
    e5[4:9] = 1
    found = row(advised(outcomes({"bm25": bm25, "e5": e5}), queries, qrels), "abstract")
    assert found["verdict"] == OPEN and found["system"] == "bm25"
    assert found["queries_to_tell"] > 40 and found["note"] is None
    text = said(advised(outcomes({"bm25": bm25, "e5": e5}), queries, qrels)).sentences
    assert any(f"about {found['queries_to_tell']:,} queries would tell" in sentence for sentence in text)


def test_the_number_of_queries_counts_clusters():
    n = 80
    poems = [f"p{i // 2}" for i in range(n)]
    bm25 = np.repeat(hits(n // 2, 0.4, 1), 2)
    e5 = bm25.copy()
    e5[:16] = 1 - e5[:16]
    e5[16:30] = 1
    one_each = row(advised(outcomes({"bm25": bm25, "e5": e5}), *asked(n, registers=["abstract"] * n)), "abstract")
    shared = asked(n, registers=["abstract"] * n, gold=poems)
    two_each = row(advised(outcomes({"bm25": bm25, "e5": e5}), *shared), "abstract")
    assert two_each["n_independent"] == 40 and one_each["n_independent"] == 80
    assert two_each["queries_to_tell"] == pytest.approx(2 * one_each["queries_to_tell"], rel=0.15)
    assert two_each["queries_to_tell"] % 2 == 0


def test_nothing_is_stated_from_a_query_or_a_handful():
    for n in (1, 2, 9):
        queries, qrels = asked(n, registers=["abstract"] * n)
        found = row(
            advised(outcomes({"bm25": np.zeros(n), "e5": np.ones(n), "big": np.ones(n)}), queries, qrels), "abstract"
        )
        assert (found["verdict"], found["system"]) == (OPEN, "bm25")
        sentence = next(
            s
            for s in said(advised(outcomes({"bm25": np.zeros(n), "e5": np.ones(n)}), queries, qrels)).sentences
            if "abstract" in s
        )
        assert "nothing is stated from fewer than 10" in sentence


def test_one_configuration_is_kept_and_compared_with_nothing():
    found = advised(outcomes({"bm25": hits(20, 0.5)}), *asked(20, registers=["abstract"] * 20))
    only = row(found, "abstract")
    assert (only["verdict"], only["system"], only["best_system"], only["p"]) == (KEEP, "bm25", None, None)
    assert any("bm25 over verses alone" in sentence for sentence in said(found).sentences)


def test_all_tied_is_level_and_the_cheapest_stays():
    tied = {name: np.ones(100) for name in ("bm25", "e5", "fused", "big")}
    found = row(advised(outcomes(tied), *asked(100, registers=["quoting"] * 100)), "quoting")
    assert (found["verdict"], found["system"]) == (LEVEL, "bm25") and found["mean"] == 1
    few = row(
        advised(outcomes({k: v[:30] for k, v in tied.items()}), *asked(30, registers=["quoting"] * 30)), "quoting"
    )
    assert few["verdict"] == OPEN and few["queries_to_level"] == 52  # alike on 30 queries is not shown to be level


def test_level_takes_the_cheaper_also_where_it_is_not_the_baseline():
    base = hits(200, 0.6)
    found = advised(
        outcomes({"fused": base, "bm25": base}),
        *asked(200, registers=["quoting"] * 200),
        baseline=Config("fused", "verse"),
        named=True,
    )
    one = row(found, "quoting")
    assert (one["verdict"], one["system"], one["reason"]) == (LEVEL, "bm25", "it needs no encoder")


def test_a_worse_challenger_keeps_the_baseline():
    found = row(
        advised(outcomes({"bm25": np.ones(60), "e5": hits(60, 0.5)}), *asked(60, registers=["quoting"] * 60)), "quoting"
    )
    assert (found["verdict"], found["system"]) == (KEEP, "bm25") and found["estimate"] == pytest.approx(-0.5)


def test_a_baseline_that_was_not_searched_gives_way_to_the_cheapest():
    per_query = outcomes({"e5": hits(30, 0.5), "big": hits(30, 0.5, 1)})
    found = row(advised(per_query, *asked(30, registers=["abstract"] * 30), named=True), "abstract")
    assert found["baseline_system"] == "big"  # by name, among encoders of which no time is asked
    assert "bm25 in verse did not search here" in found["note"]


# Where readers asked in a register its probes do not count; a register of probes alone says what it rests on.
def test_probes_stand_in_where_readers_did_not_ask():
    n = 30
    real, qrels = asked(n, "readers", registers=["abstract"] * n)
    probes, probe_qrels = asked(2 * n, "probes", registers=["abstract"] * n + ["quoting"] * n)
    probes = probes.with_columns(edit=pl.lit("probe:quote"))
    per_query = pl.concat(
        [
            outcomes({"bm25": np.zeros(n), "e5": np.ones(n)}, "readers"),
            outcomes({"bm25": np.ones(2 * n), "e5": np.zeros(2 * n)}, "probes"),
        ]
    )
    found = advised(per_query, pl.concat([real, probes]), pl.concat([qrels, probe_qrels]))
    abstract, quoting = row(found, "abstract"), row(found, "quoting")
    assert (abstract["n"], abstract["probes"], abstract["system"]) == (n, False, "e5")
    assert (quoting["n"], quoting["probes"], quoting["system"]) == (n, True, "bm25")
    assert quoting["share"] == 0 and found.filter(pl.col("scope") == "mix").is_empty()  # readers ask abstractly
    panel = said(found)
    assert any("quoting" in s and "rests on synthetic probes" in s for s in panel.sentences)
    assert not any("abstract" in s and "probes" in s for s in panel.sentences)
    only = advised(outcomes({"bm25": np.ones(2 * n), "e5": np.zeros(2 * n)}, "probes"), probes, probe_qrels)
    mix = row(only, scope="mix")
    assert mix["probes"] and mix["n"] == 2 * n


def test_modes_of_some_poems_take_no_part():
    n = 40
    kept = outcomes({"e5": np.ones(n)}, mode="few")
    both = pl.concat([outcomes({"bm25": hits(n, 0.3), "e5": hits(n, 0.4)}), kept])
    found = row(advised(both, *asked(n, registers=["abstract"] * n), kept=["few"]), "abstract")
    assert found["best_mode"] == "verse" and found["n_configurations"] == 2


def test_themes_stand_apart_and_an_unjudged_set_says_so():
    n = 30
    queries, qrels = asked(n, "themes", registers=["thematic"] * n)
    per_query = outcomes({"bm25": np.zeros(n), "e5": np.ones(n)}, "themes")
    found = advised(per_query, queries, qrels, known_item=[], thematic=["themes"])
    assert found["scope"].to_list() == ["thematic"] and found["verdict"][0] == RECOMMENDED
    none = advised(per_query.clear(), queries, qrels.clear(), known_item=[], thematic=["themes"])
    assert none["n"][0] == 0 and "no query has a relevant poem" in none["note"][0]
    assert "nothing can be said" in said(none).sentences[0]


def test_queries_without_a_register_have_a_row_of_their_own():
    found = advised(outcomes({"bm25": np.zeros(30), "e5": np.ones(30)}), *asked(30))
    assert found["register"].to_list() == [None] and found["verdict"][0] == RECOMMENDED
    assert said(found).brief[0].startswith("For queries without a register deploy e5 over verses")


def test_empty_tables_are_a_panel_that_says_why():
    none = advised(
        pl.DataFrame(schema=dict(PER_QUERY.columns)), pl.DataFrame(schema=dict(QUERIES.columns)), asked(1)[1]
    )
    assert none.is_empty() and said(none).sentences[0].startswith("Not estimable")


def test_sentences_are_what_an_archivist_reads():
    panel = said(advised(*two_registers()))
    mix, quoting, _, abstract = panel.sentences
    assert abstract.startswith("For abstract queries deploy e5 over verses: Recall@5 +0.500 [+")
    assert "above bm25 over verses (Holm\xa0p\xa0" in abstract
    assert abstract.endswith("It takes 15.0 ms a query without a GPU; the index has 2.00 MiB.")
    assert quoting.startswith("For quoting queries keep bm25 over verses") and "it needs no encoder" in quoting
    assert mix.startswith("For this archive’s mix of queries deploy e5 over verses")
    assert mix.endswith("The mix: 50% quoting and 50% abstract.")
    assert panel.id == "deploy" and panel.brief[0] == mix and abstract in panel.brief


def test_costs_of_a_configuration_are_those_of_its_parts():
    spent = costs()
    bm25, e5 = spent.of(Config("bm25", "verse")), spent.of(Config("e5", "verse+explanation"))
    fused = spent.of(Config("fused", "verse"))
    assert (bm25.encoders, bm25.per_query, bm25.index_mb, bm25.gpu) == (0, 0.004, 2.0, False)
    assert bm25.per_poem == pytest.approx(0.02)
    assert e5.per_query == pytest.approx(0.015) and e5.index_mb == pytest.approx(2.0) and e5.explained
    assert fused.per_query == pytest.approx(0.02) and fused.searches == 2 and fused.index_mb == pytest.approx(4)
    unknown = spent.of(Config("theirs", "verse"))
    assert (unknown.encoders, unknown.per_query, unknown.gpu) == (None, None, None)
    named = [Config(name, mode) for name in ("theirs", "fused", "e5", "bm25") for mode in reversed(MODES)]
    order = sorted(named, key=spent.order)
    assert order[:2] == [Config("bm25", "verse"), Config("bm25", "verse+explanation")]
    assert {config.system for config in order[-2:]} == {"theirs"}


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (Config("bm25", "verse"), Config("e5", "verse"), "it needs no encoder"),
        (Config("e5", "verse"), Config("bm25", "verse"), ""),
        (Config("e5", "verse"), Config("big", "verse"), "it needs no GPU"),
        (Config("bm25", "verse"), Config("bm25", "verse+explanation"), "it needs no explanations"),
        (Config("e5", "verse"), Config("fused", "verse"), "it is 1 search, not 2"),
        (Config("e5", "verse"), Config("e5", "verse"), ""),
        (Config("theirs", "verse"), Config("e5", "verse"), ""),
    ],
)
def test_why_one_is_cheaper(one, other, why):
    assert costs().why_cheaper(one, other) == why


def test_names_of_the_queries_of_two_sets_may_be_the_same():
    first, second = asked(20, "a", registers=["quoting"] * 20), asked(20, "b", registers=["quoting"] * 20)
    per_query = pl.concat([outcomes({"bm25": hits(20, 0.5), "e5": np.ones(20)}, name) for name in ("a", "b")])
    found = row(advised(per_query, pl.concat([first[0], second[0]]), pl.concat([first[1], second[1]])), "quoting")
    assert found["n"] == 40 and found["query_sets"] == "a + b" and names(1) == ["q000"]
    assert found["n_independent"] == 20  # both sets ask for the same poems
