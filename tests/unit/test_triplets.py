"""Triplets: what answers a query is never a negative of it, kinds are what they say, and no draw moves another."""

import json
import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.faults import UserError
from verseir.tables import ATTRIBUTES, CHUNKS, DUPLICATES, QRELS, QUERIES, RUN, check_table, write_table
from verseir.training.folds import FOLDS, deal_folds, parts_of
from verseir.training.triplets import TRIPLETS, Negatives, documents_of, mine

few = settings(max_examples=40, deadline=None)
POEMS = [f"p{i:02}" for i in range(24)]
#: Copies: p00, p01 and p02; p10 and p11.
CLASSES = {"p00": "p00", "p01": "p00", "p02": "p00", "p10": "p10", "p11": "p10"}


def frame(rows, contract):
    return pl.DataFrame(rows, schema=dict(contract.columns), orient="row")


def chunks_of(poems=POEMS, n=3):
    return frame([(f"{poem}#{i}", poem, i, 1, "text") for poem in poems for i in range(n)], CHUNKS)


def qrels_of(*pairs, grade=1):
    return frame([(*pair, grade) for pair in pairs], QRELS)


def run_of(ranked, chunk=0):
    """A RUN of {query: poems in their order}, each found through the chunk of this number."""
    rows = [
        (query, poem, rank, 1.0 / rank, None if chunk is None else f"{poem}#{chunk}")
        for query, poems in ranked.items()
        for rank, poem in enumerate(poems, start=1)
    ]
    return frame(rows, RUN)


def attributes_of(**poems):
    rows = [(poem, *pair) for poem, (idiom, usage) in poems.items() for pair in (("idiom", idiom), ("usage", usage))]
    return frame(rows, ATTRIBUTES)


def copies():
    return frame([(poem, of, 2, "exact", 1.0) for poem, of in CLASSES.items()], DUPLICATES)


def poems_of(mined, query, origin):
    rows = mined.triplets.filter((pl.col("query_id") == query) & (pl.col("origin") == origin)).sort("place")
    return rows["poem_id"].to_list()


def same(poem):
    return CLASSES.get(poem, poem)


answers = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 23)), min_size=6, max_size=24, unique=True).filter(
    lambda pairs: len({query for query, _ in pairs}) >= 4
)


@st.composite
def studies(draw):
    """QUERIES and QRELS of twelve queries, and runs of two systems over the poems."""
    pairs = draw(answers)
    chance = random.Random(draw(st.integers(0, 999)))
    names = [f"q{i:02}" for i in range(12)]
    queries = frame([(name, "s", f"text {name}", *[None] * 5) for name in names], QUERIES)
    qrels = qrels_of(*((names[query], POEMS[poem]) for query, poem in pairs))
    runs = {
        system: run_of({name: chance.sample(POEMS, 12) for name in names}, chunk)
        for system, chunk in (("bm25", 0), ("e5", 1))
    }
    return queries, qrels, runs


ASKED = Negatives(random=3, systems={"e5": 2, "bm25": 2}, ranks=(2, 9))
DOCUMENTS = documents_of(chunks_of(), duplicates=copies())


@few
@given(studies(), st.integers(0, 2**40))
def test_no_negative_is_relevant_or_a_copy_of_what_is_and_none_comes_twice(study, seed):
    queries, qrels, runs = study
    mined = mine(queries["query_id"].to_list(), qrels, DOCUMENTS, runs, ASKED, seed)
    triplets = check_table(mined.triplets, TRIPLETS, "triplets")
    assert triplets.equals(triplets.sort("query_id", "place"))
    relevant = qrels.group_by("query_id").agg("poem_id")
    answers = {query: set(poems) for query, poems in relevant.iter_rows()}
    assert set(triplets["query_id"]) == set(answers)
    assert mined.n_left_out == 12 - len(answers)
    for (query,), rows in triplets.group_by("query_id", maintain_order=True):
        assert rows["place"].to_list() == list(range(len(rows)))
        assert rows["role"].to_list() == ["positive"] + ["negative"] * (len(rows) - 1)
        positive, *others = rows["poem_id"].to_list()
        assert positive in answers[query]
        classes = [same(poem) for poem in others]
        assert len(set(classes)) == len(classes)
        assert not set(classes) & {same(poem) for poem in answers[query]}
        origins = rows["origin"].to_list()
        assert origins == sorted(origins, key=["gold", "bm25", "e5", "random"].index)
        assert origins.count("random") == 3
        for poem, origin, chunk in rows.select("poem_id", "origin", "chunk_id").iter_rows():
            assert chunk.partition("#")[0] == poem
            if origin in runs:
                found = runs[origin].filter((pl.col("query_id") == query) & (pl.col("poem_id") == poem))
                assert 2 <= found["rank"].item() <= 9 and found["chunk_id"].item() == chunk
    for system in ("bm25", "e5"):
        counts = triplets.filter(pl.col("origin") == system)["query_id"].value_counts()["count"].to_list()
        assert mined.lacking[system] == len(answers) - sum(n == 2 for n in counts)


