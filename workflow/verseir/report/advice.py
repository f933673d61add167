"""What should this archive deploy? One sentence for each kind of query, as those read it who run the archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from verseir.analyses.deployment import MIX, REGISTER, WITHOUT
from verseir.analyses.deployment_choice import ALPHA, KEEP, LEVEL, NEVER, OPEN, RECOMMENDED
from verseir.analyses.equivalence import FEWEST
from verseir.formats import count, interval, known, listing, number, p_phrase, percent, printed, quantity, signed
from verseir.orders import register_order
from verseir.report.panel import Column, Panel, empty, grid, notes, p, places, text, value, whole
from verseir.report.remarks import NAMED
from verseir.report.sections import Cell

ID, TITLE = "deploy", "What should this archive deploy?"
NAMES = ["deployment", "costs"]
#: The fields of an index as a sentence names them.
FIELDS = {"verse": "verses", "title": "titles", "poet": "poets"}

LEDE = (
    "A configuration is a system with the text that it indexes. The best one beside the baseline is chosen on some of "
    "the queries and its gain measured on the others, since the best of many flatters itself on the queries that chose "
    "it. Recommended: Holm’s p is below 0.05 and the interval above 0. Level: the 90% interval of the gain lies within "
    "the margin, and the cheaper is recommended. The number of queries that would tell has 80% power at 5%, before "
    "Holm’s correction, if the difference is what it seems, and if as many ask for one poem as do now. Times are those "
    "of this study, with the loading of indexes."
)
METHOD = (
    "What to deploy is chosen by the mean of the main measure, or for a mix of registers by the weighted mean of "
    "theirs. The gain over the baseline is that of choices made on other folds of whole poems (Stone, 1974), with the "
    "corrected variance of Nadeau and Bengio (2003), stratified by register, and the degrees of freedom of "
    "Satterthwaite (1946); the intervals of means are stratified bootstraps. Where one configuration stands beside the "
    "baseline the two are compared as any two systems. Numbers of queries are those of a t test (Lachin, 1981) and of "
    "two one-sided tests (Julious, 2004)."
)

REREAD = "Do the ids in `relevant` name the right poems?"

Row = Mapping[str, Any]


class Speech:
    """How the configurations of a study are spoken of.

    Args:
        modes: mode -> the fields that it indexes.
        several: whether the study has several corpora with advice, which sentences then name.
    """

    def __init__(self, modes: Mapping[str, Sequence[str]], several: bool = False):
        said = {mode: listing([_field(field) for field in fields]) for mode, fields in modes.items()}
        self.texts = {mode: name for mode, name in said.items() if list(said.values()).count(name) == 1}
        self.several = several

    def config(self, system: str | None, mode: str | None) -> str:
        """``bm25 over verses and explanations``."""
        if mode in self.texts:
            return f"{system} over {self.texts[mode]}"
        return f"{system} in mode {mode}"

    def asked(self, row: Row, start: bool = True) -> str:
        """``For abstract queries``, ``For this archive’s mix of queries``."""
        where = f" of {row['corpus']}" if self.several else ""
        if row["scope"] == MIX:
            kinds = f"the mix of queries{where}" if where else "this archive’s mix of queries"
        elif row["scope"] == REGISTER:
            kinds = f"{row['register']} queries{where}" if row["register"] else f"queries without a register{where}"
        else:
            kinds = f"the queries of {row['query_sets']}{where}"
        return f"{'For' if start else 'for'} {kinds}"


def _field(field: str) -> str:
    kind, _, source = field.partition(":")
    return FIELDS.get(kind, "explanations" if kind == "explanation" else f"{kind}{f' {source}' if source else ''}")


def sentence(row: Row, speech: Speech, real: bool = False) -> str:
    """What follows from a row, in one or a few sentences. ``real``: there are readers' queries beside its probes."""
    if row["best_system"] is None:
        return _alone(row, speech)
    said = {RECOMMENDED: _recommended, LEVEL: _level, KEEP: _keep, OPEN: _open}[row["verdict"]]
    parts = [said(row, speech)]
    if row["verdict"] != OPEN:
        parts.append(_cost(row))
    if row["probes"]:
        parts.append(_probes(real))
    return " ".join(filter(None, parts))


def _probes(real: bool) -> str:
    of = "rests in part on" if real else "rests on"
    only = "" if real else "alone, "
    return f"This {of} synthetic probes {only}drawn from the poems, not on what readers ask."


def _alone(row: Row, speech: Speech) -> str:
    """Of a row that compares nothing."""
    if row["system"] is None:
        reason = (row["note"] or "").partition("not estimable: ")[2]
        return f"{speech.asked(row)} nothing can be said: {reason.partition(';')[0]}."
    config = speech.config(row["system"], row["mode"])
    mean = f"{row['measure']} {number(row['mean'])}{_ends(row, 'mean_low', 'mean_high')}"
    return f"{speech.asked(row)} the study has {config} alone ({mean}), and nothing to compare it with."


def _ends(row: Row, low: str, high: str, sign: bool = False) -> str:
    return f" {interval(row[low], row[high], sign=sign)}" if known(row[low], row[high]) else ""


