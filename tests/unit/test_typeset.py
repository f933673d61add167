"""Tables of a paper: what their cells say, and LaTeX that is well formed."""

import csv
import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_study import contrast
from typeset_study import (
    MAIN,
    SHEETS,
    agreement_rows,
    assert_well_formed,
    difference_rows,
    full,
    leaderboard_rows,
    order_rows,
    quotation_rows,
    said,
    score_rows,
    slope_rows,
)

from verseir.__main__ import main
from verseir.analyses.judge_agreement import JUDGE_AGREEMENT, JUDGE_ORDERS
from verseir.analyses.quotation import QUOTATION, QUOTATION_SLOPES
from verseir.analyses.thematic_scores import THEMATIC_CONTRASTS, THEMATIC_MEANS
from verseir.formats import MINUS, NBSP
from verseir.tables import CONTRASTS, LEADERBOARD, write_table
from verseir.typeset.cells import with_best
from verseir.typeset.driver import write_driver
from verseir.typeset.latex import LINES, cell_text, escape, latex, write_latex
from verseir.typeset.sheet import Cell, Column, Sheet, write_csv
from verseir.typeset.slopes import thresholds
from verseir.typeset.tables import known_item


@pytest.mark.parametrize("name", SHEETS)
def test_latex_is_well_formed(name):
    sheet = SHEETS[name](False)
    assert sheet.name == name and sheet.rows
    text = latex(sheet)
    assert_well_formed(text)
    assert text.startswith("% needs booktabs\n") and r"\toprule" in text
    assert r"\usepackage" not in text


@pytest.mark.parametrize("name", SHEETS)
def test_a_table_without_rows_has_its_header_and_says_why(name, tmp_path):
    sheet = SHEETS[name](True)
    assert not sheet.rows and sheet.notes[0].startswith("not estimable: ")
    text = latex(sheet)
    assert_well_formed(text)
    assert sheet.notes[0] in text
    write_csv(sheet, tmp_path / "t.csv")
    rows = list(csv.reader((tmp_path / "t.csv").open(encoding="utf-8")))
    assert rows[0][:2] == ["corpus", "query set"] and rows[1][0] == sheet.notes[0]
    assert len(rows) == 2 and len(rows[0]) == len(rows[1])


def test_spectrum():
    sheet = SHEETS["table-1-spectrum"](False)
    assert [column.heading for column in sheet.columns[3:]] == ["queries", "≥ 2, %", "≥ 3, %", "containment"]
    every, abstract = said(sheet)
    assert every[2:] == ["all", "1,244", "32.8 [32.8, 37.8]", "32.8 [32.8, 37.8]", "0.368 [n.e.]"]
    assert abstract[2:5] == ["abstract", "1,244", "0.0 [0.0, 5.0]"]
    assert sheet.notes == ["n.e.: not estimable", "not estimable: the values do not vary between poems"]


def test_known_item_marks_the_best_and_what_is_not_separated_from_it():
    sheet = SHEETS["table-2-known-item"](False)
    cell = {(row[2], row[4]): row[5:] for row in said(sheet)}
    assert [row[2] for row in said(sheet)] == ["verse"] * 3 + ["prose"] * 3  # modes in their order
    assert cell["verse", "bm25"] == ["0.700 [0.650, 0.750] *"] * 2
    assert cell["verse", "dense-a"] == ["0.600 [0.550, 0.650]†", "0.600 [0.550, 0.650]"]
    assert cell["verse", "dense-b"][0] == "0.100 [0.050, 0.150]"
    assert cell["prose", "bm25"][0] == "0.500 [0.450, 0.550]"  # its p is 0.01
    assert cell["prose", "dense-b"][0].endswith("‡")
    assert any(note.startswith("† not separated") for note in sheet.notes)
    assert sheet.notes[-1] == "no declared contrast tests MRR"


