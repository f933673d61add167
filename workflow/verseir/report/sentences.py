"""The findings in plain sentences, made from the numbers and saying no more than they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verseir.formats import count, interval, known, listing, moved, number, ordinal
from verseir.kept import Keeps
from verseir.report import effects
from verseir.report.effects import Cells, Change, Place, Rivalry

NO_SCALE = (
    "No query set pairs abstract queries with ones that carry wording, so the paper’s effect cannot be seen here."
)


@dataclass(frozen=True)
class Finding:
    """One finding: what it is about, a short verdict, the sentences, and what they rest on, point by point.

    ``basis`` says in a few words how firm the verdict is.
    """

    about: str
    verdict: str
    text: str
    points: tuple[str, ...] = ()
    basis: str = ""


def scored(row: Mapping[str, Any]) -> str:
    """``0.746 [0.701, 0.789]``."""
    return with_interval(row["mean"], row["ci_low"], row["ci_high"])


def with_interval(mean: float, low: float | None, high: float | None) -> str:
    """The same of three numbers; where there is no interval, that."""
    ends = interval(low, high)
    return f"{number(mean)} {ends if known(low, high) else f'({ends})'}"


def effect_briefs(corpus: str, wording: Sequence[Finding], explanations: Sequence[Finding]) -> list[str]:
    """In one sentence each: whether the paper’s two effects appear in one corpus."""

    def verdicts(findings: Sequence[Finding]) -> str:
        told = [f"{finding.verdict}{f' ({finding.basis})' if finding.basis else ''}" for finding in findings]
        if len(set(told)) == 1:
            return told[0].replace("cannot be seen", "cannot be seen with this study")
        return "; ".join(f"{finding.about}, {verdict}" for finding, verdict in zip(findings, told, strict=True))

    return [
        f"The paper’s effect of wording on {corpus} (a lexical system ahead while the poem’s wording is "
        "remembered, behind "
        f"where it is not): {verdicts(wording)}.",
        f"The paper’s effect of explanations on {corpus} (better on abstract queries, worse on those that "
        "carry wording): "
        f"{verdicts(explanations)}.",
    ]


# What registers do to the order.


def register_findings(cells: Cells, corpus: str, mode: str, kinds: Mapping[str, str]) -> list[Finding]:
    """Who leads each register of a corpus in one mode, and where its lexical systems stand among the single ones."""
    places = [place for place in effects.places_of(cells, corpus) if (place, mode) in cells]
    if not places:
        return []
    tops = []
    for place in places:
        names = effects.highest(cells[place, mode])
        tops.append((place, names, cells[place, mode][names[0]]["mean"]))
    systems = {name for place in places for name in cells[place, mode]}
    if len(systems) < 2:
        return [
            Finding(
                f"mode {mode}", "one system", f"Only {min(systems)} was searched: registers cannot change an order."
            )
        ]
    leaders = {tuple(names) for _, names, _ in tops}
    told = [f"{listing(names)} on {name_of(place, places)} ({number(best)})" for place, names, best in tops]
    verdict = "one register" if len(places) == 1 else "same leader" if len(leaders) == 1 else "leader changes"
    if verdict == "same leader":
        best = tops[0][1]
        sentences = [f"{listing(best)} {'has' if len(best) == 1 else 'have'} the highest mean in every register."]
    else:
        sentences = [f"Highest mean: {listing(told)}."]
    single = sorted(name for name in systems if kinds.get(name) != "fusion")
    for lexical in (name for name in single if kinds.get(name) == "lexical" and len(single) > 1):
        sentences.append(_ranks(cells, places, mode, lexical, single, len(single) < len(systems)))
    return [Finding(f"mode {mode}", verdict, " ".join(sentence for sentence in sentences if sentence))]


def _ranks(cells: Cells, places: Sequence[Place], mode: str, lexical: str, single: Sequence[str], fused: bool) -> str:
    told, total = [], 0
    for place in places:
        means = cells[place, mode]
        if lexical in means:
            position, total, shared = effects.rank(means, lexical, single)
            told.append(f"{ordinal(position)}{' (shared)' if shared else ''} on {name_of(place, places)}")
    left_out = ", fusions left out" if fused else ""
    return f"Among the {total} single systems{left_out}, {lexical} is {listing(told)}." if told else ""


def name_of(place: Place, places: Sequence[Place]) -> str:
    """The register, with its query set where another set has the same register."""
    twins = [other for other in places if other.register == place.register]
    return place.name + (f" ({place.query_set})" if len(twins) > 1 else "")


def wording_findings(cells: Cells, corpus: str, mode: str | None, kinds: Mapping[str, str]) -> list[Finding]:
    """Whether the lexical systems lead while wording is remembered and fall behind where it is not."""
    about = "wording and the lexical system"
    lexicals = sorted(name for name, kind in kinds.items() if kind == "lexical")
    dense = sorted(name for name, kind in kinds.items() if kind == "dense")
    if not (mode and lexicals and dense):
        missing = (
            "a mode that indexes the verses alone"
            if not mode
            else "a lexical system"
            if not lexicals
            else "a dense encoder"
        )
        return [
            Finding(about, "cannot be seen", f"This study lacks {missing}, so the paper’s effect cannot be seen here.")
        ]
    scales = effects.scales(cells, corpus)
    findings = []
    for scale in scales:
        where = f"{about} on {scale.wording.query_set}" if len(scales) > 1 else about
        by_verdict: dict[str, list[tuple[Rivalry, Rivalry]]] = {}
        for lexical in lexicals:
            ends = [effects.rivalry(cells, place, mode, lexical, dense) for place in (scale.wording, scale.abstract)]
            if ends[0] and ends[1]:
                by_verdict.setdefault(effects.wording_verdict(ends[0], ends[1]), []).append((ends[0], ends[1]))
        findings += [_wording_finding(where, mode, verdict, pairs) for verdict, pairs in by_verdict.items()]
    unsearched = f"No lexical and dense system were both searched in mode {mode} at both ends of the scale."
    return findings or [Finding(about, "cannot be seen", unsearched if scales else NO_SCALE)]


def _wording_finding(about: str, mode: str, verdict: str, pairs: Sequence[tuple[Rivalry, Rivalry]]) -> Finding:
    """One finding for all lexical systems of one verdict: ``pairs`` holds each one's two ends of the scale."""
    goes, loses, does = ("it goes", "it loses", "does") if len(pairs) == 1 else ("they go", "they lose", "do")
    meaning = {
        effects.APPEARS: f"{goes} from ahead of the dense encoders to behind them",
        effects.MEANS_ONLY: f"{goes} from ahead or level to behind, but the intervals are not apart at both ends",
        effects.IN_PART: f"{loses} ground where wording is not remembered, but {does} not go from ahead to behind",
        effects.ABSENT: f"{loses} no ground to the dense encoders where wording is not remembered",
    }[verdict]
    (wording, abstract), others = pairs[0], pairs[1:]
    told = [f"In mode {mode}, {wording.lexical['system']} is {_against(wording)}, and {_against(abstract)}"]
    for one, other in others:
        at = f"{_side(one)} there ({_margin(one)}) and {_side(other)} here ({_margin(other)})"
        told.append(f"{one.lexical['system']} is {at}")
    names = [ends[0].lexical["system"] for ends in pairs]
    text = (
        f"{'; '.join(told)}. The paper’s effect, that which retriever wins depends on how much wording the query "
        f"carries, {verdict}{f' for {listing(names)}' if others else ''}: {meaning}."
    )
    words = ("intervals apart at neither end", "intervals apart at one end only", "intervals apart at both ends")
    basis = [words[sum(rivalry.apart for rivalry in ends)] for ends in pairs]
    alike = len(set(basis)) == 1
    each = "; ".join(f"{name}: {words}" for name, words in zip(names, basis, strict=True))
    return Finding(about, verdict, text, basis=basis[0] if alike else each)


