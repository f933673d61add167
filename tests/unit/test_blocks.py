"""Blocks of texts: jobs that share an encode make, bit for bit, the vectors that one job makes."""

from __future__ import annotations

import hashlib
import json
import random

import numpy as np
import pytest
import tiny_models
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.faults import UserError
from verseir.systems import blocks as blocks_module
from verseir.systems.blocks import Blocks, InBlocks
from verseir.systems.encode_step import Texts, empty_part, encode_share, merged, share_of
from verseir.systems.encoder import Encoder, TokenCounts
from verseir.systems.identity import Identity
from verseir.systems.loading import load_encoder
from verseir.systems.readings import Reading
from verseir.systems.sources import Source
from verseir.systems.vectors import VectorStore


class BatchBoundEncoder(Encoder):
    """The worst case: a vector is a hash of the string and of its whole batch of three, the longest strings first."""

    def __init__(self, tasks=None, fail_after=None):
        entry = {"name": "bound", "text": "light", "prompts": {"query": "q: ", "document": ""}}
        entry |= {"dimension": 8, "normalise": False} | ({"tasks": tasks} if tasks else {})
        super().__init__(Identity(entry, Source("path", "", "", ""), "k" * 8), "cpu")
        self.encoded, self.fail_after = [], fail_after

    def _raw_batches(self, prepared, role):
        order = sorted(range(len(prepared)), key=lambda row: (-len(prepared[row]), prepared[row]))
        for start in range(0, len(order), 3):
            rows = order[start : start + 3]
            if self.fail_after is not None and len(self.encoded) >= self.fail_after:
                raise KeyboardInterrupt
            self.encoded += [prepared[row] for row in rows]
            batch = "|".join(prepared[row] for row in rows)
            digests = [hashlib.blake2b(f"{prepared[row]}|{batch}".encode(), digest_size=8).digest() for row in rows]
            yield np.array(rows), np.array([list(digest) for digest in digests], np.float32) + 1

    def count_tokens(self, texts, role):
        n_tokens = np.array([len(text.split()) for text in self.prepare(texts, role)], np.int64)
        return TokenCounts(n_tokens, n_tokens // 2, n_tokens > 2)

    def seen(self, prepared):
        return prepared


def filled(root, texts_by_role, shards=1, order=None, size=7, **settings):
    """A store that the jobs of an encode have filled, one after the other in ``order``, and their encoders."""
    encoders = [BatchBoundEncoder(**settings) for _ in range(shards)]
    for shard in order or range(shards):
        encoder = encoders[shard]
        blocks = Blocks(encoder.identity, texts_by_role, size=size)
        share = blocks.share(texts_by_role, shard, shards)
        VectorStore(encoder.identity, root).encode_missing(InBlocks(encoder, blocks), share)
    return VectorStore(encoders[0].identity, root), encoders


TEXT = st.text("abc q:", max_size=6)


@settings(max_examples=60, deadline=None)
@given(
    documents=st.lists(TEXT, max_size=60),
    queries=st.lists(TEXT, max_size=20),
    shards=st.integers(1, 6),
    seed=st.integers(0, 99),
    tasks=st.sampled_from([None, {"query": "one", "document": "two"}]),
)
def test_any_number_of_jobs_in_any_order_makes_the_same_vectors(
    tmp_path_factory, documents, queries, shards, seed, tasks
):
    root = tmp_path_factory.mktemp("store")
    texts = {"document": documents, "query": queries}
    shuffled = {role: random.Random(seed).sample(list(part), len(part)) for role, part in texts.items()}
    order = random.Random(seed).sample(range(shards), shards)
    alone, (one,) = filled(root / "alone", texts, tasks=tasks)
    together, several = filled(root / "together", shuffled, shards, order, tasks=tasks)
    for role, part in texts.items():
        np.testing.assert_array_equal(together.get(part, role), alone.get(part, role))
    assert sorted(text for encoder in several for text in encoder.encoded) == sorted(one.encoded)


@settings(max_examples=60, deadline=None)
@given(documents=st.lists(TEXT, max_size=80), queries=st.lists(TEXT, max_size=20), shards=st.integers(1, 6))
def test_each_text_is_of_one_job(documents, queries, shards):
    identity = BatchBoundEncoder().identity
    texts = {"document": documents, "query": queries}
    blocks = Blocks(identity, texts, size=7)
    shares = [blocks.share(texts, shard, shards) for shard in range(shards)]
    for role, part in texts.items():
        assert sorted(text for share in shares for text in share[role]) == sorted(part)
    keys = [
        {key for role in texts for key in identity.text_keys(identity.prepare(share[role], role), role)}
        for share in shares
    ]
    assert sum(map(len, keys)) == len(set().union(*keys))


def test_jobs_get_like_amounts_of_text():
    texts = {"document": [f"{'word ' * (1 + i % 40)}{i}" for i in range(4000)], "query": []}
    blocks = Blocks(BatchBoundEncoder().identity, texts, size=100)
    assert len(blocks) == 40
    taken = np.bincount(blocks.shard_of(4), weights=blocks.characters)
    assert taken.max() < 1.05 * taken.min()


def test_what_the_store_holds_does_not_move_texts_between_jobs(tmp_path):
    texts = {"document": [f"text {i}" for i in range(50)], "query": []}
    filled(tmp_path, {"document": texts["document"][::3], "query": []})
    store, (first, second) = filled(tmp_path, texts, shards=2)
    assert len(first.encoded) + len(second.encoded) == 50 - 17
    assert store.missing(texts["document"], "document") == []


def test_a_killed_job_goes_on_where_it_stopped(tmp_path):
    texts = {"document": [f"text {i}" for i in range(60)], "query": []}
    with pytest.raises(KeyboardInterrupt):
        filled(tmp_path, texts, shards=2, fail_after=15)
    held = len(VectorStore(BatchBoundEncoder().identity, tmp_path))
    assert 15 <= held < 30
    store, encoders = filled(tmp_path, texts, shards=2)
    assert sum(len(encoder.encoded) for encoder in encoders) == 60 - held
    assert store.missing(texts["document"], "document") == []
    _, idle = filled(tmp_path, texts, shards=2)
    assert [encoder.encoded for encoder in idle] == [[], []]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return load_encoder(tiny_models.entry(tiny_models.bert(tmp_path_factory.mktemp("models") / "bert")), "cpu")


def study_texts(n=300):
    words = "the well is dry and rope hangs over a stone".split()
    lines = [" ".join(random.Random(i).choices(words, k=1 + i % 9)) + f" {i}" for i in range(n)]
    queries = lines[:20] + [f"find {line}" for line in lines[40:60]]
    return Texts(sorted(lines), sorted(queries), {"sentence": [Reading(query) for query in sorted(queries)]})


def test_a_transformer_s_vectors_and_its_account_are_those_of_one_job(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks_module.Blocks.__init__, "__kwdefaults__", {"size": 64})
    texts = study_texts()

    def encode(root, shards):
        parts = []
        for shard in range(1, shards + 1):
            blocks, share = share_of(tiny.identity, texts, shard, shards)
            parts.append(encode_share(tiny, texts, blocks, share, VectorStore(tiny.identity, root)))
        return parts

    alone, together = encode(tmp_path / "alone", 1), encode(tmp_path / "together", 3)
    assert sum(part["n_encoded"] for part in together) == alone[0]["n_encoded"] == 320  # 20 queries are documents too
    assert min(part["n_encoded"] for part in together) > 60
    for role, part in texts.by_role.items():
        one, three = (VectorStore(tiny.identity, tmp_path / name).get(part, role) for name in ("alone", "together"))
        np.testing.assert_array_equal(three, one)
    assert merged(json.loads(json.dumps(together)), "c", "s") == merged(alone, "c", "s")
    assert [part["n_encoded"] for part in encode(tmp_path / "together", 3)] == [0, 0, 0]


def test_jobs_without_texts_and_jobs_of_another_encoder(tiny, tmp_path):
    texts = study_texts(60)
    blocks, share = share_of(tiny.identity, texts, 1, 4)
    first = encode_share(tiny, texts, blocks, share, VectorStore(tiny.identity, tmp_path))
    shares = [share_of(tiny.identity, texts, shard, 4)[1] for shard in (1, 2, 3, 4)]
    assert [sum(map(len, share.values())) for share in shares] == [80, 20, 0, 0]  # a block of each role
    rest = [empty_part(tiny.identity)] * 2
    told = merged([first, *rest], "c", "s")
    assert told["roles"]["document"]["n_texts"] == 60
    assert told["device"] == "cpu"
    with pytest.raises(UserError, match="did not all run the same 's'") as caught:
        merged([first, rest[0] | {"encoder_key": "another"}], "c", "s")
    assert "--forcerun encode_shard" in caught.value.hint
