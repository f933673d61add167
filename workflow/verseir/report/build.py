"""The report of a study: reads its tables, says what they show, and fills the page."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from verseir.analyses.settings import SETTING_CONTRASTS
from verseir.faults import UserError
from verseir.formats import count, quantity
from verseir.orders import mode_order, register_order
from verseir.report import advice, effects, leads, question, sections, sentences
from verseir.report.analysed import panels
from verseir.report.cautions import cautions
from verseir.report.effects import Cells
from verseir.report.explorer import read_explorer, themes
from verseir.report.few import few_clusters
from verseir.report.figure import inline_svg
from verseir.report.graded import settings_briefs
from verseir.report.markup import Words, is_arabic
from verseir.report.methods import methods
from verseir.report.reading import read_shown
from verseir.report.spoken import (
    compares_settings,
    graded_only,
    idioms_only,
    main_measures,
    repeating,
    set_order,
    setting_sets,
    shown_sets,
    signals,
    synthetic_sets,
)
from verseir.report.standings import Standing, standings
from verseir.tables import CONTRASTS, COSTS, ENCODING, LEADERBOARD, REGISTERS, TIES

#: What stands in the folder ``page`` beside the template, in this order.
STYLES = ("page.css", "explorer.css")
SCRIPTS = ("theme.js", "tables.js", "explorer.js")


def build_report(
    results: Path,
    template: Path,
    tuning: Sequence[Path] = (),
    per_query: Path | None = None,
    queries: Sequence[Path] = (),
    examples: Path | None = None,
) -> str:
    """The page, as HTML, of the study whose results lie in ``results``.

    Args:
        results: the study's folder.
        template: of the page; its parts, style and scripts lie in the folder ``page`` beside it.
        tuning: what each tuned system chose, as ``tune_bm25`` writes it.
        per_query: the PER_QUERY table, to count what is independent; without it nothing is counted.
        queries: the QUERIES of the query sets, with their QRELS beside them.
        examples: what ``collect_examples`` wrote; without it the page has no explorer.

    Raises:
        UserError: a file of the study is absent or breaks its contract, or no system searched a query set.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template.parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    context = report_context(results, tuning, per_query, queries, examples)
    environment.filters["words"] = Words(context.pop("names"))
    environment.filters["zip"] = zip
    return environment.get_template(template.name).render(context | _parts(template.parent / "page"))


def _parts(folder: Path) -> dict[str, str]:
    """Style and script of the page; its policy lets this one script run, by its hash, and nothing else."""
    read = {name: (folder / name).read_text(encoding="utf-8") for name in STYLES + SCRIPTS}
    style, script = ("".join(read[name] for name in names) for names in (STYLES, SCRIPTS))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"style": Markup(style), "script": Markup(script), "script_hash": f"sha256-{digest}"}


