"""An idiom benchmark: its documents as a corpus, its queries as a query set."""

from __future__ import annotations

import hashlib
import json
import os
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.corpora import hub, idiolink
from verseir.corpora.attributes import alike
from verseir.corpora.load import load_corpus
from verseir.corpora.model import PartlyRead, attributes_frame
from verseir.faults import InputFaults, UserError
from verseir.queries.idioms import RELEVANT, idiom_queries
from verseir.tables import ATTRIBUTES, POEMS, QRELS, QUERIES, QUERY_ATTRIBUTES, check_table, read_table

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MEANING = {"literal": "spill the beans", "idiomatic": "spill the beans", "simplification": "tell", "sense": "reveal"}


def record(number: int, kind: str, idiom: str = "spill the beans", **changes: Any) -> dict[str, Any]:
    span = MEANING[kind]
    given = {"id": f"{idiom.split()[0]}_{kind}_{number:02d}", "sentence": f"They {span} in case {number}."}
    more = {"idiom": idiom, "span": span, "subject": "Food", "usage": kind, "is_gold": number % 2 == 0}
    return given | more | changes


def documents(idiom: str = "spill the beans") -> list[dict[str, Any]]:
    return [record(n, usage, idiom) for usage in idiolink.USAGES for n in range(4 if usage == "literal" else 2)]


def queries(idiom: str = "spill the beans") -> list[dict[str, Any]]:
    return [record(9, usage, idiom, id=f"q_{idiom.split()[0]}_{usage}") for usage in idiolink.ASKED]


def write(folder: Path, records: Any, name: str = idiolink.DOCUMENTS, **options: Any) -> dict[str, Any]:
    (folder / "split").mkdir(exist_ok=True)
    (folder / "split" / name).write_text(json.dumps(records, **({"indent": 2} | options)), encoding="utf-8")
    return {"adapter": "idiolink", "path": "split"}


def faults_of(folder: Path, records: Any, name: str = idiolink.DOCUMENTS, **options: Any) -> list[tuple[Any, ...]]:
    spec = write(folder, records, name, **options)
    with pytest.raises(InputFaults) as caught:
        (idiolink.read if name == idiolink.DOCUMENTS else idiolink.read_queries)(spec, folder)
    assert all(fault.file == f"split/{name}" and fault.hint for fault in caught.value.faults)
    return [(fault.line, fault.field, fault.problem) for fault in caught.value.faults]


def test_a_document_is_a_poem_of_one_verse_with_its_attributes(tmp_path: Path) -> None:
    corpus = load_corpus("c", write(tmp_path, [record(1, "sense", usage="Sense"), record(0, "literal")]), tmp_path)
    check_table(corpus.poems, POEMS, "poems")
    check_table(corpus.attributes, ATTRIBUTES, "attributes")
    assert corpus.poems["poem_id"].to_list() == ["spill_literal_00", "spill_sense_01"]
    assert corpus.poems["verses"][1].to_list() == [{"first": "They reveal in case 1.", "second": None}]
    assert corpus.poems["title"].to_list() == [None, None]
    assert corpus.attributes.rows()[5:] == [
        ("spill_sense_01", "idiom", "spill the beans"),
        ("spill_sense_01", "quality", "silver"),
        ("spill_sense_01", "span", "reveal"),
        ("spill_sense_01", "subject", "Food"),
        ("spill_sense_01", "usage", "sense"),
    ]


def test_a_sample_keeps_the_attributes_of_its_poems_alone(tmp_path: Path) -> None:
    corpus = load_corpus("c", write(tmp_path, documents()) | {"sample": {"n": 3}}, tmp_path)
    assert corpus.attributes["poem_id"].unique().sort().to_list() == corpus.poems["poem_id"].to_list()
    assert len(corpus.attributes) == 3 * len(idiolink.ATTRIBUTES)