@few
@given(studies(), st.integers(1, 3), st.integers(0, 9))
def test_no_poem_is_in_train_and_in_test_or_validation(study, fold, seed):
    queries, qrels, runs = study
    try:
        folds = deal_folds(queries, qrels, 3, seed, copies())
    except UserError:
        return  # all but hangs together
    parts = parts_of(folds, fold)
    held_out = parts.validation + parts.test
    try:
        mined = mine(parts.train, qrels, DOCUMENTS, runs, Negatives(random=4, systems={"e5": 2}), seed, held_out)
    except UserError as error:
        assert "relevant poem" in str(error) or "may be a negative" in str(error)
        return
    away = qrels.filter(pl.col("query_id").is_in(held_out))["poem_id"]
    assert not {same(poem) for poem in mined.triplets["poem_id"]} & {same(poem) for poem in away}
    assert set(mined.triplets["query_id"]) <= set(parts.train)


@few
@given(studies(), st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_other_queries_move_a_draw(study, chance):
    queries, qrels, runs = study
    names = queries["query_id"].to_list()
    mixed = lambda rows: rows.sample(fraction=1, shuffle=True, seed=chance.randrange(99))  # noqa: E731
    first = mine(names, qrels, DOCUMENTS, runs, ASKED, 7).triplets
    again = mine(
        chance.sample(names, 12),
        mixed(qrels),
        documents_of(mixed(chunks_of()), duplicates=mixed(copies())),
        {name: mixed(runs[name]) for name in ("e5", "bm25")},
        ASKED,
        7,
    ).triplets
    assert first.equals(again)
    some = sorted(chance.sample(sorted(set(first["query_id"])), 2))
    own = first.filter(pl.col("query_id").is_in(some))
    alone = Negatives(random=3, systems={"e5": 2, "bm25": 2}, ranks=(2, 9))
    try:
        assert own.equals(mine(some, qrels, DOCUMENTS, runs, alone, 7).triplets)
    except UserError as error:
        assert "may be a negative" in str(error)
    # What more is asked for comes after, and leaves what was drawn as it was.
    fewer = mine(names, qrels, DOCUMENTS, runs, Negatives(systems={"bm25": 2}, ranks=(2, 9)), 7).triplets
    assert fewer.equals(first.filter(pl.col("origin").is_in(["gold", "bm25"])))


def test_another_seed_draws_others_and_draws_are_even():
    documents = documents_of(chunks_of(n=1))
    qrels = qrels_of(*((f"q{i:03}", "p00") for i in range(200)), *((f"q{i:03}", "p01") for i in range(200)))
    names = [f"q{i:03}" for i in range(200)]
    drawn = [mine(names, qrels, documents, {}, Negatives(random=2), seed).triplets for seed in (1, 2)]
    assert not drawn[0].equals(drawn[1])
    both = pl.concat(drawn)
    positives = both.filter(pl.col("role") == "positive")["poem_id"].to_list()
    assert 150 < positives.count("p00") < 250 and len(positives) == 400
    counts = both.filter(pl.col("role") == "negative")["poem_id"].value_counts()
    assert len(counts) == 22 and counts["count"].sum() == 800
    assert counts["count"].min() > 15 and counts["count"].max() < 65  # 36 are due to each


def test_the_positive_stands_with_the_chunk_of_the_best_rank_that_a_system_found_it_at():
    qrels = qrels_of(("a", "p05"), ("b", "p05"), ("c", "p05"), ("d", "p05"))
    runs = {
        "e5": run_of({"a": ["p05"], "b": ["p01", "p05"]}, 2),
        "bm25": run_of({"a": ["p01", "p05"], "b": ["p02", "p05"], "c": ["p05"]}, 1),
        "other": run_of({"a": ["p05"], "b": ["p05"], "d": ["p05"]}, None),
    }
    mined = mine("abcd", qrels, documents_of(chunks_of()), runs, Negatives(random=1), 1).triplets
    chunk = dict(mined.filter(pl.col("place") == 0).select("query_id", "chunk_id").iter_rows())
    assert (chunk["a"], chunk["b"], chunk["c"]) == ("p05#2", "p05#1", "p05#1")
    assert chunk["d"] in ("p05#0", "p05#1", "p05#2")


def test_a_run_without_chunks_still_gives_negatives_that_have_one():
    runs = {"other": run_of({"a": ["p01", "p02", "p99"]}, None), "bm25": run_of({"a": ["p03"]}, 9)}
    asked = Negatives(systems={"other": 3, "bm25": 1})
    mined = mine("a", qrels_of(("a", "p05")), documents_of(chunks_of()), runs, asked, 1)
    assert set(poems_of(mined, "a", "other")) == {"p01", "p02"}
    assert set(mined.triplets["chunk_id"]) <= set(chunks_of()["chunk_id"])
    assert mined.lacking == {"bm25": 0, "other": 1}


def test_poems_that_the_mode_does_not_index_or_that_have_no_text_are_not_trained_on():
    chunks = chunks_of(["p00", "p01", "p02", "p03"], 2)
    empty = (pl.col("poem_id") == "p01") | (pl.col("chunk_id") == "p02#0")
    chunks = chunks.with_columns(text=pl.when(empty).then(pl.lit("")).otherwise("text"))
    qrels = qrels_of(("a", "p00"), ("b", "p01"), ("c", "p99"))
    runs = {"bm25": run_of({"a": ["p01", "p99", "p02"]})}
    asked = Negatives(random=9, systems={"bm25": 3})
    mined = mine("abc", qrels, documents_of(chunks), runs, asked, 1)
    assert mined.n_left_out == 2
    assert mined.triplets.select("origin", "poem_id").rows()[1:] == [("bm25", "p02"), ("random", "p03")]
    assert mined.triplets["chunk_id"][1] == "p02#1"  # the run's chunk has no text
    assert mined.lacking == {"bm25": 1, "random": 1}


IDIOMS = attributes_of(
    p00=("spill", "literal"),
    p01=("spill", "literal"),
    p02=("spill", "idiomatic"),
    p03=("spill", "sense"),
    p04=("kick", "literal"),
    p05=("kick", "simplification"),
    p06=("Kick", "literal"),
)


def test_the_opposite_use_of_an_idiom_is_literal_or_anything_else():
    documents = documents_of(chunks_of(POEMS[:8]), IDIOMS)
    qrels = qrels_of(("lit", "p00"), ("lit", "p01"), ("idi", "p02"), ("idi", "p03"), ("kick", "p05"), ("none", "p06"))
    asked = Negatives(opposite=2, random=3)
    mined = mine(["lit", "idi", "kick", "none"], qrels, documents, {}, asked, 3)
    assert set(poems_of(mined, "lit", "opposite")) == {"p02", "p03"}
    assert set(poems_of(mined, "idi", "opposite")) == {"p00", "p01"}
    assert poems_of(mined, "kick", "opposite") == ["p04"]
    assert poems_of(mined, "none", "opposite") == []
    assert mined.lacking == {"opposite": 2, "random": 0}
    mined = mine(["lit", "idi", "kick"], qrels, documents, {}, Negatives(random=9), 3)
    assert set(poems_of(mined, "lit", "random")) == {"p04", "p05", "p06", "p07"}
    assert set(poems_of(mined, "kick", "random")) == {"p00", "p01", "p02", "p03", "p06", "p07"}
    # A copy of what is relevant is no negative, though its use is the opposite one.
    twins = frame([(poem, "p00", 2, "near", 0.6) for poem in ("p00", "p02")], DUPLICATES)
    mined = mine(["lit", "idi"], qrels, documents_of(chunks_of(POEMS[:8]), IDIOMS, twins), {}, Negatives(opposite=2), 3)
    assert poems_of(mined, "lit", "opposite") == ["p03"]
    assert poems_of(mined, "idi", "opposite") == ["p01"]


def test_grades_below_relevant_make_a_negative_and_no_positive():
    qrels = pl.concat([qrels_of(("a", "p00")), qrels_of(("a", "p01"), ("b", "p02"), grade=0)])
    mined = mine("ab", qrels, documents_of(chunks_of(["p00", "p01"])), {}, Negatives(random=1), 1)
    assert mined.triplets.select("query_id", "poem_id").rows() == [("a", "p00"), ("a", "p01")]
    assert mined.n_left_out == 1


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"opposite": 1}, "no query has a poem of its idiom in the opposite use"),
        ({"systems": {"bm25": 1}, "ranks": [3, 9]}, "'bm25' ranks no poem from 3 to 9"),
        ({"systems": {"bm52": 1}}, "no run of 'bm52'"),
        ({"random": 1}, "no poem is left"),
    ],
)
def test_a_kind_that_no_query_has_any_of_is_told_with_a_hint(asked, told):
    runs = {"bm25": run_of({"a": ["p00", "p01"]})}
    documents = documents_of(chunks_of(["p00", "p01"]), duplicates=copies())
    with pytest.raises(UserError, match=told) as error:
        mine("a", qrels_of(("a", "p00")), documents, runs, Negatives.of(asked), 1)
    assert error.value.hint