@pytest.mark.parametrize(("p", "mark"), [(None, ""), (0.001, ""), (0.2, "†")])
def test_a_contrast_that_is_not_estimable_is_no_test(p, mark):
    rows = [contrast("dense-a", "bm25", None, None, None, None), contrast("dense-a", "bm25", 0.1, 0, 1, p)]
    sheet = known_item(full(LEADERBOARD, leaderboard_rows()), full(CONTRASTS, rows), ["known"], ["Recall@5"])
    assert said(sheet)[1][-1] == f"0.600 [0.550, 0.650]{mark}"


def test_equal_means_are_all_the_best_and_one_alone_is_none():
    assert [c.best for c in with_best([("a", 0.1 + 0.2), ("b", 0.3), ("c", 0.1), ("d", None)])] == [1, 1, 0, 0]
    assert [c.best for c in with_best([("a", 0.5)])] == [False]
    assert with_best([]) == []


def test_edits_show_changes_and_then_differences_between_systems():
    first, second, pair = said(SHEETS["table-3-edits"](False))
    assert first[3:] == ["append-final", "164", "", "bm25", "0.400", "0.800 *", "+0.400 [+0.200, +0.500]", "< 1e-20"]
    assert second[6:9] == ["dense-a", "0.400", "0.700"]
    assert pair[6:] == [f"bm25 {MINUS} dense-a", "0.000", "+0.100", f"+0.100 [{MINUS}0.100, +0.300]", "0.30"]
    assert r"$<1\times10^{-20}$" in latex(SHEETS["table-3-edits"](False))


def test_mechanism_has_values_before_changes_and_the_better_predictor_in_bold():
    rows = said(SHEETS["table-4-mechanism"](False))
    assert [row[3] for row in rows] == ["values, verse"] * 2 + ["change, verse to prose"] * 2
    assert rows[0][5:] == ["bm25", "0.610 [0.500, 0.700] *", f"{MINUS}0.350 [n.e.]", "+0.960 [n.e.]", "4.0e-5"]
    assert rows[1][5] == "dense-a (reference)" and rows[1][7].endswith("*")
    assert r"$4.0\times10^{-5}$" in latex(SHEETS["table-4-mechanism"](False))


def test_fusion_shows_selections_in_order_and_their_differences():
    sheet = SHEETS["table-6-fusion"](False)
    rows = said(sheet)
    names = ["with a lexical arm", "without a lexical arm", "single arm", "difference"]
    assert [row[4] for row in rows] == names
    assert rows[0][5:] == ["bm25/verse + a/prose", "0.900", "0.900 [n.e.] *", "", "2"]
    assert rows[1][6:8] == ["n.e.", "n.e."]
    difference = ["with a lexical arm − single arm", "+0.200", "+0.200 [+0.100, +0.300]", "0.010", ""]
    assert rows[3][5:] == difference
    assert sheet.notes[-1] == "not estimable: every run is lexical"


def test_slopes_by_threshold_and_by_measure():
    sheet = SHEETS["table-7-thresholds"](False)
    assert [column.heading for column in sheet.columns[-2:]] == ["≥ 2", "≥ 3"]
    found = {(row[3], row[4]): row[5:] for row in said(sheet)}
    assert found["number of queries", "quoting"] == ["80", "80"]
    assert found["mean, quoting", "bm25"] == ["1.000 [0.700, 1.000] *"] * 2
    assert found["mean, not quoting", "bm25"] == ["0.500 [0.400, 0.600] *"] * 2  # equal to the other
    assert found["difference of slopes", f"bm25 {MINUS} dense-a"] == ["+0.200 [+0.100, +0.400]"] * 2
    assert found["difference of slopes, Holm p", f"bm25 {MINUS} dense-a"] == ["0.045"] * 2
    by = SHEETS["table-8-measures"](False)
    assert [column.heading for column in by.columns[-2:]] == ["Recall@5", "MRR"]  # as the study orders them
    assert {row[2] for row in said(by)} == {"3"}


