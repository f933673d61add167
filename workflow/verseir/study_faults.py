"""What is wrong with a study beyond its schema: names that nothing defines, files that are not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from verseir.faults import Fault, UserError, closest
from verseir.given_keys import idle_keys, scope_faults
from verseir.judging_faults import missing_judging_files
from verseir.layout import runs
from verseir.study import Study, variant

#: What is known of each query of an idiom benchmark.
IDIOM_ATTRIBUTES = ("usage", "quality", "subject", "idiom")
#: Where the queries of a set may come from.
SOURCES = ("path", "probe", "chapters", "idioms", "beir", "poetry", "edit", "graded")
#: Of those that come from a corpus: what is found in it, and the adapter that it must have.
DRAWN_FROM = {
    "probe": ("probes drawn from", None),
    "chapters": ("the pieces of", "anthology"),
    "idioms": ("the idioms of", "idiolink"),
    "beir": ("the documents of", "beir"),
    "poetry": ("the poems of", "poetrymteb"),
}
#: Those that say where their queries are from, so that a set may be searched nowhere: systems can be tuned on it.
UNSEARCHED = ("idioms", "beir", "poetry")


#: Endings of the files of a query set beside its own, and what is in them: a set called so would be such a file.
STORED = {".attributes": "attributes", ".labels": "labels", ".qrels": "judgements", ".split": "parts"}


def _registry_hint(files: list[str]) -> str:
    """A study that names registry files of its own must name the project's too, where it uses it."""
    shipped = "config/systems.yaml"
    return "" if shipped in files else f"; the list `registry` leaves out {shipped}"


def known_attributes(query_set: dict[str, Any]) -> tuple[str, ...]:
    """The attributes that the queries of a set have, by its part of the config."""
    if "idioms" in query_set:
        return IDIOM_ATTRIBUTES
    if "poetry" in query_set:
        return ("aspect", "language", "scope") if query_set["poetry"]["scope"] == "mono" else ("aspect", "scope")
    return tuple(query_set.get("attributes", []))


def missing_files(study: Study, base: Path) -> list[Fault]:
    """Files that the study names and that are not there: of corpora, query sets, and runs of imported systems."""
    faults = []
    guidelines = study.spec.get("query_sheet", {}).get("guidelines")
    if guidelines and not (base / guidelines).is_file():
        faults.append(Fault(guidelines, 0, "query_sheet.guidelines", "there is no such file"))
    for name, corpus in study.spec["corpora"].items():
        for part in ("explanations", "audits"):
            for source, path in corpus.get(part, {}).items():
                if isinstance(path, str) and not (base / path).is_file():
                    faults.append(Fault(path, 0, f"corpora.{name}.{part}.{source}", "there is no such file"))
        for key in ("path", "sources", "local", "counts"):
            may_lack = key == "local" and corpus["adapter"] in ("idiolink", "poetrymteb")  # the hub has it
            if key in corpus and not may_lack and not (base / corpus[key]).exists():
                hint = _beside(base / corpus[key])
                faults.append(Fault(corpus[key], 0, f"corpora.{name}.{key}", "there is no such file or folder", hint))
    for name, query_set in study.spec["query_sets"].items():
        for key in ("path", "qrels"):
            if key in query_set and not (base / query_set[key]).is_file():
                hint = _beside(base / query_set[key])
                faults.append(Fault(query_set[key], 0, f"query_sets.{name}.{key}", "there is no such file", hint))
        edit = query_set.get("edit", {})
        read = {key: edit.get(key) for key in ("path", "names", "prompt")}
        for key, path in read.items():
            if isinstance(path, str) and not (base / path).is_file():
                faults.append(Fault(path, 0, f"query_sets.{name}.edit.{key}", "there is no such file"))
    published = study.analyses.get("published", {}).get("file")
    if published and not (base / published).is_file():
        faults.append(Fault(published, 0, "analyses.published.file", "there is no such file"))
    return faults + missing_judging_files(study.spec, base) + list(_missing_runs(study, base))


def _beside(path: Path) -> str:
    """A hint that names what lies where a file is looked for."""
    folder = path.parent
    try:
        there = [one.name for one in folder.iterdir() if not one.name.startswith(".")]
    except OSError:
        return f"there is no folder {folder}" if not folder.exists() else ""
    return closest(path.name, there) if there else f"the folder {folder} is empty"


