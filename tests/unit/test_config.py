"""A study is refused with all its faults, or becomes the same study whatever the order of its keys."""

import json
from pathlib import Path

import pytest
import yaml

from verseir.config import canonical, load_study
from verseir.corpora.hub import source_file
from verseir.faults import InputFaults, UserError
from verseir.layout import cost_files, runs
from verseir.study_faults import missing_files

ROOT = Path(__file__).parents[2]


def minimal(**changes):
    config = {
        "study": "small",
        "corpora": {"c": {"adapter": "jsonl", "path": "c.jsonl"}},
        "modes": {"verse": ["verse"]},
        "query_sets": {"q": {"corpora": ["c"], "path": "q.jsonl"}},
        "systems": ["bm25"],
    }
    return config | changes


def faults_of(config):
    with pytest.raises(InputFaults) as caught:
        load_study(config, ROOT)
    return "\n".join(str(fault) for fault in caught.value.faults)


def test_the_smallest_study_gets_its_defaults():
    study = load_study(minimal(), ROOT)
    assert study.spec["chunks"] == {"verses": 3, "stride": 1}
    assert "nDCG@10" in study.spec["measures"]
    assert study.cross == {"query_sets": {"q": ["c"]}, "modes": {"c": ["verse"]}, "systems": {"bm25": "bm25"}}


@pytest.mark.parametrize(
    "path", sorted([ROOT / "config/config.yaml", *(ROOT / "config/studies").glob("*.yaml")]), ids=lambda p: p.stem
)
def test_every_shipped_study_is_valid_alone(path):
    study = load_study(yaml.safe_load(path.read_text(encoding="utf-8")), ROOT, path.name)
    assert study.systems()
    assert study.name == path.stem or path.stem == "config"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"sytems": []}, "unknown key: sytems"),
        ({"study": "../evil"}, "'../evil' is not allowed"),
        ({"study": "a/b"}, "'a/b' is not allowed"),
        ({"systems": ["bm52"]}, "did you mean 'bm25'"),
        ({"modes": {"verse": ["prose"]}}, "'prose' is not allowed"),
        ({"query_sets": {"q": {"path": "q.jsonl"}}}, "'corpora' is a required property"),
        ({"query_sets": {"q": {"corpora": ["other"], "path": "q.jsonl"}}}, "unknown corpus 'other'"),
        ({"query_sets": {"q": {"corpora": ["c"]}}}, "exactly one of path, probe, chapters, idioms, beir, poetry, edit"),
        ({"corpora": {"c": {"adapter": "jsonl"}}}, "exactly one of path, hub, sources"),
        ({"corpora": {"c": {"adapter": "jsonl", "path": "c", "modes": ["prose"]}}}, "unknown mode 'prose'"),
        ({"contrasts": [{"family": "f", "baseline": "use-m3"}]}, "unknown system 'use-m3'"),
        ({"contrasts": [{"family": "f", "baseline": "best", "measures": ["Recall@7"]}]}, "unknown measure 'Recall@7'"),
        ({"measures": ["Recal@5"]}, "Recal@5"),
        ({"registry": ["config/none.yaml"]}, "config/none.yaml"),
        ({"registry": ["config"]}, "cannot be read"),
        ({"depth": 50, "measures": ["Recall@100"]}, "Recall@100 looks at 100 poems, but ranked lists hold 50"),
        ({"chunks": {"verses": 2, "stride": 3}}, "skips verses"),
        ({1: "x"}, "the key 1 is no text"),
        ({"query_sets": {"q": {"corpora": ["c"], "probe": {"corpus": "d", "n": 2}}}}, "unknown corpus 'd'"),
        ({"query_sets": {"q.qrels": {"corpora": ["c"], "path": "q"}}}, "may not end in .qrels"),
    ],
)
def test_a_faulty_study_is_refused_with_a_hint(change, expected):
    assert expected in faults_of(minimal() | change)


