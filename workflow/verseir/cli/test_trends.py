"""Trends of success over eras, and over the number of poems by a poet."""

import argparse

from verseir.analyses.era_trend import ERA_TREND, era_trend
from verseir.analyses.inputs import read_judged
from verseir.analyses.poet_frequency import POET_FREQUENCY, poet_frequency
from verseir.tables import PER_QUERY, POEMS, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--corpora", required=True, nargs="*")
    parser.add_argument("--query-sets", required=True, nargs="*", help="known-item query sets")
    parser.add_argument("--success", required=True, help="a query succeeds where this measure is above 0")
    parser.add_argument("--lexical", nargs="*", default=[], help="lexical systems")
    parser.add_argument("--dense", nargs="*", default=[], help="dense systems")
    parser.add_argument("--era-trend", required=True)
    parser.add_argument("--poet-frequency", required=True)


def run(args: argparse.Namespace) -> None:
    per_query = read_table(f"{args.results}/per_query.parquet", PER_QUERY)
    judged = read_judged(args.results, args.query_sets)
    poems = {name: read_table(f"{args.results}/corpora/{name}/poems.parquet", POEMS) for name in args.corpora}
    trends = era_trend(per_query, *judged, poems, args.success, args.lexical, args.dense)
    write_table(trends, args.era_trend, ERA_TREND)
    write_table(poet_frequency(per_query, *judged, poems, args.success), args.poet_frequency, POET_FREQUENCY)