def arm_faults(study: Study, where: str) -> Iterator[Fault]:
    """Arms of fusions that fix a mode in which a corpus is not indexed."""
    searched = sorted({corpus for name in study.query_sets for corpus in study.spec["query_sets"][name]["corpora"]})
    for system in study.systems("fusion"):
        for arm in study.arms(system):
            for corpus in searched:
                if "mode" in arm and study.spec["keep"].get(arm["mode"]):
                    problem = (
                        f"the arm {arm['system']} of {system} is fixed to '{arm['mode']}', which keeps some poems only"
                    )
                    yield Fault(
                        where, 0, "systems", problem, "leave the mode of the arm out, or take one without `keep`"
                    )
                elif "mode" in arm and any(study.spec["keep"].get(mode) for mode in study.modes_of(corpus)):
                    problem = (
                        f"the arm {arm['system']} of {system} is fixed to a mode, and other modes keep fewer poems"
                    )
                    yield Fault(where, 0, "systems", problem, "leave the mode of the arm out")
                if "mode" in arm and arm["mode"] not in study.modes_of(corpus):
                    problem = f"the arm {arm['system']} of {system} wants the mode '{arm['mode']}' of {corpus}"
                    yield Fault(where, 0, "systems", problem, closest(arm["mode"], study.modes_of(corpus)))
        arms = study.arms(system)
        there = set(runs(study.cross_of(arm["system"] for arm in arms)))
        for run in runs(study.cross_of([system])):
            for arm in arms:
                wanted = run._replace(system=arm["system"], mode=arm.get("mode", run.mode))
                if wanted not in there and wanted.mode in study.modes_of(run.corpus):
                    place = f"{run.query_set}, {run.corpus}, {wanted.mode}"
                    problem = f"the arm {wanted.system} of {system} has no run on {place}"
                    hint = f"see `only` of {wanted.system}, and `modes` of the set"
                    if study.encoding_of(run.query_set)["view"].startswith("instruction_"):
                        hint = f"BM25 follows no instruction: limit {system} by `only: [{{query_sets: [...]}}]`"
                    yield Fault(where, 0, "systems", problem, hint)


def _missing_runs(study: Study, base: Path) -> Iterator[Fault]:
    """Runs of imported systems that are not where the registry says."""
    for run in runs(study.cross_of(study.systems())):
        entry = study.registry[run.system]
        if entry["kind"] == "imported":
            path = entry["path"].format(**run._asdict())
            if not (base / path).is_file():
                yield Fault(path, 0, run.system, "there is no such run", f"`path` of the system is {entry['path']}")


def measure_faults(measures: list[str], depth: int, where: str, field: str = "measures") -> Iterator[Fault]:
    """Names that are no measures, and measures that look deeper than ranked lists go."""
    from verseir.measures import parse_measure

    for name in measures:
        try:
            cutoff = parse_measure(name).cutoff
        except UserError as error:
            yield Fault(where, 0, field, str(error.args[0]), error.hint)
            continue
        if cutoff and cutoff > depth:
            problem = f"{name} looks at {cutoff} poems, but ranked lists hold {depth}"
            yield Fault(where, 0, field, problem, f"depth: {cutoff}")


