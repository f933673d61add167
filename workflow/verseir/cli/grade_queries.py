"""Make a query set of the grades that a judge or people gave to the pool of another."""

import argparse

import polars as pl

from verseir.formats import count
from verseir.judging.annotations import ANNOTATIONS, GRADES
from verseir.judging.judgements import JUDGEMENTS
from verseir.judging.labels import JUDGE, LABELS, PEOPLE, WHOLE, Origin, grades_of_judge, grades_of_people, labelled
from verseir.judging.pool import POOL
from verseir.judging.reach import read_reach
from verseir.judging.rubrics import read_rubric
from verseir.queries.splits import SPLIT, of_part
from verseir.tables import DUPLICATES, QRELS, QUERIES, QUERY_ATTRIBUTES, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", required=True, help="the query set to make")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--parent", required=True, help="the query set whose pool was judged")
    parser.add_argument("--part", help="of its split; all its queries if not given")
    parser.add_argument("--split", nargs="*", default=[], help="the split of the parent")
    parser.add_argument("--judge", help="who gave the scores")
    parser.add_argument("--sheet", help="the sheet that people filled in, in place of --judge")
    parser.add_argument("--rubric", nargs="*", default=[], help="whose scale the grades are on; 0 to 2 without it")
    parser.add_argument("--grades", required=True, help="what the judge said, or people")
    parser.add_argument("--items", required=True, help="what was to be judged: the pool, or the items of the sheet")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--attributes", nargs="*", default=[], help="of the parent's queries, where they have any")
    parser.add_argument("--duplicates", required=True)
    parser.add_argument("--within", help="the attribute that the queries are searched within; all poems if not given")
    parser.add_argument("--reach", nargs=3, help="--within: poems and attributes of the corpus, attributes of queries")
    parser.add_argument("--output-queries", required=True)
    parser.add_argument("--output-qrels", required=True)
    parser.add_argument("--output-attributes", required=True)
    parser.add_argument("--labels", required=True)


def run(args: argparse.Namespace) -> None:
    queries = read_table(args.queries, QUERIES)
    if args.part:
        chosen = of_part(read_table(args.split[0], SPLIT), args.part)
        queries = queries.filter(pl.col("query_id").is_in(chosen))
    if args.judge:
        grades = grades_of_judge(read_table(args.grades, JUDGEMENTS))
    else:
        grades = grades_of_people(read_table(args.grades, ANNOTATIONS))
    source = JUDGE if args.judge else PEOPLE
    origin = Origin(args.name, args.corpus, args.parent, args.part or WHOLE, source, args.judge or args.sheet)
    attributes = [pl.DataFrame(schema=dict(QUERY_ATTRIBUTES.columns))]
    attributes += [read_table(path, QUERY_ATTRIBUTES) for path in args.attributes]
    reach, duplicates = read_reach(args.within, args.reach or []), read_table(args.duplicates, DUPLICATES)
    made = labelled(
        origin,
        queries,
        pl.concat(attributes),
        read_table(args.items, POOL),
        grades,
        reach.classes(duplicates) if reach else duplicates,
        read_rubric(args.rubric[0]).scale if args.rubric else GRADES,
    )
    write_table(made.queries, args.output_queries, QUERIES)
    write_table(made.qrels, args.output_qrels, QRELS)
    write_table(made.attributes, args.output_attributes, QUERY_ATTRIBUTES)
    write_table(made.labels, args.labels, LABELS)
    note = made.labels["note"][0]
    print(
        f"{args.name}: {count(len(made.queries), 'query', 'queries')} of {args.parent} ({origin.part}), "
        f"{count(len(made.qrels), 'pair')}" + (f"; {note}" if note else "")
    )
