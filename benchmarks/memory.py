"""How much memory each rule of a study takes, and all that runs at a time, as the corpus grows.

    python benchmarks/memory.py build/memory                      700 to 22,000 poems
    python benchmarks/memory.py build/memory --poems 300 600      a trial

makes, for each size, a study of made-up poems (about 12 windows of verses each), 200 known-item queries, BM25 and the
fast encoder that the project brings, in a copy of the project, and runs the workflow up to the measures of each query.
Writes memory.json, MEMORY.md and memory.svg into the folder. Fails where all processes together took more than 4 GB.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml
from analysis_stage import at_least_one, copy_project, jobs_since, run_workflow
from harness.machine import describe_machine
from synthetic_study import write_lines
from texts import WORDS, Vocabulary, names

NAME, CORPUS, MODE, QUERY_SET = "memory", "archive", "verse", "known-item"
RESULTS = Path("results") / NAME
SIZES = (700, 2_200, 7_000, 22_000)
QUERIES, DEPTH = 200, 1000
#: Verses of a poem: the median, the standard deviation of the logarithm, the most. 12 windows of three on average.
VERSES, SPREAD, LONGEST = 10, 0.8, 200
#: The rules whose memory may grow with the corpus, in the order of the workflow.
RULES = (
    *("ingest_corpus", "make_chunks", "index_bm25", "search_bm25", "encode_texts", "search_dense"),
    "evaluate_runs",
)
MOST_MB = 4096


def write_study(folder: Path, n_poems: int, seed: int = 7) -> None:
    """Write ``study.yaml`` and what it reads below ``folder``; the same files for the same seed."""
    rng = np.random.default_rng(seed)
    vocabulary, ids = Vocabulary.made_up(rng), names("p", n_poems)
    lengths = np.clip(np.round(VERSES * np.exp(SPREAD * rng.standard_normal(n_poems))), 1, LONGEST).astype(int)
    poems, verses_of = [], []
    for poem_id, length in zip(ids, lengths.tolist(), strict=True):
        n = int(rng.integers(WORDS[0], WORDS[1] + 1))
        words = vocabulary.draw(n * length, rng)
        verses = [words[first : first + n] for first in range(0, len(words), n)]
        halves = [[" ".join(verse[: n // 2]), " ".join(verse[n // 2 :])] for verse in verses]
        poems.append({"poem_id": poem_id, "title": " ".join(verses[0][:2]), "verses": halves})
        verses_of.append(verses)
    write_lines(folder / "data" / "poems.jsonl", poems)
    queries = []
    for number, poem in enumerate(rng.choice(n_poems, min(QUERIES, n_poems), replace=False).tolist()):
        verse = verses_of[poem][int(rng.integers(len(verses_of[poem])))]
        text = " ".join(verse[: int(rng.integers(2, 6))] + vocabulary.draw(4, rng))
        relevant = {ids[poem]: 1}
        queries.append({"query_id": f"q{number:04d}", "register": "quoting", "text": text, "relevant": relevant})
    write_lines(folder / "data" / "queries.jsonl", queries)
    study = {
        "study": NAME,
        "corpora": {CORPUS: {"adapter": "jsonl", "path": "data/poems.jsonl", "language": "ar"}},
        "modes": {MODE: ["verse"]},
        "query_sets": {QUERY_SET: {"corpora": [CORPUS], "path": "data/queries.jsonl", "purpose": "known-item"}},
        "systems": ["bm25", "use-m3"],
        "depth": DEPTH,
        "analyses": {"reference_encoder": None},
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(study, allow_unicode=True, sort_keys=False), encoding="utf-8")


def measure(folder: Path, n_poems: int, cores: int) -> dict[str, Any]:
    """Run the study of one size from nothing.

    Returns:
        ``poems``, ``chunks``; ``peak_mb`` of all processes at a time, Snakemake's own among them; ``rules``: by name,
        ``peak_mb`` of the largest job.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    copy_project(folder)
    write_study(folder, n_poems)
    began = time.time()
    taken = run_workflow(folder, ["per_query.parquet"], cores, RESULTS)
    rules = {}
    for rule, jobs in jobs_since(folder, began, RESULTS).items():
        peak = max(taken.memory.of_rule.get(rule, 0.0), *(size for _, size in jobs))
        rules[rule] = {"peak_mb": round(peak)}
    chunks = pl.scan_parquet(folder / RESULTS / "corpora" / CORPUS / "chunks" / f"{MODE}.parquet").select(pl.len())
    return {
        "poems": n_poems,
        "chunks": chunks.collect().item(),
        "peak_mb": round(taken.memory.all),
        "rules": {rule: rules[rule] for rule in sorted(rules)},
    }


