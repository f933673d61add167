"""Self-checks: sound encoders pass, each kind of unsound one fails the check that is about it."""

from __future__ import annotations

import json
import shutil

import pytest
import tiny_models
from tiny_models import TEXTS

from verseir.faults import UserError
from verseir.systems.checks import rate_checks, require_sound, self_check
from verseir.systems.loading import load_encoder

E5 = {"query": "query: ", "document": "passage: "}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    bert = tiny_models.bert(root / "bert")
    return {
        "bert": bert,
        "xlm_roberta": tiny_models.xlm_roberta(root / "xlm_roberta"),
        "labse": tiny_models.with_head(root / "labse", bert, 24),
    }


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path / "cache"))


def load(folder, **settings):
    return load_encoder(tiny_models.entry(folder, **settings), "cpu")


def failed(encoder, texts=TEXTS):
    return {check.name: check for check in self_check(encoder, texts) if not check.ok}


@pytest.mark.parametrize(
    ("family", "settings"),
    [("bert", {}), ("xlm_roberta", {"prompts": E5}), ("labse", {"pooling": "cls", "dimension": 24})],
)
def test_sound_encoders_pass(folders, family, settings):
    checks = require_sound(load(folders[family], **settings), TEXTS[:1])
    assert all(check.ok for check in checks if check.hard)
    assert {"weights", "dimension", "norm", "batched = single"} <= {check.name for check in checks}


def test_last_token_pooling_wants_an_end_token(tmp_path):
    settings = {"pooling": "lasttoken", "padding_side": "left", "max_length": 256}
    whole = load(tiny_models.qwen3(tmp_path / "whole"), **settings)
    assert failed(whole) == {}
    cut = load(tiny_models.qwen3(tmp_path / "cut", end_token=False), **settings)
    assert "not an end token" in failed(cut)["settings"].observed
    assert not failed(cut)["settings"].hard


def test_a_missing_weight_is_found(tmp_path, folders):
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(folders["bert"], tmp_path / "lacking")
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    encoder = load(folder)
    assert "encoder.layer.1.output.dense.weight" in failed(encoder)["weights"].observed
    with pytest.raises(UserError, match="newly initialised weights"):
        require_sound(encoder, TEXTS)


def test_a_weight_of_another_shape_is_found(tmp_path, folders):
    folder = shutil.copytree(folders["bert"], tmp_path / "wider")
    configuration = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(configuration | {"intermediate_size": 96}))
    assert "another shape" in failed(load(folder))["weights"].observed


def test_a_lacking_pooler_is_no_fault(folders):
    """BERT's pooler is missing in many encoders; pooling over token vectors does not use it."""
    assert load(folders["bert"]).load_faults == []


def test_a_wrong_dimension(folders):
    checks = failed(load(folders["labse"], pooling="cls", dimension=32))
    assert checks["dimension"].observed.startswith("24 ")


def test_a_prompt_that_is_cut_off(folders):
    checks = failed(load(folders["xlm_roberta"], prompts=E5, max_length=6))
    assert "the encoder sees" in checks["prompt of the query"].observed
    assert "max_length" in checks["prompt of the document"].hint


def test_a_prompt_that_leaves_no_room_for_the_text(folders):
    checks = failed(load(folders["xlm_roberta"], prompts={"query": "query:", "document": ""}, max_length=9))
    assert "nothing of the text is left" in checks["prompt of the query"].observed


def test_a_prompt_that_the_tokenizer_does_not_know(folders):
    checks = failed(load(folders["xlm_roberta"], prompts={"query": "Запрос: ", "document": ""}))
    assert "Запрос" in checks["prompt of the query"].observed


def test_prompts_without_effect(folders):
    encoder = load(folders["xlm_roberta"], prompts=E5)
    encode = encoder.encode_prepared
    encoder.encode_prepared = lambda prepared, role: encode([text.partition(": ")[2] for text in prepared], role)
    assert failed(encoder)["roles differ"].hard


def test_padding_that_reaches_the_vectors(folders):
    """A model that is given no mask: a text in a batch has another vector than alone."""
    import torch

    encoder = load(folders["bert"])
    model = encoder.model
    encoder.model = lambda given, **_: model(given | {"attention_mask": torch.ones_like(given["attention_mask"])})
    assert "batched = single" in failed(encoder)


def test_one_vector_for_all_texts(folders):
    encoder = load(folders["bert"])
    encode = encoder.encode_prepared
    encoder.encode_prepared = lambda prepared, role: encode(["a"] * len(prepared), role)
    assert "texts differ" in failed(encoder)


def test_zero_vectors(folders):
    encoder = load(folders["bert"], normalise=False)
    encode = encoder.encode_prepared
    encoder.encode_prepared = lambda prepared, role: encode(prepared, role) * 0
    assert "norm" in failed(encoder)


def test_more_tokens_than_positions(folders):
    checks = failed(load(folders["bert"], max_length=65), ["a"])
    assert "65 is more than the 64 positions" in checks["weights"].observed
    checks = failed(load(folders["xlm_roberta"], max_length=66), ["a"])
    assert "66 is more than the 64 positions" in checks["weights"].observed


def test_pooling_other_than_the_model_s_own_is_a_warning(folders):
    checks = failed(load(folders["labse"], pooling="mean", dimension=24))
    assert checks["settings"].observed == "pooling: the registry says mean, the model cls"
    assert not checks["settings"].hard


def test_rates_warn(folders):
    counts = load(folders["bert"], max_length=8).count_tokens(["слово " * 9, "a " * 9], "query")
    cut, unknown = rate_checks(counts, "query")
    assert (cut.name, cut.ok, cut.hard) == ("queries cut", False, False)
    assert cut.observed == "100.0% of 2 texts"
    assert "max_length" in cut.hint
    assert (unknown.name, unknown.ok) == ("unknown tokens in queries", False)


def test_all_failures_are_listed_together(folders):
    encoder = load(folders["labse"], dimension=32, max_length=65, prompts={"query": "query " * 20, "document": ""})
    with pytest.raises(UserError) as caught:
        require_sound(encoder, TEXTS)
    message = str(caught.value)
    for words in ("'tiny'", "dimension: 24", "positions", "prompt of the query"):
        assert words in message
