"""Tables of a paper: what their cells say, and LaTeX that is well formed."""

import csv
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_study import contrast, frame, score

from verseir.__main__ import main
from verseir.analyses.dissociation import RANK_MOVES
from verseir.analyses.edited import EDITS
from verseir.analyses.fusion_search import FUSION, FUSION_CONTRASTS
from verseir.analyses.mechanism import MECHANISM
from verseir.analyses.overlap_spectrum import OVERLAP_SPECTRUM
from verseir.analyses.quotation import QUOTATION, QUOTATION_SLOPES
from verseir.formats import MINUS, NBSP
from verseir.tables import CONTRASTS, LEADERBOARD, write_table
from verseir.typeset.cells import with_best
from verseir.typeset.latex import cell_text, escape, latex
from verseir.typeset.sheet import Cell, Column, Sheet, write_csv
from verseir.typeset.slopes import by_measure, thresholds
from verseir.typeset.tables import edits, fusion, known_item, mechanism, spectrum, thematic

MAIN = {"known": "Recall@5", "themes": "Recall@5", "append-final": "Recall@5"}
PLACE = {"corpus": "poems", "query_set": "known", "mode": "verse", "measure": "Recall@5"}


def said(sheet):
    """The rows of a sheet as text, an asterisk after the best."""
    return [[f"{cell.text} *".replace(NBSP, " ") if cell.best else cell.text.replace(NBSP, " ") for cell in row]
            for row in sheet.rows]  # fmt: skip


def tables_of(text):
    """The rows of cells of each tabular, and the columns that it declares."""
    for block in re.findall(r"\\begin\{tabular\}(.*?)\\end\{tabular\}", text, re.S):
        spec, body = re.match(r"\{((?:[^{}]|\{[^{}]*\})*)\}(.*)", block, re.S).groups()
        columns = len(re.findall(r"[lrc]|p\{[^}]*\}", spec))
        lines = [line for line in body.strip().splitlines() if line.endswith(r"\\")]
        yield columns, [re.split(r"(?<!\\)&", line.removesuffix(r"\\")) for line in lines]


def width(row):
    """Columns that a row takes."""
    return sum(int(found[1]) if (found := re.match(r"\s*\\multicolumn\{(\d+)\}", cell)) else 1 for cell in row)


def assert_well_formed(text):
    bare = re.sub(r"\\[\\{}&%$#_~^`]", "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    depth = 0
    for letter in bare:
        depth += (letter == "{") - (letter == "}")
        assert depth >= 0
    for name in set(re.findall(r"\\begin\{([\w*]+)\}", text)):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}")
    found = list(tables_of(text))
    assert found
    for columns, rows in found:
        assert rows and {width(row) for row in rows} == {columns}
    plain = re.sub(r"(?<!\\)%.*", "", text)  # comments
    plain = re.sub(r"\$[^$]*\$", "", re.sub(r"\\[\\{}&%$#_~^`]", "", plain))
    assert not re.search(r'[#^_<>|"%]', plain)


def spectrum_rows():
    for register, mean in (("abstract", 0.0), ("all", 0.328)):
        row = {"corpus": "poems", "query_set": "known", "register": register, "n_queries": 1244}
        for tokens in (3, 2):
            name = f"share with {tokens} tokens in a row"
            yield row | {"quantity": name, "mean": mean, "ci_low": mean, "ci_high": mean + 0.05}
        why = "not estimable: the values do not vary between poems"
        yield row | {"quantity": "mean containment", "mean": 0.368, "note": why}
        yield row | {"quantity": "mean containment", "mode": "verse", "mean": 0.9}


def leaderboard_rows():
    for mode, values in (("prose", (0.5, 0.6, 0.4)), ("verse", (0.7, 0.6, 0.1))):
        for system, mean in zip(("bm25", "dense-a", "dense-b"), values, strict=True):
            for measure in ("Recall@5", "MRR"):
                yield score(system, mean, mean - 0.05, mean + 0.05, mode=mode, measure=measure)
            yield score(system, 1 - mean, 0.1, 0.9, mode=mode, query_set="themes")


