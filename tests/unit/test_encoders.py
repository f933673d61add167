"""Encoders of every architecture in the registry: exact strings, pooling, padding, batches."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tiny_models
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import TEXTS

from verseir.faults import UserError
from verseir.systems.loading import load_encoder
from verseir.systems.transformer import padded

E5 = {"query": "query: ", "document": "passage: "}
INSTRUCTION = {"query": "Instruct: find the poem\nQuery:"}
FAMILIES = {
    "bert": {"pooling": "cls"},
    "xlm_roberta": {"pooling": "mean", "prompts": E5},
    "qwen3": {"pooling": "lasttoken", "padding_side": "left", "max_length": 256, "prompts": INSTRUCTION},
    "labse": {"pooling": "cls", "dimension": 24},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One tiny model of each family."""
    root = tmp_path_factory.mktemp("models")
    made = {name: getattr(tiny_models, name)(root / name) for name in ("bert", "xlm_roberta", "qwen3")}
    return made | {"labse": tiny_models.with_head(root / "labse", made["bert"], 24)}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def encoder(folders, request):
    family = request.param
    return load_encoder(tiny_models.entry(folders[family], **FAMILIES[family]), "cpu")


def load(folders, family, **changes):
    return load_encoder(tiny_models.entry(folders[family], **{**FAMILIES[family], **changes}), "cpu")


def by_hand(folders, family, text):
    """The vector of one prepared string from its hidden states, pooled here."""
    import torch
    from safetensors.torch import load_file

    backbone = folders["bert" if family == "labse" else family]
    states = tiny_models.hidden_states(backbone, text, FAMILIES[family].get("max_length", 64))
    if family == "xlm_roberta":
        vector = states.mean(dim=0)
    else:
        vector = states[-1] if family == "qwen3" else states[0]
    if family == "labse":
        head = load_file(folders["labse"] / "2_Dense" / "model.safetensors")
        vector = torch.tanh(head["linear.weight"] @ vector + head["linear.bias"])
    return (vector / vector.norm()).numpy()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("role", ["query", "document"])
def test_vectors_equal_a_computation_by_hand(folders, family, role):
    encoder = load(folders, family)
    vectors = encoder.encode(TEXTS, role)
    expected = [by_hand(folders, family, text) for text in encoder.prepare(TEXTS, role)]
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), encoder.dimension)
    np.testing.assert_allclose(vectors, expected, atol=2e-5)


@pytest.mark.parametrize("encoder", FAMILIES, indirect=True)
def test_a_text_alone_has_the_vector_it_has_in_a_batch(encoder):
    together = encoder.encode(TEXTS, "query")
    alone = np.concatenate([encoder.encode([text], "query") for text in TEXTS])
    np.testing.assert_allclose(alone, together, atol=1e-5)


@pytest.mark.parametrize(
    ("family", "query", "document"),
    [
        ("bert", "قمر على الماء", "قمر على الماء"),
        ("xlm_roberta", "query: قمر على الماء", "passage: قمر على الماء"),
        ("qwen3", "Instruct: find the poem\nQuery:قمر على الماء", "قمر على الماء"),
    ],
)
def test_exact_strings(folders, family, query, document):
    encoder = load(folders, family)
    vocalised = "قَمَرٌ عَلَى المـــاء"
    assert encoder.prepare([vocalised], "query") == [query]
    assert encoder.prepare([vocalised], "document") == [document]
    assert encoder.seen(query) == query  # nothing lost, no chat template around it


def test_the_preset_is_the_registry_s(folders):
    raw = load(folders, "bert", text="raw")
    assert raw.prepare(["قَمَرٌ"], "query") == ["قَمَرٌ"]