def test_a_record_begins_where_its_brace_does(tmp_path: Path) -> None:
    records = idiolink.read(write(tmp_path, documents()), tmp_path)
    lines = (tmp_path / "split" / idiolink.DOCUMENTS).read_text(encoding="utf-8").split("\n")
    assert all(lines[found.line - 1].strip() == "{" and found.poem_id in lines[found.line] for found in records)


def test_all_faults_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    good = record(0, "literal")
    bad = [
        {key: value for key, value in good.items() if key not in ("idiom", "is_gold")} | {"idom": "x", "id": "a"},
        record(1, "literal", sentence="  ", span=3, subject=None),
        record(2, "literal", usage="figurative", is_gold=1),
        record(3, "literal", span="Spill the beans"),
        record(4, "literal", sentence="They spill the beans\x00.", id="b c"),
        record(5, "literal", id="spill_literal_00"),
        record(6, "literal", sentence="?!", span="?!"),
        "text",
        record(7, "literal", subject="Food\nand drink") | {"idiom": " "},
    ]
    assert faults_of(tmp_path, [good, *bad], indent=None, separators=(",\n", ": ")) == [
        (8, "idiom", "record 2: is missing, expected the idiom"),
        (8, "is_gold", "record 2: is missing, expected true or false"),
        (14, "sentence", "record 3: is empty, expected one sentence"),
        (14, "span", "record 3: is a number, expected text"),
        (14, "subject", "record 3: is null, expected text"),
        (21, "is_gold", "record 4: is a number, expected true or false"),
        (21, "usage", "record 4: 'figurative' is no usage, expected one of " + ", ".join(idiolink.USAGES)),
        (28, "span", "record 5: 'Spill the beans' does not stand in the sentence"),
        (35, "id", "record 6: 'b c' holds a blank"),
        (35, "sentence", "record 6: holds the character U+0000"),
        (42, "id", "record 7: duplicate id 'spill_literal_00', first in record 1"),
        (49, "sentence", "record 8: holds no letter"),
        (56, "", "is text, expected an object"),
        (57, "idiom", "record 10: is empty, expected the idiom"),
        (57, "subject", "record 10: holds the character U+000A"),
    ]


def test_ids_and_texts_that_would_break_a_table_are_refused(tmp_path: Path) -> None:
    bad = [
        record(1, "literal", id="\u200f\u200f"),
        record(2, "literal", id="x" * 1001),
        record(3, "literal", id="a\tb"),
        record(4, "literal", subject="Food\tand drink"),
        record(5, "literal", idiom="spill\u2028the beans"),
        record(6, "literal", sentence="They spill the beans.\x85"),
        record(7, "literal", id="x" * 1000, subject="Food\u2029"),
        record(8, "literal", id="\u200fمثل", sentence="They\u00a0spill the beans."),
    ]
    assert [found[1:] for found in faults_of(tmp_path, bad)] == [
        ("id", "record 1: holds invisible characters only: U+200F"),
        ("id", f"record 2: '{'x' * 57}...' has 1,001 characters, expected at most 1,000"),
        ("id", "record 3: 'a\tb' holds a blank"),
        ("subject", "record 4: holds the character U+0009"),
        ("idiom", "record 5: holds the character U+2028"),
        ("sentence", "record 6: holds the character U+0085"),
        ("subject", "record 7: holds the character U+2029"),
    ]


