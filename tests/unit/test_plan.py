"""The plan of a study: texts, tokens, hours and bytes before anything is encoded."""

import shutil

import numpy as np
import polars as pl
import pytest
import tiny_models

from verseir.costs import Speed, known_speeds
from verseir.plan import NO_GPU, PLAN, plan_table, told
from verseir.systems.blocks import Blocks
from verseir.systems.bm25 import Bm25Index
from verseir.systems.forecast import (
    CHARACTERS,
    count_tokens,
    gpu_flops,
    hours,
    index_bytes,
    known_identity,
    parameters_of,
    run_bytes,
    vector_bytes,
    volume,
)
from verseir.systems.identity import identify
from verseir.systems.registry import load_registry
from verseir.systems.tokenizers import tokens_of
from verseir.systems.transformer import TransformerEncoder
from verseir.systems.vectors import VectorStore
from verseir.tables import COSTS, RUN, check_table, write_table

WORDS = [f"{first}{second}{third}" for first in "سلمن" for second in "قرطب" for third in "يوتك"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_models.bert(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def entry(model, tmp_path, monkeypatch):
    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path / "cache"))
    return tiny_models.entry(model, prompts={"query": "query: ", "document": ""})


def verses(n, seed=0, words=8):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(2, words))) + f" {i}" for i in range(n)]


def test_tokens_are_those_that_the_encoder_reads(entry):
    texts = [*tiny_models.TEXTS, "x " * 100]
    encoder = TransformerEncoder(identify(entry), "cpu")
    prepared = encoder.prepare(texts, "query")
    read = sum(len(one.ids) for one in encoder.tokenise(prepared))
    assert count_tokens(encoder.identity, prepared) == (read, "tokenizer")


def test_a_sample_of_many_texts_tells_how_many_tokens_all_have(entry):
    identity = identify(entry)
    texts = identity.prepare(verses(3000), "document")
    (exact, how), (sampled, how_sampled) = count_tokens(identity, texts), count_tokens(identity, texts, sample=200)
    assert (how, how_sampled) == ("tokenizer", "sample")
    assert sampled != exact
    assert sampled == pytest.approx(exact, rel=0.03)


def test_texts_that_are_stored_or_planned_are_not_to_be_encoded_again(entry):
    identity = identify(entry)
    texts = {"document": verses(5), "query": ["قمر", "lamp"]}
    planned = set()
    first = volume(identity, texts, planned)
    assert (first.n_texts, first.n_new) == (7, 7)
    more = volume(identity, texts | {"document": verses(8)}, planned)  # of another corpus, encoded later
    assert (more.n_texts, more.n_new) == (10, 3)
    report = VectorStore(identity).encode_missing(TransformerEncoder(identity, "cpu"), texts)
    assert report.n_encoded == first.n_new
    after = volume(identity, texts, set())
    assert (after.n_texts, after.n_new, after.n_tokens, after.counted) == (7, 0, 0, None)
    made = sum(path.stat().st_size for path in VectorStore(identity).folder.glob("*.[nk]*y*"))
    assert vector_bytes(7, identity.dimension) <= made < vector_bytes(7, identity.dimension) + 2000  # two headers


def test_the_largest_share_is_that_of_the_blocks(entry, monkeypatch):
    monkeypatch.setitem(Blocks.__init__.__kwdefaults__, "size", 30)
    identity = identify(entry)
    texts = {"document": verses(100), "query": ["قمر"]}
    found = volume(identity, texts, set(), 3)
    shares = [share_of_job(identity, texts, shard, 3) for shard in range(3)]
    assert found.n_blocks == 5
    assert found.largest_share == pytest.approx(max(shares) / sum(shares))
    assert volume(identity, texts, set(), 9).largest_share > 1 / 5  # no more than five jobs have texts
    assert volume(identity, texts, set()).largest_share == 1


def share_of_job(identity, texts, shard, shards):
    share = Blocks(identity, texts).share(texts, shard, shards)
    return sum(len(text) for role in share for text in identity.prepare(share[role], role))


def test_an_encoder_that_is_not_at_hand_is_planned_by_characters_and_its_entry(model, tmp_path, monkeypatch):
    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path))
    entry = tiny_models.entry(model, path=str(tmp_path / "none"), parameters=7_000_000, max_length=64)
    identity = known_identity(entry)
    found = volume(identity, {"document": ["a" * 30, "b" * 300]}, set())
    assert (found.n_new, found.n_tokens, found.counted) == (2, 12 + 64, "characters")
    assert CHARACTERS == 2.6
    assert parameters_of(identity) == 7_000_000
    assert not (tmp_path / "vectors").exists()


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff" * 100])
def test_half_a_download_is_planned_as_if_it_were_absent(model, tmp_path, monkeypatch, damage):
    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path / "cache"))
    folder = shutil.copytree(model, tmp_path / "model")
    for name in ("model.safetensors", "tokenizer.json"):
        (folder / name).write_bytes(damage)
    identity = known_identity(tiny_models.entry(folder, path=str(folder), parameters=7_000_000, max_length=64))
    assert count_tokens(identity, ["a" * 26]) == (10, "characters")
    assert parameters_of(identity) == 7_000_000


def test_embeddings_of_tokens_are_no_work(entry):
    from safetensors.numpy import load_file

    weights = load_file(identify(entry).source.place + "/model.safetensors")
    multiplied = sum(array.size for name, array in weights.items() if "word_embeddings" not in name)
    assert parameters_of(identify(entry)) == multiplied < sum(array.size for array in weights.values())


def test_hours_are_two_operations_for_each_parameter_and_token():
    assert hours(10**9, 1_800_000, 1e12) == pytest.approx(1.0)
    assert gpu_flops("bfloat16") == 2 * gpu_flops("float32")