def _side(rivalry: Rivalry) -> str:
    return "level in the mean" if rivalry.lead == 0 else "ahead" if rivalry.lead > 0 else "behind"


def _margin(rivalry: Rivalry) -> str:
    """The lexical system's mean, and whether its interval overlaps that of the best dense encoder."""
    overlapping = effects.overlap(rivalry.lexical, rivalry.dense)
    return scored(rivalry.lexical) + _OVERLAP[overlapping]


def _against(rivalry: Rivalry) -> str:
    side = {"ahead": "ahead of", "behind": "behind"}.get(_side(rivalry), "level in the mean with")
    overlapping = effects.overlap(rivalry.lexical, rivalry.dense)
    return (
        f"{side} the best dense encoder on {rivalry.place.name} queries ({scored(rivalry.lexical)} against "
        f"{scored(rivalry.dense)} of {rivalry.dense['system']}{_OVERLAP[overlapping]})"
    )


_OVERLAP = {True: "; the intervals overlap", False: "; the intervals do not overlap", None: ""}


# What explanations do.


def explanation_findings(
    cells: Cells, corpus: str, modes: Mapping[str, Sequence[str]], keep: Keeps | None = None
) -> list[Finding]:
    """What indexing explanations does in each register, and whether the paper’s effect of it appears.

    Modes are compared that index the same poems, by ``keep``: others have other answers.
    """
    keep = keep or {}
    verses = effects.verse_mode(modes, keep)
    explained = effects.explained_modes(modes, keep, verses)
    if verses and not explained and effects.explained_modes(modes, keep):
        text = f"No mode with explanations indexes the poems of mode {verses}, so their effect cannot be seen here."
        return [Finding("explanations", "cannot be seen", text)]
    if not verses or not explained:
        text = "This study does not index both the verses alone and explanations, so their effect cannot be seen here."
        return [Finding("explanations", "cannot be seen", text)]
    places = effects.places_of(cells, corpus)
    findings = []
    for mode in explained:
        about = f"{mode} against {verses}"
        found = [(place, effects.changes(cells, place, verses, mode)) for place in places]
        told = [_changed(name_of(place, places), changed) for place, changed in found if changed]
        if not told:
            findings.append(Finding(about, "cannot be seen", "No register was searched in both modes."))
            continue
        verdicts = [_explanation_verdict(cells, scale, verses, mode) for scale in effects.scales(cells, corpus)]
        if not verdicts:
            verdicts = [("cannot be seen", NO_SCALE, "")]
        kinds = sorted({verdict for verdict, _, _ in verdicts})
        label = kinds[0] if len(kinds) == 1 else effects.IN_PART
        text, basis = " ".join(text for _, text, _ in verdicts), "; ".join(basis for _, _, basis in verdicts if basis)
        findings.append(Finding(about, label, text, tuple(told), basis))
    return findings


