"""The study: a config mapping, checked against its schema and against the registry, all faults at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from verseir.construction import construction_faults, fill_construction, graded_faults
from verseir.encoding_faults import encoding_faults, search_faults, tuning_faults
from verseir.faults import Fault, InputFaults, closest, shown
from verseir.fine_tuning import add_trained, fill_recipes
from verseir.judging_faults import judging_faults, model_faults
from verseir.labelling import graded_sheet
from verseir.package_faults import package_faults
from verseir.recipe_faults import recipe_faults
from verseir.study import Study
from verseir.study_faults import analysis_faults, arm_faults, known_attributes, reference_faults

SCHEMA = Path(__file__).parent.parent / "schemas" / "study.schema.json"

#: Keys that the command line may set beside a study (`--config debug=true`).
COMMAND_LINE_KEYS = {"debug"}

#: Characters that no text of a study may hold: they end in commands, addresses and names of files.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
#: Keys whose texts may hold them: what parts the verses in a cell of a file.
_SEPARATORS = ("verse_separator", "hemistich_separator")
#: Numbers are smaller than this: tables hold no larger ones.
_LARGEST = 2**63

#: The measures that are analysed where the study does not say.
ANALYSED = ("Recall@1", "Recall@5", "MRR", "nDCG@10")


def canonical(value: Any) -> str:
    """``value`` as JSON that does not depend on the order of keys: a rule's parameter."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


#: What queries are for that are drawn from a corpus or from other queries.
DRAWN = {"edit": "edited", "chapters": "thematic", "idioms": "idiom", "poetry": "thematic", "graded": "thematic"}


def load_study(config: Mapping[str, Any], base: Path, where: str = "config") -> Study:
    """Check ``config`` and return the study.

    Args:
        config: the merged Snakemake config.
        base: folder that relative paths in the config start from.
        where: name of the config for messages.

    Raises:
        InputFaults: with every fault of the config, its registry files and their references to each other.
    """
    import jsonschema

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    spec = {key: value for key, value in config.items() if key not in COMMAND_LINE_KEYS}
    unsound = list(_unsound(spec, where))
    if unsound:
        raise InputFaults(unsound)
    faults = [_schema_fault(error, where) for error in jsonschema.Draft202012Validator(schema).iter_errors(spec)]
    if faults:
        raise InputFaults(faults)
    spec = _with_defaults(_whole_numbers(spec, schema, schema["$defs"]), schema)
    if str(config.get("debug", "")).lower() in {"true", "1", "yes"}:
        spec["study"] += ".debug"  # results of a trial never lie where real ones do
    registry = _load_registry(spec, base, faults)
    faults += reference_faults(spec, registry, where)
    faults += model_faults(spec, where)
    faults += graded_faults(spec, where)
    if registry:
        faults += recipe_faults(spec, registry, where)
    if faults:
        raise InputFaults(faults)
    fill_recipes(spec)
    add_trained(spec, registry)
    _localise(spec, base)
    _fill_analyses(Study(spec, registry))
    _fill_contrasts(Study(spec, registry))
    faults += judging_faults(Study(spec, registry), where)
    if faults:
        raise InputFaults(faults)
    _fill_judging(Study(spec, registry))
    fill_construction(Study(spec, registry))
    faults += construction_faults(Study(spec, registry), where)
    faults += arm_faults(Study(spec, registry), where)
    faults += analysis_faults(Study(spec, registry), where)
    if faults:
        raise InputFaults(faults)
    registry |= _variants(Study(spec, registry))
    faults += tuning_faults(Study(spec, registry), where)
    faults += encoding_faults(Study(spec, registry), where)
    faults += search_faults(Study(spec, registry), where)
    faults += package_faults(Study(spec, registry), where)
    if faults:
        raise InputFaults(faults)
    return Study(spec, registry)


def query_sheet(study: Study) -> dict[str, Any]:
    """Settings of the sheet on which people write queries, with all defaults, for a study that need not speak of it.

    ``corpus`` is not there where the study has several and names none.
    """
    sheet = json.loads(json.dumps(study.spec.get("query_sheet", {})))
    _fill(sheet, json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]["query_sheet"])
    sheet.setdefault("seed", study.spec["seed"])
    if len(study.corpora) == 1:
        sheet.setdefault("corpus", study.corpora[0])
    return sheet