@pytest.mark.parametrize(("family", "side"), [("qwen3", "left"), ("xlm_roberta", "right")])
def test_padding_side_of_what_reaches_the_model(folders, family, side):
    encoder = load(folders, family)
    masks = []
    encoder.model.register_forward_pre_hook(lambda _, given: masks.append(given[0]["attention_mask"].numpy()))
    encoder.encode(TEXTS, "query")
    mask = masks[0]
    assert mask.min() == 0
    assert (mask[:, -1] == 1).all() == (side == "left")
    assert (mask[:, 0] == 1).all() == (side == "right")


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    side=st.sampled_from(["left", "right"]),
)
def test_padding_keeps_every_token(lengths, side):
    ids = [np.arange(1, n + 1, dtype=np.int32) for n in lengths]
    batch, mask = padded(ids, 0, side)
    assert batch.shape == mask.shape == (len(ids), max(lengths))
    for row, one in enumerate(ids):
        assert (batch[row][mask[row] == 1] == one).all()
        assert (batch[row][mask[row] == 0] == 0).all()
        assert mask[row, 0 if side == "right" else -1] == 1


@settings(max_examples=10, deadline=None)
@given(order=st.permutations(range(len(TEXTS) * 3)))
def test_order_and_repeats_change_nothing(folders, order):
    encoder = load(folders, "xlm_roberta")
    texts = [f"{TEXTS[i % len(TEXTS)]} {i // 4}" for i in range(len(TEXTS) * 3)] + TEXTS[:1] * 2
    expected = dict(zip(texts, encoder.encode(texts, "document"), strict=True))
    shuffled = [texts[i] for i in order]
    vectors = encoder.encode(shuffled + TEXTS[:1], "document")
    assert (vectors == np.array([expected[text] for text in shuffled + TEXTS[:1]])).all()


def test_batches_are_by_length_within_a_budget_and_without_repeats(folders):
    encoder = load(folders, "xlm_roberta")
    encoder.budget, encoder.workers = 100, 1
    shapes = []
    encoder.model.register_forward_pre_hook(lambda _, given: shapes.append(tuple(given[0]["input_ids"].shape)))
    texts = [letter * n for letter in "abcd" for n in (1, 5, 20, 40)]
    encoder.encode(texts * 3, "document")
    assert sum(n for n, _ in shapes) == len(texts)
    assert all(n * width <= 100 for n, width in shapes)
    widths = [width for _, width in shapes]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("encoder", FAMILIES, indirect=True)
def test_the_number_of_threads_changes_no_bit(encoder):
    """Many small batches, whichever thread computes them and whoever else computes meanwhile."""
    texts = [f"{TEXTS[i % 4][: 1 + i % 40]} {i}" for i in range(200)]
    encoder.budget, made = 128, []
    for workers in (1, 2, 4, 3):
        encoder.workers = workers
        made.append(list(encoder.batches(texts, "document")))
    for batches in made[1:]:
        for (rows, vectors), (expected_rows, expected) in zip(batches, made[0], strict=True):
            np.testing.assert_array_equal(rows, expected_rows)
            np.testing.assert_array_equal(vectors, expected)


def test_a_batch_has_one_of_the_threads_that_pytorch_was_given(folders):
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        encoder = load(folders, "bert")
        own = load(
            folders, "bert", remote_code=True, code_revision="0" * 40
        )  # its code may not stand two calls at once
        assert ((encoder.workers, encoder.threads), (own.workers, own.threads)) == ((3, 1), (1, 3))
        seen = []
        for one in (encoder, own):
            one.model.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
            one.budget = 64
            one.encode([f"{text} {i}" for text in TEXTS for i in range(5)], "query")
            assert set(seen) == {one.threads}
            assert torch.get_num_threads() == 3
            seen.clear()
        encoder.budget = 64
        batches = encoder.batches([text * 3 for text in TEXTS], "query")
        next(batches)
        batches.close()  # whoever asked has had enough
        later = []
        worker = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
        worker.start()
        worker.join()
        assert [*later, torch.get_num_threads()] == [3, 3]
    finally:
        torch.set_num_threads(before)


def test_texts_are_cut_at_max_length_and_counted(folders):
    encoder = load(folders, "xlm_roberta", max_length=16)
    counts = encoder.count_tokens(["a", "a " * 50, "☃☃"], "document")
    assert counts.truncated.tolist() == [False, True, False]
    assert counts.n_unknown.tolist() == [0, 0, 1]  # Unigram joins unknown characters
    assert counts.truncated_share == pytest.approx(1 / 3)
    assert counts.unknown_token_share == pytest.approx(1 / counts.n_tokens.sum())
    assert encoder.seen("passage: " + "b" * 50) == "passage: bbbb"
    vectors = encoder.encode(["b" * 50, "b" * 60], "document")
    assert (vectors[0] == vectors[1]).all()  # they differ after the cut only


