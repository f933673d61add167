"""Training through the rules, a few steps of MiniLM: a benchmark with splits, a killed run, and folds by poem."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))
from idioms import SPLITS, SUBJECTS, Idioms, write_split
from in_process import run_in_process
from project import Project

from verseir.systems.sources import content_hash, files_of
from verseir.tables import QRELS, RUN, read_table
from verseir.training.curve import CURVE
from verseir.training.folds import FOLDS, parts_of
from verseir.training.triplets import TRIPLETS

FEW = {"epochs": 3, "patience": 3, "batch_size": 4, "learning_rate": 1e-3, "warmup": {"steps": 2}}
N_QUERIES = 2 * len(SPLITS["test"]) * len(SUBJECTS)


class Trained(Idioms):
    """The benchmark with a split to train on: MiniLM, three epochs of three steps, with two seeds."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        write_split(self.folder / "data/train", ["under the weather", "call it a day", "on thin ice"], 3)
        study = self.study
        study["corpora"]["train"] = {"adapter": "idiolink", "path": "data/train", "language": "en"}
        study["query_sets"] = {
            "sentence": self.asked("sentence"),
            "train_sentence": {"corpora": [], "idioms": {"corpus": "train"}, "encoding": {"view": "sentence"}},
            "val_sentence": {"corpora": [], "idioms": {"corpus": "val"}, "encoding": {"view": "sentence"}},
        }
        del study["keep"]
        study["modes"] = {"full": ["verse"]}
        study["contrasts"] = [{"family": "against-best", "baseline": "best"}]
        study["systems"] = ["bm25-okapi"]
        study["fine_tuning"] = {
            "tuned": {
                "base": "all-minilm-l6-v2",
                "train": {"corpus": "train", "query_set": "train_sentence"},
                "validation": {"corpus": "val", "query_set": "val_sentence"},
                "test": ["sentence"],
                "negatives": {"opposite": 2, "random": 1},
                "seeds": [42, 43],
                **FEW,
            }
        }
        self.save_study()


