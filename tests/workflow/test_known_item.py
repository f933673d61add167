"""The known-item track through the rules: edited query sets, analyses, and what an edit of one of them runs again."""

import json
import re
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from project import WORDS, Project

REWRITES = "data/rewrites.jsonl"


def ask_otherwise(project: Project) -> None:
    """Every second query of the east names three words that stand nowhere together; of the others two are rewritten."""
    rows = project.read_rows("data/east-queries.jsonl")
    for i, row in enumerate(rows):
        if i % 2:
            row["text"] = " ".join(WORDS[(7 * i + 11 * j) % len(WORDS)] for j in range(3))
    project.write_rows("data/east-queries.jsonl", rows)
    kept = rows[2]["text"].split()
    rewrites = [
        {"source_query_id": rows[0]["query_id"], "text": "بيت قديم لا يقول شيئا"},
        {"source_query_id": rows[2]["query_id"], "text": " ".join(kept)},  # not rewritten at all: rejected
    ]
    project.write_rows(REWRITES, rewrites)
    edits = {
        "east-added": {"rule": "append-half-verse", "verse": "final"},
        "east-deleted": {"rule": "delete-quoted"},
        "east-rewritten": {"rule": "rewrite", "path": REWRITES},
    }
    for name, edit in edits.items():
        project.study["query_sets"][name] = {"corpora": ["east"], "edit": {"of": "east-set"} | edit}
    project.study["analyses"] = {
        "normalisation": {"systems": ["bm25"], "presets": ["raw", "full"]},
        "families": [{"family": "mine", "table": "quotation_slopes", "where": {"corpus": "east", "threshold": 3}}],
    }
    project.save_study()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The study with edited sets, run once."""
    project = Project(tmp_path_factory.mktemp("finished") / "project")
    ask_otherwise(project)
    done = project.run()
    assert done.returncode == 0, done.stdout[-4000:]
    project.told = done.stdout
    return project


@pytest.fixture
def copy(finished, tmp_path):
    project = object.__new__(Project)
    project.folder = tmp_path / "project"
    project.study = json.loads(json.dumps(finished.study))
    shutil.copytree(finished.folder, project.folder)
    return project


def table(project: Project, name: str) -> pl.DataFrame:
    return pl.read_csv(project.results / "tables" / f"{name}.csv")


def test_every_question_has_its_table_and_figures_and_papers_their_files(finished):
    for name in (
        *("overlap_spectrum", "quotation", "quotation_slopes", "quotation_pairs", "edits", "edit_lengths", "mechanism"),
        *(
            "mechanism_summary",
            "augmentation",
            "augmentation_by_quotation",
            "fusion",
            "fusion_contrasts",
            "normalisation",
        ),
        *("mixed_model", "mixed_model_tests", "mixed_model_fit", "variance_shares", "quoted_spans", "span_success"),
        *("era_trend", "poet_frequency", "gold_poems", "duplicate_folding", "explanation_audit", "equivalence"),
        *("dissociation", "rank_moves", "multiplicity", "multiplicity_lost", "declared_families", "fusion_subsets"),
    ):
        assert (finished.results / "tables" / f"{name}.csv").is_file(), name
    for name in ("spectrum", "quotation", "edits", "mechanism", "augmentation", "fusions"):
        assert {path.suffix for path in (finished.results / "figures").glob(f"{name}.*")} == {".svg", ".pdf", ".png"}
    assert len(list((finished.results / "paper").glob("table-*.tex"))) == 10
    assert not (finished.results / "tables/published.csv").exists()  # the study names no file of printed figures


def test_edited_sets_are_made_by_their_rules(finished):
    queries = pl.read_parquet(finished.results / "queries/east-set.parquet")
    wording = pl.read_parquet(finished.results / "overlap/east/wording/east-set.parquet")
    quoting = set(wording.filter(pl.col("longest_run") >= 3)["query_id"])
    assert 0 < len(quoting) < len(queries)
    added = pl.read_parquet(finished.results / "queries/east-added.parquet")
    assert set(added["source_query_id"]) == set(queries["query_id"]) - quoting
    after = pl.read_parquet(finished.results / "overlap/east/wording/east-added.parquet")
    assert after["longest_run"].min() >= 3
    rejects = pl.read_csv(finished.results / "queries/east-rewritten.rejects.csv")
    rewritten = pl.read_parquet(finished.results / "queries/east-rewritten.parquet")
    assert set(rejects["source_query_id"]) | set(rewritten["source_query_id"]) == quoting
    assert len(rewritten) == 1
    effects = table(finished, "edits").filter((pl.col("effect") == "change") & (pl.col("query_set") == "east-added"))
    assert set(effects["a"]) == {"bm25", "use-m3"}
    assert (effects.filter(pl.col("a") == "bm25")["after"] == 1.0).all()


def test_the_ablation_searches_with_variants_that_are_no_systems_of_the_study(finished):
    assert set(table(finished, "normalisation")["preset"]) == {"raw", "full"}
    assert (finished.results / "runs/east/verse/east-set/bm25.raw.parquet").is_file()
    assert "bm25.raw" not in set(table(finished, "leaderboard")["system"])


def test_the_manifest_holds_the_hash_of_every_table(finished):
    manifest = json.loads((finished.results / "manifest.json").read_text(encoding="utf-8"))
    written = {f"tables/{path.name}" for path in (finished.results / "tables").glob("*.csv")}
    assert set(manifest["tables"]) == written


def test_declared_families_are_counted(finished):
    counts = table(finished, "multiplicity")
    assert counts["table"].to_list()[-2:] == ["all tables", "declared families"]


def test_the_page_has_a_part_for_each_question(finished):
    page = (finished.results / "report/index.html").read_text(encoding="utf-8")
    parts = re.findall(r'<section id="([\w-]+)"', page)
    assert {"wording", "quotation", "edits", "mechanism", "models", "fusion", "checks", "corrections"} <= set(parts)


def test_a_second_run_has_nothing_to_do(finished):
    assert finished.jobs() == {}


def test_another_rewrite_edits_its_own_set_alone(copy):
    rows = copy.read_rows(REWRITES)
    rows[0]["text"] = "بيت آخر لا يقول شيئا"
    copy.write_rows(REWRITES, rows)
    jobs = copy.jobs()
    assert jobs["edit_queries"] == jobs["measure_overlap"] == jobs["encode_texts"] == 1
    assert jobs["search_bm25"] == 1
    assert not {"ingest_corpus", "ingest_queries", "index_bm25", "make_chunks"} & set(jobs)


def test_an_edited_analysis_runs_itself_and_what_reads_it(copy):
    module = copy.folder / "workflow/verseir/analyses/fused_ranks.py"
    module.write_text(module.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    jobs = copy.jobs()
    assert jobs["search_fusions"] == 1
    assert not {"encode_texts", "search_bm25", "evaluate_runs", "stratify_quotation", "relate_overlap"} & set(jobs)


def test_another_margin_states_sameness_and_advice_again_and_nothing_else(copy):
    copy.study["analyses"]["margin"] = 0.1
    copy.save_study()
    stated = {"state_equivalence", "recommend_deployment", "count_corrections"}
    assert set(copy.jobs()) <= stated | {"write_report", "write_manifest", "all"}


def test_a_rewrite_of_an_unknown_query_is_refused_before_anything_runs(copy):
    copy.write_rows(REWRITES, [{"source_query_id": "nobody", "text": "بيت قديم"}])
    done = copy.run()
    assert done.returncode != 0
    assert f"{REWRITES}:1" in done.stdout
    assert "nobody" in done.stdout
    assert "Traceback" not in done.stdout
