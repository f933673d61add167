"""Labelling and packaging through the rules: judges of some query sets, a sheet of a part, a package read back."""

import json
import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from in_process import run_in_process
from packaged import ASPECTS, CANDIDATES, GOLD, SETTINGS, Packaged

from verseir.analyses.annotators import ANNOTATOR_AGREEMENT, HUMAN_JUDGE
from verseir.analyses.judge_agreement import JUDGE_AGREEMENT
from verseir.analyses.thematic_scores import POOL_COVERAGE, THEMATIC_MEANS
from verseir.corpora.load import load_corpus
from verseir.corpora.poetrymteb import Setting
from verseir.exchange.beir_export import poem_text
from verseir.exchange.languages import three_letters
from verseir.judging.pool import POOL
from verseir.judging.sheets import SHEET
from verseir.queries.poetry import poetry_queries
from verseir.queries.splits import SPLIT, of_part
from verseir.tables import POEMS, QRELS, QUERIES, read_table

TABLES = ("thematic_means", "pool_coverage", "judge_agreement", "annotator_agreement", "human_judge")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    project = Packaged(tmp_path_factory.mktemp("package") / "project")
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("VERSEIR_CACHE", raising=False)
        assert run_in_process(project, "packages", *(f"results/small/tables/{name}.csv" for name in TABLES)) == []
    return project


def table(study, name, contract):
    return read_table(study.results / "tables" / f"{name}.csv", contract)


def test_each_judge_judges_its_own_query_sets(study):
    found = {
        path.relative_to(study.results / "judgements") for path in (study.results / "judgements").rglob("*.parquet")
    }
    assert found == {Path(f"archive/{aspect}/by-{aspect}.parquet") for aspect in ASPECTS}
    means = table(study, "thematic_means", THEMATIC_MEANS)
    assert set(means.select("query_set", "judge", "aspect").unique().rows()) == {
        (aspect, f"by-{aspect}", "overall") for aspect in ASPECTS
    }
    assert set(table(study, "pool_coverage", POOL_COVERAGE)["judge"]) == {"by-emotion", "by-theme"}
    assert table(study, "judge_agreement", JUDGE_AGREEMENT).is_empty()  # no two judged the same


def test_the_sheet_holds_the_whole_pool_of_its_part(study):
    pool = read_table(study.results / "pool/archive/emotion.parquet", POOL)
    gold = of_part(read_table(study.results / "queries/emotion.split.csv", SPLIT), "gold")
    drawn = read_table(study.results / "sheets/people/items.parquet", SHEET)
    assert len(gold) == GOLD and set(drawn["query_id"]) == set(gold)
    assert set(drawn["item_id"]) == set(pool.filter(pl.col("query_id").is_in(gold))["item_id"])
    assert len(drawn) <= GOLD * CANDIDATES
    page = (study.results / "sheets/people/sheet.html").read_text(encoding="utf-8")
    assert "Does the poem convey the emotion that the query asks for?" in page and 'data-value="3"' in page


def test_people_agree_on_the_scale_of_the_rubric_with_each_other_and_with_the_judge(study):
    (row,) = table(study, "annotator_agreement", ANNOTATOR_AGREEMENT).iter_rows(named=True)
    assert (row["annotator_a"], row["annotator_b"]) == ("amal", "basil") and row["within_one"] == 1.0
    human = table(study, "human_judge", HUMAN_JUDGE)
    assert set(human.select("judge", "aspect").rows()) == {("by-emotion", "overall")}
    assert human.filter(pl.col("annotator") == "amal")["rho"].to_list() == [pytest.approx(1.0)]


def test_the_package_is_read_back_with_the_same_poems_queries_and_grades(study):
    languages = ["ARA", "FAS"]
    spec = {"adapter": "poetrymteb", "path": str(study.package), "languages": languages}
    spec["counts"] = str(study.package / "counts.csv")
    corpus = load_corpus("back", spec, Path())
    poems = read_table(study.results / "corpora/archive/poems.parquet", POEMS).sort("poem_id")
    assert not corpus.warnings
    assert corpus.poems.select("poem_id", "title", "poet").rows() == poems.select("poem_id", "title", "poet").rows()
    assert [poem_text(one) for one in corpus.poems["verses"]] == [poem_text(one) for one in poems["verses"]]
    assert corpus.poems["language"].to_list() == [three_letters(code) for code in poems["language"]]
    known = corpus.poems.select("poem_id", "language")
    for setting, splits in SETTINGS.items():
        aspect, _, scope = setting.partition("_")
        for split, name in splits.items():
            found = poetry_queries(name, Setting(aspect, scope, split), spec, Path(), known)
            queries = read_table(study.results / f"queries/{name}.parquet", QUERIES)
            qrels = read_table(study.results / f"queries/{name}.qrels.parquet", QRELS)
            assert found.queries.select("query_id", "text").rows() == queries.select("query_id", "text").rows()
            assert found.qrels.rows() == qrels.sort("query_id", "poem_id").rows()
            assert found.counted and not found.warnings


def test_the_card_says_who_judged_and_the_rubrics_are_there(study):
    card = " ".join((study.package / "README.md").read_text(encoding="utf-8").split())
    assert "emotion_cross, gold: people judged" in card and "theme_mono, train: the judge `by-theme`" in card
    assert "the queries of `theme` were parted" in card.lower() and f"at most {CANDIDATES} poems were judged" in card
    prompts = {path.relative_to(study.package / "prompts").as_posix() for path in study.package.rglob("prompts/*/*")}
    assert prompts == {
        "emotion_cross/judge-by-emotion.yaml",
        "emotion_cross/sheet-people.yaml",
        "emotion_cross/sheet-people.md",
        "theme_mono/judge-by-theme.yaml",
    }


def test_a_study_of_the_package_searches_it(study):
    """The adapter and the rules take the folder as a corpus with query sets of its own."""
    own = json.loads(json.dumps(study.study))
    searched = {
        "corpora": ["back"],
        "poetry": {"corpus": "back", "aspect": "theme", "scope": "mono", "split": "silver"},
    }
    study.save_study(
        {
            **{key: own[key] for key in ("modes", "measures", "depth", "bootstrap", "flips")},
            "study": "again",
            "systems": ["bm25"],
            "corpora": {"back": {"adapter": "poetrymteb", "path": str(study.package), "languages": ["ARA", "FAS"]}},
            "query_sets": {"theme": searched | {"within": "language"}},
        }
    )
    try:
        assert "evaluate_runs" in study.jobs("results/again/per_query.parquet")
    finally:
        study.save_study()


def test_nothing_runs_again_when_keys_change_places(study):
    study.save_study(json.loads(json.dumps(study.study, sort_keys=True)))
    try:
        again = study.jobs("packages")
    finally:
        study.save_study()
    assert "package_benchmark" not in again and "judge_pool" not in again
