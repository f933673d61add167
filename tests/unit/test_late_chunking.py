"""Vectors of all views, for every encoder of IdioLink on a tiny model of its architecture, against a second way."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_families
import tiny_models
from hypothesis import given
from hypothesis import strategies as st
from idiolink_encoders import EXPECTED, FIRST, LAST, SPAN, TEMPLATE, TEXT, I, tiny_entry
from tiny_families import DENSE
from tiny_models import HIDDEN

from verseir.faults import UserError
from verseir.systems.checks import require_sound, span_checks, view_checks
from verseir.systems.late_chunking import SpanCounts, tokens_of
from verseir.systems.loading import load_encoder
from verseir.systems.query_encoding import VIEWS, QueryEncoding
from verseir.systems.readings import Reading
from verseir.systems.vectors import VectorStore

FAMILIES = sorted({expected.family for expected in EXPECTED.values()})
TEXTS = [TEXT, "a cat", "the well is dry, and the cat out of it waits for the rain to come over the hill", SPAN]
SPANS = [SPAN, "cat", "the cat out of", SPAN]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One tiny model of each family, and those that have a head."""
    root = tmp_path_factory.mktemp("families")
    made = {family: tiny_families.build(root / family, family) for family in FAMILIES}
    made["t5 with a head"] = tiny_families.with_dense(root / "instructor", made["t5"], "mean", bias=False)
    made["qwen2 with a head"] = tiny_families.with_dense(root / "stella", made["qwen2"], "mean", bias=True)
    return made


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path / "cache"))


def folder_of(folders, expected):
    return folders[f"{expected.family} with a head" if expected.head else expected.family]


def load(folders, name, **changes):
    expected = EXPECTED[name]
    entry = tiny_entry(name, folder_of(folders, expected), DENSE if expected.head else HIDDEN) | changes
    return load_encoder(entry, "cpu")


def readings(encoder, view, texts=TEXTS, spans=SPANS):
    return QueryEncoding(view, TEMPLATE).readings(encoder.identity.entry, texts, spans)


def hidden_states(folders, expected, text, second=None):
    """Hidden states [t, h] of one text alone and the characters of its tokens, from transformers alone."""
    import torch
    from transformers import AutoModel, AutoTokenizer, T5EncoderModel

    folder = folders[expected.family]
    tokens = AutoTokenizer.from_pretrained(folder)(text, second, return_tensors="pt", return_offsets_mapping=True)
    offsets = tokens.pop("offset_mapping")[0].tolist()
    ids = tokens["input_ids"]
    if expected.end:
        ids = torch.cat([ids, torch.tensor([[2]])], dim=1)
        offsets.append([0, 0])
    model = (T5EncoderModel if expected.family == "t5" else AutoModel).from_pretrained(folder).eval()
    given = {"input_ids": ids}
    if expected.both_ways:
        model.set_attn_implementation("eager")
        given["attention_mask"] = torch.zeros(1, 1, ids.shape[1], ids.shape[1])  # nothing is hidden from any token
    with torch.inference_mode():
        return model(**given).last_hidden_state[0], offsets


def by_hand(folders, name, before, span=None, text=TEXT, pair=False):
    """The vector of one text from its hidden states, pooled here."""
    import torch
    from safetensors.torch import load_file

    expected = EXPECTED[name]
    first, second = (before, text) if pair else (before + text, None)
    states, offsets = hidden_states(folders, expected, first, second)
    if span:
        start, end = (len(before) + place for place in span)
        kept = [i for i, (a, b) in enumerate(offsets) if set(range(a, b)) & set(range(start, end))]
        vector = states[kept].mean(dim=0)
    elif expected.after:
        prompt = [i for i, (a, b) in enumerate(offsets) if b > a and b <= len(before)]
        vector = states[prompt[-1] + 1 if prompt else 0 :].mean(dim=0)
    else:
        vector = {"mean": states.mean(dim=0), "cls": states[0], "lasttoken": states[-1]}[expected.pooling]
    if expected.head and not (span and expected.bare_span):
        head = load_file(folder_of(folders, expected) / "2_Dense" / "model.safetensors")
        vector = head["linear.weight"] @ vector + head.get("linear.bias", torch.zeros(()))
    return (vector / vector.norm()).numpy()


@pytest.mark.parametrize("name", EXPECTED)
def test_vectors_equal_a_computation_by_hand(folders, name):
    """Documents and queries in all views, through the whole encoder, in one batch."""
    expected = EXPECTED[name]
    encoder = load(folders, name)
    strings = expected.strings
    assert encoder.load_faults == []
    np.testing.assert_allclose(
        encoder.encode([TEXT], "document")[0], by_hand(folders, name, strings.document), atol=3e-5
    )
    for view in VIEWS:
        place = {"span": FIRST, "instruction_span": LAST}.get(view)
        if place and expected.bare_span:
            continue  # see below: here the head changes the length of a vector
        vectors = encoder.encode(readings(encoder, view), "query")
        pair = expected.pair and view == "instruction_sentence"
        expectation = by_hand(folders, name, I if pair else getattr(strings, view), place, pair=pair)
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS), encoder.dimension)
        np.testing.assert_allclose(vectors[0], expectation, atol=3e-5)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_query_alone_has_the_vector_it_has_in_a_batch(folders, name):
    encoder = load(folders, name)
    require_sound(encoder, TEXTS)
    for view in VIEWS:
        if EXPECTED[name].bare_span and view.endswith("span"):
            continue
        given = readings(encoder, view)
        alone = np.concatenate([encoder.encode([one], "query") for one in given])
        np.testing.assert_allclose(alone, encoder.encode(given, "query"), atol=1e-5)
        assert [check.ok for check in view_checks(encoder, view, given)] == [True]


