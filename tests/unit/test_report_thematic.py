"""What the report says of judges, of people and of the two protocols: names, places, intervals and cautions."""

import pytest
from report_study import frame

from verseir.analyses.acceptability import ACCEPTABILITY
from verseir.analyses.annotators import ANNOTATOR_AGREEMENT, ANNOTATOR_CONTRASTS, HUMAN_JUDGE, MEAN
from verseir.analyses.dissociation import DISSOCIATION, RANK_MOVES
from verseir.analyses.judge_agreement import JUDGE_AGREEMENT, JUDGE_ORDERS
from verseir.analyses.thematic_scores import POOL_COVERAGE, THEMATIC_CONTRASTS, THEMATIC_MEANS
from verseir.formats import NBSP
from verseir.judging.judgements import JUDGING
from verseir.report.deployment import protocols
from verseir.report.thematic import judged, judges, people
from verseir.report.wording import Scope

SCOPE = Scope("verse", 3, {"known": "Recall@5"}, ["bm25"], ["x", "y"], [])
TABLES = (THEMATIC_MEANS, THEMATIC_CONTRASTS, POOL_COVERAGE, JUDGING, JUDGE_AGREEMENT, JUDGE_ORDERS)
TABLES += (ANNOTATOR_AGREEMENT, HUMAN_JUDGE, ANNOTATOR_CONTRASTS, ACCEPTABILITY, DISSOCIATION, RANK_MOVES)
PLACE = {"corpus": "poems", "query_set": "themes"}
FEW = "3 independent queries only: intervals are too narrow"


def tables(**rows):
    return {table.name: frame(table, rows.get(table.name, [])) for table in TABLES}


def said(panel):
    return [sentence.replace(NBSP, " ") for sentence in panel.sentences]


def mean(system, value, rank, n_systems, judge="j", aspect="overall", **changes):
    row = PLACE | {"mode": "verse", "judge": judge, "rubric": "r", "aspect": aspect, "system": system, "k": 5}
    kind = {"overall": "overall", "aboutness": "aboutness"}.get(aspect, "wording")
    row |= {"kind": kind, "n_queries": 12, "judged_at_k": 1.0, "mean": value, "ci_low": value - 0.1}
    row |= {"empty_at_k": 0.0, "n_shown": 60, "mean_shown": value}
    return row | {"ci_high": value + 0.1, "rank": rank, "n_systems": n_systems} | changes


def contrast(a, b, estimate, judge="j", **changes):
    row = PLACE | {"family": "f", "mode": "verse", "judge": judge, "aspect": "overall", "a": a, "b": b, "n": 12}
    row |= {"estimate": estimate, "ci_low": estimate - 0.1, "ci_high": estimate + 0.1, "test": "t", "p": 0.01}
    return row | {"p_holm": 0.02, "family_size": 2} | changes


def judged_of(means, contrasts=()):
    return said(judged(tables(thematic_means=list(means), thematic_contrasts=list(contrasts)), SCOPE, "j"))


def test_the_highest_system_is_named_with_what_cautions():
    leader = mean("x", 4.0, 1.0, 2, n_queries=3, note="3 of 5 queries have a value")
    assert judged_of([leader, mean("bm25", 3.0, 2.0, 2)]) == [
        "On themes, poems, j scores x highest overall: 4.00 [3.90, 4.10] over 3 queries (3 of 5 queries have a value); "
        "bm25 is 2nd of 2 with 3.00."
    ]
    assert "x overall, the only system, 4.00" in judged_of([mean("x", 4.0, 1.0, 1)])[0]


def test_systems_that_share_the_highest_mean_are_all_named():
    means = [mean(name, 4.0, 2.0, 4) for name in ("y", "bm25", "x")] + [mean("z", 1.0, 4.0, 4)]
    (sentence,) = judged_of(means)
    assert "j scores bm25, x and y highest overall, 4.00 (bm25 [3.90, 4.10], x [3.90, 4.10] and y" in sentence
    assert "over 12 queries, so none leads alone" in sentence
    assert sentence.endswith("bm25 is level at 2 of 4 with 4.00.")
    alike = {"ci_low": None, "ci_high": None, "note": "interval not estimable: every query scores alike"}
    (sentence,) = judged_of([mean(name, 4.0, 1.5, 2, **alike) for name in ("bm25", "x")])
    assert sentence == (
        "On themes, poems, j scores bm25 and x highest overall, 4.00 over 12 queries, so none leads alone; "
        "bm25 (no interval: every query scores alike) and x (no interval: every query scores alike); "
        "bm25 is level at 1.5 of 2 with 4.00."
    )


