"""The sentences say what constructed tables show, and no more."""

import polars as pl
import pytest
from report_study import SYSTEMS, contrast, frame, register, score, study

from verseir.analyses.augmentation import AUGMENTATION, AUGMENTATION_BY_QUOTATION
from verseir.analyses.fusion_search import FUSION, FUSION_CONTRASTS
from verseir.report import effects
from verseir.report.deployment import fusion
from verseir.report.effects import verse_mode
from verseir.report.leads import alone_brief, alone_findings, lead_brief, lead_finding
from verseir.report.methods import methods
from verseir.report.sentences import explanation_findings, register_findings, wording_findings
from verseir.report.spoken import analysed_measures, main_measures, signals
from verseir.report.standings import standings
from verseir.report.wording import Scope, augmentation
from verseir.tables import CONTRASTS, LEADERBOARD, REGISTERS

KINDS = signals(SYSTEMS)
MODES = {"verse": ["verse"], "explanation": ["explanation:prose"]}


def standing(scores, contrasts=(), spec=None):
    found = standings(frame(LEADERBOARD, list(scores)), frame(CONTRASTS, list(contrasts)), spec or study())
    assert len(found) == 1
    return found[0]


THREE = [score("bm25", 0.7, 0.6, 0.8), score("dense-a", 0.5, 0.4, 0.6), score("dense-b", 0.65, 0.5, 0.75)]


def test_established_lead():
    rows = [
        contrast("dense-a", "bm25", -0.2, -0.3, -0.1, 1e-30),
        contrast("dense-b", "bm25", -0.05, -0.09, -0.01, 0.02),
    ]
    finding = lead_finding(standing(THREE, rows))
    assert finding.verdict == "leads"
    assert finding.text.startswith("bm25 leads with 0.700 [0.600,\u00a00.800].")
    assert "It is separated from dense-b and dense-a (largest\u00a0Holm\u00a0p\u00a0=\u00a00.020)" in finding.text
    assert "the nearest, dense-b, is 0.050 [0.010,\u00a00.090] below" in finding.text


def test_no_lead_where_one_system_is_not_separated():
    rows = [contrast("dense-a", "bm25", -0.2, -0.3, -0.1, 1e-30), contrast("dense-b", "bm25", -0.05, -0.11, 0.01, 0.2)]
    found = standing(THREE, rows)
    finding = lead_finding(found)
    assert finding.verdict == "not separated"
    assert "not separated from dense-b (difference +0.050 [\u22120.010,\u00a0+0.110]" in finding.text
    assert "It is separated from dense-a." in finding.text
    assert "equal" not in finding.text and "leads" not in finding.text
    assert [found.state(name) for name in ("bm25", "dense-a", "dense-b")] == ["best", "separated", "not separated"]


def test_the_direction_of_a_contrast_does_not_matter():
    one = standing(THREE[:2], [contrast("dense-a", "bm25", -0.2, -0.3, -0.1, 0.001)])
    other = standing(THREE[:2], [contrast("bm25", "dense-a", 0.2, 0.1, 0.3, 0.001)])
    assert one.gaps == other.gaps
    assert lead_finding(one).verdict == "leads"


@pytest.mark.parametrize(("low", "high", "p"), [(-0.01, 0.4, 0.01), (0.01, 0.4, 0.06), (None, None, 0.001)])
def test_test_and_interval_must_agree(low, high, p):
    found = standing(THREE[:2], [contrast("bm25", "dense-a", 0.2, low, high, p)])
    assert lead_finding(found).verdict == "not separated"
    assert found.gaps[0].disagree == (p < 0.05)


def test_one_system():
    finding = lead_finding(standing(THREE[:1]))
    assert finding.verdict == "one system"
    assert "only system" in finding.text
    assert "nothing to compare" in lead_brief([standing(THREE[:1])])


