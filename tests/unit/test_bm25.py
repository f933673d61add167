"""BM25: the scores of bm25s, pooled to poems by the ranking policy."""

import json

import bm25s
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from verseir.faults import UserError
from verseir.ranking import order_chunks
from verseir.systems import postings, sparse
from verseir.systems.bm25 import METHODS, Bm25Index
from verseir.tables import RUN, check_table

#: The methods whose weights bm25s makes; rank_bm25's has tests of its own.
OF_BM25S = [method for method in METHODS if method != "okapi"]


def build(tokens, poem_of, method="lucene", k1=1.5, b=0.75, order=None):
    """An index of chunks given in order; ``order`` shuffles what is handed in."""
    order = range(len(tokens)) if order is None else order
    poems = [f"p{i:03d}" for i in poem_of]
    return Bm25Index.build(
        [tokens[i] for i in order],
        [f"{poems[i]}#{i}" for i in order],
        [poems[i] for i in order],
        method,
        k1,
        b,
        positions=list(order),
    )


def random_corpus(seed, n_chunks=150, n_poems=40, vocabulary=60):
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(vocabulary)]

    def text(longest):
        return [words[int(i)] for i in rng.zipf(1.3, rng.integers(1, longest)) % vocabulary]

    tokens = [text(12) for _ in range(n_chunks)]
    queries = [text(6) for _ in range(12)]
    return tokens, np.sort(rng.integers(0, n_poems, n_chunks)).tolist(), queries


def pooled_peer(tokens, poem_of, queries, method, k1, b):
    """bm25s' own scores of all chunks, the best of each poem that shares a token."""
    model = bm25s.BM25(method=method, k1=k1, b=b)
    model.index(tokens, show_progress=False)
    best = []
    for query in queries:
        known = [token for token in query if token in model.vocab_dict]
        scores = model.get_scores(known) if known else []
        poems = {}
        for chunk, score in enumerate(scores):
            if set(tokens[chunk]) & set(known):
                poem = f"p{poem_of[chunk]:03d}"
                poems[poem] = max(poems.get(poem, 0.0), float(score))
        best.append(poems)
    return best


@pytest.mark.parametrize("method", OF_BM25S)
@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (0.0, 0.0), (2.0, 1.0)])
def test_scores_equal_bm25s(method, k1, b):
    tokens, poem_of, queries = random_corpus(5)
    queries += [["w1", "w1", "w1", "w2"], ["unknown", "w3"], ["unknown"], []]
    run = build(tokens, poem_of, method, k1, b).search([f"q{i:02d}" for i in range(len(queries))], queries, 1000)
    check_table(run, RUN, "run")
    for i, expected in enumerate(pooled_peer(tokens, poem_of, queries, method, k1, b)):
        rows = run.filter(pl.col("query_id") == f"q{i:02d}")
        assert sorted(rows["poem_id"]) == sorted(expected)
        np.testing.assert_allclose(rows["score"], [expected[poem] for poem in rows["poem_id"]], rtol=1e-6)
        assert rows.rows() == sorted(rows.rows(), key=lambda row: (-row[3], row[1]))
        assert rows["rank"].to_list() == list(range(1, len(rows) + 1))


@pytest.mark.parametrize("method", OF_BM25S)
@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (0, 0), (2, 1), (1.2, 0.3)])
def test_weights_equal_bm25s_to_the_last_bit(method, k1, b, monkeypatch):
    tokens, poem_of, _ = random_corpus(15, n_chunks=300, vocabulary=200)
    tokens[7] += ["w1"] * 300  # more often than a byte can count
    model = bm25s.BM25(method=method, k1=k1, b=b)
    model.index(tokens, create_empty_token=False, show_progress=False)
    for block in (1, 50, 10**6):
        monkeypatch.setattr(postings, "BLOCK", block)
        index = build(tokens, poem_of, method, k1, b, order=np.random.default_rng(block).permutation(300).tolist())
        assert set(index.vocabulary) == set(model.vocab_dict)
        for token, column in index.vocabulary.items():
            at = model.vocab_dict[token]
            mine = slice(*index.indptr[column : column + 2])
            theirs = slice(*model.scores["indptr"][at : at + 2])
            assert index.indices[mine].tolist() == model.scores["indices"][theirs].tolist()
            assert index.data[mine].tolist() == model.scores["data"][theirs].tolist()


