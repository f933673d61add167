"""Search for the best fusion of runs, with and without a lexical arm, chosen by cross-validation."""

import argparse
import json

import polars as pl

from verseir.analyses.fusion_search import FUSION, FUSION_CONTRASTS, FUSION_SUBSETS, Search, search_fusions
from verseir.analyses.inputs import judged_runs, read_judged, whole_modes
from verseir.analyses.paired import Draws
from verseir.tables import QUERIES, write_table
from verseir.whole import at_least_one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=at_least_one)
    parser.add_argument("--results", required=True)
    parser.add_argument("--cross", required=True, type=json.loads, help="JSON: the systems, without fusions, to fuse")
    parser.add_argument("--measures", required=True, type=json.loads, help="JSON: query set -> measure to maximise")
    parser.add_argument("--judged-later", nargs="*", default=[], help="query sets that are not judged in full yet")
    parser.add_argument("--lexical", nargs="*", default=[], help="systems that match words")
    parser.add_argument("--max-arms", required=True, type=int, help="runs fused at most")
    parser.add_argument("--k", required=True, type=float, help="constant of reciprocal-rank fusion")
    parser.add_argument("--depth", required=True, type=int)
    parser.add_argument("--folds", required=True, type=int, help="folds of the cross-validated choice")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--flips", required=True, type=int)
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True, help="the best of each selection")
    parser.add_argument("--contrasts", required=True, help="differences between selections")
    parser.add_argument("--subsets", required=True, help="the best subsets of each query set, in-sample")


def run(args: argparse.Namespace) -> None:
    wanted = {name: corpora for name, corpora in args.cross["query_sets"].items() if name in args.measures}
    cross, apart = whole_modes(args.cross | {"query_sets": wanted})
    found = search_fusions(
        judged_runs(args.results, cross, args.judged_later),
        read_judged(args.results, wanted)[0] if wanted else pl.DataFrame(schema=dict(QUERIES.columns)),
        args.measures,
        args.lexical,
        Search(args.max_arms, args.k, args.depth, args.folds),
        Draws(args.resamples, args.flips, args.seed),
        args.threads,
        {place: f"modes of some poems only take no part: {', '.join(modes)}" for place, modes in apart.items()},
    )
    write_table(found.best, args.output, FUSION)
    write_table(found.contrasts, args.contrasts, FUSION_CONTRASTS)
    write_table(found.subsets, args.subsets, FUSION_SUBSETS)