def test_places_of_one_system_are_told_together():
    found = [
        standing([score("dense-a", mean, mean - 0.1, mean + 0.1, query_set=name, mode=mode)])
        for name in ("span", "sentence")
        for mode, mean in (("verse", 0.5), ("explanation", 0.25))
    ]
    assert alone_brief(found) == "One system alone, so nothing to compare: dense-a on span and sentence of poems."
    span, sentence = alone_findings(found)
    assert (span.about, span.verdict, sentence.about) == ("span, poems", "one system", "sentence, poems")
    assert span.text == (
        "dense-a scores 0.500 [0.400,\u00a00.600] in mode verse and 0.250 [0.150,\u00a00.350] in mode explanation "
        "(Recall@5, 100 queries)."
    )


def test_a_small_difference_is_not_told_as_none():
    open_ = [contrast("dense-a", "bm25", -0.0002, -0.0009, 0.0004, 0.3)]
    near = [score("bm25", 0.7, 0.6, 0.8), score("dense-a", 0.6998, 0.5, 0.8)]
    assert "(difference +0.0002 [\u22120.0004,\u00a0+0.0009]" in lead_finding(standing(near, open_)).text
    sure = [contrast("dense-a", "bm25", -0.0002, -0.0004, -0.00003, 0.01)]
    told = lead_finding(standing(near, sure)).text
    assert told.endswith("(Holm\u00a0p\u00a0=\u00a00.010), which is 0.00020 [0.00003,\u00a00.00040] below.")
    none = [contrast("dense-a", "bm25", -0.0002, None, None, 0.3)]
    assert "(difference +0.0002 interval not estimable" in lead_finding(standing(near, none)).text


def test_without_a_family_against_the_best():
    spec = study(contrasts=[{"family": "against-bm25", "baseline": "bm25", "measures": ["Recall@5"]}])
    rows = [contrast("dense-a", "bm25", -0.2, -0.3, -0.1, 1e-9, family="against-bm25")]
    found = standing(THREE[:2], rows, spec)
    finding = lead_finding(found)
    assert finding.verdict == "not tested"
    assert "was not tested" in finding.text
    assert "no lead was tested" in lead_brief([found])
    assert found.state("dense-a") == "not tested"


def test_test_that_could_not_be_made():
    rows = [contrast("dense-a", "bm25", -0.2, None, None, None, test="none", note="not estimable: one query")]
    finding = lead_finding(standing(THREE[:2], rows))
    assert finding.verdict == "not tested"
    assert "No test could be made against dense-a." in finding.text


def test_missing_interval_of_the_leader():
    finding = lead_finding(standing([score("bm25", 0.7)]))
    assert "0.700 (interval not estimable)" in finding.text


def test_leader_among_equal_means_is_the_one_that_was_tested():
    scores = [score("bm25", 0.5), score("dense-a", 0.5 + 1e-16), score("dense-b", 0.4)]
    rows = [contrast("bm25", "dense-a", 0.0, -0.1, 0.1, 1.0), contrast("dense-b", "dense-a", -0.1, -0.2, 0.0, 0.2)]
    found = standing(scores, rows)
    assert found.leader.system == "dense-a"
    assert not found.among("not tested")


def test_brief_names_established_leads_and_the_rest():
    leading = standing(THREE[:2], [contrast("dense-a", "bm25", -0.2, -0.3, -0.1, 1e-9)])
    rows = [contrast("dense-a", "bm25", -0.2, -0.5, 0.1, 0.3, mode="explanation")]
    open_ = standing([score("bm25", 0.7, mode="explanation"), score("dense-a", 0.5, mode="explanation")], rows)
    assert lead_brief([leading, open_]) == (
        "Known queries of poems, Recall@5: bm25 in mode verse leads; elsewhere no lead is established "
        "(highest mean: bm25 in mode explanation)."
    )


