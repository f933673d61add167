"""Search within an attribute: the same, bit for bit, as in a corpus of the poems that share its value."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from verseir.__main__ import main
from verseir.chunks import make_chunks
from verseir.config import load_study
from verseir.faults import InputFaults, UserError
from verseir.queries.within import beyond_reach, values_of_queries
from verseir.study import Study
from verseir.systems.bm25 import METHODS, Bm25Index
from verseir.systems.bm25_tuning import tune
from verseir.systems.dense import search, search_groups
from verseir.systems.grouped_bm25 import GroupedBm25
from verseir.systems.groups import places_by_group
from verseir.systems.identity import identify
from verseir.systems.tokenizers import tokens_of
from verseir.systems.vectors import VectorStore
from verseir.tables import (
    ATTRIBUTES,
    CHUNKS,
    EXPLANATIONS,
    POEMS,
    QRELS,
    QUERIES,
    QUERY_ATTRIBUTES,
    RUN,
    check_table,
    read_table,
    write_table,
)

LANGUAGES = ("ces", "eng", "zho")


class Mixed:
    """Chunks of poems in several languages, and queries; deterministic in the seed, handed in in a random order."""

    def __init__(self, seed: int, n_poems: int = 60, n_queries: int = 12, d: int = 16, order: int = 0):
        rng = np.random.default_rng(seed)
        words = np.array([f"w{i}" for i in range(30)])
        rows = []
        for poem in range(n_poems):
            language = LANGUAGES[int(rng.integers(3))] if rng.random() > 0.1 else None
            for place in range(int(rng.integers(1, 4))):
                tokens = words[rng.zipf(1.3, rng.integers(0, 9)) % 30].tolist()
                rows.append((f"p{poem:03d}#{place}", f"p{poem:03d}", place, language, tokens))
        vectors = np.round(rng.standard_normal((len(rows), d)), 1).astype(np.float32)  # rounded: there are ties
        turn = np.random.default_rng(order).permutation(len(rows)) if order else np.arange(len(rows))
        self.chunk_ids, self.poem_ids, self.positions, self.groups, self.tokens = map(
            list, zip(*(rows[i] for i in turn), strict=True)
        )
        self.vectors = vectors[turn]
        self.query_ids = [f"q{i:02d}" for i in range(n_queries)]
        self.query_groups = [LANGUAGES[int(i)] for i in rng.integers(0, 3, n_queries)]
        self.query_tokens = [words[rng.zipf(1.3, rng.integers(1, 6)) % 30].tolist() for _ in range(n_queries)]
        self.query_vectors = rng.standard_normal((n_queries, d)).astype(np.float32)

    def chunks(self, group: str) -> list[int]:
        return [i for i, other in enumerate(self.groups) if other == group]

    def queries(self, group: str) -> list[int]:
        return [i for i, other in enumerate(self.query_groups) if other == group]


def pick(values: list, places: list[int]) -> list:
    return [values[place] for place in places]


def alone(corpus: Mixed, searched) -> pl.DataFrame:
    """The runs over corpora that hold one language each, one after the other, by query."""
    runs = [searched(corpus.chunks(group), corpus.queries(group)) for group in LANGUAGES if corpus.queries(group)]
    return pl.concat(runs).sort("query_id", "rank")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(METHODS), st.sampled_from([1, 3, 100]), st.integers(0, 3), st.data())
def test_bm25_within_is_bm25_of_a_corpus_of_its_own(seed, method, depth, order, data):
    ties = data.draw(st.sampled_from(["id", "introsort"])) if method == "okapi" else "id"
    first = Mixed(seed)

    def searched(chunks, queries):
        index = Bm25Index.build(
            pick(first.tokens, chunks), pick(first.chunk_ids, chunks), pick(first.poem_ids, chunks), method, 0.9, 0.4,
            positions=pick(first.positions, chunks),
        )  # fmt: skip
        return index.search(pick(first.query_ids, queries), pick(first.query_tokens, queries), depth, ties=ties)

    expected = alone(first, searched)
    corpus = Mixed(seed, order=order)
    index = GroupedBm25.build(
        corpus.tokens, corpus.chunk_ids, corpus.poem_ids, corpus.groups, method, 0.9, 0.4, positions=corpus.positions
    )
    threads = data.draw(st.sampled_from([1, 2, 3]))
    run = index.search(
        corpus.query_ids, corpus.query_tokens, corpus.query_groups, depth, ties=ties, threads=threads
    )  # fmt: skip
    assert_frame_equal(run, expected, check_exact=True)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 5, 100]), st.integers(0, 3), st.sampled_from([1, 7, 4096]))
def test_dense_within_is_dense_search_of_a_corpus_of_its_own(seed, depth, order, block):
    first = Mixed(seed)

    def searched(chunks, queries):
        return search(
            pick(first.query_ids, queries), first.query_vectors[queries], pick(first.chunk_ids, chunks),
            pick(first.poem_ids, chunks), first.vectors[chunks], depth, positions=pick(first.positions, chunks),
        )  # fmt: skip

    corpus = Mixed(seed, order=order)
    options: dict[str, Any] = {"positions": corpus.positions, "block": block, "threads": 1 + order}
    run = search_groups(
        corpus.query_ids, corpus.query_vectors, corpus.query_groups, corpus.chunk_ids, corpus.poem_ids, corpus.vectors,
        corpus.groups, depth, **options,
    )  # fmt: skip
    assert_frame_equal(run, alone(first, searched), check_exact=True)
    # And it is the run over all poems, as deep as the corpus, with the poems of other languages taken out.
    whole = search(
        corpus.query_ids, corpus.query_vectors, corpus.chunk_ids, corpus.poem_ids, corpus.vectors, **options
    )  # fmt: skip
    own = pl.DataFrame({"query_id": corpus.query_ids, "group": corpus.query_groups})
    poems = pl.DataFrame({"poem_id": corpus.poem_ids, "group": corpus.groups}).unique()
    left = whole.join(own, on="query_id").join(poems, on=["poem_id", "group"], how="semi").sort("query_id", "rank")
    ranks = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query_id")
    filtered = left.with_columns(ranks.alias("rank")).filter(pl.col("rank") <= depth).select(list(RUN.columns))
    assert_frame_equal(run, filtered, check_exact=True)


def test_the_statistics_are_those_of_the_group():
    # "sea" is in every English poem, and in one of a hundred Czech ones: its weight there is that of a rare token.
    tokens = [["sea"]] * 3 + [["sea", "x"]] + [["x"]] * 99
    ids = [f"p{i:03d}" for i in range(len(tokens))]
    index = GroupedBm25.build(tokens, ids, ids, ["eng"] * 3 + ["ces"] * 100)
    run = index.search(["a", "b"], [["sea"]] * 2, ["eng", "ces"])
    assert run.select("query_id", "poem_id").rows() == [("a", "p000"), ("a", "p001"), ("a", "p002"), ("b", "p003")]
    # ln(1 + (N - n + 0.5) / (n + 0.5)) tf / (tf + k1 (1 - b + b length / average))
    length = 1 - 0.75 + 0.75 * 2 / 1.01
    expected = [np.log(1 + 0.5 / 3.5) / 2.5] * 3 + [np.log(1 + 99.5 / 1.5) / (1 + 1.5 * length)]
    np.testing.assert_allclose(run["score"], expected, rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_saved_and_loaded_the_groups_are_the_same(tmp_path, method):
    corpus = Mixed(5)
    given_in = (corpus.tokens, corpus.chunk_ids, corpus.poem_ids, corpus.groups, method)
    index = GroupedBm25.build(*given_in, positions=corpus.positions)
    index.save(tmp_path / "index")
    again = GroupedBm25.load(tmp_path / "index")
    assert list(again.indexes) == list(LANGUAGES)
    asked = (corpus.query_ids, corpus.query_tokens, corpus.query_groups, 10)
    assert_frame_equal(again.search(*asked), index.search(*asked), check_exact=True)
    with pytest.raises(UserError, match="no BM25 index of a whole corpus, but of 3 groups"):
        Bm25Index.load(tmp_path / "index")
    np.save(tmp_path / "index" / "data.npy", np.load(tmp_path / "index" / "data.npy")[:-1])
    with pytest.raises(UserError, match="holds no BM25 index that can be read"):
        GroupedBm25.load(tmp_path / "index")


def test_files_of_groups_do_not_depend_on_the_order_of_the_input(tmp_path):
    for order in range(2):
        corpus = Mixed(6, order=order)
        index = GroupedBm25.build(
            corpus.tokens, corpus.chunk_ids, corpus.poem_ids, corpus.groups, positions=corpus.positions
        )
        index.save(tmp_path / str(order))
    for file in (tmp_path / "0").iterdir():
        assert file.read_bytes() == (tmp_path / "1" / file.name).read_bytes()


@pytest.mark.skipif("VERSEIR_DATA" not in os.environ, reason="VERSEIR_DATA does not name the folder of real poems")
def test_poems_of_six_languages_within_their_own():
    path = Path(os.environ["VERSEIR_DATA"]) / "multilingual" / "poems.jsonl"
    poems = pl.DataFrame([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    tokens = tokens_of(poems["content"], ENTRY)
    ids, languages = poems["id"].to_list(), poems["language"].to_list()
    asked = [words[len(words) // 2 :][:8] for words in tokens]
    run = GroupedBm25.build(tokens, ids, ids, languages).search(ids, asked, languages, 20)
    parts = []
    for language in sorted(set(languages)):
        own = [i for i, other in enumerate(languages) if other == language]
        mine, texts = pick(ids, own), pick(tokens, own)
        parts.append(Bm25Index.build(texts, mine, mine).search(mine, pick(asked, own), 20))
    assert_frame_equal(run, pl.concat(parts).sort("query_id", "rank"), check_exact=True)
    assert run.filter(pl.col("query_id") == pl.col("poem_id"))["rank"].le(5).sum() > 0.9 * len(ids)


def test_without_groups_it_is_the_search_of_all_poems():
    corpus = Mixed(7)
    names = (corpus.chunk_ids, corpus.poem_ids)
    expected = Bm25Index.build(corpus.tokens, *names).search(corpus.query_ids, corpus.query_tokens, 10)
    index = GroupedBm25.build(corpus.tokens, *names, None)
    assert_frame_equal(index.search(corpus.query_ids, corpus.query_tokens, None, 10), expected, check_exact=True)
    vectors = (corpus.query_vectors, None, *names, corpus.vectors, None, 10)
    expected = search(corpus.query_ids, corpus.query_vectors, *names, corpus.vectors, 10)
    assert_frame_equal(search_groups(corpus.query_ids, *vectors), expected, check_exact=True)


def test_what_is_in_no_group_is_refused_or_left_out():
    assert places_by_group(["b", None, "a", "b"], 4) == {"a": [2], "b": [0, 3]}
    with pytest.raises(UserError, match="3 groups for 4 texts"):
        places_by_group(["a"] * 3, 4)
    index = GroupedBm25.build([["x"], ["x"], []], list("abc"), list("abc"), ["ces", None, "zho"])
    assert list(index.indexes) == ["ces"]  # no token is Chinese
    assert index.search(["q"], [["x"]], ["ces"])["poem_id"].to_list() == ["a"]
    assert index.search([], [], []).is_empty()
    with pytest.raises(UserError, match=r"1 queries belong to no group: r"):
        index.search(["q", "r"], [["x"]] * 2, ["ces", None])
    with pytest.raises(
        UserError, match=r"2 queries belong to groups of which nothing is indexed: r \(eng\), q \(zho\)"
    ):
        index.search(["q", "r"], [["x"]] * 2, ["zho", "eng"])
    with pytest.raises(UserError, match="as many"):
        index.search(["q", "r"], [["x"]], ["ces", "ces"])
    with pytest.raises(UserError, match="no chunk to index"):
        GroupedBm25.build([["x"], []], list("ab"), list("ab"), [None, "ces"])
    vectors = np.eye(2, dtype=np.float32)
    with pytest.raises(UserError, match="1 queries belong to no group"):
        search_groups(["q"], vectors[:1], [None], ["a", "b"], ["a", "b"], vectors, ["ces", "ces"])


def test_parameters_are_tuned_within_too():
    grid = {"measure": "MRR", "k1": [0.0, 2.0], "b": [0.0, 1.0]}
    entry = {"method": "lucene", "ties": "id", "tune": grid}
    tokens = [["sea", "sea"], ["sea", "rain", "wind"], ["sea"] * 4 + list("abcdefgh"), ["sea", "rain"]]
    ids = [f"p{i}" for i in range(4)]
    chunks = pl.DataFrame({"chunk_id": ids, "poem_id": ids, "first_verse": [0] * 4})
    qrels = pl.DataFrame([("q", "p0", 1)], schema=dict(QRELS.columns), orient="row")
    asked = (["q"], [["sea"]], qrels)
    groups = ["ces", "eng", "eng", "ces"]
    within = tune(entry, chunks, tokens, *asked, chunk_groups=groups, query_groups=["ces"])
    own = [0, 3]
    alone = tune(entry, chunks[own], [tokens[i] for i in own], *asked)
    assert within == alone


# ---- from file to file ----


POEMS_OF = {
    "ces": ["moře a vítr", "moře", "vítr a déšť"],
    "eng": ["the sea and a wind", "a sea a"],
    "zho": ["海上明月"],
}
ENTRY = {
    "name": "bm25", "kind": "bm25", "text": "full", "tokens": "multilingual", "method": "lucene", "k1": 1.2, "b": 0.75,
    "ties": "id",
}  # fmt: skip
ASKED = [("q1", "moře a", "ces"), ("q2", "a sea", "eng"), ("q3", "明月", "zho"), ("q4", "a", "ces")]


def write_tables(folder: Path, asked=ASKED, column: bool = True) -> dict[str, str]:
    """The files of a mixed corpus; languages as a column of the poems or as an attribute."""
    poems, known = [], []
    for language, texts in POEMS_OF.items():
        for i, text in enumerate(texts):
            verses = [{"first": line, "second": None} for line in (text, *["x"] * 4)]
            spoken = language if column else "other"
            poems.append((f"{language}{i}", *[None] * 6, spoken, verses, None))
            known.append((f"{language}{i}", "language", language))
    frames = {
        "poems": (pl.DataFrame(poems, schema=dict(POEMS.columns), orient="row"), POEMS),
        "explanations": (pl.DataFrame(schema=dict(EXPLANATIONS.columns)), EXPLANATIONS),
        "attributes": (
            pl.DataFrame([] if column else known, schema=dict(ATTRIBUTES.columns), orient="row"),
            ATTRIBUTES,
        ),
        "queries": (
            pl.DataFrame(
                [(query_id, "set", text, *[None] * 5) for query_id, text, _ in asked],
                schema=dict(QUERIES.columns),
                orient="row",
            ),
            QUERIES,
        ),
        "query_attributes": (
            pl.DataFrame(
                [(query_id, "language", value) for query_id, _, value in asked if value],
                schema=dict(QUERY_ATTRIBUTES.columns),
                orient="row",
            ),
            QUERY_ATTRIBUTES,
        ),
        "qrels": (pl.DataFrame([("q1", "ces1", 1)], schema=dict(QRELS.columns), orient="row"), QRELS),
    }
    paths = {name: str(folder / f"{name}.parquet") for name in (*frames, "chunks", "run", "alone")}
    for name, (frame, table) in frames.items():
        write_table(frame, paths[name], table)
    size = ["--verses", "4000", "--stride", "1", "--fields", '["verse"]']
    of = ["--poems", paths["poems"], "--explanations", paths["explanations"]]
    assert main(["make_chunks", *of, *size, "--output", paths["chunks"]]) == 0
    return paths


def options_of(paths: dict[str, str], *names: str) -> list[str]:
    named = {"attributes": "attributes", "poems": "poems", "query-attributes": "query_attributes"}
    return ["--within", "language", *(word for name in names for word in (f"--{name}", paths[named[name]]))]


@pytest.mark.parametrize("column", [True, False])
def test_bm25_from_verb_to_verb(tmp_path, column):
    paths = write_tables(tmp_path, column=column)
    of = ["--corpus", "c", "--system", "bm25", "--entry", json.dumps(ENTRY), "--cost", str(tmp_path / "cost.json")]
    chunks = read_table(paths["chunks"], CHUNKS)
    queries, known = read_table(paths["queries"], QUERIES), read_table(paths["query_attributes"], QUERY_ATTRIBUTES)

    def searched(name: str, chunks: pl.DataFrame, asked: pl.DataFrame, options: list[list[str]], output: str) -> None:
        files = {part: str(tmp_path / f"{name}.{part}.parquet") for part in ("chunks", "queries")}
        write_table(chunks, files["chunks"], CHUNKS)
        write_table(asked, files["queries"], QUERIES)
        folder = str(tmp_path / f"{name}.index")
        assert main(["index_bm25", *of, *options[0], "--chunks", files["chunks"], "--output", folder]) == 0
        place = ["--index", folder, "--queries", files["queries"], "--depth", "10", "--output", output]
        assert main(["search_bm25", *of, *options[1], *place]) == 0

    within = [options_of(paths, "poems", "attributes"), options_of(paths, "query-attributes")]
    searched("within", chunks, queries, within, paths["run"])
    run = check_table(read_table(paths["run"], RUN), RUN, "run")
    assert set(run.select("query_id", pl.col("poem_id").str.slice(0, 3)).unique().rows()) == {
        ("q1", "ces"), ("q2", "eng"), ("q3", "zho"), ("q4", "ces"),
    }  # fmt: skip
    parts = []
    for language in POEMS_OF:
        own = queries.join(known.filter(value=language), on="query_id", how="semi")
        searched(language, chunks.filter(pl.col("poem_id").str.starts_with(language)), own, [[], []], paths["alone"])
        parts.append(read_table(paths["alone"], RUN))
    assert_frame_equal(run, pl.concat(parts).sort("query_id", "rank"), check_exact=True)


def test_dense_from_verb_to_verb(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path / "cache"))
    paths = write_tables(tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}", encoding="utf-8")
    entry = {
        "name": "dense", "kind": "dense", "path": str(tmp_path / "model"), "loader": "sentence-transformers",
        "text": "raw", "prompts": {"query": "", "document": ""}, "pooling": "mean", "padding_side": "right",
        "max_length": 512, "dtype": "float32", "normalise": True, "dimension": 4, "remote_code": False,
        "prompts_pooled": True, "late_chunking": {"prompt": True, "head": True},
    }  # fmt: skip
    identity = identify(entry)
    chunks, queries = read_table(paths["chunks"], CHUNKS), read_table(paths["queries"], QUERIES)
    texts = [*chunks["text"], *queries["text"]]
    vectors = np.random.default_rng(3).standard_normal((len(texts), 4)).astype(np.float32)
    VectorStore(identity).add(identity.text_keys(identity.prepare(texts, "query"), "query"), vectors)
    seen = {"corpus": "c", "system": "dense", "encoder_key": identity.key, "revision": "none"}
    (tmp_path / "encoding.json").write_text(json.dumps(seen), encoding="utf-8")
    of = ["--corpus", "c", "--system", "dense", "--entry", json.dumps(entry), "--cost", str(tmp_path / "cost.json")]
    of += ["--encoding", str(tmp_path / "encoding.json"), "--query-encoding", '{"view": "sentence"}', "--depth", "2"]
    place = ["--chunks", paths["chunks"], "--queries", paths["queries"], "--output", paths["run"]]
    assert main(["search_dense", *of, *options_of(paths, "poems", "attributes", "query-attributes"), *place]) == 0
    expected = search_groups(
        queries["query_id"].to_list(), vectors[len(chunks) :], [language for _, _, language in ASKED],
        chunks["chunk_id"], chunks["poem_id"], vectors[: len(chunks)],
        [poem_id[:3] for poem_id in chunks["poem_id"]], 2, positions=chunks["first_verse"],
    )  # fmt: skip
    assert expected["query_id"].to_list() == ["q1", "q1", "q2", "q2", "q3", "q4", "q4"]
    assert_frame_equal(read_table(paths["run"], RUN), expected, check_exact=True)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ([*ASKED, ("q5", "a", None)], "'q5' has no 'language'"),
        ([*ASKED, ("q5", "a", "zhn")], "'q5' no poem that is indexed has the language 'zhn'"),
    ],
)
def test_queries_beyond_reach_are_refused(tmp_path, capsys, asked, told):
    paths = write_tables(tmp_path, asked)
    of = ["--corpus", "c", "--system", "bm25", "--entry", json.dumps(ENTRY), "--cost", str(tmp_path / "cost.json")]
    of_poems, of_queries = options_of(paths, "poems", "attributes"), options_of(paths, "query-attributes")
    folder = str(tmp_path / "index")
    assert main(["index_bm25", *of, *of_poems, "--chunks", paths["chunks"], "--output", folder]) == 0
    place = ["--index", folder, "--queries", paths["queries"], "--depth", "10", "--output", paths["run"]]
    assert main(["search_bm25", *of, *of_queries, *place]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert "zhn" not in told or "did you mean 'zho'" in error
    assert not Path(paths["run"]).exists()
    unknown = ["--within", "meter", *of_poems[2:]]
    assert main(["index_bm25", *of, *unknown, "--chunks", paths["chunks"], "--output", folder]) == 2
    assert "no poem has the attribute 'meter'" in capsys.readouterr().err


def test_an_edited_query_has_the_value_of_its_original():
    rows = [("q1", "s", "a", *[None] * 5), ("q1~1", "s", "a", None, "q1", "typo", None, None)]
    queries = pl.DataFrame(rows, schema=dict(QUERIES.columns), orient="row")
    known = [("q1", "language", "ces"), ("q1", "aspect", "theme")]
    attributes = pl.DataFrame(known, schema=dict(QUERY_ATTRIBUTES.columns), orient="row")
    assert values_of_queries(queries, attributes, "language") == ["ces", "ces"]
    assert values_of_queries(queries, attributes, "scope") == [None, None]
    assert [found[0] for found in beyond_reach(queries["query_id"], ["ces", None], {"eng"}, "language")] == [
        "q1",
        "q1~1",
    ]


@pytest.mark.parametrize("n_verses", [1, 2999, 4000])
def test_a_poem_of_thousands_of_verses_is_one_chunk(n_verses):
    verses = [{"first": f"line {i}", "second": None} for i in range(n_verses)]
    poems = pl.DataFrame([("p", *[None] * 7, verses, None)], schema=dict(POEMS.columns), orient="row")
    chunks = make_chunks(poems, pl.DataFrame(schema=dict(EXPLANATIONS.columns)), ["verse"], 4000, 1)
    assert chunks.select("chunk_id", "first_verse", "n_verses").rows() == [("p#0", 0, n_verses)]
    assert chunks["text"][0].count("\n") == n_verses - 1


# ---- the study and the check before the first job ----


STUDY: dict[str, Any] = {
    "study": "mixed",
    "corpora": {"poems": {"adapter": "jsonl", "path": "poems.jsonl"}},
    "modes": {"verse": ["verse"], "czech": ["verse"]},
    "keep": {"czech": {"language": ["ces"]}},
    "query_sets": {
        "mono": {
            "corpora": ["poems"], "path": "queries.jsonl", "attributes": ["language"], "within": "language",
            "modes": ["verse"],
        },
        "cross": {"corpora": ["poems"], "path": "queries.jsonl", "modes": ["verse"]},
        "edited": {"corpora": ["poems"], "edit": {"of": "mono", "rule": "typo"}},
    },
    "systems": ["bm25-multilingual"],
}  # fmt: skip


def study_with(**changes: Any) -> Study:
    sets = {name: spec | changes.get(name, {}) for name, spec in STUDY["query_sets"].items()}
    return load_study(STUDY | {"query_sets": sets}, Path(__file__).parents[2])


def test_a_study_says_within_what_its_sets_are_searched():
    study = study_with(edited={"edit": {"of": "mono", "rule": "rewrite", "path": "edits.jsonl"}})
    assert {name: study.within(name) for name in study.query_sets} == {
        "mono": "language", "edited": "language", "cross": "",
    }  # fmt: skip
    assert study.attributed("edited") == "mono"
    assert study.cross["within"] == {"edited": "language", "mono": "language"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"mono": {"within": "langauge"}}, "query_sets.mono.within"),
        ({"cross": {"within": "language"}}, "query_sets.cross.within"),
        ({"mono": {"within": ""}}, "query_sets.mono.within"),
        ({"edited": {"within": "language"}}, "query_sets.edited.within"),
    ],
)
def test_a_set_searched_within_what_its_queries_do_not_have_is_refused(changes, told):
    edited = {"edit": {"of": "mono", "rule": "rewrite", "path": "edits.jsonl"}}
    with pytest.raises(InputFaults, match=told):
        study_with(**{"edited": edited | changes.pop("edited", {}), **changes})


def test_the_check_tells_all_queries_beyond_reach(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    poems = [{"poem_id": f"p{i}", "verses": ["text"], "language": language} for i, language in enumerate(LANGUAGES)]
    asked = [
        {"query_id": "q1", "text": "a", "relevant": "p0", "language": "ces"},
        {"query_id": "q2", "text": "a", "relevant": "p1", "language": "eng"},
        {"query_id": "q3", "text": "a", "relevant": "p0"},
        {"query_id": "q4", "text": "a", "relevant": "p0", "language": "cez"},
    ]
    for name, rows in (("poems", poems), ("queries", asked)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")

    def told(modes: list[str], within: str = "language") -> list[str]:
        spec = STUDY["query_sets"]["mono"] | {"modes": modes, "within": within, "attributes": ["language"]}
        given = {"corpora": STUDY["corpora"], "query-sets": {"mono": spec}, "modes": STUDY["modes"]}
        options = [f"--{name}={json.dumps(value)}" for name, value in (given | {"keep": STUDY["keep"]}).items()]
        main(["check_inputs", *options, "--output=inputs.json"])
        return [line[4:] for line in capsys.readouterr().err.split("\n") if line.startswith("  - ")]

    reach = [
        "queries.jsonl:3 [language]: query 'q3': has no 'language', within which it is searched",
        "queries.jsonl:4 [language]: query 'q4': no poem that is indexed has the language 'cez' in poems, mode 'verse'",
    ]
    assert told(["verse"]) == reach
    assert told(["verse"], "meter")[0].startswith("corpus poems [query_sets.mono.within]: no poem has 'meter'")
    czech = [line for line in told(["czech"]) if "[language]" in line]
    assert [line.split("'")[1] for line in czech] == ["q2", "q3", "q4"]
    for row in asked[2:]:
        row |= {"language": "zho", "relevant": "p2"}
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked), encoding="utf-8")
    assert told(["verse"]) == []