def _unsound(value: Any, where: str, place: tuple[str, ...] = ()) -> Iterator[Fault]:
    """Keys that are no text, texts with control characters and numbers without end, anywhere in a config."""
    field = ".".join(place)
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                yield Fault(where, 0, field, f"the key {key!r} is no text", "put it in quotes")
            elif found := _CONTROL.search(key):
                yield Fault(where, 0, field, f"the key {shown(repr(key))} holds {_code_point(found[0])}", "take it out")
            yield from _unsound(inner, where, (*place, str(key)))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _unsound(inner, where, (*place, str(position)))
    elif isinstance(value, str) and (found := _CONTROL.search(value)):
        if place and place[-1] in _SEPARATORS:
            return
        hint = "write the text on the line of its key: a block (| or >) ends with a line break"
        yield Fault(where, 0, field, f"holds {_code_point(found[0])}", hint if found[0] == "\n" else "take it out")
    elif isinstance(value, int | float) and not abs(value) < _LARGEST:
        yield Fault(where, 0, field, f"is {shown(value)}, which is no number to work with", "a number below 2**63")


def _code_point(char: str) -> str:
    return f"the character U+{ord(char):04X}" + (", a line break" if char == "\n" else "")


def _whole_numbers(value: Any, part: Any, parts: Mapping[str, Any]) -> Any:
    """``value`` with 4 for 4.0 where its schema ``part`` wants a whole number, which JSON Schema lets pass."""
    if not isinstance(part, dict):
        return value
    if "$ref" in part:
        part = parts[part["$ref"].rpartition("/")[2]]
    for choice in part.get("anyOf", []):
        value = _whole_numbers(value, choice, parts)
    if isinstance(value, float) and "integer" in part.get("type", ""):
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        named, others = part.get("properties", {}), part.get("additionalProperties")
        return {key: _whole_numbers(inner, named.get(key, others), parts) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(inner, part.get("items"), parts) for inner in value]
    return value