def contrast_rows():
    yield contrast("dense-a", "bm25", -0.1, -0.2, 0.01, 0.06)
    yield contrast("bm25", "dense-b", 0.6, 0.5, 0.7, 0.001)
    yield contrast("bm25", "dense-a", -0.1, -0.2, 0.0, 0.01, mode="prose")


def edit_rows():
    place = PLACE | {"query_set": "append-final", "source_query_set": "known", "edit": "append-final", "n": 164}
    place |= {"test": "t", "family_size": 2}
    for system, after in (("bm25", 0.8), ("dense-a", 0.7)):
        row = place | {"family": f"change/{system}", "effect": "change", "a": system, "before": 0.4, "after": after}
        yield row | {"estimate": after - 0.4, "ci_low": 0.2, "ci_high": 0.5, "p": 1e-30, "p_holm": 2e-30}
    row = place | {"family": "d", "effect": "difference of changes", "a": "bm25", "b": "dense-a", "before": 0.0}
    yield row | {"after": 0.1, "estimate": 0.1, "ci_low": -0.1, "ci_high": 0.3, "p": 0.3, "p_holm": 0.3}
    yield row | {"family": "after", "effect": "after", "after": 0.1, "estimate": 0.1}


def mechanism_rows():
    for mode, against in (("prose", "verse"), ("verse", None)):
        for system, better in (("dense-a", "embedding"), ("bm25", "lexical")):
            row = PLACE | {"family": "m", "mode": mode, "against_mode": against, "system": system, "signal": "dense"}
            row |= {"reference": system == "dense-a", "n": 244, "rho_lexical": 0.61, "rho_embedding": -0.35}
            row |= {"lexical_low": 0.5, "lexical_high": 0.7, "difference": 0.96, "p_holm": 0.00004, "better": better}
            yield row | {"family_size": 2}


def move_rows():
    for system, known, theme in (("bm25", 1.0, 3.0), ("dense-a", 2.5, 2.5), ("dense-b", 2.5, 1.0)):
        row = {"corpus": "poems", "mode": "verse", "known_item": "known", "thematic": "themes", "n_systems": 3}
        row |= {"measure_known_item": "Recall@5", "measure_thematic": "Recall@5", "system": system}
        row |= {"mean_known_item": 0.5, "mean_thematic": 0.5, "rank_known_item": known, "rank_thematic": theme}
        yield row | {"move": theme - known}


def fusion_rows():
    for selection, mean in (("single arm", 0.7), ("with a lexical arm", 0.9), ("without a lexical arm", None)):
        row = {"corpus": "poems", "query_set": "known", "measure": "Recall@5", "selection": selection, "max_arms": 2}
        row |= {"k": 60.0, "n_queries": 20, "n_subsets": 6, "arms": "bm25/verse + a/prose", "in_sample": mean}
        row |= {"cross_validated": mean, "n_distinct_choices": 2, "most_chosen": "bm25/verse"}
        yield row | ({} if mean else {"arms": None, "note": "not estimable: every run is lexical"})


def fusion_contrast_rows():
    row = {"family": "f", "corpus": "poems", "query_set": "known", "measure": "Recall@5", "n": 20, "test": "t"}
    row |= {"a": "with a lexical arm", "b": "single arm", "in_sample_difference": 0.2, "estimate": 0.2, "p": 0.01}
    yield row | {"ci_low": 0.1, "ci_high": 0.3, "p_holm": 0.01, "family_size": 1}


def quotation_rows():
    for threshold in (3, 2):
        for measure in ("Recall@5", "MRR"):
            for system, quoting in (("bm25", 1.0), ("dense-a", 0.8)):
                row = PLACE | {"threshold": threshold, "measure": measure, "system": system}
                yield row | {"stratum": "quoting", "n_queries": 80, "mean": quoting, "ci_low": 0.7, "ci_high": 1.0}
                yield row | {"stratum": "not quoting", "n_queries": 164, "mean": 0.5, "ci_low": 0.4, "ci_high": 0.6}


