"""What judges give to the systems on thematic queries: values, means, paired tests and how much was judged."""

import argparse
import json

import polars as pl

from verseir.analyses.inputs import read_judged
from verseir.analyses.judged import read_duplicates, read_judgements, read_rubrics
from verseir.analyses.paired import Draws
from verseir.analyses.thematic_contrasts import thematic_contrasts
from verseir.analyses.thematic_scores import (
    JUDGED_PER_QUERY,
    POOL_COVERAGE,
    THEMATIC_CONTRASTS,
    THEMATIC_MEANS,
    judged_per_query,
    pool_coverage,
    thematic_means,
)
from verseir.judging.judgements import JUDGING
from verseir.layout import runs
from verseir.tables import RUN, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: what is crossed with what")
    parser.add_argument("--query-sets", required=True, nargs="*", help="thematic query sets")
    parser.add_argument("--depth", required=True, type=int, help="places of a run that are judged")
    parser.add_argument("--judges", required=True, type=json.loads, help="JSON: judge -> file of its rubric")
    parser.add_argument("--judgements", required=True, nargs="*", help="<corpus>/<query_set>/<judge>.parquet")
    parser.add_argument("--tallies", required=True, nargs="*", help="how the judging went, one row a file")
    parser.add_argument("--duplicates", required=True, nargs="*", help="<corpus>/duplicates.csv")
    parser.add_argument("--lexical", required=True, nargs="*", help="systems that match words")
    parser.add_argument("--fusions", required=True, nargs="*", help="systems that fuse others")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--flips", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--per-query", required=True)
    parser.add_argument("--means", required=True)
    parser.add_argument("--contrasts", required=True)
    parser.add_argument("--coverage", required=True)
    parser.add_argument("--judging", required=True)


def run(args: argparse.Namespace) -> None:
    queries, _ = read_judged(args.results, args.query_sets)
    ids = {name: queries.filter(pl.col("query_set") == name)["query_id"].to_list() for name in args.query_sets}
    rubrics = read_rubrics(args.judges)
    judged = read_judgements(args.judgements, rubrics)
    asked = {(one.corpus, one.query_set) for one in judged}
    searched = (
        (one, read_table(one.path(f"{args.results}/runs"), RUN))
        for one in runs(args.cross)
        if one.query_set in ids and (one.corpus, one.query_set) in asked
    )
    values = judged_per_query(searched, ids, read_duplicates(args.duplicates), judged, args.depth)
    means = thematic_means(values, queries, rubrics, args.depth, args.resamples, args.seed)
    draws = Draws(args.resamples, args.flips, args.seed)
    contrasts = thematic_contrasts(values, queries, rubrics, args.lexical, args.fusions, args.depth, draws)
    tallies = [pl.DataFrame(schema=dict(JUDGING.columns)), *(read_table(path, JUDGING) for path in args.tallies)]
    write_table(values, args.per_query, JUDGED_PER_QUERY)
    write_table(means, args.means, THEMATIC_MEANS)
    write_table(contrasts, args.contrasts, THEMATIC_CONTRASTS)
    write_table(pool_coverage(values, args.depth), args.coverage, POOL_COVERAGE)
    write_table(pl.concat(tallies).sort(JUDGING.unique), args.judging, JUDGING)