def report_context(
    results: Path,
    tuning: Sequence[Path] = (),
    per_query: Path | None = None,
    queries: Sequence[Path] = (),
    examples: Path | None = None,
) -> dict[str, Any]:
    """All that the page shows, ready to be read; see ``build_report``."""
    manifest = _read_json(results / "manifest.json")
    study = manifest["study"]
    hidden = repeating(study, manifest["systems"])
    kinds = signals({name: entry for name, entry in manifest["systems"].items() if name not in hidden})
    tables = {
        table.name: read_shown(results / "tables", table, hidden)
        for table in (LEADERBOARD, REGISTERS, CONTRASTS, TIES, COSTS, ENCODING)
    }
    # Edited sets are compared with the sets that they are made from, in a part of their own.
    for name in ("leaderboard", "registers", "ties"):
        tables[name] = tables[name].filter(pl.col("query_set").is_in(shown_sets(study)))
    if compares_settings(study):
        tables[SETTING_CONTRASTS.name] = read_shown(results / "tables", SETTING_CONTRASTS, hidden)
    leaderboard, contrasts = tables["leaderboard"], tables["contrasts"]
    if leaderboard.is_empty():
        raise UserError(f"{results}/tables/leaderboard.csv has no row", hint="a study searches at least one query set")
    known = pl.col("mean").is_not_null()
    audits = [_read_json(results / "corpora" / corpus / "audit.json") for corpus in sorted(study["corpora"])]
    measures, synthetic, order = main_measures(study), synthetic_sets(study), set_order(study)
    found = standings(leaderboard.filter(known), contrasts, study)
    cells = effects.register_cells(tables["registers"], measures, synthetic)
    of_registers = not (idioms_only(study) or graded_only(study))
    led, by_corpus = _leads(found, measures), _register_findings(cells, study, kinds) if of_registers else []
    names = {
        *leaderboard["system"],
        *manifest["systems"],
        *study["modes"],
        *study["query_sets"],
        *study["corpora"],
        *(family["family"] for family in study["contrasts"]),
        *contrasts["family"],
    }
    analysed = _panels(results, study, manifest["systems"])
    first = [advice.ID] if study["analyses"].get("deployment") else []  # who says what is deployed asks for advice
    failed = sections.failed_checks(encoder for encoder in manifest["encoders"] if encoder["system"] not in hidden)
    few = few_clusters(per_query, queries, study) if per_query else None
    explored = read_explorer(examples) if examples else None
    return {
        "names": sorted(names),
        "brief": leads.unmeasured_briefs(leaderboard.filter(~known & ~pl.col("query_set").is_in(_judged(study))))
        + [sentence for panel in analysed if panel["id"] in first for sentence in panel["brief"]]
        + _brief(found, measures, by_corpus, synthetic, setting_sets(study))
        + [sentence for panel in analysed if panel["id"] not in first for sentence in panel["brief"]],
        "title": study.get("title") or study["study"],
        "rebuilt": study["analyses"].get("published", {}).get("rebuilt", False),
        "about": study.get("about", ""),
        "title_is_arabic": is_arabic(study.get("title", "")),
        "study": study,
        "manifest": manifest,
        "about_idioms": idioms_only(study),
        "of_registers": of_registers,
        "text": "document" if idioms_only(study) else "poem",
        "fused": "fusion" in kinds.values(),
        "manifest_json": json.dumps(manifest, ensure_ascii=False, indent=2),
        "results": f"results/{study['study']}",
        "measures": measures,
        "synthetic": synthetic,
        "asked": question.asked(study, leaderboard, audits),
        "cautions": cautions(
            {"ties": tables["ties"].filter(known), "encoding": tables["encoding"]},
            measures,
            audits,
            few,
            failed,
            themes(explored, study) if explored and not idioms_only(study) else None,
        ),
        "explorer_themes": sorted({place["set"] for place in themes(explored, study)}) if explored else [],
        "explorer": explored,
        "tuned": sections.tuned_rows(map(_read_json, tuning), hidden, order),
        "leads": led,
        "register_findings": by_corpus,
        "leaderboard": sections.leaderboard_tables(found, measures, study["measures"], _n_poems(audits)),
        "registers": sections.register_tables(cells, measures),
        "register_names": sorted({place.register for place, _ in cells}, key=register_order),
        "contrasts": sections.contrast_tables(contrasts, study["contrasts"], order),
        "ties": sections.tie_rows(tables["ties"].filter(known), measures, order),
        "costs": sections.cost_rows(tables["costs"]),
        "stages": sections.stage_rows(tables["costs"]),
        "encoding": sections.encoding_rows(tables["encoding"]),
        "encoding_sentence": sections.encoding_sentence(tables["encoding"]),
        "failed_checks": failed,
        "audits": sections.audit_rows(audits),
        "panels": analysed,
        "methods": methods(manifest, tables),
        "facts": _facts(manifest),
        "figure": _figure(results / "figures" / "registers.svg", tables["registers"]),
    }


def _judged(study: Mapping[str, Any]) -> list[str]:
    """The query sets that judges speak of, which need no qrels."""
    judging = study.get("judging", {})
    return list(judging.get("query_sets", [])) if judging.get("judges") else []