def slope_rows():
    for threshold in (3, 2):
        for measure in ("Recall@5", "MRR"):
            row = PLACE | {"threshold": threshold, "measure": measure, "n_quoting": 80, "n_not_quoting": 164}
            row |= {"test": "t", "family_size": 1, "ci_low": 0.1, "ci_high": 0.4, "p": 0.045, "p_holm": 0.045}
            for a, b, estimate in (("bm25", None, 0.5), ("dense-a", None, 0.3), ("bm25", "dense-a", 0.2)):
                yield row | {"family": f"{threshold}{measure}{a}{b}", "a": a, "b": b, "estimate": estimate}


def full(table, rows):
    return frame(table, list(rows))


SHEETS = {
    "table-1-spectrum": lambda empty: spectrum(full(OVERLAP_SPECTRUM, [] if empty else spectrum_rows())),
    "table-2-known-item": lambda empty: known_item(
        full(LEADERBOARD, [] if empty else leaderboard_rows()),
        full(CONTRASTS, [] if empty else contrast_rows()),
        ["known"],
        ["Recall@5", "MRR"],
    ),
    "table-3-edits": lambda empty: edits(full(EDITS, [] if empty else edit_rows()), "verse", MAIN),
    "table-4-mechanism": lambda empty: mechanism(full(MECHANISM, [] if empty else mechanism_rows()), MAIN),
    "table-5-thematic": lambda empty: thematic(
        full(LEADERBOARD, [] if empty else leaderboard_rows()),
        full(RANK_MOVES, [] if empty else move_rows()),
        MAIN,
        [] if empty else ["themes"],
        ["bm25"],
    ),
    "table-6-fusion": lambda empty: fusion(
        full(FUSION, [] if empty else fusion_rows()),
        full(FUSION_CONTRASTS, [] if empty else fusion_contrast_rows()),
    ),
    "table-7-thresholds": lambda empty: thresholds(
        full(QUOTATION, [] if empty else quotation_rows()),
        full(QUOTATION_SLOPES, [] if empty else slope_rows()),
        "verse",
        MAIN,
    ),
    "table-8-measures": lambda empty: by_measure(
        full(QUOTATION, [] if empty else quotation_rows()),
        full(QUOTATION_SLOPES, [] if empty else slope_rows()),
        "verse",
        3,
        ["Recall@5", "MRR"],
    ),
}


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


def test_thematic_ranks_and_the_rank_of_the_lexical_system():
    sheet = SHEETS["table-5-thematic"](False)
    verse = [row[5:] for row in said(sheet) if row[3] == "verse"]
    assert verse[0] == ["dense-b", "0.900 [0.100, 0.900] *", "1", "2.5", f"{MINUS}1.5"]
    assert verse[2] == ["bm25 (lexical)", "0.300 [0.100, 0.900]", "3", "1", "+2"]
    assert "bm25: 3 of 3 in poems, themes, verse" in sheet.notes[0]


def test_thematic_ranks_without_a_known_item_set():
    sheet = thematic(full(LEADERBOARD, leaderboard_rows()), full(RANK_MOVES, []), MAIN, ["themes"], ["bm25"])
    assert [row[-1] for row in said(sheet) if row[3] == "verse"] == ["1", "2", "3"]
    assert "the study has no thematic query set" in SHEETS["table-5-thematic"](True).notes[0]


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
    [(2, 20, "small"), (5, 20, "footnotesize"), (6, 18, "scriptsize"), (12, 20, "tiny")],
)
def test_wide_tables_are_set_smaller(n_columns, letters, size):
    sheet = Sheet("table-9-any", "Any.", [Column("a")] * n_columns, [[Cell("0" * letters)] * n_columns])
    assert rf"\centering\{size}\setlength" in latex(sheet)


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
    arguments += ["--slopes", str(tmp_path / "slopes.csv"), "--main-measures", '{"known": "Recall@5"}']
    arguments += ["--measures", "Recall@5", "--known-item", "known", "--base-mode", "verse", "--threshold", "3"]
    for folder in ("one", "two"):
        assert main(["typeset_tables", *arguments, "--output", str(tmp_path / folder)]) == 0
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(f"{name}.{suffix}" for name in SHEETS for suffix in ("csv", "tex"))
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert "not estimable: " in (tmp_path / "one" / "table-6-fusion.csv").read_text(encoding="utf-8")
