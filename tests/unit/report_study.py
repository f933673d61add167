"""Small studies with known numbers, written as the workflow writes them: for tests of the report and the manifest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from verseir.report.analysed import TABLES
from verseir.tables import CONTRASTS, COSTS, ENCODING, LEADERBOARD, REGISTERS, TIES, Table, write_table

#: The figures of the analyses, here all the same.
FIGURES = ("augmentation", "edits", "fusions", "mechanism", "quotation", "rankings", "spectrum")
FIGURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="72pt" height="72pt">'
    '<defs><path id="mark" d="M 0 0"/><clipPath id="clip"><rect width="1" height="1"/></clipPath></defs>'
    '<g clip-path="url(#clip)"><use xlink:href="#mark"/></g></svg>'
)

TEMPLATE = Path(__file__).parents[2] / "workflow" / "report" / "page.html"
SYSTEMS = {
    "bm25": {"kind": "bm25", "description": "words"},
    "dense-a": {"kind": "dense", "description": "an encoder"},
    "dense-b": {"kind": "dense", "description": "another"},
    "fused": {"kind": "fusion", "arms": ["bm25", "dense-a"]},
}


def study(**changes: Any) -> dict[str, Any]:
    """A study's spec with its defaults."""
    spec = {
        "study": "small",
        "title": "A small study",
        "seed": 7,
        "registry": ["config/systems.yaml"],
        "corpora": {"poems": {"adapter": "jsonl", "path": "resources/poems.jsonl"}},
        "modes": {"verse": ["verse"], "explanation": ["explanation:prose"]},
        "query_sets": {"known": {"corpora": ["poems"], "path": "q.jsonl", "purpose": "known-item", "judged": "now"}},
        "systems": ["bm25", "dense-a"],
        "chunks": {"verses": 3, "stride": 1},
        "depth": 1000,
        "measures": ["Recall@5", "MRR"],
        "contrasts": [{"family": "against-best", "baseline": "best", "measures": ["Recall@5"], "per": ["mode"]}],
        "bootstrap": 999,
        "flips": 9999,
        "analyses": {"measures": ["Recall@5"], "base_mode": "verse", "quoting": 3, "margin": 0.05},
    }
    return spec | changes


def frame(table: Table, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows as a table of this contract; columns that a row leaves out are null."""
    full = [{name: row.get(name) for name in table.columns} for row in rows]
    return pl.DataFrame(full, schema=dict(table.columns), orient="row")


def score(
    system: str, mean: float, low: float | None = None, high: float | None = None, **changes: Any
) -> dict[str, Any]:
    """A row of the leaderboard."""
    row = {"corpus": "poems", "query_set": "known", "mode": "verse", "system": system, "measure": "Recall@5"}
    return row | {"n_queries": 100, "mean": mean, "ci_low": low, "ci_high": high} | changes


def contrast(
    a: str, b: str, estimate: float | None, low: float | None, high: float | None, p: float | None, **changes: Any
):
    """A row of the contrasts; ``estimate`` is a minus b."""
    row = {"family": "against-best", "corpus": "poems", "query_set": "known", "mode": "verse", "measure": "Recall@5"}
    row |= {"a": a, "b": b, "n": 100, "estimate": estimate, "ci_low": low, "ci_high": high, "test": "McNemar exact"}
    return row | {"p": p, "p_holm": p, "family_size": 1} | changes


def register(register: str, system: str, mean: float, mode: str = "verse", half: float | None = 0.05, **changes: Any):
    """A row of the registers, its interval ``mean`` plus and minus ``half``."""
    ends = (None, None) if half is None else (mean - half, mean + half)
    return score(system, mean, *ends, mode=mode, register=register, **changes)


def write_study(
    results: Path,
    spec: dict[str, Any] | None = None,
    scores: list[dict[str, Any]] | None = None,
    contrasts: list[dict[str, Any]] | None = None,
    registers: list[dict[str, Any]] | None = None,
    warnings: list[str] | None = None,
    analyses: dict[str, list[dict[str, Any]]] | None = None,
) -> Path:
    """Write the tables, audits, encodings and the inputs of a study below ``results`` and return it.

    ``analyses`` holds rows of the tables of analyses, by table; a table that it leaves out is empty.
    """
    spec = spec or study()
    scores = [score("bm25", 0.7, 0.6, 0.8), score("dense-a", 0.5, 0.4, 0.6)] if scores is None else scores
    ties = [
        row
        | {"share_tied_at_5": 0.01, "share_tied_at_10": 0.0, "share_tied_at_R": 0.0004}
        | {"lowest": row["mean"], "highest": 0.9}
        for row in scores
    ]
    costs = [
        {
            "corpus": "poems",
            "system": "bm25",
            "stage": "index_bm25",
            "n_texts": 120,
            "seconds": 2.0,
            "texts_per_second": 60.0,
        }
        | {"peak_memory_mb": 100.0, "index_mb": 1.5, "device": "cpu"},
        {"corpus": "poems", "system": "dense-a", "stage": "encode_texts", "n_texts": 0, "seconds": 3.0},
    ]
    encoding = [
        {
            "corpus": "poems",
            "system": "dense-a",
            "role": "document",
            "n_texts": 120,
            "truncated_share": 0.25,
            "dimension": 8,
        }
    ]
    for table, rows in (
        (LEADERBOARD, scores),
        (CONTRASTS, contrasts or []),
        (REGISTERS, registers or []),
        (TIES, ties),
        (COSTS, costs),
        (ENCODING, encoding),
    ):
        write_table(frame(table, rows), results / "tables" / f"{table.name}.csv", table)
    for table in TABLES:
        rows = (analyses or {}).get(table.name, [])
        write_table(frame(table, rows), results / "tables" / f"{table.name}.csv", table)
    (results / "figures").mkdir(exist_ok=True)
    for name in FIGURES:
        (results / "figures" / f"{name}.svg").write_text(FIGURE, encoding="utf-8")
    for corpus in spec["corpora"]:
        audit = {
            "corpus": corpus,
            "n_poems": 40,
            "n_verses": 200,
            "n_classes": 39,
            "n_duplicates": 1,
            "warnings": warnings or [],
        }
        _write_json(results / "corpora" / corpus / "audit.json", audit)
    inputs = {
        "files": [{"path": "resources/poems.jsonl", "sha256": "0" * 64, "bytes": 5}],
        "corpora": {},
        "query_sets": {},
    }
    _write_json(results / "inputs.json", inputs)
    encoder = {
        "system": "dense-a",
        "corpus": "poems",
        "encoder_key": "abc",
        "revision": "f" * 40,
        "dimension": 8,
        "device": "cpu",
    }
    encoder |= {"checks": [{"name": "norm", "ok": True, "observed": "1.0"}], "roles": {}}
    _write_json(results / "encodings" / "poems" / "dense-a.json", encoder)
    return results


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