def test_a_place_is_level_wherever_another_system_of_the_aspect_has_it():
    means = [mean("x", 4.0, 1.0, 3), mean("bm25", 3.0, 2.0, 3), mean("y", 2.0, 3.0, 3)]
    means += [mean(name, 3.0, 2.0, 3, aspect="aboutness") for name in ("x", "bm25", "y")]
    means += [mean(name, 3.0, rank, 3, aspect="same_words") for name, rank in (("bm25", 1.0), ("x", 2.5), ("y", 2.5))]
    (sentence,) = judged_of(means)
    assert "bm25 is 2nd of 3 with 3.00, level at 2 of 3 by aboutness alone and 1st of 3 by same words" in sentence


def test_only_the_main_judge_is_told_of():
    means = [mean(name, 4.0 - i, i + 1.0, 2, judge) for judge in "jklmn" for i, name in enumerate(("x", "bm25"))]
    tests = [contrast("bm25", "x", -0.5, judge) for judge in "jklmn"]
    told = judged_of(means, tests)
    assert len(told) == 2
    assert told[1] == "j, of 1 system compared with bm25 overall over 12 queries, places x above it (Holm p < 0.05)."


def answered(judge, **changes):
    row = PLACE | {"judge": judge, "rubric": "r", "source": "file", "n_pool": 40, "answered": 40}
    return row | {"refused": 0, "malformed": 0, "unjudged": 0} | changes


def agreement(a, b, rho, **changes):
    row = PLACE | {"judge_a": a, "judge_b": b, "aspect": "overall", "n_items": 40, "n_queries": 20, "rho": rho}
    return (
        row | {"rho_low": None if rho is None else rho - 0.1, "rho_high": None if rho is None else rho + 0.1} | changes
    )


def order(a, b, tau, aspect_b="overall", **changes):
    row = PLACE | {"family": "f", "mode": "verse", "judge_a": a, "aspect_a": "overall", "judge_b": b}
    row |= {"aspect_b": aspect_b, "n_systems": 4, "tau": tau, "test": "t", "p": 0.1, "p_holm": 0.1, "family_size": 1}
    return row | changes


def test_judges_correlate_and_what_cautions_is_told():
    pairs = [agreement("j", "k", -0.27, note=FEW), agreement("j", "l", None, note="not estimable: no item")]
    found = said(judges(tables(judging=[answered(one) for one in "jkl"], judge_agreement=pairs), SCOPE, "j"))
    assert (
        f"j and k on themes, poems: overall scores correlate with ρ −0.27 [−0.37, −0.17] over 40 items ({FEW})."
        in found
    )
    assert "j and l on themes, poems: not estimable: no item." in found
    assert not any("agree" in sentence for sentence in found)


def test_an_order_without_an_interval_says_why_in_words():
    note = "interval not estimable: no resample changes the order; on 2 of 4 queries"
    found = said(judges(tables(judging=[answered("j")], judge_orders=[order("j", "k", 1.0, note=note)]), SCOPE, "j"))
    assert found[-1] == (
        "j by overall and k by overall on themes, poems order 4 systems with τ +1.00 "
        "(no interval: no resample changes the order; on 2 of 4 queries)."
    )
    assert not any("interval not estimable" in sentence for sentence in found)


@pytest.mark.parametrize(("n", "expected"), [(3, 4 + 3 + 1 + 3), (9, 2 + 1 + 1 + 1)])
def test_many_judges_are_summed_up(n, expected):
    others = [f"k{i}" for i in range(n)]
    rows = {
        "judging": [answered(judge, answered=40 - i) for i, judge in enumerate(["j", *others])],
        "judge_agreement": [agreement("j", other, i / 10 - 0.1) for i, other in enumerate(others)],
        "judge_orders": [order("j", other, i / 10) for i, other in enumerate(others)]
        + [order("j", "j", 0.9, "aboutness")],
    }
    panel = judges(tables(**rows), SCOPE, "j")
    found = said(panel)
    assert len(found) == expected
    assert (
        "j by overall and j by aboutness on themes, poems order 4 systems with τ +0.90 (interval not estimable)."
        in found
    )
    if n > 3:
        assert "9 other judges judged 31 to 39 of 40 items of themes on poems." in found
        assert "j and 9 other judges on themes, poems, overall scores: ρ from −0.10 (k0) to +0.70 (k8)." in found
        assert "j and 9 other judges on themes, poems, orders of systems: τ from 0.00 (k0) to +0.80 (k8)." in found
    assert len(panel.grids[0].rows) == n + 1  # all are in the table