def test_main_measure_is_that_of_the_first_family_that_covers_the_query_set():
    families = [
        {"family": "other", "baseline": "bm25", "measures": ["MRR"]},
        {"family": "top", "baseline": "best", "measures": ["nDCG@10", "MRR"], "query_sets": ["themes"]},
    ]
    sets = {"query_sets": {"known": {}, "themes": {}}}
    assert main_measures(study(contrasts=families, **sets)) == {"known": "MRR", "themes": "nDCG@10"}
    assert main_measures(study(contrasts=families[1:], **sets)) == {"known": "Recall@5", "themes": "nDCG@10"}
    assert main_measures(study(contrasts=[], **sets)) == {"known": "Recall@5", "themes": "Recall@5"}


def test_equal_means_share_the_first_place():
    scores = [score("bm25", 0.5, 0.4, 0.6), score("dense-a", 0.5, 0.3, 0.6), score("dense-b", 0.4)]
    rows = [contrast("dense-a", "bm25", 0.0, -0.1, 0.1, 1.0), contrast("dense-b", "bm25", -0.1, -0.2, -0.05, 0.002)]
    found = standing(scores, rows)
    finding = lead_finding(found)
    assert finding.verdict == "not separated"
    assert finding.text.startswith("bm25 and dense-a have the highest mean, 0.500 (bm25 [0.400")
    assert "so none leads alone. The tests are against bm25. It is separated from dense-b." in finding.text
    assert [found.state(name) for name in ("bm25", "dense-a", "dense-b")] == ["best", "best", "separated"]
    assert "(highest mean: bm25 and dense-a in mode verse)" in lead_brief([found])


def test_several_lexical_systems_are_told_once():
    kinds = KINDS | {"bm25-light": "lexical"}
    rows = [
        register(name, system, mean)
        for name, means in (("quoting", (0.9, 0.85, 0.6)), ("abstract", (0.2, 0.25, 0.6)))
        for system, mean in zip(("bm25", "bm25-light", "dense-a"), means, strict=True)
    ]
    (finding,) = wording_findings(cells(rows), "poems", "verse", kinds)
    assert finding.text.count("The paper’s effect") == 1
    assert "appears for bm25 and bm25-light: they go from ahead" in finding.text
    assert "; bm25-light is ahead there (0.850 [" in finding.text


def test_small_rise_is_not_shown_as_none():
    (finding,) = explanation_findings(explained([("bm25", 0.0003, 0.2), ("dense-a", 0.1, 0.1)]), "poems", MODES)
    assert "rises for 2 of 2 systems (from +0.0003 for bm25 to +0.100 for dense-a" in finding.points[0]


def cells(rows):
    return effects.register_cells(frame(REGISTERS, rows), {"known": "Recall@5", "themes": "Recall@5"})


def wording(bm25, dense, **more):
    """Means of bm25 and dense-a on quoting and abstract queries."""
    rows = []
    for name, mean, other in zip(("quoting", "abstract"), bm25, dense, strict=True):
        rows += [register(name, "bm25", mean, **more), register(name, "dense-a", other, **more)]
    return cells(rows)


@pytest.mark.parametrize(
    ("bm25", "dense", "verdict"),
    [
        ((0.9, 0.2), (0.7, 0.6), "appears"),
        ((0.9, 0.2), (0.85, 0.6), "appears in the means only"),
        ((0.9, 0.55), (0.7, 0.6), "appears in the means only"),
        ((0.9, 0.5), (0.6, 0.4), "appears in part"),
        ((0.5, 0.1), (0.6, 0.6), "appears in part"),
        ((0.5, 0.6), (0.6, 0.4), "does not appear"),
        ((0.6, 0.4), (0.7, 0.5), "does not appear"),
    ],
)
def test_effect_of_wording(bm25, dense, verdict):
    found = wording_findings(wording(bm25, dense), "poems", "verse", KINDS)
    assert [finding.verdict for finding in found] == [verdict]
    assert f"{verdict}:" in found[0].text


