"""A small study whose ranked lists are known, with what an explorer needs: poems of the demo, drawn runs."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
from report_study import frame, study, write_study

from verseir.analyses.found_by_language import FOUND_BY_LANGUAGE
from verseir.analyses.found_by_wording import FOUND_BY_WORDING
from verseir.analyses.found_model import FOUND_MODEL
from verseir.analyses.shared_wording import SHARED_WORDING
from verseir.chunks import make_chunks
from verseir.layout import Run, runs
from verseir.report.examples import collect_examples
from verseir.tables import EXPLANATIONS, POEMS, QRELS, QUERIES, RUN, write_table

DEMO = Path(__file__).parents[2] / "resources" / "demo"
MODES = {"verse": ["verse"], "explanation": ["explanation:prose"], "verse+explanation": ["verse", "explanation:prose"]}
SYSTEMS = {"bm25": "bm25", "dense-a": "dense", "dense-b": "dense"}
CHUNKS = {"verses": 3, "stride": 1}
CROSS = {
    "query_sets": {"known": ["poems"], "themes": ["poems"]},
    "modes": {"poems": sorted(MODES)},
    "systems": SYSTEMS,
    "only_modes": {"themes": ["verse"]},
}
#: A poem that would end the element that it stands in, if it could.
HOSTILE = '</script><img src=x onerror="document.title=1"><!--<script>'


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def poems(n: int) -> pl.DataFrame:
    """The first poems of the demo; the last is one that would break the page."""
    rows = [
        {"poem_id": row["poem_id"], "title": row["title"], "poet": "شاعر", "language": "ar"}
        | {"verses": [{"first": first, "second": second} for first, second in row["verses"]]}
        for row in lines("poems")[:n]
    ]
    bad = {"poem_id": "zz/ï p'1", "title": HOSTILE, "poet": HOSTILE, "language": "en"}
    rows.append(
        bad | {"verses": [{"first": HOSTILE, "second": None}, {"first": "a\u2028b \U0001f319 moon", "second": None}]}
    )
    return frame(POEMS, rows)


def drawn_run(run: Run, queries: pl.DataFrame, chunks: pl.DataFrame, depth: int = 9) -> pl.DataFrame:
    """A ranked list by chance, the same for each run at any time; for some queries nothing."""
    rows = []
    places = dict(chunks.group_by("poem_id").agg("chunk_id").sort("poem_id").iter_rows())
    for query_id in queries["query_id"]:
        draw = random.Random(f"{run} {query_id}")
        found = draw.sample(sorted(places), depth if draw.random() < 0.9 else 0)
        rows += [
            (query_id, poem_id, rank, 1 / rank, draw.choice(sorted(places[poem_id])) if rank % 4 else None)
            for rank, poem_id in enumerate(found, start=1)
        ]
    return pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")


def write_explored(results: Path, n_poems: int = 14) -> dict[str, Any]:
    """Write the study below ``results`` and return its spec."""
    spec = study(
        modes=MODES,
        systems=sorted(SYSTEMS),
        query_sets={
            "known": {"corpora": ["poems"], "path": "q.jsonl", "purpose": "known-item", "judged": "now"},
            "themes": {"corpora": ["poems"], "path": "t.jsonl", "purpose": "thematic", "judged": "now"},
        },
    )
    write_study(results, spec)
    for table in (SHARED_WORDING, FOUND_BY_LANGUAGE, FOUND_BY_WORDING, FOUND_MODEL):
        write_table(frame(table, []), results / "tables" / f"{table.name}.csv", table)
    own = poems(n_poems)
    ids = own["poem_id"].to_list()
    write_table(own, results / "corpora" / "poems" / "poems.parquet", POEMS)
    explained = [
        (row["poem_id"], row["verse_index"], "prose", row["text"])
        for row in lines("explanations")
        if row["poem_id"] in ids
    ]
    explanations = pl.DataFrame(explained, schema=dict(EXPLANATIONS.columns), orient="row")
    write_table(explanations, results / "corpora" / "poems" / "explanations.parquet", EXPLANATIONS)
    known = [row for row in lines("known_item") if row["relevant"][0] in ids]
    queries = {
        "known": [{"query_id": r["query_id"], "text": r["text"], "register": r["register"]} for r in known]
        + [{"query_id": "strange/id #1", "text": f"moon {HOSTILE} \U0001f319", "register": "abstract"}],
        "themes": [
            {"query_id": f"t{i}", "text": text, "register": "thematic"} for i, text in enumerate(("الفخر", "الليل"))
        ],
    }
    grades = {
        "known": [(r["query_id"], r["relevant"][0], 1) for r in known] + [("strange/id #1", ids[-1], 1)],
        "themes": [("t0", poem_id, grade) for grade, poem_id in zip((2, 1, 0, 1, 2), ids, strict=False)]
        + [("t1", ids[3], 1), ("t1", ids[5], 0)],
    }
    for name, rows in queries.items():
        asked = frame(QUERIES, [row | {"query_set": name} for row in rows])
        write_table(asked, results / "queries" / f"{name}.parquet", QUERIES)
        judged = pl.DataFrame(grades[name], schema=dict(QRELS.columns), orient="row")
        write_table(judged, results / "queries" / f"{name}.qrels.parquet", QRELS)
    for run in runs(CROSS):
        chunks = make_chunks(own, explanations, MODES[run.mode], 3, 1)
        asked = pl.read_parquet(results / "queries" / f"{run.query_set}.parquet")
        write_table(drawn_run(run, asked, chunks), run.path(results / "runs"), RUN)
    return spec


def collected(results: Path, **changes: Any) -> str:
    """The examples of the study, as the workflow collects them."""
    files = {"poems": [results / "corpora" / "poems" / "explanations.parquet"]}
    given = {"cross": CROSS, "modes": MODES, "chunks": CHUNKS, "explanations": files, "preset": "full"}
    return collect_examples(results, **given | {"base_mode": "verse"} | changes)