def test_all_faults_are_told_at_once():
    told = faults_of(minimal(systems=["none"], query_sets={"q": {"corpora": ["x"], "path": "a"}}))
    assert "unknown system 'none'" in told
    assert "unknown corpus 'x'" in told


def test_the_order_of_keys_changes_nothing():
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))

    def reordered(value):
        if isinstance(value, dict):
            return {key: reordered(value[key]) for key in reversed(value)}
        return value

    first, second = load_study(config, ROOT), load_study(reordered(config), ROOT)
    assert canonical(first.spec) == canonical(second.spec)
    assert json.dumps(first.cross) == json.dumps(second.cross)


def test_a_trial_never_writes_where_real_results_lie():
    assert load_study(minimal(debug=True), ROOT).name != load_study(minimal(), ROOT).name


def test_a_study_may_bring_a_registry_of_its_own(tmp_path):
    (tmp_path / "mine.yaml").write_text("my-bm25: {kind: bm25, text: full, k1: 0.9, b: 0.4, method: lucene}\n")
    study = load_study(
        minimal(registry=[str(ROOT / "config/systems.yaml"), str(tmp_path / "mine.yaml")], systems=["my-bm25"]), ROOT
    )
    assert study.registry["my-bm25"]["k1"] == 0.9


def test_the_measure_that_a_system_is_tuned_for_is_checked(tmp_path):
    for measure, message in (("nDCG@ten", "unknown measure"), ("nDCG@2000", "looks at 2000 poems")):
        grid = f"{{measure: {measure}, k1: [0.9], b: [0.4]}}"
        (tmp_path / "mine.yaml").write_text(f"mine: {{kind: bm25, tune: {grid}}}\n")
        told = faults_of(minimal(registry=[str(tmp_path / "mine.yaml")], systems=["mine"]))
        assert "systems.mine.tune.measure" in told
        assert message in told


def test_missing_files_are_told_together():
    told = [fault.file for fault in missing_files(load_study(minimal(), ROOT), ROOT)]
    assert told == ["c.jsonl", "q.jsonl"]


def test_the_arms_of_a_fusion_count_though_they_are_no_systems_of_the_study(tmp_path):
    text = "pair: {kind: fusion, method: rrf, k: 60, arms: [bm25, {system: use-m3, mode: %s}]}\n"
    (tmp_path / "mine.yaml").write_text(text % "verse")
    config = minimal(registry=["config/systems.yaml", str(tmp_path / "mine.yaml")], systems=["pair"])
    study = load_study(config, ROOT)
    assert study.systems() == ["bm25", "pair", "use-m3"]
    assert set(study.cross["systems"]) == {"pair"}
    assert set(study.cross_of(study.systems())["systems"]) == {"bm25", "pair", "use-m3"}
    (tmp_path / "mine.yaml").write_text(text % "prose")
    assert "wants the mode 'prose' of c" in faults_of(config)


DENSE = "e5-small-q4"


def test_the_analyses_take_their_defaults_from_the_study():
    study = load_study(minimal(systems=["bm25", DENSE], measures=["MRR", "Recall@5", "MAP"]), ROOT)
    assert study.analyses["measures"] == ["Recall@5", "MRR"]
    assert (study.analyses["success"], study.analyses["base_mode"]) == ("Recall@5", "verse")
    assert study.analyses["reference_encoder"] == DENSE
    assert study.analyses["fusion"] == {"max_arms": 3, "k": 60, "folds": 10}
    assert study.deployed["named"] is False and study.deployed["mode"] == "verse"
    assert (study.lexical, study.dense) == (["bm25"], [DENSE])
    assert study.variants == {}
    assert not list(runs(study.ablation_cross))


