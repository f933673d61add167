"""Rubrics: what a judge is told to score, and the form that its answer must have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from verseir.faults import Fault, InputFaults, closest, shown
from verseir.rows import first_forbidden, json_type, read_utf8, starts_formula, whole_number
from verseir.yaml_files import read_yaml

#: What an aspect asks about: what the poem says, its words, or all in all.
KINDS = ("aboutness", "wording", "overall")
#: The one aspect of kind ``overall`` has this id, so that judges with different rubrics can be compared on it.
OVERALL = "overall"
#: The kind of the aspects about what a poem says, and the name of their mean.
ABOUTNESS = "aboutness"
#: Ids that would be taken for something else: the mean of the aspects about what a poem says, and fields of a file of
#: judgements.
RESERVED = ("aboutness", "corpus", "query_set", "item_id", "query_id", "poem_id", "status", "scores", "justifications")
#: What follows the id of an aspect in the column of its justifications.
JUSTIFICATION = "_justification"

_KEYS = ("name", "scale", "instruction", "aspects")
_ASPECT_KEYS = ("id", "title", "kind", "question", "anchors")
_ID = re.compile(r"[a-z0-9][a-z0-9_.+-]*")


@dataclass(frozen=True)
class Aspect:
    """One thing to score; ``anchors`` say what each point of the scale means."""

    id: str
    title: str
    kind: str
    question: str
    anchors: Mapping[int, str]


@dataclass(frozen=True)
class Rubric:
    """A rubric. ``scale`` ascends."""

    name: str
    scale: tuple[int, ...]
    instruction: str
    aspects: tuple[Aspect, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the aspects, in order."""
        return tuple(aspect.id for aspect in self.aspects)

    @property
    def about(self) -> tuple[str, ...]:
        """The ids of the aspects about what a poem says, in order; none in a rubric of one aspect, the overall one."""
        return tuple(aspect.id for aspect in self.aspects if aspect.kind == ABOUTNESS)

    @property
    def overall(self) -> Aspect:
        """The aspect that judges are compared on."""
        return next(aspect for aspect in self.aspects if aspect.kind == OVERALL)

    @property
    def prompt(self) -> str:
        """The system message: the instruction, the aspects with their anchors, and the form of the answer."""
        parts = [self.instruction.strip(), "The aspects:"]
        for aspect in self.aspects:
            anchors = [f"  {point}: {aspect.anchors[point]}" for point in self.scale]
            parts.append("\n".join([f"`{aspect.id}` - {aspect.title}. {aspect.question}", *anchors]))
        form = ", ".join(f'"{name}": {{"justification": "...", "score": ...}}' for name in self.ids)
        points = ", ".join(map(str, self.scale))
        parts.append(
            "Answer with one JSON object and nothing else. It holds all aspects in this order, each with a "
            f"justification of one short line, then a score, one of {points}:\n{{{form}}}"
        )
        return "\n\n".join(parts) + "\n"

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of an answer. The justification comes first, so that the score follows from it."""
        scored = {
            "type": "object",
            "additionalProperties": False,
            "required": ["justification", "score"],
            "properties": {
                "justification": {"type": "string"},
                "score": {"type": "integer", "enum": list(self.scale)},
            },
        }
        return {
            "type": "object",
            "additionalProperties": False,
            "required": list(self.ids),
            "properties": dict.fromkeys(self.ids, scored),
        }


def read_rubric(path: Path | str) -> Rubric:
    """The rubric in a YAML file: ``name``, ``scale``, ``instruction`` and ``aspects``, as resources/prompts has them.

    Raises:
        InputFaults: all that is wrong with the file, with the line and the key.
    """
    faults: list[Fault] = []
    text = read_utf8(Path(path), str(path), faults)
    if faults and not text:
        raise InputFaults(faults)
    content, lines, unsound = read_yaml(text, str(path), "see resources/prompts for a rubric")
    faults += unsound
    check = _Check(str(path), lines, faults)
    if content is not None or not faults:
        rubric = _rubric(content, check)
    if faults:
        raise InputFaults(faults)
    return rubric


@dataclass
class _Check:
    """Collects what is wrong, at the line of its key."""

    file: str
    lines: Mapping[tuple[str, ...], int]
    faults: list[Fault]

    def fault(self, place: tuple[str, ...], problem: str, hint: str = "") -> None:
        known = place
        while known and known not in self.lines:
            known = known[:-1]
        self.faults.append(Fault(self.file, self.lines.get(known, 0), ".".join(place), problem, hint))

    def mapping(self, value: Any, place: tuple[str, ...], keys: tuple[str, ...]) -> Mapping[Any, Any]:
        """``value`` if it is a mapping, whose keys must be ``keys`` and no others."""
        if not isinstance(value, dict):
            self.fault(place, f"is {_type(value)}, expected keys and values", "keys: " + ", ".join(keys))
            return {}
        for key in value:
            if key not in keys:
                self.fault((*place, str(key)), f"unknown key: {shown(key)}", closest(str(key), keys))
        for key in keys:
            if key not in value:
                self.fault((*place, key), f"the key '{key}' is missing", "keys: " + ", ".join(keys))
        return value

    def text(self, values: Mapping[Any, Any], key: Any, place: tuple[str, ...], hint: str) -> str:
        """The text under a key; an absent key was reported before."""
        value = values.get(key, "-")
        place = (*place, str(key))
        if not isinstance(value, str):
            self.fault(place, f"is {_type(value)}, expected text", hint or "put it in quotes")
        elif not value.strip():
            self.fault(place, "is empty", hint)
        elif code := first_forbidden(value.split("\n")):
            self.fault(place, f"holds the character {code}", "take it out")
        else:
            return value.strip()
        return ""


def _rubric(content: Any, check: _Check) -> Rubric:
    values = check.mapping(content, (), _KEYS)
    name = check.text(values, "name", (), "what tables call the rubric")
    if "name" in values and starts_formula(name):
        problem = f"'{shown(name)}' begins as a formula, which a spreadsheet would run"
        check.fault(("name",), problem, "begin with a letter or a digit")
    scale = _scale(values["scale"], check) if "scale" in values else ()
    instruction = check.text(values, "instruction", (), "what the judge is told, before the aspects")
    listed = values.get("aspects", [])
    if not isinstance(listed, list) or ("aspects" in values and not listed):
        found = "is empty" if listed == [] else f"is {_type(listed)}, expected a list"
        check.fault(("aspects",), found, "a list of aspects, each with " + ", ".join(_ASPECT_KEYS))
        return Rubric(name, scale, instruction, ())
    aspects = [_aspect(value, ("aspects", str(number)), scale, check) for number, value in enumerate(listed)]
    if listed:
        _check_ids(aspects, check)
        _check_kinds(aspects, check)
    return Rubric(name, scale, instruction, tuple(aspects))


def _scale(value: Any, check: _Check) -> tuple[int, ...]:
    hint = "whole numbers from the lowest grade to the highest, at least two, such as [1, 2, 3, 4, 5]"
    if not isinstance(value, list):
        check.fault(("scale",), f"is {_type(value)}, expected a list", hint)
        return ()
    wrong = [point for point in value if not isinstance(point, int) or whole_number(point) is None]
    if wrong:
        check.fault(("scale",), f"holds {shown(wrong[0])}, which is no whole number", hint)
    elif len(value) < 2:
        check.fault(("scale",), f"has {len(value)} points", hint)
    elif any(first >= second for first, second in pairwise(value)):
        check.fault(("scale",), "does not ascend", hint)
    else:
        return tuple(value)
    return ()


def _aspect(value: Any, place: tuple[str, ...], scale: tuple[int, ...], check: _Check) -> Aspect:
    values = check.mapping(value, place, _ASPECT_KEYS)
    name = check.text(values, "id", place, "a short name, such as theme")
    title = check.text(values, "title", place, "what people call the aspect")
    kind = check.text(values, "kind", place, "one of " + ", ".join(KINDS))
    question = check.text(values, "question", place, "what the judge is asked")
    if "kind" in values and kind and kind not in KINDS:
        check.fault((*place, "kind"), f"unknown kind '{shown(kind)}'", closest(kind, KINDS))
    anchors = _anchors(values["anchors"], (*place, "anchors"), scale, check) if "anchors" in values else {}
    return Aspect(name, title, kind, question, anchors)


def _anchors(value: Any, place: tuple[str, ...], scale: tuple[int, ...], check: _Check) -> dict[int, str]:
    hint = "one line for each point of the scale" + (f": {', '.join(map(str, scale))}" if scale else "")
    if not isinstance(value, dict):
        check.fault(place, f"is {_type(value)}, expected points and texts", hint)
        return {}
    quoted = {point: whole_number(point) for point in value if isinstance(point, str) and whole_number(point) in scale}
    if quoted:
        told = ", ".join(f"'{point}'" for point in quoted)
        check.fault(place, f"points of the scale stand in quotes: {told}", "take the quotes away: 1: ..., not '1': ...")
        value = {quoted.get(point, point): text for point, text in value.items()}
    points = [point for point in value if not isinstance(point, bool) and point in scale]
    for point in value:
        if scale and point not in points:
            told = f"'{shown(point)}'" if isinstance(point, str) else shown(point)
            check.fault((*place, shown(point)), f"{told} is no point of the scale", hint)
    for point in scale:
        if point not in points:
            check.fault(place, f"the point {point} has no anchor", hint)
    return {point: check.text(value, point, place, "what this point means") for point in points}


def _check_ids(aspects: list[Aspect], check: _Check) -> None:
    first: dict[str, int] = {}
    for number, aspect in enumerate(aspects):
        place = ("aspects", str(number), "id")
        if aspect.id in ("", "-"):  # reported before
            continue
        if not _ID.fullmatch(aspect.id):
            check.fault(place, f"'{shown(aspect.id)}' is no short name", "small letters, digits and _ . + -, no blanks")
        if aspect.id in RESERVED or aspect.id.endswith(JUSTIFICATION):
            check.fault(place, f"'{aspect.id}' means something else in tables and files", "give it another id")
        if first.setdefault(aspect.id, number) != number:
            check.fault(place, f"a second aspect '{aspect.id}'", f"the first is aspects.{first[aspect.id]}")


def _check_kinds(aspects: list[Aspect], check: _Check) -> None:
    overall = [number for number, aspect in enumerate(aspects) if aspect.kind == OVERALL]
    if len(overall) != 1:
        check.fault(("aspects",), f"{len(overall)} aspects are of kind overall", "exactly one must be")
    # A rubric of one aspect has no parts that could be about what the poem says: the whole is.
    if len(aspects) > 1 and not any(aspect.kind == ABOUTNESS for aspect in aspects):
        problem = "no aspect is of kind aboutness"
        check.fault(("aspects",), problem, "at least one must be, unless the overall one stands alone")
    for number, aspect in enumerate(aspects):
        if (aspect.kind == OVERALL) != (aspect.id == OVERALL) and aspect.kind in KINDS and aspect.id not in ("", "-"):
            problem = f"'{aspect.id}' is of kind {aspect.kind}"
            hint = "the aspect of kind overall, and no other, has the id overall: judges are compared on it"
            check.fault(("aspects", str(number), "id"), problem, hint)


def _type(value: Any) -> str:
    """What a value of YAML is, in words; an unquoted date is one too."""
    return json_type(value) if value is None or isinstance(value, str | int | float | list | dict) else "no text"