def reference_faults(spec: dict[str, Any], registry: dict[str, Any], where: str) -> Iterator[Fault]:
    """Names that one part of a study uses and no other part defines."""

    def unknown(name: str, known: Any, field: str, what: str, hint: str = "") -> Iterator[Fault]:
        if name not in known:
            yield Fault(where, 0, field, f"unknown {what} '{name}'", closest(name, known) + hint)

    if registry:
        for name in spec["systems"]:
            made = next((recipe for recipe in spec["fine_tuning"] if name.startswith(f"{recipe}.")), None)
            hint = f"; the recipe {made} adds its systems itself" if made else _registry_hint(spec["registry"])
            yield from unknown(name, registry, "systems", "system", hint)
    yield from measure_faults(spec["measures"], spec["depth"], where)
    if spec["chunks"]["stride"] > spec["chunks"]["verses"]:
        problem = f"a stride of {spec['chunks']['stride']} skips verses between windows of {spec['chunks']['verses']}"
        yield Fault(where, 0, "chunks.stride", problem, "make it no larger than chunks.verses")
    if "query_sheet" in spec:
        drawn_from = spec["query_sheet"].get("corpus")
        if drawn_from is None and len(spec["corpora"]) > 1:
            problem = "the study has several corpora: name the one that poems are drawn from"
            yield Fault(where, 0, "query_sheet.corpus", problem, f"one of: {', '.join(sorted(spec['corpora']))}")
        elif drawn_from is not None:
            yield from unknown(drawn_from, spec["corpora"], "query_sheet.corpus", "corpus")
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
        given = [key for key in SOURCES if key in query_set]
        if len(given) != 1:
            yield Fault(where, 0, field, f"needs exactly one of {', '.join(SOURCES)}; found {given or 'none'}")
        if not query_set["corpora"] and not any(key in query_set for key in UNSEARCHED):
            yield Fault(where, 0, f"{field}.corpora", "names no corpus", "name those that the set is searched in")
        if "edit" in query_set:
            yield from _edit_faults(name, query_set, spec["query_sets"], where)
        for key, (what, adapter) in DRAWN_FROM.items():
            if key in query_set:
                drawn = query_set[key]["corpus"]
                yield from unknown(drawn, spec["corpora"], f"{field}.{key}.corpus", "corpus")
                if drawn in spec["corpora"] and query_set["corpora"] not in ([drawn], []):
                    problem = f"{what} {drawn} can be found in {drawn} alone, not in {query_set['corpora']}"
                    yield Fault(where, 0, f"{field}.corpora", problem, f"corpora: [{drawn}]")
                if adapter and spec["corpora"].get(drawn, {}).get("adapter", adapter) != adapter:
                    problem = f"{drawn} is read with {spec['corpora'][drawn]['adapter']}, which knows no {key}"
                    yield Fault(where, 0, f"{field}.{key}", problem, f"adapter: {adapter}")
        if "idioms" in query_set:
            for key in query_set.get("filter", {}):
                yield from unknown(key, IDIOM_ATTRIBUTES, f"{field}.filter", "attribute")
        known = known_attributes(spec["query_sets"].get(query_set.get("graded", {}).get("of"), query_set))
        for attribute in query_set["strata"]:
            yield from unknown(attribute, known, f"{field}.strata", "attribute")
        if "within" in query_set and not {"edit", "poetry"} & set(query_set):
            yield from unknown(query_set["within"], known, f"{field}.within", "attribute of the queries")
        for mode in query_set.get("modes", []):
            yield from unknown(mode, spec["modes"], f"{field}.modes", "mode")
        for ending in (ending for ending in STORED if name.endswith(ending)):
            problem = f"a name may not end in {ending}: {STORED[ending]} of a query set are stored so"
            yield Fault(where, 0, field, problem, f"{name.removesuffix(ending)}_{ending[1:]}")
    yield from idle_keys(spec, where)
    yield from scope_faults(spec["query_sets"], where)
    for mode in spec["keep"]:
        yield from unknown(mode, spec["modes"], "keep", "mode")
    for position, family in enumerate(spec["contrasts"]):
        field = f"contrasts.{position}"
        for key, known in (("query_sets", spec["query_sets"]), ("modes", spec["modes"]), ("systems", spec["systems"])):
            for name in family.get(key, []):
                yield from unknown(name, known, f"{field}.{key}", key[:-1].replace("_", " "))
        for measure in family["measures"]:
            yield from unknown(measure, spec["measures"], f"{field}.measures", "measure")
        compared = spec[family["of"]]
        if family["of"] != "systems" or family["baseline"] != "best":
            names = [*compared, "best"] if family["of"] == "systems" else compared
            yield from unknown(family["baseline"], names, f"{field}.baseline", family["of"][:-1].replace("_", " "))
        yield from _setting_faults(spec, family, where, field)
    names = [family["family"] for family in spec["contrasts"]]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Fault(where, 0, "contrasts", f"the family '{name}' is declared twice")


def _setting_faults(spec: dict[str, Any], family: dict[str, Any], where: str, field: str) -> Iterator[Fault]:
    """A family of query sets or modes that leaves nothing to compare."""
    setting = family["of"]
    if setting == "systems":
        return
    searched = {name for name, given in spec["query_sets"].items() if given["corpora"]}
    there = searched if setting == "query_sets" else set(spec["modes"])
    chosen = there & {*family.get(setting, there), family["baseline"]}
    what = setting[:-1].replace("_", " ")
    if family["baseline"] in spec[setting] and family["baseline"] not in there:
        yield Fault(
            where, 0, f"{field}.baseline", f"'{family['baseline']}' is searched nowhere", f"name another {what}"
        )
    elif len(chosen) < 2:
        yield Fault(where, 0, f"{field}.{setting}", f"leaves no other {what} to compare with the baseline", "name more")


