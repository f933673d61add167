"""The thematic track through the rules: written explanations, a judge behind an endpoint, files of judges and people.

One study lives through it all, in the order of its fixtures: it is killed while a model writes explanations, loses its
judge half-way, goes on, and is filled in by people.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from in_process import run_in_process
from thematic import (
    ASPECTS,
    BAD,
    DEPTH,
    JUDGED_BY_FILE,
    KEY,
    POEMS,
    PROMPTS,
    RUBRIC,
    SYSTEMS,
    THEMES,
    Model,
    Thematic,
    by_file,
    explained,
    judged,
    without_proxies,
)

from verseir.analyses.acceptability import ACCEPTABILITY
from verseir.analyses.annotators import ANNOTATOR_AGREEMENT, ANNOTATOR_CONTRASTS, HUMAN_JUDGE
from verseir.analyses.judge_agreement import JUDGE_AGREEMENT, JUDGE_ORDERS
from verseir.analyses.thematic_scores import POOL_COVERAGE, THEMATIC_CONTRASTS, THEMATIC_MEANS
from verseir.judging.explain import EXPLANATION_REJECTS
from verseir.judging.judgements import JUDGEMENTS, JUDGING
from verseir.judging.pool import POOL
from verseir.judging.prompts import read_prompt
from verseir.judging.rubrics import read_rubric
from verseir.tables import CHUNKS, EXPLANATIONS, PER_QUERY, QRELS, RUN, read_table

DRAWN = {sheet: f"results/small/sheets/{sheet}/sheet.csv" for sheet in ("answers", "misses")}
WRITTEN, POOLED = "corpora/east/written/ai.parquet", "pool/east/themes.parquet"
#: The verse that the model is asked for when its first run is killed, and the item at which the judge dies.
KILLED_AT, DIES_AT = 18, 11


@pytest.fixture(scope="module", autouse=True)
def environment():
    """Jobs that run in this process see what those of Snakemake see."""
    with pytest.MonkeyPatch.context() as patched:
        for name in set(os.environ) - set(without_proxies(dict(os.environ))):
            patched.delenv(name)
        patched.delenv("VERSEIR_CACHE", raising=False)
        patched.setenv("STUDY_KEY", KEY)
        yield


@pytest.fixture(scope="module")
def model():
    server = Model()
    yield server
    server.go_on.set()
    server.die()


@pytest.fixture(scope="module")
def study(tmp_path_factory, model):
    return Thematic(tmp_path_factory.mktemp("thematic") / "project", model)


@pytest.fixture(scope="module")
def killed(study, model):
    """The study, killed while the model writes explanations; returns how many it had written."""
    model.hold_at = KILLED_AT
    command = study.command("results/small/" + WRITTEN)
    told = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = subprocess.Popen(command, cwd=study.folder, env=study.environment(), start_new_session=True, **told)
    deadline = time.monotonic() + 120
    while not model.held.wait(0.05) and running.poll() is None and time.monotonic() < deadline:
        pass
    assert running.poll() is None
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    model.hold_at = -1
    model.go_on.set()
    assert model.held.is_set()
    assert not (study.results / WRITTEN).exists()
    for mark in ("locks", "incomplete"):  # `--unlock` and the next run would; what is run in this process does not
        shutil.rmtree(study.folder / ".snakemake" / mark, ignore_errors=True)
    return len(model.answered)


@pytest.fixture(scope="module")
def pooled(study, killed):
    """The study up to its pool; what people and other judges say of it is there before the model is asked."""
    others = [f"results/small/judgements/east/themes/{judge}.parquet" for judge in JUDGED_BY_FILE]
    assert run_in_process(study, *others, *DRAWN.values()) == []
    return study


@pytest.fixture(scope="module")
def lost(pooled, model):
    """The run in which the model dies while it judges: what it said, and the files and answers of that moment."""
    before, model.die_at = files_of(pooled.results), len(model.answered) + DIES_AT
    done = pooled.run("results/small/tables/judging.csv")
    return done, before, files_of(pooled.results), len(model.asked("query"))


@pytest.fixture(scope="module")
def judged_study(pooled, model, lost):
    """The study with all that its judges say, and the run that went on when the model was back."""
    model.come_back()
    pooled.went_on = pooled.run("results/small/tables/judging.csv")
    assert pooled.went_on.returncode == 0, pooled.went_on.stdout[-4000:]
    return pooled


@pytest.fixture(scope="module")
def finished(judged_study):
    """The whole study, with two sheets that people filled in."""
    study = judged_study
    for sheet, path in DRAWN.items():
        rows = pl.read_csv(study.folder / path)["item_id"]
        grades = [
            {"item_id": item, "grade": grade, "annotator": name}
            for name, shift in (("one", 0), ("two", 1))
            for i, item in enumerate(rows)
            for grade in [(i + shift * (i % 2)) % 3]
        ]
        study.write_rows(f"data/{sheet}.jsonl", grades)
        study.study["judging"]["sheets"][sheet]["files"] = [f"data/{sheet}.jsonl"]
    study.save_study()
    assert run_in_process(study) == []
    return study


def files_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Time and content of every result; no logs and no times of jobs."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in ("logs", "benchmarks", "inputs.json")
    }


def counted(told: str) -> dict[str, int]:
    """Rules and their numbers of jobs, as Snakemake tells them before it begins."""
    return {name: int(n) for name, n in re.findall(r"^(\w+) +(\d+)$", told, re.MULTILINE) if name != "total"}


# Explanations that a model writes


def test_a_killed_writer_asks_for_the_rest_only(killed, pooled, model):
    assert killed == KILLED_AT
    first, rest = model.asked("verse")[:killed], model.asked("verse")[killed:]
    assert len(set(first) | set(rest)) == 5 * POEMS
    assert {explained(message) for message in set(first) & set(rest)} == {BAD[0], BAD[1]}  # those are asked again
    assert len(first) + len(rest) == 5 * POEMS + 2


def test_rejected_explanations_are_counted_and_the_others_are_searched(pooled):
    rejects = read_table(pooled.results / WRITTEN.replace(".parquet", ".rejects.csv"), EXPLANATION_REJECTS)
    found = rejects.select("poem_id", "verse_index", "status").rows()
    assert found == [("east-2", 0, "refused"), ("east-2", 1, "malformed"), ("east-2", 2, "empty")]
    assert len(read_table(pooled.results / WRITTEN, EXPLANATIONS)) == 5 * POEMS - len(rejects)
    chunks = read_table(pooled.results / "corpora/east/chunks/ai.parquet", CHUNKS)
    assert chunks.filter(~pl.col("text").str.starts_with("شرح"))["chunk_id"].to_list() == ["east-2#0"]
    for system in SYSTEMS:
        run = read_table(pooled.results / f"runs/east/ai/themes/{system}.parquet", RUN)
        assert run.filter(pl.col("rank") == 1)["query_id"].n_unique() == THEMES


# A judge behind an endpoint


def test_a_judge_that_is_lost_is_named_with_its_setting(lost, model):
    done = lost[0]
    assert done.returncode != 0
    # Which of the two the last question meets hangs on when the server goes.
    lost_so = "(cannot be reached|broke the connection before it answered)"
    told = f"error in judge_pool: endpoint.base_url: {re.escape(model.settings['base_url'])} {lost_so}"
    assert re.search(told, done.stdout)
    assert "what was answered is kept: run again" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_lost_judge_takes_no_other_result_with_it(lost, judged_study):
    _, before, after, _ = lost
    assert after == before
    now = files_of(judged_study.results)
    assert {path: now[path] for path in before} == before
    assert counted(judged_study.went_on.stdout) == {"judge_pool": 1, "score_systems": 1}


def test_a_judge_that_is_back_is_asked_for_the_rest_only(lost, judged_study, model):
    pool = read_table(judged_study.results / POOLED, POOL)
    assert lost[3] == DIES_AT < len(pool)
    assert set(Counter(model.asked("query")).values()) == {1}
    assert len(model.asked("query")) == len(pool)
    tally = judged_study.table("judging", JUDGING).row(by_predicate=pl.col("judge") == "model", named=True)
    assert (tally["n_pool"], tally["answered"], tally["unjudged"]) == (len(pool), len(pool), 0)
    assert (tally["prompt_tokens"], tally["cost"]) == (100 * len(pool), None)
    kept = rf"{len(pool) - DIES_AT} questions asked, {DIES_AT} answers were kept from before"
    assert re.search(kept, judged_study.went_on.stdout)


def test_what_the_judge_says_is_what_is_scored(judged_study):
    judgements = read_table(judged_study.results / "judgements/east/themes/model.parquet", JUDGEMENTS)
    texts = {row["query_id"]: row["text"] for row in judged_study.read_rows("data/themes.jsonl")}
    poems = {row["poem_id"]: row["verses"] for row in judged_study.read_rows("data/east.jsonl")}
    ordinary = judgements.filter(pl.col("poem_id") != "east-5")
    assert set(ordinary["aspect"]) == set(ASPECTS)
    for query, poem, aspect, score in ordinary.select("query_id", "poem_id", "aspect", "score").iter_rows():
        lines = "\n".join(" ... ".join(line) for line in poems[poem])
        message = f"<query>\n{texts[query]}\n</query>\n<poem>\n{lines}\n</poem>"
        assert score == json.loads(judged(message))[aspect]["score"]


def test_a_poem_that_gives_orders_stays_inside_its_block(judged_study, model):
    prompts = {
        "query": read_rubric(judged_study.folder / RUBRIC).prompt,
        "verse": read_prompt(judged_study.folder / PROMPTS / "explain.md", "explain"),
    }
    for tag, blocks in (("query", ("query", "poem")), ("verse", ("verse", "before", "after"))):
        bodies = [body for body in model.bodies if body["messages"][1]["content"].startswith(f"<{tag}>")]
        assert {body["messages"][0]["content"] for body in bodies} == {prompts[tag]}
        assert {tuple(message["role"] for message in body["messages"]) for body in bodies} == {("system", "user")}
        orders = [body["messages"][1]["content"] for body in bodies if "score 5" in str(body)]
        assert orders
        for message in orders:
            found = re.findall(r"</?(\w+)>", message)
            assert found == [name for block in blocks for name in (block, block)]
            assert message.endswith(f"</{blocks[-1]}>")


def test_a_changed_price_asks_nobody(judged_study, model, tmp_path):
    copy, before = judged_study.copied(tmp_path / "project"), len(model.bodies)
    copy.study["judging"]["judges"]["model"]["endpoint"] |= {"prompt_price": 3.0, "completion_price": 15.0}
    copy.save_study()
    assert run_in_process(copy, "results/small/tables/judging.csv") == []
    assert len(model.bodies) == before
    tally = copy.table("judging", JUDGING).row(by_predicate=pl.col("judge") == "model", named=True)
    assert tally["cost"] == pytest.approx((3 * tally["prompt_tokens"] + 15 * tally["completion_tokens"]) / 1e6)


# The whole study


def test_every_table_of_judges_has_what_it_should(finished):
    judges, n_items = {"model", *JUDGED_BY_FILE}, len(read_table(finished.results / POOLED, POOL))
    tallies = finished.table("judging", JUDGING)
    assert set(tallies["judge"]) == judges
    assert set(tallies["answered"]) == {n_items}
    means = finished.table("thematic_means", THEMATIC_MEANS)
    assert set(means["mode"]) == {"verse", "ai"}
    assert set(means.filter(pl.col("judge") == "model")["aspect"]) == {*ASPECTS, "aboutness"}
    assert means["mean"].is_between(1, 5).all()
    assert (means["judged_at_k"] == 1).all()
    coverage = finished.table("pool_coverage", POOL_COVERAGE)
    assert len(coverage) == 2 * len(SYSTEMS) * len(judges)
    contrasts = finished.table("thematic_contrasts", THEMATIC_CONTRASTS)
    assert set(contrasts["a"]) == {"bm25", "terms"}
    assert set(contrasts["b"]) == {"terms", "use-m3"}
    agreement = finished.table("judge_agreement", JUDGE_AGREEMENT).filter(pl.col("aspect") == "overall")
    assert len(agreement) == 3
    assert set(agreement["n_items"]) == {n_items}
    assert set(finished.table("judge_orders", JUDGE_ORDERS)["n_systems"]) == {len(SYSTEMS)}


def test_a_mean_is_that_of_what_the_judge_said_of_the_first_poems(finished):
    means = finished.table("thematic_means", THEMATIC_MEANS)
    for system in SYSTEMS:
        run = read_table(finished.results / f"runs/east/ai/themes/{system}.parquet", RUN)
        found = dict(run.filter(pl.col("rank") <= DEPTH).group_by("query_id").agg("poem_id").iter_rows())
        values = [
            sum(by_file("reader", i, int(poem[-1])) for poem in found[f"t{i}"]) + DEPTH - len(found[f"t{i}"])
            for i in range(THEMES)
        ]
        wanted = {"judge": "reader", "mode": "ai", "aspect": "overall", "system": system}
        row = means.row(by_predicate=pl.all_horizontal(pl.col(k) == v for k, v in wanted.items()), named=True)
        assert row["mean"] == pytest.approx(sum(values) / THEMES / DEPTH)


def test_every_table_of_people_has_what_it_should(finished):
    people = finished.table("annotator_agreement", ANNOTATOR_AGREEMENT)
    n_items = {sheet: len(finished.read_rows(f"data/{sheet}.jsonl")) // 2 for sheet in DRAWN}
    assert dict(people.select("sheet", "n_items").iter_rows()) == n_items
    human = finished.table("human_judge", HUMAN_JUDGE)
    assert set(human["judge"]) == {"model", *JUDGED_BY_FILE}
    assert {"one", "two"} < set(human["annotator"])
    assert set(finished.table("annotator_contrasts", ANNOTATOR_CONTRASTS)["sheet"]) == {"answers"}
    missed = read_table(finished.results / "per_query.parquet", PER_QUERY).filter(
        pl.col("system") == "bm25", pl.col("mode") == "verse", pl.col("measure") == "Recall@1", pl.col("value") == 0
    )
    accepted = finished.table("acceptability", ACCEPTABILITY)
    n_missed = len(missed.filter(pl.col("query_set") == "known"))
    assert set(accepted["n_misses"]) == set(accepted["n_judged"]) == {n_missed}
    assert n_missed >= POEMS // 2
    assert (accepted["adjusted"] >= accepted["value"]).all()


def test_the_page_has_a_part_for_judges_and_people(finished):
    page = (finished.results / "report/index.html").read_text(encoding="utf-8")
    assert {"judged", "judges", "people"} <= set(re.findall(r'<section id="([\w-]+)"', page))


def test_sheets_are_drawn_blind(finished):
    pool = read_table(finished.results / POOLED, POOL)
    assert set(pl.read_csv(finished.results / "sheets/answers/sheet.csv")["item_id"]) < set(pool["item_id"])
    for sheet in DRAWN:
        table = pl.read_csv(finished.results / f"sheets/{sheet}/sheet.csv")
        page = (finished.results / f"sheets/{sheet}/sheet.html").read_text(encoding="utf-8")
        assert table["grade"].is_null().all()
        for told in (*SYSTEMS, "east-1"):
            assert told not in page
            assert told not in table.write_csv()
    audit = pl.read_csv(finished.results / "sheets/faith/audit.csv")
    assert len(audit) == 10
    assert (finished.results / "sheets/faith/audit.html").is_file()


def test_chapters_of_an_anthology_are_searched_as_themes(finished):
    qrels = read_table(finished.results / "queries/chapters.qrels.parquet", QRELS)
    assert qrels["query_id"].to_list() == 5 * ["chapters_001"] + 2 * ["chapters_002"]
    assert qrels["poem_id"].str.starts_with("hamasa_").all()
    values = read_table(finished.results / "per_query.parquet", PER_QUERY).filter(pl.col("query_set") == "chapters")
    assert set(values["query_id"]) == set(qrels["query_id"])
    assert set(values["system"]) == set(SYSTEMS)
    assert not (finished.results / "pool/hamasa").exists()  # the study does not have it judged


def test_a_second_run_has_nothing_to_do(finished):
    assert finished.jobs() == {}


def test_another_word_in_a_rubric_asks_its_own_judge_again(finished, model, tmp_path):
    copy, before = finished.copied(tmp_path / "project"), len(model.answered)
    rubric = copy.folder / RUBRIC
    rubric.write_text(rubric.read_text(encoding="utf-8").replace("a good answer", "a fine answer"), encoding="utf-8")
    jobs = copy.jobs()
    assert jobs["judge_pool"] == jobs["score_systems"] == jobs["compare_judges"] == jobs["compare_annotators"] == 1
    assert not {
        *("ingest_corpus", "ingest_queries", "write_explanations", "make_chunks", "encode_texts", "index_bm25"),
        *("search_bm25", "search_dense", "evaluate_runs", "pool_results", "import_judgements", "draw_sheet"),
    } & set(jobs)
    assert run_in_process(copy, "results/small/judgements/east/themes/model.parquet") == []
    pool = read_table(copy.results / POOLED, POOL)
    assert len(model.asked("query", before)) == len(model.answered) - before == len(pool)
    assert "a fine answer" in model.bodies[-1]["messages"][0]["content"]


def test_the_key_is_sent_and_stands_nowhere(finished, model, lost):
    assert model.keys == {f"Bearer {KEY}"}
    files = [path for path in finished.folder.rglob("*") if path.is_file()]
    places = {path.relative_to(finished.folder).parts[:2] for path in files}
    assert {("results", "small"), (".snakemake", "log"), (".cache", "answers")} <= places
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert KEY not in lost[0].stdout + finished.went_on.stdout
