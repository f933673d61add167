"""``probe``: a system is tried before a study uses it, and a folder tells the entry that registers it."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from tiny_models import HIDDEN, bert, qwen3, with_head, xlm_roberta

from verseir.__main__ import main
from verseir.faults import UserError
from verseir.systems.local_folder import entry_of_folder, entry_text, slug
from verseir.systems.registry import load_registry

ROOT = Path(__file__).parents[2]
REGISTRY = ["--registry", str(ROOT / "config" / "systems.yaml")]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    with_head(folder / "My Encoder v1", bert(folder / "backbone"), 16)
    qwen3(folder / "decoder")
    xlm_roberta(folder / "e5-tiny")
    return folder


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path / "cache"))


def test_a_folder_says_what_its_entry_needs(models):
    entry, said = entry_of_folder(models / "My Encoder v1")
    path = (models / "My Encoder v1").as_posix()
    assert entry == {
        "my-encoder-v1": {"kind": "dense", "path": path, "pooling": "cls", "max_length": 64, "dimension": 16}
    }
    assert said == []
    assert yaml.safe_load(entry_text(entry)) == entry
    assert len(entry_text(entry).splitlines()) == 6  # its name, and five keys


def test_what_a_folder_does_not_say_is_told(models):
    entry, said = entry_of_folder(models / "decoder", "mine")
    assert entry["mine"]["pooling"] == "mean" and any("how it pools" in line for line in said)
    assert entry["mine"]["dimension"] == HIDDEN and entry["mine"]["max_length"] == 64
    entry, said = entry_of_folder(models / "e5-tiny")
    assert entry["e5-tiny"]["max_length"] == 64 and any("passage: " in line for line in said)


@pytest.mark.parametrize(
    ("stated", "pooling"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_lasttoken": True}, "lasttoken"),
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": "weightedmean"}, "own"),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}, "own"),
    ],
)
def test_pooling_is_read_as_older_and_newer_folders_state_it(models, tmp_path, stated, pooling):
    shutil.copytree(models / "My Encoder v1", tmp_path / "m")
    (module,) = [
        one for one in json.loads((tmp_path / "m/modules.json").read_text()) if one["type"].endswith("Pooling")
    ]
    (tmp_path / "m" / module["path"] / "config.json").write_text(json.dumps(stated))
    assert entry_of_folder(tmp_path / "m")[0]["m"]["pooling"] == pooling


def test_prompts_and_padding_are_taken_along(models, tmp_path):
    shutil.copytree(models / "My Encoder v1", tmp_path / "m")
    prompts = {"prompts": {"query": "query: ", "passage": "passage: ", "other": "x"}}
    (tmp_path / "m/config_sentence_transformers.json").write_text(json.dumps(prompts))
    (file,) = (tmp_path / "m").rglob("tokenizer_config.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"padding_side": "left"}))
    entry = entry_of_folder(tmp_path / "m")[0]["m"]
    assert entry["prompts"] == {"query": "query: ", "document": "passage: "} and entry["padding_side"] == "left"
    (tmp_path / "r.yaml").write_text(entry_text({"m": entry}), encoding="utf-8")
    assert load_registry([tmp_path / "r.yaml"])["m"]["prompts"]["query"] == "query: "


def test_a_folder_without_an_encoder_is_named(tmp_path, capsys):
    with pytest.raises(UserError, match=r"there is no .*config\.json"):
        entry_of_folder(tmp_path)
    assert main(["probe", str(tmp_path), *REGISTRY]) == 1
    assert capsys.readouterr().out.startswith("not ready: the folder")
    (tmp_path / "config.json").write_text("{")
    assert main(["probe", str(tmp_path), *REGISTRY]) == 1
    assert "cannot be read as JSON" in capsys.readouterr().out


def test_names_are_slugs():
    assert [slug(name) for name in ("My Model", "مثال", "_x.Y+z")] == ["my-model", "encoder", "x.y+z"]


def test_an_encoder_in_a_folder_is_tried_and_registered(models, tmp_path, capsys):
    mine = tmp_path / "my-systems.yaml"
    mine.write_text("# mine\nfused:\n  kind: fusion\n  arms: [bm25, my-encoder-v1]", encoding="utf-8")
    options = ["probe", str(models / "My Encoder v1"), *REGISTRY, "--gpus", "0"]
    assert main([*options, "--register", str(mine)]) == 0
    told = capsys.readouterr().out
    assert told.splitlines()[-1] == "ready"
    for words in (
        "check: batched = single",
        "first query",
        "first document",
        "document tokens",
        "texts/s",
        "norms 1.0000",
    ):
        assert words in told
    text = mine.read_text(encoding="utf-8")
    assert text.startswith("# mine\nfused:") and "\n\nmy-encoder-v1:\n  kind: dense\n" in text
    registry = load_registry([ROOT / "config" / "systems.yaml", mine])
    assert registry["my-encoder-v1"]["text"] == "light" and registry["my-encoder-v1"]["normalise"] is True
    assert main([*options, "--register", str(mine)]) == 1
    assert "'my-encoder-v1' is in" in capsys.readouterr().out and mine.read_text(encoding="utf-8") == text


def test_a_fault_of_an_encoder_is_told_after_all_checks(models, tmp_path, capsys):
    entry = entry_of_folder(models / "My Encoder v1", "wrong")[0]
    entry["wrong"]["dimension"] = 17
    (tmp_path / "r.yaml").write_text(entry_text(entry), encoding="utf-8")
    assert main(["probe", "wrong", "--registry", str(tmp_path / "r.yaml"), "--gpus", "0"]) == 1
    told = capsys.readouterr().out
    assert "FAULT: 16 (the registry promises 17)" in told and "check: weights" in told
    assert "not ready: the encoder 'wrong' fails its self-checks" in told and "hint: correct `dimension`" in told
    assert "ready" not in told.splitlines()


def test_a_name_that_is_unknown_has_neighbours(capsys):
    assert main(["probe", "e5-smal-q4", *REGISTRY]) == 1
    told = capsys.readouterr().out
    assert told.startswith("not ready: unknown system 'e5-smal-q4'") and "did you mean 'e5-small-q4'" in told
    assert main(["probe", "models/none", *REGISTRY]) == 1
    assert "there is no folder models/none" in capsys.readouterr().out


def test_lexical_systems_fusions_and_runs_are_told(tmp_path, capsys):
    assert main(["probe", "bm25", *REGISTRY]) == 0
    told = capsys.readouterr().out
    assert "method lucene, k1 1.2, b 0.75" in told and "finds itself at rank 1" in told
    assert "“a short line” -> a | short | line" in told
    assert main(["probe", "bm25-okapi", *REGISTRY]) == 0
    assert "chosen on validation queries" in capsys.readouterr().out
    assert main(["probe", "rrf-bm25-e5", *REGISTRY]) == 0
    assert "e5-small-q4 (dense): python -m verseir probe e5-small-q4" in capsys.readouterr().out
    (tmp_path / "r.yaml").write_text("theirs:\n  kind: imported\n  path: runs/{corpus}.trec\n")
    assert main(["probe", "theirs", "--registry", str(tmp_path / "r.yaml")]) == 0
    assert "read from runs/{corpus}.trec" in capsys.readouterr().out


def test_texts_of_ones_own(tmp_path, capsys):
    assert main(["probe", "bm25", *REGISTRY, "--texts", str(tmp_path / "none.txt")]) == 1
    assert "none.txt cannot be read" in capsys.readouterr().out
    (tmp_path / "texts.txt").write_text("床前明月光\n\n疑是地上霜\n", encoding="utf-8")
    assert main(["probe", "bm25-multilingual", *REGISTRY, "--texts", str(tmp_path / "texts.txt")]) == 0
    assert "“床前明月光” -> 床前 | 前明 | 明月 | 月光" in capsys.readouterr().out


def test_an_embedded_encoder_is_ready(capsys):
    assert main(["probe", "use-m3", *REGISTRY]) == 0
    told = capsys.readouterr().out
    assert "package: " in told and told.splitlines()[-1] == "ready"


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (b"a: [", "not valid YAML"),
        (b"- one\n- two\n", "holds no systems by name"),
        (b"just words", "holds no systems by name"),
        (b"{a: {kind: bm25}}\n", "in braces"),
        ("a: {kind: bm25}".encode("utf-16"), "is UTF-16"),
        (b"my-encoder-v1:\n  kind: bm25\n", "--name gives it another name"),
    ],
)
def test_a_file_that_cannot_take_an_entry_is_refused_before_the_trial(models, tmp_path, capsys, held, words):
    mine = tmp_path / "mine.yaml"
    mine.write_bytes(held)
    assert main(["probe", str(models / "My Encoder v1"), *REGISTRY, "--gpus", "0", "--register", str(mine)]) == 1
    told = capsys.readouterr().out
    assert words in told and "check:" not in told and mine.read_bytes() == held


@pytest.mark.parametrize("system", ["bm25", "rrf-bm25-e5", "e5-small-q4"])
def test_only_a_folder_is_registered(tmp_path, capsys, system):
    mine = tmp_path / "mine.yaml"
    assert main(["probe", system, *REGISTRY, "--register", str(mine)]) == 1
    assert "--register is for a folder" in capsys.readouterr().out and not mine.exists()