#: What an edited set may say of itself, and what is filled in for every set.
EDITED_KEYS, FILLED = {"corpora", "modes", "edit"}, {"purpose", "judged", "strata"}


def _edit_faults(name: str, query_set: dict[str, Any], query_sets: dict[str, Any], where: str) -> Iterator[Fault]:
    """What is wrong with a query set that is derived from another."""
    field, source = f"query_sets.{name}.edit.of", query_set["edit"]["of"]
    originals = [other for other, given in query_sets.items() if not {"edit", "graded"} & set(given)]
    if source not in originals:
        problem = f"'{source}' is no query set that could be edited"
        yield Fault(where, 0, field, problem, closest(source, originals))
        return
    for key in sorted(set(query_set) - EDITED_KEYS - FILLED):
        hint = f"take it out, or give it to {source}"
        yield Fault(where, 0, f"query_sets.{name}.{key}", "an edited set has this from its originals", hint)
    if query_set["purpose"] != "edited":
        yield Fault(where, 0, f"query_sets.{name}.purpose", "a set with `edit` is edited", "take it out")
    view = query_sets[source].get("encoding", {}).get("view", "sentence")
    if view != "sentence":
        problem = f"the queries of {source} are read as '{view}', and an edit takes the place of their spans"
        yield Fault(where, 0, field, problem, "edit a set that is read as a whole")
    if query_set["judged"] != "now":
        yield Fault(
            where, 0, f"query_sets.{name}.judged", "an edited set is judged as its originals are", "take it out"
        )
    unsearched = sorted(
        set(query_set.get("modes", [])) - set(query_sets[source].get("modes", query_set.get("modes", [])))
    )
    if unsearched:
        problem = f"{', '.join(unsearched)}: the originals in {source} are not searched in it"
        yield Fault(where, 0, f"query_sets.{name}.modes", problem, f"modes: {query_sets[source]['modes']}")
    strange = sorted(set(query_set["corpora"]) - set(query_sets[source]["corpora"]))
    if strange:
        problem = f"{', '.join(strange)}: the originals in {source} are not searched there"
        yield Fault(where, 0, f"query_sets.{name}.corpora", problem, f"corpora: {query_sets[source]['corpora']}")


def analysis_faults(study: Study, where: str) -> Iterator[Fault]:
    """Settings of the analyses that name what the study does not have."""
    asked, measures = study.analyses, study.spec["measures"]

    def unknown(names: list[str], known: Iterable[str], field: str, what: str) -> Iterator[Fault]:
        for name in names:
            if name not in known:
                yield Fault(where, 0, f"analyses.{field}", f"unknown {what} '{name}'", closest(name, known))

    yield from unknown(asked["measures"], measures, "measures", "measure")
    yield from unknown([asked["success"]], measures, "success", "measure")
    yield from unknown([asked["base_mode"]], study.modes, "base_mode", "mode")
    encoders = sorted(name for name, entry in study.registry.items() if entry["kind"] == "dense")
    if asked["reference_encoder"] is not None:
        yield from unknown([asked["reference_encoder"]], encoders, "reference_encoder", "dense system")
    baseline = asked["deployment"].get("baseline", {})
    for key, known in (("system", study.shown_systems), ("mode", study.modes)):
        if baseline.get(key, known[0]) not in known:
            problem = f"the baseline of the advice, '{baseline[key]}', is not among the {key}s of the study"
            hint = f"{closest(baseline[key], known)}; add it to `{key}s`, or take `baseline` out"
            yield Fault(where, 0, f"analyses.deployment.baseline.{key}", problem, hint)
    if "mix" in asked["deployment"] and not sum(asked["deployment"]["mix"].values()) > 0:
        yield Fault(where, 0, "analyses.deployment.mix", "no register counts", "give one a share above 0")
    ablation = asked.get("normalisation")
    if ablation is None:
        return
    readers = [name for name in study.single_systems if "text" in study.registry[name]]
    yield from unknown(ablation["systems"], readers, "normalisation.systems", "system that reads text")
    yield from unknown(ablation["modes"], study.modes, "normalisation.modes", "mode")
    yield from unknown(ablation["query_sets"], study.query_sets, "normalisation.query_sets", "query set")
    for system in ablation["systems"]:
        for preset in ablation["presets"]:
            if variant(system, preset) in study.registry:
                problem = f"'{variant(system, preset)}' is a system already; the ablation needs that name"
                yield Fault(where, 0, "analyses.normalisation", problem, "give that system another name")