def test_spellings_of_one_name_are_told_by_record(tmp_path: Path) -> None:
    usual = documents()
    spellings = ["Spill the beans", "spill the beans ", "spill  the beans", "spill the\u200b beans", "spill the beans"]
    usual += [record(20 + n, "sense", idiom=idiom) for n, idiom in enumerate([*spellings, spellings[0]])]
    spec = write(tmp_path, [*usual, record(30, "sense", subject="food")])
    asked = [record(9, "literal", id="q1"), record(9, "literal", id="q2", idiom="SPILL THE BEANS")]
    write(tmp_path, asked, idiolink.QUERIES)
    found = sorted(idiolink.spelling_faults(spec, tmp_path, with_queries=True))
    assert {fault.hint for fault in found} == {"write it in one way: 'spill the beans'", "write it in one way: 'Food'"}
    assert [(fault.file, fault.field, fault.problem.split(": ", 1)) for fault in found] == [
        (
            "split/indexes.json",
            "idiom",
            ["record 11", "'Spill the beans' (as in 1 more) is spelt another way elsewhere"],
        ),
        ("split/indexes.json", "idiom", ["record 12", "'spill the beans ' is spelt another way elsewhere"]),
        ("split/indexes.json", "idiom", ["record 13", "'spill  the beans' is spelt another way elsewhere"]),
        ("split/indexes.json", "idiom", ["record 14", r"'spill the\u200b beans' is spelt another way elsewhere"]),
        ("split/indexes.json", "subject", ["record 17", "'food' is spelt another way elsewhere"]),
        ("split/queries.json", "idiom", ["record 2", "'SPILL THE BEANS' is spelt another way elsewhere"]),
    ]
    lines = (tmp_path / "split" / idiolink.DOCUMENTS).read_text(encoding="utf-8").split("\n")
    assert all(lines[fault.line - 1].strip() == "{" for fault in found)
    assert len(list(idiolink.spelling_faults(spec, tmp_path, with_queries=False))) == 5


@given(st.text(max_size=20), st.text(max_size=20))
def test_alike_does_not_see_capitals_nor_blanks(a: str, b: str) -> None:
    assert alike(alike(a)) == alike(a)
    assert alike(f" {a}  {b}\u200b\t") == alike(f"{a} {b}")
    assert alike("Devil’s  Advocate") == alike("devil's advocate") != alike("devils advocate")


@pytest.mark.parametrize("place", ["split/indexes.json", "split/queries.json"])
def test_a_file_where_a_folder_is_read_is_told(tmp_path: Path, place: str) -> None:
    write(tmp_path, documents())
    write(tmp_path, queries(), idiolink.QUERIES)
    with pytest.raises(UserError, match="is a file, and a folder is read") as caught:
        load_corpus("c", {"adapter": "idiolink", "path": place}, tmp_path)
    assert "the folder that holds indexes.json" in caught.value.hint


def test_a_misspelt_key_is_pointed_at(tmp_path: Path) -> None:
    spec = write(tmp_path, [{key + "s" * (key == "usage"): value for key, value in record(0, "sense").items()}])
    with pytest.raises(PartlyRead) as caught:
        idiolink.read(spec, tmp_path)
    assert [fault.hint for fault in caught.value.faults] == ["did you mean 'usage' by 'usages'?"]


def test_good_records_are_checked_further_beside_bad_ones(tmp_path: Path) -> None:
    write(tmp_path, [record(0, "literal"), record(1, "sense", is_gold="yes")])
    with pytest.raises(PartlyRead) as caught:
        idiolink.read({"path": "split"}, tmp_path)
    assert [found.poem_id for found in caught.value.records] == ["spill_literal_00"]
    assert caught.value.known_ids == {"spill_literal_00", "spill_sense_01"} and caught.value.complete


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"id": "a"}', "is not a JSON array of records"),
        (b"[" + json.dumps(record(0, "sense")).encode() + b",\n ]", "is not valid JSON: a comma before the end"),
        (b"[,]", "is not valid JSON"),
        (b"<html>", "is not a JSON array of records"),
        (b"", "is empty"),
        (b'[{"id" 1}]', "is not valid JSON"),
        (b"[" + json.dumps(record(0, "sense")).encode(), "the array has no end: the file is cut off"),
        (b"[" + b"9" * 5000 + b"]", "is not valid JSON"),
        (b'[{"id": "\xe9"}]', "invalid UTF-8: byte 0xe9"),
        (b'[{"id": "a", "id": "b"}]', "the key stands twice in a record"),
        (b'\xef\xbb\xbf[{"id": "a"}]', "begins with a byte order mark"),
    ],
)
def test_a_file_that_is_no_array_of_records_is_refused(tmp_path: Path, data: bytes, problem: str) -> None:
    write(tmp_path, [])
    (tmp_path / "split" / idiolink.DOCUMENTS).write_bytes(data)
    with pytest.raises(InputFaults) as caught:
        load_corpus("c", {"adapter": "idiolink", "path": "split"}, tmp_path)
    assert any(fault.problem.startswith(problem) for fault in caught.value.faults), caught.value


