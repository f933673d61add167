"""The part of the report that says what results depend on: one panel for each analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from verseir.analyses.acceptability import ACCEPTABILITY
from verseir.analyses.annotators import ANNOTATOR_AGREEMENT, ANNOTATOR_CONTRASTS, HUMAN_JUDGE
from verseir.analyses.augmentation import AUGMENTATION, AUGMENTATION_BY_QUOTATION
from verseir.analyses.confusion import CONFUSION
from verseir.analyses.deployment import DEPLOYMENT
from verseir.analyses.dissociation import DISSOCIATION, RANK_MOVES
from verseir.analyses.duplicate_folding import DUPLICATE_FOLDING
from verseir.analyses.edited import EDIT_LENGTHS, EDITS
from verseir.analyses.equivalence import EQUIVALENCE
from verseir.analyses.era_trend import ERA_TREND
from verseir.analyses.explanation_audit import EXPLANATION_AUDIT
from verseir.analyses.fine_tuning import FINE_TUNING, FINE_TUNING_CURVES, FINE_TUNING_REGISTERS, FINE_TUNING_SEEDS
from verseir.analyses.found_by_language import FOUND_BY_LANGUAGE
from verseir.analyses.found_by_wording import FOUND_BY_WORDING
from verseir.analyses.found_model import FOUND_MODEL
from verseir.analyses.fusion_search import FUSION, FUSION_CONTRASTS, FUSION_SUBSETS
from verseir.analyses.gold_poems import GOLD_POEMS
from verseir.analyses.graded_settings import GRADED_SETTINGS
from verseir.analyses.idiom_data import IDIOM_DATA
from verseir.analyses.idiom_overlap import IDIOM_OVERLAP
from verseir.analyses.judge_agreement import JUDGE_AGREEMENT, JUDGE_ORDERS
from verseir.analyses.mechanism import MECHANISM, MECHANISM_SUMMARY
from verseir.analyses.mixed_model import MIXED_MODEL, MIXED_MODEL_FIT, MIXED_MODEL_TESTS
from verseir.analyses.multiplicity import DECLARED_FAMILIES, MULTIPLICITY, MULTIPLICITY_LOST
from verseir.analyses.normalisation import NORMALISATION
from verseir.analyses.overlap_spectrum import OVERLAP_SPECTRUM
from verseir.analyses.poet_frequency import POET_FREQUENCY
from verseir.analyses.published import PUBLISHED
from verseir.analyses.quotation import QUOTATION, QUOTATION_PAIRS, QUOTATION_SLOPES
from verseir.analyses.quoted_spans import QUOTED_SPANS, SPAN_SUCCESS
from verseir.analyses.settings import SETTING_CONTRASTS
from verseir.analyses.shared_wording import SHARED_WORDING
from verseir.analyses.strata import STRATA
from verseir.analyses.string_match import STRING_MATCH
from verseir.analyses.subjects import SUBJECTS
from verseir.analyses.thematic_scores import POOL_COVERAGE, THEMATIC_CONTRASTS, THEMATIC_MEANS
from verseir.analyses.variance_shares import VARIANCE_SHARES
from verseir.judging.judgements import JUDGING
from verseir.judging.labels import LABELS
from verseir.kept import same_poems
from verseir.report import (
    advice,
    checks,
    deployment,
    evidence,
    fine_tuning,
    graded,
    idiom_settings,
    idioms,
    kinds,
    labels,
    languages,
    settings,
    thematic,
    wording,
)
from verseir.report.panel import Panel
from verseir.report.reading import read_shown
from verseir.report.spoken import (
    analysed_measures,
    compares_settings,
    graded_only,
    has_strata,
    idiom_sets,
    idioms_only,
    repeating,
    setting_sets,
    shared_sets,
    signals,
)
from verseir.report.wording import Scope
from verseir.tables import LEADERBOARD, Table, read_table

#: The tables that panels are made from.
TABLES: tuple[Table, ...] = (
    AUGMENTATION,
    AUGMENTATION_BY_QUOTATION,
    DECLARED_FAMILIES,
    DEPLOYMENT,
    DISSOCIATION,
    DUPLICATE_FOLDING,
    EDITS,
    EDIT_LENGTHS,
    EQUIVALENCE,
    ERA_TREND,
    EXPLANATION_AUDIT,
    FUSION,
    FUSION_CONTRASTS,
    FUSION_SUBSETS,
    GOLD_POEMS,
    MECHANISM,
    MECHANISM_SUMMARY,
    MIXED_MODEL,
    MIXED_MODEL_FIT,
    MIXED_MODEL_TESTS,
    MULTIPLICITY,
    MULTIPLICITY_LOST,
    NORMALISATION,
    OVERLAP_SPECTRUM,
    POET_FREQUENCY,
    QUOTATION,
    QUOTATION_PAIRS,
    QUOTATION_SLOPES,
    QUOTED_SPANS,
    RANK_MOVES,
    SPAN_SUCCESS,
    VARIANCE_SHARES,
)
#: Those of studies whose thematic results are judged.
JUDGED: tuple[Table, ...] = (
    ACCEPTABILITY,
    ANNOTATOR_AGREEMENT,
    ANNOTATOR_CONTRASTS,
    HUMAN_JUDGE,
    JUDGE_AGREEMENT,
    JUDGE_ORDERS,
    JUDGING,
    POOL_COVERAGE,
    THEMATIC_CONTRASTS,
    THEMATIC_MEANS,
)
#: Those of studies of an idiom benchmark.
IDIOMS: tuple[Table, ...] = (
    CONFUSION,
    IDIOM_DATA,
    IDIOM_OVERLAP,
    LEADERBOARD,
    STRING_MATCH,
    SUBJECTS,
)


#: Panels about queries that ask for poems, by id: they have nothing to say where all queries ask for idioms.
ABOUT_POEMS = (
    "deploy",
    "wording",
    "quotation",
    "edits",
    "mechanism",
    "models",
    "augmentation",
    "fusion",
    "normalisation",
    "protocols",
    "sameness",
    "checks",
)


def panels(results: Path, study: Mapping[str, Any], systems: Mapping[str, Mapping[str, Any]]) -> list[Panel]:
    """The panels of the study whose tables lie in ``results``, in the order in which they are read.

    Args:
        results: the study's folder.
        study: its spec with all defaults.
        systems: the registry's entries, by system.
    """
    folder, asked = results / "tables", study["analyses"]
    judging, about_idioms = study.get("judging"), idiom_sets(study)
    wanted = TABLES + (JUDGED if judging else ())
    if about_idioms:
        wanted += IDIOMS
    if has_strata(study):
        wanted += (STRATA,)
    if compares_settings(study):
        wanted += (SETTING_CONTRASTS,)
    if shared_sets(study):
        wanted += (SHARED_WORDING, FOUND_BY_LANGUAGE, FOUND_BY_WORDING, FOUND_MODEL)
    if study.get("fine_tuning"):
        wanted += (FINE_TUNING, FINE_TUNING_SEEDS, FINE_TUNING_REGISTERS, FINE_TUNING_CURVES)
    if setting_sets(study):
        wanted += (GRADED_SETTINGS,)
    if any("graded" in spec for spec in study["query_sets"].values()):
        wanted += (LABELS,)
    hidden = repeating(study, systems)
    tables = {table.name: read_shown(folder, table, hidden) for table in wanted}
    about_poems = not idioms_only(study)
    if not about_poems:  # of the many tables of tests, most are about poems and empty
        multiplicity = tables[MULTIPLICITY.name]
        made = (pl.col("n_tests") > 0) | (pl.col("table") == "all tables")
        tables[MULTIPLICITY.name] = multiplicity.filter(made)
    if "published" in asked:
        tables[PUBLISHED.name] = read_table(folder / f"{PUBLISHED.name}.csv", PUBLISHED)
    compared = signals({name: entry for name, entry in systems.items() if name not in hidden})
    keep = study.get("keep", {})
    scope = Scope(
        asked["base_mode"],
        asked["quoting"],
        analysed_measures(study),
        sorted(name for name in study["systems"] if compared.get(name) == "lexical"),
        sorted(name for name in study["systems"] if compared.get(name) == "dense"),
        sorted(name for name, spec in study["query_sets"].items() if spec.get("purpose") == "edited"),
        sorted(keep),
        sorted(mode for mode in study["modes"] if not same_poems(keep, mode, asked["base_mode"])),
    )
    found = [
        advice.deploy(tables, study["modes"]) if about_poems else None,
        *(_idioms(tables, scope, about_idioms) if about_idioms else []),
        settings.settings(tables, scope, about_idioms),
        graded.graded(tables, scope, study["query_sets"]),
        fine_tuning.fine_tuning(tables, scope, study.get("fine_tuning", {})),
        kinds.kinds(tables, scope, about_idioms),
        wording.spectrum(tables, scope),
        languages.languages(tables, scope),
        labels.labels(tables),
        wording.quotation(tables, scope),
        wording.edits(tables, scope),
        evidence.mechanism(tables, scope),
        evidence.models(tables, scope),
        wording.augmentation(tables, scope),
        deployment.fusion(tables, scope),
        deployment.normalisation(tables, scope),
        *(_judged(tables, scope, judging) if judging else []),
        deployment.protocols(tables, scope, (judging or {}).get("main")),
        evidence.sameness(tables, scope),
        evidence.corrections(tables),
        checks.checks(tables, scope),
        deployment.published(tables),
    ]
    silent = () if about_poems and not graded_only(study) else ABOUT_POEMS
    panels = [panel for panel in found if panel is not None and (panel.grids or panel.id not in silent)]
    if graded_only(study):  # the words of a preset are no words of its queries' language
        panels = [panel for panel in panels if panel.id != "wording"]
    rebuilt = study["analyses"].get("published", {}).get("rebuilt", False)
    return sorted(panels, key=lambda panel: rebuilt and panel.id != "published")  # a stable sort


def _idioms(tables: Mapping[str, pl.DataFrame], scope: Scope, query_sets: Sequence[str]) -> list[Panel | None]:
    return [
        idioms.idioms(tables, scope, query_sets),
        idioms.confusion(tables, scope, query_sets),
        idiom_settings.settings(tables, scope, query_sets),
        idiom_settings.data(tables),
    ]


def _judged(tables: Mapping[str, pl.DataFrame], scope: Scope, judging: Mapping[str, Any]) -> list[Panel | None]:
    return [
        thematic.judged(tables, scope, judging.get("main")),
        thematic.judges(tables, scope, judging.get("main")),
        thematic.people(tables, judging.get("main")),
    ]