@pytest.fixture(scope="module", autouse=True)
def environment():
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("VERSEIR_CACHE", raising=False)
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The study, run."""
    from idioms import IDIOMS

    IDIOMS |= {"under the weather": "ill", "call it a day": "stop work", "on thin ice": "in danger"}
    project = Trained(tmp_path_factory.mktemp("trained") / "project")
    assert run_in_process(project) == []
    told = project.run("--touch")
    assert told.returncode == 0, told.stdout[-4000:]
    return project


def folder(project, seed=42):
    return project.results / f"fine_tuned/tuned/{seed}/whole"


def files_hash(project, seed=42):
    return content_hash(files_of(folder(project, seed) / "model"))


def test_every_analysis_serves_a_trained_encoder_and_its_base(trained):
    board = pl.read_csv(trained.results / "tables/leaderboard.csv")
    assert set(board["system"]) == {"bm25-okapi", "all-minilm-l6-v2", "tuned.42", "tuned.43"}
    run = read_table(trained.results / "runs/test/full/sentence/tuned.42.parquet", RUN)
    assert run["query_id"].n_unique() == N_QUERIES
    told = yaml.safe_load((trained.results / "config.yaml").read_text("utf-8"))
    assert told["systems"] == ["bm25-okapi", "all-minilm-l6-v2", "tuned.42", "tuned.43"]


def test_seeds_give_encoders_of_their_own_and_vectors_that_are_not_the_bases(trained):
    assert files_hash(trained, 42) != files_hash(trained, 43)
    base, one = (
        read_table(trained.results / f"runs/test/full/sentence/{name}.parquet", RUN)["score"].to_numpy()
        for name in ("all-minilm-l6-v2", "tuned.42")
    )
    assert np.abs(base - one).max() > 1e-3


def test_the_curve_holds_the_start_and_every_epoch(trained):
    curve = read_table(folder(trained) / "curve.csv", CURVE)
    assert curve["epoch"].to_list() == [0, 1, 2, 3]
    assert curve["step"].to_list() == [0, 3, 6, 9]
    assert curve["best"].sum() == 1
    assert curve["train_loss"].null_count() == 1
    best = curve.filter(pl.col("best"))["value"].item()
    assert best == curve.filter(pl.col("epoch") > 0)["value"].max()


def test_triplets_set_the_two_uses_of_an_idiom_against_each_other(trained):
    triplets = read_table(trained.results / "fine_tuned/tuned/triplets/whole.parquet", TRIPLETS)
    qrels = read_table(trained.results / "queries/train_sentence.qrels.parquet", QRELS)
    relevant = set(qrels.select("query_id", "poem_id").iter_rows())
    for query, role, poem in triplets.select("query_id", "role", "poem_id").iter_rows():
        assert ((query, poem) in relevant) == (role == "positive")
    assert dict(triplets["origin"].value_counts().iter_rows()) == {"gold": 12, "opposite": 24, "random": 12}


def test_nothing_is_trained_again_and_a_seed_more_is_one_run_more(trained):
    assert trained.jobs() == {}
    spec = trained.study["fine_tuning"]["tuned"]
    trained.save_study(trained.study | {"fine_tuning": {"tuned": spec | {"seeds": [42, 43, 44]}}})
    jobs = trained.jobs()
    assert jobs["fine_tune_encoder"] == jobs["search_trained"] == 1
    assert not {"mine_triplets", "search_bm25", "search_dense"} & set(jobs)
    trained.save_study()


def test_a_run_killed_after_an_epoch_ends_in_the_same_encoder(trained):
    expected, curve = files_hash(trained), (folder(trained) / "curve.csv").read_bytes()
    shutil.rmtree(folder(trained))
    shutil.rmtree(trained.folder / ".cache" / "training", ignore_errors=True)
    target = "results/small/fine_tuned/tuned/42/whole/curve.csv"
    kept = trained.folder / ".cache" / "training"
    trained.kill_when(lambda: list(kept.rglob("whole")), target)
    assert list(kept.rglob("whole")), "it was killed too early or had failed"
    assert not (folder(trained) / "model").exists() and not (folder(trained) / "curve.csv").exists()
    done = trained.run(target)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "goes on from epoch" in done.stdout
    assert files_hash(trained) == expected
    assert (folder(trained) / "curve.csv").read_bytes() == curve
    assert not list(kept.rglob("checkpoint-*"))
    assert trained.jobs(target) == {}
    spec = trained.study["fine_tuning"]["tuned"]
    trained.save_study(trained.study | {"fine_tuning": {"tuned": spec | {"temperature": 0.1}}})
    assert set(trained.jobs(target)) == {"fine_tune_encoder"}  # no triplet is mined again
    trained.save_study()


def test_folds_train_on_no_poem_that_they_are_asked_for(tmp_path):
    project = Project(tmp_path / "project", poems=9)
    recipe = {
        "base": "minilm-l6",
        "train": {"corpus": "east", "query_set": "east-set"},
        "folds": 3,
        "negatives": {"systems": {"bm25": 1, "minilm-l6": 1}},
        "seeds": [7],
        **FEW,
        "batch_size": 2,
        "max_steps": 1,
    }
    project.study["systems"] = ["bm25"]
    project.study["fine_tuning"] = {"own": recipe}
    project.save_study()
    assert run_in_process(project, "results/small/tables/leaderboard.csv") == []
    folds = read_table(project.results / "fine_tuned/own/folds.parquet", FOLDS)
    assert folds["fold"].value_counts()["count"].to_list() == [3, 3, 3]
    gold = dict(
        read_table(project.results / "queries/east-set.qrels.parquet", QRELS).select("query_id", "poem_id").rows()
    )
    place = project.results / "runs/east/verse/east-set"
    joined = read_table(place / "own.7.parquet", RUN)
    assert joined["query_id"].n_unique() == 9
    for fold in (1, 2, 3):
        parts = parts_of(folds, fold)
        triplets = read_table(project.results / f"fine_tuned/own/triplets/fold-{fold}.parquet", TRIPLETS)
        held_out = {gold[query] for query in parts.test + parts.validation}
        assert not held_out & set(triplets["poem_id"])
        assert set(triplets["query_id"]) == set(parts.train)
        own = read_table(place / f"own.7.fold-{fold}.parquet", RUN).filter(pl.col("query_id").is_in(parts.test))
        assert joined.filter(pl.col("query_id").is_in(parts.test)).equals(own)
    board = pl.read_csv(project.results / "tables/leaderboard.csv")
    assert set(board["system"]) == {"bm25", "minilm-l6", "own.7"}
    assert set(board.filter(pl.col("system") == "own.7")["query_set"]) == {"east-set"}
