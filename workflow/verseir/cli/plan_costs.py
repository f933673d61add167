"""What a study will take, before it runs: texts, tokens, hours, disk, by system."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from verseir.cli.encode_texts import read_texts
from verseir.costs import Speed, known_speeds
from verseir.layout import Run, index_place, runs
from verseir.plan import NO_GPU, PLAN, plan_table, told
from verseir.tables import CHUNKS, POEMS, QUERIES, read_table, write_table
from verseir.whole import at_least_one

MIB = 2**20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=at_least_one, default=1, help="cores of an encode on the CPU")
    parser.add_argument("--results", required=True)
    parser.add_argument("--crosses", required=True, nargs="+", type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--entries", required=True, type=json.loads, help="JSON: the systems by name")
    parser.add_argument(
        "--encodes", required=True, type=json.loads, help="JSON: what each encoder reads of each corpus"
    )
    parser.add_argument("--asked", required=True, type=json.loads, help="JSON: what language models are asked")
    parser.add_argument("--like", required=True, type=json.loads, help="JSON: variant -> the system it is as quick as")
    parser.add_argument("--worded", required=True, type=json.loads, help="JSON: which set has the queries of each set")
    parser.add_argument("--depth", required=True, type=int)
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library of the hub is imported, which an encoder's source does
    results = Path(args.results)
    speeds = known_speeds(results.parent, results.name)
    study = _Study(results, args.worded)
    rows = [*_encodes(args, study, speeds), *_lists(args, study, speeds), *_asked(args, study)]
    plan = plan_table(rows)
    write_table(plan, args.output, PLAN)
    print(f"\nThe plan of {results.name}\n\n{told(plan, args.threads)}\n\nThe table is {args.output}\n")


class _Study:
    """The tables that are at hand of a study, read once."""

    def __init__(self, results: Path, worded: dict[str, str]):
        self.results, self.worded = results, worded
        self._read: dict[Path, pl.DataFrame | None] = {}

    def chunks(self, corpus: str, mode: str) -> pl.DataFrame | None:
        """CHUNKS; None where explanations in it are yet to be written."""
        return self._table(self.results / "corpora" / corpus / "chunks" / f"{mode}.parquet", CHUNKS)

    def poems(self, corpus: str) -> pl.DataFrame:
        table = self._table(self.results / "corpora" / corpus / "poems.parquet", POEMS)
        assert table is not None
        return table

    def query_ids(self, query_set: str) -> pl.Series:
        """The queries of a set; none where they are yet to be written."""
        table = self._table(self.results / "queries" / f"{self.worded[query_set]}.parquet", QUERIES)
        return pl.Series(dtype=pl.String) if table is None else table["query_id"]

    def _table(self, path: Path, contract: Any) -> pl.DataFrame | None:
        if path not in self._read:
            self._read[path] = read_table(path, contract) if path.exists() else None
        return self._read[path]


def _encodes(args: argparse.Namespace, study: _Study, speeds: dict[tuple[str, str, str], Speed]) -> Iterator[dict]:
    from verseir.systems.blocks import BLOCK
    from verseir.systems.forecast import (
        CORE_FLOPS,
        at_hand,
        gpu_flops,
        hours,
        known_identity,
        parameters_of,
        vector_bytes,
        volume,
    )

    planned: dict[str, set[bytes]] = {}
    for given in args.encodes:
        system, corpus, entry = given["system"], given["corpus"], args.entries[given["system"]]
        chunks = {mode: study.results / "corpora" / corpus / "chunks" / f"{mode}.parquet" for mode in given["modes"]}
        queries = [(study.results / "queries" / f"{name}.parquet", how) for name, how in given["query_sets"]]
        there = [(path, how) for path, how in queries if path.exists()]
        lacking = [f"mode {mode}" for mode, path in chunks.items() if not path.exists()]
        lacking += [f"query set {path.stem}" for path, _ in queries if not path.exists()]
        read = argparse.Namespace(
            chunks=[path for path in chunks.values() if path.exists()],
            queries=[path for path, _ in there],
            encodings=[how for _, how in there],
            entry=entry,
        )
        identity = known_identity(entry)
        found = volume(identity, read_texts(read).by_role, planned.setdefault(identity.key, set()), given["shards"])
        parameters = parameters_of(identity)
        row: dict[str, Any] = {
            "step": "encode",
            "system": system,
            "corpus": corpus,
            "n_texts": found.n_texts,
            "n_new": found.n_new,
            "n_tokens": found.n_tokens,
            "tokens_from": found.counted,
            "n_jobs": given["shards"],
            "largest_share": found.largest_share,
            "at_hand": at_hand(identity),
            "disk_mib": vector_bytes(found.n_new, entry["dimension"]) / MIB,
        }
        flops = {"gpu": gpu_flops(entry["dtype"]), "cpu": CORE_FLOPS * args.threads}
        if not given["gpu"]:
            row["gpu_from"] = NO_GPU
        for kind in ("gpu", "cpu") if given["gpu"] else ("cpu",):
            speed = speeds.get((args.like.get(system, system), "encode", kind))
            if not found.n_new:
                row[f"{kind}_hours"] = 0.0
            elif speed:
                row[f"{kind}_hours"] = found.n_new / speed.texts_per_second / 3600
                row[f"{kind}_from"] = f"as many texts a second as in the study {speed.study}, on {speed.device}"
            elif parameters:
                row[f"{kind}_hours"] = hours(parameters, found.n_tokens, flops[kind])
                row[f"{kind}_from"] = "parameters"
        notes = []
        if lacking:
            notes.append(f"not counted of {corpus}: what a language model is yet to write for {', '.join(lacking)}")
        if found.n_new and 0 < found.n_blocks < given["shards"]:
            notes.append(
                f"{system} on {corpus}: the texts are {found.n_blocks} blocks of at most {BLOCK:,}, so that more jobs"
                f" than {found.n_blocks} bring nothing"
            )
        row["note"] = "; ".join(notes) or None
        yield row


def _lists(args: argparse.Namespace, study: _Study, speeds: dict[tuple[str, str, str], Speed]) -> Iterator[dict]:
    """Indexes of BM25, runs, and the TREC files of the first cross."""
    from verseir.systems.forecast import INDEXED, index_bytes, run_bytes

    sums: dict[tuple[str, str, str], dict[str, float]] = {}

    def add(step: str, found: Run, **numbers: float) -> None:
        total = sums.setdefault((step, found.system, found.corpus), {})
        for name, number in numbers.items():
            total[name] = total.get(name, 0) + number

    indexes = {}
    crossed = {found: number for number, cross in reversed([*enumerate(args.crosses)]) for found in runs(cross)}
    for found, number in sorted(crossed.items()):
        chunks, query_ids = study.chunks(found.corpus, found.mode), study.query_ids(found.query_set)
        if chunks is None:
            continue
        poem_ids = chunks["poem_id"].unique()
        rows = len(query_ids) * min(args.depth, len(poem_ids))
        add("search", found, disk_mib=run_bytes(rows, len(poem_ids), len(chunks)) / MIB)
        if number == 0:
            line = sum(_mean_bytes(ids) for ids in (query_ids, poem_ids)) + len(found.system) + 22
            add("export", found, disk_mib=rows * line / MIB)
        if args.entries[found.system]["kind"] == "bm25":
            indexes[index_place(args.crosses[number], found)] = found
    sizes: dict[tuple[str, str, str], float] = {}
    for place, found in sorted(indexes.items()):
        chunks = study.chunks(found.corpus, found.mode)
        assert chunks is not None
        of = (found.corpus, found.mode, found.system)
        if of not in sizes:
            names = [chunks["chunk_id"], chunks["poem_id"].unique()]
            bytes_of_names = sum(int(ids.str.len_bytes().sum()) + 4 * len(ids) for ids in names)
            sizes[of] = index_bytes(chunks["text"].to_list(), args.entries[found.system], bytes_of_names) / MIB
        made = (study.results / "indexes" / place).is_dir()
        add("index", found, disk_mib=sizes[of], n_texts=len(chunks), n_new=0 if made else len(chunks), n_jobs=1)
    for (step, system, corpus), total in sums.items():
        row: dict[str, Any] = {"step": step, "system": system, "corpus": corpus, **total}
        if step == "index":
            speed = speeds.get((args.like.get(system, system), "index", "cpu"))
            row["cpu_hours"] = row["n_new"] / (speed.texts_per_second if speed else INDEXED) / 3600
            if row["n_new"]:
                guess = f"{INDEXED:,.0f} chunks a second are taken for granted"
                row["cpu_from"] = f"as many chunks a second as in the study {speed.study}" if speed else guess
        yield row


def _mean_bytes(ids: pl.Series) -> float:
    return int(ids.str.len_bytes().sum()) / max(1, len(ids))


def _asked(args: argparse.Namespace, study: _Study) -> Iterator[dict]:
    """What language models are asked: items of pools, verses to explain, queries to rewrite."""
    for given in args.asked:
        if given["step"] == "write":
            calls = int(study.poems(given["corpus"])["verses"].list.len().sum())
        elif given["step"] == "rewrite":
            calls = len(study.query_ids(given["query_set"]))
        else:
            calls = sum(
                len(study.query_ids(query_set)) * min(depth * n_runs, len(study.poems(given["corpus"])))
                for query_set, depth, n_runs in given["pools"]
            )
        yield {"step": given["step"], "system": given["who"], "corpus": given["corpus"], "n_calls": calls}
