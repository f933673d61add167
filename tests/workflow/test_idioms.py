"""An idiom benchmark through the rules: ways to ask, one after the other; index filters; tuned BM25."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from idioms import KEEP, SPLITS, SUBJECTS, Idioms
from in_process import run_in_process

from verseir.analyses.confusion import CONFUSION
from verseir.analyses.settings import SETTING_CONTRASTS
from verseir.analyses.strata import STRATA
from verseir.analyses.string_match import STRING_MATCH
from verseir.tables import CONTRASTS, LEADERBOARD, PER_QUERY, QRELS, RUN, read_table

MINILM, BM25 = "all-minilm-l6-v2", "bm25-okapi"
N_QUERIES = 2 * len(SPLITS["test"]) * len(SUBJECTS)
#: Documents that answer a literal and an idiomatic query of an idiom, by mode.
R = {"full": (8, 12), "lit_sim_sense": (8, 8), "lit_idiom": (8, 4)}


@pytest.fixture(scope="module", autouse=True)
def environment():
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("VERSEIR_CACHE", raising=False)
        yield


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The study with two ways to ask, run; what the encoder saw is kept aside."""
    project = Idioms(tmp_path_factory.mktemp("idioms") / "project")
    project.study["query_sets"].pop("instruction_span")
    project.save_study()
    make(project)
    return project, encoding(project)


@pytest.fixture(scope="module")
def whole(first):
    """A third way to ask is added, and the study run again."""
    project, before = first
    project.study["query_sets"]["instruction_span"] = project.asked("instruction_span")
    project.save_study()
    jobs = project.jobs()
    make(project)
    return project, before, jobs


def make(project):
    """Run what is to be run in this process, and let Snakemake know that it was."""
    assert run_in_process(project) == []
    told = project.run("--touch")
    assert told.returncode == 0, told.stdout[-4000:]


def encoding(project):
    return json.loads((project.results / f"encodings/test/{MINILM}.json").read_text(encoding="utf-8"))


def table(project, contract):
    return read_table(project.results / "tables" / f"{contract.name}.csv", contract)


def test_a_second_way_to_ask_encodes_no_document_again(whole):
    project, before, jobs = whole
    n_documents = len(json.loads((project.folder / "data/test/indexes.json").read_text()))
    assert before["roles"]["document"] == before["roles"]["document"] | {"n_texts": n_documents, "n_new": n_documents}
    after = encoding(project)["roles"]
    assert after["document"]["n_new"] == 0
    assert after["query"]["n_new"] == N_QUERIES
    assert jobs["encode_texts"] == 1
    assert jobs["search_dense"] == 3 * len(R)  # what is read of the queries is one more text each
    assert not {"search_bm25", "index_bm25", "tune_bm25", "make_chunks", "ingest_corpus"} & set(jobs)


def test_nothing_is_left_to_do(whole):
    assert whole[0].jobs() == {}


def test_every_way_to_ask_is_searched_where_it_can_be(whole):
    runs = table(whole[0], LEADERBOARD).select("query_set", "mode", "system").unique()
    found = {(query_set, system) for query_set, _, system in runs.iter_rows()}
    lexical = {(name, f"{BM25}{variant}") for name in ("sentence", "span") for variant in ("", "-as-published")}
    assert found == lexical | {(name, MINILM) for name in ("sentence", "span", "instruction_span")}
    assert len(runs) == len(found) * len(R)


def test_what_is_relevant_is_what_is_relevant_among_the_indexed(whole):
    project, _, _ = whole
    qrels = read_table(project.results / "queries/sentence.qrels.parquet", QRELS)
    values = read_table(project.results / "per_query.parquet", PER_QUERY)
    for mode, (literal, idiomatic) in R.items():
        run = read_table(project.results / f"runs/test/{mode}/span/{MINILM}.parquet", RUN)
        usages = set(run["poem_id"].str.extract(r"_(\w+)_\d+$").str.split("_").list.last())
        assert usages <= set(KEEP.get(mode, {"usage": ["literal", "idiomatic", "simplification", "sense"]})["usage"])
        for query_id, size in ((f"q_101_s01_{use}", n) for use, n in (("literal", literal), ("idiomatic", idiomatic))):
            relevant = set(qrels.filter(pl.col("query_id") == query_id)["poem_id"])
            top = run.filter(pl.col("query_id") == query_id, pl.col("rank") <= size)["poem_id"]
            expected = len(relevant & set(top)) / size
            at = {"mode": mode, "query_set": "span", "system": MINILM, "query_id": query_id, "measure": "Rprec"}
            measured = values.filter(*(pl.col(column) == value for column, value in at.items()))["value"].item()
            assert measured == pytest.approx(expected)


def test_parameters_are_chosen_on_the_validation_queries_of_the_same_mode(whole):
    project, _, _ = whole
    for mode in R:
        for view in ("sentence", "span"):
            tuned = json.loads((project.results / f"tuning/val/{mode}/val_{view}/{BM25}.json").read_text())
            index = json.loads(
                (project.results / f"indexes/test/{mode}/{BM25}/val_{view}@val/whole/index.json").read_text()
            )
            assert (tuned["n_queries"], len(tuned["grid"])) == (8, 25)
            assert (index["k1"], index["b"]) == (tuned["k1"], tuned["b"])
            assert tuned["mean"] == max(trial["mean"] for trial in tuned["grid"])


