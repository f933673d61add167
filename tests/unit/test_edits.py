"""Edited query sets: what is added and taken out, and which rewrites are taken."""

import json
import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.arabic import tokenize
from verseir.corpora.load import load_corpus
from verseir.faults import InputFaults, UserError
from verseir.overlap import WORDING, longest_shared_run, measure_wording, poem_tokens
from verseir.queries.edits import REJECTS, append_half_verse, delete_quoted, part_originals
from verseir.queries.load import load_query_set
from verseir.queries.rewrites import (
    NEED_LOST,
    NOT_GIVEN,
    NOT_QUOTING,
    Limits,
    Prompts,
    Rewrite,
    limits_of,
    names_in,
    read_prompts,
    read_rewrites,
    rewrite_by_hand,
    rewrite_by_model,
)
from verseir.tables import POEMS, QRELS, QUERIES, check_table, read_table, write_table

ROOT = Path(__file__).parents[2]
WORDS = ["قمر", "نجم", "بحر", "جبل", "سهل", "نخل", "ورد", "طير", "ريح", "مطر"]
MARKS = ["", "", "", "،", "؟", ":", "«", "»", "(", ")", '"', "..."]
WORD = st.sampled_from(WORDS)
HEMISTICH = st.lists(WORD, min_size=1, max_size=5).map(" ".join)
VERSES = st.lists(st.tuples(HEMISTICH, HEMISTICH | st.none()), min_size=1, max_size=4)
TEXT = st.lists(st.tuples(st.sampled_from(MARKS), WORD, st.sampled_from(MARKS)), min_size=1, max_size=9).map(
    lambda words: " ".join("".join(word) for word in words)
)
SETS = st.tuples(
    st.lists(VERSES, min_size=1, max_size=3),
    st.lists(st.tuples(TEXT, st.sets(st.integers(0, 2), max_size=2)), min_size=1, max_size=6),
)


def poems_of(book):
    rows = [
        {
            **dict.fromkeys(POEMS.columns),
            "poem_id": f"p{number}",
            "verses": [{"first": first, "second": second} for first, second in verses],
        }
        for number, verses in enumerate(book)
    ]
    return pl.DataFrame(rows, schema=dict(POEMS.columns))


def originals_of(book, asked, shuffle=None, threshold=3):
    """The parted originals of (text, numbers of the relevant poems); queries are q0, q1, ..."""
    poems = poems_of(book)
    queries = pl.DataFrame(
        [(f"q{n}", "known", text, "abstract", *[None] * 3, f"c{n}") for n, (text, _) in enumerate(asked)],
        schema=dict(QUERIES.columns),
        orient="row",
    )
    qrels = pl.DataFrame(
        [(f"q{n}", f"p{poem}", 1) for n, (_, wanted) in enumerate(asked) for poem in wanted if poem < len(book)],
        schema=dict(QRELS.columns),
        orient="row",
    )
    wording = measure_wording("c", poems, queries, qrels, "full")
    if shuffle is not None:
        frames = [frame.sample(fraction=1, shuffle=True, seed=shuffle) for frame in (poems, queries, qrels, wording)]
        poems, queries, qrels, wording = frames
    return part_originals(poems, queries, qrels, wording, "full", threshold)


def check_edited(edited):
    """The contract of every edited set."""
    check_table(edited.queries, QUERIES, "queries")
    check_table(edited.qrels, QRELS, "qrels")
    check_table(edited.rejects, REJECTS, "rejects")
    assert set(edited.qrels["query_id"]) == set(edited.queries["query_id"])
    for row in edited.queries.to_dicts():
        assert row["query_id"] == f"{row['source_query_id']}~{row['edit']}"
        assert row["cluster"] == row["source_query_id"].replace("q", "c")
        assert row["register"] == "abstract"
    assert not set(edited.queries["source_query_id"]) & set(edited.rejects["source_query_id"])


@given(SETS, st.sampled_from(["opening", "middle", "final"]))
def test_an_appended_query_holds_its_own_words_and_then_a_half_verse_of_its_target(sets, verse):
    book, asked = sets
    originals = originals_of(book, asked)
    edited = append_half_verse("new", originals, verse)
    check_edited(edited)
    assert edited.queries.height == len(originals.other)
    for original, row in zip(originals.other, edited.queries.to_dicts(), strict=True):
        half = tokenize(row["span"])
        assert tokenize(row["text"]) == tokenize(original.text) + half
        assert longest_shared_run(half, poem_tokens(original.verses, "full")[0]).length == len(half)


