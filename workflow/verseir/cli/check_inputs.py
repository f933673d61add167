"""Read every input of the study and refuse all faults at once, before anything is encoded."""

import argparse
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from verseir.analyses.explanation_audit import read_audit
from verseir.analyses.published import read_published
from verseir.atomic import write_text
from verseir.corpora import beir
from verseir.corpora.idiolink import DOCUMENTS, QUERIES
from verseir.corpora.indexed import bare_modes, keep_faults, modes_of
from verseir.corpora.load import load_corpus
from verseir.corpora.model import Corpus, PartlyRead
from verseir.corpora.poetrymteb import Setting, files_read
from verseir.exchange.languages import three_letters
from verseir.faults import Fault, InputFaults, UserError
from verseir.judging.annotations import Judgeable, read_annotations
from verseir.judging.construction_checks import (
    pooling_faults,
    rubric_faults,
    scale_faults,
    split_faults,
    ungraded_faults,
)
from verseir.judging.graded_sheets import sheet_grades
from verseir.judging.judgement_files import Pooled, read_scores
from verseir.judging.package_checks import packaging_faults
from verseir.judging.pool import POOL
from verseir.judging.prompts import read_prompt
from verseir.judging.rubrics import Rubric, read_rubric
from verseir.labelling import judged_by
from verseir.queries.answer_checks import depth_faults, unanswered_faults
from verseir.queries.benchmark_checks import beir_faults, idiom_faults, idiom_spelling_faults, poetry_faults
from verseir.queries.checks import chapter_faults, edit_faults, places_of, probe_faults, strata_faults, stray_edits
from verseir.queries.load import PartlyLoaded, QuerySet, cross_check, load_query_set
from verseir.queries.quoting import quoting_warnings
from verseir.queries.within_checks import within_faults, within_warnings
from verseir.systems.sources import require_at_hand
from verseir.tables import DUPLICATES
from verseir.written import without_written, written_sources


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpora", required=True, type=json.loads, help="JSON: name -> corpus")
    parser.add_argument("--query-sets", required=True, type=json.loads, help="JSON: name -> query set")
    parser.add_argument("--modes", required=True, type=json.loads, help="JSON: name -> fields")
    parser.add_argument("--keep", type=json.loads, default={}, help="JSON: mode -> attribute -> values of its poems")
    parser.add_argument("--depth", type=int, help="poems in a ranked list; without it, no measure is held against it")
    parser.add_argument("--measures", nargs="*", default=[], help="measures of the study")
    parser.add_argument("--encoders", type=json.loads, default=[], help="JSON: the dense systems")
    parser.add_argument("--judging", type=json.loads, default={}, help="JSON: judges and sheets")
    parser.add_argument("--packages", type=json.loads, default={}, help="JSON: benchmarks that are made of the study")
    parser.add_argument("--published", default="", help="file of printed figures, if the study names one")
    parser.add_argument("--models-later", action="store_true", help="models need not be at hand: none is to be loaded")
    parser.add_argument("--output", required=True)


