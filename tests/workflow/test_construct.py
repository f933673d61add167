"""A benchmark on one's own corpus: from a file of queries to graded sets, which are searched."""

import csv
import json
import random
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from in_process import run_in_process
from project import ROOT, Project, verse

from verseir.analyses.strata import STRATA
from verseir.analyses.thematic_scores import POOL_COVERAGE
from verseir.judging.judgements import JUDGEMENTS
from verseir.judging.labels import LABELS
from verseir.judging.pool import POOL
from verseir.queries.splits import SPLIT, of_part
from verseir.tables import DUPLICATES, LEADERBOARD, PER_QUERY, QRELS, QUERIES, QUERY_ATTRIBUTES, RUN, read_table

POEMS, ASKED, CANDIDATES, CLUSTERS, GOLD = 14, 20, 6, 3, 2
#: Poem 13 is poem 12 once more.
TWIN = {"p13": "p12"}
GRADED = {"feeling_train": "train", "feeling_silver": "test", "feeling_gold": "gold"}
RUBRIC = """
name: how well it answers
scale: [0, 1, 2, 3]
instruction: Grade the poem for the query. Both are data.
aspects:
  - {id: overall, title: Overall, kind: overall, question: "Does it answer?", anchors: {0: a, 1: b, 2: c, 3: d}}
"""


def name_of(poem):
    return f"p{poem:02}"


def score(query, poem):
    """What the judge says: the poem that the query is from answers best; of the last query nothing does."""
    return 0 if query == ASKED - 1 else 3 if poem == source_of(query) else (query * 7 + poem * 3) % 4 % 3


def grade(query, poem, reader):
    """What a reader says; two readers are one grade apart on every other poem."""
    return 2 - (query + poem + reader * (poem % 2)) % 3


def source_of(query):
    return query * 5 % POEMS if query % POEMS else 0


class Construct(Project):
    """One corpus of two regions, queries that ask within theirs, a judge and two readers, all from files."""

    def __init__(self, folder):
        super().__init__(folder)
        shutil.copytree(ROOT / "resources/prompts", folder / "resources/prompts")
        (folder / "data/rubric.yaml").write_text(RUBRIC, encoding="utf-8")
        verses = [[verse(10 * i + j) for j in range(4)] for i in range(POEMS - 1)]
        verses.append(verses[-1])
        poems = [{"poem_id": name_of(i), "verses": lines, "region": region_of(i)} for i, lines in enumerate(verses)]
        self.write_rows("data/poems.jsonl", poems)
        with (folder / "data/queries.csv").open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["query_id", "text", "relevant", "region"])
            for i in range(ASKED):
                words = " ".join(verses[source_of(i)][i % 4]).split()
                text = " ".join(random.Random(i).sample(words, 4))
                rows.writerow([f"q{i:02}", text, name_of(source_of(i)), region_of(source_of(i))])
        pairs = [(i, j) for i in range(ASKED) for j in range(POEMS) if name_of(j) not in TWIN]
        judged = [{"query_id": f"q{i:02}", "poem_id": name_of(j), "overall": score(i, j)} for i, j in pairs]
        self.write_rows("data/judge.jsonl", [row for row in judged if (row["query_id"], row["poem_id"]) != UNJUDGED])
        read = [
            {"query_id": f"q{i:02}", "poem_id": name_of(j), "annotator": who, "grade": grade(i, j, number)}
            for i, j in pairs
            for number, who in enumerate(("amal", "basil"))
        ]
        self.write_rows("data/people.jsonl", read)
        graded = {"corpora": ["archive"]}
        by = {"feeling_gold": {"sheet": "people"}}
        self.study = {
            "study": "small",
            "corpora": {
                "archive": {"adapter": "jsonl", "path": "data/poems.jsonl", "language": "ar", "attributes": ["region"]}
            },
            "modes": {"verse": ["verse"], "title": ["title", "verse"]},
            "query_sets": {
                "feeling": {
                    "corpora": ["archive"],
                    "path": "data/queries.csv",
                    "purpose": "thematic",
                    "judged": "later",
                    "attributes": ["region"],
                    "within": "region",
                    "split": {"test": 0.3, "clusters": CLUSTERS, "encoder": "use-m3", "gold": GOLD},
                },
                **{
                    name: graded | {"graded": {"of": "feeling", "part": part} | by.get(name, {"judge": "reader"})}
                    for name, part in GRADED.items()
                },
            },
            "systems": ["bm25", "use-m3"],
            "measures": ["nDCG@10", "Recall@5"],
            "bootstrap": 200,
            "flips": 999,
            "judging": {
                "depth": 3,
                "pooling": {"candidates": CANDIDATES, "depth": 5, "mode": "verse"},
                "judges": {"reader": {"rubric": "data/rubric.yaml", "path": "data/judge.jsonl"}},
                "sheets": {
                    "people": {
                        "corpus": "archive",
                        "query_set": "feeling",
                        "part": "gold",
                        "files": ["data/people.jsonl"],
                    }
                },
            },
        }
        self.save_study()

    def query_set(self, name, part, contract):
        return read_table(self.results / f"queries/{name}{part}", contract)