def require_plain_sums(index, queries, depth):
    """The run is what adding one posting after the other gives, to the last bit."""
    ids = [f"q{i:02d}" for i in range(len(queries))]
    run = index.search(ids, queries, depth, threads=2)
    for query_id, query in zip(ids, queries, strict=True):
        scores = np.zeros(len(index.names.poem_of), dtype=np.float32)
        found = np.zeros(len(scores), dtype=bool)
        for column in sorted({index.vocabulary[token] for token in query if token in index.vocabulary}):
            own = slice(*index.indptr[column : column + 2])
            times = sum(index.vocabulary.get(token) == column for token in query)
            scores[index.indices[own]] += np.float32(times) * index.data[own]
            found[index.indices[own]] = True
        best = {}
        for place in np.flatnonzero(found).tolist():
            poem = int(index.names.poem_of[place])
            if poem not in best or scores[place] > scores[best[poem]]:
                best[poem] = place
        expected = sorted(best, key=lambda poem: (-scores[best[poem]], poem))[:depth]
        rows = run.filter(pl.col("query_id") == query_id)
        assert rows["poem_id"].to_list() == [index.names.poem_ids[poem] for poem in expected]
        assert rows["score"].to_list() == [float(scores[best[poem]]) for poem in expected]
        assert rows["chunk_id"].to_list() == [index.names.chunk_ids[best[poem]] for poem in expected]


@pytest.mark.parametrize("depth", [1, 40, 899, 1000])
def test_scores_over_several_blocks_are_plain_sums(depth):
    """20,000 chunks: frequent tokens and rare ones, poems that cross the ends of blocks, repeated tokens."""
    rng = np.random.default_rng(16)
    words = [f"w{i}" for i in range(3000)]
    tokens = [[words[int(i)] for i in rng.zipf(1.2, 8) % 3000] for _ in range(20_000)]
    index = build(tokens, np.sort(rng.integers(0, 900, 20_000)).tolist())
    queries = [[words[int(i)] for i in rng.zipf(1.2, 6) % 3000] for _ in range(30)]
    require_plain_sums(index, [*queries, ["w1"], ["w2999"], ["w1", "w1", "w1", "w2"], []], depth)


