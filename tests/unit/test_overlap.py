"""Shared runs, shared words and nearness of queries and poems, against plain definitions."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.chunks import make_chunks
from verseir.overlap import (
    INDEXED,
    PROXIMITY,
    WORDING,
    SharedRun,
    containment,
    longest_shared_run,
    measure_indexed,
    measure_proximity,
    measure_wording,
    poem_tokens,
    poems_holding,
    target_chunks,
)
from verseir.tables import CHUNKS, EXPLANATIONS, POEMS, QRELS, QUERIES, check_table, read_table, write_table

WORDS = st.lists(st.sampled_from("abc"), max_size=9)
TEXTS = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), min_size=1, max_size=5)


def poems(**verses):
    """POEMS of ``name=[verse, ...]``; a bar in a verse parts its hemistichs."""
    rows = []
    for poem_id, lines in verses.items():
        pairs = [dict(zip(("first", "second"), [*line.split("|"), None][:2], strict=True)) for line in lines]
        rows.append((poem_id, *[None] * 7, pairs, None))
    return pl.DataFrame(rows, schema=dict(POEMS.columns), orient="row")


def explanations(*rows):
    return pl.DataFrame(rows, schema=dict(EXPLANATIONS.columns), orient="row")


def queries(**texts):
    rows = [(query_id, "set", text, *[None] * 5) for query_id, text in texts.items()]
    return pl.DataFrame(rows, schema=dict(QUERIES.columns), orient="row")


def qrels(*rows):
    return pl.DataFrame([(*row, 1)[:3] for row in rows], schema=dict(QRELS.columns), orient="row")


def plain_run(query, target):
    """The definition: all pairs of starts, all lengths."""
    found = [
        SharedRun(n, i, j)
        for i in range(len(query))
        for j in range(len(target))
        for n in range(1, min(len(query) - i, len(target) - j) + 1)
        if query[i : i + n] == target[j : j + n]
    ]
    return min(found, key=lambda run: (-run.length, run.query_start, run.target_start), default=SharedRun(0, 0, 0))


@given(WORDS, WORDS)
def test_the_longest_run_is_that_of_the_definition(query, target):
    assert longest_shared_run(query, target) == plain_run(query, target)


@given(WORDS, WORDS)
def test_the_length_of_a_run_is_the_same_both_ways(query, target):
    assert longest_shared_run(query, target).length == longest_shared_run(target, query).length


@given(WORDS, WORDS)
def test_containment_is_a_share_of_distinct_words(query, target):
    share = containment(query, target)
    assert 0 <= share <= 1
    assert share == containment(query[::-1] * 2, target)
    assert containment(query, query) == (1.0 if query else 0.0)


@given(TEXTS, TEXTS, st.randoms(use_true_random=False))
def test_the_tables_do_not_depend_on_the_order_of_their_input(asked, written, random):
    corpus = poems(**{f"p{i}": [" ".join(words)] for i, words in enumerate(written)})
    questions = queries(**{f"q{i}": " ".join(words) for i, words in enumerate(asked)})
    judged = qrels(*{(f"q{i}", f"p{(i + k) % len(written)}") for i in range(len(asked)) for k in (0, 1)})
    shuffled = [
        frame.sample(fraction=1, shuffle=True, seed=random.randrange(99)) for frame in (corpus, questions, judged)
    ]
    first = measure_wording("c", corpus, questions, judged, "full")
    assert measure_wording("c", *shuffled, "full").equals(first)
    modes = {"verse": ["verse"]}
    arguments = (explanations(), modes, shuffled[1], shuffled[2], "full")
    indexed = measure_indexed("c", shuffled[0], *arguments)
    assert indexed.select("containment", "longest_run").equals(first.select("containment", "longest_run"))


@given(TEXTS)
def test_the_poems_that_hold_a_span_are_counted_as_the_definition_does(written):
    corpus = poems(**{f"p{i}": [" ".join(words)] for i, words in enumerate(written)})
    spans = {tuple(words[i : i + n]) for words in written for n in (2, 3) for i in range(len(words) - n + 1)}
    plain = {span: sum(f" {' '.join(span)} " in f" {' '.join(words)} " for words in written) for span in spans}
    assert poems_holding(spans, corpus, "full") == plain


def test_a_run_crosses_hemistichs_and_verses_and_is_told_with_its_verse():
    corpus = poems(p=["قِفَا نَبْكِ|مِنْ ذِكْرَى", "حَبِيبٍ|وَمَنْزِلِ"], r=["نبك من ذكري حبيب"], s=["ذكرى حبيب"])
    row = measure_wording("c", corpus, queries(q="أين نبك من ذكرى حبيب ومنزل"), qrels(("q", "p")), "full").row(
        0, named=True
    )
    assert (row["longest_run"], row["run_start"], row["verse_index"], row["n_verses"]) == (5, 1, 0, 2)
    assert row["span"] == "نبك من ذكري حبيب ومنزل"
    assert (row["n_query_tokens"], row["n_target_tokens"]) == (6, 6)
    assert row["containment"] == pytest.approx(5 / 6)
    assert row["n_other_poems"] == 0
    shorter = measure_wording("c", corpus, queries(q="من ذكرى حبيب"), qrels(("q", "p")), "full")
    assert shorter.select("verse_index", "n_other_poems").row(0) == (0, 1)


def test_a_word_laid_over_the_caesura_is_one_word():
    tokens, verse_of = poem_tokens([{"first": "ab cـ", "second": "ـd e"}, {"first": "f", "second": None}], "full")
    assert tokens == ["ab", "cd", "e", "f"]
    assert verse_of == [0, 0, 0, 1]


def test_of_several_targets_the_one_with_the_longest_run_is_told():
    corpus = poems(a=["x w z y"], b=["x y"], c=["x y w"], d=["x y w"], e=["x y z w"])
    judged = qrels(("q", "a"), ("q", "b"), ("q", "c"), ("q", "d"), ("q", "e", 0), ("q", "elsewhere"))
    row = measure_wording("c", corpus, queries(q="x y z w"), judged, "full").row(0, named=True)
    assert (row["poem_id"], row["n_targets"], row["longest_run"], row["n_other_poems"]) == ("c", 4, 2, 3)


def test_nothing_shared_is_null_not_a_number():
    corpus = poems(p=["a b"], r=["c"])
    table = measure_wording(
        "c", corpus, queries(q="z", one="a", none="!"), qrels(("q", "p"), ("one", "p"), ("none", "p")), "full"
    )
    rows = {row["query_id"]: row for row in check_table(table, WORDING, "here").to_dicts()}
    assert [rows["q"][name] for name in ("longest_run", "run_start", "span", "verse_index")] == [0, None, None, None]
    assert (rows["one"]["span"], rows["one"]["n_other_poems"]) == ("a", None)
    assert (rows["none"]["n_query_tokens"], rows["none"]["containment"]) == (0, 0.0)


def test_queries_without_a_target_give_empty_tables():
    corpus, asked, judged = poems(p=["a b"]), queries(q="a b"), qrels(("q", "p", 0), ("q", "other"))
    modes = {"verse": ["verse"]}
    assert check_table(measure_wording("c", corpus, asked, judged, "full"), WORDING, "here").is_empty()
    indexed = measure_indexed("c", corpus, explanations(), modes, asked, judged, "full")
    assert check_table(indexed, INDEXED, "here").is_empty()
    assert target_chunks(pl.DataFrame(schema=dict(CHUNKS.columns)), asked, judged).is_empty()


def test_a_mode_is_compared_in_all_its_fields_with_each_verse_once():
    corpus = poems(p=["a b", "c d", "e f", "g h", "i j"], r=["a b"])
    known = explanations(("p", 0, "prose", "morning rain"), ("p", 4, "prose", "night"), ("p", 0, "other", "b a"))
    modes = {"verse": ["verse"], "prose": ["explanation:prose"], "both": ["verse", "explanation:prose"]}
    asked, judged = queries(q="b c d morning rain", bare="a b"), qrels(("q", "p"), ("bare", "r"))
    table = check_table(measure_indexed("c", corpus, known, modes, asked, judged, "full"), INDEXED, "here")
    seen = {(row["mode"], row["query_id"]): (row["containment"], row["longest_run"]) for row in table.to_dicts()}
    assert seen["verse", "q"] == (pytest.approx(3 / 5), 3)
    assert seen["prose", "q"] == (pytest.approx(2 / 5), 2)
    assert seen["both", "q"] == (1.0, 3)
    assert seen["prose", "bare"] == (0.0, 0)


def chunk_frame(*rows):
    return pl.DataFrame([(f"{p}#{v}", p, v, 1, text) for p, v, text in rows], schema=dict(CHUNKS.columns), orient="row")


def test_proximity_is_the_highest_cosine_with_a_chunk_of_a_target():
    rng = np.random.default_rng(0)
    asked, judged = (
        queries(a="x", b="y", c="z"),
        qrels(("a", "p"), ("a", "r"), ("b", "r"), ("b", "s", 0), ("c", "empty")),
    )
    chunks = chunk_frame(("p", 0, "t"), ("p", 1, "t"), ("r", 0, "t"), ("s", 0, "t"), ("empty", 0, ""))
    near = target_chunks(chunks, asked, judged)
    assert near["chunk_id"].to_list() == ["p#0", "p#1", "r#0"]
    of_queries, of_chunks = rng.normal(size=(3, 7)).astype(np.float32), rng.normal(size=(3, 7)).astype(np.float32)
    table = measure_proximity("c", "verse", "enc", asked, judged, of_queries, near, of_chunks)
    exact_q, exact_c = of_queries.astype(np.float64), of_chunks.astype(np.float64)
    cosines = (exact_q @ exact_c.T) / np.outer(np.linalg.norm(exact_q, axis=1), np.linalg.norm(exact_c, axis=1))
    rows = check_table(table, PROXIMITY, "here").select("query_id", "proximity").rows()
    assert dict(rows) == pytest.approx({"a": cosines[0].max(), "b": cosines[1, 2]}, abs=1e-14)
    order = [2, 0, 1]
    turned = measure_proximity(
        "c", "verse", "enc", asked[::-1], judged[::-1], of_queries[::-1], near[order], of_chunks[order]
    )
    assert turned.equals(table)


def test_a_text_is_as_near_to_itself_as_can_be():
    vector = np.full((1, 3), 0.1, dtype=np.float32)
    arguments = (queries(q="x"), qrels(("q", "p")), vector, chunk_frame(("p", 0, "x")))
    assert measure_proximity("c", "verse", "enc", *arguments, vector)["proximity"].to_list() == pytest.approx([1.0])
    assert measure_proximity("c", "verse", "enc", *arguments, 0 * vector)["proximity"].to_list() == [0.0]


def test_a_target_that_a_mode_does_not_index_is_none():
    corpus, asked = poems(p=["a b c"], r=["a x y"]), queries(q="a b c", lost="a b c")
    judged, modes = qrels(("q", "p"), ("q", "r"), ("lost", "p")), {"some": ["verse"], "verse": ["verse"]}
    table = measure_indexed("c", corpus, explanations(), modes, asked, judged, "full", {"some": ["r"]})
    seen = {(row["mode"], row["query_id"]): row["longest_run"] for row in check_table(table, INDEXED, "x").to_dicts()}
    assert seen == {("some", "q"): 1, ("verse", "q"): 3, ("verse", "lost"): 3}
    none = measure_indexed("c", corpus, explanations(), modes, asked, judged, "full", {"some": []})
    assert none["mode"].unique().to_list() == ["verse"]


def test_the_verb_measures_what_the_chunks_of_a_mode_hold(tmp_path):
    corpus = poems(p=["a b c"], r=["a x y"])
    frames = {
        "poems": (corpus, POEMS),
        "explanations": (explanations(), EXPLANATIONS),
        "queries": (queries(q="a b c"), QUERIES),
        "qrels": (qrels(("q", "p"), ("q", "r")), QRELS),
        "some": (make_chunks(corpus.filter(pl.col("poem_id") == "r"), explanations(), ["verse"]), CHUNKS),
    }
    for name, (frame, table) in frames.items():
        write_table(frame, tmp_path / f"{name}.parquet", table)
    told = ["--corpus", "c", "--modes", '{"some": ["verse"], "verse": ["verse"]}', "--tokens", "full"]
    told += ["--chunks", str(tmp_path / "some.parquet")]
    for name in ("poems", "explanations", "queries", "qrels", "wording", "indexed"):
        told += [f"--{name}", str(tmp_path / f"{name}.parquet")]
    assert main(["measure_overlap", *told]) == 0
    found = read_table(tmp_path / "indexed.parquet", INDEXED)
    assert dict(found.select("mode", "longest_run").iter_rows()) == {"some": 1, "verse": 3}
