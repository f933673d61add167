"""Whether judges agree on items, and whether the order of systems hangs on the judge or on its rubric."""

import argparse
import json

from verseir.analyses.inputs import read_judged
from verseir.analyses.judge_agreement import JUDGE_AGREEMENT, JUDGE_ORDERS, judge_agreement, judge_orders
from verseir.analyses.judged import read_judgements, read_rubrics
from verseir.analyses.paired import Draws
from verseir.analyses.thematic_scores import JUDGED_PER_QUERY
from verseir.tables import read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", required=True)
    parser.add_argument("--query-sets", required=True, nargs="*", help="thematic query sets")
    parser.add_argument("--per-query", required=True, help="JUDGED_PER_QUERY table")
    parser.add_argument("--judges", required=True, type=json.loads, help="JSON: judge -> file of its rubric")
    parser.add_argument("--judgements", required=True, nargs="*", help="<corpus>/<query_set>/<judge>.parquet")
    parser.add_argument("--resamples", required=True, type=int)
    parser.add_argument("--flips", required=True, type=int, help="random permutations where means are tied")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--agreement", required=True)
    parser.add_argument("--orders", required=True)


def run(args: argparse.Namespace) -> None:
    queries, _ = read_judged(args.results, args.query_sets)
    judged = read_judgements(args.judgements, read_rubrics(args.judges))
    agreement = judge_agreement(judged, queries, args.resamples, args.seed)
    draws = Draws(args.resamples, args.flips, args.seed)
    orders = judge_orders(read_table(args.per_query, JUDGED_PER_QUERY), queries, draws)
    write_table(agreement, args.agreement, JUDGE_AGREEMENT)
    write_table(orders, args.orders, JUDGE_ORDERS)