def _gain(row: Row) -> str:
    """``Recall@5 +0.310 [+0.180, +0.440]``."""
    return f"{row['measure']} {signed(row['estimate'])}{_ends(row, 'ci_low', 'ci_high', sign=True)}"


def _two(row: Row, speech: Speech) -> tuple[str, str]:
    """The best of the others, and the baseline."""
    best = speech.config(row["best_system"], row["best_mode"])
    return best, speech.config(row["baseline_system"], row["baseline_mode"])


def _recommended(row: Row, speech: Speech) -> str:
    best, baseline = _two(row, speech)
    return f"{speech.asked(row)} deploy {best}: {_gain(row)} above {baseline} ({p_phrase('Holm p', row['p_holm'])})."


def _level(row: Row, speech: Speech) -> str:
    best, baseline = _two(row, speech)
    ours = speech.config(row["system"], row["mode"])
    other, stays = (baseline, False) if ours == best else (best, True)
    why = row["reason"] or "nothing is gained by a change"
    inner = interval(row["level_low"], row["level_high"], sign=True)
    gain = f"{row['measure']} {signed(row['estimate'])}, 90% interval {inner}"
    verb = "keep" if stays else "deploy"
    over = f" of {best} over {baseline}" if not stays else ""
    level = f"{other} is level with it within {row['margin']:g} (gain{over} {gain})"
    return f"{speech.asked(row)} {verb} {ours}: {level}, and {why}."


def _keep(row: Row, speech: Speech) -> str:
    best, baseline = _two(row, speech)
    if known(row["ci_high"], row["p_holm"]) and row["ci_high"] < 0 and row["p_holm"] < ALPHA:
        most = "is below it"
    elif row["estimate"] is not None and row["estimate"] < 0:
        most = f"loses on these queries, and would gain less than {row['margin']:g} at best"
    else:
        most = f"gains less than {row['margin']:g}"
    return f"{speech.asked(row)} keep {baseline}: {best}, the best of the others, {most} ({_gain(row)})."


def _open(row: Row, speech: Speech) -> str:
    best, baseline = _two(row, speech)
    number_ = "the one that was asked is" if row["n"] == 1 else f"the {row['n']:,} that were asked are"
    if NEVER in (row["note"] or ""):
        return f"{speech.asked(row)} nothing was ever found: no configuration has {row['measure']} above 0. {REREAD}"
    first = f"{speech.asked(row)} {number_} too few to tell"
    until = f"until then {baseline} is the cautious choice"
    if row["estimate"] is None or row["n_independent"] < FEWEST:
        shared = f", and these ask for {row['n_independent']:,}" if row["n_independent"] < row["n"] else ""
        return f"{first}: nothing is stated from fewer than {FEWEST} that ask for different poems{shared}; {until}."
    needed = _needed(row)
    if not needed and row["ci_low"] is not None and row["ci_low"] > 0:
        needed = "the interval is above 0, which Holm’s correction for all rows of the table does not bear out"
    needed = needed or "no number of queries can be named"
    return f"{first}: {best} has {_apart(row, baseline)}; {needed}; {until}."


def _apart(row: Row, baseline: str) -> str:
    """``MRR 0.133 below bm25 (difference [−0.300, +0.040])``: a difference, which is told from a mean."""
    ends = _ends(row, "ci_low", "ci_high", sign=True)
    told = f" (difference{ends})" if ends else ""
    if number(abs(row["estimate"])) == number(0.0):
        return f"the same {row['measure']} as {baseline}{told}"
    way = "above" if row["estimate"] > 0 else "below"
    return f"{row['measure']} {number(abs(row['estimate']))} {way} {baseline}{told}"


def _needed(row: Row) -> str:
    tell, level = row["queries_to_tell"], row["queries_to_level"]
    told = f"about {tell:,} queries would tell, if the difference is what it seems" if tell else ""
    if level and (not tell or level < tell):
        seen = f"about {level:,} queries would show that the two are level"
        return f"{seen} if they are, and about {tell:,} that they differ" if tell else f"{seen}, if they are"
    return told


def _cost(row: Row) -> str:
    """``It takes 4 ms a query, without a GPU; the index has 12 MiB.``"""
    parts = []
    if known(row["seconds_per_query"]):
        seconds = row["seconds_per_query"]
        time = f"{quantity(1000 * seconds)} ms" if seconds < 1 else f"{quantity(seconds)} s"
        device = {True: " with a GPU", False: " without a GPU"}.get(row["gpu"], "")
        parts.append(f"it takes {time} a query{device}")
    if known(row["index_mb"]):
        parts.append(f"the index has {quantity(row['index_mb'])} MiB")
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}." if said else ""


def _mix(rows: Sequence[Row]) -> str:
    """What the mix is, from the rows of the registers."""
    shares = [(row["register"], row["share"]) for row in rows if row["scope"] == REGISTER and row["share"]]
    shares.sort(key=lambda pair: register_order(pair[0] or ""))
    said = [percent(share) if share < 0.01 else f"{printed(100 * share, '.0f')}%" for _, share in shares]
    return listing([f"{share} {name or 'without a register'}" for share, (name, _) in zip(said, shares, strict=True)])


