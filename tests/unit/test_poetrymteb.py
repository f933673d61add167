"""A benchmark of poetry in the form of PoetryMTEB: its poems as a corpus, its settings as query sets."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from poetry_benchmark import Benchmark, benchmark, settings, write_rows

from verseir.__main__ import main
from verseir.config import load_study
from verseir.corpora import named_files, poetrymteb
from verseir.corpora.load import load_corpus
from verseir.corpora.model import PartlyRead
from verseir.corpora.part_counts import Count, compare_setting, document_difference, read_counts
from verseir.corpora.poetrymteb import ASPECTS, LANGUAGES, LAYOUTS, SCOPES, SPLITS, Setting
from verseir.faults import Fault, InputFaults, UserError
from verseir.queries.poetry import PoetryQueries, poetry_queries
from verseir.tables import ATTRIBUTES, POEMS, QRELS, QUERIES, QUERY_ATTRIBUTES, check_table, read_table

ROOT = Path(__file__).parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
MONO, CROSS = Setting("emotion", "mono", "gold"), Setting("thought", "cross", "gold")
SPEC: dict[str, Any] = {"adapter": "poetrymteb", "path": "b"}


def poem(number: int, **changes: Any) -> dict[str, Any]:
    given = {"id": f"eng_{number}", "title": "A title", "author": "A Poet", "content": "one line\nanother"}
    return given | {"language": "ENG", "token_count": 3, "link": "https://poems.example/1"} | changes


def faults_of(folder: Path, poems: list[Any], **spec: Any) -> list[tuple[int, str, str]]:
    write_rows(folder / "b/poems_all.jsonl", poems)
    with pytest.raises(InputFaults) as caught:
        load_corpus("c", SPEC | spec, folder)
    assert all(fault.hint for fault in caught.value.faults)
    return [(fault.line, fault.field, fault.problem) for fault in caught.value.faults]


# Poems


def test_a_poem_has_the_lines_that_hold_a_letter_and_the_language_as_it_is_written(tmp_path: Path) -> None:
    content = "  first \r\n\r\n* * *\nsecond\u2028third\n—\n"
    more = {"title": " Two\nwords ", "author": "", "link": None, "token_count": None, "licence": "CC0"}
    write_rows(tmp_path / "b/poems_all.jsonl", [poem(2, content=content, **more), poem(1, language="zho")])
    corpus = load_corpus("c", SPEC, tmp_path)
    check_table(corpus.poems, POEMS, "poems")
    check_table(corpus.attributes, ATTRIBUTES, "attributes")
    assert corpus.poems["poem_id"].to_list() == ["eng_1", "eng_2"]
    assert corpus.poems["language"].to_list() == ["zho", "ENG"]
    assert corpus.poems["verses"][1].to_list() == [
        {"first": "first", "second": None},
        {"first": "second", "second": None},
        {"first": "third", "second": None},
    ]
    kept = corpus.poems.select("title", "poet", "source", "era").rows()
    assert kept == [("A title", "A Poet", "https://poems.example/1", None), ("Two words", None, None, None)]
    assert corpus.warnings == ()


def test_all_faults_of_the_poems_are_told_at_once(tmp_path: Path) -> None:
    bad = [
        poem(1, id=1),
        poem(2, content=" \n* * *"),
        poem(3, content="", title=7),
        poem(4, language="EGN"),
        poem(5, token_count="many", language=None),
        {key: value for key, value in poem(6).items() if key != "title"},
        poem(0),
        poem(7, id="eng 7"),
        poem(8, content="nul\x00"),
        poem(9, token_count=-1, author=["A"]),
    ]
    assert faults_of(tmp_path, [poem(0), *bad]) == [
        (2, "id", "is a number, expected the id of the poem"),
        (3, "content", "has no line with a letter"),
        (4, "content", "is empty, expected the lines of the poem"),
        (4, "title", "is a number, expected the title"),
        (5, "language", "'EGN' is no language of the benchmark"),
        (6, "language", "is null, expected a code of three letters"),
        (6, "token_count", "is 'many', expected a whole number"),
        (7, "title", "is missing, expected the title"),
        (8, "poem_id", "duplicate id 'eng_0', first on line 1"),
        (9, "poem_id", "'eng 7' holds a blank"),
        (10, "verses", "holds the character U+0000"),
        (11, "author", "is a list, expected the name of the poet"),
        (11, "token_count", "is -1, expected a whole number"),
    ]


def test_a_field_that_no_poem_has_is_told_once(tmp_path: Path) -> None:
    poems = [{("body" if key == "content" else key): value for key, value in poem(n).items()} for n in range(9)]
    poems = [{("lang" if key == "language" else key): value for key, value in row.items()} for row in poems]
    assert faults_of(tmp_path, poems) == [
        (0, "content", "no row has the field content"),
        (0, "language", "no row has the field language"),
    ]


def test_other_languages_are_listed(tmp_path: Path) -> None:
    assert faults_of(tmp_path, [poem(0, language="LAT")])[0][1] == "language"
    assert faults_of(tmp_path, [poem(0)], languages=["LAT"])[0][2] == "'ENG' is no language of the benchmark"
    write_rows(tmp_path / "b/poems_all.jsonl", [poem(0, language="lat")])
    assert load_corpus("c", SPEC | {"languages": ["LAT"]}, tmp_path).poems["language"].to_list() == ["lat"]


def test_poems_are_read_alike_from_each_of_the_names(tmp_path: Path) -> None:
    poems = benchmark(n_poems=6).poems
    first = None
    for name in poetrymteb.CORPUS_NAMES:
        folder = tmp_path / name.replace("/", "_")
        half = len(poems) // 2
        if "*" in name:
            for shard, rows in enumerate((poems[:half], poems[half:])):
                write_rows(folder / name.replace("*", f"{shard:05d}-of-00002"), rows)
        else:
            write_rows(folder / name, poems)
        found = load_corpus("c", {"adapter": "poetrymteb", "path": folder.name}, tmp_path).poems
        first = found if first is None else first
        assert found.equals(first), name
    write_rows(tmp_path / "own/mine.jsonl", poems)
    spec = {"adapter": "poetrymteb", "path": "own", "files": {"corpus": "mine.jsonl"}}
    assert load_corpus("c", spec, tmp_path).poems.equals(first)


def test_absent_and_damaged_files_are_refused_with_the_names_that_were_looked_for(tmp_path: Path) -> None:
    with pytest.raises(PartlyRead) as caught:
        load_corpus("c", SPEC, tmp_path)
    assert not caught.value.complete
    assert all(name in str(caught.value) for name in (*poetrymteb.CORPUS_NAMES, "files.corpus"))
    (tmp_path / "b").mkdir()
    (tmp_path / "b/corpus.parquet").write_bytes(b"PAR1 cut off")
    with pytest.raises(PartlyRead, match=r"b/corpus\.parquet: cannot be read as Parquet"):
        load_corpus("c", SPEC, tmp_path)
    (tmp_path / "b/corpus.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(PartlyRead, match="holds no rows"):
        load_corpus("c", SPEC, tmp_path)
    (tmp_path / "b/poems_all.jsonl").write_text(json.dumps(poem(0)) + "\n{", encoding="utf-8")
    with pytest.raises(PartlyRead, match="is not valid JSON") as caught:
        load_corpus("c", SPEC, tmp_path)
    assert (caught.value.known_ids, caught.value.complete) == ({"eng_0"}, False)


# Queries and grades


def drawn(folder: Path, made: Benchmark, setting: Setting, **more: Any) -> PoetryQueries:
    made.write(folder / "b")
    spec = SPEC | more.pop("spec", {})
    poems = pl.DataFrame(
        {"poem_id": [row["id"] for row in made.poems], "language": [r["language"] for r in made.poems]}
    )
    return poetry_queries("q", setting, spec, folder, more.pop("poems", poems), **more)


def query_faults(folder: Path, made: Benchmark, setting: Setting, **more: Any) -> list[Fault]:
    with pytest.raises(InputFaults) as caught:
        drawn(folder, made, setting, **more)
    assert all(fault.hint for fault in caught.value.faults)
    return list(caught.value.faults)


def short(faults: list[Fault]) -> list[tuple[str, int, str, str]]:
    return [(fault.file.partition("/")[2], fault.line, fault.field, fault.problem) for fault in faults]


@pytest.mark.parametrize("setting", [MONO, CROSS], ids=str)
def test_a_setting_becomes_a_query_set_with_all_its_grades(tmp_path: Path, setting: Setting) -> None:
    made = benchmark(n_queries=7)
    found = drawn(tmp_path, made, setting)
    check_table(found.queries, QUERIES, "queries")
    check_table(found.qrels, QRELS, "qrels")
    check_table(found.attributes, QUERY_ATTRIBUTES, "attributes")
    given = {(row["query-id"], row["corpus-id"]): row["score"] for row in made.qrels[setting]}
    assert {row[:2]: row[2] for row in found.qrels.rows()} == given
    assert Counter(found.qrels["grade"]) == {0: 14, 1: 7, 2: 7, 3: 7}
    assert found.queries.select("query_id", "text").rows() == [(r["_id"], r["text"]) for r in made.queries[setting]]
    assert found.queries["register"].unique().to_list() == ["thematic"]
    known: dict[str, dict[str, str]] = {}
    for query_id, attribute, value in found.attributes.rows():
        known.setdefault(query_id, {})[attribute] = value
    for row in made.queries[setting]:
        target = {"language": row["target_document_language"]} if setting.scope == "mono" else {}
        assert known[row["_id"]] == {"aspect": setting.aspect, "scope": setting.scope} | target
    assert found.places[made.queries[setting][2]["_id"]][1] == 3
    assert found.warnings == ()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_and_each_spelling_of_the_fields_reads_alike(tmp_path: Path, layout: str) -> None:
    made = benchmark(n_queries=5, asked=[MONO])
    first = drawn(tmp_path / "straight", made, MONO)
    names = {"_id": "id", "text": "query", "target_document_language": "language"}
    names |= {"query-id": "query_id", "corpus-id": "poem_id", "score": "grade"}
    for part in (made.queries, made.qrels):
        part[MONO] = [{names[key]: value for key, value in row.items()} for row in part[MONO]]
    made.write(tmp_path / "b", layout.replace("*", "00000-of-00001"))
    poems = pl.DataFrame([(r["id"], r["language"]) for r in made.poems], ["poem_id", "language"], orient="row")
    again = poetry_queries("q", MONO, SPEC, tmp_path, poems)
    for part in ("queries", "qrels", "attributes"):
        assert getattr(again, part).equals(getattr(first, part))
    own = SPEC | {
        "files": {
            kind: layout.format(config=f"{kind}_{{aspect}}_{{scope}}", split="{split}") for kind in ("queries", "qrels")
        }
    }
    assert poetry_queries("q", MONO, own, tmp_path, poems).qrels.equals(first.qrels)


def test_what_the_issue_names_is_refused_together_with_file_and_line(tmp_path: Path) -> None:
    made = benchmark(n_queries=6, asked=[MONO])
    queries, qrels = made.queries[MONO], made.qrels[MONO]
    ids = [row["_id"] for row in queries]
    foreign = next(row["id"] for row in made.poems if row["language"] == "ZHO")
    qrels[1] |= {"corpus-id": "ara_none"}
    qrels[6] |= {"score": 4}
    for row in qrels[10:15]:
        row["score"] = 0
    qrels[16] = dict(qrels[15])
    qrels[20]["query-id"] = "nobody"
    qrels[21] |= {"score": 1.5}
    qrels[22] |= {"score": "high"}
    qrels.append({"query-id": ids[0], "corpus-id": foreign, "score": 1})
    qrels.append({"query-id": ids[0], "corpus-id": foreign.replace("0", "1", 1), "score": 0})
    del queries[3]["target_document_language"]
    queries[4]["target_document_language"] = "FRA"
    queries[5]["text"] = " "
    queries.append(dict(queries[0]))
    qrels[-1]["corpus-id"] = next(r["id"] for r in made.poems if r["language"] == "ZHO" and r["id"] != foreign)
    file, graded = "queries_emotion_mono/gold.jsonl", "qrels_emotion_mono/gold.jsonl"
    assert short(query_faults(tmp_path, made, MONO)) == [
        (graded, 2, "poem_id", f"judged poem 'ara_none' of query '{ids[0]}' is not in the corpus"),
        (graded, 7, "score", "is 4, and no grade"),
        (
            graded,
            17,
            "poem_id",
            f"poem '{qrels[15]['corpus-id']}' is judged twice for query '{ids[3]}', first on line 16",
        ),
        (graded, 22, "score", "is 1.5, and no grade"),
        (graded, 23, "score", "is 'high', and no grade"),
        (graded, 31, "poem_id", f"poem '{foreign}' is relevant to query '{ids[0]}', and in ZHO"),
        (file, 3, "query_id", f"query '{ids[2]}' has no relevant poem"),
        (file, 4, "target_document_language", "is missing, expected the target language"),
        (file, 5, "language", f"the target of query '{ids[4]}', 'FRA', is the language of no poem"),
        (file, 6, "text", "is empty, expected the text of the query"),
        (file, 7, "_id", f"duplicate id '{ids[0]}', first on line 1"),
        # Told last: it may be the twin.
        (graded, 21, "query_id", "no query of emotion_mono, split gold is called 'nobody'"),
    ]


def test_a_row_without_an_id_says_nothing_of_whom_it_judges(tmp_path: Path) -> None:
    made = benchmark(n_queries=3, asked=[CROSS])
    queries, qrels = made.queries[CROSS], made.qrels[CROSS]
    for row, grade in zip(qrels[:5], (1, 0, 0, 0, 0), strict=True):
        row["score"] = grade
    qrels[0]["query-id"] = None
    qrels[7]["corpus-id"] = 7
    del queries[2]["_id"]
    file, graded = "queries_thought_cross/gold.jsonl", "qrels_thought_cross/gold.jsonl"
    assert short(query_faults(tmp_path, made, CROSS)) == [
        (graded, 1, "query-id", "is missing, not an id"),
        (graded, 8, "corpus-id", "is 7, not an id"),
        (file, 3, "_id", "is missing, expected an id"),
    ]


def test_cross_settings_ask_no_target_and_find_poems_of_any_language(tmp_path: Path) -> None:
    made = benchmark(n_queries=3, asked=[CROSS])
    for row in made.queries[CROSS]:
        row["target_document_language"] = None
    for row, other in zip(made.qrels[CROSS][:3], made.poems[::9], strict=False):
        row["corpus-id"] = other["id"]
    found = drawn(tmp_path, made, CROSS)
    assert set(found.attributes["attribute"]) == {"aspect", "scope"}


def test_a_target_in_other_capitals_is_spelt_as_the_corpus_does(tmp_path: Path) -> None:
    made = benchmark(n_queries=3, asked=[MONO])
    for row in made.queries[MONO]:
        row["target_document_language"] = row["target_document_language"].lower()
    found = drawn(tmp_path, made, MONO)
    assert found.attributes.filter(attribute="language")["value"].to_list() == ["ARA", "ENG", "ZHO"]


def test_nothing_follows_from_what_could_not_be_read(tmp_path: Path) -> None:
    made = benchmark(n_queries=4, asked=[MONO])
    made.qrels[MONO][0]["corpus-id"] = "ara_none"
    assert len(query_faults(tmp_path, made, MONO)) == 1
    assert len(drawn(tmp_path, made, MONO, poems=None).qrels) == 20
    ids_alone = pl.DataFrame(
        [(r["id"], None) for r in made.poems], {"poem_id": pl.String, "language": pl.String}, orient="row"
    )
    assert [fault.line for fault in query_faults(tmp_path, made, MONO, poems=ids_alone)] == [1]
    (tmp_path / "b/queries_emotion_mono/gold.jsonl").unlink()
    with pytest.raises(InputFaults) as caught:
        poetry_queries("q", MONO, SPEC, tmp_path, None)
    (fault,) = caught.value.faults
    assert "has no file of the queries of emotion_mono, split gold" in fault.problem
    assert all(layout.format(config="queries_emotion_mono", split="gold") in fault.hint for layout in LAYOUTS)


def test_a_wrong_file_of_judgements_is_told_once(tmp_path: Path) -> None:
    made = benchmark(n_queries=4, asked=[MONO])
    made.qrels[MONO] = [{"qid": row["query-id"], "docid": row["corpus-id"], "rel": 1} for row in made.qrels[MONO]]
    told = [fault.problem for fault in query_faults(tmp_path, made, MONO)]
    assert told == [
        "no row has the field corpus-id or poem_id",
        "no row has the field query-id or query_id",
        "no row has the field score or grade",
    ]


def test_a_sample_keeps_the_grades_of_its_poems_and_the_queries_that_they_answer(tmp_path: Path) -> None:
    made = benchmark(n_queries=6, asked=[CROSS])
    kept = [row["id"] for row in made.poems if row["language"] != "ENG"]
    found = drawn(tmp_path, made, CROSS, kept=kept)
    answered = {r["query-id"] for r in made.qrels[CROSS] if r["score"] > 0 and r["corpus-id"] in kept}
    assert set(found.queries["query_id"]) == set(found.qrels["query_id"]) == answered
    assert set(found.attributes["query_id"]) == answered
    assert set(found.qrels["poem_id"]) <= set(kept)
    assert "judgements are of poems that the sample left out" in found.warnings[0]
    with pytest.raises(UserError, match="none of the 6 queries has a relevant poem"):
        drawn(tmp_path, made, CROSS, kept=[])
    made.qrels[CROSS][0]["corpus-id"] = "none"
    assert len(query_faults(tmp_path, made, CROSS, kept=kept)) == 1


@given(st.randoms(use_true_random=False), st.sampled_from([MONO, CROSS]))
def test_the_order_of_the_rows_does_not_matter(chance: random.Random, setting: Setting) -> None:
    import tempfile

    made = benchmark(n_queries=5, asked=[setting])
    with tempfile.TemporaryDirectory() as name:
        straight = drawn(Path(name), made, setting)
        corpus = load_corpus("c", SPEC, Path(name))
        for rows in (made.poems, made.queries[setting], made.qrels[setting]):
            chance.shuffle(rows)
        again = drawn(Path(name), made, setting)
        assert load_corpus("c", SPEC, Path(name)).poems.equals(corpus.poems)
    for part in ("queries", "qrels", "attributes"):
        assert getattr(again, part).equals(getattr(straight, part))


# Counts


def test_the_counts_of_the_card_add_up() -> None:
    faults: list[Fault] = []
    counts = read_counts(ROOT / "resources/poetrymteb/counts.csv", "counts.csv", faults)
    assert faults == []
    documents = {count.place[0]: count.n for count in counts if count.what == "documents"}
    assert set(documents) == set(LANGUAGES) and sum(documents.values()) == 138_604
    by_what = {what: {c.place: c.n for c in counts if c.what == what} for what in ("queries", "judgements")}
    assert {(s.aspect, s.scope, s.split) for s in settings(splits=SPLITS)} == set(by_what["queries"])
    assert sum(by_what["queries"].values()) == 40_300 and sum(by_what["judgements"].values()) == 846_300
    assert all(by_what["judgements"][place] == 21 * n for place, n in by_what["queries"].items())
    assert len(by_what["queries"]) == len(ASPECTS) * len(SCOPES) * len(SPLITS)


def test_a_difference_from_the_counts_is_a_warning(tmp_path: Path) -> None:
    made = benchmark(("ENG", "ZHO"), n_poems=6, n_queries=3, asked=[MONO])
    made.write(tmp_path / "b")
    rows = ["documents,,,,ENG,6", "documents,,,,ZHO,5", "documents,,,,KOR,2"]
    rows += ["queries,emotion,mono,gold,,3", "judgements,emotion,mono,gold,,14", "queries,emotion,mono,train,,9"]
    (tmp_path / "n.csv").write_text("\n".join(["what,aspect,scope,split,language,n", *rows, ""]), encoding="utf-8")
    spec = {"counts": "n.csv"}
    assert load_corpus("c", SPEC | spec | {"sample": {"n": 7}}, tmp_path).warnings == (
        "poems by language, and in brackets what n.csv counts where it differs: KOR 0 (2), ZHO 6 (5)",
    )
    found = drawn(tmp_path, made, MONO, spec=spec)
    assert found.warnings == ("3 queries (3) and 15 judgements (14); in brackets what n.csv counts",)
    text = (tmp_path / "n.csv").read_text(encoding="utf-8").replace("gold,,14", "gold,,15")
    (tmp_path / "n.csv").write_text(text, encoding="utf-8")
    found = drawn(tmp_path, made, MONO, spec=spec)
    assert (found.warnings, found.counted) == ((), "as many as n.csv counts")
    (tmp_path / "n.csv").write_text(
        "what,aspect,scope,split,language,n\npoems,,,,ENG,6\ndocuments,,,,ENG,x\n", encoding="utf-8"
    )
    with pytest.raises(InputFaults) as caught:
        load_corpus("c", SPEC | spec, tmp_path)
    assert [(fault.line, fault.field) for fault in caught.value.faults] == [(2, "what"), (3, "n")]


@given(st.dictionaries(st.sampled_from(LANGUAGES), st.integers(1, 4)))
def test_the_same_numbers_make_no_difference(numbers: dict[str, int]) -> None:
    counts = [Count("documents", (code,), n) for code, n in numbers.items()]
    poems = [code.lower() for code, n in numbers.items() for _ in range(n)]
    assert document_difference(counts, poems, "f") == ""
    assert bool(document_difference(counts, poems[1:], "f")) == bool(numbers)
    assert compare_setting(counts, ("theme", "mono", "gold"), 1, 1, "f") is None


# From the hub


@pytest.mark.parametrize("folder", ["", "v1/"])
def test_a_benchmark_is_read_from_the_hub(on_hub: Path, folder: str) -> None:
    made = benchmark(n_queries=3, asked=[MONO])
    made.write(on_hub / folder, "data/{config}/{split}-00000-of-00001.parquet", "poems_all.jsonl")
    place = {"id": "someone/poems", "revision": COMMIT} | ({"folder": folder} if folder else {})
    spec = {"adapter": "poetrymteb", "hub": place}
    corpus = load_corpus("c", spec, Path())
    assert (len(corpus.poems), corpus.warnings) == (24, ())
    found = poetry_queries("q", MONO, spec, Path(), corpus.poems.select("poem_id", "language"))
    assert len(found.queries) == 3 and found.warnings == ()
    file, line = found.places[found.queries["query_id"][0]]
    assert file == f"someone/poems@{COMMIT}/{folder}data/queries_emotion_mono/gold-00000-of-00001.parquet" and line == 1


def test_an_unpinned_hub_is_told_and_a_sha256_pins_a_file(on_hub: Path) -> None:
    made = benchmark(n_queries=3, asked=[MONO])
    made.write(on_hub)
    spec: dict[str, Any] = {"adapter": "poetrymteb", "hub": {"id": "someone/poems"}}
    loose = f"hub data set 'someone/poems' is unpinned: revision 'main' is now {COMMIT}"
    corpus = load_corpus("c", spec, Path())
    assert corpus.warnings == (loose,)
    assert poetry_queries("q", MONO, spec, Path(), corpus.poems).warnings == (loose,)
    digest = hashlib.sha256((on_hub / "poems_all.jsonl").read_bytes()).hexdigest()
    spec["hub"]["sha256"] = {"poems_all.jsonl": digest}
    assert load_corpus("c", spec, Path()).warnings == ()
    spec["hub"]["sha256"] = {"poems_all.jsonl": "0" * 64}
    with pytest.raises(UserError, match="is not the file that the study pins"):
        load_corpus("c", spec, Path())
    spec["hub"]["sha256"] = {"poems.jsonl": digest}
    with pytest.raises(UserError, match=r"pins 'poems\.jsonl', which is no file of the data set"):
        load_corpus("c", spec, Path())


def test_without_a_network_the_cache_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def refuse(*_: Any, **__: Any) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_files", refuse)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(tmp_path))
    write_rows(tmp_path / "a/b.jsonl", [poem(0)])
    assert named_files.listed("someone/cached", COMMIT) == ("a/b.jsonl",)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(
        UserError, match=r"cannot list the files of the hub data set 'someone/absent'.*no route"
    ) as caught:
        named_files.listed("someone/absent", COMMIT)
    assert "hf download --repo-type dataset someone/absent" in caught.value.hint


# The study


def study_of(path: str, **changes: Any) -> dict[str, Any]:
    asked = {"corpus": "p", "aspect": "theme", "scope": "mono", "split": "gold"}
    query_set = {"corpora": ["p"], "within": "language", "poetry": asked}
    return {
        "study": "small",
        "corpora": {"p": {"adapter": "poetrymteb", "path": path}},
        "modes": {"poem": ["verse"]},
        "query_sets": {"q": query_set},
        "systems": ["bm25"],
    } | changes


def test_a_setting_is_a_thematic_set_by_language_where_it_has_targets() -> None:
    study = load_study(study_of("b"), ROOT)
    assert study.query_sets_for("thematic") == ["q"] and study.strata == {"q": ["language"]}
    given = study_of("b")
    given["query_sets"]["q"]["poetry"]["scope"] = "cross"
    del given["query_sets"]["q"]["within"]
    assert load_study(given, ROOT).strata == {}
    given["query_sets"]["q"]["strata"] = ["language"]
    with pytest.raises(InputFaults, match="unknown attribute 'language'"):
        load_study(given, ROOT)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("aspect", "mood", "'mood' is not one of"),
        ("corpus", "other", "unknown corpus 'other'"),
        ("files", {"queries": "{mode}.jsonl"}, "is not allowed here"),
        ("files", {"corpus": "../poems.jsonl"}, "is not allowed here"),
        ("languages", ["english"], "'english' is not allowed"),
        ("adapter", "jsonl", "p is read with jsonl, which knows no poetry"),
    ],
)
def test_a_setting_or_corpus_that_cannot_be_meant_is_refused(key: str, value: Any, told: str) -> None:
    config = study_of("b")
    (config["query_sets"]["q"]["poetry"] if key in ("aspect", "corpus") else config["corpora"]["p"])[key] = value
    with pytest.raises(InputFaults, match=told):
        load_study(config, ROOT)


def test_the_study_of_the_benchmark_has_its_eight_settings_on_each_split(tmp_path: Path) -> None:
    study = yaml.safe_load((ROOT / "config/studies/poetrymteb.yaml").read_text(encoding="utf-8"))
    for split in ("silver", "train"):
        more = yaml.safe_load((ROOT / f"config/studies/poetrymteb/{split}.yaml").read_text(encoding="utf-8"))
        assert list(more) == ["query_sets"] and len(more["query_sets"]) == 8
        study["query_sets"] |= more["query_sets"]
    found = load_study(study, ROOT)
    asked = [spec["poetry"] for spec in found.spec["query_sets"].values()]
    kinds = {(spec["aspect"], spec["scope"], spec["split"]) for spec in asked}
    assert kinds == {(s.aspect, s.scope, s.split) for s in settings(splits=SPLITS)} and len(asked) == 24
    assert found.spec["measures"] == ["nDCG@10", "MAP", "Recall@10", "Recall@100"]
    (tmp_path / "data/poetrymteb").mkdir(parents=True)
    (tmp_path / "config").symlink_to(ROOT / "config")
    corpus = load_study(study, tmp_path).spec["corpora"]["poetrymteb"]
    assert corpus["path"] == "data/poetrymteb" and "hub" not in corpus


# The verbs


def test_the_verbs_write_the_tables_of_a_benchmark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = benchmark(n_queries=4, asked=[MONO])
    made.write(tmp_path / "b")
    at = {name: str(tmp_path / f"{name}.parquet") for name in ("p", "e", "a", "q", "r", "qa", "d")}
    for sample, said in (
        ({}, "4 queries of emotion_mono, split gold, 20 judgements\n"),
        ({"n": 20}, "the sample left out"),
    ):
        spec = json.dumps(SPEC | {"path": str(tmp_path / "b")} | ({"sample": sample} if sample else {}))
        out = ["--poems", at["p"], "--explanations", at["e"], "--attributes", at["a"], "--duplicates", at["d"]]
        assert main(["ingest_corpus", "--name", "c", "--spec", spec, *out, "--audit", str(tmp_path / "a.json")]) == 0
        assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["n_without_language"] == 0
        asked = ["--aspect", "emotion", "--scope", "mono", "--split", "gold", "--poems", at["p"]]
        out = ["--queries", at["q"], "--qrels", at["r"], "--attributes", at["qa"]]
        capsys.readouterr()
        assert main(["draw_poetry", "--name", "s", "--spec", spec, *asked, *out]) == 0
        assert said in capsys.readouterr().out
        kept = set(read_table(at["p"], POEMS)["poem_id"])
        assert set(read_table(at["r"], QRELS)["poem_id"]) <= kept
        asked_of = set(read_table(at["q"], QUERIES)["query_id"])
        assert set(read_table(at["qa"], QUERY_ATTRIBUTES)["query_id"]) == asked_of


def checked(folder: Path, asked: list[Setting], sample: dict[str, Any] | None = None) -> int:
    spec = SPEC | {"path": str(folder / "b")} | ({"sample": sample} if sample else {})
    sets = {
        f"q{n}": {
            "corpora": ["p"],
            "judged": "now",
            "purpose": "thematic",
            "poetry": {"corpus": "p", "aspect": s.aspect, "scope": s.scope, "split": s.split},
        }
        for n, s in enumerate(asked)
    }
    given = ["--corpora", json.dumps({"p": spec}), "--query-sets", json.dumps(sets)]
    given += ["--modes", json.dumps({"poem": ["verse"]}), "--output", str(folder / "inputs.json")]
    return main(["check_inputs", *given])


def test_inputs_are_checked_together_before_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = benchmark(n_queries=4, asked=[MONO, CROSS])
    made.write(tmp_path / "b")
    (tmp_path / "b/README.md").write_text("not read", encoding="utf-8")
    assert checked(tmp_path, [MONO, CROSS]) == 0
    assert "query set q1: 4 queries, 20 judgements" in capsys.readouterr().out
    record = json.loads((tmp_path / "inputs.json").read_text(encoding="utf-8"))
    assert {Path(file["path"]).relative_to(tmp_path / "b").as_posix() for file in record["files"]} == {
        "poems_all.jsonl",
        *(f"{kind}_{s.aspect}_{s.scope}/gold.jsonl" for kind in ("queries", "qrels") for s in (MONO, CROSS)),
    }
    assert checked(tmp_path, [MONO, CROSS], {"n": 20}) == 0
    made.qrels[CROSS][0]["corpus-id"] = "none"
    made.qrels[MONO][0]["score"] = 4
    made.write(tmp_path / "b")
    assert checked(tmp_path, [MONO, CROSS], {"n": 20}) == 2
    assert "judged poem 'none'" in capsys.readouterr().err
    made.poems[3]["language"] = "XXX"
    made.poems[5]["id"] = made.poems[4]["id"]
    made.write(tmp_path / "b")
    capsys.readouterr()
    assert checked(tmp_path, [MONO, CROSS]) == 2
    told = capsys.readouterr().err
    for part in ("poems_all.jsonl:4 [language]", "duplicate id", "judged poem 'none'", "is 4, and no grade"):
        assert part in told
    assert made.poems[3]["id"] not in told  # it has a fault of its own, and is there


# Real poems

DATA = Path(os.environ.get("VERSEIR_DATA", "")) / "multilingual"


@pytest.mark.skipif(not os.environ.get("VERSEIR_DATA"), reason="needs the real data: VERSEIR_DATA")
def test_real_poems_in_six_languages_are_read_whole_and_asked_for(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/poems.jsonl").symlink_to(DATA / "poems.jsonl")
    spec = SPEC | {"files": {"corpus": "poems.jsonl"}}
    corpus = load_corpus("c", spec, tmp_path)
    rows = [json.loads(line) for line in (DATA / "poems.jsonl").read_text(encoding="utf-8").split("\n") if line]
    assert len(corpus.poems) == len(rows) == 2100
    found = Counter(corpus.poems["language"])
    assert found == {"CES": 400, "ENG": 400, "FAS": 400, "JPN": 100, "SPA": 400, "ZHO": 400}
    by_id = {row["id"]: row for row in rows}
    for poem_id, poet, verses in corpus.poems.select("poem_id", "poet", "verses").iter_rows():
        read = [verse["first"] for verse in verses]
        lines = by_id[poem_id]["content"].split("\n")
        assert [text for text in map(str.strip, lines) if any(map(str.isalnum, text))] == read, poem_id
        assert poet == " ".join(by_id[poem_id]["author"].split())
    chance = random.Random(1)
    made = Benchmark(rows, {MONO: [], CROSS: []}, {MONO: [], CROSS: []})
    for setting in (MONO, CROSS):
        for number, code in enumerate(sorted(found)):
            there = [row["id"] for row in rows if setting == CROSS or row["language"] == code]
            query = {
                "id": f"{setting.scope}{number}",
                "query": f"关于爱的诗 {number}",
                "target_document_language": code,
            }
            made.queries[setting].append(query)
            for poem_id, grade in zip(chance.sample(there, 4), (3, 2, 1, 0), strict=True):
                made.qrels[setting].append({"query_id": query["id"], "poem_id": poem_id, "score": grade})
        for kind, part in (("queries", made.queries), ("qrels", made.qrels)):
            write_rows(tmp_path / f"b/{kind}_{setting.aspect}_{setting.scope}/gold.jsonl", part[setting])
        found_queries = poetry_queries("q", setting, spec, tmp_path, corpus.poems.select("poem_id", "language"))
        assert (len(found_queries.queries), len(found_queries.qrels)) == (6, 24)
    made.queries[MONO][0]["target_document_language"] = "SPA"
    write_rows(tmp_path / "b/queries_emotion_mono/gold.jsonl", made.queries[MONO])
    with pytest.raises(InputFaults) as caught:
        poetry_queries("q", MONO, spec, tmp_path, corpus.poems.select("poem_id", "language"))
    assert [fault.line for fault in caught.value.faults] == [1, 2, 3]