def test_effect_of_wording_says_where_intervals_overlap():
    finding = wording_findings(wording((0.72, 0.2), (0.7, 0.6)), "poems", "verse", KINDS)[0]
    assert "ahead of the best dense encoder on quoting queries" in finding.text
    assert finding.text.count("the intervals overlap") == 1
    assert finding.text.count("the intervals do not overlap") == 1
    assert finding.basis == "intervals apart at one end only"
    silent = wording_findings(wording((0.72, 0.2), (0.7, 0.6), half=None), "poems", "verse", KINDS)[0]
    assert "overlap" not in silent.text


@pytest.mark.parametrize(
    ("rows", "mode", "kinds", "missing"),
    [
        ([register("quoting", "bm25", 0.5)], "verse", KINDS, "No query set pairs"),
        ([register("quoting", "bm25", 0.5)], None, KINDS, "a mode that indexes the verses alone"),
        ([register("quoting", "dense-a", 0.5)], "verse", {"dense-a": "dense"}, "a lexical system"),
        ([register("quoting", "bm25", 0.5)], "verse", {"bm25": "lexical"}, "a dense encoder"),
    ],
)
def test_effect_of_wording_cannot_be_seen(rows, mode, kinds, missing):
    found = wording_findings(cells(rows), "poems", mode, kinds)
    assert [finding.verdict for finding in found] == ["cannot be seen"]
    assert missing in found[0].text


def test_scale_across_query_sets_where_none_has_both_ends():
    rows = [register("half-remembered", "bm25", 0.5), register("abstract", "bm25", 0.5, query_set="themes")]
    scale = effects.scales(cells(rows), "poems")
    assert [(one.wording.query_set, one.abstract.query_set) for one in scale] == [("known", "themes")]


def test_rank_of_the_lexical_system_leaves_fusions_out():
    rows = [register("quoting", name, mean) for name, mean in (("bm25", 0.8), ("dense-a", 0.6), ("fused", 0.9))]
    rows += [register("abstract", name, mean) for name, mean in (("bm25", 0.3), ("dense-a", 0.6), ("fused", 0.5))]
    (finding,) = register_findings(cells(rows), "poems", "verse", KINDS)
    assert finding.verdict == "leader changes"
    assert "Highest mean: fused on quoting (0.900) and dense-a on abstract (0.600)." in finding.text
    assert "Among the 2 single systems, fusions left out, bm25 is 1st on quoting and 2nd on abstract." in finding.text


def test_one_system_has_no_order():
    (finding,) = register_findings(cells([register("quoting", "bm25", 0.5)]), "poems", "verse", KINDS)
    assert finding.verdict == "one system"


def explained(changes):
    """Rows of (system, change on quoting, change on abstract) around a mean of 0.5."""
    rows = []
    for system, *moved in changes:
        for name, change in zip(("quoting", "abstract"), moved, strict=True):
            rows += [register(name, system, 0.5), register(name, system, 0.5 + change, mode="explanation")]
    return cells(rows)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ([("bm25", -0.3, 0.3), ("dense-a", -0.2, 0.2)], "appears"),
        ([("bm25", -0.3, 0.3), ("dense-a", -0.2, 0.01)], "appears in part"),
        ([("bm25", -0.3, 0.01), ("dense-a", -0.01, 0.3)], "appears in the means only"),
        ([("bm25", -0.3, 0.3), ("dense-a", 0.2, 0.3)], "appears in part"),
        ([("bm25", 0.3, 0.3), ("dense-a", -0.2, -0.3)], "does not appear"),
        ([("bm25", 0.0, 0.0)], "does not appear"),
    ],
)
def test_effect_of_explanations(changes, verdict):
    (finding,) = explanation_findings(explained(changes), "poems", MODES)
    assert finding.verdict == verdict
    assert finding.about == "explanation against verse"


def test_effect_of_explanations_in_words():
    (finding,) = explanation_findings(explained([("bm25", -0.3, 0.3), ("dense-a", -0.02, 0.01)]), "poems", MODES)
    assert finding.points[0] == (
        "On quoting queries the mean falls for 2 of 2 systems (from \u22120.300 for bm25 to \u22120.020 for dense-a; "
        "the two intervals do not overlap for 1)."
    )
    assert (
        "the means of bm25 and dense-a show it (2 of 2), the intervals are apart at both ends for bm25." in finding.text
    )
    assert finding.basis == "means of 2 of 2 systems; intervals apart at both ends for 1"