def kappa(a, b, value, sheet="sheet-1", **changes):
    row = {"sheet": sheet, "annotator_a": a, "annotator_b": b, "n_items": 20, "n_queries": 3, "kappa": value}
    return row | {"kappa_low": value - 0.1, "kappa_high": value + 0.1, "within_one": 0.9, "same": 0.5} | changes


def preference(b, annotator=MEAN, sheet="sheet-1", mode="verse", **changes):
    row = {"family": "f", "sheet": sheet, "corpus": "poems", "query_set": "themes", "mode": mode, "a": "bm25", "b": b}
    row |= {"annotator": annotator, "n": 9, "estimate": -0.5, "ci_low": -0.7, "ci_high": -0.2, "test": "t", "p": 0.01}
    return row | {"p_holm": 0.02, "family_size": 3} | changes


def rho(value, annotator=MEAN, judge="j", sheet="sheet-1", **changes):
    row = {"sheet": sheet, "annotator": annotator, "judge": judge, "aspect": "overall", "n_items": 20, "n_queries": 3}
    return row | {"rho": value, "note": FEW} | changes


def accepted(sheet, **changes):
    row = {"sheet": sheet, "corpus": "poems", "query_set": "known", "mode": "verse", "system": "x", "annotator": "A"}
    row |= {"measure": "Recall@5", "threshold": "at least partly", "n_queries": 9, "n_misses": 4, "n_judged": 4}
    return row | {"share": 0.5, "value": 0.5, "adjusted": 0.7, "note": "of 4 misses, 4 were judged"} | changes


def test_people_are_told_of_by_sheet_with_what_cautions():
    rows = {
        "annotator_agreement": [kappa("A", "B", -0.1, note=FEW)],
        "human_judge": [
            rho(-0.2),
            rho(0.3, "A"),
            rho(0.4, judge="k"),
            rho(None, sheet="sheet-2", note="not estimable: w"),
        ],
        "annotator_contrasts": [preference("x", note="25% of bm25's places are empty"), preference("x", "A")],
        "acceptability": [accepted("sheet-3")],
    }
    assert said(people(tables(**rows), "j")) == [
        f"sheet-1: A and B: quadratic-weighted κ −0.10 [−0.20, 0.00]; 90.0% of 20 items are within one point ({FEW}).",
        f"sheet-1: {MEAN} and j correlate with ρ −0.20 over 20 items ({FEW}).",
        f"sheet-2: {MEAN} and j: not estimable: w.",
        f"sheet-1, {MEAN}: bm25 against x −0.50 [−0.70, −0.20] over 9 queries, p = 0.010, Holm p = 0.020 "
        "(25% of bm25's places are empty).",
        "sheet-3, A: what x shows first where it misses is at least partly acceptable in 50.0% of 4 cases; counted as "
        "found, Recall@5 0.500 becomes 0.700 (of 4 misses, 4 were judged).",
    ]


def test_many_annotators_and_systems_are_summed_up():
    names = [f"A{i}" for i in range(6)]
    pairs = [(a, b) for a in names for b in names if a < b]
    systems = [f"s{i}" for i in range(9)]
    rows = {
        "annotator_agreement": [kappa(a, b, i / 20) for i, (a, b) in enumerate(pairs)],
        "annotator_contrasts": [
            preference(system, who, mode=mode)
            for who in (*names, MEAN)
            for mode in ("verse", "prose")
            for system in systems
        ],
    }
    found = said(people(tables(**rows), "j"))
    assert len(found) == 3
    assert (
        found[0]
        == "sheet-1: quadratic-weighted κ of 15 pairs of annotators is from 0.00 (A0 and A1) to +0.70 (A4 and A5)."
    )
    assert found[2].startswith(
        f"sheet-1, {MEAN}, mode verse, of 9 systems compared with bm25 over 9 queries, places s0"
    )
    assert all(sentence.startswith("sheet-1") for sentence in found)


def dissociated(tau, left_out=None, **changes):
    row = {"family": "f", "corpus": "poems", "mode": "verse", "known_item": "known", "thematic": "themes"}
    row |= {"measure_known_item": "Recall@5", "measure_thematic": "nDCG@10", "left_out": left_out, "n_systems": 4}
    ends = {} if tau is None else {"ci_low": tau - 0.2, "ci_high": tau}
    return row | {"tau": tau, **ends, "test": "t", "p": 0.1, "p_holm": 0.1, "family_size": 1} | changes


def protocols_of(*rows):
    (sentence,) = said(protocols(tables(dissociation=list(rows)), SCOPE))
    return sentence