def test_each_part_is_a_table_of_its_own_with_its_own_label():
    rows = [row | {"corpus": corpus} for corpus in ("poems", "other") for row in quotation_rows()]
    slopes = [row | {"corpus": corpus, "family": corpus + row["family"]}
              for corpus in ("poems", "other") for row in slope_rows()]  # fmt: skip
    text = latex(thresholds(full(QUOTATION, rows), full(QUOTATION_SLOPES, slopes), "verse", MAIN))
    assert_well_formed(text)
    assert re.findall(r"\\label\{(.*?)\}", text) == ["tab:thresholds", "tab:thresholds-2"]
    assert "Corpus other, query set known, measure Recall@5." in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50% & $a_b$ #1 {x} ~ ^", r"50\% \& \$a\_b\$ \#1 \{x\} \~{} \^{}"),
        ("a\\b", r"a\textbackslash{}b"),
        ("a--b", "a-{}-b"),
        ("[0.1]", "{[}0.1]"),
        ("* the best", "{*} the best"),
        (f"{MINUS}0.1{NBSP}x", "$-$0.1~x"),
        ("p < 0.05 | q > 1", "p $<$ 0.05 $|$ q $>$ 1"),
        ("two\nlines", "two lines"),
        ("ديوان العرب (d)", r"\foreignlanguage{arabic}{ديوان العرب} (d)"),
        ("plain é", "plain é"),
    ],
)
def test_escape(text, expected):
    assert escape(text) == expected


@given(st.text(alphabet=st.sampled_from('ab \\&%$#_{}~^<>|"`[*-†ρشعر\u00a0\n'), max_size=30))
def test_any_name_leaves_latex_well_formed(text):
    sheet = Sheet("table-9-any", "Any.", [Column("name"), Column(text, "r")], [[Cell(text, True), Cell(text)]], [text])
    assert_well_formed(latex(sheet))


def test_arabic_needs_babel():
    arabic = Sheet("table-9-any", "Any.", [Column("title")], [[Cell("شعر")]])
    assert latex(arabic).startswith("% needs booktabs and babel with the language arabic\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3.1e-5", r"$3.1\times10^{-5}$"), ("< 1e-20", r"$<1\times10^{-20}$"), ("e5-1e-2x", "e5-1e-2x")],
)
def test_powers_of_ten(text, expected):
    assert cell_text(Cell(text)) == expected


@pytest.mark.parametrize(
    ("n_columns", "letters", "size"),
    [
        (2, 10, "small"),
        (2, 22, "small"),
        (5, 20, "small"),
        (6, 17, "footnotesize"),
        (6, 18, "scriptsize"),
        (12, 20, "tiny"),
    ],
)
def test_wide_tables_are_set_smaller(n_columns, letters, size):
    sheet = Sheet("table-9-any", "Any.", [Column("a")] * n_columns, [[Cell("0" * letters)] * n_columns])
    assert rf"\centering\{size}\setlength" in latex(sheet)
    narrow = n_columns * letters <= 44
    assert (r"\begin{table}" in latex(sheet)) is narrow and (r"\begin{table*}" in latex(sheet)) is not narrow


def test_values_and_intervals_are_aligned_apart_and_the_best_is_bold():
    rows = [
        [Cell("a"), Cell("0.700 [0.650, 0.750]", best=True)],
        [Cell("b"), Cell(f"{MINUS}0.050 [{MINUS}0.1,{NBSP}+0.02]†")],
        [Cell("c"), Cell("n.e.")],
        [Cell("d"), Cell("")],
    ]
    text = latex(Sheet("table-9-any", "Any.", [Column("system"), Column("MRR", "r")], rows, ["x: a note"]))
    assert_well_formed(text)
    assert r"\begin{tabular}{lr@{\ }l}" in text and r"system & \multicolumn{2}{c}{MRR} \\" in text
    assert r"a & \textbf{0.700} & [0.650, 0.750] \\" in text
    assert r"b & $-$0.050 & [$-$0.1,~+0.02]$^\dagger$ \\" in text
    assert r"c & \multicolumn{2}{c}{n.e.} \\" in text
    assert text.index(r"\bottomrule") < text.index("x: a note.") < text.index(r"\end{minipage}")


