"""Who leads, and whether that is established, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from verseir.formats import count, decimals_of, interval, known, listing, number, p_phrase, signed
from verseir.report.sentences import Finding, with_interval
from verseir.report.standings import NOT_SEPARATED, NOT_TESTED, SEPARATED, Gap, Standing

#: How many systems a sentence names with their numbers before it refers to the table.
NAMED = 3


def lead_finding(standing: Standing) -> Finding:
    """Who leads one query set in one mode, and whether the lead is established."""
    leader = standing.leader
    best = [score.system for score in standing.leaders]
    mean = with_interval(leader.mean, leader.low, leader.high)
    highest = f"{leader.system} has the highest mean, {mean}"
    if len(best) > 1:
        each = listing([f"{score.system} {interval(score.low, score.high)}" for score in standing.leaders])
        each = each if any(known(score.low) for score in standing.leaders) else interval(None, None)
        highest = f"{listing(best)} have the highest mean, {number(leader.mean)} ({each}), so none leads alone"
    about = f"mode {standing.mode}"
    separated, level, untested = (standing.among(state) for state in (SEPARATED, NOT_SEPARATED, NOT_TESTED))
    if not standing.gaps:
        return Finding(
            about, "one system", f"{leader.system} scores {mean}. It is the only system: there is no comparison."
        )
    if not standing.declared:
        text = (
            f"{highest}. No family of tests against the best system covers this measure, so whether a difference is "
            "more than chance was not tested."
        )
        return Finding(about, NOT_TESTED, text)
    if len(best) == 1 and not level and not untested:
        largest = max(gap.p_holm for gap in separated if gap.p_holm is not None)
        bound = p_phrase("Holm p", largest) if len(separated) == 1 else p_phrase("largest Holm p", largest)
        names = listing([gap.system for gap in separated])
        others = names if len(separated) <= NAMED else f"all {len(separated)} other systems"
        near = separated[0]
        digits = _decimals(near)
        below = f"{number(near.estimate, digits)} {interval(near.low, near.high, digits)} below"
        nearest = f", which is {below}" if len(separated) == 1 else f"; the nearest, {near.system}, is {below}"
        text = f"{leader.system} leads with {mean}. It is separated from {others} ({bound}){nearest}."
        return Finding(about, "leads", text)
    if len(best) > 1:
        subject, lower = leader.system, level or separated or untested
        parts = [f"{highest}.", f" The tests are against {subject}." if lower else ""]
        if level:
            parts.append(f" It is not separated from {_gaps(level)}.")
    else:
        parts = [highest, f", but is not separated from {_gaps(level)}" if level else "", "."]
    if any(gap.disagree for gap in level):
        names = listing([gap.system for gap in level if gap.disagree])
        parts.append(f" For {names} the test and the interval disagree: the interval reaches zero.")
    if separated:
        parts.append(f" It is separated from {listing([gap.system for gap in separated])}.")
    if untested:
        parts.append(f" No test could be made against {listing([gap.system for gap in untested])}.")
    verdict = NOT_SEPARATED if level or len(best) > 1 else "tested in part" if separated else NOT_TESTED
    return Finding(about, verdict, "".join(parts))


def _decimals(gap: Gap) -> int:
    """As many as show on which side of zero a difference and the ends of its interval lie."""
    return decimals_of(gap.estimate, gap.low, gap.high)


def _gaps(gaps: Sequence[Gap]) -> str:
    def told(gap: Gap) -> str:
        digits = _decimals(gap)
        ends = interval(gap.low, gap.high, digits, sign=True)
        return f"{gap.system} (difference {signed(gap.estimate, digits)} {ends}, {p_phrase('Holm p', gap.p_holm)})"

    if len(gaps) <= NAMED:
        return listing([told(gap) for gap in gaps])
    return f"{listing([gap.system for gap in gaps])} (nearest: {told(gaps[0])})"


def unmeasured_briefs(leaderboard: pl.DataFrame) -> list[str]:
    """In one sentence each: the query sets of which no mean is estimable, and why."""
    places = leaderboard.select("corpus", "query_set", "note").unique().sort("query_set", "corpus")
    return [
        f"{query_set[0].upper()}{query_set[1:]} queries of {corpus}: {note}."
        for corpus, query_set, note in places.iter_rows()
    ]


def lead_brief(found: Sequence[Standing], synthetic: bool = False) -> str:
    """In one sentence: in which modes of one corpus and query set a lead is established, and whose."""
    first = found[0]
    kind = " (synthetic)" if synthetic else ""
    place = f"{first.query_set[0].upper()}{first.query_set[1:]} queries{kind} of {first.corpus}, {first.measure}"
    if not any(standing.gaps for standing in found):
        return f"{place}: one system, {first.leader.system}, so nothing to compare."
    leads = [standing for standing in found if lead_finding(standing).verdict == "leads"]
    rest = [standing for standing in found if standing not in leads]
    parts = [f"{_by_leader(leads)} {'lead' if len({s.leader.system for s in leads}) > 1 else 'leads'}"] if leads else []
    for declared, what in ((True, "no lead is established"), (False, "no lead was tested")):
        some = [standing for standing in rest if standing.declared == declared]
        if some:
            means = "highest means" if len({_names(standing) for standing in some}) > 1 else "highest mean"
            parts.append(f"{'elsewhere ' if leads else ''}{what} ({means}: {_by_leader(some)})")
    return f"{place}: {'; '.join(parts)}."


def alone_brief(found: Sequence[Standing]) -> str:
    """In one sentence: the places that one system alone has searched."""
    sets: dict[tuple[str, str], list[str]] = {}
    for standing in found:
        sets.setdefault((standing.leader.system, standing.corpus), []).append(standing.query_set)
    told = [
        f"{system} on {listing(list(dict.fromkeys(names)))} of {corpus}" for (system, corpus), names in sets.items()
    ]
    return f"One system alone, so nothing to compare: {listing(told)}."


def alone_findings(found: Sequence[Standing]) -> list[Finding]:
    """What the only system scores: one finding for each corpus and query set, over all modes."""
    places: dict[tuple[str, str], list[Standing]] = {}
    for standing in found:
        places.setdefault((standing.corpus, standing.query_set), []).append(standing)
    findings = []
    for (corpus, query_set), own in places.items():
        scores: dict[str, list[str]] = {}
        for standing in own:
            leader = standing.leader
            mean = f"{with_interval(leader.mean, leader.low, leader.high)} in mode {standing.mode}"
            scores.setdefault(leader.system, []).append(mean)
        told = "; ".join(f"{system} scores {listing(means)}" for system, means in scores.items())
        size = f"{own[0].measure}, {count(own[0].n_queries, 'query', 'queries')}"
        findings.append(Finding(f"{query_set}, {corpus}", "one system", f"{told} ({size})."))
    return findings


def _names(standing: Standing) -> str:
    return listing([score.system for score in standing.leaders])


def _by_leader(found: Sequence[Standing]) -> str:
    modes: dict[str, list[str]] = {}
    for standing in found:
        modes.setdefault(_names(standing), []).append(standing.mode)
    return listing(
        [f"{system} in {'mode' if len(names) == 1 else 'modes'} {listing(names)}" for system, names in modes.items()]
    )