def _changed(name: str, changed: Sequence[Change]) -> str:
    """How the means of all systems moved in one register."""
    raised, lowered = ([c for c in changed if sign * c.change > 0] for sign in (1, -1))
    ends = sorted(changed, key=lambda change: (change.change, change.system))
    ways = [
        f"{verb} for {len(some)} of {count(len(changed), 'system')}"
        for verb, some in (("rises", raised), ("falls", lowered))
        if some
    ] or ["does not change"]
    low, high = ends[0], ends[-1]
    span = f"{moved(low.change)} for {low.system}"
    if low.change != high.change:
        span = f"from {span} to {moved(high.change)} for {high.system}"
    elif low is not high:
        span = f"{moved(low.change)} for each"
    clear = sum(change.clear for change in changed)
    note = (
        f"; the two intervals do not overlap for {clear}" if clear else "; the two intervals overlap for every system"
    )
    estimable = all(known(c.before["ci_low"], c.after["ci_low"]) for c in changed)
    return f"On {name} queries the mean {listing(ways)} ({span}{note if estimable else ''})."


def _explanation_verdict(cells: Cells, scale: effects.Scale, verses: str, mode: str) -> tuple[str, str, str]:
    """Verdict, sentence and basis."""
    ends = [effects.changes(cells, place, verses, mode) for place in (scale.wording, scale.abstract)]
    verdict, shown, clear = effects.explanation_verdict(*ends)
    total = len({change.system for change in ends[0]} & {change.system for change in ends[1]})
    if not total:
        return "cannot be seen", "No system was searched in both modes at both ends of the scale.", ""
    wording, abstract = scale.wording.name, scale.abstract.name
    effect = f"The paper’s effect, that explanations raise {abstract} queries and lower {wording} ones, {verdict}"
    basis = (
        f"means of {len(shown)} of {count(total, 'system')}; intervals apart at both ends for {len(clear) or 'none'}"
    )
    if not shown:
        none = "means of no system"
        return verdict, f"{effect}: the {none} show it.", none
    means = f"the means of {listing(shown)} show it ({len(shown)} of {total})"
    intervals = f"the intervals are apart at both ends for {listing(clear)}"
    return verdict, f"{effect}: {means}, {intervals}.", basis
