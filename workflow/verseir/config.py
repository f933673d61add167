"""The study: a config mapping, checked against its schema and against the registry, all faults at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verseir.faults import Fault, InputFaults, UserError, closest
from verseir.layout import runs

SCHEMA = Path(__file__).parent.parent / "schemas" / "study.schema.json"

#: Keys that the command line may set beside a study (`--config debug=true`).
COMMAND_LINE_KEYS = {"debug"}


def canonical(value: Any) -> str:
    """``value`` as JSON that does not depend on the order of keys: a rule's parameter."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Study:
    """A valid study. ``spec`` is the config with all defaults filled in; ``registry`` holds the systems it may use."""

    spec: dict[str, Any]
    registry: dict[str, dict[str, Any]]

    @property
    def name(self) -> str:
        return self.spec["study"]

    @property
    def corpora(self) -> list[str]:
        return sorted(self.spec["corpora"])

    @property
    def modes(self) -> list[str]:
        return sorted(self.spec["modes"])

    @property
    def query_sets(self) -> list[str]:
        return sorted(self.spec["query_sets"])

    def systems(self, *kinds: str) -> list[str]:
        """Names of the study's systems (with the arms of its fusions) of these kinds, sorted; all without a kind."""
        names = set(self.spec["systems"])
        for name in self.spec["systems"]:
            names.update(arm["system"] for arm in self.arms(name))
        return sorted(name for name in names if not kinds or self.registry[name]["kind"] in kinds)

    def arms(self, system: str) -> list[dict[str, str]]:
        """The arms of a fusion as ``{"system": ..., "mode": ...}``, ``mode`` only where the arm fixes one."""
        entry = self.registry[system]
        if entry["kind"] != "fusion":
            return []
        return [{"system": arm} if isinstance(arm, str) else dict(arm) for arm in entry["arms"]]

    @property
    def cross(self) -> dict[str, Any]:
        """What is crossed with what: see ``verseir.layout.runs``."""
        return self.cross_of(self.spec["systems"])

    def cross_of(self, systems: Iterable[str]) -> dict[str, Any]:
        """The cross of the study with other systems than its own."""
        return {
            "query_sets": {name: sorted(self.spec["query_sets"][name]["corpora"]) for name in self.query_sets},
            "modes": {corpus: self.modes_of(corpus) for corpus in self.corpora},
            "systems": {name: self.registry[name]["kind"] for name in sorted(systems)},
        }

    def modes_of(self, corpus: str) -> list[str]:
        """The modes in which a corpus is indexed: its own list, or all modes of the study."""
        return sorted(self.spec["corpora"][corpus].get("modes", self.modes))

    def query_sets_of(self, corpus: str) -> list[str]:
        return [name for name in self.query_sets if corpus in self.spec["query_sets"][name]["corpora"]]


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
    strange = sorted(_keys_that_are_no_text(spec))
    if strange:
        raise InputFaults(
            Fault(where, 0, place, f"the key {key} is no text", "put it in quotes") for place, key in strange
        )
    faults = [_schema_fault(error, where) for error in jsonschema.Draft202012Validator(schema).iter_errors(spec)]
    if faults:
        raise InputFaults(faults)
    spec = _with_defaults(spec, schema)
    registry = _load_registry(spec, base, faults)
    faults += _reference_faults(spec, registry, where)
    if not faults:
        faults += _arm_faults(Study(spec, registry), where)
    if faults:
        raise InputFaults(faults)
    if str(config.get("debug", "")).lower() in {"true", "1", "yes"}:
        spec["study"] += ".debug"  # results of a trial never lie where real ones do
    return Study(spec, registry)