@given(SETS, st.integers(1, 4))
def test_a_deleted_query_shares_no_run_with_any_target_and_keeps_the_order_of_its_words(sets, threshold):
    book, asked = sets
    originals = originals_of(book, asked, threshold=threshold)
    edited = delete_quoted("new", originals)
    check_edited(edited)
    texts = dict(edited.queries.select("source_query_id", "text").iter_rows())
    spans = dict(edited.queries.select("source_query_id", "span").iter_rows())
    for original in originals.quoting:
        if original.query_id not in texts:
            continue
        left = tokenize(texts[original.query_id])
        assert left
        assert all(longest_shared_run(left, target).length < threshold for target in original.targets)
        before = iter(tokenize(original.text))
        assert all(token in before for token in left), "a subsequence of the original"
        assert sorted(left + tokenize(spans[original.query_id])) == sorted(tokenize(original.text))


@given(SETS, st.integers(0, 9))
def test_the_order_of_the_tables_changes_nothing(sets, seed):
    book, asked = sets
    straight, shuffled = originals_of(book, asked), originals_of(book, asked, shuffle=seed)
    for edit in (delete_quoted, lambda name, found: append_half_verse(name, found, "middle")):
        first, second = edit("new", straight), edit("new", shuffled)
        assert first.queries.equals(second.queries)
        assert first.qrels.equals(second.qrels)
        assert first.rejects.equals(second.rejects)


BOOK = [
    [("قمر فوق جبل عال", "نجم تحت بحر هادئ"), ("", "ريح في نخل كثير"), ("مَطَرٌ عَلَى وَرْدٍ", "طير")],
    [("سهل بعد جبل أخضر", None)],
    [(None, None)],
]


def test_the_half_verse_is_the_first_hemistich_or_the_other_where_it_is_empty():
    originals = originals_of(BOOK, [("قصيدة عن الليل", {0})])
    spans = [append_half_verse("new", originals, verse).queries["span"][0] for verse in ("opening", "middle", "final")]
    assert spans == ["قمر فوق جبل عال", "ريح في نخل كثير", "مَطَرٌ عَلَى وَرْدٍ"]


def test_short_poems_are_noted_and_empty_verses_and_missing_targets_are_rejected():
    originals = originals_of(BOOK, [("قصيدة", {1}), ("أخرى", {2}), ("ثالثة", set()), ("قمر فوق جبل", {0})])
    edited = append_half_verse("new", originals, "final")
    assert edited.queries["source_query_id"].to_list() == ["q0"]
    assert dict(edited.rejects.select("source_query_id", "reason").iter_rows()) == {
        "q1": "the final verse of the target holds no word",
        "q2": "the original has no target poem",
    }
    assert "another of the three as well: 1" in str(edited)
    assert "1 queries made, 2 rejected" in str(edited)


def test_deleting_takes_every_run_and_leaves_the_punctuation_tidy():
    asked = [
        ("من قال: «قمر فوقَ جبل عال»، وفيها (ريح في نخل)؟", {0}),
        ("ريح قمر فوق جبل في نخل", {0}),
        ("(قمر فوق) جبل، من القائل؟", {0}),
        ("«قمر فوق جبل»!", {0}),
    ]
    edited = delete_quoted("new", originals_of(BOOK, asked))
    texts = dict(edited.queries.select("source_query_id", "text").iter_rows())
    assert texts == {"q0": "من قال، وفيها؟", "q2": "من القائل؟"}
    assert edited.queries["span"][0] == "قمر فوقَ جبل عال … ريح في نخل"
    assert dict(edited.rejects.select("source_query_id", "reason").iter_rows()) == {
        "q1": "nothing remains without the quoted words",  # what the first cut brings together is a run again
        "q3": "nothing remains without the quoted words",
    }


def test_a_run_of_any_target_goes():
    originals = originals_of([BOOK[0], BOOK[1]], [("قمر فوق جبل عال ثم سهل بعد جبل أخضر", {0, 1})])
    assert delete_quoted("new", originals).queries["text"].to_list() == ["ثم"]


def test_grades_are_copied():
    originals = originals_of(BOOK, [("ليل قمر فوق جبل", {0, 1})])
    edited = delete_quoted("new", originals)
    assert edited.qrels.rows() == [("q0~delete-quoted", "p0", 1), ("q0~delete-quoted", "p1", 1)]