def test_what_cannot_be_read_to_its_end_does_not_settle_which_ids_there_are(tmp_path: Path) -> None:
    write(tmp_path, [])
    (tmp_path / "split" / idiolink.DOCUMENTS).write_text("[" + json.dumps(record(0, "sense")), encoding="utf-8")
    with pytest.raises(PartlyRead) as caught:
        load_corpus("c", {"adapter": "idiolink", "path": "split"}, tmp_path)
    assert not caught.value.complete


def test_empty_and_absent_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputFaults, match="holds no poems"):
        load_corpus("c", write(tmp_path, []), tmp_path)
    with pytest.raises(InputFaults, match=r"split/queries\.json: there is no such file"):
        idiolink.read_queries({"path": "split"}, tmp_path)
    with pytest.raises(InputFaults, match="holds no queries"):
        idiolink.read_queries(write(tmp_path, [], idiolink.QUERIES), tmp_path)


@pytest.mark.parametrize("usage", ["Literal", "sense", "simplification"])
def test_a_query_is_literal_or_idiomatic(tmp_path: Path, usage: str) -> None:
    found = faults_of(tmp_path, [record(0, "literal", usage=usage)], idiolink.QUERIES)
    assert found == [(2, "usage", f"record 1: '{usage}' is no usage, expected one of literal, idiomatic")]


