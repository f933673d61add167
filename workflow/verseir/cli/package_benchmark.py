"""Write a corpus and the query sets that are judged on it as a benchmark that other tools load, with its card."""

import argparse
import json
from pathlib import Path

from verseir.exchange.package import Part, corpus_frame, write_package
from verseir.exchange.package_card import Made, package_card
from verseir.formats import count
from verseir.judging.labels import LABELS
from verseir.tables import POEMS, QRELS, QUERIES, QUERY_ATTRIBUTES, read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--package", required=True, help="its name")
    parser.add_argument("--study", required=True, help="name of the study")
    parser.add_argument("--title", default="", help="title of the study")
    parser.add_argument("--about", default="", help="what a reader must know of its data")
    parser.add_argument("--results", required=True, type=Path, help="folder of the results, which has the query sets")
    parser.add_argument("--corpus", required=True, help="name of the corpus")
    parser.add_argument("--corpus-spec", required=True, type=json.loads, help="JSON: the corpus")
    parser.add_argument("--poems", required=True)
    parser.add_argument("--settings", required=True, type=json.loads, help="JSON: setting -> split -> query set")
    parser.add_argument("--labels", type=json.loads, default={}, help="JSON: query set -> who graded it")
    parser.add_argument("--splits", type=json.loads, default={}, help="JSON: query set -> how it was split")
    parser.add_argument(
        "--pooling", type=json.loads, help="JSON: how results were pooled; all that stood first if not given"
    )
    parser.add_argument("--depth", type=int, help="places of a ranked list that were judged")
    parser.add_argument("--prompts", type=json.loads, default={}, help="JSON: name in the folder of prompts -> file")
    parser.add_argument("--output", required=True, help="folder of the benchmark, which is replaced")


def run(args: argparse.Namespace) -> None:
    poems = read_table(args.poems, POEMS)
    documents = corpus_frame(poems)
    parts = [
        _part(args.results / "queries", setting, split, query_set)
        for setting, splits in sorted(args.settings.items())
        for split, query_set in splits.items()
    ]
    names = (args.package, args.study, args.corpus, args.corpus_spec, args.title, args.about)
    notes = {name: note for name in args.labels if (note := _note(args.results / "queries", name))}
    made = Made(*names, args.labels, args.splits, args.pooling, args.depth, notes)
    prompts = {name: Path(path) for name, path in args.prompts.items()}
    card = package_card(made, documents, parts, sorted(prompts))
    write_package(args.output, args.corpus, documents, poems, parts, card, prompts)
    n_queries, n_judged = sum(len(part.queries) for part in parts), sum(len(part.qrels) for part in parts)
    told = [count(len(poems), "poem"), count(n_queries, "query", "queries"), count(n_judged, "judgement")]
    print(f"{args.output}: {', '.join(told)} in {count(len(args.settings), 'setting')}")


def _note(folder: Path, query_set: str) -> str | None:
    """What of a graded set is without a grade, in words; None where nothing is."""
    notes = read_table(folder / f"{query_set}.labels.csv", LABELS)["note"]
    return next(iter(notes.drop_nulls()), None)


def _part(folder: Path, setting: str, split: str, query_set: str) -> Part:
    aspect, _, scope = setting.partition("_")
    attributes = folder / f"{query_set}.attributes.parquet"
    return Part(
        aspect,
        scope,
        split,
        query_set,
        read_table(folder / f"{query_set}.parquet", QUERIES),
        read_table(folder / f"{query_set}.qrels.parquet", QRELS),
        read_table(attributes, QUERY_ATTRIBUTES) if attributes.is_file() else None,
    )
