"""Whether finding relevant poems hangs on shared words and on the language of the poem, by system."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl

from verseir.analyses.found_by_language import FOUND_BY_LANGUAGE, Pool, found_by_language
from verseir.analyses.found_by_wording import FOUND_BY_WORDING, Side, found_by_wording
from verseir.analyses.found_model import FOUND_MODEL, found_models
from verseir.analyses.inputs import indexed_poems, read_attributes, read_judged
from verseir.analyses.paired import Draws
from verseir.analyses.shared_pairs import UNKNOWN, PairSet, first_places, pair_sets, read_shared
from verseir.kept import poem_values
from verseir.layout import Run, runs
from verseir.measures import parse_measure
from verseir.queries.within import values_of_queries
from verseir.shared import poem_scripts
from verseir.tables import ATTRIBUTES, PER_QUERY, POEMS, read_table, write_table

#: Places that count where the main measure has no cutoff.
PLACES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--measures", required=True, type=json.loads, help="JSON: query set -> its main measure")
    parser.add_argument("--shared", required=True, nargs="*", help="SHARED tables of the query sets")
    parser.add_argument("--lexical", nargs="*", default=[], help="systems that match words")
    parser.add_argument("--fusions", nargs="*", default=[], help="systems that fuse others")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--flips", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--by-language", required=True, help="written")
    parser.add_argument("--by-wording", required=True, help="written")
    parser.add_argument("--models", required=True, help="written")


def run(args: argparse.Namespace) -> None:
    study = _Study(Path(args.results), args.cross, args.measures)
    queries, qrels = read_judged(args.results, args.cross["query_sets"])
    worded = list(pair_sets(read_shared(args.shared), queries, qrels))
    languages = found_by_language(
        ((one, study.first(one)) for own in worded for one in study.in_modes(own)),
        lambda one: study.pool(one, queries),
        lambda one: one.mode in [own.mode for own in worded if own.corpus == one.corpus],
        study.cutoffs,
        args.resamples,
        args.seed,
    )
    write_table(languages, args.by_language, FOUND_BY_LANGUAGE)
    sides = [
        Side(one, first, study.values(one), args.measures[one.query_set], study.cutoffs[one.query_set])
        for one in worded
        if (first := study.first(one))
    ]
    wording = found_by_wording(sides, args.lexical, args.fusions, Draws(args.resamples, args.flips, args.seed))
    write_table(wording, args.by_wording, FOUND_BY_WORDING)
    write_table(found_models(sides, args.fusions), args.models, FOUND_MODEL)


class _Study:
    """What lies in the results of a study, read when it is asked for."""

    def __init__(self, results: Path, cross: dict, measures: dict[str, str]):
        self.results, self.cross, self.measures = results, cross, measures
        self.cutoffs = {name: parse_measure(measure).cutoff or PLACES for name, measure in measures.items()}
        self.poems = cache(self._poems)
        self.per_query = read_table(results / "per_query.parquet", PER_QUERY)
        self.runs: dict[tuple[str, str], dict[str, list[Run]]] = {}
        for one in runs(cross):
            self.runs.setdefault((one.corpus, one.query_set), {}).setdefault(one.mode, []).append(one)

    def in_modes(self, one: PairSet) -> Iterator[PairSet]:
        """The pairs in each mode that some system searched; a mode that keeps some poems has no others."""
        for mode in sorted(self.runs.get((one.corpus, one.query_set), {})):
            pairs = one.pairs
            if mode in self.cross.get("kept", []):
                pairs = pairs.join(self._indexed(one.corpus, mode), on="poem_id", how="semi", maintain_order="left")
            if len(pairs):
                yield replace(one, mode=mode, pairs=pairs)

    def first(self, one: PairSet) -> dict[str, pl.DataFrame]:
        """The first places of each system in the mode of ``one``."""
        found = self.runs.get((one.corpus, one.query_set), {}).get(one.mode, [])
        return {run.system: first_places(run.path(self.results / "runs"), self.cutoffs[one.query_set]) for run in found}

    def values(self, one: PairSet) -> dict[str, dict[str, float]]:
        """system -> query_id -> its value by the main measure."""
        place = {"corpus": one.corpus, "query_set": one.query_set, "mode": one.mode}
        own = self.per_query.filter(
            *(pl.col(name) == value for name, value in place.items()),
            pl.col("measure") == self.measures[one.query_set],
        )
        return {
            str(system): dict(part.select("query_id", "value").iter_rows())
            for (system,), part in own.partition_by(["system"], as_dict=True).items()
        }

    def pool(self, one: PairSet, queries: pl.DataFrame) -> Pool:
        """The poems that the queries of ``one`` are searched among."""
        poems = self.poems(one.corpus)
        if one.mode in self.cross.get("kept", []):
            poems = poems.join(self._indexed(one.corpus, one.mode), on="poem_id", how="semi", maintain_order="left")
        within = self.cross.get("within", {}).get(one.query_set, "")
        if not within:
            return Pool(poems.select("poem_id", "language", "script"))
        attributes = read_table(self.results / "corpora" / one.corpus / "attributes.parquet", ATTRIBUTES)
        value_of = poem_values(poems, attributes, within)
        asked = queries.filter(pl.col("query_set") == one.query_set)
        own = values_of_queries(asked, read_attributes(self.results, one.query_set), within)
        groups = [value_of.get(poem_id) for poem_id in poems["poem_id"]]
        known = dict(zip(asked["query_id"], own, strict=True))
        return Pool(poems.select("poem_id", "language", "script"), groups, known, within)

    def _poems(self, corpus: str) -> pl.DataFrame:
        poems = read_table(self.results / "corpora" / corpus / "poems.parquet", POEMS)
        scripts = pl.Series(poem_scripts(poems), dtype=pl.String)
        return poems.drop("verses").with_columns(pl.col("language").fill_null(UNKNOWN), script=scripts)

    def _indexed(self, corpus: str, mode: str) -> pl.DataFrame:
        return indexed_poems(self.results / "corpora" / corpus / "chunks" / f"{mode}.parquet")