def _schema_fault(error: Any, where: str) -> Fault:
    path = ".".join(str(part) for part in error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        unknown = sorted(set(error.instance) - set(known))
        return Fault(where, 0, path, f"unknown key: {', '.join(map(shown, unknown))}", closest(str(unknown[0]), known))
    if error.validator is None:  # a schema that allows nothing
        return Fault(where, 0, path, "does not belong to this rule", "take it out")
    if error.validator == "pattern":
        hint = error.schema.get("description", f"must match {error.validator_value}")
        return Fault(where, 0, path, f"'{shown(error.instance)}' is not allowed here", hint)
    message = error.message.replace(repr(error.instance), shown(repr(error.instance)))
    return Fault(where, 0, path, message, error.schema.get("description", ""))


def _with_defaults(spec: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    filled = json.loads(json.dumps(spec))
    for key, part in schema["properties"].items():
        if "default" in part:
            filled.setdefault(key, part["default"])
    chunks = filled.setdefault("chunks", {})
    for key, part in schema["properties"]["chunks"]["properties"].items():
        chunks.setdefault(key, part["default"])
    filled.setdefault(
        "contrasts",
        [{"family": "against-best", "baseline": "best", "per": ["corpus", "query_set", "mode", "measure"]}],
    )
    # nDCG@10 has a meaning for one relevant poem and for many.
    main = "nDCG@10" if "nDCG@10" in filled["measures"] else filled["measures"][0]
    for family in filled["contrasts"]:
        family.setdefault("measures", [main])
    for family in filled["contrasts"]:
        family.setdefault("of", "systems")
    # Graded sets come last: they have the strata of their parents.
    for query_set in sorted(filled["query_sets"].values(), key=lambda one: "graded" in one):
        query_set.setdefault("purpose", next((DRAWN[key] for key in DRAWN if key in query_set), "known-item"))
        query_set.setdefault("judged", "now")
        if query_set.get("poetry", {}).get("scope") == "mono":
            query_set.setdefault("strata", ["language"])
        parent = filled["query_sets"].get(query_set.get("graded", {}).get("of"), query_set)
        strata = [] if "poetry" in parent else list(known_attributes(parent))
        query_set.setdefault("strata", list(parent.get("strata", strata)))
        if "encoding" in query_set:
            _fill(query_set["encoding"], schema["$defs"]["encoding"])
        if "probe" in query_set:
            _fill(query_set["probe"], schema["$defs"]["query_set"]["properties"]["probe"])
            query_set["probe"].setdefault("seed", filled["seed"])
        if "beir" in query_set:
            _fill(query_set["beir"], schema["$defs"]["query_set"]["properties"]["beir"])
        if "edit" in query_set:
            _fill(query_set["edit"], schema["$defs"]["edit"])
        if "split" in query_set:
            _fill(query_set["split"], schema["$defs"]["query_set"]["properties"]["split"])
    _fill(filled["analyses"], schema["$defs"]["analyses"])
    for recipe in filled["fine_tuning"].values():
        _fill(recipe, schema["$defs"]["recipe"])
    if "judging" in filled:
        _fill(filled["judging"], schema["$defs"]["judging"])
        for sheet in filled["judging"]["sheets"].values():
            _fill(sheet, schema["$defs"]["sheet"])
    return filled


def _localise(spec: dict[str, Any], base: Path) -> None:
    """Read a benchmark from the folder ``local`` where there is one, else from the hub."""
    for corpus in spec["corpora"].values():
        local = corpus.get("local") if corpus["adapter"] in ("idiolink", "poetrymteb") else None
        if local is not None and (base / local).is_dir():
            corpus["path"] = corpus.pop("local")
            corpus.pop("hub", None)


def _fill(value: dict[str, Any], part: dict[str, Any]) -> None:
    """Fill in the defaults of a part of the schema, and of the parts inside it that are given or have a default."""
    for key, inner in part["properties"].items():
        if "default" in inner:
            value.setdefault(key, json.loads(json.dumps(inner["default"])))
        if isinstance(value.get(key), dict) and "properties" in inner:
            _fill(value[key], inner)


def _fill_analyses(study: Study) -> None:
    """Fill in the defaults of the analyses that hang on the rest of the study."""
    spec, asked = study.spec, study.analyses
    measures = spec["measures"]
    usual = [name for name in ANALYSED if name in measures]
    asked.setdefault("measures", usual or measures[:1])
    recalls = [name for name in measures if name.startswith(("Recall@", "R@"))]
    asked.setdefault("success", "Recall@5" if "Recall@5" in measures else (recalls or measures)[0])
    verses = [name for name, fields in spec["modes"].items() if fields == ["verse"]]
    choices = [*verses, *study.modes]
    whole = [name for name in choices if name not in spec["keep"]]  # before modes of some poems only
    asked.setdefault("base_mode", (whole or choices)[0])
    for recipe in spec["fine_tuning"].values():
        modes = study.modes_of(recipe["train"]["corpus"])
        recipe.setdefault("mode", asked["base_mode"] if asked["base_mode"] in modes else modes[0])
    given = [name for name in study.single_systems if name not in study.trained]
    dense = [name for name in spec["systems"] if study.registry[name]["kind"] == "dense" and name in given]
    asked.setdefault("reference_encoder", dense[0] if dense else None)
    if "normalisation" in asked:
        ablation = asked["normalisation"]
        ablation.setdefault("systems", [name for name in given if "text" in study.registry[name]])
        ablation.setdefault("modes", [asked["base_mode"]])
        ablation.setdefault("query_sets", study.query_sets_for("known-item"))


def _fill_contrasts(study: Study) -> None:
    """Name the systems of families that name none where some of the study are not to be compared."""
    shown = study.shown_systems
    if len(shown) < len(study.spec["systems"]):
        for family in study.spec["contrasts"]:
            family.setdefault("systems", list(shown))


def _fill_judging(study: Study) -> None:
    """Fill in what judges and sheets leave to the rest of the study."""
    if "judging" not in study.spec:
        return
    asked = study.judging
    asked.setdefault("query_sets", study.judgeable_sets)
    if study.judges:
        asked.setdefault("main", study.judges[0])
    for sheet in asked["sheets"].values():
        kind = study.kind_of(sheet)
        graded_sheet(study, sheet)
        sheet.setdefault("guidelines", f"resources/prompts/guidelines-{kind}.md")
        if kind == "thematic":
            sheet.setdefault("depth", asked["depth"])
            sheet.setdefault("systems", sorted(study.spec["systems"]))
            sheet.setdefault("modes", [study.analyses["base_mode"]])
        elif kind == "known-item":
            sheet.setdefault("mode", study.analyses["base_mode"])
            sheet.setdefault("measure", study.analyses["success"])
        else:
            sheet.setdefault("n", 50)


def _variants(study: Study) -> dict[str, dict[str, Any]]:
    """Registry entries of the systems that read text under another normalisation than their own."""
    return {
        named: study.registry[name] | {"text": preset, "name": named}
        for name, presets in study.variants.items()
        for preset, named in presets.items()
        if named != name
    }


def _load_registry(spec: dict[str, Any], base: Path, faults: list[Fault]) -> dict[str, dict[str, Any]]:
    from verseir.systems.registry import load_registry

    try:
        return load_registry([base / path for path in spec["registry"]])
    except InputFaults as found:
        faults.extend(found.faults)
        return {}
