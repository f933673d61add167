"""Annotation files: what is read, what is refused, all faults at once."""

import json
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.analyses.annotators import MEAN
from verseir.analyses.explanation_audit import ALL
from verseir.faults import InputFaults
from verseir.judging.annotations import ANNOTATIONS, GRADES, RESERVED, Judgeable, read_annotations
from verseir.judging.sheets import SHEET
from verseir.tables import POEMS, QUERIES, check_table, read_table, write_table

ITEMS = pl.DataFrame(
    [("i1", "q1", "p1", 1), ("i2", "q1", "p2", 2), ("i3", "q2", "p1", 3)], schema=dict(SHEET.columns), orient="row"
)

#: Queries and poems may be graded that are on no sheet.
JUDGEABLE = Judgeable("c", "q", ITEMS, {"q1", "q2"}, {"p1", "p2", "p3"})


def read(tmp_path, **texts):
    """The annotations in files that are called after the keywords, a __ before the suffix."""
    files = []
    for name, text in texts.items():
        path = tmp_path / name.replace("__", ".")
        path.write_text(text, encoding="utf-8")
        files.append((path, path.name))
    return read_annotations(files, JUDGEABLE)


def faults(tmp_path, **texts):
    with pytest.raises(InputFaults) as caught:
        read(tmp_path, **texts)
    return [(fault.file, fault.line, fault.field, fault.problem) for fault in caught.value.faults]


def test_tables_and_json_lines_are_read_alike(tmp_path):
    rows = [
        {"item_id": "i2", "grade": 0, "annotator": "b", "remark": "why\nnot"},
        {"query_id": "q1", "poem_id": "p1", "grade": 2.0, "annotator": "b"},
        {"item_id": "i3", "grade": None, "annotator": "b"},
    ]
    lines = read(tmp_path, x__jsonl="".join(json.dumps(row) + "\n" for row in rows))
    table = read(tmp_path, b__csv='poem,item_id,grade,remark\n"a\nb",i2,0,"why\nnot"\n,i1,2,\n,i3,,open\n')
    tabs = read(tmp_path, b__tsv="query_id\tpoem_id\tgrade\tremark\nq1\tp2\t0\twhy not\nq1\tp1\t2.\t\n")
    assert lines.annotations.equals(table.annotations)
    assert tabs.annotations.equals(table.annotations)
    assert table.annotations.rows() == [("i1", "q1", "p1", "b", 2, None), ("i2", "q1", "p2", "b", 0, "why not")]
    assert table.n_open == {"b": 1}
    assert str(table) == "b graded 2, 1 items left open"
    check_table(table.annotations, ANNOTATIONS, "annotations")


def test_several_annotators_in_one_file_and_in_several(tmp_path):
    found = read(
        tmp_path,
        both__csv="item_id,grade,annotator\ni1,1,a\ni1,2,b\ni2,0,a\n",
        c__csv="item_id,grade,annotator\ni1,1,\n",
        other__csv="item_id,grade,annotator\ni3,1,a\n",
    )
    assert found.annotations.select("item_id", "annotator", "grade").rows() == [
        ("i1", "a", 1),
        ("i1", "b", 2),
        ("i1", "c", 1),
        ("i2", "a", 0),
        ("i3", "a", 1),
    ]
    assert found.n_open == {"a": 0, "b": 2, "c": 2}


def test_all_faults_of_all_files_are_told_at_once(tmp_path):
    one = "item_id,grade,annotator,query_id,poem_id\n" + "\n".join(
        [
            "i9,1,a,,",
            "i1,3,a,,",
            "i1,two,a,,",
            "i2,1,,,",
            "i2,1,all,,",
            "i2,1,a,q2,",
            ",1,a,q1,p9",
            ",1,a,q9,p1",
            ",1,a,q1,",
            "i3,1,a,,",
            ",0,a,q2,p1",
        ]
    )
    found = faults(tmp_path, one__csv=one + "\n", two__jsonl='{"item_id": "i3", "grade": 2, "annotator": "a"}\n')
    assert [place[:3] for place in found] == [
        ("one.csv", 2, "item_id"),
        ("one.csv", 3, "grade"),
        ("one.csv", 4, "grade"),
        ("one.csv", 5, "annotator"),
        ("one.csv", 6, "annotator"),
        ("one.csv", 7, "query_id"),
        ("one.csv", 8, "poem_id"),
        ("one.csv", 9, "query_id"),
        ("one.csv", 10, "item_id"),
        ("one.csv", 12, "item_id"),
        ("two.jsonl", 1, "item_id"),
    ]
    assert "'a' graded item 'i3' (query_id 'q2' and poem_id 'p1') twice" in found[-1][3]
    assert "is 'q2', but item 'i2' is of 'q1'" in found[5][3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("item_id,grade\n", "has no grade"),
        ("item_id,grade\ni1,\ni2,\n", "has no grade"),
        ("item,grade\ni1,1\ni2,1\n", "no row has this field"),
        ("query_id,grade\nq1,1\n", "no row has this field"),
        ("item_id,grades\ni1,1\n", "no row has this field"),
    ],
)
def test_a_file_that_says_nothing_is_one_fault(tmp_path, text, said):
    found = faults(tmp_path, a__csv=text)
    assert len(found) == 1
    assert said in found[0][3]