def test_a_set_without_anything_to_edit_is_empty_and_has_its_columns():
    originals = originals_of(BOOK, [("قصيدة عن الليل", {0})])
    edited = delete_quoted("new", originals)
    check_edited(edited)
    assert edited.queries.is_empty() and edited.rejects.is_empty()


def test_a_wording_table_made_otherwise_is_refused():
    poems = poems_of(BOOK)
    queries = pl.DataFrame([("q", "s", "قصيدة ليل", *[None] * 5)], schema=dict(QUERIES.columns), orient="row")
    qrels = pl.DataFrame([("q", "p0", 1)], schema=dict(QRELS.columns), orient="row")
    wording = measure_wording("c", poems, queries, qrels, "full")
    with pytest.raises(UserError, match="does not know query"):
        part_originals(poems, queries, qrels, wording.clear(), "full", 3)
    with pytest.raises(UserError, match="twice"):
        part_originals(poems, queries, qrels, pl.concat([wording, wording]), "full", 3)
    lied = part_originals(poems, queries, qrels, wording.with_columns(longest_run=pl.lit(4, pl.Int64)), "full", 3)
    with pytest.raises(UserError, match="called quoting"):
        delete_quoted("new", lied)


QUOTING = ("من قال في سعاد قمر فوق جبل عال", {0})


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("من وصف سعاد بنور الليل على القمة", []),
        ("من وصف سعاد بأنها قمر على قمة عال", []),  # half of the quoted words
        ("من وصف سعاد جبل قمر فوق قمة", ["more than 0.5 of the quoted words are left"]),
        (
            "من قال سعاد قمر فوق جبل",
            ["3 tokens in a row stand in a target", "more than 0.5 of the quoted words are left"],
        ),
        ("", ["the rewrite is empty"]),
        ("؟!", ["the rewrite is empty"]),
        ("من قال في سُعاد: قمرٌ فوق جبل عال", ["the rewrite is the original"]),
        ("سعاد والنور", ["shorter than 0.5 of the original"]),
        ("سعاد " + "كلمة " * 16, ["longer than 2 of the original"]),
        ("من وصف حبيبته بنور الليل على القمة", ["a proper name is lost"]),
        ("من وصف لسعاد نور الليل على القمة", []),
    ],
)
def test_each_check_of_a_rewrite_has_its_own_reason(text, reasons):
    originals = originals_of(BOOK, [QUOTING])
    edited = rewrite_by_hand("new", originals, {"q0": Rewrite(text, ("سعاد",))}, Limits())
    check_edited(edited)
    assert edited.rejects["reason"].to_list() == sorted(reasons)
    assert edited.queries["text"].to_list() == ([] if reasons else [text])


def test_what_was_not_given_not_kept_or_not_quoting_is_rejected():
    originals = originals_of(BOOK, [QUOTING, QUOTING, ("قصيدة عن الليل", {0}), ("بلا هدف", set())])
    rewrites = {"q0": Rewrite("من وصف سعاد بنور الليل", need_kept=False), "q2": Rewrite("قصيدة عن المساء")}
    edited = rewrite_by_hand("new", originals, rewrites, Limits())
    assert edited.rejects.select("source_query_id", "reason").rows() == [
        ("q0", NEED_LOST),
        ("q1", NOT_GIVEN),
        ("q2", NOT_QUOTING),
        ("q3", "the original has no target poem"),
    ]
    assert edited.rejects["text"].to_list() == ["من وصف سعاد بنور الليل", None, "قصيدة عن المساء", None]


def test_a_name_is_asked_for_only_where_the_original_holds_it_and_its_word_is_not_counted_as_wording():
    originals = originals_of([[("سعاد فوق جبل", "ليل طويل")]], [("من قال وسعاد سعاد فوق جبل", {0})])
    rewrite = {"q0": Rewrite("من ذكر سعاد على القمة")}
    assert rewrite_by_hand("new", originals, rewrite, Limits(0.0, names=("سعاد", "نوار"))).rejects.is_empty()
    lost = rewrite_by_hand("new", originals, {"q0": Rewrite("من ذكر حبيبته على القمة")}, Limits(names=("سعاد",)))
    assert lost.rejects["reason"].to_list() == ["a proper name is lost"]


def test_names_take_particles_and_articles():
    assert names_in(tokenize("قاتلوا للروم وبابن زيد"), ["الروم", "ابن زيد", "عمرو"], "full") == ["الروم", "ابن زيد"]
    assert names_in(tokenize("زيدان"), ["زيد"], "full") == []


