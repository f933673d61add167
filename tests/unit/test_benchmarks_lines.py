"""What the benchmarks time agrees with its peers, on inputs that are what they promise; a wrong result is told."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import pooling  # noqa: E402  (found on the path above)
import texts  # noqa: E402
import vectors  # noqa: E402
from agreement import (  # noqa: E402
    Ranking,
    rankings_of,
    require_close,
    require_cosines,
    require_same_lists,
    require_same_rankings,
)
from harness.line import Disagreement  # noqa: E402
from harness.machine import cpu_features  # noqa: E402
from lines import all_lines, bm25, dense, measures, resampling, tokenise  # noqa: E402

# ---- the lines ----

#: The floors that the project set itself: work, threads, least ratio.
FLOORS = {
    "bm25-search": {1: [2.0], 2: [3.5]},
    "bm25-index": {1: [1.0]},
    "tokenise": {1: [1.6]},
    "dense-pooled": {2: [1.0, 1.7]},
    "dense-documents": {2: [0.9]},
    "measures": {2: [8.0]},
    "encode": {2: [1.15, 1.35]},
    "encode-bf16": {2: [3.0]},
    "permutation": {2: [200.0]},
    "bootstrap": {2: [10.0]},
}


def test_the_lines_are_those_that_the_project_promised_with_their_floors():
    lines = all_lines()
    found = {}
    for line in lines.values():
        for threads in line.threads:
            floors = sorted(peer.floors[threads] for peer in line.peers if threads in peer.floors)
            if floors:
                found.setdefault(line.name, {})[threads] = floors
    slower = {} if "amx_bf16" in cpu_features() else {"encode-bf16"}  # without AMX nothing was promised
    assert found == {name: floors for name, floors in FLOORS.items() if name not in slower}
    assert {"mteb-bm25", "mteb-dense"} <= set(lines)
    assert [peer.name for peer in lines["measures-ranx"].peers] == ["ranx"]


def test_sizes_go_from_the_demo_to_the_largest_corpus():
    lines = all_lines()
    demo = (ROOT / "resources" / "demo" / "poems.jsonl").read_text(encoding="utf-8").splitlines()
    verses = [len(json.loads(line)["verses"]) for line in demo]
    for name in ("bm25-search", "bm25-index", "tokenise", "dense-pooled"):
        assert lines[name].sizes[0] == sum(max(1, n - 2) for n in verses)
        assert lines[name].sizes[-1] == 244_000
    for name in ("dense-documents", "mteb-bm25", "mteb-dense"):
        assert lines[name].sizes[0] == len(demo)
        assert lines[name].sizes[-1] == 138_604


def test_every_line_is_well_formed():
    for line in all_lines().values():
        assert re.fullmatch(r"[a-z0-9-]+", line.name)
        assert list(line.sizes) == sorted(set(line.sizes))
        assert len(line.sizes) >= 3
        assert max(line.quick, default=0) <= line.sizes[-1]
        assert len({peer.name for peer in line.peers}) == len(line.peers)
        assert line.first > 0 or not line.jitted
        assert all(threads in line.threads for peer in line.peers for threads in peer.floors)


def test_peers_are_pinned_and_clash_with_nothing_in_the_lock():
    pins = re.findall(r"^(\S+)==(\S+)$", (BENCHMARKS / "requirements.txt").read_text(encoding="utf-8"), re.M)
    locked = dict(re.findall(r"^(\S+)==(\S+)$", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.M))
    assert {"faiss-cpu", "mteb"} <= {name for name, _ in pins}
    assert not {name for name, _ in pins} & set(locked)
    for line in all_lines().values():
        assert set(line.packages) <= {name for name, _ in pins} | set(locked)


@pytest.mark.parametrize(
    ("line", "size"),
    [
        *((line, 40) for line in bm25.LINES),
        (tokenise.LINES[0], 40),
        (resampling.LINES[1], 3),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_ours_and_the_peers_agree(line, size):
    data = line.prepare(size, 1)
    ours = line.ours(data, 1)
    for peer in line.peers:
        line.same(data, ours, peer.run(data, 1), peer.name)


def test_pooled_search_agrees_with_numpy_and_a_wrong_result_is_told():
    poems = texts.make_poems(200, texts.Vocabulary(["a"], np.ones(1)), np.random.default_rng(3))
    made = vectors.make_vectors(poems.poem_of, dense.QUERIES, 16, np.random.default_rng(4))
    ids = pl.Series(texts.names("p", int(poems.poem_of[-1]) + 1)).gather(pl.Series(poems.poem_of))
    chunk_ids = ids + "#" + pl.Series(poems.first_of).cast(pl.String)
    firsts = pl.Series(poems.first_of)
    data = dense.Searched(made, texts.names("q", dense.QUERIES), chunk_ids, ids, firsts, poems.poem_of, None, 0)
    ours, theirs = dense.search(data, 1), dense.by_numpy(data, 1)
    dense.same(data, ours, theirs, "NumPy")
    moved = [Ranking(theirs[0].documents, theirs[0].scores + 1e-4), *theirs[1:]]
    with pytest.raises(Disagreement, match=r"query 0, rank \d+: scores differ"):
        dense.same(data, ours, moved, "NumPy")


def test_measures_agree_with_trec_eval_and_one_wrong_value_is_told(monkeypatch):
    monkeypatch.setattr(measures, "QUERIES", 6)
    data = measures.prepare(2, 1)
    ours, theirs = measures.measure(data, 1), measures.by_trec_eval(data, 1)
    measures.same(data, ours, theirs, "pytrec_eval")
    theirs[1]["q0000003"]["map"] += 1e-8
    with pytest.raises(Disagreement, match="MAP"):
        measures.same(data, ours, theirs, "pytrec_eval")


def test_the_permutation_peer_agrees_where_all_signs_are_enumerated():
    few = resampling.prepare(3, 1).few
    from verseir.stats.permutation import sign_flip

    require_close(sign_flip(few).p, resampling._scipy(few, n_resamples=np.inf), 1e-9, "exact p")


# ---- texts and vectors ----


@given(st.integers(1, 300), st.integers(0, 2**16))
def test_there_are_as_many_chunks_as_asked_for_windows_of_their_poems(n, seed):
    poems = texts.make_poems(n, texts.Vocabulary(["a", "b"], np.array([2.0, 1.0])), np.random.default_rng(seed))
    assert len(poems.poem_of) == n
    assert (np.diff(poems.poem_of) >= 0).all()
    counts = np.bincount(poems.poem_of)
    assert [max(1, len(poem) - texts.WINDOW + 1) for poem in poems.verses] == counts.tolist()
    low, high = texts.WORDS
    for text, words, poem in zip(poems.chunk_texts(), poems.chunk_words(), poems.poem_of.tolist(), strict=True):
        lines = text.split("\n")
        assert len(lines) == min(texts.WINDOW, len(poems.verses[poem]))
        assert text.replace("* ", "").split() == words
        assert all(low <= len(verse) <= high for verse in poems.verses[poem])
    assert (poems.first_of == np.concatenate([np.arange(count) for count in counts])).all()


def test_texts_repeat_with_their_seed_and_follow_zipf():
    first, second = (
        texts.make_poems(500, texts.Vocabulary.made_up(rng, 5000), rng, vocalised=0.5).chunk_texts()
        for rng in (np.random.default_rng(1), np.random.default_rng(1))
    )
    assert first == second
    assert any(mark in "".join(first) for mark in texts.MARKS)
    drawn = texts.Vocabulary.made_up(np.random.default_rng(1), 5000).draw(20_000, np.random.default_rng(2))
    counts = np.sort(np.unique(drawn, return_counts=True)[1])[::-1]
    slope = np.polyfit(np.log(np.arange(20, 200)), np.log(counts[20:200]), 1)[0]
    assert -1.2 < slope < -0.8


def test_words_for_encoders_are_those_of_the_demo():
    vocabulary = texts.Vocabulary.of_demo()
    demo = (ROOT / "resources" / "demo" / "poems.jsonl").read_text(encoding="utf-8")
    assert len(vocabulary.words) > 1000
    assert all(word in demo for word in vocabulary.draw(50, np.random.default_rng(1)))


def test_names_keep_the_order_of_their_numbers():
    ids = texts.names("p", 1200)
    assert ids == sorted(ids)
    assert texts.numbers(np.array(ids)).tolist() == list(range(1200))


def test_chunks_of_a_poem_are_nearer_to_each_other_than_to_others():
    made = vectors.make_vectors(np.repeat(np.arange(50), 4), 10, 64, np.random.default_rng(1))
    np.testing.assert_allclose(np.linalg.norm(made.documents, axis=1), 1, rtol=1e-5)
    cosines = made.documents @ made.documents.T
    same = np.repeat(np.arange(50), 4)[:, None] == np.repeat(np.arange(50), 4)
    assert cosines[same].min() > np.median(cosines[~same]) + 0.1
    assert np.median(cosines[~same]) > 0.2


# ---- pooling ----


@given(st.data())
def test_poems_pooled_from_few_chunks_are_those_of_all_chunks(data):
    """With scores of few values, so that ties meet the cut of chunks and that of poems."""
    counts = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=12))
    poem_of = np.repeat(np.arange(len(counts)), counts)
    values = st.lists(st.integers(0, 4), min_size=len(poem_of), max_size=len(poem_of))
    scores = np.array([data.draw(values) for _ in range(3)], dtype=np.float32)
    depth, k = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 6))

    def retrieve(asked, k):
        order = np.argsort(-scores[asked], axis=1, kind="stable")[:, :k]
        return order, np.take_along_axis(scores[asked], order, axis=1)

    found = pooling.search_poems(retrieve, 3, poem_of, depth, k, 0.0)
    for query in range(3):
        best = {poem: scores[query][poem_of == poem].max() for poem in range(len(counts))}
        expected = sorted((poem for poem in best if best[poem] > 0), key=lambda poem: (-best[poem], poem))[:depth]
        assert found[query].documents.tolist() == expected
        assert found[query].scores.tolist() == [best[poem] for poem in expected]
    enough = pooling.fewest_chunks(retrieve, 3, poem_of, depth, 0.0)
    assert 1 <= enough <= len(poem_of)


# ---- agreement ----


def ranking(documents, scores):
    return Ranking(np.array(documents), np.array(scores, dtype=np.float32))


def test_lists_that_differ_in_ties_alone_are_the_same():
    one = ranking([4, 2, 7], [3, 2, 2])
    require_same_rankings([one], [ranking([4, 7, 2], [3, 2, 2])], 1e-6)  # the order of ties
    require_same_rankings([one], [ranking([4, 2, 9], [3, 2, 2])], 1e-6)  # which of them the cut leaves


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (ranking([4, 2], [3, 2]), "3 results, the peer's 2"),
        (ranking([4, 2, 7], [3, 2.5, 2]), "rank 2: scores differ"),
        (ranking([5, 2, 7], [3, 2, 2]), "only one of the two finds document 4"),
        (ranking([2, 4, 7], [3, 2, 2]), "document 2: scores differ by 1"),
    ],
)
def test_lists_that_differ_otherwise_are_not(other, message):
    with pytest.raises(Disagreement, match=message):
        require_same_rankings([ranking([4, 2, 7], [3, 2, 2])], [other], 1e-6)
    with pytest.raises(Disagreement, match="1 ranked lists, the peer's 0"):
        require_same_rankings([other], [], 1e-6)


def test_a_run_is_read_by_its_numbers():
    run = pl.DataFrame({"query_id": ["q0000000", "q0000002"], "poem_id": ["p0000005", "p0000001"], "score": [1.0, 2.0]})
    lists = rankings_of(run, 3)
    assert [part.documents.tolist() for part in lists] == [[5], [], [1]]


def test_numbers_vectors_and_lists_that_differ_are_told():
    require_close(np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-10]), 1e-9, "x")
    for other in ([1.0, 2.1], [1.0, np.nan]):
        with pytest.raises(Disagreement, match=r"x: .* at \(1,\)"):
            require_close(np.array([1.0, 2.0]), np.array(other), 1e-9, "x")
    with pytest.raises(Disagreement, match="shape"):
        require_close(np.ones(2), np.ones(3), 1e-9, "x")
    require_cosines(np.array([[2.0, 0.0]]), np.array([[1.0, 0.0]]), 0.99999, "ours")
    for other in ([1.0, 0.02], [np.nan, 1.0]):
        with pytest.raises(Disagreement, match="cosine"):
            require_cosines(np.array([[1.0, 0.0]]), np.array([other]), 0.99999, "ours")
    with pytest.raises(Disagreement, match="tokens of text 1"):
        require_same_lists([["a"], ["b"]], [["a"], ["c"]], "tokens")