def run(args: argparse.Namespace) -> None:
    faults: list[Fault] = []
    known_ids: dict[str, set[str]] = {}
    given_corpora = {name: without_written(spec) for name, spec in args.corpora.items()}
    corpora = {name: _corpus(name, spec, known_ids, faults) for name, spec in sorted(given_corpora.items())}
    given = {name: spec for name, spec in sorted(args.query_sets.items()) if "path" in spec}
    partly: dict[str, QuerySet | None] = {}
    query_sets = {name: _query_set(name, spec, faults, partly) for name, spec in given.items()}
    faults += bare_modes(corpora, args.corpora, args.modes)
    drawn: dict[str, QuerySet | None] = {}
    faults += idiom_faults(corpora, given_corpora, args.query_sets, drawn)
    faults += beir_faults(corpora, given_corpora, args.query_sets, drawn, known_ids)
    faults += poetry_faults(corpora, given_corpora, args.query_sets, drawn, known_ids)
    faults += idiom_spelling_faults(given_corpora, args.query_sets)
    idioms = dict(drawn)
    faults += probe_faults(corpora, args.query_sets, drawn)
    faults += chapter_faults(corpora, args.corpora, args.query_sets, drawn)
    faults += edit_faults(query_sets | drawn, args.query_sets)
    faults += stray_edits(query_sets | idioms, args.query_sets)
    places = places_of(args.query_sets, args.corpora, args.modes)
    indexed = {(name, mode) for name, spec in args.corpora.items() for mode in modes_of(spec, args.modes)}
    faults += keep_faults(corpora, indexed.union(*places.values()), args.keep)
    faults += unanswered_faults(corpora, query_sets | drawn, places, args.keep)
    read = query_sets | drawn
    faults += within_faults(corpora, read, args.query_sets, places, args.keep)
    if args.depth is not None:
        faults += depth_faults(corpora, read, args.query_sets, places, args.keep, args.depth, args.measures)
    faults += strata_faults(read, args.query_sets)
    faults += split_faults(read, args.query_sets)
    faults += pooling_faults(read, args.judging)
    for of_graded in (scale_faults, rubric_faults, ungraded_faults):
        faults += of_graded(args.query_sets, args.judging)
    faults += packaging_faults(args.packages, corpora, args.query_sets, args.judging)
    faults += _audit_faults(corpora, args.corpora)
    faults += _judging_faults(corpora, query_sets | drawn, args.query_sets, args.judging)
    faults += _judging_depth_faults(corpora, args.query_sets, args.judging)
    faults += _annotation_faults(corpora, query_sets | drawn, args.judging)
    faults += _explaining_faults(args.corpora)
    if args.published:
        faults += _published_faults(Path(args.published))
    if not args.models_later:
        faults += _absent_encoders(args.encoders)
        faults += _absent_models(args.corpora, args.query_sets, args.judging)
    for name, query_set in (query_sets | partly).items():
        searched = {corpus: known_ids[corpus] for corpus in args.query_sets[name]["corpora"] if corpus in known_ids}
        if query_set is not None and searched:
            titles = {
                name: dict(corpus.poems.drop_nulls("title").select("title", "poem_id").iter_rows())
                for name in searched
                if (corpus := corpora[name]) is not None
            }
            faults += cross_check(query_set, searched, {name for name in searched if corpora[name] is None}, titles)
    if faults:
        raise InputFaults(faults)
    record = _record(args, corpora, query_sets | idioms)
    write_text(args.output, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    for name, read in record["corpora"].items():
        print(
            f"corpus {name}: {read['n_poems']} poems, {read['n_verses']} verses, {read['n_explanations']} explanations"
        )
    for name, read in record["query_sets"].items():
        print(f"query set {name}: {read['n_queries']} queries, {read['n_judgements']} judgements")
    for name, spec in sorted(args.query_sets.items()):
        if "edit" in spec:
            print(f"query set {name}: edited from {spec['edit']['of']} ({spec['edit']['rule']}) when the study runs")
        if "graded" in spec:
            given = spec["graded"]
            print(f"query set {name}: graded from {given['of']} by {given.get('judge', given.get('sheet'))} likewise")
    noted = {name: one.notes for name, one in [*corpora.items(), *query_sets.items()] if one is not None}
    for name, notes in noted.items():
        for note in notes:
            print(f"{name}: {note}")
    for corpus in filter(None, corpora.values()):
        for warning in corpus.warnings:
            print(f"warning: {corpus.name}: {warning}")
    for warning in within_warnings(corpora, drawn | query_sets, args.query_sets, places, args.keep, three_letters):
        print(f"warning: {warning}")
    for warning in quoting_warnings(corpora, query_sets, args.query_sets):
        print(f"warning: {warning}")


def _corpus(name: str, spec: dict, known_ids: dict[str, set[str]], faults: list[Fault]) -> Corpus | None:
    """The corpus, or None; the ids of its poems go to ``known_ids`` also where some of them have faults."""
    try:
        corpus = load_corpus(name, spec, Path())
    except PartlyRead as found:
        faults.extend(found.faults)
        if found.complete and not spec.get("sample"):
            known_ids[name] = set(found.known_ids)
    except InputFaults as found:
        faults.extend(found.faults)
    except UserError as error:
        faults.append(Fault(f"corpus {name}", 0, "", str(error.args[0]), error.hint))
    else:
        known_ids[name] = set(corpus.poems["poem_id"])
        return corpus
    return None


def _query_set(name: str, spec: dict, faults: list[Fault], partly: dict[str, QuerySet | None]) -> QuerySet | None:
    """The query set, or None; one that has faults and was read to its end goes to ``partly``."""
    try:
        return load_query_set(name, spec, Path())
    except PartlyLoaded as found:
        faults.extend(found.faults)
        partly[name] = found.query_set
    except InputFaults as found:
        faults.extend(found.faults)
    return None


def _absent_encoders(entries: list[dict]) -> Iterator[Fault]:
    """Encoders that are neither on this machine nor can be fetched: said now, not after hours of another's encoding."""
    for entry in entries:
        try:
            require_at_hand(entry)
        except UserError as error:
            yield Fault(f"system {entry['name']}", 0, "", str(error.args[0]), error.hint)


def _absent_models(corpora: dict, query_sets: dict, judging: dict) -> Iterator[Fault]:
    """Language models to be run on this machine that are not on it, and that no hub answers for."""
    asked = {f"corpora.{name}": spec.get("explanations", {}) for name, spec in corpora.items()}
    parts = {
        f"{name}.explanations.{source}": given
        for name, by_source in asked.items()
        for source, given in by_source.items()
        if isinstance(given, dict)
    }
    parts |= {f"query_sets.{name}.edit": spec["edit"] for name, spec in query_sets.items() if "edit" in spec}
    parts |= {f"judging.judges.{name}": judge for name, judge in judging.get("judges", {}).items()}
    found: dict[tuple[str, str], str] = {}
    for field, model in sorted((field, part["model"]) for field, part in parts.items() if "model" in part):
        if "path" in model:
            if not Path(model["path"]).expanduser().is_dir():
                hint = "the folder of a model, with its config.json"
                yield Fault(model["path"], 0, f"{field}.model.path", "is not a folder", hint)
            continue
        place = model["hub"], model["revision"]
        if place not in found:
            found[place] = _absence(*place)
        if found[place]:
            hint = f"where there is a network: hf download {place[0]} --revision {place[1]}; then take HF_HOME along"
            yield Fault(f"model {place[0]}", 0, f"{field}.model.hub", found[place], hint)


def _absence(hub: str, revision: str) -> str:
    """Why a language model of a hub is not at hand; empty where it is."""
    try:
        require_at_hand({"name": hub, "hub": hub, "revision": revision, "weights": "safetensors", "remote_code": False})
    except UserError as error:
        return str(error.args[0]).splitlines()[-1].strip().removeprefix("hub: ")
    return ""


def _published_faults(path: Path) -> list[Fault]:
    try:
        read_published(path)
    except InputFaults as found:
        return list(found.faults)
    return []


def _audit_faults(corpora: dict[str, Corpus | None], specs: dict) -> Iterator[Fault]:
    """Files of people's verdicts on explanations that cannot be read, or judge what is not there."""
    for name, corpus in corpora.items():
        for source, file in sorted(specs[name].get("audits", {}).items()):
            if corpus is not None and not isinstance(specs[name].get("explanations", {}).get(source), dict):
                try:
                    read_audit(Path(file), file, source, corpus.poems, corpus.explanations)
                except InputFaults as found:
                    yield from found.faults


def _judging_faults(
    corpora: dict[str, Corpus | None], query_sets: dict[str, QuerySet | None], specs: dict, judging: dict
) -> Iterator[Fault]:
    """Rubrics that cannot be read, and files of scores that name what is not there or break their rubric."""
    for name, judge in sorted(judging.get("judges", {}).items()):
        try:
            rubric = read_rubric(Path(judge["rubric"]))
            if "path" in judge:
                judged = [(corpora.get(corpus), query_sets.get(of)) for corpus, of in _judged(specs, judging, name)]
                yield from _score_faults(judge["path"], rubric, judged)
        except InputFaults as found:
            yield from found.faults
        except UserError as error:
            yield Fault(judge["rubric"], 0, "", str(error.args[0]), error.hint)


def _judged(specs: dict, judging: dict, judge: str = "") -> list[tuple[str, str]]:
    """(corpus, query set) for each pool that is judged, by ``judge`` where one is named."""
    names = judged_by(judging, judge) if judge else judging.get("query_sets", [])
    return [(corpus, name) for name in names for corpus in sorted(specs[name]["corpora"])]


def _score_faults(file: str, rubric: Rubric, judged: list[tuple[Corpus | None, QuerySet | None]]) -> Iterator[Fault]:
    """A file of scores of which no row is about anything that is judged. Raises InputFaults for what else is wrong."""
    nothing, alone = pl.DataFrame(schema=dict(POOL.columns)), pl.DataFrame(schema=dict(DUPLICATES.columns))
    n_rows, unread = 0, False
    for corpus, query_set in judged:
        if corpus is None or query_set is None:
            unread = True
            continue
        pooled = Pooled(corpus.name, query_set.name, nothing, corpus.poems, query_set.queries, alone)
        n_rows += read_scores(Path(file), file, pooled, rubric).n_outside
    if judged and not unread and not n_rows:
        places = ", ".join(f"{corpus.name}/{query_set.name}" for corpus, query_set in judged if corpus and query_set)
        hint = f"judged are (corpus/query set): {places}"
        yield Fault(file, 0, "query_set", "no row is of a corpus and query set that the study judges", hint)


def _judging_depth_faults(corpora: dict[str, Corpus | None], specs: dict, judging: dict) -> Iterator[Fault]:
    """Corpora with fewer poems than are judged of each ranked list."""
    for name in sorted({corpus for corpus, _ in _judged(specs, judging)}):
        corpus = corpora.get(name)
        if corpus is not None and len(corpus.poems) < judging["depth"]:
            problem = f"{judging['depth']} poems of each list are to be judged, but the corpus has {len(corpus.poems)}"
            yield Fault(f"corpus {name}", 0, "judging.depth", problem, f"judging.depth: {len(corpus.poems)}, or fewer")


def _annotation_faults(
    corpora: dict[str, Corpus | None], query_sets: dict[str, QuerySet | None], judging: dict
) -> Iterator[Fault]:
    """What people filled in and cannot be read. Which items a sheet has is known when it is drawn."""
    for sheet in (judging.get("sheets", {})[name] for name in sorted(judging.get("sheets", {}))):
        corpus, query_set = corpora.get(sheet["corpus"]), query_sets.get(sheet.get("query_set", ""))
        grades, faults = _sheet_grades(sheet.get("rubric"))
        yield from faults
        if corpus is not None and query_set is not None and sheet["files"] and not faults:
            asked = set(query_set.queries["query_id"])
            judgeable = Judgeable(corpus.name, query_set.name, None, asked, set(corpus.poems["poem_id"]), grades)
            try:
                read_annotations([(Path(file), file) for file in sheet["files"]], judgeable)
            except InputFaults as found:
                yield from found.faults


def _sheet_grades(rubric: str | None) -> tuple[tuple[int, ...], list[Fault]]:
    """The scale of a sheet, and what is wrong with its rubric."""
    try:
        return sheet_grades(rubric), []
    except InputFaults as found:
        return (), list(found.faults)
    except UserError as error:
        return (), [Fault(str(rubric), 0, "scale", str(error.args[0]), error.hint)]


def _explaining_faults(specs: dict) -> Iterator[Fault]:
    """Prompts for explanations that cannot be read."""
    for spec in (specs[name] for name in sorted(specs)):
        for source in written_sources(spec):
            try:
                read_prompt(Path(spec["explanations"][source]["prompt"]), "explain")
            except InputFaults as found:
                yield from found.faults
            except UserError as error:
                yield Fault(spec["explanations"][source]["prompt"], 0, "", str(error.args[0]), error.hint)


def _record(args: argparse.Namespace, corpora: dict, query_sets: dict) -> dict:
    """What was read: files with their hashes, and how much of what."""
    files = []
    for path in sorted(set(_paths(args))):
        data = path.read_bytes()
        files.append({"path": path.as_posix(), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    return {
        "files": files,
        "corpora": {
            name: {
                "n_poems": len(corpus.poems),
                "n_verses": int(corpus.poems["verses"].list.len().sum()),
                "n_explanations": len(corpus.explanations),
            }
            for name, corpus in corpora.items()
        },
        "query_sets": {
            name: {"n_queries": len(loaded.queries), "n_judgements": len(loaded.qrels)}
            for name, loaded in sorted(query_sets.items())
        },
    }


def _paths(args: argparse.Namespace) -> Iterator[Path]:
    for corpus in args.corpora.values():
        named = [corpus.get("path"), corpus.get("sources")]
        if corpus["adapter"] == "idiolink" and "path" in corpus:
            split = [Path(corpus["path"]) / name for name in (DOCUMENTS, QUERIES)]
            named = [path for path in split if path.is_file()]
        if corpus["adapter"] == "poetrymteb":
            named = [*files_read(corpus, Path()), corpus.get("counts")]
        if corpus["adapter"] == "beir" and "path" in corpus:
            parts = [beir.part_of(corpus, Path(), part)[0] for part in (beir.DOCUMENTS, beir.QUERIES)]
            named = [path for path in parts if path.is_file()]
        given = corpus.get("explanations", {}).values()
        named += [text["prompt"] if isinstance(text, dict) else text for text in given]
        named += corpus.get("audits", {}).values()
        for path in map(Path, filter(None, named)):
            yield from (file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    for query_set in args.query_sets.values():
        edit = query_set.get("edit", {})
        named = [query_set.get("path"), query_set.get("qrels"), edit.get("path"), edit.get("names"), edit.get("prompt")]
        yield from (Path(path) for path in named if isinstance(path, str))
        if "poetry" in query_set:
            asked = dict(query_set["poetry"])
            yield from files_read(args.corpora[asked.pop("corpus")], Path(), [Setting(**asked)])
        if "beir" in query_set and "path" in args.corpora[query_set["beir"]["corpus"]]:
            asked = query_set["beir"]
            yield Path(args.corpora[asked["corpus"]]["path"], "qrels", f"{asked['split']}.tsv")
    for judge in args.judging.get("judges", {}).values():
        yield from (Path(judge[key]) for key in ("rubric", "path") if key in judge)
    for sheet in args.judging.get("sheets", {}).values():
        yield from map(Path, [sheet["guidelines"], *sheet["files"]])
