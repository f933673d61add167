"""Annotation files on explanations: what is read, what is refused, what is counted."""

import json

import polars as pl
import pytest

from verseir.__main__ import main
from verseir.analyses.explanation_audit import EXPLANATION_AUDIT, explanation_audit, read_audit
from verseir.faults import InputFaults
from verseir.stats.bootstrap import clopper_pearson
from verseir.tables import EXPLANATIONS, POEMS, check_table, read_table, write_table

VERSES = [{"first": "a", "second": None}] * 3


@pytest.fixture
def corpus():
    poems = [(name, *[None] * 7, VERSES, None) for name in ("p1", "p2")]
    explanations = [(name, index, "ai", "text") for name in ("p1", "p2") for index in (0, 1)]
    return (
        pl.DataFrame(poems, schema=dict(POEMS.columns), orient="row"),
        pl.DataFrame(explanations, schema=dict(EXPLANATIONS.columns), orient="row"),
    )


def audit(tmp_path, corpus, text, name="audit.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_audit(path, name, "ai", *corpus)


def test_tables_and_json_lines_are_read_alike(tmp_path, corpus):
    table = audit(tmp_path, corpus, "poem_id,verse_index,verdict,added_content\np1,0,faithful,no\np2,1,Minor error,1\n")
    rows = [
        {"poem_id": "p2", "verse_index": 1, "verdict": "minor_error", "added_content": True},
        {"poem_id": "p1", "verse_index": 0, "verdict": "faithful", "added_content": "false"},
    ]
    lines = audit(tmp_path, corpus, "".join(json.dumps(row) + "\n" for row in rows), "audit.jsonl")
    assert table.equals(lines)
    assert table.rows() == [("p1", 0, None, "faithful", False), ("p2", 1, None, "minor error", True)]


def test_all_faults_are_told_at_once_with_their_lines(tmp_path, corpus):
    bad = (
        "poem_id,verse_index,verdict,added_content,annotator\n"
        "p9,0,faithful,,\n"
        "p1,7,faithful,,\n"
        "p1,2,faithful,,\n"
        "p1,0,wrong,maybe,\n"
        "p1,0,faithful,,\n"
        "p1,x,misread,,all\n"
    )
    with pytest.raises(InputFaults) as caught:
        audit(tmp_path, corpus, bad)
    found = [(fault.line, fault.field) for fault in caught.value.faults]
    assert found == [
        (2, "poem_id"),
        (3, "verse_index"),
        (4, "verse_index"),
        (5, "added_content"),
        (5, "verdict"),
        (6, "verse_index"),
        (7, "annotator"),
        (7, "verse_index"),
    ]
    assert "judged twice" in str(caught.value)
    assert "has no explanation 'ai'" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("poem_id,verse,verdict\np1,0,faithful\np1,1,faithful\n", "no row has this field"),
        ("poem_id,verse_index,verdict\n", "has no judgement"),
        ("", "is empty"),
    ],
)
def test_a_file_without_judgements_is_one_fault(tmp_path, corpus, text, said):
    with pytest.raises(InputFaults, match=said) as caught:
        audit(tmp_path, corpus, text)
    assert len(caught.value.faults) == 1


def judgements(rows):
    names = {"poem_id": pl.String, "verse_index": pl.Int64, "annotator": pl.String}
    return pl.DataFrame(rows, schema=names | {"verdict": pl.String, "added": pl.Boolean}, orient="row")


def test_shares_have_exact_intervals():
    verdicts = ["faithful"] * 30 + ["minor error"] * 16 + ["misread"] * 4
    rows = [(f"p{i}", 0, None, verdict, i < 10) for i, verdict in enumerate(verdicts)]
    table = check_table(explanation_audit({("fof", "ai"): judgements(rows)}), EXPLANATION_AUDIT, "audit")
    assert table["share"].to_list() == [0.6, 0.32, 0.08, 0.2]
    assert table["annotator"].unique().to_list() == ["all"]
    assert table.row(2, named=True)["ci_high"] == pytest.approx(clopper_pearson(4, 50)[1])


def test_judgements_of_the_same_verses_together_have_no_interval():
    rows = [("p1", 0, who, verdict, None) for who, verdict in (("b", "misread"), ("a", "faithful"))]
    table = explanation_audit({("c", "ai"): judgements(rows)})
    assert table["annotator"].unique(maintain_order=True).to_list() == ["all", "a", "b"]
    together = table.filter((pl.col("annotator") == "all") & (pl.col("verdict") == "faithful")).row(0, named=True)
    assert (together["n"], together["share"], together["ci_low"]) == (2, 0.5, None)
    assert "2 judgements of 1 verses" in together["note"]
    assert table.filter(pl.col("verdict") == "added content")["note"].unique().to_list() == [
        "not estimable: not judged"
    ]


def test_the_verb_reports_the_faults_of_all_files_and_writes_an_empty_table_for_none(tmp_path, corpus, capsys):
    for table, frame in zip((POEMS, EXPLANATIONS), corpus, strict=True):
        write_table(frame, tmp_path / f"corpora/c/{table.name}.parquet", table)
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text("poem_id,verse_index,verdict\np1,9,faithful\n", encoding="utf-8")
    audits = {"c": {"ai": str(tmp_path / "one.csv"), "other": str(tmp_path / "two.csv")}}
    output = tmp_path / "audit.csv"
    command = ["audit_explanations", "--results", str(tmp_path), "--output", str(output), "--audits"]
    assert main([*command, json.dumps(audits)]) == 2
    assert "2 faults" in capsys.readouterr().err
    assert main([*command, "{}"]) == 0
    assert read_table(output, EXPLANATION_AUDIT).is_empty()


def test_numbers_without_end_and_long_values_are_faults_of_one_line(tmp_path, corpus):
    bad = f"poem_id,verse_index,verdict,annotator\np1,{'1' * 5000},faithful,\np1,0,{'x y ' * 500},\np1,1,misread,=a\n"
    with pytest.raises(InputFaults) as caught:
        audit(tmp_path, corpus, bad)
    assert [(fault.line, fault.field) for fault in caught.value.faults] == [
        (2, "verse_index"),
        (3, "verdict"),
        (4, "annotator"),
    ]
    assert max(len(line) for line in str(caught.value).splitlines()) < 160
    row = f'{{"poem_id": "p1", "verse_index": {"9" * 200}, "verdict": "faithful", "annotator": ["a"]}}\n'
    with pytest.raises(InputFaults) as caught:
        audit(tmp_path, corpus, row, "audit.jsonl")
    assert [fault.field for fault in caught.value.faults] == ["annotator", "verse_index"]