def test_more_frequent_tokens_than_have_room_make_plain_sums_too():
    words = [f"w{i}" for i in range(2 * sparse.ROWS)]
    rng = np.random.default_rng(17)
    tokens = [[words[int(i)] for i in rng.permutation(len(words))[: len(words) // 2]] for _ in range(40)]
    require_plain_sums(build(tokens, [i // 2 for i in range(40)]), [words, words[::-2]], 10)


@settings(max_examples=60)
@given(st.data())
def test_few_scores_and_many_poems_make_plain_sums(data):
    """Ties at the cut, poems of several chunks on both sides of it, tokens without weight."""
    method = data.draw(st.sampled_from(OF_BM25S))
    tokens = data.draw(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), min_size=1, max_size=300))
    poem_of = sorted(data.draw(st.lists(st.integers(0, 250), min_size=len(tokens), max_size=len(tokens))))
    queries = data.draw(st.lists(st.lists(st.sampled_from("abcx"), max_size=4), min_size=1, max_size=3))
    require_plain_sums(build(tokens, poem_of, method), queries, data.draw(st.integers(1, 5)))


@pytest.mark.parametrize("depth", [1, 2, 5, 39])
def test_a_short_run_is_the_head_of_the_long_one(depth):
    tokens, poem_of, queries = random_corpus(6)
    index = build(tokens, poem_of)
    ids = [f"q{i:02d}" for i in range(len(queries))]
    expected = index.search(ids, queries, 1000).filter(pl.col("rank") <= depth)
    assert_frame_equal(index.search(ids, queries, depth), expected, check_exact=True)


def test_ties_are_exact_with_more_poems_than_there_is_room_for():
    # 400 poems of three scores: the list of candidates is cut several times
    tokens = [["a"] * (1 + i % 3) + ["x"] * (2 - i % 3) for i in range(400)]
    index = build(tokens, range(400))
    expected = index.search(["q"], [["a"]], 400)
    assert expected["poem_id"].to_list() == [f"p{i:03d}" for i in sorted(range(400), key=lambda i: (-(i % 3), i))]
    for depth in (1, 5, 150):
        assert_frame_equal(index.search(["q"], [["a"]], depth), expected.head(depth), check_exact=True)


def test_scores_one_step_apart_are_told_apart():
    steps = np.arange(400, dtype=np.int32)
    scores = (np.float32(1).view(np.int32) + steps).view(np.float32)  # each the next float32 above the one before
    poems = [f"p{i:03d}" for i in steps]
    index = Bm25Index("lucene", 1.5, 0.75, {"a": 0}, scores, steps, np.array([0, 400]), order_chunks(poems, poems))
    for depth in (1, 5, 150):
        run = index.search(["q"], [["a"]], depth)
        assert run["poem_id"].to_list() == poems[::-1][:depth]
        assert run["score"].to_list() == scores[::-1][:depth].tolist()


def test_a_score_one_step_above_many_equal_ones_is_found():
    steps = np.arange(400, dtype=np.int32)
    scores = np.where(steps < 399, 1, np.nextafter(np.float32(1), np.float32(2))).astype(np.float32)
    poems = [f"p{i:03d}" for i in steps]
    index = Bm25Index("lucene", 1.5, 0.75, {"a": 0}, scores, steps, np.array([0, 400]), order_chunks(poems, poems))
    assert index.search(["q"], [["a"]], 2)["poem_id"].to_list() == ["p399", "p000"]


def test_threads_and_order_change_nothing():
    tokens, poem_of, queries = random_corpus(7)
    ids = [f"q{i:02d}" for i in range(len(queries))]
    expected = build(tokens, poem_of).search(ids, queries, 10)
    for threads in (1, 2, 5):
        assert_frame_equal(build(tokens, poem_of).search(ids, queries, 10, threads=threads), expected, check_exact=True)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        other = build(tokens, poem_of, order=rng.permutation(len(tokens)).tolist())
        turn = rng.permutation(len(ids))
        run = other.search([ids[i] for i in turn], [queries[i][::-1] for i in turn], 10)
        assert_frame_equal(run, expected, check_exact=True)


TEXT = st.lists(st.sampled_from("abcde"), max_size=5)


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=12).filter(any), TEXT, st.sampled_from(METHODS), st.data())
def test_retrieves_the_poems_that_share_a_token(tokens, query, method, data):
    poem_of = sorted(data.draw(st.lists(st.integers(0, 5), min_size=len(tokens), max_size=len(tokens))))
    run = build(tokens, poem_of, method).search(["q"], [query])
    sharing = {f"p{poem:03d}" for poem, text in zip(poem_of, tokens, strict=True) if set(text) & set(query)}
    assert set(run["poem_id"]) == sharing
    assert (run["score"] >= 0).all() or method == "okapi"  # a mean idf below 0
    for poem, chunk in run.select("poem_id", "chunk_id").rows():
        assert chunk.startswith(f"{poem}#")


def test_a_shared_token_of_no_weight_retrieves_with_score_0():
    # robertson gives no weight to a token that most chunks have
    run = build([["a"], ["a"], ["a", "b"], ["b"]], [0, 1, 2, 3], "robertson").search(["q"], [["a"]])
    assert run["poem_id"].to_list() == ["p000", "p001", "p002"]
    assert run["score"].to_list() == [0.0, 0.0, 0.0]


def test_the_first_of_equal_chunks_is_shown():
    tokens = [["b"], ["a", "b"], ["a", "b"], ["a", "c"]]
    run = build(tokens, [0, 0, 0, 1], order=[2, 3, 1, 0]).search(["q"], [["a", "b"]])
    assert run["chunk_id"].to_list() == ["p000#1", "p001#3"]


def test_chunks_without_tokens_are_not_counted():
    full = build([["a", "b"], ["a"], ["c"]], [0, 1, 2])
    gaps = Bm25Index.build(
        [["a", "b"], [], ["a"], ["c"]], ["p000#0", "e#0", "p001#1", "p002#2"], ["p000", "e", "p001", "p002"]
    )
    queries = (["q"], [["a", "c"]])
    assert_frame_equal(gaps.search(*queries), full.search(*queries), check_exact=True)


def test_one_chunk_is_enough():
    run = build([["a"]], [0]).search(["q1", "q2"], [["a"], ["b"]])
    assert run["query_id"].to_list() == ["q1"]
    assert run["score"][0] > 0


def test_queries_that_find_nothing_give_an_empty_run():
    index = build([["a"]], [0])
    for run in (index.search([], []), index.search(["q"], [[]]), index.search(["q", "r"], [["x"], []])):
        assert run.is_empty()
        assert run.schema == pl.Schema(RUN.columns)


def test_saved_and_loaded_it_is_the_same(tmp_path):
    tokens, poem_of, queries = random_corpus(8)
    index = build(tokens, poem_of, "atire", 0.9, 0.4)
    ids = [f"q{i:02d}" for i in range(len(queries))]
    folder = tmp_path / "deep" / "index"
    for _ in range(2):  # the second time it replaces a folder
        index.save(folder)
        again = Bm25Index.load(folder)
        assert (again.method, again.k1, again.b) == ("atire", 0.9, 0.4)
        assert_frame_equal(again.search(ids, queries, 10), index.search(ids, queries, 10), check_exact=True)
    assert [path.name for path in folder.parent.iterdir()] == ["index"]


def test_saved_files_do_not_depend_on_input_order(tmp_path):
    tokens, poem_of, _ = random_corpus(9)
    build(tokens, poem_of).save(tmp_path / "one")
    build(tokens, poem_of, order=np.random.default_rng(1).permutation(len(tokens)).tolist()).save(tmp_path / "two")
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["data.npy", "index.json", "indices.npy", "indptr.npy", "poem_of.npy"]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_damaged_index_is_refused(tmp_path):
    with pytest.raises(UserError, match="holds no BM25 index"):
        Bm25Index.load(tmp_path / "absent")
    build([["a"]], [0]).save(tmp_path / "index")
    (tmp_path / "index" / "data.npy").write_bytes(b"")
    with pytest.raises(UserError, match="holds no BM25 index"):
        Bm25Index.load(tmp_path / "index")
    build([["a"]], [0]).save(tmp_path / "index")
    texts = json.loads((tmp_path / "index" / "index.json").read_text())
    (tmp_path / "index" / "index.json").write_text(json.dumps(texts | {"format": 0}))
    with pytest.raises(UserError, match="format 0"):
        Bm25Index.load(tmp_path / "index")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], []), "no chunk"),
        (([[]], ["c"], ["p"]), "no chunk"),
        (([["a"]], ["c"], ["p"], "bm25+"), "unknown BM25 method"),
        (([["a"]], ["c"], ["p"], "lucene", -1.0), "k1=-1.0"),
        (([["a"]], ["c"], ["p"], "lucene", 1.5, 1.5), "b=1.5"),
        (([["a"], ["b"]], ["c"], ["p"]), "2 token lists"),
    ],
)
def test_what_cannot_be_indexed_is_refused(arguments, message):
    with pytest.raises(UserError, match=message):
        Bm25Index.build(*arguments)


def test_queries_that_do_not_fit_are_refused():
    index = build([["a"]], [0])
    with pytest.raises(UserError, match="as many"):
        index.search(["q"], [])
    with pytest.raises(UserError, match="depth is 0"):
        index.search(["q"], [["a"]], 0)