def _keys_that_are_no_text(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                yield place, repr(key)
            yield from _keys_that_are_no_text(inner, f"{place}.{key}".lstrip("."))
    elif isinstance(value, list):
        for inner in value:
            yield from _keys_that_are_no_text(inner, place)


def _schema_fault(error: Any, where: str) -> Fault:
    path = ".".join(str(part) for part in error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        unknown = sorted(set(error.instance) - set(known))
        return Fault(where, 0, path, f"unknown key: {', '.join(unknown)}", closest(str(unknown[0]), known))
    if error.validator == "pattern":
        return Fault(where, 0, path, f"'{error.instance}' is not allowed here", f"must match {error.validator_value}")
    return Fault(where, 0, path, error.message, error.schema.get("description", ""))


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
    for query_set in filled["query_sets"].values():
        query_set.setdefault("purpose", "known-item")
        query_set.setdefault("judged", "now")
    return filled


def _load_registry(spec: dict[str, Any], base: Path, faults: list[Fault]) -> dict[str, dict[str, Any]]:
    from verseir.systems.registry import load_registry

    try:
        return load_registry([base / path for path in spec["registry"]])
    except InputFaults as found:
        faults.extend(found.faults)
        return {}


def _registry_hint(files: list[str]) -> str:
    """A study that names registry files of its own must name the project's too, where it uses it."""
    shipped = "config/systems.yaml"
    return "" if shipped in files else f"; the list `registry` leaves out {shipped}"


def missing_files(study: Study, base: Path) -> list[Fault]:
    """Files that the study names and that are not there: of corpora, query sets, and runs of imported systems."""
    faults = []
    for name, corpus in study.spec["corpora"].items():
        for source, path in corpus.get("explanations", {}).items():
            if not (base / path).is_file():
                faults.append(Fault(path, 0, f"corpora.{name}.explanations.{source}", "there is no such file"))
        for key in ("path", "sources", "local"):
            if key in corpus and not (base / corpus[key]).exists():
                faults.append(Fault(corpus[key], 0, f"corpora.{name}.{key}", "there is no such file or folder"))
    for name, query_set in study.spec["query_sets"].items():
        for key in ("path", "qrels"):
            if key in query_set and not (base / query_set[key]).is_file():
                faults.append(Fault(query_set[key], 0, f"query_sets.{name}.{key}", "there is no such file"))
    return faults + list(_missing_runs(study, base))


def _arm_faults(study: Study, where: str) -> Iterator[Fault]:
    """Arms of fusions that fix a mode in which a corpus is not indexed."""
    searched = sorted({corpus for name in study.query_sets for corpus in study.spec["query_sets"][name]["corpora"]})
    for system in study.systems("fusion"):
        for arm in study.arms(system):
            for corpus in searched:
                if "mode" in arm and arm["mode"] not in study.modes_of(corpus):
                    problem = f"the arm {arm['system']} of {system} wants the mode '{arm['mode']}' of {corpus}"
                    yield Fault(where, 0, "systems", problem, closest(arm["mode"], study.modes_of(corpus)))


def _missing_runs(study: Study, base: Path) -> Iterator[Fault]:
    """Runs of imported systems that are not where the registry says."""
    for run in runs(study.cross_of(study.systems())):
        entry = study.registry[run.system]
        if entry["kind"] == "imported":
            path = entry["path"].format(**run._asdict())
            if not (base / path).is_file():
                yield Fault(path, 0, run.system, "there is no such run", f"`path` of the system is {entry['path']}")


def _measure_faults(measures: list[str], depth: int, where: str) -> Iterator[Fault]:
    from verseir.measures import parse_measure

    for name in measures:
        try:
            cutoff = parse_measure(name).cutoff
        except UserError as error:
            yield Fault(where, 0, "measures", str(error.args[0]), error.hint)
            continue
        if cutoff and cutoff > depth:
            problem = f"{name} looks at {cutoff} poems, but ranked lists hold {depth}"
            yield Fault(where, 0, "measures", problem, f"depth: {cutoff}")


def _reference_faults(spec: dict[str, Any], registry: dict[str, Any], where: str) -> Iterator[Fault]:
    """Names that one part of a study uses and no other part defines."""

    def unknown(name: str, known: Any, field: str, what: str, hint: str = "") -> Iterator[Fault]:
        if name not in known:
            yield Fault(where, 0, field, f"unknown {what} '{name}'", closest(name, known) + hint)

    if registry:
        for name in spec["systems"]:
            yield from unknown(name, registry, "systems", "system", _registry_hint(spec["registry"]))
    yield from _measure_faults(spec["measures"], spec["depth"], where)
    if spec["chunks"]["stride"] > spec["chunks"]["verses"]:
        problem = f"a stride of {spec['chunks']['stride']} skips verses between windows of {spec['chunks']['verses']}"
        yield Fault(where, 0, "chunks.stride", problem, "make it no larger than chunks.verses")
    for name, corpus in spec["corpora"].items():
        given = [key for key in ("path", "hub", "sources") if key in corpus]
        if len(given) != 1:
            yield Fault(
                where, 0, f"corpora.{name}", f"needs exactly one of path, hub, sources; found {given or 'none'}"
            )
        for mode in corpus.get("modes", []):
            yield from unknown(mode, spec["modes"], f"corpora.{name}.modes", "mode")
    for name, query_set in spec["query_sets"].items():
        field = f"query_sets.{name}"
        for corpus in query_set["corpora"]:
            yield from unknown(corpus, spec["corpora"], f"{field}.corpora", "corpus")
        if ("path" in query_set) == ("probe" in query_set):
            yield Fault(where, 0, field, "needs either path or probe")
        if "probe" in query_set:
            drawn = query_set["probe"]["corpus"]
            yield from unknown(drawn, spec["corpora"], f"{field}.probe.corpus", "corpus")
            if query_set["corpora"] != [drawn]:
                problem = f"probes drawn from {drawn} can be found in {drawn} alone, not in {query_set['corpora']}"
                yield Fault(where, 0, f"{field}.corpora", problem, f"corpora: [{drawn}]")
        if name.endswith(".qrels"):
            yield Fault(where, 0, field, "a name may not end in .qrels: its judgements are stored so")
    for position, family in enumerate(spec["contrasts"]):
        field = f"contrasts.{position}"
        for key, known in (("query_sets", spec["query_sets"]), ("modes", spec["modes"]), ("systems", spec["systems"])):
            for name in family.get(key, []):
                yield from unknown(name, known, f"{field}.{key}", key[:-1].replace("_", " "))
        for measure in family["measures"]:
            yield from unknown(measure, spec["measures"], f"{field}.measures", "measure")
        if family["baseline"] != "best":
            yield from unknown(family["baseline"], [*spec["systems"], "best"], f"{field}.baseline", "system")
    names = [family["family"] for family in spec["contrasts"]]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Fault(where, 0, "contrasts", f"the family '{name}' is declared twice")