def test_the_ablation_of_normalisation_searches_with_variants():
    study = load_study(
        minimal(systems=["bm25", DENSE], analyses={"normalisation": {"presets": ["raw", "light"]}}), ROOT
    )
    assert study.variants == {
        "bm25": {"raw": "bm25.raw", "light": "bm25.light"},
        DENSE: {"raw": f"{DENSE}.raw", "light": DENSE},
    }
    assert study.registry["bm25.raw"]["text"] == "raw"
    assert study.registry["bm25.raw"]["k1"] == study.registry["bm25"]["k1"]
    assert "bm25.raw" not in study.cross["systems"]
    assert {run.system for run in runs(study.ablation_cross)} == {"bm25.raw", "bm25.light", f"{DENSE}.raw", DENSE}
    assert study.encoders == [DENSE, f"{DENSE}.raw"]


def test_the_reference_encoder_need_not_be_a_system_of_the_study():
    study = load_study(minimal(analyses={"reference_encoder": DENSE}), ROOT)
    assert study.encoders == [DENSE]
    assert study.systems() == ["bm25"]


def edited(**changes):
    """The smallest study with an edited set that differs by ``changes``."""
    return {"query_sets": minimal()["query_sets"] | {"append": EDITED["append"] | changes}}


EDITED = {"append": {"corpora": ["c"], "edit": {"of": "q", "rule": "append-half-verse", "verse": "opening"}}}


def test_an_edited_set_is_derived_from_another():
    study = load_study(minimal(query_sets=minimal()["query_sets"] | EDITED), ROOT)
    assert study.query_sets_for("edited") == ["append"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"analyses": {"measures": ["Recall@7"]}}, "unknown measure 'Recall@7'"),
        ({"analyses": {"success": "Recall@7"}}, "unknown measure 'Recall@7'"),
        ({"analyses": {"base_mode": "verses"}}, "did you mean 'verse'"),
        ({"analyses": {"reference_encoder": "bm25"}}, "unknown dense system 'bm25'"),
        ({"analyses": {"normalisation": {"systems": ["bm52"]}}}, "did you mean 'bm25'"),
        ({"analyses": {"normalisation": {"query_sets": ["p"]}}}, "unknown query set 'p'"),
        ({"analyses": {"margin": 0}}, "analyses.margin"),
        ({"analyses": {"deployment": {"baseline": {"system": "bm52"}}}}, "did you mean 'bm25'"),
        ({"analyses": {"deployment": {"baseline": {"system": "use-m3"}}}}, "or take `baseline` out"),
        ({"analyses": {"deployment": {"baseline": {"mode": "verses"}}}}, "did you mean 'verse'"),
        ({"analyses": {"deployment": {"mix": {"quoting": 0}}}}, "no register counts"),
        ({"analyses": {"deployment": {"mix": {"quotes": 1}}}}, "analyses.deployment.mix"),
        ({"analyses": {"deployment": {"mix": {"abstract": -1}}}}, "analyses.deployment.mix"),
        ({"query_sets": EDITED}, "'q' is no query set that could be edited"),
        ({"analyses": {"quoting": 1}}, "analyses.quoting"),
        (edited(filter={"a": "b"}), "an edited set has this from its originals"),
        (edited(judged="later"), "judged as its originals are"),
        (edited(purpose="known-item"), "a set with `edit` is edited"),
        (
            {
                "corpora": {name: {"adapter": "jsonl", "path": "c.jsonl"} for name in "cd"},
                "query_sets": minimal()["query_sets"] | {"append": EDITED["append"] | {"corpora": ["d"]}},
            },
            "the originals in q are not searched there",
        ),
    ],
)
def test_faults_of_the_analyses_are_told(change, expected):
    assert expected in faults_of(minimal(**change))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"analyses": {"margin": float("nan")}}, "[analyses.margin]: is nan, which is no number"),
        ({"analyses": {"fusion": {"k": float("inf")}}}, "[analyses.fusion.k]: is inf"),
        ({"seed": 10**400}, "[seed]: is 1000000"),
        ({"seed": 16**9999}, "[seed]: is a number of thousands of digits"),
        ({"title": "two\nlines\n"}, "[title]: holds the character U+000A, a line break"),
        ({"study": "small\n"}, "[study]: holds the character U+000A"),
        ({"registry": ["config/systems.yaml\x07"]}, "[registry.0]: holds the character U+0007"),
        ({"corpora": {"c\n": {"adapter": "jsonl", "path": "c"}}}, "the key 'c\\n' holds the character U+000A"),
    ],
)
def test_numbers_without_end_and_control_characters_are_refused_anywhere(change, expected):
    told = faults_of(minimal(**change))
    assert expected in told and len(told) < 400