# From the hub


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub whose one data set is the folder ``tmp_path``: ``fetch`` reads from its cache, as it does offline."""
    snapshot = tmp_path / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    monkeypatch.setattr(hub, "fetch", lambda asked: snapshot / asked["file"])
    return snapshot


@pytest.mark.parametrize("folder", ["split", "", None, "/split/"])
def test_the_files_of_a_hub_lie_in_its_folder(cached: Path, folder: str | None) -> None:
    write(cached, documents())
    write(cached, queries(), idiolink.QUERIES)
    place = {} if folder is None else {"folder": folder}
    if not folder:
        for file in (cached / "split").iterdir():
            file.rename(cached / file.name)
    spec = {"adapter": "idiolink", "hub": {"id": "someone/idioms", "revision": COMMIT, **place}}
    assert len(load_corpus("c", spec, Path()).poems) == 10
    items = idiolink.read_queries(spec, Path())
    assert items[0].file == f"someone/idioms@{COMMIT}/{'split/' if folder else ''}queries.json"


def test_a_sha256_pins_a_file_where_no_revision_does(cached: Path) -> None:
    write(cached, documents())
    digest = hashlib.sha256((cached / "split" / idiolink.DOCUMENTS).read_bytes()).hexdigest()
    pinned = {"id": "someone/idioms", "folder": "split", "sha256": {idiolink.DOCUMENTS: digest}}
    assert load_corpus("c", {"adapter": "idiolink", "hub": pinned}, Path()).warnings == ()
    loose = {"adapter": "idiolink", "hub": {"id": "someone/idioms", "folder": "split"}}
    assert load_corpus("c", loose, Path()).warnings == (
        f"hub data set 'someone/idioms' is unpinned: revision 'main' is now {COMMIT}",
    )
    write(cached, documents()[1:])
    with pytest.raises(UserError, match=r"someone/idioms@main/split/indexes.json is not the file that the study pins"):
        load_corpus("c", {"adapter": "idiolink", "hub": pinned}, Path())


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ({"sha256": {"index.json": "0" * 64}}, "did you mean 'indexes.json'"),
        ({"file": "test/indexes.json"}, "hub.folder"),
    ],
)
def test_a_hub_entry_that_cannot_be_meant_is_refused(cached: Path, place: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError) as caught:
        load_corpus("c", {"adapter": "idiolink", "hub": {"id": "someone/idioms", **place}}, Path())
    assert told in caught.value.hint


def test_other_adapters_need_a_file_and_take_its_sha256(cached: Path) -> None:
    (cached / "poems.jsonl").write_text('{"poem_id": "a", "verses": ["x"]}\n', encoding="utf-8")
    given = {"id": "someone/poems", "file": "poems.jsonl", "sha256": {"poems.jsonl": "0" * 64}}
    with pytest.raises(UserError, match="is not the file that the study pins"):
        load_corpus("c", {"adapter": "jsonl", "hub": given}, Path())
    with pytest.raises(UserError, match="no 'file' is named"):
        load_corpus("c", {"adapter": "jsonl", "hub": {"id": "someone/poems", "folder": "test"}}, Path())


# Queries

IDIOMS = ("spill the beans", "Spill the beans", "break the ice")


def items_of(folder: Path, records: list[dict[str, Any]]) -> list[idiolink.Item]:
    return idiolink.read_queries(write(folder, records, idiolink.QUERIES), folder)


def split_of(folder: Path, idioms: tuple[str, ...] = IDIOMS) -> tuple[Any, list[idiolink.Item]]:
    of = {idiom: f"{n}{idiom}" for n, idiom in enumerate(idioms)}
    given = [r | {"id": f"{of[i][0]}{r['id']}"} for i in idioms for r in documents(i)]
    asked = [r | {"id": f"q{of[i][0]}{r['id'][1:]}"} for i in idioms for r in queries(i)]
    return load_corpus("c", write(folder, given), folder), items_of(folder, asked)


def test_a_literal_use_asks_for_literal_uses_and_an_idiomatic_one_for_the_sense(tmp_path: Path) -> None:
    corpus, items = split_of(tmp_path)
    made = idiom_queries("span", "c", items, corpus.attributes, corpus.poems["poem_id"])
    check_table(made.queries, QUERIES, "queries")
    check_table(made.qrels, QRELS, "qrels")
    check_table(made.attributes, QUERY_ATTRIBUTES, "attributes")
    assert made.warnings == ()
    known = {
        poem: dict(rows.select("attribute", "value").iter_rows())
        for (poem,), rows in corpus.attributes.group_by("poem_id")
    }
    relevant = set(made.qrels.select("query_id", "poem_id").iter_rows())
    for item in items:
        for poem, has in known.items():
            alike = has["idiom"] == item.idiom and (has["usage"] == "literal") == (item.usage == "literal")
            assert ((item.item_id, poem) in relevant) == alike
    sizes = made.qrels.group_by("query_id").len().sort("query_id")
    assert sizes["len"].to_list() == [6, 4] * 3
    assert made.qrels["grade"].unique().to_list() == [1]


def test_queries_carry_span_cluster_and_attributes(tmp_path: Path) -> None:
    corpus, items = split_of(tmp_path, IDIOMS[:1])
    made = idiom_queries("span", "c", items, corpus.attributes, corpus.poems["poem_id"])
    assert made.queries.row(0, named=True) == {
        "query_id": "q0_spill_idiomatic",
        "query_set": "span",
        "text": "They spill the beans in case 9.",
        "register": None,
        "source_query_id": None,
        "edit": None,
        "span": "spill the beans",
        "cluster": "spill the beans",
    }
    assert made.attributes.filter(query_id="q0_spill_literal").select("attribute", "value").rows() == [
        ("idiom", "spill the beans"),
        ("quality", "silver"),
        ("subject", "Food"),
        ("usage", "literal"),
    ]


def test_a_query_whose_documents_the_sample_left_out_is_left_out(tmp_path: Path) -> None:
    corpus, items = split_of(tmp_path, IDIOMS[:1])
    literal = corpus.attributes.filter(value="literal")["poem_id"].to_list()
    made = idiom_queries("span", "c", items, corpus.attributes, literal[:1], sampled=True)
    assert made.queries["query_id"].to_list() == ["q0_spill_literal"]
    assert made.qrels.rows() == [("q0_spill_literal", literal[0], 1)]
    assert set(made.attributes["query_id"]) == {"q0_spill_literal"}
    line = next(item.line for item in items if item.usage == "idiomatic")
    assert made.warnings == (
        "1 query without a relevant document in c as it was sampled, left out: q0_spill_idiomatic "
        f"(split/queries.json:{line})",
    )
    assert [item.item_id for item in made.lost] == ["q0_spill_idiomatic"]
    for sampled in (True, False):
        with pytest.raises(UserError, match="none of the 2 queries that come with c has a relevant document") as caught:
            idiom_queries("span", "c", items, corpus.attributes, [], sampled=sampled)
        assert ("sample" in caught.value.hint) == sampled
    whole = idiom_queries("span", "c", items, corpus.attributes, literal[:1])
    assert "sampled" not in whole.warnings[0] and "relevant document in c, left out" in whole.warnings[0]


@given(st.randoms(use_true_random=False))
def test_the_order_of_the_records_does_not_matter(chance: random.Random) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus, items = split_of(folder)
        straight = idiom_queries("s", "c", items, corpus.attributes, corpus.poems["poem_id"])
        for file in (idiolink.DOCUMENTS, idiolink.QUERIES):
            records = json.loads((folder / "split" / file).read_text(encoding="utf-8"))
            chance.shuffle(records)
            write(folder, records, file)
        spec = {"adapter": "idiolink", "path": "split"}
        turned = load_corpus("c", spec, folder)
        assert turned.poems.equals(corpus.poems) and turned.attributes.equals(corpus.attributes)
        items = idiolink.read_queries(spec, folder)
        again = idiom_queries("s", "c", items, turned.attributes, turned.poems["poem_id"].reverse())
        assert again.queries.equals(straight.queries) and again.attributes.equals(straight.attributes)
        assert again.qrels.equals(straight.qrels)


@given(st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from(idiolink.USAGES)), min_size=1, max_size=12))
def test_every_document_of_an_idiom_is_relevant_to_one_of_its_two_queries(
    given_documents: list[tuple[str, str]],
) -> None:
    rows = [
        (f"d{n}", name, value)
        for n, pair in enumerate(given_documents)
        for name, value in zip(("idiom", "usage"), pair, strict=True)
    ]
    items = [
        idiolink.Item(f"q{idiom}{usage}", "s", idiom, "s", "t", usage, True, "f", 1)
        for idiom in "xy"
        for usage in idiolink.ASKED
    ]
    ids = [f"d{n}" for n in range(len(given_documents))]
    made = idiom_queries("s", "c", items, attributes_frame(rows), ids)
    assert sorted(made.qrels["poem_id"]) == sorted(ids)
    usage_of = {item.item_id: item.usage for item in items}
    assert all(
        given_documents[int(poem[1:])][1] in RELEVANT[usage_of[query]]
        for query, poem in made.qrels.select("query_id", "poem_id").iter_rows()
    )


def test_the_verb_leaves_out_no_query_where_nothing_was_sampled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, [found for found in documents() if found["usage"] == "literal"])
    write(tmp_path, queries(), idiolink.QUERIES)
    spec: dict[str, Any] = {"adapter": "idiolink", "path": str(tmp_path / "split")}
    at = {name: str(tmp_path / f"{name}.parquet") for name in ("p", "e", "a", "q", "r", "qa", "d")}
    kept = ["--poems", at["p"], "--explanations", at["e"], "--attributes", at["a"], "--duplicates", at["d"]]
    drawn = ["--poems", at["p"], "--corpus-attributes", at["a"], "--queries", at["q"], "--qrels", at["r"]]
    for sample, code in (({"sample": {"n": 3}}, 0), ({"sample": {"seed": 1}}, 1), ({}, 1)):
        given = ["--name", "c", "--spec", json.dumps(spec | sample)]
        assert main(["ingest_corpus", *given, *kept, "--audit", str(tmp_path / "a.json")]) == 0
        capsys.readouterr()
        given = ["--name", "s", "--corpus", "c", "--spec", json.dumps(spec | sample), *drawn]
        assert (main(["draw_idioms", *given, "--attributes", at["qa"]]) != 0) == code
        told = capsys.readouterr()
        assert ("warning: s: 1 query without a relevant document in c as it was sampled" in told.out) == (not code)
        assert ("query 'q_spill_idiomatic' has no relevant document in c: none of the idiom" in told.err) == bool(code)


def test_the_verbs_write_the_tables_of_a_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, documents())
    write(tmp_path, queries(), idiolink.QUERIES)
    spec = json.dumps({"adapter": "idiolink", "path": str(tmp_path / "split"), "sample": {"n": 9, "seed": 1}})
    at = {name: str(tmp_path / f"{name}.parquet") for name in ("p", "e", "a", "q", "r", "qa", "d")}
    given = ["--poems", at["p"], "--explanations", at["e"], "--attributes", at["a"], "--duplicates", at["d"]]
    assert main(["ingest_corpus", "--name", "c", "--spec", spec, *given, "--audit", str(tmp_path / "a.json")]) == 0
    assert len(read_table(at["a"], ATTRIBUTES)) == 9 * 5
    given = ["--poems", at["p"], "--corpus-attributes", at["a"], "--queries", at["q"], "--qrels", at["r"]]
    capsys.readouterr()
    assert main(["draw_idioms", "--name", "s", "--corpus", "c", "--spec", spec, *given, "--attributes", at["qa"]]) == 0
    assert capsys.readouterr().out == "s: 2 queries of 1 idioms, 9 judgements\n"
    assert len(read_table(at["r"], QRELS)) == 9 and len(read_table(at["q"], QUERIES)) == 2
    assert len(read_table(at["qa"], QUERY_ATTRIBUTES)) == 8


DATA = Path(os.environ.get("VERSEIR_DATA", "")) / "idiolink"


@pytest.mark.skipif(not os.environ.get("VERSEIR_DATA"), reason="needs the real data: VERSEIR_DATA")
@pytest.mark.parametrize(("split", "n_idioms"), [("train", 22), ("val", 10), ("test", 75)])
def test_the_benchmark_has_the_numbers_that_its_paper_gives(split: str, n_idioms: int) -> None:
    spec = {"adapter": "idiolink", "path": str(DATA / split)}
    corpus, items = load_corpus(split, spec, Path()), idiolink.read_queries(spec, Path())
    made = idiom_queries("s", split, items, corpus.attributes, corpus.poems["poem_id"])
    assert (len(corpus.poems), len(made.queries), made.warnings) == (100 * n_idioms, 20 * n_idioms, ())
    assert made.queries["cluster"].n_unique() == n_idioms
    usages = made.attributes.filter(attribute="usage")
    sizes = made.qrels.group_by("query_id").len().join(usages, on="query_id").group_by("value", "len").len(name="n")
    assert set(sizes.rows()) == {("literal", 40, 10 * n_idioms), ("idiomatic", 60, 10 * n_idioms)}
    assert (
        len(corpus.attributes.filter((pl.col("attribute") == "usage") & (pl.col("value") == "sense"))) == 20 * n_idioms
    )