def _read_json(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise UserError(f"{path} does not exist", hint="it is made by the workflow: run snakemake first")
    return json.loads(path.read_text(encoding="utf-8"))


def _by_place(found: Sequence[Standing], measures: Mapping[str, str]) -> tuple[list[list[Standing]], list[Standing]]:
    """The standings by the main measure of each corpus and query set; and all those of places that one system alone has
    searched, where there are several such places: they are told together."""
    places: dict[tuple[str, str], list[Standing]] = {}
    for standing in found:
        if standing.measure == measures[standing.query_set]:
            places.setdefault((standing.corpus, standing.query_set), []).append(standing)
    alone = [place for place, own in places.items() if not any(standing.gaps for standing in own)]
    if len(alone) < 2:
        return list(places.values()), []
    others = [own for place, own in places.items() if place not in alone]
    return others, [standing for place in alone for standing in places[place]]


def _leads(found: Sequence[Standing], measures: Mapping[str, str]) -> list[dict[str, Any]]:
    """The lead of every mode, under its corpus and query set; places of one system stand under one heading."""
    several, alone = _by_place(found, measures)
    found_leads: list[dict[str, Any]] = [
        {
            "corpus": own[0].corpus,
            "query_set": own[0].query_set,
            "measure": own[0].measure,
            "n": count(own[0].n_queries, "query", "queries"),
            "findings": [leads.lead_finding(standing) for standing in own],
        }
        for own in several
    ]
    return found_leads + ([{"query_set": None, "findings": leads.alone_findings(alone)}] if alone else [])


def _register_findings(cells: Cells, study: Mapping[str, Any], kinds: Mapping[str, str]) -> list[dict[str, Any]]:
    """What registers and explanations do, for each corpus whose queries name their register."""
    verses = effects.verse_mode(study["modes"], study.get("keep", {}))
    found = []
    for corpus in sorted({place.corpus for place, _ in cells}):
        modes = sorted({mode for place, mode in cells if place.corpus == corpus}, key=mode_order)
        order = [finding for mode in modes for finding in sentences.register_findings(cells, corpus, mode, kinds)]
        found.append(
            {
                "corpus": corpus,
                "order": order,
                "wording": sentences.wording_findings(cells, corpus, verses, kinds),
                "explanations": sentences.explanation_findings(cells, corpus, study["modes"], study.get("keep")),
            }
        )
    return found


def _n_poems(audits: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {audit["corpus"]: audit["n_poems"] for audit in audits if "n_poems" in audit}


def _brief(
    found: Sequence[Standing],
    measures: Mapping[str, str],
    by_corpus: Sequence[Mapping[str, Any]],
    synthetic: Sequence[str],
    splits: Mapping[str, str | None],
) -> list[str]:
    """The findings in a few sentences: those of the settings of a benchmark, with their ``splits``, together."""
    several, alone = _by_place(found, measures)
    told = settings_briefs([standing for some in several for standing in some], splits)
    several = [some for some in several if some[0].query_set not in splits]
    told += [leads.lead_brief(some, some[0].query_set in synthetic) for some in several]
    told += [leads.alone_brief(alone)] if alone else []
    for place in by_corpus:
        told += sentences.effect_briefs(place["corpus"], place["wording"], place["explanations"])
    return told


def _figure(path: Path, registers: pl.DataFrame) -> dict[str, Any] | None:
    """The plot as markup, with a description for those who cannot see it; None where there is nothing to plot."""
    if registers.is_empty():
        return None
    if not path.exists():
        raise UserError(f"{path} does not exist", hint="it is made by the workflow: run snakemake first")
    description = (
        "For each indexing mode one panel; in it, for each register from top to bottom, one dot and interval for each "
        "system. The same numbers are in the tables below."
    )
    return {"svg": inline_svg(path.read_text(encoding="utf-8"), "Systems by register", description)}


def _panels(results: Path, study: Mapping[str, Any], systems: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The panels of the analyses, each with its figure."""
    found = []
    for panel in panels(results, study, systems):
        svg = None
        if panel.figure:
            text = (results / "figures" / f"{panel.figure}.svg").read_text(encoding="utf-8")
            svg = inline_svg(text, panel.title, f"{panel.legend} The same numbers are in the tables below.", panel.id)
        found.append(panel._asdict() | {"svg": svg})
    return found


def _facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The manifest's first lines, for reading."""
    project, machine = manifest["project"], manifest["machine"]
    commit = {"n/a": "no git checkout"}.get(project["commit"], project["commit"])
    states = {
        True: ", with uncommitted changes to tracked files",
        False: ", with no uncommitted change to tracked files",
    }
    changed = states.get(project["dirty"], "")
    checks = [check for encoder in manifest["encoders"] for check in encoder.get("checks", [])]
    failed = [check for check in checks if not check["ok"]]
    facts = [
        ("Version", f"{project['name']} {project['version']}"),
        ("Commit", commit + changed),
        ("Python", manifest["python"]),
        ("Machine", f"{machine['platform']}, {machine['processor']}, {count(machine['cpus'], 'core')}"),
        ("Device of the encoders", ", ".join(manifest["devices"])),
        ("Seeds", "; ".join(f"{name}: {seed}" for name, seed in manifest["seeds"].items())),
        ("Input files", count(len(manifest["inputs"].get("files", [])), "file") + ", each with its SHA-256 below"),
        ("Time of indexing, encoding and searching", f"{quantity(sum(manifest['costs'].values()))} s"),
    ]
    if checks:
        state = f"{len(failed)} of {len(checks)} failed" if failed else f"all {len(checks)} passed"
        facts.insert(-1, ("Checks of the encoders", state))
    return facts
