"""What a system is and what it makes of a few texts, told line by line before a study uses it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from verseir.costs import peak_memory_mb
from verseir.systems.bm25 import Bm25Index
from verseir.systems.checks import SAMPLES, rate_checks, required, self_check
from verseir.systems.devices import cpu_threads
from verseir.systems.encode_step import SAMPLE
from verseir.systems.encoder import Encoder
from verseir.systems.identity import ROLES
from verseir.systems.tokenizers import tokens_of

#: A line of what is told: what it is about, and what is said of it.
Line = tuple[str, str]

#: How much of a text is shown, in characters, and how much of it is read where all of it is to be shown, in words.
_SHOWN, _WORDS = 120, 8
#: What only people read in an entry, or what is told apart.
_APART = ("name", "kind", "description", "languages", "licence", "parameters", "only", "as_published")


def encoder_lines(encoder: Encoder, texts: Sequence[str]) -> Iterator[Line]:
    """What an encoder is, its self-checks on a few of ``texts``, and what it makes of all of them.

    Raises:
        UserError: at the end, when a hard check fails: it is of no use.
    """
    entry, source = encoder.identity.entry, encoder.identity.source
    threads = f", {cpu_threads()} threads" if encoder.device == "cpu" else ""
    yield "source", f"{source.kind}: {source.place}"
    yield "revision", encoder.revision + (f", remote code at {source.code_revision}" if source.code_revision else "")
    yield "computes", f"on {encoder.device}{threads}, in {entry['dtype']}; vectors are float32"
    limit = entry["max_length"]
    yield "reads", f"text `{entry['text']}`, " + (f"at most {limit} tokens" if limit else "texts of any length")
    yield "pools", f"{entry['pooling']}, attention {entry['attention']}, pads on the {entry['padding_side']}"
    checks = self_check(encoder, list(texts[:SAMPLE]))
    for check in checks:
        state = "ok" if check.ok else "FAULT" if check.hard else "warning"
        yield f"check: {check.name}", f"{state}: {check.observed}" + ("" if check.ok else f"; {check.hint}")
    first = " ".join(texts[0].split()[:_WORDS])
    for role in ROLES:
        prepared = encoder.prepare([first], role)[0]
        yield f"first {role}", f"given “{_cut(str(prepared))}”, seen “{_cut(encoder.seen(prepared))}”"
    for role in ROLES:
        counts = encoder.count_tokens(texts, role)
        numbers = counts.n_tokens
        cut = f"{int(counts.truncated.sum())} of {len(texts)} cut, {counts.unknown_token_share:.1%} of tokens unknown"
        yield f"{role} tokens", f"{numbers.min()} to {numbers.max()}, median {np.median(numbers):.0f}; {cut}"
        for check in rate_checks(counts, role):
            if not check.ok:
                yield f"check: {check.name}", f"warning: {check.observed}; {check.hint}"
    yield from _measured(encoder, texts)
    required(encoder, checks)


def _measured(encoder: Encoder, texts: Sequence[str]) -> Iterator[Line]:
    started = time.perf_counter()
    vectors = encoder.encode(texts, "document")
    seconds = time.perf_counter() - started
    norms = np.linalg.norm(vectors, axis=1)
    yield "vectors", f"{vectors.shape[1]} numbers, norms {norms.min():.4f} to {norms.max():.4f}"
    words = sum(len(text.split()) for text in texts)
    speed = len(texts) / max(seconds, 1e-9)
    yield "speed", f"{speed:.0f} texts/s, measured on {len(texts)} texts of {words / len(texts):.0f} words"
    memory = f"{peak_memory_mb():,.0f} MiB of memory at the most"
    if encoder.device.startswith("cuda"):
        import torch

        memory += f", {torch.cuda.max_memory_allocated() / 2**20:,.0f} MiB of the GPU"
    yield "memory", memory


def bm25_lines(entry: Mapping[str, Any], texts: Sequence[str]) -> Iterator[Line]:
    """The settings of BM25, what it makes of a text, and a search for it among ``texts``."""
    yield "settings", _settings(entry)
    for text in (" ".join(texts[0].split()[:_WORDS]), SAMPLES[2]):
        yield "tokens", f"“{_cut(text)}” -> {' | '.join(_tokens(text, entry)) or 'none'}"
    if "tune" in entry:
        yield "parameters", "k1 and b are chosen on validation queries, when the study runs"
        return
    split = [_tokens(text, entry) for text in texts]
    ids = [f"t{number:03d}" for number in range(len(texts))]
    index = Bm25Index.build(split, ids, ids, entry["method"], entry["k1"], entry["b"])
    run = index.search(["q"], [split[0]], 10, ties=entry["ties"])
    found = run.filter(run["poem_id"] == ids[0])
    place = f"at rank {found['rank'][0]}" if len(found) else "not at all"
    yield "search", f"the first of {len(texts)} texts finds itself {place}"


def fusion_lines(entry: Mapping[str, Any], registry: Mapping[str, Mapping[str, Any]]) -> Iterator[Line]:
    """The arms of a fusion, which are systems of the registry."""
    yield "settings", f"method {entry['method']}, k {entry['k']:g}"
    for arm in entry["arms"]:
        system, mode = (arm, "") if isinstance(arm, str) else (arm["system"], f", in mode {arm['mode']}")
        yield "arm", f"{system} ({registry[system]['kind']}){mode}: python -m verseir probe {system}"


def imported_lines(entry: Mapping[str, Any]) -> Iterator[Line]:
    """Where the runs of another program are read from."""
    yield "runs", f"read from {entry['path']}; the study says of which corpora, modes and query sets"
    yield "signal", entry.get("signal") or "not stated (`signal`): it counts as neither lexical nor dense"


def _tokens(text: str, entry: Mapping[str, Any]) -> list[str]:
    tokens = tokens_of([text], entry)
    return [tokens.vocabulary[number] for number in tokens.ids]


def _settings(entry: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in entry.items() if key not in _APART and value != "")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
