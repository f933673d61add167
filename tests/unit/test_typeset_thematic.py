"""Tables of thematic retrieval: by judges, by aspect, and how judges agree."""

from typeset_study import (
    MAIN,
    SHEETS,
    assert_well_formed,
    difference_rows,
    full,
    leaderboard_rows,
    move_rows,
    said,
    score_rows,
)

from verseir.analyses.dissociation import RANK_MOVES
from verseir.analyses.thematic_scores import THEMATIC_CONTRASTS, THEMATIC_MEANS
from verseir.formats import MINUS
from verseir.tables import LEADERBOARD
from verseir.typeset.latex import latex
from verseir.typeset.thematic import aspects, thematic


def test_thematic_ranks_and_the_rank_of_the_lexical_system():
    sheet = SHEETS["table-5-thematic"](False)
    verse = [row[5:] for row in said(sheet) if row[3] == "verse"]
    assert verse[0] == ["dense-b", "0.900 [0.100, 0.900] *", "1", "2.5", f"{MINUS}1.5"]
    assert verse[2] == ["bm25 (lexical)", "0.300 [0.100, 0.900]", "3", "1", "+2"]
    assert "bm25: 3 of 3 in poems, themes, verse" in sheet.notes[0]


def test_thematic_ranks_without_a_known_item_set():
    none = (full(THEMATIC_MEANS, []), full(THEMATIC_CONTRASTS, []))
    sheet = thematic(full(LEADERBOARD, leaderboard_rows()), full(RANK_MOVES, []), MAIN, ["themes"], ["bm25"], *none)
    assert [row[-1] for row in said(sheet) if row[3] == "verse"] == ["1", "2", "3"]
    assert "the study has no thematic query set" in SHEETS["table-5-thematic"](True).notes[0]


def by_judges(leaderboard=(), moves=(), contrasts=None):
    scores = [*score_rows("second"), *({**row, "n_queries": row["n_queries"] // 2} for row in score_rows("first"))]
    tested = [*difference_rows("first"), *difference_rows("second")] if contrasts is None else contrasts
    tables = (full(LEADERBOARD, leaderboard), full(RANK_MOVES, moves))
    judged = (full(THEMATIC_MEANS, scores), full(THEMATIC_CONTRASTS, tested))
    return thematic(*tables, MAIN, ["themes"], ["bm25"], *judged)


def test_thematic_by_judges_marks_what_is_not_separated_from_the_lexical_system():
    moves = [row | {"measure_thematic": f"{judge}: overall"} for judge in ("first", "second") for row in move_rows()]
    sheet = by_judges(moves=moves)
    assert_well_formed(latex(sheet))
    heads = [column.heading for column in sheet.columns]
    assert heads == [*("corpus", "query set", "mode", "system", "first", "rank", "second", "rank"), "rank in known"]
    rows = {row[3]: row[4:] for row in said(sheet)}
    assert list(rows) == ["dense-a", "dense-b", "bm25 (lexical)", "silent"]
    assert rows["dense-a"] == ["3.25 [3.15, 3.35] *", "1"] * 2 + ["2.5"]
    assert rows["dense-b"] == ["2.00 [1.90, 2.10]†", "2"] * 2 + ["2.5"]
    assert rows["bm25 (lexical)"] == ["1.90 [1.80, 2.00]", "3"] * 2 + ["1"]
    assert rows["silent"] == ["n.e.", "n.e."] * 2 + [""]
    notes = " | ".join(sheet.notes)
    assert "† not separated from bm25: Holm p ≥ 0.05" in notes and "‡" not in notes
    assert "queries: 30 of themes in poems by first; 60 of themes in poems by second" in notes
    assert "bm25: 3 of 3 in poems, themes, verse by first" in notes
    assert "not estimable: nothing that it put first was judged" in notes


def test_thematic_by_judges_stands_beside_the_measure_of_the_query_set():
    sheet = by_judges([row for row in leaderboard_rows() if row["query_set"] == "themes"], contrasts=[])
    assert_well_formed(latex(sheet))
    assert [column.heading for column in sheet.columns[4:6]] == ["Recall@5", "rank"]
    rows = {(row[2], row[3]): row[4:] for row in said(sheet)}
    assert rows["verse", "dense-b"] == ["0.900 [0.100, 0.900] *", "1", *["2.00 [1.90, 2.10]", "2"] * 2]
    assert rows["prose", "dense-a"] == ["0.400 [0.100, 0.900]", "3", "", "", "", ""]  # a mode that no judge saw


def test_the_measure_alone_is_ranked_by_its_own_moves():
    moves = [*move_rows(), *(row | {"measure_thematic": "j: overall", "rank_thematic": 9.0} for row in move_rows())]
    none = (full(THEMATIC_MEANS, []), full(THEMATIC_CONTRASTS, []))
    sheet = thematic(full(LEADERBOARD, leaderboard_rows()), full(RANK_MOVES, moves), MAIN, ["themes"], ["bm25"], *none)
    assert said(sheet) == said(SHEETS["table-5-thematic"](False))


def test_aspects_go_from_the_overall_score_to_the_wording():
    sheet = SHEETS["table-9-aspects"](False)
    assert [column.heading for column in sheet.columns[4:]] == ["overall", "aboutness", "theme", "literal match"]
    rows = {row[3]: row[4:] for row in said(sheet)}
    assert list(rows) == ["dense-a", "dense-b", "bm25 (lexical)", "silent"]
    assert rows["bm25 (lexical)"] == ["1.90 [1.80, 2.00]"] * 3 + ["4.10 [4.00, 4.20] *"]
    assert rows["silent"] == ["n.e."] * 4


def test_an_aspect_that_a_rubric_does_not_have_is_left_open():
    rows = [*score_rows("first", [("overall", "overall")]), *score_rows("second")]
    sheet = aspects(full(THEMATIC_MEANS, [row for row in rows if row["system"] != "silent"]), "verse", [])
    assert {tuple(row[5:7]) for row in said(sheet) if row[2] == "first"} == {("", "")}


def test_judges_agree_by_aspect_and_in_their_orders():
    rows = [row[2:] for row in said(SHEETS["table-10-judges"](False))]
    assert [row[:2] for row in rows] == [
        ["first", "order by overall and aboutness"],
        ["first, second", "overall"],
        ["first, second", "aboutness"],
        ["first, second", "literal match"],
        ["first, second", "order by overall"],
    ]
    overall, about = rows[1], rows[2]
    assert overall[2:6] == ["1,200", "60", "0.65 [0.10, 0.80]", "0.50 [0.40, 0.60]"]
    assert overall[6:] == ["90.0 [85.0, 95.0]", "", ""]
    assert about[5] == ""  # a mean of aspects is no grade of the scale
    assert rows[4][2:] == ["10", "", "", "", "", "0.90 [0.80, 1.00]", "0.020"]
    assert r"$\kappa$" in latex(SHEETS["table-10-judges"](False))
