"""How long, and with how much memory, a benchmark of poetry in 24 languages takes from its poems to its measures.

    python benchmarks/poetrymteb_scale.py build/poetrymteb-scale

makes 138,604 poems and the 40,300 queries of all 8 settings from made-up words, in the numbers of the card of
PoetryMTEB (version 1.2.0), and calls the verbs of the workflow on them, one process at a time: chunks (one a poem),
BM25 with multilingual tokens, search over random vectors of 384 dimensions, each of them within the language of the
query (MONO) and in all poems (CROSS), then the measures of every query, their means, those over settings, and ties. Of
each it prints seconds and peak memory. ``--scaling`` then searches parts of the poems for parts of the queries and fits

    seconds = a * documents ^ x * queries ^ y

Ranked lists hold 100 poems: nDCG@10 and Recall@100 need no more, and a query has 21 judged poems at most.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "workflow"))

from synthetic_poetry import CORPUS, SETTINGS, make  # noqa: E402  (it imports verseir)

from verseir.whole import at_least_one  # noqa: E402

MODE, BM25, DENSE = "poem", "bm25-multilingual", "random-384"
DIMENSION = 384
MEASURES = ["nDCG@10", "MAP", "Recall@10", "Recall@100"]
#: The most that a process may take.
MOST_MB = 8 * 1024
ENTRY: dict[str, Any] = {
    "name": BM25, "kind": "bm25", "text": "full", "tokens": "multilingual",
    "method": "lucene", "k1": 1.2, "b": 0.75, "ties": "id",
}  # fmt: skip


def entry_of(folder: Path) -> dict[str, Any]:
    """A registry entry whose vectors are made here: an encoder that nobody loads."""
    place = folder / "no-encoder"
    place.mkdir(exist_ok=True)
    (place / "config.json").write_text("{}")
    fixed = {"loader": "sentence-transformers", "text": "raw", "prompts": {"query": "", "document": ""}}
    settings = {"pooling": "mean", "padding_side": "right", "max_length": 512, "dtype": "float32", "normalise": True}
    settings |= {"late_chunking": {"prompt": True, "head": True}, "prompts_pooled": True}
    return {"name": DENSE, "kind": "dense", "path": str(place), "dimension": DIMENSION, "remote_code": False} | (
        fixed | settings
    )


def fill(folder: Path, seed: int) -> None:
    """Put a random vector of length 1 for each chunk and query into the store, and write what an encode step does."""
    from verseir.systems.identity import identify
    from verseir.systems.vectors import VectorStore

    rng = np.random.default_rng(seed)
    identity = identify(entry_of(folder))
    store = VectorStore(identity)
    texts = pl.read_parquet(folder / "corpora" / CORPUS / "chunks" / f"{MODE}.parquet")["text"].to_list()
    for name in SETTINGS:
        texts += pl.read_parquet(folder / "queries" / f"{name}.parquet")["text"].to_list()
    keys = list(dict.fromkeys(identity.text_keys(identity.prepare(texts, "document"), "document")))
    for first in range(0, len(keys), 8192):
        part = keys[first : first + 8192]
        vectors = rng.standard_normal((len(part), DIMENSION), dtype=np.float32)
        store.add(part, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    seen = {"corpus": CORPUS, "system": DENSE, "encoder_key": identity.key, "revision": "none"}
    (folder / "encoding.json").write_text(json.dumps(seen))


# ---- the steps, a process each ----


class Step(NamedTuple):
    """What a step took: seconds, of all its threads together, and memory at its highest."""

    name: str
    seconds: float
    cpu: float
    peak_mb: float


def timed(name: str, *command: str, threads: int, cache: Path) -> Step:
    """Run a command to its end; its output is shown where it fails."""
    load = os.getloadavg()[0]
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(threads)) | {"VERSEIR_CACHE": str(cache)}
    environment |= {"PYTHONPATH": str(ROOT / "workflow")}
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )  # fmt: skip
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{name} failed:\n{output}")
    step = Step(name, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
    print(f"{name:34} {seconds:8.1f} s {step.cpu:8.1f} s CPU {step.peak_mb:7.0f} MB   load {load:.1f}", flush=True)
    return step


def steps(folder: Path, threads: int, depth: int, seed: int) -> list[Step]:
    """Call the verbs on the tables in ``folder``, in the order of the workflow."""

    def verb(name: str, *options: str, of: str = "") -> Step:
        verb = (sys.executable, "-m", "verseir", name, *options)
        return timed(f"{name} {of}".strip(), *verb, threads=threads, cache=folder / "cache")

    def path(*parts: str) -> str:
        return str(folder.joinpath(*parts))

    corpus = {part: path("corpora", CORPUS, f"{part}.parquet") for part in ("poems", "attributes", "explanations")}
    chunks = path("corpora", CORPUS, "chunks", f"{MODE}.parquet")
    made_of = ("--poems", corpus["poems"], "--explanations", corpus["explanations"], "--fields", '["verse"]')
    done = [verb("make_chunks", *made_of, "--verses", "5000", "--stride", "1", "--output", chunks)]
    within = ("--within", "language", "--poems", corpus["poems"], "--attributes", corpus["attributes"])
    lexical = ("--corpus", CORPUS, "--system", BM25, "--entry", json.dumps(ENTRY), "--cost", path("cost.json"))
    for scope in ("cross", "mono"):
        place = ("--chunks", chunks, "--output", path("indexes", scope))
        done.append(verb("index_bm25", *lexical, *place, *(within if scope == "mono" else ()), of=scope))
    common = ("--threads", str(threads), "--depth", str(depth))
    for name in SETTINGS:
        scope = name.rpartition("-")[2]
        own = ("--within", "language", "--query-attributes", path("queries", f"{name}.attributes.parquet"))
        asked = ("--index", path("indexes", scope), "--queries", path("queries", f"{name}.parquet"))
        output = ("--output", path("runs", CORPUS, MODE, name, f"{BM25}.parquet"))
        mono = own if scope == "mono" else ()
        done.append(verb("search_bm25", *lexical, *common, *asked, *mono, *output, of=name))
    itself = (sys.executable, __file__, str(folder), "--seed", str(seed))
    done.append(timed("vectors into the store", *itself, "--fill", threads=threads, cache=folder / "cache"))
    entry = json.dumps(entry_of(folder))
    dense = ("--corpus", CORPUS, "--system", DENSE, "--entry", entry, "--cost", path("cost.json"))
    encoding = ("--encoding", path("encoding.json"), "--query-encoding", '{"view": "sentence"}')
    for name in SETTINGS:
        shared = ("--query-attributes", path("queries", f"{name}.attributes.parquet"), *within)
        asked = ("--chunks", chunks, "--queries", path("queries", f"{name}.parquet"))
        output = ("--output", path("runs", CORPUS, MODE, name, f"{DENSE}.parquet"))
        restricted = shared if name.endswith("mono") else ()
        done.append(verb("search_dense", *dense, *encoding, *common, *asked, *restricted, *output, of=name))
    cross = {
        "query_sets": {name: [CORPUS] for name in SETTINGS},
        "modes": {CORPUS: [MODE]},
        "systems": {BM25: "bm25", DENSE: "dense"},
    }
    measured = ("--results", str(folder), "--cross", json.dumps(cross), "--measures", *MEASURES)
    done.append(verb("evaluate_runs", *measured, "--output", path("per_query.parquet")))
    means = ("--query-sets", *SETTINGS, "--resamples", "9999", "--seed", str(seed), "--leaderboard", path("means.csv"))
    done.append(verb("make_leaderboard", *measured, *means, "--registers", path("registers.csv")))
    draws = ("--splits", json.dumps(dict.fromkeys(SETTINGS)), "--resamples", "9999", "--seed", str(seed))
    done.append(verb("average_settings", "--results", str(folder), *draws, "--output", path("graded_settings.csv")))
    done.append(verb("report_ties", *measured, "--output", path("ties.csv")))
    return done


# ---- the cost model ----


#: Eighths of the documents, and of the queries, that are searched.
GRID = {8: (8, 4, 2, 1), 4: (8, 4), 2: (8, 2), 1: (8, 1)}


def scaling(folder: Path, threads: int, depth: int, seed: int) -> None:
    """Search parts of the poems for parts of the CROSS queries and fit how the seconds grow.

    Seconds are those of the processor, of all threads together: others may use the machine too.
    """
    from verseir.systems.bm25 import Bm25Index
    from verseir.systems.dense import search
    from verseir.systems.tokenizers import tokens_of

    rng = np.random.default_rng(seed)
    chunks = pl.read_parquet(folder / "corpora" / CORPUS / "chunks" / f"{MODE}.parquet")
    paths = [folder / "queries" / f"{name}.parquet" for name in SETTINGS if name.endswith("cross")]
    asked = pl.concat(pl.read_parquet(path) for path in paths).sample(fraction=1.0, shuffle=True, seed=seed)
    order, query_ids = rng.permutation(len(chunks)), asked["query_id"].to_list()
    vectors, sought = (rng.standard_normal((n, DIMENSION), dtype=np.float32) for n in (len(chunks), len(asked)))
    tokens, query_tokens = tokens_of(chunks["text"], ENTRY), tokens_of(asked["text"], ENTRY)
    taken: dict[str, list[tuple[int, int, float]]] = {BM25: [], DENSE: []}
    for documents, parts in GRID.items():
        rows = np.sort(order[: len(chunks) * documents // 8])
        names = (chunks["chunk_id"].gather(rows), chunks["poem_id"].gather(rows))
        index, held = Bm25Index.build(tokens.take(rows), *names, "lucene", 1.2, 0.75), vectors[rows]
        for part in (1, *parts):  # the first to warm up
            q = len(asked) * part // 8
            started = time.process_time()
            index.search(query_ids[:q], query_tokens[:q], depth, threads=threads)
            between = time.process_time()
            search(query_ids[:q], sought[:q], *names, held, depth, threads=threads)
            taken[BM25].append((len(rows), q, between - started))
            taken[DENSE].append((len(rows), q, time.process_time() - between))
        for made in taken.values():
            del made[-len(parts) - 1]
    for system, made in taken.items():
        print(f"\n{system}: documents, queries, seconds of the processor, microseconds a query")
        for n, q, seconds in made:
            print(f"{n:10} {q:8} {seconds:8.2f} {1e6 * seconds / q:10.0f}")
        known = np.array([(1, np.log(n), np.log(q)) for n, q, _ in made])
        seconds_taken = np.log([seconds for *_, seconds in made])
        (a, x, y), *_ = np.linalg.lstsq(known, seconds_taken, rcond=None)
        left = float(np.std(seconds_taken - known @ np.array([a, x, y])))
        print(
            f"seconds = {np.exp(a):.3g} * documents^{x:.2f} * queries^{y:.2f}, off by {left:.0%} as a rule", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="part of the poems and queries, to try it out")
    parser.add_argument("--threads", type=at_least_one, default=2)
    parser.add_argument("--depth", type=int, default=100, help="poems in a ranked list")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scaling", action="store_true", help="fit the cost model, after the steps")
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--fill", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--fit", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    folder = args.folder.resolve()
    if args.make:
        make(folder, args.share, args.seed)
    elif args.fill:
        fill(folder, args.seed)
    elif args.fit:
        scaling(folder, args.threads, args.depth, args.seed)
    else:
        measure(folder, args)


def measure(folder: Path, args: argparse.Namespace) -> None:
    """Make the tables, take all steps, and fit the cost model where it is asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    again = (sys.executable, __file__, str(folder), "--seed", str(args.seed), "--depth", str(args.depth))
    options = {"threads": args.threads, "cache": folder / "cache"}
    timed("made-up poems and queries", *again, "--make", "--share", str(args.share), **options)
    done = steps(folder, args.threads, args.depth, args.seed)
    largest = max(done, key=lambda step: step.peak_mb)
    print(f"\n{sum(step.seconds for step in done):.0f} s, peak {largest.peak_mb:.0f} MB ({largest.name})")
    if args.scaling:
        fit = (*again, "--fit", "--threads", str(args.threads))
        subprocess.run(fit, check=True, env=os.environ | {"PYTHONPATH": str(ROOT / "workflow")})
    if largest.peak_mb > MOST_MB:
        sys.exit(f"{largest.name} took more than {MOST_MB} MB")


if __name__ == "__main__":
    main()
