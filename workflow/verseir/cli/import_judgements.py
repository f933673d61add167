"""Take the scores of a judge from a file, for the items of a pool."""

import argparse
import json
from pathlib import Path

from verseir.judging.judgement_files import Pooled, read_scores
from verseir.judging.judgements import JUDGEMENTS, JUDGING, counts, judgements, judging_row, told
from verseir.judging.pool import POOL
from verseir.judging.reach import read_reach
from verseir.judging.rubrics import read_rubric
from verseir.tables import DUPLICATES, POEMS, QUERIES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--query-set", required=True)
    parser.add_argument("--judge", required=True, help="its name")
    parser.add_argument("--spec", required=True, type=json.loads, help="JSON: rubric, and path of the scores")
    parser.add_argument("--pool", required=True)
    parser.add_argument("--poems", required=True)
    parser.add_argument("--queries", required=True)
    parser.add_argument("--duplicates", required=True)
    parser.add_argument("--within", help="the attribute that the queries are searched within; all poems if not given")
    parser.add_argument("--reach", nargs=3, help="--within: poems and attributes of the corpus, attributes of queries")
    parser.add_argument("--output", required=True)
    parser.add_argument("--tally", required=True)


def run(args: argparse.Namespace) -> None:
    rubric = read_rubric(args.spec["rubric"])
    file = args.spec["path"]
    pool = read_table(args.pool, POOL)
    reach, duplicates = read_reach(args.within, args.reach or []), read_table(args.duplicates, DUPLICATES)
    pooled = Pooled(
        args.corpus,
        args.query_set,
        pool,
        read_table(args.poems, POEMS),
        read_table(args.queries, QUERIES),
        reach.classes(duplicates) if reach else duplicates,
    )
    imported = read_scores(Path(file), file, pooled, rubric)
    named = {
        "corpus": args.corpus,
        "query_set": args.query_set,
        "judge": args.judge,
        "rubric": rubric.name,
        "source": file,
    }
    table = judgements(imported.judged, args.judge, rubric.ids)
    row = judging_row(named, counts(imported.judged, len(pool)), table)
    write_table(table, args.output, JUDGEMENTS)
    write_table(row, args.tally, JUDGING)
    print(told(row.row(0, named=True)))
    print(
        f"  passed over in {file}: {imported.n_outside} of items that are not in the pool, {imported.n_elsewhere} of "
        "another corpus or query set"
    )
    if len(pool) and not imported.judged:
        print(f"warning: {file} judges nothing of the pool: is it the file of this corpus and query set?")
