"""What is wrong with how a study has queries read, and with what its systems are tuned on."""

from __future__ import annotations

from collections.abc import Iterator

from verseir.faults import Fault, UserError, closest
from verseir.layout import runs
from verseir.study import Study
from verseir.study_faults import UNSEARCHED, measure_faults


def tuning_faults(study: Study, where: str) -> Iterator[Fault]:
    """Measures that a tuned system is tuned for and that are none, and validation queries that are not to be had."""
    for name in study.systems("bm25"):
        grid = study.registry[name].get("tune")
        if grid:
            yield from measure_faults([grid["measure"]], study.spec["depth"], where, f"systems.{name}.tune.measure")
    for name in study.query_sets:
        yield from _validation_faults(study, name, where)
    tuned = [name for name in study.searched_kind("bm25") if study.is_tuned(name)]
    for query_set in sorted({run.query_set for run in runs(study.cross_of(tuned))}):
        if study.validation(query_set) is None:
            problem = f"{', '.join(tuned)}: tuned, and there is nothing to tune on"
            hint = "validation: {corpus: ..., query_set: ...}; or a system that says k1 and b"
            yield Fault(where, 0, f"query_sets.{query_set}.validation", problem, hint)


def _validation_faults(study: Study, query_set: str, where: str) -> Iterator[Fault]:
    given = study.spec["query_sets"][query_set].get("validation")
    if given is None:
        return
    field = f"query_sets.{query_set}.validation"
    for key, known in (("corpus", study.corpora), ("query_set", study.query_sets)):
        if given[key] not in known:
            what = key.replace("_", " ")
            yield Fault(where, 0, f"{field}.{key}", f"unknown {what} '{given[key]}'", closest(given[key], known))
            return
    spec = study.spec["query_sets"][given["query_set"]]
    homes = [*spec["corpora"], *(spec[key]["corpus"] for key in UNSEARCHED if key in spec)]
    if given["corpus"] not in homes:
        problem = f"the poems that answer {given['query_set']} are not in {given['corpus']}"
        yield Fault(where, 0, f"{field}.corpus", problem, closest(given["corpus"], homes))
    own = study.spec["query_sets"][query_set]
    same = [key for key in ("path", "chapters", *UNSEARCHED) if key in own and own[key] == spec.get(key)]
    if given["query_set"] == query_set or (same and own.get("filter") == spec.get("filter")):
        yield Fault(where, 0, field, "a set cannot be tuned on its own queries", "name queries that are not measured")
    if spec["judged"] == "later":
        yield Fault(where, 0, field, f"{given['query_set']} is judged later: there is nothing to tune on yet")
    if study.encoding_of(given["query_set"])["view"] != study.encoding_of(query_set)["view"]:
        problem = f"{given['query_set']} is read in another way"
        yield Fault(where, 0, field, problem, f"encoding: {{view: {study.encoding_of(query_set)['view']}}}")
    searched = {mode for corpus in study.spec["query_sets"][query_set]["corpora"] for mode in study.modes_of(corpus)}
    searched &= set(study.spec["query_sets"][query_set].get("modes", searched))
    missing = sorted(searched - set(study.modes_of(given["corpus"])))
    if missing:
        problem = f"{given['corpus']} is not indexed in {', '.join(missing)}, in which {query_set} is searched"
        yield Fault(where, 0, field, problem, f"corpora.{given['corpus']}.modes")


def search_faults(study: Study, where: str) -> Iterator[Fault]:
    """Studies in which no system searches anything."""
    if next(runs(study.cross), None) is not None:
        return
    asked = [name for name in study.query_sets if study.spec["query_sets"][name]["corpora"]]
    if not asked:
        yield Fault(where, 0, "query_sets", "no set is searched: all have `corpora: []`", "name a corpus")
    for name in asked:
        lexical = study.encoding_of(name)["view"].startswith("instruction_")
        hint = "BM25 follows no instruction: add an encoder" if lexical else "see `only` of the systems, and `modes`"
        yield Fault(where, 0, f"query_sets.{name}", "no system of the study searches it", hint)


def encoding_faults(study: Study, where: str) -> Iterator[Fault]:
    """Encoders that cannot read the queries of a set in the way that the set asks for, and templates of no use."""
    from verseir.systems.query_encoding import QueryEncoding

    for system in sorted(set(study.spec.get("shards", {})) - set(study.encoders)):
        hint = closest(system, study.encoders) if study.encoders else "the study has no encoders"
        yield Fault(where, 0, f"shards.{system}", f"the study does not encode with '{system}'", hint)
    wrong = set()
    for query_set in study.query_sets:
        if "encoding" not in study.spec["query_sets"][query_set]:
            continue
        try:
            QueryEncoding(**study.encoding_of(query_set))  # type: ignore[arg-type]
        except UserError as error:
            wrong.add(query_set)
            yield Fault(where, 0, f"query_sets.{query_set}.encoding", str(error.args[0]), error.hint)
    for system in study.encoders:
        read = {name for corpus in study.corpora for name in study.query_sets_read(corpus, system)}
        for query_set in sorted(read - wrong):
            try:
                QueryEncoding(**study.encoding_of(query_set)).check(study.registry[system])  # type: ignore[arg-type]
            except UserError as error:
                limit = "limit the system to other query sets: only: [{query_sets: [...]}]"
                if system not in study.searched:
                    limit = "name another analyses.reference_encoder, or null"
                hint = f"{error.hint}; or {limit}"
                yield Fault(where, 0, f"query_sets.{query_set}.encoding", str(error.args[0]), hint)
