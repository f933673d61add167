"""The encode step: check an encoder, encode what the store lacks, and tell what the encoder saw; in one job or several.

A job leaves a part (a mapping for JSON) with the counts of its own texts. ``merged`` makes one account of all parts,
the same whether one job or several encoded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from verseir.faults import UserError
from verseir.systems.blocks import Blocks, InBlocks
from verseir.systems.checks import Check, rate_checks, require_sound, require_view, span_checks
from verseir.systems.encoder import Encoder, TokenCounts
from verseir.systems.identity import Identity, Role
from verseir.systems.query_encoding import QueryEncoding
from verseir.systems.readings import Reading
from verseir.systems.vectors import VectorStore

log = logging.getLogger(__name__)

#: How many texts of each role the self-checks look at.
SAMPLE = 8

#: What one job says of what it encoded.
Part = dict[str, Any]


@dataclass(frozen=True)
class Texts:
    """All that an encoder reads of one corpus and its queries.

    Attributes:
        documents: the texts of the chunks, without repeats, sorted.
        queries: the texts of the queries, likewise.
        views: what is read of the queries, by view, likewise.
    """

    documents: list[str]
    queries: list[str]
    views: dict[str, list[Reading]] = field(default_factory=dict)

    @property
    def by_role(self) -> dict[Role, Sequence[str | Reading]]:
        read = sorted({one for readings in self.views.values() for one in readings}, key=lambda one: one.order)
        return {"document": self.documents, "query": read}

    @property
    def sample(self) -> list[str]:
        """A few texts for the self-checks."""
        return self.queries[:SAMPLE] + self.documents[:SAMPLE]


def views_of(
    entry: Mapping[str, Any], queries: Sequence[tuple[Sequence[str], Any]], encodings: Sequence[QueryEncoding]
) -> dict[str, list[Reading]]:
    """What is read of the queries, by view, without repeats and sorted.

    Args:
        entry: of the encoder.
        queries: the texts and the spans of each query set.
        encodings: how each query set is read.
    """
    found: dict[str, set[Reading]] = {}
    for (texts, spans), encoding in zip(queries, encodings, strict=True):
        found.setdefault(encoding.view, set()).update(encoding.readings(entry, texts, spans))
    return {view: sorted(found[view], key=lambda one: one.order) for view in sorted(found)}


def share_of(identity: Identity, texts: Texts, shard: int, shards: int) -> tuple[Blocks, dict[Role, Sequence]]:
    """The blocks of all texts, and the texts of each role that job ``shard`` of ``shards``, from 1 on, encodes."""
    by_role = texts.by_role
    blocks = Blocks(identity, by_role)
    return blocks, dict(by_role if shards == 1 else blocks.share(by_role, shard - 1, shards))


def encode_share(
    encoder: Encoder, texts: Texts, blocks: Blocks, share: Mapping[Role, Sequence], store: VectorStore | None = None
) -> Part:
    """Check the encoder, encode those texts of ``share`` that the store lacks, and count what the encoder saw of them.

    Raises:
        UserError: the encoder fails a hard check, or cannot read the queries as it should.
    """
    checks = require_sound(encoder, texts.sample) + _view_checks(encoder, texts.views)
    counts = {role: encoder.count_tokens(share[role], role) for role in sorted(share)}
    warn(encoder.name, checks + [check for role in counts for check in rate_checks(counts[role], role)])
    store = VectorStore(encoder.identity) if store is None else store
    new = {role: len(store.missing(share[role], role)) for role in sorted(share)}
    device = encoder.device.partition(":")[0]
    report = store.encode_missing(InBlocks(encoder, blocks), share, device=device)
    n_texts = sum(map(len, share.values()))
    speed = store.speed(device)
    return {
        "encoder_key": encoder.key,
        "revision": encoder.revision,
        "dimension": encoder.dimension,
        "device": speed.device if speed else device,  # where the vectors were made, now or before
        "n_texts": n_texts,
        "n_encoded": report.n_encoded,
        "seconds": n_texts / speed.texts_per_second if speed else report.seconds,  # of all its texts
        "checks": [asdict(check) for check in checks],
        "roles": {role: {"n_new": new[role], **_totals(counts[role])} for role in sorted(share)},
    }


def empty_part(identity: Identity) -> Part:
    """The part of a job for which no texts are left: there are fewer blocks than jobs."""
    nothing = {"n_new": 0, **_totals(TokenCounts(*(np.zeros(0, np.int64) for _ in range(3))))}
    return {
        "encoder_key": identity.key,
        "revision": identity.revision,
        "dimension": identity.dimension,
        "device": "",
        "n_texts": 0,
        "n_encoded": 0,
        "seconds": 0.0,
        "checks": [],
        "roles": {"document": nothing, "query": nothing},
    }


def merged(parts: Sequence[Part], corpus: str, system: str) -> dict[str, Any]:
    """What the encoder was and saw, from the parts of all jobs, the first of which had texts.

    Raises:
        UserError: the jobs did not run the same encoder.
    """
    first = parts[0]
    if any(part["encoder_key"] != first["encoder_key"] for part in parts):
        raise UserError(
            f"the jobs that encoded {corpus} did not all run the same '{system}': its files changed between them",
            hint="run them again: --forcerun encode_shard",
        )
    sums = {role: _summed([part["roles"][role] for part in parts]) for role in sorted(first["roles"])}
    checks = list(first["checks"])
    for role in sorted(sums):
        checks += [asdict(check) for check in rate_checks(_counts(sums[role]), _as_role(role))]
    told = {key: first[key] for key in ("encoder_key", "revision", "dimension", "device")}
    roles = {}
    for role, total in sums.items():
        counts = _counts(total)
        roles[role] = {
            "n_texts": total["n_texts"],
            "n_new": total["n_new"],
            "truncated_share": counts.truncated_share,
            "unknown_token_share": counts.unknown_token_share,
        }
    return {"corpus": corpus, "system": system, **told, "checks": checks, "roles": roles}


def warn(system: str, checks: Iterable[Check]) -> None:
    """Say which checks a reader should know of."""
    for check in checks:
        if not check.ok:
            log.warning("warning: %s: %s: %s; %s", system, check.name, check.observed, check.hint)


def index_mb(n_texts: int, dimension: int) -> float:
    """The size of ``n_texts`` vectors in MiB."""
    return n_texts * dimension * 4 / 2**20


def _view_checks(encoder: Encoder, views: Mapping[str, list[Reading]]) -> list[Check]:
    """The checks of all views of queries but the plain one, which ``require_sound`` has seen to."""
    checks = []
    for view, readings in views.items():
        if view != "sentence":
            checks += require_view(encoder, view, readings[:SAMPLE])
        if view.endswith("span"):
            checks += span_checks(encoder.count_spans(readings), view)
    return checks


def _totals(counts: TokenCounts) -> dict[str, int]:
    return {
        "n_texts": len(counts.n_tokens),
        "n_tokens": int(counts.n_tokens.sum()),
        "n_unknown": int(counts.n_unknown.sum()),
        "n_truncated": int(counts.truncated.sum()),
    }


def _summed(totals: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {key: sum(one[key] for one in totals) for key in totals[0]}


def _counts(total: Mapping[str, int]) -> TokenCounts:
    """Counts of texts that have the same totals."""
    n = total["n_texts"]
    n_tokens, n_unknown = np.zeros(n, np.int64), np.zeros(n, np.int64)
    n_tokens[:1], n_unknown[:1] = total["n_tokens"], total["n_unknown"]
    return TokenCounts(n_tokens, n_unknown, np.arange(n) < total["n_truncated"])


def _as_role(role: str) -> Role:
    return "query" if role == "query" else "document"
