"""Have a language model score the items of a pool by a rubric."""

import argparse
import json

from verseir.judging.judge import judge
from verseir.judging.judgements import JUDGEMENTS, JUDGING, STATUSES, judging_row, told
from verseir.judging.models import model_of
from verseir.judging.pool import POOL
from verseir.judging.rubrics import read_rubric
from verseir.tables import POEMS, QUERIES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--query-set", required=True)
    parser.add_argument("--judge", required=True, help="its name")
    parser.add_argument("--spec", required=True, type=json.loads, help="JSON: rubric, endpoint or model, queries")
    parser.add_argument("--pool", required=True)
    parser.add_argument("--poems", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--verses", required=True, type=int, help="verses of each poem that the judge reads")
    parser.add_argument("--seed", required=True, type=int, help="of the draw of queries")
    parser.add_argument("--output", required=True)
    parser.add_argument("--tally", required=True)


def run(args: argparse.Namespace) -> None:
    rubric = read_rubric(args.spec["rubric"])
    pool = read_table(args.pool, POOL)
    poems, queries = read_table(args.poems, POEMS), read_table(args.queries, QUERIES)
    model = model_of(args.spec)
    judgements, counts = judge(
        pool, poems, queries, rubric, args.judge, model, args.verses, args.spec.get("queries"), args.seed
    )
    named = {
        "corpus": args.corpus,
        "query_set": args.query_set,
        "judge": args.judge,
        "rubric": rubric.name,
        "source": model.name,
    }
    tokens = {
        "prompt_tokens": model.tally.total_prompt_tokens,
        "completion_tokens": model.tally.total_completion_tokens,
        "cost": model.cost,
    }
    row = judging_row(named, counts | tokens, judgements)
    write_table(judgements, args.output, JUDGEMENTS)
    write_table(row, args.tally, JUDGING)
    print(f"{told(row.row(0, named=True))}\n  {model.tally}{model.tally.advice('judge_pool')}")
    n_asked = sum(counts[status] for status in STATUSES)
    if n_asked and not counts["answered"]:
        print(
            f"warning: {args.judge} answered about none of {n_asked} items of {args.corpus}, {args.query_set}: nothing "
            "will be scored by it; see the model, the rubric and max_tokens"
        )