def _left_out(row: Row) -> str:
    """The registers that a declared mix has and the queries do not."""
    note = next((part for part in (row["note"] or "").split("; ") if part.startswith(WITHOUT)), "")
    return f" {note[0].upper()}{note[1:]}." if note else ""


def _thematic(rows: Sequence[Row], speech: Speech) -> list[str]:
    """A sentence for each thematic set, or one for all where they are many."""
    if len(rows) <= NAMED:
        return [sentence(row, speech) for row in rows]
    told = []
    for verdict in (RECOMMENDED, LEVEL, KEEP, OPEN):
        own = [row for row in rows if row["verdict"] == verdict]
        named = [speech.config(row["system"], row["mode"]) for row in own if row["system"]]
        kinds = [
            f"{name} ({named.count(name)})" for name in sorted(set(named), key=lambda name: (-named.count(name), name))
        ]
        which = f": {listing(kinds[:NAMED])}{' and others' if len(kinds) > NAMED else ''}"
        if own:
            told.append(f"{verdict} for {len(own)}{which if named and verdict != OPEN else ''}")
    return [f"Of {count(len(rows), 'thematic query set')}: {'; '.join(told)}."]


def deploy(tables: Mapping[str, pl.DataFrame], modes: Mapping[str, Sequence[str]]) -> Panel:
    """The advice, from a DEPLOYMENT table: overall, by register, and for themes.

    Args:
        tables: by name.
        modes: mode -> the fields that it indexes.
    """
    frame = tables["deployment"]
    if frame.is_empty():
        return empty(ID, TITLE, "no query set that looks for poems was searched", ["deployment"])
    speech = Speech(modes, frame["corpus"].n_unique() > 1)
    sentences, brief = [], []
    for part in frame.partition_by("corpus", "query_sets", maintain_order=True):
        rows = part.to_dicts()
        mix = [row for row in rows if row["scope"] == MIX]
        registers = [row for row in rows if row["scope"] == REGISTER]
        real = any(row["share"] and row["n"] and not row["probes"] for row in registers)
        told = [sentence(row, speech, real and row["scope"] == MIX) for row in [*mix, *registers]]
        if mix and mix[0]["n"] and _mix(rows):
            told[0] += f" The mix: {_mix(rows)}.{_left_out(mix[0])}"
        sentences += told
        # One register that is asked in speaks for the archive: there is no mix then.
        brief += told[: len(mix)] or [said for row, said in zip(registers, told, strict=True) if row["n"]]
        brief += [
            said
            for row, said in zip(registers, told[len(mix) :], strict=True)
            if mix and not speech.several and row["verdict"] != OPEN
        ]
    themes = frame.filter(~pl.col("scope").is_in([MIX, REGISTER])).to_dicts()
    sentences += _thematic(themes, speech)
    return Panel(ID, TITLE, LEDE, sentences, [_grid(frame, speech)], NAMES, brief=brief or _thematic(themes, speech))


def _grid(frame: pl.DataFrame, speech: Speech) -> Any:
    def config(prefix: str, heading: str) -> Column:
        def cell(row: Row) -> Cell:
            system = row[f"{prefix}system"]
            return Cell(speech.config(system, row[f"{prefix}mode"]) if system else "")

        return Column(heading, cell, numeric=False)

    def timed(row: Row) -> Cell:
        seconds = row["seconds_per_query"]
        return Cell(quantity(1000 * seconds), seconds) if known(seconds) else Cell("")

    def sized(row: Row) -> Cell:
        return Cell(quantity(row["index_mb"]), row["index_mb"]) if known(row["index_mb"]) else Cell("")

    def needed(key: str) -> Column:
        heading, small = {
            "queries_to_tell": ("Would tell", "queries"),
            "queries_to_level": ("Would show level", "queries"),
        }[key]
        return Column(heading, lambda row: Cell(f"{row[key]:,}", row[key]) if row[key] else Cell(""), small=small)

    return grid(
        frame,
        "What to deploy, by kind of query",
        [
            Column("Queries", lambda row: Cell(_about(row)), numeric=False),
            *places(frame, "corpus", "measure"),
            whole("n", "Number"),
            text("verdict", "Verdict"),
            config("", "Deploy"),
            value("mean", "Its mean", "mean_low", "mean_high"),
            config("baseline_", "Baseline"),
            value("baseline_mean", "Its mean"),
            config("best_", "Best of the others"),
            value("estimate", "Its gain", "ci_low", "ci_high", sign=True),
            p(),
            value("in_sample", "Gain", small="on the queries that chose", sign=True),
            needed("queries_to_tell"),
            needed("queries_to_level"),
            Column("Time", timed, small="ms a query"),
            Column("Index", sized, small="MiB"),
            notes(frame),
        ],
    )


def _about(row: Row) -> str:
    probes = " (synthetic)" if row["probes"] else ""
    if row["scope"] == MIX:
        return f"mix{probes}"
    return f"{(row['register'] or 'without a register') if row['scope'] == REGISTER else row['query_sets']}{probes}"
