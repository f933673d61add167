"""Rewritten query sets: quoting queries said in other words, by a person or by a model, each rewrite checked.

A rewrite is taken when it keeps the information need and the proper names, at about the length of the original, and
drops the wording: no run of the threshold's length with any target, and at most a share of the quoted words. Every
check that fails is a reject with its own reason; an original without a rewrite is one too.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from verseir.arabic import tokenize
from verseir.faults import Fault, InputFaults, UserError
from verseir.overlap import longest_shared_run
from verseir.queries.edits import NO_TARGET, Edited, Original, Originals, Reject, edited_set, without_quotation
from verseir.rows import Row, first_forbidden, json_type, read_rows, read_utf8

NOT_GIVEN = "no rewrite given"
NOT_QUOTING = "the original does not quote"
NEED_LOST = "the information need is not kept"


@dataclass(frozen=True)
class Limits:
    """What a rewrite may keep of the wording, and must keep of the rest.

    Args:
        keep_share: largest share of the distinct quoted words that may be left.
        length: fewest and most tokens, relative to the original.
        names: proper names that must survive where the original holds them.
    """

    keep_share: float = 0.5
    length: tuple[float, float] = (0.5, 2.0)
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rewrite:
    """A rewrite, the proper names that it must hold, and whether it keeps the information need (None: not said)."""

    text: str
    names: tuple[str, ...] = ()
    need_kept: bool | None = None


@dataclass(frozen=True)
class Prompts:
    """What a model is told: to rewrite a query, and to say whether a rewrite keeps the information need."""

    rewrite: str
    need: str


class Answer(Protocol):
    """What a model said: ``value`` where ``status`` is ``answered``; ``content`` is the answer as it came."""

    @property
    def status(self) -> str: ...

    @property
    def value(self) -> dict[str, Any] | None: ...

    @property
    def content(self) -> str: ...


#: Put a prompt to a model with several inputs (named texts); answers follow the schema and are in the same order.
Ask = Callable[[str, Sequence[Mapping[str, str]], Mapping[str, Any]], Sequence[Answer]]

REWRITTEN = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string"}},
}
NEED = {
    "type": "object",
    "additionalProperties": False,
    "required": ["kept"],
    "properties": {"kept": {"type": "string", "enum": ["yes", "partly", "no"]}},
}


def limits_of(rule: Mapping[str, Any], base: Path) -> Limits:
    """The limits that a rule sets. ``names`` is a list, or a file with one name a line.

    Raises:
        InputFaults: the file of names cannot be read.
        UserError: the shortest length is above the longest.
    """
    low, high = rule.get("length", Limits.length)
    if low > high:
        raise UserError(f"the shortest length {low} is above the longest {high}", hint="length: [shortest, longest]")
    names = rule.get("names", [])
    if isinstance(names, str):
        faults: list[Fault] = []
        names = [line.strip() for line in read_utf8(base / names, names, faults).split("\n") if line.strip()]
        if faults:
            raise InputFaults(faults)
    return Limits(rule.get("keep_share", Limits.keep_share), (low, high), tuple(sorted(set(names))))


def read_rewrites(path: Path, label: str, query_ids: Collection[str]) -> dict[str, Rewrite]:
    """The rewrites in a file (JSON Lines, CSV or TSV), by the id of their original.

    Fields: ``source_query_id``, ``text``, and perhaps ``names`` (a list; in a table parted by semicolons) and
    ``need_kept`` (true or false: the writer's claim). Others are passed over.

    Raises:
        InputFaults: with all faults at once, such as a rewrite of a query not in ``query_ids``, or a second one.
    """
    faults: list[Fault] = []
    rows = read_rows(path, label, faults)
    if not rows and not faults:
        faults.append(Fault(label, 0, "", "holds no rewrites", "one row for each: source_query_id, text"))
    _check_fields(rows, label, faults)
    found: dict[str, Rewrite] = {}
    line_of: dict[str, int] = {}
    for row in rows:
        query_id = row.values.get("source_query_id")
        rewrite = _rewrite(row, label, faults)
        if not isinstance(query_id, str) or not query_id:
            faults.append(Fault(label, row.line, "source_query_id", "is missing", "the id of the query rewritten"))
        elif query_id in line_of:
            problem = f"a second rewrite of query '{query_id}', first on line {line_of[query_id]}"
            faults.append(Fault(label, row.line, "source_query_id", problem, "keep one"))
        elif query_id not in query_ids:
            near = difflib.get_close_matches(query_id, sorted(query_ids), n=1)
            hint = f"did you mean '{near[0]}'?" if near else "check the id, or take the row out"
            problem = f"no query of the set is called '{query_id}'"
            faults.append(Fault(label, row.line, "source_query_id", problem, hint))
        else:
            line_of[query_id] = row.line
            found[query_id] = rewrite
    if faults:
        raise InputFaults(faults)
    return found


def _check_fields(rows: list[Row], label: str, faults: list[Fault]) -> None:
    """Optional fields that look misspelt: passed over, they would be missed in silence."""
    seen = {name for row in rows for name in row.values}
    for name in ("names", "need_kept"):
        near = difflib.get_close_matches(name, sorted(seen - {"names", "need_kept"}), n=1, cutoff=0.75)
        if name not in seen and near:
            line = next(row.line for row in rows if near[0] in row.values)
            faults.append(Fault(label, line, near[0], "is no field of a rewrite", f"did you mean '{name}'?"))


def _rewrite(row: Row, label: str, faults: list[Fault]) -> Rewrite:
    text, names, need_kept = (row.values.get(name) for name in ("text", "names", "need_kept"))
    if not isinstance(text, str):
        found = "is missing" if text is None else f"is {json_type(text)}, expected text"
        faults.append(Fault(label, row.line, "text", found, "the query in other words"))
        text = ""
    elif code := first_forbidden([text]):
        faults.append(Fault(label, row.line, "text", f"holds the character {code}", "take it out"))
    if isinstance(names, str):
        names = [name.strip() for name in names.split(";") if name.strip()]
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        faults.append(Fault(label, row.line, "names", f"is {json_type(names)}, expected names", '["name", ...]'))
        names = None
    if isinstance(need_kept, str):
        need_kept = {"": None, "true": True, "false": False}.get(need_kept.strip().lower(), need_kept)
    if need_kept is not None and not isinstance(need_kept, bool):
        faults.append(Fault(label, row.line, "need_kept", f"is {need_kept!r}", "true or false"))
        need_kept = None
    return Rewrite(text.strip(), tuple(names or ()), need_kept)


def reasons_against(original: Original, rewrite: Rewrite, originals: Originals, limits: Limits) -> list[str]:
    """Every reason not to take a rewrite; none for a good one."""
    preset, threshold = originals.preset, originals.threshold
    old, new = tokenize(original.text, preset), tokenize(rewrite.text, preset)
    if not new:
        return ["the rewrite is empty"]
    if new == old:
        return ["the rewrite is the original"]
    reasons = []
    if max(longest_shared_run(new, target).length for target in original.targets) >= threshold:
        reasons.append(f"{threshold} tokens in a row stand in a target")
    names = names_in(old, limits.names, preset) + list(rewrite.names)
    named = {token for name in names for token in old if _is_name(token, tokenize(name, preset))}
    quoted = set(tokenize(" ".join(without_quotation(original, preset, threshold)[1]), preset)) - named
    if quoted and len(quoted & set(new)) > limits.keep_share * len(quoted):
        reasons.append(f"more than {limits.keep_share:g} of the quoted words are left")
    low, high = limits.length
    if len(new) < low * len(old):
        reasons.append(f"shorter than {low:g} of the original")
    if len(new) > high * len(old):
        reasons.append(f"longer than {high:g} of the original")
    if len(names_in(new, names, preset)) < len(names):
        reasons.append("a proper name is lost")
    if rewrite.need_kept is False:
        reasons.append(NEED_LOST)
    return reasons


def names_in(tokens: Sequence[str], names: Sequence[str], preset: str) -> list[str]:
    """Those of ``names`` that stand in ``tokens``; a conjunction, preposition or article may be joined to them."""
    found = []
    for name in names:
        parts = tokenize(name, preset)
        if any(
            _begins_with(tokens[start], parts[0]) and list(tokens[start + 1 : start + len(parts)]) == parts[1:]
            for start in range(len(tokens))
            if parts
        ):
            found.append(name)
    return found


def _is_name(token: str, parts: Sequence[str]) -> bool:
    return bool(parts) and (_begins_with(token, parts[0]) or token in parts[1:])


def _begins_with(token: str, name: str) -> bool:
    """Whether ``token`` is ``name``, perhaps after و or ف and ب, ك or ل; the article is one letter less after ل."""
    forms = re.escape(name)
    if name.startswith("ال"):
        forms += "|لل" + re.escape(name.removeprefix("ال"))
    return re.fullmatch(f"[وف]?[بكل]?(?:{forms})", token) is not None


def rewrite_by_hand(name: str, originals: Originals, rewrites: Mapping[str, Rewrite], limits: Limits) -> Edited:
    """The set of the rewrites in ``rewrites`` (by the id of their original) that pass every check.

    That the information need is kept is the writer's claim: only ``need_kept`` false rejects.
    """
    untouched = {original.query_id for original in originals.other} & set(rewrites)
    rejects = [Reject(query_id, rewrites[query_id].text, NOT_QUOTING) for query_id in untouched]
    rejects += [Reject(o.query_id, None, NOT_GIVEN) for o in originals.quoting if o.query_id not in rewrites]
    return _taken(name, "rewrite", originals, rewrites, rejects, limits)


def rewrite_by_model(name: str, originals: Originals, prompts: Prompts, ask: Ask, limits: Limits) -> Edited:
    """The set of a model's rewrites that pass every check.

    Whether a rewrite keeps the information need is asked in a second call, of the rewrites that pass all other checks;
    ``yes`` and ``partly`` are taken.
    """
    rejects: list[Reject] = []
    rewrites: dict[str, Rewrite] = {}
    inputs = [_rewrite_input(original, originals, limits) for original in originals.quoting]
    for original, answer in zip(originals.quoting, ask(prompts.rewrite, inputs, REWRITTEN), strict=True):
        text = " ".join(answer.value["text"].split()) if answer.value else ""
        if not answer.value:
            content = " ".join(answer.content.split())[:300]
            rejects.append(Reject(original.query_id, content, f"the model's answer was {answer.status}"))
        elif first_forbidden([text]):
            rejects.append(Reject(original.query_id, None, "the model's answer was malformed"))
        else:
            rewrites[original.query_id] = Rewrite(text)
    passing = [
        original
        for original in originals.quoting
        if original.query_id in rewrites
        and not reasons_against(original, rewrites[original.query_id], originals, limits)
    ]
    inputs = [{"original": o.text, "rewritten": rewrites[o.query_id].text} for o in passing]
    n_partly = 0
    for original, answer in zip(passing, ask(prompts.need, inputs, NEED), strict=True):
        if not answer.value:
            text = rewrites.pop(original.query_id).text
            reason = f"the model's answer about the information need was {answer.status}"
            rejects.append(Reject(original.query_id, text, reason))
            continue
        kept = answer.value["kept"]
        n_partly += kept == "partly"
        rewrites[original.query_id] = replace(rewrites[original.query_id], need_kept=kept != "no")
    notes = [f"of them with the information need kept in part: {n_partly}"] if n_partly else []
    return _taken(name, "rewrite-by-model", originals, rewrites, rejects, limits, notes)


def _rewrite_input(original: Original, originals: Originals, limits: Limits) -> dict[str, str]:
    quoted = without_quotation(original, originals.preset, originals.threshold)[1]
    names = names_in(tokenize(original.text, originals.preset), limits.names, originals.preset)
    return {"query": original.text, "quoted": "\n".join(quoted), "names": "\n".join(names)}


def _taken(
    name: str,
    edit: str,
    originals: Originals,
    rewrites: Mapping[str, Rewrite],
    rejects: list[Reject],
    limits: Limits,
    notes: Sequence[str] = (),
) -> Edited:
    rejects = rejects + [Reject(query_id, None, NO_TARGET) for query_id in originals.without_target]
    made = {}
    for original in originals.quoting:
        if original.query_id not in rewrites:
            continue
        rewrite = rewrites[original.query_id]
        if reasons := reasons_against(original, rewrite, originals, limits):
            rejects += [Reject(original.query_id, rewrite.text, reason) for reason in reasons]
        else:
            quoted = without_quotation(original, originals.preset, originals.threshold)[1]
            made[original.query_id] = (rewrite.text, " … ".join(quoted))
    return edited_set(name, edit, originals, originals.quoting, made, rejects, notes)


def read_prompts(path: Path) -> Prompts:
    """The two prompts of a file: what stands under the headings ``## rewrite`` and ``## need``.

    Raises:
        InputFaults: the file cannot be read.
        UserError: a heading is absent or has nothing under it.
    """
    faults: list[Fault] = []
    text = read_utf8(path, str(path), faults)
    if faults:
        raise InputFaults(faults)
    parts = re.split(r"^## +(\S.*?) *$", text, flags=re.MULTILINE)
    found = {heading.lower(): body.strip() for heading, body in zip(parts[1::2], parts[2::2], strict=True)}
    for heading in ("rewrite", "need"):
        if not found.get(heading):
            raise UserError(f"{path} has no prompt under the heading '## {heading}'", hint="see resources/prompts")
    return Prompts(found["rewrite"], found["need"])
