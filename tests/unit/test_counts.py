"""Poems, queries and ranked lists made from printed counts: they have the counts, and nothing else by chance."""

import copy
import json
from itertools import product
from pathlib import Path

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.analyses.acceptability import acceptability
from verseir.analyses.paired import Draws
from verseir.arabic import tokenize
from verseir.counts import JOINT, changed, files, known_item_outcomes, read_counts
from verseir.faults import InputFaults, UserError
from verseir.judging.annotations import ANNOTATIONS
from verseir.judging.misses import misses
from verseir.judging.sheets import known_item_sheet
from verseir.layout import Run
from verseir.overlap import containment, longest_shared_run
from verseir.stats.correlation import kendall
from verseir.tables import DUPLICATES, PER_QUERY, QRELS, QUERIES
from verseir.trec import read_run

ROOT = Path(__file__).parents[2]
COUNTS = ROOT / "resources" / "paper-counts" / "counts.yaml"


@pytest.fixture(scope="module")
def counts():
    return read_counts(COUNTS)


@pytest.fixture(scope="module")
def made(counts):
    return dict(files(counts))


def rows(made, path):
    return [json.loads(line) for line in made[path].splitlines()]


def found(made, tmp_path, path):
    """Queries of a run whose own poem stands among the first five."""
    (tmp_path / "run.trec").write_text(made[path], encoding="utf-8")
    gold = {row["query_id"]: row["relevant"][0] for row in rows(made, f"queries/{Path(path).parent.name}.jsonl")}
    run = read_run(tmp_path / "run.trec").filter(pl.col("rank") <= 5)
    return {query for query, poem in run.select("query_id", "poem_id").iter_rows() if gold[query] == poem}


def test_runs_have_the_counts(made, tmp_path):
    fof, diwan = "runs/fof/verse/fof-known-item", "runs/diwan/verse/diwan-known-item"
    bm25, qwen = (found(made, tmp_path, f"{fof}/{system}.trec") for system in JOINT)
    quoting = {row["query_id"] for row in rows(made, "queries/fof-known-item.jsonl") if row["register"] == "quoting"}
    assert (len(bm25), len(qwen), len(quoting)) == (182, 175, 80)
    assert (len(bm25 & quoting), len(qwen & quoting)) == (80, 69)
    assert (len(bm25 - qwen), len(qwen - bm25)) == (38, 31)
    assert [len(found(made, tmp_path, f"{diwan}/{system}.trec")) for system in JOINT] == [101, 193]
    assert len(found(made, tmp_path, "runs/fof/explanation/fof-known-item/bm25.trec")) == 87
    assert len(found(made, tmp_path, "runs/fof/verse/fof-rewrite/bm25.trec")) == 51
    assert len(found(made, tmp_path, "runs/fof/verse/fof-append-middle/qwen3-8b.trec")) == 106 + 38


def test_the_joint_counts_are_the_only_ones_that_give_the_print(counts):
    """Those of BM25 and the 8B encoder on the 164 that do not quote and the 80 that do, by sections 4 and 5."""
    rest = [
        (bm25, qwen)
        for bm25, qwen in product(range(165), repeat=2)
        if round(bm25 / 164, 3) == 0.622 and round(qwen / 164, 3) == 0.646
    ]
    quoting = [
        qwen
        for qwen, (bm25_rest, qwen_rest) in product(range(81), rest)
        if round((80 + bm25_rest) / 244, 3) == 0.746
        and round((qwen + qwen_rest) / 244, 3) == 0.717
        and round(100 * ((1 - bm25_rest / 164) - (qwen / 80 - qwen_rest / 164)), 1) == 16.2
    ]
    assert rest == [(102, 106)] and quoting == [69]
    known = counts["corpora"]["fof"]["known_item"]
    assert {name: sum(hits) for name, hits in known_item_outcomes(known).items() if name in JOINT} == {
        "bm25": 182,
        "qwen3-8b": 175,
    }


def test_quoting_queries_quote_at_every_threshold_and_others_at_none(made):
    for corpus, quoting, printed in (("fof", 80, 0.368), ("diwan", 7, 0.151)):
        poems = {
            row["poem_id"]: tokenize(" ".join(" ".join(verse) for verse in row["verses"]))
            for row in rows(made, f"corpora/{corpus}.jsonl")
        }
        queries = rows(made, f"queries/{corpus}-known-item.jsonl")
        pairs = [(tokenize(row["text"]), poems[row["relevant"][0]]) for row in queries]
        lengths = [longest_shared_run(query, poem).length for query, poem in pairs]
        assert lengths[:quoting] == [5] * quoting and set(lengths[quoting:]) == {1}
        assert round(sum(containment(query, poem) for query, poem in pairs) / len(pairs), 3) == printed
        assert len(set(map(tuple, poems.values()))) == len(poems)