def test_what_parts_the_verses_of_a_cell_may_be_a_line_break():
    corpus = {"adapter": "csv", "path": "c.csv", "verse_separator": "\n", "hemistich_separator": "\t"}
    assert load_study(minimal(corpora={"c": corpus}), ROOT).spec["corpora"]["c"]["verse_separator"] == "\n"


def test_a_whole_number_may_be_written_with_a_point():
    explaining = {"prompt": "p", "poems": 2.0, "endpoint": {"base_url": "http://a/v1", "model": "m", "seed": 1.0}}
    config = minimal(
        seed=4.0,
        corpora={"c": {"adapter": "jsonl", "path": "c", "sample": {"n": 9.0}, "explanations": {"ai": explaining}}},
        analyses={"thresholds": [2.0, 3], "margin": 1.0},
        chunks={"verses": 2.0},
    )
    spec = load_study(config, ROOT).spec
    given = spec["corpora"]["c"]
    found = [spec["seed"], given["sample"]["n"], *spec["analyses"]["thresholds"], spec["chunks"]["verses"]]
    found += [given["explanations"]["ai"]["poems"], given["explanations"]["ai"]["endpoint"]["seed"]]
    assert found == [4, 9, 2, 3, 2, 2, 1] and all(type(number) is int for number in found)
    assert type(spec["analyses"]["margin"]) is float
    assert canonical(spec) == canonical(load_study(config | {"seed": 4}, ROOT).spec)
    assert "4.5 is not of type 'integer'" in faults_of(minimal(seed=4.5))


RUBRIC = "resources/prompts/rubric-thematic.yaml"


def judged(**endpoint):
    """The smallest study with a judge behind an endpoint."""
    usual = {"base_url": "https://host.example:8000/v1", "model": "m"}
    return minimal(
        query_sets={"q": {"corpora": ["c"], "path": "q.jsonl", "purpose": "thematic"}},
        judging={"judges": {"j": {"rubric": RUBRIC, "endpoint": usual | endpoint}}},
    )


def test_an_endpoint_is_an_address_with_a_patience_of_a_day_at_most():
    assert load_study(judged(timeout=86400, base_url="http://localhost:1/a"), ROOT).judges == ["j"]
    assert "timeout" in faults_of(judged(timeout=86401))
    for host in ("a..b", ".a", "a.", "x" * 64 + ".example"):
        assert "Address of the API" in faults_of(judged(base_url=f"http://{host}/v1")), host


@pytest.mark.parametrize("asked", [{"query_sets": ["q"]}, {"judges": {"j": {"rubric": RUBRIC, "path": "j.csv"}}}])
def test_a_study_without_themes_has_nothing_to_judge(asked):
    told = faults_of(minimal(judging=asked))
    assert "no query set of the study is thematic" in told and "known:" not in told
    assert load_study(minimal(judging={}), ROOT).judged_places == []


def test_idioms_are_read_from_a_local_folder_where_there_is_one(tmp_path):
    hub = {"id": "a/b", "folder": "test"}
    corpora = {"c": {"adapter": "idiolink", "local": "data/test", "hub": hub}}
    config = minimal(corpora=corpora, registry=[str(ROOT / "config/systems.yaml")])
    far = load_study(config, tmp_path).spec["corpora"]["c"]
    assert far["hub"] == hub and missing_files(load_study(config, tmp_path), tmp_path)[0].file == "q.jsonl"
    (tmp_path / "data/test").mkdir(parents=True)
    near = load_study(config, tmp_path).spec["corpora"]["c"]
    assert near == {"adapter": "idiolink", "path": "data/test"}