def test_two_protocols_and_the_system_that_they_hang_on():
    rows = [dissociated(0.3), dissociated(0.9, "bm25"), dissociated(0.2, "x"), dissociated(None, "y", note="n")]
    assert protocols_of(*rows) == (
        "known (Recall@5) and themes (nDCG@10) on poems order 4 systems with Kendall's τ +0.30 [+0.10, +0.30]; "
        "without bm25 it is +0.90 [+0.70, +0.90], the highest that leaving one out gives."
    )
    two = [dissociated(0.3), dissociated(0.9, "y"), dissociated(0.9, "bm25"), dissociated(0.2, "x")]
    assert "without any one of bm25 and y it is +0.90, the highest that leaving one out gives" in protocols_of(*two)


def test_protocols_that_no_resample_moves_say_so_in_words():
    none = {"ci_low": None, "ci_high": None, "note": "interval not estimable: no resample changes the order"}
    found = protocols_of(dissociated(1.0, **none), *(dissociated(1.0, system, **none) for system in ("bm25", "x")))
    assert found.endswith(
        "with Kendall's τ +1.00 (no interval: no resample changes the order); "
        "whichever system is left out, it is +1.00."
    )
    assert "interval not estimable" not in found


def test_a_move_without_an_interval_has_none_in_its_cell():
    row = {name: value for name, value in dissociated(1.0).items() if name in RANK_MOVES.columns}
    row |= {"system": "x", "mean_known_item": 0.5, "mean_thematic": 0.5, "rank_known_item": 1.0, "rank_thematic": 1.0}
    note = "interval not estimable: no resample changes the places"
    moves = [row | {"move": 0.0, "move_low": None, "move_high": None, "note": note}]
    panel = protocols(tables(dissociation=[dissociated(1.0)], rank_moves=moves), SCOPE)
    columns = [column.heading for column in panel.grids[1].columns]
    cells = dict(zip(columns, panel.grids[1].rows[0], strict=True))
    assert (cells["Falls by"].text, cells["Falls by"].small) == ("0", "")
    assert cells["Note"].text == note


def test_a_study_without_annotations_has_no_panel_of_people():
    assert people(tables(), "j") is None


def test_a_low_mean_of_a_system_that_shows_little_stands_beside_what_it_shows():
    little = mean("bm25", 1.55, 2, 2, empty_at_k=0.62, n_shown=23, mean_shown=2.43, note="62% of its places are empty")
    told = (judged_of([mean("e5", 2.18, 1, 2), little]))[0]
    assert "bm25 is 2nd of 2 with 1.55 (62% of its places are empty; the 23 poems that it shows have 2.43" in told
    assert "that it shows" not in (judged_of([mean("e5", 2.18, 1, 2), mean("bm25", 1.55, 2, 2)]))[0]


def test_where_the_main_judge_judged_nothing_the_first_by_name_is_spoken_of():
    other = {"query_set": "moods"}
    means = [mean("x", 4.0, 1.0, 1), mean("x", 2.0, 1.0, 1, "k", **other), mean("x", 3.0, 1.0, 1, "l", **other)]
    told = judged_of(means)
    assert [sentence.partition(" scores ")[0] for sentence in told] == ["On moods, poems, k", "On themes, poems, j"]
    panel = judged(tables(thematic_means=means), SCOPE, "j")
    assert panel.grids[0].caption.endswith("by aspect (j and k, verse)")
    asked = [
        PLACE
        | place
        | {"judge": judge, "rubric": "r", "source": "s", "n_pool": 9, "answered": 9, "refused": 0}
        | {"malformed": 0, "unjudged": 0}
        for judge, place in (("j", {}), ("k", other), ("l", other))
    ]
    pair = PLACE | other | {"judge_a": "k", "judge_b": "l", "aspect": "overall", "n_items": 9, "n_queries": 9}
    pair |= {"rho": 0.5, "rho_low": 0.1, "rho_high": 0.9}
    sentences = said(judges(tables(judging=asked, judge_agreement=[pair]), SCOPE, "j"))
    assert any("k and l on moods, poems: overall scores correlate with ρ +0.50" in one for one in sentences)
    row = {"annotator": "Anna", "judge": "k", "aspect": "overall", "n_items": 9, "n_queries": 9, "rho": 0.5}
    row |= {"rho_low": 0.1, "rho_high": 0.9, "sheet": "gold"}
    (sentence,) = said(people(tables(human_judge=[row, row | {"judge": "l"}]), "j"))
    assert sentence.startswith("gold: Anna and k correlate")