@pytest.mark.parametrize("method", ["lucene", "okapi"])
@pytest.mark.parametrize("sample", [10**6, 500])
def test_the_size_of_an_index_is_foreseen(tmp_path, method, sample):
    (tmp_path / "registry.yaml").write_text(f"b: {{kind: bm25, method: {method}}}", encoding="utf-8")
    entry = load_registry([tmp_path / "registry.yaml"])["b"]
    texts = verses(4000, words=30)
    names = [f"poem-{i}#0" for i in range(len(texts))]
    Bm25Index.build(tokens_of(texts, entry), names, names, method).save(tmp_path / "index")
    made = sum(path.stat().st_size for path in (tmp_path / "index").iterdir())
    of_names = 2 * sum(len(name) + 4 for name in names)
    assert index_bytes(texts, entry, of_names, sample) == pytest.approx(made, rel=0.2)


@pytest.mark.parametrize(("queries", "poems"), [(60, 200), (200, 20_000)])
def test_the_size_of_a_run_is_foreseen(tmp_path, queries, poems):
    rng = np.random.default_rng(1)
    depth = min(1000, poems)
    found = [rng.choice(poems, depth, replace=False) for _ in range(queries)]
    run = pl.DataFrame(
        {
            "query_id": [f"q{i:04}" for i in range(queries) for _ in range(depth)],
            "poem_id": [f"poem-{i:06}" for one in found for i in one],
            "rank": np.tile(np.arange(1, depth + 1), queries),
            "score": -np.sort(-rng.random((queries, depth)).astype(np.float32), axis=1).ravel(),
            "chunk_id": [f"poem-{i:06}#0" for one in found for i in one],
        }
    ).cast(dict(RUN.columns))
    write_table(run, tmp_path / "run.parquet", RUN)
    assert run_bytes(len(run), poems, poems) == pytest.approx((tmp_path / "run.parquet").stat().st_size, rel=0.25)


def costs(folder, *rows):
    named = [dict(zip(("system", "stage", "n_texts", "seconds", "device"), row, strict=True)) for row in rows]
    given = [dict.fromkeys(COSTS.columns) | {"corpus": "c"} | row for row in named]
    write_table(pl.DataFrame(given, schema=dict(COSTS.columns)), folder / "tables" / "costs.csv", COSTS)


def test_speeds_are_those_of_this_study_before_those_of_others(tmp_path):
    costs(tmp_path / "a", ("e", "encode", 100, 10.0, "cpu"), ("f", "encode", 50, 1.0, "cuda"))
    costs(tmp_path / "b", ("e", "encode", 100, 50.0, "cpu"), ("g", "fuse", None, 3.0, "cpu"))
    odd = [("h", "encode", 10, float("inf"), "cpu"), ("i", "encode", 10, 1.0, None)]
    costs(tmp_path / "c", *odd)
    assert known_speeds(tmp_path, "a")["e", "encode", "cpu"] == Speed(10.0, "a", "cpu")
    assert known_speeds(tmp_path, "b")["e", "encode", "cpu"] == Speed(2.0, "b", "cpu")
    assert known_speeds(tmp_path, "b")["f", "encode", "gpu"] == Speed(50.0, "a", "cuda")
    assert {system for system, _, _ in known_speeds(tmp_path, "a")} == {"e", "f"}
    (tmp_path / "b" / "tables" / "costs.csv").write_text("torn,\x00", encoding="utf-8")
    assert known_speeds(tmp_path, "b")["e", "encode", "cpu"].study == "a"


def encode(system, **given):
    return {"step": "encode", "system": system, "corpus": "c", "n_texts": 10, "n_new": 10, "n_jobs": 1, **given}


def test_the_plan_says_what_is_guessed_and_what_is_not_known():
    rows = [
        encode(
            "known", n_tokens=2_500_000, tokens_from="tokenizer", gpu_hours=0.5, gpu_from="parameters", cpu_hours=8.0
        )
        | {
            "cpu_from": "as many texts a second as in the study s",
            "n_jobs": 4,
            "largest_share": 0.4,
            "disk_mib": 2048.0,
        },
        encode("strange", n_tokens=90, tokens_from="characters", gpu_from=NO_GPU, at_hand=False),
        encode("stored", n_new=0, n_tokens=0, gpu_hours=0.0, cpu_hours=0.0, n_jobs=3),
        encode("read", n_tokens=5, tokens_from="sample", gpu_hours=0.1, cpu_hours=0.1),
        {"step": "judge", "system": "llm", "corpus": "c", "n_calls": 1200},
    ]
    plan = plan_table(rows)
    check_table(plan, PLAN, "here")
    text = told(plan, 8)
    cells = {line.split()[0]: line for line in text.splitlines() if line}
    assert "2.5 M  " in cells["known"]
    assert "30 min" in cells["known"]
    assert "12 min" in cells["known"]  # the longest of four jobs, on a GPU
    assert "2.0 GiB" in cells["known"]
    assert "~90" in cells["strange"]
    assert "?" in cells["strange"]
    assert "12 min + ?" in cells["all"]  # the longest that is known
    assert "8.1 h + ?" in cells["all"]
    assert "36 min + ?" not in cells["all"]  # what has no use for a GPU is no gap there
    assert "llm on c: at most 1,200 items judged" in text
    assert cells["stored"].split()[1:] == ["10", "0", *["-"] * 9]
    assert "~ tokens of strange:" in text
    assert "~ tokens of read: the encoder's own tokenizer" in text
    assert "? of strange: the number of parameters is not known" in text
    assert "to be fetched first: strange;" in text
    assert "hours on the GPU of known: parameters" in text
    assert "50 teraflops" in text