def test_an_empty_list_and_an_empty_text(folders):
    encoder = load(folders, "qwen3")
    assert encoder.encode([], "document").shape == (0, encoder.dimension)
    assert np.isfinite(encoder.encode([""], "document")).all()


def test_vectors_keep_their_length_where_the_entry_says_so(folders):
    plain = load(folders, "labse", normalise=False)  # its own Normalize module must not undo this
    unit = load(folders, "labse")
    raw = plain.encode(TEXTS, "query")
    norms = np.linalg.norm(raw, axis=1, keepdims=True)
    assert abs(norms - 1).min() > 0.1
    np.testing.assert_allclose(raw / norms, unit.encode(TEXTS, "query"), atol=1e-6)


def test_half_precision_comes_out_as_float32(folders):
    half = load(folders, "bert", dtype="bfloat16").encode(TEXTS, "query")
    whole = load(folders, "bert").encode(TEXTS, "query")
    assert half.dtype == np.float32
    assert np.abs(np.linalg.norm(half, axis=1) - 1).max() < 1e-6
    assert (half * whole).sum(axis=1).min() > 0.99
    assert (half != whole).any()


@pytest.mark.parametrize("workers", [1, 3])
def test_out_of_memory_halves_the_batches(folders, caplog, workers):
    """A device that cannot hold more than 90 tokens: the vectors are those of one that can."""
    import torch

    encoder = load(folders, "xlm_roberta")
    encoder.budget, encoder.workers = 2048, workers
    texts = [f"{text} {i}" for text in TEXTS for i in range(60)]
    expected = encoder.encode(texts, "document")
    model, held = encoder.model, []

    def small_device(features, **options):
        held.append(features["input_ids"].numel())
        if held[-1] > 90:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return model(features, **options)

    encoder.model = small_device
    np.testing.assert_allclose(encoder.encode(texts, "document"), expected, atol=1e-5)
    assert encoder.budget <= 90
    assert "out of memory" in caplog.text
    # Not more than the batches that were begun under an older budget fail.
    assert sum(n > 90 for n in held) <= 4 * 2048 / 90 * (workers + 1)
    held.clear()
    encoder.encode(texts, "document")
    assert max(held) <= 90  # the budget stays
    encoder.model = lambda *_, **__: (_ for _ in ()).throw(torch.OutOfMemoryError("CUDA out of memory"))
    with pytest.raises(UserError, match="not enough memory for one text") as caught:
        encoder.encode(["a"], "document")
    assert ("fewer threads" in caught.value.hint) == (workers > 1)


def test_another_error_is_not_taken_for_memory(folders):
    encoder = load(folders, "bert")
    encoder.model = lambda *_, **__: (_ for _ in ()).throw(RuntimeError("shapes do not fit"))
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        encoder.encode(["a"], "document")


def test_a_gpu_that_pytorch_cannot_use_gives_way_to_the_cpu(folders, caplog, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    encoder = load_encoder(tiny_models.entry(folders["bert"]), "cuda")
    assert encoder.device == "cpu"
    assert "encoding on the CPU" in caplog.text


def test_an_adapter_reaches_the_model(folders):
    encoder = load(folders, "bert", tasks={"query": "retrieval.query", "document": "retrieval.passage"})
    model, tasks = encoder.model, []

    def recording(features, **options):
        tasks.append(options.get("task"))
        return model(features)

    encoder.model = recording
    encoder.encode(["a"], "query")
    encoder.encode(["a"], "document")
    assert tasks == ["retrieval.query", "retrieval.passage"]


def test_a_vector_that_is_not_finite_is_refused(folders):
    encoder = load(folders, "bert")
    encoder._vectors = lambda ids, role: np.full((len(ids), encoder.dimension), np.nan, np.float32)
    with pytest.raises(UserError, match="not finite"):
        encoder.encode(["a"], "query")
