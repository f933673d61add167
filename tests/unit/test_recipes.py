"""Recipes of training: the systems that they make, and what is refused before anything runs."""

from pathlib import Path

import pytest
import yaml

from verseir.config import load_study
from verseir.faults import InputFaults
from verseir.layout import runs

ROOT = Path(__file__).parents[2]
SPLIT = {
    "base": "minilm-l6",
    "train": {"corpus": "c", "query_set": "train"},
    "validation": {"corpus": "c", "query_set": "val"},
    "test": ["q"],
    "negatives": {"random": 2},
}
FOLDED = {
    "base": "minilm-l6",
    "train": {"corpus": "c", "query_set": "q"},
    "folds": 3,
    "negatives": {"systems": {"bm25": 1}},
    "seeds": [7],
}


def study(recipe, **changes):
    config = {
        "study": "small",
        "corpora": {"c": {"adapter": "jsonl", "path": "c.jsonl"}, "d": {"adapter": "jsonl", "path": "d.jsonl"}},
        "modes": {"verse": ["verse"], "both": ["verse", "title"]},
        "query_sets": {name: {"corpora": ["c"], "path": f"{name}.jsonl"} for name in ("q", "train", "val")},
        "systems": ["bm25"],
        "fine_tuning": {"tuned": recipe},
    }
    return config | changes


def faults_of(config):
    with pytest.raises(InputFaults) as caught:
        load_study(config, ROOT)
    return "\n".join(str(fault) for fault in caught.value.faults)


def test_a_recipe_makes_a_system_for_each_seed_beside_its_base():
    loaded = load_study(study(SPLIT), ROOT)
    assert loaded.spec["systems"] == ["bm25", "minilm-l6", "tuned.42", "tuned.43", "tuned.44"]
    assert loaded.tuned_systems("tuned") == {42: "tuned.42", 43: "tuned.43", 44: "tuned.44"}
    entry = loaded.registry["tuned.43"]
    assert entry["path"] == "results/small/fine_tuned/tuned/43/whole/model"
    assert "package" not in entry and "hub" not in entry and "revision" not in entry
    assert {key: entry[key] for key in ("pooling", "prompts", "max_length", "dimension")} == {
        key: loaded.registry["minilm-l6"][key] for key in ("pooling", "prompts", "max_length", "dimension")
    }
    searched = {(run.system, run.query_set) for run in runs(loaded.cross) if run.system.startswith("tuned")}
    assert searched == {(f"tuned.{seed}", "q") for seed in (42, 43, 44)}
    recipe = loaded.fine_tuning["tuned"]
    assert recipe["warmup"] == {"ratio": 0.1} and recipe["mode"] == "verse" and "lora" not in recipe


def test_a_corpus_without_the_base_mode_is_trained_on_in_its_first():
    corpora = {"c": {"adapter": "jsonl", "path": "c.jsonl", "modes": ["both"]}}
    loaded = load_study(study(FOLDED, corpora=corpora), ROOT)
    assert loaded.analyses["base_mode"] == "verse" and loaded.fine_tuning["tuned"]["mode"] == "both"


def test_folds_are_encoders_and_one_system():
    loaded = load_study(study(FOLDED), ROOT)
    assert loaded.spec["systems"] == ["bm25", "minilm-l6", "tuned.7"]
    assert loaded.registry["tuned.7"]["kind"] == "folds"
    assert [arm["system"] for arm in loaded.arms("tuned.7")] == [f"tuned.7.fold-{n}" for n in (1, 2, 3)]
    assert sorted(loaded.trained) == [f"tuned.7.fold-{n}" for n in (1, 2, 3)]
    assert loaded.dense == ["minilm-l6", "tuned.7"]
    assert loaded.fine_tuning["tuned"]["test"] == ["q"]


def test_a_trial_trains_where_no_real_result_lies():
    loaded = load_study(study(SPLIT, debug=True), ROOT)
    assert loaded.registry["tuned.42"]["path"].startswith("results/small.debug/fine_tuned/")