def test_a_long_table_goes_on_under_its_caption():
    rows = [[Cell(f"block {i // 20}"), Cell(f"s{i}"), Cell("0.5")] for i in range(100)]
    sheet = Sheet("table-9-any", "Any.", [Column("mode"), Column("system"), Column("MRR", "r")], rows, ["n"], blocks=1)
    text = latex(sheet)
    assert_well_formed(text)
    pages = text.split(r"\end{tabular}")[:-1]
    assert len(pages) == 3 and all(page.count(r"\\") <= LINES + 1 for page in pages)
    assert text.count("Any. Continued.") == 2 and r"\label{tab:any-3}" in text
    assert [page.count("block") for page in pages] == [2, 2, 1]  # parted between blocks


@pytest.mark.skipif(not shutil.which("xelatex"), reason="there is no XeLaTeX")
def test_all_tables_compile_within_the_page(tmp_path):
    for name in SHEETS:
        (tmp_path / f"{name}.tex").write_text(latex(SHEETS[name](False)), encoding="utf-8")
    arabic = Sheet(
        "table-11-names", "ديوان 100%.", [Column("قصيدة"), Column("_x", "r")], [[Cell("شعر & نثر"), Cell("1")]]
    )
    write_latex(arabic, tmp_path / "table-11-names.tex")
    write_driver([*SHEETS, "table-11-names", "table-that-is-not-there"], tmp_path)
    call = ["xelatex", "-interaction=nonstopmode", "-halt-on-error", "all-tables"]
    told = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", errors="replace")
    assert told.returncode == 0, told.stdout[-3000:]
    assert "Overfull" not in told.stdout and (tmp_path / "all-tables.pdf").exists()


def test_csv_is_plain_to_paste(tmp_path):
    write_csv(SHEETS["table-2-known-item"](False), tmp_path / "t.csv")
    rows = list(csv.reader((tmp_path / "t.csv").open(encoding="utf-8")))
    assert NBSP not in (tmp_path / "t.csv").read_text(encoding="utf-8")
    assert len({len(row) for row in rows}) == 1
    assert rows[1] == ["poems", "known", "verse", "100", "bm25", *["0.700 [0.650, 0.750] *"] * 2]
    assert rows[7][0] == "* the best"


def test_verb_writes_all_tables(tmp_path):
    write_table(full(LEADERBOARD, leaderboard_rows()), tmp_path / "leaderboard.csv", LEADERBOARD)
    write_table(full(QUOTATION, quotation_rows()), tmp_path / "quotation.csv", QUOTATION)
    write_table(full(QUOTATION_SLOPES, slope_rows()), tmp_path / "slopes.csv", QUOTATION_SLOPES)
    arguments = ["--leaderboard", str(tmp_path / "leaderboard.csv"), "--quotation", str(tmp_path / "quotation.csv")]
    for table, rows in (
        *((THEMATIC_MEANS, score_rows()), (THEMATIC_CONTRASTS, difference_rows())),
        *((JUDGE_AGREEMENT, agreement_rows()), (JUDGE_ORDERS, order_rows())),
    ):
        write_table(full(table, rows), tmp_path / f"{table.name}.csv", table)
        arguments += [f"--{table.name.replace('_', '-')}", str(tmp_path / f"{table.name}.csv")]
    arguments += ["--slopes", str(tmp_path / "slopes.csv"), "--main-measures", '{"known": "Recall@5"}']
    arguments += ["--measures", "Recall@5", "--known-item", "known", "--base-mode", "verse", "--threshold", "3"]
    arguments += ["--also", "table-idioms-1"]
    for folder in ("one", "two"):
        assert main(["typeset_tables", *arguments, "--output", str(tmp_path / folder)]) == 0
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(["all-tables.tex", *(f"{name}.{suffix}" for name in SHEETS for suffix in ("csv", "tex"))])
    shown = (tmp_path / "one" / "all-tables.tex").read_text(encoding="utf-8")
    assert all(rf"\input{{{name}}}" in shown for name in [*SHEETS, "table-idioms-1"])
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert "not estimable: " in (tmp_path / "one" / "table-6-fusion.csv").read_text(encoding="utf-8")
