"""Examples: what each system shows for single queries, for the part of the page in which a reader looks them up.

Of every query: its text, the poems that answer it, and for each mode and system the rank of the first of them and the
first results with the chunk that won. Where all would be too much, a sample of the queries, see ``example_draw``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from verseir.analyses.inputs import read_query_set
from verseir.layout import runs
from verseir.measures import RELEVANT
from verseir.orders import mode_order
from verseir.report.example_draw import draw_order, fill
from verseir.report.example_records import DEPTH, Place, records
from verseir.report.example_texts import Library
from verseir.tables import EXPLANATIONS, POEMS, RUN, read_columns, read_table

#: Bytes that all of it may take.
ROOM = 4_000_000
#: Of how many results of each list the texts are shown: of fewer where less than ``WANTED`` queries would fit.
TEXTS, WANTED = (DEPTH, 2, 1), 200


def collect_examples(
    results: Path,
    cross: Mapping[str, Any],
    modes: Mapping[str, Sequence[str]],
    chunks: Mapping[str, int],
    explanations: Mapping[str, Sequence[Path]],
    preset: str,
    base_mode: str,
    room: int = ROOM,
) -> str:
    """All examples as JSON; what it holds is said where it is made, in ``example_records``.

    Args:
        results: the study's folder.
        cross: what is crossed with what, see ``layout.runs``: the systems and query sets to show.
        modes: the fields of each mode.
        chunks: ``verses`` and ``stride`` of the windows that are indexed.
        explanations: the files of EXPLANATIONS of each corpus.
        preset: the normalisation under which words are compared.
        base_mode: the mode that is shown first, and in which the reference system is asked what it finds.
        room: bytes that the JSON may take, about.

    Raises:
        UserError: a file is absent or breaks its contract.
    """
    libraries, fields = {}, {field for names in modes.values() for field in names}
    for corpus in sorted({run.corpus for run in runs(cross)}):
        poems = read_table(results / "corpora" / corpus / "poems.parquet", POEMS)
        explained = [pl.DataFrame(schema=dict(EXPLANATIONS.columns))]
        explained += [read_table(path, EXPLANATIONS) for path in explanations.get(corpus, [])]
        indexed = pl.concat(explained).filter(("explanation:" + pl.col("source")).is_in(sorted(fields)))
        libraries[corpus] = Library(poems, indexed, chunks["verses"], chunks["stride"])
    found = _places(results, cross, libraries)
    unjudged = [_unjudged(place, base_mode) for place in found]
    reference = reference_system(cross["systems"])
    asked = pl.concat([_asked(place, reference, base_mode) for place in found]) if found else pl.DataFrame()
    index = [(place, row) for place in found for row in range(len(place.queries))]
    order = draw_order(asked) if len(asked) else []

    def write(rows: Sequence[int], texts: int) -> str:
        shown = [index[row] for row in sorted(rows)]
        told = {"base": base_mode, "reference": reference} | records(shown, found, libraries, modes, preset, texts)
        told["places"] = [one | more for one, more in zip(told["places"], unjudged, strict=True)]
        return json.dumps(told, ensure_ascii=False, separators=(",", ":"))

    # Where little fits, the texts of the first results alone: more queries can be shown then.
    for texts in TEXTS:
        written, n = fill(order, partial(write, texts=texts), room)
        if n >= min(WANTED, len(order)):
            break
    return written


def reference_system(systems: Mapping[str, str]) -> str:
    """The system whose hits and misses are shown in equal shares: the first BM25 by name, or the first of all."""
    return min(systems, key=lambda name: (systems[name] != "bm25", name), default="")


def _places(results: Path, cross: Mapping[str, Any], libraries: Mapping[str, Library]) -> list[Place]:
    found: dict[tuple[str, str], Place] = {}
    for run in runs(cross):
        key = (run.corpus, run.query_set)
        if key not in found:
            queries, qrels = read_query_set(results, run.query_set)
            there = pl.Series([poem_id in libraries[run.corpus] for poem_id in qrels["poem_id"]], dtype=pl.Boolean)
            answers = qrels.filter(there).sort("query_id", "grade", "poem_id", descending=[False, True, False])
            found[key] = Place(run.corpus, run.query_set, queries, answers, {}, {})
        place = found[key]
        columns = ["query_id", "poem_id", "rank", "chunk_id"]
        ranked = read_columns(run.path(results / "runs"), RUN, columns)
        relevant = place.answers.filter(pl.col("grade") >= RELEVANT)
        first = ranked.join(relevant, on=["query_id", "poem_id"], how="semi").group_by("query_id").agg(pl.min("rank"))
        place.ranks[run.mode, run.system] = dict(first.iter_rows())
        top = ranked.filter(pl.col("rank") <= DEPTH).sort("query_id", "rank")
        place.tops[run.mode, run.system] = top.select("query_id", "poem_id", "chunk_id")
    # Edited queries come after those that they are made from.
    return sorted(found.values(), key=lambda place: place.queries["source_query_id"].is_not_null().any())


def _asked(place: Place, reference: str, base_mode: str) -> pl.DataFrame:
    """The queries of a place, with whether the reference system finds them, see ``example_draw.draw_order``."""
    own = min(place.ranks, key=lambda key: (key[1] != reference, key[0] != base_mode, mode_order(key[0]), key[1]))
    ranks = place.ranks[own]
    answered = set(place.answers.filter(pl.col("grade") >= RELEVANT)["query_id"])
    names = place.queries["query_id"]
    hits = [ranks.get(name, DEPTH + 1) <= DEPTH if name in answered else None for name in names]
    return place.queries.select(
        pl.lit(place.corpus).alias("corpus"),
        pl.lit(place.query_set).alias("query_set"),
        "query_id",
        "source_query_id",
        "register",
        pl.Series("found", hits, dtype=pl.Boolean),
    )


def _unjudged(place: Place, base_mode: str) -> dict[str, Any]:
    """Of the first results in one mode the share that no judgement names: the lowest and highest of all systems."""
    mode = min({mode for mode, _ in place.tops}, key=lambda name: (name != base_mode, mode_order(name)))
    tops = [top for (own, _), top in sorted(place.tops.items()) if own == mode and len(top)]
    if place.answers.is_empty() or not tops:
        return {"mode": mode, "unjudged": None}
    open_ = [len(top.join(place.answers, on=["query_id", "poem_id"], how="anti")) / len(top) for top in tops]
    return {"mode": mode, "unjudged": [min(open_), max(open_)]}