def test_no_explanations():
    (finding,) = explanation_findings(explained([("bm25", 0.1, 0.1)]), "poems", {"verse": ["verse"]})
    assert finding.verdict == "cannot be seen"


def test_order_of_rows_changes_nothing():
    rows = [contrast("dense-a", "bm25", -0.2, -0.3, -0.1, 1e-30), contrast("dense-b", "bm25", -0.05, -0.11, 0.01, 0.2)]
    scores, tests = frame(LEADERBOARD, THREE), frame(CONTRASTS, rows)
    assert standings(scores, tests, study()) == standings(scores.reverse(), tests.reverse(), study())
    assert isinstance(scores, pl.DataFrame)


def test_analyses_are_spoken_of_by_a_measure_that_they_have():
    assert analysed_measures(study(analyses={"measures": ["MRR", "Recall@5"]})) == {"known": "Recall@5"}
    assert analysed_measures(study(analyses={"measures": ["MRR"]})) == {"known": "MRR"}


def test_imported_systems_are_what_they_say():
    systems = {"theirs": {"kind": "imported", "signal": "lexical"}, "other": {"kind": "imported"}}
    assert signals(systems) == {"theirs": "lexical", "other": ""}


def test_explanations_are_compared_with_verses_of_the_same_poems_alone():
    found = explained([("bm25", -0.3, 0.3)])
    keep = {"explanation": {"genre": ["praise"]}}
    (finding,) = explanation_findings(found, "poems", MODES, keep)
    assert finding.verdict == "cannot be seen"
    assert "No mode with explanations indexes the poems of mode verse" in finding.text
    both = keep | {"verse": {"genre": ["praise"]}}
    assert explanation_findings(found, "poems", MODES, both) == explanation_findings(found, "poems", MODES)


def test_the_mode_of_verses_is_that_of_all_poems_if_there_is_one():
    modes = {"a": ["verse"], "verse": ["verse"], "prose": ["explanation:prose"]}
    assert verse_mode(modes, {}) == "a"
    assert verse_mode(modes, {"a": {"genre": ["praise"]}}) == "verse"
    assert verse_mode({"prose": modes["prose"]}, {}) is None


def test_the_methods_say_what_becomes_of_modes_of_some_poems():
    project = {"name": "verseir", "version": "1", "commit": "n/a"}
    manifest = {"study": study(), "systems": {}, "packages": {}, "python": "3", "project": project}
    plain = dict(methods(manifest, {}))["What results depend on"]
    manifest["study"] = study(keep={"explanation": {"genre": ["praise"]}})
    told = dict(methods(manifest, {}))["What results depend on"]
    assert told.startswith(plain)
    assert "explanation indexes some poems only" in told.removeprefix(plain)


def test_panels_say_which_modes_take_no_part():
    scope = Scope("verse", 3, {}, [], [], [], ["some"], ["some"])
    tables = {table.name: frame(table, []) for table in (AUGMENTATION, FUSION, FUSION_CONTRASTS)}
    assert "another of the same poems" in str(augmentation(tables, scope))
    assert "in a mode of all poems" in str(fusion(tables, scope))
    row = {"family": "f", "corpus": "c", "query_set": "s", "register": "all", "mode": "prose", "base_mode": "verse"}
    row |= {"system": "x", "measure": "Recall@5", "n": 3, "base_mean": 0.1, "mean": 0.2, "test": "none"}
    row |= {"family_size": 0}
    tables |= {"augmentation": frame(AUGMENTATION, [row])}
    tables |= {"augmentation_by_quotation": frame(AUGMENTATION_BY_QUOTATION, [])}
    assert "some: not compared" in augmentation(tables, scope).lede
    assert augmentation(tables, Scope("verse", 3, {}, [], [], [])).lede == ""
