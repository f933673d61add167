"""A study is refused with all its faults, or becomes the same study whatever the order of its keys."""

import json
from pathlib import Path

import pytest
import yaml

from verseir.config import canonical, load_study, missing_files
from verseir.faults import InputFaults

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
        ({"query_sets": {"q": {"corpora": ["c"]}}}, "either path or probe"),
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
        ({"query_sets": {"q": {"corpora": ["c"], "probe": {"corpus": "d", "n": 2}}}}, "can be found in d alone"),
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
