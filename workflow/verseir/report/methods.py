"""The methods paragraph: how the numbers were made, with the sources of the methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from verseir.formats import listing
from verseir.report.advice import METHOD as DEPLOYMENT
from verseir.report.fine_tuning import method as fine_tuning_method
from verseir.report.graded import averaged, measured_grades, ranked_within
from verseir.report.spoken import graded_only, idiom_sets, idioms_only, repeating

#: Packages that a reader asks for first; all are in the manifest.
NAMED = ("bm25s", "numpy", "polars", "scipy", "statsmodels", "sentence-transformers", "torch", "ir_measures")

PAPER = (
    "The paper whose effects are looked for is Zouak, Mani, Said Chikh and Ouahioune (2026), What the Query "
    "Remembers: Query "
    "Abstraction Governs Lexical and Dense Retrieval of Classical Arabic Poetry, arXiv:2610.31821."
)


#: A window of so many verses holds any poem.
WHOLE = 10_000
MODELS = (
    "Success (the analysed recall above 0) is modelled by logistic regression on shared words, system and their "
    "interaction, "
    "with the lengths of query and poem, once with a random intercept for each query (Laplace approximation, "
    "conditional "
    "effects) and once without, with standard errors clustered by poem (marginal effects). Blocks of terms are "
    "tested by "
    "likelihood ratios; a separated or unconverged model has no p. Shares of what is explained are Shapley values of "
    "McFadden’s R² (general dominance; Budescu, 1993). Era trends use the same regression on the order of eras and are "
    "exploratory."
)

IDIOMS = (
    "A query is read as a sentence, which is all of it, or as a span, the words that carry the idiom: of those, BM25 "
    "searches for the words alone, and an encoder reads the whole sentence and takes the vectors of their tokens (late "
    "chunking; Günther et al., 2024). Before either an instruction that names the span may stand; documents are read "
    "whole, without one. "
    "To a literal query the literal uses of its idiom are relevant, to any other query the idiomatic uses, "
    "simplifications and senses of it; what is relevant is counted among what is indexed. The queries of one idiom "
    "share what is relevant to them, so idioms are resampled and flipped whole. Finding the words of an idiom is "
    "reckoned and not run: the exact expectation of a measure when the texts that match come first and the others "
    "after them, both in random order. A text matches as annotated when its own idiom is that of the query and stands "
    "in it, in whatever form and use, and verbatim when it holds the query’s span. By shared subject, every text with "
    "the subject of the query counts as relevant."
)


SEPARATED = (
    "A system is separated from the best where Holm’s p is below 0.05 and the 95% interval of the "
    "difference excludes zero; otherwise it is not separated, which does not mean that the two are equal. "
    "Intervals are not corrected for the number of tests, so one may exclude zero where Holm’s p does not "
    "fall below 0.05."
)
EFFECTS = (
    "Statements on registers and on explanations compare means, and the intervals of "
    "those means; no test of these differences is part of the report. An effect appears where the "
    "intervals are apart at both ends, among quoting and among abstract queries (half-remembered ones "
    "where none quote): for explanations, of all systems, or in part, of some. It appears in the means "
    "only where the means show it and the intervals do not. On the same queries, that intervals do not "
    "overlap asks for more than a paired test would."
)


def methods(manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> list[tuple[str, str]]:
    """(heading, sentences) in the order of the work."""
    study, about_poems = manifest["study"], not idioms_only(manifest["study"])
    of_wording = about_poems and not graded_only(study)
    tested = [tables[name] for name in ("contrasts", "setting_contrasts") if name in tables]
    found = [
        ("Systems", _repeating(study, manifest["systems"])),
        ("Indexing and ranking", _joined(_ranking(study, about_poems), ranked_within(study))),
        ("Parameters", _tuned(study, manifest["systems"])),
        (
            "Measures and intervals",
            _joined(_measures(study, "poem" if about_poems else "idiom"), measured_grades(study), averaged(study)),
        ),
        ("Tests", _tests(study, tested, "poem" if about_poems else "idiom")),
        ("Shared wording and edits", _wording(study) if of_wording else ""),
        ("What results depend on", _dependence(study) if about_poems else ""),
        ("What to deploy", DEPLOYMENT if about_poems else ""),
        ("Fine-tuning", fine_tuning_method(study.get("fine_tuning", {}))),
        ("Idioms", IDIOMS if idiom_sets(study) else ""),
        ("Models", MODELS if of_wording else ""),
        ("Judges and people", _judging(study)),
        ("What is called what", SEPARATED + (f" {EFFECTS}" if of_wording else "")),
        ("The paper", PAPER if of_wording else ""),
        ("Versions", _versions(manifest)),
    ]
    return [(heading, text) for heading, text in found if text]


def _joined(*parts: str) -> str:
    return " ".join(filter(None, parts))


def _pooled(asked: Mapping[str, Any]) -> str:
    """What goes into the pool of a query, by the part ``judging`` of the study."""
    pooling = asked.get("pooling")
    if not pooling:
        return f"The first {asked['depth']} poems of every list go into one pool for each thematic query"
    return (
        f"The pool of a thematic query holds {pooling['candidates']} poems at most: those that are known to be "
        f"relevant; of the other places {100 * pooling['consensus']:.0f}% for the poems that most of "
        f"{', '.join(pooling['systems'])} rank among their first {pooling['depth']} (mode {pooling['mode']}), and the "
        "rest, system by system, for those that fewest do"
    )


def _judging(study: Mapping[str, Any]) -> str:
    asked = study.get("judging")
    if not asked:
        return ""
    return (
        f"{_pooled(asked)}; poems that repeat each other are one item, and the order tells nothing. A judge reads the "
        f"query and the first {asked['verses']} verses. A system's value for a query is the mean score of its "
        f"first {asked['depth']} poems without those that were not judged (condensed lists; Sakai, 2007); an empty "
        "place has the lowest grade. "
        "Agreement is Spearman's ρ, kappa with quadratic weights over the whole scale (Cohen, 1968), and the share "
        "within one point; intervals resample whole queries (percentile bootstrap; of shares, BCa). Two orders of "
        "systems are compared by Kendall's τ-b with a percentile interval over resampled queries. Where the poem that "
        "was meant is missed, people say whether the first poem shown would do; the measure with such poems counted "
        "is value + (1 − value) × share, and its interval resamples queries, with the judged misses among them."
    )


def _repeating(study: Mapping[str, Any], systems: Mapping[str, Mapping[str, Any]]) -> str:
    """Which systems the page leaves out, and why."""
    names = repeating(study, systems)
    if not names:
        return ""
    one = len(names) == 1
    return (
        f"{listing(names)} {'repeats' if one else 'repeat'} a defect or an order of ties that published figures rest "
        f"on: {'it is' if one else 'they are'} measured like the others, set beside what was published, and left out "
        "of every comparison and of all other parts of this page."
    )


def _tuned(study: Mapping[str, Any], systems: Mapping[str, Mapping[str, Any]]) -> str:
    """Which systems choose parameters, and on which queries."""
    hidden = repeating(study, systems)
    names = [name for name, entry in sorted(systems.items()) if "tune" in entry and name not in hidden]
    sets = {name: spec["validation"] for name, spec in sorted(study["query_sets"].items()) if "validation" in spec}
    places = [f"{given['query_set']} in {given['corpus']} for {name}" for name, given in sets.items()]
    told = []
    for name in names:
        asked = systems[name]["tune"]
        pairs = len(asked["k1"]) * len(asked["b"])
        told.append(f"{name} takes of {pairs} pairs of k1 and b the one with the highest mean {asked['measure']}")
    if not told:
        return ""
    return f"{listing(told)} on validation queries, in each indexing mode by itself: {listing(places)}."


def _ranking(study: Mapping[str, Any], about_poems: bool) -> str:
    if not about_poems:
        return (
            "A document is indexed as one text. Documents are ordered by score, highest first, and documents with the "
            "same score by their identifier, bytewise. Dense search is exact: no approximate index is used. Lists hold "
            f"{study['depth']:,} documents. BM25 (Robertson and Zaragoza, 2009) does not retrieve a document that "
            "shares no term with the query."
        )
    size, stride = study["chunks"]["verses"], study["chunks"]["stride"]
    windows = (
        f"A poem is indexed in windows of {size} consecutive verse{'s' if size > 1 else ''}, one every "
        f"{f'{stride} verses' if stride > 1 else 'verse'}; a shorter poem is one window. A poem’s score is the highest "
        "of its windows. "
    )
    if size >= WHOLE:
        windows = "A poem is indexed whole, of which an encoder reads as much as it can (see what the encoders saw). "
    return (
        f"{windows}Poems are ordered by score (float32), highest first, and poems with the same score by their "
        "identifier, bytewise. Dense search is exact: no approximate index is used. Lists hold "
        f"{study['depth']:,} poems. "
        "BM25 (Robertson and Zaragoza, 2009) does not retrieve a poem that shares no term with the query. Fusion is by "
        "reciprocal rank (Cormack, Clarke and Büttcher, 2009)."
    )


def _measures(study: Mapping[str, Any], shared: str) -> str:
    return (
        f"Measures are named as in ir_measures and see ranks only: {listing(study['measures'])}. A mean is "
        "over all queries "
        "of its set; a query without an answer scores 0. Each mean has a 95% bootstrap interval, bias-corrected and "
        f"accelerated (Efron, 1987), from {study['bootstrap']:,} resamples of queries, or of {shared}s where "
        "queries share one, "
        f"with seed {study['seed']}; where all queries score 0, or all 1, it is that of Clopper and Pearson (1934)."
    )


def _tests(study: Mapping[str, Any], contrasts: Sequence[pl.DataFrame], shared: str) -> str:
    used = {test for frame in contrasts for test in frame["test"]}
    if not used:
        return "No differences were tested in this study."
    families = [
        f"{family['family']} (every {family.get('of', 'systems').removesuffix('s').replace('_', ' ')} against "
        f"{'the best one' if family['baseline'] == 'best' else family['baseline']}; "
        f"{listing(family.get('measures', []))}"
        + (
            f"; corrected within each {listing([part.replace('_', ' ') for part in family['per']])}"
            if family.get("per")
            else ""
        )
        + ")"
        for family in study["contrasts"]
    ]
    one = f"an {shared}" if shared[0] in "aeiou" else f"a {shared}"
    parts = [f"Declared famil{'y' if len(families) == 1 else 'ies'} of tests: {listing(families)}."]
    if any("mcnemar" in test.lower() for test in used):
        parts.append(
            "Two systems on a binary measure and independent queries are compared with the exact test of "
            "McNemar (1947) "
            "and the score interval of Tango (1998)."
        )
    if any("flip" in test.lower() for test in used):
        parts.append(
            f"Graded measures, and queries that share {one}, are compared with a paired sign-flip test "
            "(Fisher, 1935) of "
            f"{study['flips']:,} flips, p counted with the observed one (Phipson and Smyth, 2010), or of all "
            "flips where they "
            f"are fewer; whole {shared}s are flipped where queries share one. A paired t test stands beside it, for "
            "comparison."
        )
    parts.append("p values are corrected within their family by the method of Holm (1979).")
    if any(family["baseline"] == "best" for family in study["contrasts"]):
        parts.append(
            "The best system is the one with the highest mean on the same queries; the correction does not "
            "allow for that "
            "choice."
        )
    return " ".join(parts)


def _wording(study: Mapping[str, Any]) -> str:
    asked = study["analyses"]
    return (
        f"Words are compared under the preset {asked.get('tokens', 'full')}. A query quotes where {asked['quoting']} "
        "of its "
        "words in a row stand verbatim in the poem that it asks for, across the ends of lines too. Containment is "
        "the share "
        "of a query’s distinct words that stand in the poem; nearness is the highest cosine of the query with a "
        "window of the "
        "poem, by the reference encoder. Edited queries are made by rule from queries that do not quote (a half-verse "
        "appended) or that do (quoted words deleted or rewritten); what a check rejects is counted. An edited query is "
        "compared with its original by the paired tests named above."
    )


def _dependence(study: Mapping[str, Any]) -> str:
    return (
        "Slopes of quotation are differences of means between queries that quote and queries that do not, tested "
        "with the t "
        "test of Welch (1947) and a studentised permutation (Janssen, 1997), or with standard errors clustered by "
        "poem where "
        "queries share one. Predictors of success are compared by the bootstrap of the difference of two Spearman "
        "correlations; the tests of Meng, Rosenthal and Rubin (1992), Steiger (1980), Hittner, May and Silver (2003) "
        "and "
        "Williams (1959) stand beside it in the table. The best fusion is chosen on some folds of the queries and "
        "measured "
        "on the others; contrasts of such choices use the corrected variance of Nadeau and Bengio (2003). Two orders "
        "of "
        "systems are compared by Kendall’s τ, exact without ties. Systems are level where the 90% interval of their "
        f"difference lies within {study['analyses']['margin']:g} (two one-sided tests; Schuirmann, 1987)."
        + _apart(study)
    )


def _apart(study: Mapping[str, Any]) -> str:
    """What becomes of modes that index some poems only where modes are fused or compared."""
    names = sorted(study.get("keep", {}))
    if not names:
        return ""
    one = len(names) == 1
    return (
        f" {listing(names)} {'indexes' if one else 'index'} some poems only, and queries have the answers that are "
        f"among them: {'it takes' if one else 'they take'} no part in the search for the best fusion, and modes are "
        "set against the base mode only where both index the same poems."
    )


def _versions(manifest: Mapping[str, Any]) -> str:
    packages = manifest["packages"]
    named = [f"{name} {packages[name]}" for name in NAMED if packages.get(name, "not installed") != "not installed"]
    project = manifest["project"]
    commit = "" if project["commit"] == "n/a" else f" (commit {project['commit'][:12]})"
    return f"{project['name']} {project['version']}{commit} on Python {manifest['python']} with {listing(named)}."