def test_edited_queries_add_a_run_or_lose_it(made):
    poems = {
        row["poem_id"]: tokenize(" ".join(" ".join(verse) for verse in row["verses"]))
        for row in rows(made, "corpora/fof.jsonl")
    }
    originals = {row["query_id"]: row for row in rows(made, "queries/fof-known-item.jsonl")}
    sizes = {"append-opening": 164, "append-final": 164, "rewrite": 79, "rewrite-by-model": 55, "delete-quoted": 75}
    for edit, n in sizes.items():
        edited = rows(made, f"queries/fof-{edit}.jsonl")
        assert len(edited) == n
        for row in edited:
            assert row["query_id"] == f"{row['source_query_id']}~{edit}" and row["edit"] == edit
            assert row["relevant"] == originals[row["source_query_id"]]["relevant"]
            run = longest_shared_run(tokenize(row["text"]), poems[row["relevant"][0]]).length
            assert run == (4 if edit.startswith("append") else 0)


def test_thematic_orders_have_the_printed_taus(counts, made, tmp_path):
    for corpus, tau, p in (("fof", 0.24, 0.38), ("diwan", 0.51, 0.047)):
        means = []
        for query_set in ("known-item", "thematic"):
            folder = f"runs/{corpus}/verse/{corpus}-{query_set}"
            order = counts["corpora"][corpus]["thematic"]["order"]
            means.append([len(found(made, tmp_path, f"{folder}/{system}.trec")) for system in order])
        result = kendall(*means, 999, 1)
        assert (round(result.estimate, 2), float(f"{result.p:.2g}")) == (tau, p)


def given_items(made, tmp_path, name):
    """query_id, poem_id and grade of a file of annotations."""
    (tmp_path / "given.csv").write_text(made[f"annotations/{name}.csv"], encoding="utf-8")
    return pl.read_csv(tmp_path / "given.csv")


def trec(made, tmp_path, path):
    (tmp_path / "run.trec").write_text(made[path], encoding="utf-8")
    return read_run(tmp_path / "run.trec")


@pytest.mark.parametrize(("corpus", "value", "adjusted"), [("fof", 0.717, 0.813), ("diwan", 0.748, 0.834)])
def test_graded_misses_give_the_printed_adjustments(made, tmp_path, corpus, value, adjusted):
    query_set = f"{corpus}-known-item"
    asked = rows(made, f"queries/{query_set}.jsonl")
    run = trec(made, tmp_path, f"runs/{corpus}/verse/{query_set}/qwen3-8b.trec")
    hits = found(made, tmp_path, f"runs/{corpus}/verse/{query_set}/qwen3-8b.trec")
    place = {"corpus": corpus, "mode": "verse", "query_set": query_set, "system": "qwen3-8b"}
    values = [
        {**place, "query_id": row["query_id"], "measure": "Recall@5", "value": float(row["query_id"] in hits)}
        for row in asked
    ]
    golds = [(row["query_id"], row["relevant"][0], 1) for row in asked]
    qrels = pl.DataFrame(golds, schema=dict(QRELS.columns), orient="row")
    alone = pl.DataFrame(schema=dict(DUPLICATES.columns))
    drawn = known_item_sheet(misses(pl.DataFrame(values), run, qrels, alone).items, corpus, query_set, None, 1)
    graded = given_items(made, tmp_path, f"{corpus}-misses").join(drawn, on=["query_id", "poem_id"])
    assert len(graded) == 50  # all are items of the sheet
    annotations = graded.with_columns(remark=pl.lit(None, dtype=pl.String)).select(list(ANNOTATIONS.columns))
    queries = pl.DataFrame(
        [(row["query_id"], query_set, "t", *[None] * 5) for row in asked],
        schema=dict(QUERIES.columns),
        orient="row",
    )
    table = acceptability(
        pl.DataFrame(values, schema=dict(PER_QUERY.columns)),
        queries,
        qrels.with_columns(query_set=pl.lit(query_set)),
        {"misses": place | {"kind": "known-item", "measure": "Recall@5"}},
        {"misses": annotations},
        {Run(**place): run},
        {corpus: alone},
        Draws(199, 99, 1),
    )
    shares = {row["threshold"]: row for row in table.iter_rows(named=True)}
    assert {name: (row["annotator"], row["n_judged"], row["share"]) for name, row in shares.items()} == {
        "fully acceptable": ("reader", 50, 0.34),
        "at least partly": ("reader", 50, 0.72),
    }
    fully = shares["fully acceptable"]
    assert (round(fully["value"], 3), round(fully["adjusted"], 3)) == (value, adjusted)


def test_raters_grade_what_the_pool_holds(counts, made, tmp_path):
    given = counts["corpora"]["fof"]["raters"]
    first, second = (given_items(made, tmp_path, f"fof-rater-{n}") for n in (1, 2))
    both = first.join(second, on=["query_id", "poem_id"])
    apart = (both["grade"] - both["grade_right"]).abs()
    assert (len(both), (apart <= 1).sum()) == (given["items"], given["within_one"])
    runs = [path for path in made if path.startswith("runs/fof/verse/fof-thematic/")]
    lists = pl.concat([trec(made, tmp_path, path) for path in runs]).filter(pl.col("rank") <= given["depth"])
    assert both.join(lists.unique(["query_id", "poem_id"]), on=["query_id", "poem_id"]).height == given["items"]