def test_the_closest_item_is_named(tmp_path):
    with pytest.raises(InputFaults, match="did you mean 'i1'"):
        read(tmp_path, a__csv="item_id,grade\ni1x,1\n")
    with pytest.raises(InputFaults, match="no such file"):
        read_annotations([(tmp_path / "none.csv", "none.csv")], JUDGEABLE)


def test_an_open_item_may_stand_twice_and_must_be_of_the_sheet(tmp_path):
    assert len(read(tmp_path, a__csv="item_id,grade\ni1,\ni1,2\n").annotations) == 1
    assert faults(tmp_path, a__csv="item_id,grade\ni9,\ni1,2\n")[0][:3] == ("a.csv", 2, "item_id")


@pytest.mark.parametrize("grade", ["3", "-1", "0.5", "1.2", "yes", "1 2", "'"])
def test_what_is_no_grade_is_refused(tmp_path, grade):
    assert faults(tmp_path, a__csv=f"item_id,grade\ni1,{grade}\n")[0][2] == "grade"


def test_grades_are_those_of_the_scale(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item_id,grade\ni1,3\ni2,0\n", encoding="utf-8")
    of = replace(JUDGEABLE, grades=(0, 1, 2, 3))
    assert read_annotations([(path, "a.csv")], of).annotations["grade"].to_list() == [3, 0]
    path.write_text("item_id,grade\ni1,4\n", encoding="utf-8")
    with pytest.raises(InputFaults, match="expected 0, 1, 2 or 3"):
        read_annotations([(path, "a.csv")], of)
    assert faults(tmp_path, b__csv="item_id,grade\ni1,3\n") == [("b.csv", 2, "grade", "is '3', expected 0, 1 or 2")]


@pytest.mark.parametrize("value", [True, [1], {"a": 1}, 1.5])
def test_json_that_is_no_grade_is_refused(tmp_path, value):
    assert faults(tmp_path, a__jsonl=json.dumps({"item_id": "i1", "grade": value}) + "\n")[0][2] == "grade"


@pytest.mark.parametrize(("grade", "read_as"), [("2.0", 2), (" 1 ", 1), ("'0", 0), ("٢", 2), ("0.", 0)])
def test_a_grade_may_look_as_programs_write_it(tmp_path, grade, read_as):
    assert read(tmp_path, a__csv=f"item_id,grade\ni1,{grade}\n").annotations["grade"].to_list() == [read_as]


def test_names_for_all_annotators_are_taken():
    assert set(RESERVED) == {ALL, MEAN}


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["i1", "i2", "i3"]), st.sampled_from("abc")), st.sampled_from(GRADES), min_size=1
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_and_files_means_nothing(tmp_path_factory, grades, chance):
    folder = tmp_path_factory.mktemp("files")
    rows = [f"{item},{who},{grade}" for (item, who), grade in grades.items()]
    once = read(folder, one__csv="item_id,annotator,grade\n" + "\n".join(rows) + "\n").annotations
    chance.shuffle(rows)
    cut = chance.randrange(len(rows))
    parts = [part for part in (rows[:cut], rows[cut:]) if part]
    texts = {f"f{n}__csv": "item_id,annotator,grade\n" + "\n".join(part) + "\n" for n, part in enumerate(parts)}
    assert read(folder, **texts).annotations.equals(once)
    assert len(once) == len(grades)


def test_the_verb_takes_items_of_a_sheet_and_of_a_pool(tmp_path, capsys):
    write_table(ITEMS.head(2), tmp_path / "items.parquet", SHEET)
    write_table(ITEMS.with_columns(pl.col("place") + 4), tmp_path / "pool.parquet", SHEET)
    (tmp_path / "a.csv").write_text("item_id,grade\ni3,1\ni1,2\n", encoding="utf-8")
    options = ["--sheet", "s", "--files", str(tmp_path / "a.csv"), "--output", str(tmp_path / "out.parquet")]
    texts = [("q1", "q", "t", *[None] * 5), ("q2", "q", "t", *[None] * 5)]
    write_table(pl.DataFrame(texts, schema=dict(QUERIES.columns), orient="row"), tmp_path / "queries.parquet", QUERIES)
    poems = pl.DataFrame({"poem_id": ["p1", "p2"]}, schema_overrides={"poem_id": pl.String})
    empty = {name: pl.Series(name, [None, None], dtype=kind) for name, kind in POEMS.columns.items()}
    write_table(
        pl.DataFrame(
            empty | {"poem_id": poems["poem_id"], "verses": pl.Series([[], []], dtype=POEMS.columns["verses"])}
        ),
        tmp_path / "poems.parquet",
        POEMS,
    )
    options += ["--corpus", "c", "--query-set", "q", "--queries", str(tmp_path / "queries.parquet")]
    options += ["--poems", str(tmp_path / "poems.parquet")]
    assert main(["import_annotations", *options, "--items", str(tmp_path / "items.parquet")]) == 2
    assert "no item 'i3' in this sheet" in capsys.readouterr().err
    tables = [str(tmp_path / "items.parquet"), str(tmp_path / "pool.parquet")]
    assert main(["import_annotations", *options, "--items", *tables]) == 0
    assert "s: 3 items; a graded 2, 1 items left open" in capsys.readouterr().out
    assert len(read_table(tmp_path / "out.parquet", ANNOTATIONS)) == 2