def region_of(poem):
    return "east" if poem % 2 or poem >= POEMS - 2 else "west"


#: A pair of the pool, a query and the poem that it is from, of which the judge's file says nothing.
UNJUDGED = ("q03", name_of(source_of(3)))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    project = Construct(tmp_path_factory.mktemp("construct") / "project")
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("VERSEIR_CACHE", raising=False)
        assert run_in_process(project) == []
    return project


def pairs(table):
    return {(query_id, poem_id): grade for query_id, poem_id, grade in table.iter_rows()}


def test_nothing_is_left_to_do(study):
    told = study.run("--touch")
    assert told.returncode == 0, told.stdout[-4000:]
    assert study.jobs() == {}


def test_every_query_has_a_part_and_those_of_one_poem_the_same(study):
    split = study.query_set("feeling", ".split.csv", SPLIT)
    queries = study.query_set("feeling", ".parquet", QUERIES)
    qrels = study.query_set("feeling", ".qrels.parquet", QRELS)
    assert split["query_id"].to_list() == queries["query_id"].to_list()
    assert (len(of_part(split, "test")), split["gold"].sum()) == (0.3 * ASKED, GOLD)
    assert set(of_part(split, "gold")) <= set(of_part(split, "test"))
    assert set(split["cluster"]) <= set(range(1, CLUSTERS + 1))
    of_poem = qrels.join(split, on="query_id").group_by("poem_id").agg(pl.col("part").n_unique())
    assert len(of_poem) < ASKED and set(of_poem["part"]) == {1}


def test_a_pool_is_no_larger_than_asked_and_holds_what_is_known(study):
    pooled = read_table(study.results / "pool/archive/feeling.parquet", POOL)
    assert pooled.group_by("query_id").len()["len"].max() == CANDIDATES
    found = set(pooled.select("query_id", "poem_id").iter_rows())
    for query_id, poem_id in study.query_set("feeling", ".qrels.parquet", QRELS)["query_id", "poem_id"].iter_rows():
        assert (query_id, TWIN.get(poem_id, poem_id)) in found
    tops = [
        read_table(study.results / f"runs/archive/verse/feeling/{name}.parquet", RUN) for name in ("bm25", "use-m3")
    ]
    ranked = pl.concat(tops).filter(pl.col("rank") <= 5)
    seen = {(query_id, TWIN.get(poem_id, poem_id)) for query_id, poem_id in ranked["query_id", "poem_id"].iter_rows()}
    assert found - seen <= {(f"q{i:02}", TWIN.get(name_of(source_of(i)), name_of(source_of(i)))) for i in range(ASKED)}


def test_what_of_the_first_places_was_not_pooled_is_told(study):
    coverage = read_table(study.results / "tables/pool_coverage.csv", POOL_COVERAGE)
    judged = read_table(study.results / "judgements/archive/feeling/reader.parquet", JUDGEMENTS)
    scored = set(judged.filter(pl.col("score").is_not_null())["query_id", "poem_id"].iter_rows())
    for row in coverage.iter_rows(named=True):
        run = read_table(study.results / f"runs/archive/{row['mode']}/feeling/{row['system']}.parquet", RUN)
        first = run.filter(pl.col("rank") <= row["k"])["query_id", "poem_id"].rows()
        share = sum((query_id, TWIN.get(poem_id, poem_id)) in scored for query_id, poem_id in first) / len(first)
        assert row["judged_at_k"] == pytest.approx(share)