def test_where_no_hub_answers_the_local_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    spec = {"adapter": "idiolink", "local": "data/test", "hub": {"id": "a/b", "folder": "test"}}
    with pytest.raises(UserError) as caught:
        source_file(spec, tmp_path, "indexes.json")
    assert "data/test" in caught.value.hint


def repeating(tmp_path, **changes):
    """A study of three systems, one of which repeats what was published."""
    text = "\n".join(
        f"{name}: {{kind: bm25{', as_published: true' if name == 'old' else ''}}}" for name in ("a", "b", "old")
    )
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    config = {"registry": [str(tmp_path / "mine.yaml")], "systems": ["old", "b", "a"]}
    return load_study(minimal(**config | changes), ROOT)


def test_what_repeats_published_figures_is_compared_with_nothing(tmp_path):
    named = {"family": "named", "baseline": "a", "systems": ["a", "old"]}
    free = {"family": "free", "baseline": "best"}
    modes = {"family": "modes", "of": "modes", "baseline": "verse"}
    study = repeating(tmp_path, contrasts=[named, free, modes], modes={"verse": ["verse"], "title": ["title"]})
    assert study.shown_systems == ["a", "b"]
    assert set(study.cross["systems"]) == {"a", "b", "old"}  # it is measured like the others
    chosen = {family["family"]: family["systems"] for family in study.spec["contrasts"]}
    assert chosen == {"named": ["a", "old"], "free": ["a", "b"], "modes": ["a", "b"]}
    (default,) = repeating(tmp_path).spec["contrasts"]
    assert default["systems"] == ["a", "b"]


def test_other_studies_name_no_systems_in_their_families(tmp_path):
    for systems in (["a", "b"], ["old"]):  # a study of nothing else compares and shows it
        study = repeating(tmp_path, systems=systems)
        assert study.shown_systems == systems
        assert all("systems" not in family for family in study.spec["contrasts"])


def idiomatic(**changes):
    """A study of an idiom benchmark, tuned on another split."""
    sets = {
        "s": {"corpora": ["t"], "idioms": {"corpus": "t"}, "validation": {"corpus": "v", "query_set": "vs"}},
        "vs": {"corpora": [], "idioms": {"corpus": "v"}},
    }
    for name, given in changes.pop("sets", {}).items():
        sets[name] = {key: value for key, value in {**sets.get(name, {}), **given}.items() if value is not None}
    config = {
        "study": "small",
        "corpora": {name: {"adapter": "idiolink", "path": name} for name in ("t", "v")},
        "modes": {"verse": ["verse"], "part": ["verse"]},
        "keep": {"part": {"usage": ["literal"]}},
        "query_sets": sets,
        "systems": ["bm25-okapi"],
    }
    return config | changes