@pytest.mark.parametrize("name", ["drama-1b", "gte-qwen2-1.5b-instruct", "gritlm-7b", "drama-1b-as-published"])
def test_which_tokens_a_decoder_sees(folders, name):
    """The first tokens' vector changes with the last word where they see it: padded or not, alone or in a batch."""
    encoder = load(folders, name)
    ours = Reading("the cat naps", 0, (0, 7)), Reading("the cat eats", 0, (0, 7))
    padded = Reading("the cat is out of the bag and over the hill", 0, (0, 7))
    for batch in (list(ours), [*ours, padded]):
        same = np.abs(np.subtract(*encoder.encode(batch, "query")[:2])).max() < 1e-4
        assert same != EXPECTED[name].both_ways


def test_a_span_without_its_head_is_refused_where_lengths_differ(folders):
    refused = load(folders, "instructor-base-as-published")
    with pytest.raises(UserError, match=f"{HIDDEN} dimensions, a document {DENSE}"):
        refused.encode(readings(refused, "span"), "query")


def test_a_span_without_its_head_where_lengths_agree(folders, tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense

    wide = SentenceTransformer(str(folders["t5 with a head"]), device="cpu")
    wide[2] = Dense(HIDDEN, HIDDEN, bias=False)
    wide.save_pretrained(str(tmp_path / "wide"), create_model_card=False)
    entry = tiny_entry("instructor-base-as-published", tmp_path / "wide", HIDDEN)
    published = load_encoder(entry, "cpu")
    states, offsets = hidden_states(folders, EXPECTED["contriever"]._replace(family="t5"), TEXT)
    kept = [i for i, (a, b) in enumerate(offsets) if a < FIRST[1] and b > FIRST[0]]
    bare = states[kept].mean(dim=0)
    got = published.encode([*readings(published, "span"), *readings(published, "sentence")], "query")
    np.testing.assert_allclose(got[0], (bare / bare.norm()).numpy(), atol=3e-5)
    right = load_encoder(entry | {"late_chunking": {"prompt": True, "head": True}}, "cpu")
    assert right.key == published.key  # one store: whole texts are encoded once for both
    np.testing.assert_allclose(got[len(TEXTS) :], right.encode(readings(right, "sentence"), "query"), atol=1e-6)
    assert np.abs(got[0] - right.encode(readings(right, "span"), "query")[0]).max() > 0.01


@pytest.mark.parametrize("name", ["all-minilm-l6-v2", "gritlm-7b", "instructor-base"])
def test_spans_that_cannot_be_pooled_fall_back_to_the_whole_and_are_counted(folders, name):
    encoder = load(folders, name, max_length=40)
    texts = [TEXT, "a cat", "a bat " * 20 + SPAN, TEXT]
    given = readings(encoder, "span", texts, [SPAN, "dog", SPAN, None])
    assert encoder.count_spans(given) == SpanCounts(4, not_found=1, cut=1)
    [check] = span_checks(encoder.count_spans(given), "span")
    assert not check.ok and not check.hard
    assert check.observed == "1 of 4 queries do not hold their span, 1 are cut before it"
    whole = encoder.encode(readings(encoder, "sentence", texts), "query")
    vectors = encoder.encode(given, "query")
    np.testing.assert_allclose(vectors[1:3], whole[1:3], atol=1e-5)
    assert np.abs(vectors[0] - whole[0]).max() > 1e-3


def test_a_span_that_is_cut_in_part_is_pooled_in_part(folders):
    encoder = load(folders, "contriever", max_length=16)
    text = "a bat " * 3 + "xyz" * 5
    [one] = readings(encoder, "span", [text], ["xyz" * 5])
    assert encoder.count_spans([one]) == SpanCounts(1, 0, 0)
    shorter = load(folders, "contriever", max_length=16).encode([Reading(text, 0, (18, 23))], "query")
    np.testing.assert_allclose(encoder.encode([one], "query"), shorter, atol=1e-6)


@given(
    words=st.lists(st.text("abcdé ثم☃😀", min_size=1, max_size=6), min_size=1, max_size=5),
    first=st.integers(0, 4),
    family=st.sampled_from(["bert", "xlm_roberta", "qwen2", "mistral", "t5"]),
)
def test_offsets_are_those_of_the_text(folders, words, first, family):
    """Whatever the tokenizer does to a text, the tokens of a span are those that hold one of its characters."""
    text, start = "a" + "".join(words), 1 + len("".join(words[:first]))
    reading = Reading(text, 0, (start, start + len(words[min(first, len(words) - 1)])))
    tokenizer = encoder_of(folders, family)._tokenizer
    batch = tokenizer(text, return_offsets_mapping=True)
    offsets = np.array(batch["offset_mapping"])
    tokens = tokens_of(np.array(batch["input_ids"], np.int32), offsets, reading)
    inside = set(range(*reading.span))
    expected = [bool(inside & set(range(a, b))) for a, b in offsets]
    assert (tokens.pooled.tolist() if tokens.pooled is not None else [False] * len(offsets)) == expected
    assert tokens.cut == (not any(expected))


LOADED = {}


def encoder_of(folders, family):
    if family not in LOADED:
        LOADED[family] = load_encoder(tiny_models.entry(folders[family], max_length=160), "cpu")
    return LOADED[family]


def test_an_end_token_is_added_once_and_fits(folders):
    cut = load(folders, "e5-mistral-7b-instruct", max_length=12)
    ids = [tokens.ids for tokens in cut.tokenise(["a cat " * 9, "a", ""])]
    assert [len(one) for one in ids] == [12, 4, 2]
    assert all(one[-1] == 2 and (one[:-1] != 2).all() for one in ids)
    own = load(folders, "instructor-base", end_token=True)
    assert own.tokenise(["a"])[0].ids.tolist().count(2) == 1  # its tokenizer has put it there


def test_a_store_keeps_the_vectors_of_all_views_and_encodes_a_document_once(folders):
    encoder = load(folders, "contriever")
    store = VectorStore(encoder.identity)
    together = [one for view in VIEWS for one in readings(encoder, view)]
    report = store.encode_missing(encoder, {"document": TEXTS, "query": together})
    assert report.n_encoded == 4 * len(TEXTS)  # whole sentences are the documents themselves
    assert store.missing(TEXTS, "document") == store.missing(together, "query") == []
    for view in VIEWS:
        given = readings(encoder, view)
        np.testing.assert_allclose(store.get(given, "query"), encoder.encode(given, "query"), atol=1e-5)
    again = QueryEncoding("span").readings(encoder.identity.entry, ["a new one"], ["new"])
    assert store.encode_missing(encoder, {"document": TEXTS, "query": again}).n_encoded == 1


def test_parts_and_wholes_in_several_threads_keep_apart(folders):
    """One batch pools spans while others are pooled whole by the same module: no bit of a vector changes."""
    encoder = load(folders, "contriever")
    texts = [f"{text} {i}" for i in range(40) for text in TEXTS]
    given = [one for view in ("span", "sentence") for one in readings(encoder, view, texts, SPANS * 40)]
    encoder.budget, found = 64, {}
    for workers in (1, 4):
        encoder.workers = workers
        found[workers] = encoder.encode(given, "query")
    np.testing.assert_array_equal(found[4], found[1])
    assert (found[1][: len(texts)] != found[1][len(texts) :]).any(axis=1).mean() > 0.5


def test_tokens_of_prompts_and_pairs_are_counted(folders):
    encoder = load(folders, "instructor-base-as-published")
    pair, whole = readings(encoder, "instruction_sentence")[:1], [Reading(I), Reading(TEXT)]
    both = encoder.count_tokens(whole, "query")
    assert encoder.count_tokens(pair, "query").n_tokens.tolist() == [both.n_tokens.sum()]
    assert I in encoder.seen(pair[0]) and TEXT in encoder.seen(pair[0])
    short = load(folders, "instructor-base-as-published", max_length=int(both.n_tokens.sum()) + 1)
    assert short.count_tokens(pair, "query").truncated.tolist() == [True]
    assert encoder.count_tokens(pair, "query").truncated.tolist() == [False]


def test_an_encoder_without_token_vectors_refuses_parts(folders):
    encoder = load(folders, "contriever")
    del encoder.model._modules["1"]  # a model that pools in its own way
    with pytest.raises(UserError, match="a part of a text cannot be pooled"):
        encoder.encode(readings(encoder, "span"), "query")


def test_a_mask_that_reaches_no_model_fails_the_check(folders):
    import torch

    encoder = load(folders, "contriever")
    encoder.model[0].register_forward_pre_hook(
        lambda _, given: ({**given[0], "attention_mask": torch.ones_like(given[0]["attention_mask"])}, *given[1:])
    )
    assert not view_checks(encoder, "span", readings(encoder, "span"))[0].ok


def test_padding_that_is_not_a_number_does_not_reach_a_span(folders):
    """Some attention kernels leave anything in the places of padding."""
    encoder = load(folders, "contriever")
    expected = encoder.encode(readings(encoder, "span"), "query")
    backbone = encoder.model[0]

    def spoil(_, given, output):
        output["token_embeddings"] = output["token_embeddings"].masked_fill(
            given[0]["attention_mask"].unsqueeze(-1) == 0, float("nan")
        )
        return output

    backbone.register_forward_hook(spoil)
    np.testing.assert_allclose(encoder.encode(readings(encoder, "span"), "query"), expected, atol=1e-6)