def test_queries_that_nothing_answers_are_told():
    with pytest.raises(UserError, match="none of 2 queries to train on has a relevant poem"):
        mine("ab", qrels_of(("a", "p99")), DOCUMENTS, {}, Negatives(random=1), 1)


def test_what_a_recipe_leaves_out_is_filled_in():
    assert Negatives.of({}) == Negatives(0, 0, {}, (1, 100))
    assert Negatives.of({"random": 1, "systems": {"b": 2, "a": 1, "c": 0}, "opposite": 3}).asked == {
        "opposite": 3, "a": 1, "b": 2, "random": 1,
    }  # fmt: skip


def test_the_verb_mines_for_one_fold_and_tells_what_lacks(tmp_path, capsys):
    names = [f"q{i}" for i in range(6)]
    at = lambda name: str(tmp_path / name)  # noqa: E731
    write_table(frame([(name, "s", name, *[None] * 5) for name in names], QUERIES), at("q.parquet"), QUERIES)
    write_table(qrels_of(*((f"q{i}", f"p0{i}") for i in range(5))), at("qrels.parquet"), QRELS)
    write_table(chunks_of(POEMS[:9]), at("chunks.parquet"), CHUNKS)
    write_table(copies().filter(pl.col("poem_id") == "p00"), at("duplicates.csv"), DUPLICATES)
    write_table(frame([(name, i // 2 + 1) for i, name in enumerate(names)], FOLDS), at("folds.parquet"), FOLDS)
    write_table(run_of({"q4": ["p04", "p00", "p08"]}), at("bm25.parquet"), RUN)
    verb = ["mine_triplets", "--seed", "1"]
    for option in ("queries=q.parquet", "qrels=qrels.parquet", "chunks=chunks.parquet", "output=triplets.parquet"):
        name, _, file = option.partition("=")
        verb += [f"--{name}", at(file)]
    verb += ["--runs", f"bm25={at('bm25.parquet')}", "--duplicates", at("duplicates.csv")]
    folds = ["--folds", at("folds.parquet"), "--fold", "1"]
    asked = json.dumps({"systems": {"bm25": 2}, "random": 3})
    assert main([*verb, "--negatives", asked, *folds]) == 0
    told = capsys.readouterr().out
    assert "1 query to train on, 4 negatives" in told
    assert "warning: 1 query left out: no relevant poem in the corpus, or none that is not tested with" in told
    assert "warning: 1 query has fewer negatives from 'bm25' than asked for" in told
    triplets = check_table(pl.read_parquet(at("triplets.parquet")), TRIPLETS, "triplets")
    assert triplets["poem_id"].to_list()[:2] == ["p04", "p08"]  # p00 answers a query that is held out
    assert set(triplets["poem_id"]) == {"p04", "p05", "p06", "p07", "p08"}
    assert main([*verb, "--negatives", asked]) == 0
    assert "5 queries to train on" in capsys.readouterr().out
    # A set of other queries, one of the same name, asks for p01 and for a copy of p00: none of these is trained on.
    write_table(qrels_of(("q4", "p01"), ("other", "p00")), at("tested.qrels.parquet"), QRELS)
    assert main([*verb, "--negatives", '{"random": 4}', "--held-out", at("tested.qrels.parquet")]) == 0
    assert "3 queries to train on" in capsys.readouterr().out
    kept = pl.read_parquet(at("triplets.parquet"))
    assert kept["query_id"].unique().sort().to_list() == ["q2", "q3", "q4"]
    assert not {"p00", "p01"} & set(kept["poem_id"])
    assert main([*verb, "--negatives", '{"opposite": 1}']) == 2
    assert "idiom and usage" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*verb, "--negatives", asked, "--runs", "bm25"])
    assert "'bm25' is not name=path" in capsys.readouterr().err