def make_page(found: dict[str, Any]) -> str:
    """MEMORY.md: what it comes to, the curve, a table."""
    sizes, machine = found["sizes"], found["machine"]
    largest = sizes[-1]
    kept = "within" if largest["peak_mb"] <= MOST_MB else "**above**"
    head = ["poems", "chunks", "all at a time", *RULES]
    rows = [
        [f"{size['poems']:,}", f"{size['chunks']:,}", f"{size['peak_mb']:,}"]
        + [f"{size['rules'][rule]['peak_mb']:,}" if rule in size["rules"] else "" for rule in RULES]
        for size in sizes
    ]
    table = "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows])
    return f"""# Memory over the size of the corpus

{largest["poems"]:,} poems, {largest["chunks"]:,} chunks, with BM25 and the fast encoder: {largest["peak_mb"]:,} MB in
all processes at a time ({found["cores"]} jobs at most, and Snakemake itself), {kept} {MOST_MB:,} MB.
Written by `python benchmarks/memory.py` from `memory.json`; do not edit.

![Peak memory of each rule over the number of chunks](memory.svg)

MB at the highest, by rule:

{table}

Resident memory, sampled five times a second; pages that processes share are counted for each of them. Made-up poems
with the lengths of an archive's, one indexing mode, {QUERIES} queries, lists of {DEPTH:,} poems.
{found["date"]}, {machine["processor"]}, {machine["cores"]} cores, {machine["memory_gb"]:g} GB.
"""


def draw(sizes: Sequence[dict[str, Any]], path: Path) -> None:
    """Peak memory over the number of chunks: a line for each rule, and one for all processes at a time."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "memory", "svg.fonttype": "none", "font.family": "sans-serif"})
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 3.8))
    chunks = [size["chunks"] for size in sizes]
    lines = {"all at a time": [size["peak_mb"] for size in sizes]}
    lines |= {rule: [size["rules"].get(rule, {}).get("peak_mb", np.nan) for size in sizes] for rule in RULES}
    for (name, peaks), color in zip(lines.items(), ["#222222", *plt.get_cmap("tab10").colors], strict=False):
        wide = name == "all at a time"
        axes.plot(chunks, peaks, "o-", color=color, markersize=3.5, linewidth=2 if wide else 1.2, label=name)
    axes.axhline(MOST_MB, color="#999999", linewidth=0.8, linestyle=(0, (4, 3)))
    axes.annotate(f"{MOST_MB:,} MB", (chunks[0], MOST_MB), (0, 3), textcoords="offset points", fontsize=7.5)
    axes.set_ylim(0, 1.1 * max(MOST_MB, *(size["peak_mb"] for size in sizes)))
    axes.set_xlim(left=0)
    axes.set_xlabel("chunks", fontsize=8.5)
    axes.set_ylabel("MB at the highest", fontsize=8.5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.tick_params(labelsize=8, colors="#555555", length=2)
    axes.grid(True, color="#e6e6e6", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.tight_layout()
    figure.savefig(path, format="svg", metadata={"Date": None})
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the studies are made, anew, and the page is written")
    parser.add_argument("--poems", type=int, nargs="+", default=list(SIZES), help="sizes of the corpus")
    parser.add_argument("--cores", type=at_least_one, default=2)
    args = parser.parse_args()
    folder = args.folder.resolve()
    sizes = []
    for n_poems in sorted(set(args.poems)):
        size = measure(folder / str(n_poems), n_poems, args.cores)
        sizes.append(size)
        peaks = ", ".join(f"{rule} {part['peak_mb']}" for rule, part in size["rules"].items() if rule in RULES)
        print(f"{n_poems:,} poems, {size['chunks']:,} chunks: {size['peak_mb']} MB ({peaks})")
    date = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    found = {"date": date, "machine": describe_machine(), "cores": args.cores, "most_mb": MOST_MB, "sizes": sizes}
    (folder / "memory.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (folder / "MEMORY.md").write_text(make_page(found), encoding="utf-8")
    draw(sizes, folder / "memory.svg")
    highest = max(size["peak_mb"] for size in sizes)
    print(f"{'OK' if highest <= MOST_MB else 'FAIL'}: {highest} MB of {MOST_MB}: {folder / 'MEMORY.md'}")
    return 0 if highest <= MOST_MB else 1


if __name__ == "__main__":
    sys.exit(main())
