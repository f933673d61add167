"""How people agree with each other and with the judges, which systems they prefer, and which misses they accept."""

import argparse
import json
from pathlib import Path

import polars as pl

from verseir.analyses.acceptability import ACCEPTABILITY, KNOWN_ITEM, acceptability
from verseir.analyses.annotators import (
    ANNOTATOR_AGREEMENT,
    ANNOTATOR_CONTRASTS,
    HUMAN_JUDGE,
    annotator_agreement,
    annotator_contrasts,
    human_judge,
)
from verseir.analyses.inputs import read_judged
from verseir.analyses.judged import read_duplicates, read_judgements, read_rubrics
from verseir.analyses.paired import Draws
from verseir.judging.annotations import ANNOTATIONS
from verseir.judging.graded_sheets import sheet_grades
from verseir.judging.misses import strongest, values_of
from verseir.layout import Run, runs
from verseir.tables import PER_QUERY, RUN, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--sheets", required=True, type=json.loads, help="JSON: sheet -> what it was drawn from")
    parser.add_argument("--annotations", required=True, nargs="*", help="ANNOTATIONS, <sheet>.parquet")
    parser.add_argument("--per-query", required=True)
    parser.add_argument("--query-sets", required=True, nargs="*", help="those of the sheets")
    parser.add_argument("--duplicates", required=True, nargs="*", help="DUPLICATES, <corpus>/duplicates.csv")
    parser.add_argument("--judgements", nargs="*", default=[], help="<corpus>/<query set>/<judge>.parquet")
    parser.add_argument("--judges", type=json.loads, default={}, help="JSON: judge -> its rubric")
    parser.add_argument("--lexical", nargs="*", default=[], help="systems that match words")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--flips", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--agreement", required=True)
    parser.add_argument("--human-judge", required=True)
    parser.add_argument("--contrasts", required=True)
    parser.add_argument("--acceptability", required=True)


def run(args: argparse.Namespace) -> None:
    annotations = {Path(file).stem: read_table(file, ANNOTATIONS) for file in sorted(args.annotations)}
    per_query = read_table(args.per_query, PER_QUERY)
    queries, qrels = read_judged(args.results, args.query_sets)
    duplicates = read_duplicates(args.duplicates)
    judges = read_judgements(args.judgements, read_rubrics(args.judges))
    draws = Draws(args.resamples, args.flips, args.seed)
    specs = {sheet: _with_grades(_with_system(args.sheets[sheet], args.cross, per_query)) for sheet in annotations}
    found = _read_runs(args.results, args.cross, specs)
    agreement = annotator_agreement(annotations, specs, queries, qrels, draws)
    judged = human_judge(annotations, specs, judges, queries, draws)
    contrasts = annotator_contrasts(annotations, specs, found, duplicates, queries, args.lexical, draws)
    accepted = acceptability(per_query, queries, qrels, specs, annotations, found, duplicates, draws)
    write_table(agreement, args.agreement, ANNOTATOR_AGREEMENT)
    write_table(judged, args.human_judge, HUMAN_JUDGE)
    write_table(contrasts, args.contrasts, ANNOTATOR_CONTRASTS)
    write_table(accepted, args.acceptability, ACCEPTABILITY)


def _with_system(spec: dict, cross: dict, per_query: pl.DataFrame) -> dict:
    """The spec of a sheet; one of misses that names no system is that of the strongest, as when it was drawn."""
    if spec["kind"] != KNOWN_ITEM or spec.get("system"):
        return spec
    place = (spec["corpus"], spec["mode"], spec["query_set"])
    systems = spec.get("systems") or [one.system for one in runs(cross) if one[:3] == place]
    return {**spec, "system": strongest(values_of(per_query, *place, spec["measure"]), systems)}


def _with_grades(spec: dict) -> dict:
    """The spec of a sheet, with its scale where that is of a rubric."""
    return {**spec, "grades": sheet_grades(spec["rubric"])} if "rubric" in spec else spec


def _read_runs(results: str, cross: dict, specs: dict[str, dict]) -> dict[Run, pl.DataFrame]:
    """The runs that the sheets were drawn from."""
    wanted = set()
    for spec in specs.values():
        known = spec["kind"] == KNOWN_ITEM
        modes, systems = ([spec["mode"]], [spec["system"]]) if known else (spec["modes"], spec["systems"])
        wanted |= {Run(spec["corpus"], mode, spec["query_set"], system) for mode in modes for system in systems}
    return {one: read_table(one.path(f"{results}/runs"), RUN) for one in runs(cross) if one in wanted}