def test_grades_of_items_that_left_the_sheet_count_by_query_and_poem_and_are_told_by_id(tmp_path):
    found = read(tmp_path, a__csv="item_id,query_id,poem_id,grade\n,q2,p3,1\ni1,,,2\ni0123456789ab,,,2\n")
    assert set(found.annotations.select("query_id", "poem_id", "grade").rows()) == {("q1", "p1", 2), ("q2", "p3", 1)}
    assert found.n_outside == 1
    assert found.n_open == {"a": 2}
    assert "1 rows of items that are no longer on the sheet" in str(found)


def test_a_file_of_another_sheet_is_refused(tmp_path):
    assert "no row is of an item of this sheet" in faults(tmp_path, a__csv="item_id,grade\ni0123456789ab,2\n")[0][3]


def test_before_a_sheet_is_drawn_every_item_may_be_graded_and_all_other_faults_are_told(tmp_path):
    undrawn = replace(JUDGEABLE, items=None)
    path = tmp_path / "a.csv"
    path.write_text("item_id,grade\ni0123456789ab,2\n", encoding="utf-8")
    assert read_annotations([(path, "a.csv")], undrawn).annotations.is_empty()
    path.write_text("item_id,grade\ni0123456789ab,7\nwrong,1\n", encoding="utf-8")
    with pytest.raises(InputFaults) as caught:
        read_annotations([(path, "a.csv")], undrawn)
    assert [(fault.line, fault.field) for fault in caught.value.faults] == [(2, "grade"), (3, "item_id")]


LONG = "1" * 5000


@pytest.mark.parametrize("text", [LONG, "9" * 400, LONG + ".0"])
def test_a_grade_without_end_is_a_fault(tmp_path, text):
    found = faults(tmp_path, a__csv=f"item_id,grade\ni1,{text}\n")
    assert found[0][:3] == ("a.csv", 2, "grade") and len(found[0][3]) < 120


@pytest.mark.parametrize("number", ["9" * 400, "1" * 30, "1e3", "1e400"])
def test_a_grade_of_json_without_end_is_a_fault_and_told_as_written(tmp_path, number):
    found = faults(tmp_path, a__jsonl=f'{{"item_id": "i1", "grade": {number}}}\n')
    assert found[0][:2] == ("a.jsonl", 1) and number[:20] in found[0][3] and len(found[0][3]) < 160


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ({"a": 1}, "is an object, expected a name"),
        (["a"], "is a list, expected a name"),
        (7, "is a number, expected a name"),
        ("\u200f\u200b", "no character that can be seen"),
        ("x" * 81, "has 81 characters"),
        ("=1+1", "begins as a formula"),
        ("@a", "begins as a formula"),
        ("\u200e-a", "begins as a formula"),
        ("a\x07", "holds a control character"),
        ("a\u200ell", "stands for all annotators together"),
    ],
)
def test_what_is_no_name_of_an_annotator_is_refused(tmp_path, name, said):
    row = {"item_id": "i1", "grade": 1, "annotator": name}
    (found,) = faults(tmp_path, a__jsonl=json.dumps(row) + "\n")
    assert found[2] == "annotator" and said in found[3]


def test_a_name_is_one_whichever_way_it_is_spelt(tmp_path):
    names = ["Ame\u0301lie  B.", " Am\u00e9lie\tB.", "\u200fAm\u00e9lie B.\u200b"]
    rows = [{"item_id": f"i{i}", "grade": 1, "annotator": name} for i, name in enumerate(names, 1)]
    found = read(tmp_path, a__jsonl="".join(json.dumps(row) + "\n" for row in rows))
    assert set(found.annotations["annotator"]) == {"Am\u00e9lie B."}


def test_ids_that_begin_as_formulas_come_back_from_a_table(tmp_path):
    of = Judgeable("c", "q", None, {"=q", "-q"}, {"@p", "'=p"})
    (tmp_path / "a.csv").write_text("query_id,poem_id,grade\n'=q,'@p,1\n'-q,''=p,2\n", encoding="utf-8")
    (tmp_path / "a.jsonl").write_text(
        '{"query_id": "=q", "poem_id": "@p", "grade": 1}\n{"query_id": "-q", "poem_id": "\'=p", "grade": 2}\n'
    )
    table, lines = (read_annotations([(tmp_path / f"a.{end}", f"a.{end}")], of) for end in ("csv", "jsonl"))
    assert table.annotations.equals(lines.annotations)
    assert set(table.annotations.select("query_id", "poem_id").rows()) == {("=q", "@p"), ("-q", "'=p")}