def test_adapters_have_their_defaults_and_steps_replace_the_ratio():
    recipe = load_study(study(SPLIT | {"lora": {"rank": 4}, "warmup": {"steps": 100}}), ROOT).fine_tuning["tuned"]
    assert recipe["lora"] == {"rank": 4, "alpha": 32, "dropout": 0.0, "targets": "all-linear"}
    assert recipe["warmup"] == {"steps": 100}


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (SPLIT | {"base": "minilm-l7"}, "did you mean 'minilm-l6'"),
        (SPLIT | {"base": "bm25"}, "'bm25' is no dense system"),
        (SPLIT | {"base": "use-m3"}, "cannot be trained"),
        (SPLIT | {"base": "jina-embeddings-v3"}, "brings code of its own"),
        (SPLIT | {"train": {"corpus": "e", "query_set": "train"}}, "unknown corpus 'e'"),
        (SPLIT | {"train": {"corpus": "d", "query_set": "train"}}, "the poems that answer train are not in d"),
        (SPLIT | {"validation": {"corpus": "c", "query_set": "vla"}}, "did you mean 'val'"),
        (SPLIT | {"validation": {"corpus": "c", "query_set": "train"}}, "it cannot tell when to stop"),
        (SPLIT | {"test": ["train"]}, "'train' is the query set of `train` too"),
        (SPLIT | {"mode": "prose"}, "c is not indexed in the mode 'prose'"),
        (SPLIT | {"measure": "nDGC@10"}, "unknown measure 'nDGC@10'"),
        (SPLIT | {"folds": 5}, "does not go with `folds: 5`"),
        (SPLIT | {"folds": 2}, "2 is less than the minimum of 3"),
        ({key: SPLIT[key] for key in ("base", "train", "negatives")}, "give it, or `folds`"),
        (SPLIT | {"negatives": {}}, "negatives"),
        (SPLIT | {"negatives": {"ranks": [1, 9]}}, "asks for none"),
        (SPLIT | {"negatives": {"systems": {"bm52": 1}}}, "did you mean 'bm25'"),
        (SPLIT | {"negatives": {"systems": {"bm25": 1}, "ranks": [2000, 3000]}}, "there is no rank 2000"),
        (SPLIT | {"negatives": {"systems": {"bm25": 1}, "ranks": [9, 1]}}, "the first rank is beyond the last"),
        (SPLIT | {"warmup": {"steps": 5, "ratio": 0.1}}, "warmup"),
        (SPLIT | {"temperature": 0}, "temperature"),
    ],
)
def test_what_is_wrong_with_a_recipe_is_told(recipe, expected):
    assert expected in faults_of(study(recipe))


def test_queries_made_of_those_that_are_trained_on_test_nothing():
    sets = study(SPLIT)["query_sets"]
    sets["edited"] = {"corpora": ["c"], "edit": {"of": "train", "rule": "delete-quoted"}}
    assert "'edited' is made of the queries of `train`" in faults_of(
        study(SPLIT | {"test": ["edited"]}, query_sets=sets)
    )


def test_validation_on_edits_of_what_is_trained_on_is_refused():
    sets = study(SPLIT)["query_sets"]
    sets["edited"] = {"corpora": ["c"], "edit": {"of": "train", "rule": "delete-quoted"}}
    recipe = SPLIT | {"validation": {"corpus": "c", "query_set": "edited"}}
    assert "'edited' has the queries that are trained on" in faults_of(study(recipe, query_sets=sets))


def test_a_trained_system_need_not_be_named():
    assert "the recipe tuned adds its systems itself" in faults_of(study(SPLIT, systems=["bm25", "tuned.42"]))


def test_a_name_that_is_taken_is_refused(tmp_path):
    taken = tmp_path / "own.yaml"
    taken.write_text("tuned.42: {kind: bm25}\n", "utf-8")
    config = study(SPLIT, registry=["config/systems.yaml", str(taken)])
    assert "there is a system 'tuned.42' already" in faults_of(config)


@pytest.mark.parametrize("name", ["fine-tuning", "fine-tuning-all"])
def test_the_recipes_of_idiolink_are_its_protocol(name):
    whole = yaml.safe_load((ROOT / "config/studies/idiolink.yaml").read_text("utf-8"))
    more = yaml.safe_load((ROOT / f"config/studies/idiolink/{name}.yaml").read_text("utf-8"))
    for key, value in more.items():
        whole[key] = {**whole[key], **value} if key in whole else value
    loaded = load_study(whole, ROOT)
    assert len(loaded.trained) == (6 if name == "fine-tuning" else 60)
    for recipe in loaded.fine_tuning.values():
        assert recipe["temperature"] == 0.05 and recipe["learning_rate"] == 2e-5 and recipe["warmup"] == {"steps": 100}
        assert recipe["patience"] == 3 and recipe["seeds"] == [42, 43, 44] and recipe["epochs"] == 10
        assert recipe["negatives"]["opposite"] == 2 and recipe["negatives"]["random"] == 3
        assert not recipe["mask_false_negatives"]
        assert recipe["batch_size"] == (16 if recipe["base"] == "drama-1b" else 32)
        views = {loaded.encoding_of(recipe["train"]["query_set"])["view"]}
        views |= {loaded.encoding_of(recipe["validation"]["query_set"])["view"]}
        assert views == {loaded.encoding_of(recipe["test"][0])["view"]}