def test_more_grades_than_pooled_results_are_refused(counts):
    wrong = copy.deepcopy(counts)
    wrong["corpora"]["fof"]["raters"]["items"] = 200
    with pytest.raises(UserError, match="the pool holds 138"):
        dict(files(wrong))


def test_there_is_a_run_for_all_that_the_study_wants(made):
    """The registry says where there are runs (`only`), and they are there, and no others."""
    study = yaml.safe_load((ROOT / "config" / "studies" / "paper-counts.yaml").read_text(encoding="utf-8"))
    registry = yaml.safe_load((ROOT / "config" / "systems-paper-counts.yaml").read_text(encoding="utf-8"))
    wanted = set()
    for entry in registry.values():
        for query_set, mode in product(study["query_sets"], study["modes"]):
            boxes = entry["only"]
            if any(
                mode in box.get("modes", [mode]) and query_set in box.get("query_sets", [query_set]) for box in boxes
            ):
                corpus = study["query_sets"][query_set]["corpora"][0]
                wanted.add(entry["path"].format(corpus=corpus, mode=mode, query_set=query_set))
    folder = "build/paper-counts/"
    assert wanted == {folder + path for path in made if path.startswith("runs/")}
    named = [spec["path"] for spec in [*study["query_sets"].values(), *study["corpora"].values()]]
    named += [file for sheet in study["judging"]["sheets"].values() for file in sheet["files"]]
    assert {path.removeprefix(folder) for path in named} <= set(made)
    assert sorted(study["systems"]) == sorted(registry)


@given(st.lists(st.booleans(), max_size=30), st.integers(-30, 30))
def test_a_change_turns_as_many_as_it_says(before, by):
    if abs(by) > before.count(by < 0):
        return
    after = changed(before, by)
    assert sum(after) == sum(before) + by
    assert sum(a != b for a, b in zip(before, after, strict=True)) == abs(by)


def test_the_same_counts_give_the_same_bytes_and_files_that_stand_are_left(tmp_path, made, capsys):
    options = ["--counts", str(COUNTS), "--output", str(tmp_path)]
    assert main(["make_counts", *options]) == 0
    assert f"{len(made)} files" in capsys.readouterr().out
    times = {path: (tmp_path / path).stat().st_mtime_ns for path in made}
    assert all((tmp_path / path).read_text(encoding="utf-8") == text for path, text in made.items())
    assert main(["make_counts", *options]) == 0
    assert times == {path: (tmp_path / path).stat().st_mtime_ns for path in made}


def put(*place):
    def change(counts):
        *parents, key, value = place
        inner = counts["corpora"]["fof"]
        for parent in parents:
            inner = inner[parent]
        inner[key] = value

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (put("known_item", "quoting", "both", 70), "the outcomes are of 81 queries, not of 80"),
        (put("known_item", "spans", "final", 3), "81 runs have a place, but 80 queries quote"),
        (put("known_item", "spans", "elsewhere", 81), "more runs stand elsewhere"),
        (put("known_item", "shared_words", {"3": 163}), "is of 163 queries, but 164 do not quote"),
        (put("known_item", "explained", "bm25", 245), "245 found of 244 queries"),
        (put("known_item", "explained", "bm52", 24), "is no system"),
        (put("known_item", "found", "encoder-3", 175), "two systems find as many queries"),
        (put("poems", 246), "want a poem each"),
        (put("edits", "rewrite", "queries", 81), "81 of the 80 queries are edited"),
        (put("edits", "append-final", "change", "bm25", 63), "63 are gained, but only so many were missed: 62"),
        (put("edits", "rewrite-by-model", "change", "bm25", -56), "56 are lost, but only so many were found: 55"),
        (put("edits", "delete-quoted", "change", {"bm52": -1}), "is no system"),
        (put("thematic", "concordant_less_discordant", 13), "are 11, not 13"),
        (put("thematic", "order", ["bm25", "qwen3-8b"]), "once"),
        (put("thematic", "ordre", []), "'ordre' was unexpected"),
        (put("misses", "system", "bm52"), "is no system"),
        (put("misses", "judged", 70), "only so many were missed: 69"),
        (put("misses", "partly", 34), "fewer than the 51 that are acceptable"),
        (put("raters", "within_one", 127), "more than the 126 items"),
    ],
)
def test_counts_that_cannot_hold_together_are_refused(counts, tmp_path, capsys, change, told):
    wrong = copy.deepcopy(counts)
    change(wrong)
    file = tmp_path / "counts.yaml"
    file.write_text(yaml.safe_dump(wrong), encoding="utf-8")
    with pytest.raises(InputFaults) as caught:
        read_counts(file)
    assert told in str(caught.value)
    assert main(["make_counts", "--counts", str(file), "--output", str(tmp_path / "out")]) == 2
    assert told in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_what_is_no_yaml_is_told(tmp_path):
    file = tmp_path / "counts.yaml"
    file.write_text("corpora: [", encoding="utf-8")
    with pytest.raises(InputFaults, match="not valid YAML"):
        read_counts(file)