def test_rewrites_are_read_from_lines_and_from_tables(tmp_path):
    lines = tmp_path / "r.jsonl"
    lines.write_text(
        json.dumps({"source_query_id": "q0", "text": " نص ", "names": ["سعاد"], "need_kept": False}) + "\n", "utf-8"
    )
    table = tmp_path / "r.csv"
    table.write_text("source_query_id,text,names,need_kept\nq0,نص,سعاد; نوار,\nq1,نص,,True\n", "utf-8")
    assert read_rewrites(lines, "r", ["q0"]) == {"q0": Rewrite("نص", ("سعاد",), False)}
    assert read_rewrites(table, "r", ["q0", "q1"]) == {
        "q0": Rewrite("نص", ("سعاد", "نوار"), None),
        "q1": Rewrite("نص", (), True),
    }


def test_all_faults_of_a_file_of_rewrites_are_told_with_their_lines(tmp_path):
    rows = [
        {"source_query_id": "q0", "text": "نص"},
        {"source_query_id": "q0", "text": "نص آخر"},
        {"source_query_id": "q9", "text": "نص"},
        {"source_query_id": "q1", "text": 3},
        {"text": "نص"},
        {"source_query_id": "q2", "text": "نص", "names": 3, "need_kept": "maybe"},
        {"source_query_id": "q3", "text": "نص", "need_keptt": True},
    ]
    file = tmp_path / "r.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(InputFaults) as caught:
        read_rewrites(file, "r.jsonl", ["q0", "q1", "q2", "q3"])
    told = [(fault.line, fault.field, fault.problem) for fault in caught.value.faults]
    assert told == [
        (2, "source_query_id", "a second rewrite of query 'q0', first on line 1"),
        (3, "source_query_id", "no query of the set is called 'q9'"),
        (4, "text", "is a number, expected text"),
        (5, "source_query_id", "is missing"),
        (6, "names", "is a number, expected names"),
        (6, "need_kept", "is 'maybe'"),
    ]
    file.write_text(json.dumps(rows[-1]) + "\n", "utf-8")
    with pytest.raises(InputFaults, match="did you mean 'need_kept'"):
        read_rewrites(file, "r.jsonl", ["q3"])
    file.write_text("", "utf-8")
    with pytest.raises(InputFaults, match="holds no rewrites"):
        read_rewrites(file, "r.jsonl", ["q3"])


def test_limits_are_read_from_the_rule(tmp_path):
    (tmp_path / "names.txt").write_text("نوار\n\nسعاد\n", "utf-8")
    assert limits_of({}, tmp_path) == Limits(0.5, (0.5, 2.0), ())
    rule = {"keep_share": 0.25, "length": [0.8, 1.2], "names": "names.txt"}
    assert limits_of(rule, tmp_path) == Limits(0.25, (0.8, 1.2), ("سعاد", "نوار"))
    with pytest.raises(UserError, match="above the longest"):
        limits_of({"length": [2, 1]}, tmp_path)
    with pytest.raises(InputFaults, match="no such file"):
        limits_of({"names": "absent.txt"}, tmp_path)


class Said:
    """What a model said."""

    def __init__(self, value=None, status="answered", content=""):
        self.value, self.status, self.content = value, status if value is None else "answered", content


def test_a_models_rewrites_are_checked_and_the_need_is_asked_of_those_that_pass():
    texts = {
        "q0": Said({"text": "من وصف سعاد بنور الليل على القمة"}),
        "q1": Said({"text": "من وصف سعاد بنور المساء على القمة"}),
        "q2": Said({"text": "من وصف سعاد بالنور على القمة"}),
        "q3": Said({"text": "من قال سعاد قمر فوق جبل"}),
        "q4": Said(status="refused"),
        "q5": Said(status="malformed", content="I cannot\nsay"),
        "q6": Said({"text": "من وصف سعاد بنور الليل على التل"}),
    }
    asked = []

    def ask(prompt, inputs, schema):
        asked.append((prompt, inputs))
        if prompt == "rewrite it":
            return list(texts.values())
        kept = ["yes", "partly", "no", None]
        assert [part["rewritten"] for part in inputs] == [texts[q].value["text"] for q in ("q0", "q1", "q2", "q6")]
        return [Said({"kept": one}) if one else Said(status="malformed") for one in kept]

    originals = originals_of(BOOK, [QUOTING] * 7)
    edited = rewrite_by_model("new", originals, Prompts("rewrite it", "is it kept"), ask, Limits(names=("سعاد",)))
    check_edited(edited)
    assert [prompt for prompt, _ in asked] == ["rewrite it", "is it kept"]
    assert asked[0][1][0] == {"query": QUOTING[0], "quoted": "قمر فوق جبل عال", "names": "سعاد"}
    assert edited.queries["source_query_id"].to_list() == ["q0", "q1"]
    assert edited.rejects.select("source_query_id", "reason").rows() == [
        ("q2", NEED_LOST),
        ("q3", "3 tokens in a row stand in a target"),
        ("q3", "more than 0.5 of the quoted words are left"),
        ("q4", "the model's answer was refused"),
        ("q5", "the model's answer was malformed"),
        ("q6", "the model's answer about the information need was malformed"),
    ]
    assert edited.rejects.filter(pl.col("source_query_id") == "q5")["text"].item() == "I cannot say"
    assert "kept in part: 1" in str(edited)