INSTRUCTED = {"encoding": {"view": "instruction_span", "instruction": "{span}"}}
SPAN = {"encoding": {"view": "span"}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"sets": {"s": {"validation": None}}}, "tuned, and there is nothing to tune on"),
        ({"sets": {"s": {"validation": {"corpus": "v", "query_set": "s"}}}}, "not in v"),
        ({"sets": {"s": {"validation": {"corpus": "t", "query_set": "s"}}}}, "cannot be tuned on its own queries"),
        (
            {
                "sets": {
                    "s": {"validation": {"corpus": "t", "query_set": "x"}},
                    "x": {"corpora": [], "idioms": {"corpus": "t"}},
                }
            },
            "cannot be tuned on its own queries",
        ),
        ({"sets": {"s": SPAN}}, "vs is read in another way"),
        ({"sets": {"vs": {"idioms": {"corpus": "x"}}}}, "unknown corpus 'x'"),
        ({"sets": {"s": INSTRUCTED}}, "no system of the study searches it"),
        ({"sets": {"s": {"corpora": []}}}, "no set is searched"),
        ({"sets": {"s": {"judged": "later"}}}, "an idiom set is judged by its rules"),
        ({"sets": {"s": {"attributes": ["usage"]}}}, "has this from its file"),
        ({"sets": {"s": {"strata": ["use"]}}}, "unknown attribute 'use'"),
        ({"keep": {"prat": {"usage": ["literal"]}}}, "unknown mode 'prat'"),
        ({"keep": {"part": {"usage": [True]}}}, "put numbers, true and false in quotes"),
        ({"contrasts": [{"family": "f", "of": "query_sets", "baseline": "vs"}]}, "is searched nowhere"),
        ({"contrasts": [{"family": "f", "of": "modes", "baseline": "verse", "modes": ["verse"]}]}, "no other mode"),
        ({"sets": {"s": SPAN, "vs": SPAN}, "systems": ["bm25-okapi", "use-m3"]}, "'use-m3' gives no token vectors"),
        ({"systems": ["bm25-okapi", "use-m3"], "sets": {"s": INSTRUCTED}}, "'use-m3' gives no token vectors"),
        (
            {"sets": {"s": SPAN, "vs": SPAN, "e": {"corpora": ["t"], "edit": {"of": "s", "rule": "delete-quoted"}}}},
            "an edit takes the place of their spans",
        ),
    ],
)
def test_an_idiom_study_that_cannot_be_run_is_refused(changes, expected):
    assert expected in faults_of(idiomatic(**changes))


def test_an_arm_of_a_filtered_mode_is_refused(tmp_path):
    registry = tmp_path / "mine.yaml"
    arms = [{"system": "e5-small-q4", "mode": "verse"}, "use-m3"]
    registry.write_text(yaml.safe_dump({"both": {"kind": "fusion", "arms": arms}}), encoding="utf-8")
    told = faults_of(idiomatic(systems=["both"], registry=["config/systems.yaml", str(registry)]))
    assert "other modes keep fewer poems" in told


def test_what_a_system_is_tuned_on_names_the_corpus_too():
    two = {"a": {"corpora": ["t"]}, "v": {"corpora": ["t", "v"]}}
    config = idiomatic()
    config["corpora"] = {name: {"adapter": "jsonl", "path": name} for name in ("t", "v")}
    config["keep"] = {}
    config["query_sets"] = {
        "a": two["a"] | {"path": "a", "validation": {"corpus": "t", "query_set": "v"}},
        "b": {"corpora": ["v"], "path": "b", "validation": {"corpus": "v", "query_set": "v"}},
        "v": two["v"] | {"path": "c", "validation": {"corpus": "t", "query_set": "a"}},
    }
    study = load_study(config, ROOT)
    assert [study.tuned_on("bm25-okapi", name) for name in "abv"] == ["v@t", "v@v", "a@t"]
    files = {str(path) for path in cost_files(study.cross, "costs")}
    assert {"costs/tune_bm25/t/verse/v/bm25-okapi.json", "costs/tune_bm25/v/verse/v/bm25-okapi.json"} <= files
    assert "costs/index_bm25/v/verse/bm25-okapi/v@v/whole.json" in files


def test_the_base_mode_indexes_all_poems_where_one_does():
    modes = {"a": ["verse"], "b": ["title"], "c": ["verse"]}
    assert load_study(minimal(modes=modes), ROOT).analyses["base_mode"] == "a"
    assert load_study(minimal(modes=modes, keep={"a": {"era": ["x"]}}), ROOT).analyses["base_mode"] == "c"
    both = {name: {"era": ["x"]} for name in ("a", "c")}
    assert load_study(minimal(modes=modes, keep=both), ROOT).analyses["base_mode"] == "b"