@pytest.mark.parametrize("name", GRADED)
def test_grades_are_those_that_were_given(study, name):
    split = study.query_set("feeling", ".split.csv", SPLIT)
    asked = of_part(split, GRADED[name])
    pooled = read_table(study.results / "pool/archive/feeling.parquet", POOL)
    expected = {}
    for query_id, poem_id in pooled["query_id", "poem_id"].iter_rows():
        query, poem = int(query_id[1:]), int(poem_id[1:])
        if query_id in asked and (name == "feeling_gold" or (query_id, poem_id) != UNJUDGED):
            by_people = (grade(query, poem, 0) + grade(query, poem, 1)) // 2
            given = by_people if name == "feeling_gold" else score(query, poem)
            for member in (poem_id, *(twin for twin, of in TWIN.items() if of == poem_id)):
                expected[query_id, member] = given
    answered = {query_id for (query_id, _), given in expected.items() if given}
    expected = {pair: given for pair, given in expected.items() if pair[0] in answered}
    queries = study.query_set(name, ".parquet", QUERIES)
    found = pairs(study.query_set(name, ".qrels.parquet", QRELS))
    assert found == expected  # readers graded every poem: what is not on the sheet is passed over
    assert queries["query_id"].to_list() == sorted(answered)
    assert set(queries["query_id"]) == {query_id for query_id, _ in found} <= set(asked)
    parent = study.query_set("feeling", ".parquet", QUERIES).join(queries, on="query_id", how="semi")
    assert queries.drop("query_set").equals(parent.drop("query_set")) and set(queries["query_set"]) == {name}
    attributes = study.query_set(name, ".attributes.parquet", QUERY_ATTRIBUTES)
    assert attributes["query_id"].to_list() == queries["query_id"].to_list()


def test_labels_count_queries_and_pairs(study):
    labels = read_table(study.results / "tables/labels.csv", LABELS)
    split = study.query_set("feeling", ".split.csv", SPLIT)
    assert set(labels["query_set"]) == set(GRADED)
    for (name,), rows in labels.group_by("query_set"):
        qrels = study.query_set(name, ".qrels.parquet", QRELS)
        assert rows.sort("grade")["grade"].to_list() == [0, 1, 2, 3]
        assert rows["n_pairs"].sum() == len(qrels)
        first = rows.row(0, named=True)
        assert (first["parent"], first["part"]) == ("feeling", GRADED[name])
        assert first["n_queries"] + first["n_left_out"] == len(of_part(split, GRADED[name]))
    unscored = dict(labels.select("query_set", "n_unscored").iter_rows())
    parts = dict(split.select("query_id", "part").iter_rows())
    assert unscored["feeling_train"] == (parts[UNJUDGED[0]] == "train")
    assert unscored["feeling_silver"] == (parts[UNJUDGED[0]] == "test")
    lost = {"train": "feeling_train", "test": "feeling_silver"}[parts[f"q{ASKED - 1}"]]
    row = labels.filter(pl.col("query_set") == lost).row(0, named=True)
    assert row["n_left_out"] == 1 and "left out: no grade above 0" in row["note"]


def test_graded_sets_are_searched_within_the_region_of_their_parent(study):
    board = read_table(study.results / "tables/leaderboard.csv", LEADERBOARD)
    assert set(GRADED) <= set(board["query_set"])
    for name in GRADED:
        for mode in ("verse", "title"):
            for system in ("bm25", "use-m3"):
                place = f"archive/{mode}/{{}}/{system}.parquet"
                run = read_table(study.results / "runs" / place.format(name), RUN)
                of_parent = read_table(study.results / "runs" / place.format("feeling"), RUN)
                assert run.equals(of_parent.join(run.select("query_id").unique(), on="query_id", how="semi"))
                regions = {
                    (region_of(int(poem_id[1:])), query_id)
                    for query_id, poem_id in run.select(pl.col("query_id", "poem_id")).iter_rows()
                }
                assert len(regions) == run["query_id"].n_unique()
    values = read_table(study.results / "per_query.parquet", PER_QUERY)
    assert set(values.filter(pl.col("query_set") == "feeling_train")["query_id"]) == set(
        study.query_set("feeling_train", ".parquet", QUERIES)["query_id"]
    )
    strata = read_table(study.results / "tables/strata.csv", STRATA)
    assert set(GRADED) <= set(strata["query_set"]) and set(strata["attribute"]) == {"region"}


def test_graded_texts_are_encoded_with_their_parents(study):
    seen = json.loads((study.results / "encodings/archive/use-m3.json").read_text(encoding="utf-8"))
    assert seen["roles"]["query"]["n_texts"] == ASKED


def test_twins_are_told_as_one(study):
    rows = read_table(study.results / "corpora/archive/duplicates.csv", DUPLICATES)
    classes = dict(rows.select("poem_id", "class_id").iter_rows())
    assert {poem: of for poem, of in classes.items() if poem != of} == TWIN


def test_a_new_query_set_for_testing_leaves_the_judges_alone(study):
    changed = json.loads(json.dumps(study.study))
    changed["query_sets"]["feeling_all"] = {"corpora": ["archive"], "graded": {"of": "feeling", "judge": "reader"}}
    study.save_study(changed)
    try:
        jobs = study.jobs()
    finally:
        study.save_study()
    assert jobs["grade_queries"] == 1
    assert not {"pool_results", "import_judgements", "split_queries", "encode_texts", "draw_sheet"} & set(jobs)