def test_the_prompts_that_come_with_the_project_are_read(tmp_path):
    prompts = read_prompts(ROOT / "resources" / "prompts" / "rewrite.md")
    assert '{"text":' in prompts.rewrite and '{"kept":' in prompts.need
    assert "##" not in prompts.rewrite + prompts.need
    (tmp_path / "p.md").write_text("## rewrite\n\nDo it.\n\n## need\n", "utf-8")
    with pytest.raises(UserError, match="## need"):
        read_prompts(tmp_path / "p.md")


@pytest.fixture
def demo(tmp_path):
    """The demo's queries and wording as tables."""
    poems = load_corpus("demo", {"adapter": "jsonl", "path": "resources/demo/poems.jsonl"}, ROOT).poems
    loaded = load_query_set("known-item", {"path": "resources/demo/known_item.jsonl"}, ROOT)
    wording = measure_wording("demo", poems, loaded.queries, loaded.qrels, "full")
    for frame, table in ((poems, POEMS), (loaded.queries, QUERIES), (loaded.qrels, QRELS), (wording, WORDING)):
        write_table(frame, tmp_path / f"{table.name}.parquet", table)
    return tmp_path


def call(verb, folder, name, rule):
    inputs = [f"--{table}={folder / table}.parquet" for table in ("poems", "queries", "qrels", "wording")]
    outputs = [
        f"--output-queries={folder / name}.parquet",
        f"--output-qrels={folder / name}.qrels.parquet",
        f"--output-rejects={folder / name}.rejects.csv",
    ]
    options = ["--name", name, "--rule", json.dumps(rule), "--preset", "full", "--quoting", "3"]
    return main([verb, *options, *inputs, *outputs])


def test_the_demos_rewrites_pass_their_own_checks(demo, capsys):
    rule = {"of": "known-item", "rule": "rewrite", "path": str(ROOT / "resources" / "demo" / "rewrites.jsonl")}
    assert call("edit_queries", demo, "rewritten", rule) == 0
    assert capsys.readouterr().out == "rewritten: 68 queries made, 0 rejected\n"
    assert read_table(demo / "rewritten.parquet", QUERIES).height == 68
    assert read_table(demo / "rewritten.rejects.csv", REJECTS).is_empty()


def test_the_verb_appends_and_deletes(demo, capsys):
    rule = {"of": "known-item", "rule": "append-half-verse", "verse": "middle"}
    assert call("edit_queries", demo, "appended", rule) == 0
    assert call("edit_queries", demo, "deleted", {"of": "known-item", "rule": "delete-quoted"}) == 0
    out = capsys.readouterr().out
    assert "appended: 136 queries made, 0 rejected" in out
    assert "rejected, nothing remains without the quoted words: 8" in out
    assert read_table(demo / "deleted.rejects.csv", REJECTS).height == 8
    assert set(read_table(demo / "appended.parquet", QUERIES)["query_set"]) == {"appended"}


def test_shuffled_rewrites_give_the_same_set():
    originals = originals_of(BOOK, [QUOTING] * 5)
    rewrites = [(f"q{n}", Rewrite(f"من وصف سعاد بنور الليل {WORDS[n]}")) for n in range(5)]
    first = rewrite_by_hand("new", originals, dict(rewrites), Limits())
    random.Random(1).shuffle(rewrites)
    assert rewrite_by_hand("new", originals, dict(rewrites), Limits()).queries.equals(first.queries)
