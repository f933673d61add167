"""Exports as BEIR and MTEB data sets: what is written is what was there, and comes back when it is read."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.corpora.checks import id_problem
from verseir.corpora.load import load_corpus
from verseir.exchange.beir_export import FILES, poem_text, write_beir
from verseir.exchange.card import Origin, task_module
from verseir.exchange.folders import atomic_folder
from verseir.exchange.languages import iso_639_3, mteb_languages
from verseir.exchange.mteb_export import CONFIGS, Contents, write_mteb
from verseir.exchange.mteb_export import FILES as MTEB_FILES
from verseir.queries.beir import beir_queries, read_queries
from verseir.queries.load import QuerySet, query_attributes
from verseir.tables import ATTRIBUTES, POEMS, QRELS, QUERIES

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))
from in_process import run_in_process
from project import Project

NO_ATTRIBUTES = pl.DataFrame(schema=dict(ATTRIBUTES.columns))
HOME = {"adapter": "beir", "path": "."}


def poems_frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=dict(POEMS.columns)).sort("poem_id")


def poem(poem_id: str, *verses: tuple[str, str | None], **more: Any) -> dict[str, Any]:
    return {"poem_id": poem_id, "verses": [{"first": first, "second": second} for first, second in verses], **more}


def queries_frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([{"query_set": "s"} | row for row in rows], schema=dict(QUERIES.columns)).sort("query_id")


def qrels_frame(*rows: tuple[str, str, int]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=dict(QRELS.columns), orient="row").sort("query_id", "poem_id")


POEMS_GIVEN = poems_frame(
    poem(
        "p2",
        ("one", None),
        ("two", "halves"),
        title='A "title"',
        poet="Poet",
        era="abbasid",
        era_order=3,
        language="en",
    ),
    poem("p1", ("نصف", "نصف"), language="ar"),
)
QUERIES_GIVEN = queries_frame(
    {"query_id": "q1", "text": "first\nline", "register": "quoting", "span": "line"},
    {"query_id": "q0", "text": "second", "cluster": "c"},
    {"query_id": "q2", "text": "judged later"},
)
QRELS_GIVEN = qrels_frame(("q1", "p1", 3), ("q1", "p2", 0), ("q0", "p2", 1))


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def imported(folder: Path, names: list[str] | None = None) -> tuple[pl.DataFrame, QuerySet]:
    """Poems and queries of an export, as a study would read them."""
    poems = load_corpus("c", HOME, folder).poems
    spec = {"beir": {"corpus": "c", "split": "test"}, "judged": "later", "attributes": names or []}
    return poems, beir_queries("s", read_queries(HOME, folder), spec, HOME, folder, poems["poem_id"]).query_set


def test_an_export_has_what_is_known_of_poems_and_queries(tmp_path: Path) -> None:
    attributes = pl.DataFrame([("p1", "theme", "love"), ("p2", "poet", "other")], ATTRIBUTES.columns, orient="row")
    asked = query_attributes([("q0", "usage", "literal")])
    write_beir(tmp_path / "set", POEMS_GIVEN, attributes, QUERIES_GIVEN, QRELS_GIVEN, asked)
    assert sorted(str(path.relative_to(tmp_path / "set")) for path in (tmp_path / "set").rglob("*.*")) == sorted(FILES)
    assert read_lines(tmp_path / "set" / "corpus.jsonl") == [
        {"_id": "p1", "title": "", "text": "نصف نصف", "metadata": {"theme": "love", "language": "ar"}},
        {
            "_id": "p2",
            "title": 'A "title"',
            "text": "one\ntwo halves",
            "metadata": {"poet": "Poet", "era": "abbasid", "language": "en"},
        },
    ]
    assert read_lines(tmp_path / "set" / "queries.jsonl") == [
        {"_id": "q0", "text": "second", "metadata": {"usage": "literal", "cluster": "c"}},
        {"_id": "q1", "text": "first\nline", "metadata": {"register": "quoting", "span": "line"}},
        {"_id": "q2", "text": "judged later", "metadata": {}},
    ]
    split = (tmp_path / "set" / "qrels" / "test.tsv").read_text(encoding="utf-8")
    assert split == "query-id\tcorpus-id\tscore\nq0\tp2\t1\nq1\tp1\t3\nq1\tp2\t0\n"


def test_words_that_run_across_the_caesura_are_whole_again() -> None:
    assert poem_text([{"first": "كتـ", "second": "ـاب"}, {"first": "a", "second": None}]) == "كتاب\na"


#: Marks alone make no id.
IDS = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=6).filter(
    lambda text: id_problem(text) is None
)
#: Any text of one line that a corpus may hold: quotes, tabs, Arabic, emoji and what else there is.
LINES = st.text(
    st.one_of(st.sampled_from("\"'\\\tاـبَ\u200f😀\u2028\u0085{}"), st.characters(exclude_categories=["Cc", "Cs"])),
    min_size=1,
    max_size=12,
).map(str.strip)
VERSES = LINES.filter(lambda text: any(map(str.isalnum, text)))
TEXTS = st.lists(LINES.filter(bool), min_size=1, max_size=3).map("\n".join)


@st.composite
def data_sets(draw: Any) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """POEMS, QUERIES, QRELS and QUERY_ATTRIBUTES."""
    names = draw(st.lists(IDS, min_size=1, max_size=4, unique=True))
    half = st.one_of(st.none(), VERSES)
    poems = poems_frame(
        *(
            poem(
                name,
                *draw(st.lists(st.tuples(VERSES, half), min_size=1, max_size=3)),
                title=draw(st.one_of(st.none(), LINES.filter(bool))),
                language=draw(st.sampled_from([None, "ar", "ENG"])),
            )
            for name in names
        )
    )
    asked = draw(st.lists(IDS, min_size=1, max_size=4, unique=True))
    registers = st.sampled_from([None, "quoting", "thematic"])
    queries = queries_frame(
        *(
            {"query_id": name, "text": draw(TEXTS), "register": draw(registers), "span": draw(st.none() | VERSES)}
            for name in asked
        )
    )
    grades = st.integers(0, 3)
    qrels = qrels_frame(*((name, poem_id, draw(grades)) for name in asked for poem_id in names))
    return poems, queries, qrels, query_attributes((name, "kind", draw(VERSES)) for name in asked)


@settings(max_examples=60)
@given(data_sets())
def test_what_is_exported_comes_back_whatever_the_texts(
    tmp_path_factory: pytest.TempPathFactory, given_set: tuple[pl.DataFrame, ...]
) -> None:
    poems, queries, qrels, attributes = given_set
    folder = tmp_path_factory.mktemp("sets") / "set"
    write_beir(folder, poems, NO_ATTRIBUTES, queries, qrels, attributes)
    found, query_set = imported(folder, ["kind"])
    assert found.select("poem_id", "title", "language").equals(poems.select("poem_id", "title", "language"))
    assert [poem_text(verses) for verses in found["verses"]] == [poem_text(verses) for verses in poems["verses"]]
    assert query_set.queries.equals(queries)
    assert query_set.qrels.equals(qrels)
    assert query_set.attributes.equals(attributes)
    again, again_set = imported(folder, ["kind"])
    assert found.equals(again) and query_set.queries.equals(again_set.queries)
    # What came back is exported as the same bytes: an import is a fixed point.
    files = [(folder / file).read_bytes() for file in FILES]
    write_beir(folder, found, NO_ATTRIBUTES, query_set.queries, query_set.qrels, query_set.attributes)
    assert [(folder / file).read_bytes() for file in FILES] == files


def test_queries_that_no_row_judges_stay_in_the_file_and_out_of_the_set(tmp_path: Path) -> None:
    write_beir(tmp_path / "set", POEMS_GIVEN, NO_ATTRIBUTES, QUERIES_GIVEN, QRELS_GIVEN)
    _, query_set = imported(tmp_path / "set")
    assert query_set.queries["query_id"].to_list() == ["q0", "q1"]


def test_a_folder_is_replaced_as_a_whole_or_left_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "set"
    for name in ("old", "new"):
        with atomic_folder(target) as folder:
            (folder / name).write_text(name, encoding="utf-8")
    assert [path.name for path in target.iterdir()] == ["new"]
    with pytest.raises(RuntimeError), atomic_folder(target) as folder:
        (folder / "half").write_text("half", encoding="utf-8")
        raise RuntimeError
    assert [path.name for path in target.iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


# ---------------------------------------------------------------------------------------------------------------
# MTEB


def exported(folder: Path, **more: Any) -> tuple[dict[str, Any], str, str]:
    """The head of the card, the rest of it, and the module of the task."""
    write_mteb(folder, Origin("study", "c", "my-set", **more), POEMS_GIVEN, QUERIES_GIVEN, QRELS_GIVEN)
    _, head, card = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), card, (folder / "task.py").read_text(encoding="utf-8")


def test_the_card_names_every_config_and_its_file(tmp_path: Path) -> None:
    head, card, _ = exported(tmp_path / "set", query_spec={"path": "q.jsonl"}, about="Of --- whom.")
    paths = {part["config_name"]: part["data_files"] for part in head["configs"]}
    assert paths == {name: [{"split": "test", "path": path}] for name, path in CONFIGS.items()}
    assert all((tmp_path / "set" / file).is_file() for file in MTEB_FILES)
    assert head["language"] == ["ara", "eng"]
    assert head["license"] == "unknown"
    for told in ("| documents (poems) | 2 |", "| verses | 3 |", "| queries | 3 |", "| judgements of grade 3 | 1 |"):
        assert told in card
    assert "1 of the queries have no relevant document" in card and "Of --- whom." in card
    assert "given to the study as files" in card


def test_the_tables_have_no_column_and_no_null_that_mteb_would_stop_at(tmp_path: Path) -> None:
    exported(tmp_path / "set")
    frames = {name: pl.read_parquet(tmp_path / "set" / path) for name, path in CONFIGS.items()}
    assert frames["corpus"].rows() == [("p1", "", "نصف نصف"), ("p2", 'A "title"', "one\ntwo halves")]
    assert frames["queries"].rows() == [("q0", "second"), ("q1", "first\nline"), ("q2", "judged later")]
    assert frames["default"].rows() == [("q0", "p2", 1), ("q1", "p1", 3), ("q1", "p2", 0)]
    assert {name: frame.columns for name, frame in frames.items()} == {
        "corpus": ["_id", "title", "text"],
        "queries": ["_id", "text"],
        "default": ["query-id", "corpus-id", "score"],
    }


def metadata(module: str) -> dict[str, Any]:
    """The arguments of TaskMetadata that are plain values."""
    call = next(node for node in ast.walk(ast.parse(module)) if isinstance(node, ast.Call) and node.keywords)
    plain = {}
    for keyword in call.keywords:
        if keyword.arg != "dataset":
            plain[str(keyword.arg)] = ast.literal_eval(keyword.value)
    return plain


@pytest.mark.parametrize(
    ("licence", "in_head", "in_task"),
    [
        ("", {"license": "unknown"}, None),
        ("CC-BY-4.0", {"license": "cc-by-4.0"}, "cc-by-4.0"),
        ("ask us", {"license": "other", "license_name": "ask us"}, None),
        ("https://e.org/l", {"license": "other", "license_name": "https://e.org/l"}, "https://e.org/l"),
    ],
)
def test_a_licence_is_told_as_each_reader_takes_it(
    tmp_path: Path, licence: str, in_head: dict[str, str], in_task: str | None
) -> None:
    head, card, module = exported(tmp_path / "set", corpus_spec={"adapter": "jsonl", "licence": licence})
    assert {key: value for key, value in head.items() if key.startswith("license")} == in_head
    assert metadata(module)["license"] == in_task
    assert licence.lower() in card.lower()


@given(st.text(max_size=30), st.text(max_size=30))
def test_the_module_of_a_task_is_python_whatever_the_study_is_called(study: str, corpus: str) -> None:
    contents = Contents.of(POEMS_GIVEN, QUERIES_GIVEN, QRELS_GIVEN, "0" * 40)
    module = task_module(Origin(study, corpus, "s"), contents)
    given = metadata(module)
    assert given["name"].isidentifier() and f"class {given['name']}(" in module
    assert given["eval_langs"] == ["ara-Arab", "eng-Latn"]


def test_the_revision_is_that_of_what_a_data_set_holds(tmp_path: Path) -> None:
    first, again = (exported(tmp_path / name)[2] for name in "ab")
    assert first == again
    changed = QRELS_GIVEN.with_columns(pl.lit(1, dtype=pl.Int32).alias("grade"))
    write_mteb(tmp_path / "c", Origin("study", "c", "my-set"), POEMS_GIVEN, QUERIES_GIVEN, changed)
    assert (tmp_path / "c" / "task.py").read_text(encoding="utf-8") != first


def test_a_set_that_is_searched_within_a_language_says_so(tmp_path: Path) -> None:
    _, card, _ = exported(tmp_path / "set", query_spec={"beir": {}, "within": "language"})
    assert "only among the documents whose `language` is its own" in card
    edited = exported(tmp_path / "set", query_spec={"edit": {"of": "known", "rule": "delete-quoted"}})[1]
    assert "those of the set 'known', edited by the rule 'delete-quoted'" in edited
    graded = exported(tmp_path / "set", query_spec={"graded": {"of": "asked", "part": "test", "judge": "llm"}})[1]
    assert "those of the set 'asked', which a judge or people graded for the study" in graded


def test_a_card_says_what_the_study_indexes_otherwise(tmp_path: Path) -> None:
    modes = {"verse": ["verse"], "titled": ["title", "verse"], "told": ["verse", "explanation:ai"], "love": ["verse"]}
    _, card, _ = exported(tmp_path / "set", modes=modes, keep={"love": {"genre": ["love"]}})
    assert "own text, whatever the study indexes" in card
    assert "in the mode `told` are of a search of other texts (told: verse, explanations of source ai)" in card
    assert "its figures in the mode `love` are of a search of some of them alone" in card
    _, plain, _ = exported(tmp_path / "set", modes={"verse": ["verse"], "titled": ["title", "verse"]})
    assert "whatever the study indexes" not in plain and "some of them alone" not in plain


def test_languages_are_named_as_mteb_names_them() -> None:
    assert mteb_languages(["ar", "ARA", "zho", None, "xx"]) == ["ara-Arab", "zho-Hani"]
    assert mteb_languages([None, "xx"]) == ["und-Zyyy"]
    assert iso_639_3(["zho-Hani", "ara-Arab"]) == ["ara", "zho"]


def test_an_export_without_any_judgement_is_one(tmp_path: Path) -> None:
    none = qrels_frame()
    write_mteb(tmp_path / "m", Origin("study", "c", "s"), POEMS_GIVEN, QUERIES_GIVEN, none)
    write_beir(tmp_path / "b", POEMS_GIVEN, NO_ATTRIBUTES, QUERIES_GIVEN, none)
    assert (tmp_path / "b" / "qrels" / "test.tsv").read_text(encoding="utf-8") == "query-id\tcorpus-id\tscore\n"
    assert "3 of the queries have no relevant document" in (tmp_path / "m" / "README.md").read_text(encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------------
# The rules


@pytest.mark.slow
def test_the_rules_export_every_place_and_an_import_of_it_is_a_study(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.study["query_sets"]["drawn"] = {"corpora": ["east"], "probe": {"corpus": "east", "n": 4}}
    project.study |= {"systems": ["bm25"], "about": 'It\'s "quoted" & <told>; $HOME.', "title": "-t"}
    project.save_study()
    assert run_in_process(project, "datasets") == []
    places = [("east", "east-set"), ("east", "drawn"), ("west", "west-set")]
    for corpus, query_set in places:
        for folder, files in (("beir", FILES), ("mteb", MTEB_FILES)):
            assert all((project.results / folder / corpus / query_set / file).is_file() for file in files)
    card = (project.results / "mteb/east/drawn/README.md").read_text(encoding="utf-8")
    assert 'It\'s "quoted" & <told>; $HOME.' in card and "(-t)" in card and "synthetic" in card
    project.study["corpora"] = {"back": {"adapter": "beir", "path": "results/small/beir/east/east-set"}}
    project.study["query_sets"] = {"again": {"corpora": ["back"], "beir": {"corpus": "back"}}}
    project.study["study"] = "back"
    project.save_study()
    assert run_in_process(project, "results/back/per_query.parquet") == []
    values = pl.read_parquet(project.folder / "results/back/per_query.parquet")
    assert values.filter(pl.col("measure") == "Recall@5")["value"].to_list() == [1.0] * 8