def test_the_string_of_an_idiom_finds_what_arithmetic_says(whole):
    rows = table(whole[0], STRING_MATCH).filter(
        pl.col("match") == "annotated", pl.col("measure") == "Rprec", pl.col("query_set") == "span"
    )
    found = {(mode, usage): mean for mode, usage, mean in rows.select("mode", "usage", "mean").iter_rows()}
    expected = {
        ("full", "literal"): 2 / 3,
        ("full", "idiomatic"): 1 / 3,
        ("full", "all"): 1 / 2,
        ("lit_sim_sense", "literal"): 1.0,
        ("lit_sim_sense", "idiomatic"): 0.0,
        ("lit_sim_sense", "all"): 1 / 2,
        ("lit_idiom", "literal"): 2 / 3,
        ("lit_idiom", "idiomatic"): 1 / 3,
        ("lit_idiom", "all"): 1 / 2,
    }
    assert found == pytest.approx(expected)


def test_kinds_of_queries_add_up_to_all_of_them(whole):
    strata, board = table(whole[0], STRATA), table(whole[0], LEADERBOARD)
    cell = ["corpus", "query_set", "mode", "system", "measure"]
    for attribute in ("usage", "quality", "subject", "idiom"):
        part = strata.filter(pl.col("attribute") == attribute)
        total = part.group_by(cell).agg(mean=(pl.col("mean") * pl.col("n_queries")).sum() / pl.col("n_queries").sum())
        both = board.join(total, on=cell)
        assert len(both) == len(board)
        assert both["mean_right"].to_list() == pytest.approx(both["mean"].to_list())
    assert ((strata["lowest"] <= strata["mean"] + 1e-12) & (strata["mean"] <= strata["highest"] + 1e-12)).all()


def test_queries_of_one_idiom_are_tested_together(whole):
    tests = table(whole[0], CONTRASTS)
    assert len(tests) and set(tests["test"]) == {"exact sign-flip by cluster"}  # three idioms: eight flips


def test_ways_to_ask_and_filters_are_tested_on_the_same_queries(whole):
    rows = table(whole[0], SETTING_CONTRASTS)
    asked = rows.filter(pl.col("setting") == "query_set")
    assert set(asked["b"]) == {"sentence"} and set(asked["a"]) == {"span", "instruction_span"}
    assert asked.filter(pl.col("system") == BM25)["a"].unique().to_list() == ["span"]
    filters = rows.filter(pl.col("setting") == "mode")
    assert set(filters["a"]) == set(KEEP) and set(filters["family_size"]) == {4, 6}
    assert set(rows["n"]) == {N_QUERIES}


def test_the_top_is_accounted_for(whole):
    rows = table(whole[0], CONFUSION)
    cell = ["corpus", "query_set", "mode", "system", "usage"]
    assert rows.group_by(cell).agg(pl.col("share").sum())["share"].to_list() == pytest.approx(
        [1.0] * len(rows.unique(cell))
    )
    measured = table(whole[0], STRATA).filter(pl.col("attribute") == "usage", pl.col("measure") == "Rprec")
    hits = rows.filter("relevant").group_by(cell).agg(pl.col("share").sum())
    both = hits.join(measured.rename({"value": "usage"}), on=cell)
    assert len(both) == len(measured)
    assert both["share"].to_list() == pytest.approx(both["mean"].to_list())


def test_the_page_and_the_tables_for_papers_are_there(whole):
    results = whole[0].results
    page = (results / "report/index.html").read_text(encoding="utf-8")
    assert "Idioms" in page and "lit_sim_sense" in page
    for name in ("zero-shot", "variants-span", "ablation-span", "overlap", "data"):
        assert (results / f"paper/table-idioms-{name}.csv").stat().st_size
    for figure in ("systems", "modes", "confusion"):
        assert all((results / f"figures/idioms-{figure}.{kind}").stat().st_size for kind in ("svg", "pdf", "png"))


def test_a_trial_writes_elsewhere(whole):
    project, _, _ = whole
    told = project.run("-n", "-p", "--config", "debug=true")
    assert told.returncode == 0, told.stdout
    assert "results/small.debug/report/index.html" in told.stdout
    assert "results/small/" not in told.stdout


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda study: study["keep"].update(lit_idiom={"usage": ["literal", "idiomatik"]}), ["idiomatik", "idiomatic"]),
        (lambda study: study["keep"].update(lit_idiom={"use": ["literal"]}), ["use", "usage"]),
        (lambda study: study["keep"].update(lit_idiom={"usage": ["idiomatic"]}), ["q_101_s01_literal", "lit_idiom"]),
        (lambda study: study["corpora"]["test"].update(path="data/none"), ["data/none"]),
        (lambda study: study["query_sets"]["span"].pop("validation"), ["nothing to tune on"]),
        (lambda study: study["query_sets"]["span"]["encoding"].update(view="instruction_span"), ["instruction"]),
    ],
)
def test_a_study_that_cannot_be_run_is_refused_before_any_job(whole, change, told):
    project, _, _ = whole
    study = json.loads(json.dumps(project.study))
    change(study)
    project.save_study(study)
    with contextlib.ExitStack() as after:
        after.callback(project.save_study)
        out = project.run("check")
    assert out.returncode != 0
    assert all(part in out.stdout for part in told), out.stdout[-3000:]
