"""The anthology adapter and its chapters as queries: on a text written for these tests, and on the real one."""

import hashlib
import json
import os
import re
from pathlib import Path

import polars as pl
import pytest

from verseir.__main__ import main
from verseir.corpora.anthology import read_anthology
from verseir.corpora.load import load_corpus
from verseir.corpora.model import PartlyRead
from verseir.corpora.openiti_markup import headings
from verseir.faults import UserError
from verseir.queries.chapters import chapter_queries, theme
from verseir.tables import POEMS, QRELS, QUERIES, check_table, read_table, write_table

FIXTURES = Path(__file__).parents[1] / "fixtures" / "anthology"
TEXT = "0950JamicAkhar.Hamasa.Sham19Y0000009-ara1"
SPEC = {"adapter": "anthology", "path": TEXT}
BEGINNING = "######OpenITI#\n#META#Header#End#\n"


def anthology():
    return read_anthology("small", SPEC, FIXTURES)


def faults_of(tmp_path, body, name=TEXT):
    (tmp_path / name).write_text(BEGINNING + body, encoding="utf-8")
    with pytest.raises(PartlyRead) as caught:
        read_anthology("small", {"path": name}, tmp_path)
    return caught.value.faults


def test_pieces_are_numbered_through_the_corpus_and_named_by_their_first_hemistich():
    corpus = load_corpus("small", SPEC, FIXTURES)
    assert corpus.poems["poem_id"].to_list() == [f"small_{number:04d}" for number in range(1, 10)]
    assert corpus.poems["title"].to_list() == [poem[0]["first"] for poem in corpus.poems["verses"].to_list()]
    assert corpus.poems.select("era", "era_order", "genre").null_count().row(0) == (9, 9, 9)
    assert set(corpus.poems["language"]) == {"ar"}
    assert set(corpus.poems["source"]) == {f"OpenITI {TEXT}"}


def test_poets_and_meters_are_those_named_above_each_piece():
    assert [(record.poet, record.meter) for record in anthology().records] == [
        ("راشد بن وائل النجدي", "الطويل"),
        ("راشد بن وائل النجدي", "الرجز"),  # "he also said"
        ("هند الحضرمية", "الوافر"),  # "mourning her husband", with a full stop
        ("هند الحضرمية", "الوافر"),  # "she also said, mourning him"
        (None, "البسيط"),  # "another said"
        (None, "الكامل"),  # the name is lost
        ("حمدان السواق", "المتقارب"),
        ("حمدان السواق", "المتقارب"),
        ("جامع آخر", "الرجز"),
    ]


def test_verses_lose_their_numbers_and_marks():
    verses = [record.verses for record in anthology().records]
    assert verses[0][1] == ("وأذبح من غنمي السمينة كلها", "ولو لم يكن في الدار غير ثمان")
    assert verses[1] == [("هات القرى يا قنبر الأمين", "فالضيف عندي سيد أمين"), ("والخبز في بيتي له يلين", None)]
    assert verses[2][1] == ("وكنت إذا أتى عام محيل", "تكون لكل محتاج صديقا")


def test_chapters_hold_the_pieces_below_their_headings():
    found = anthology()
    assert [[poem_id[-1] for poem_id in chapter.poem_ids] for chapter in found.chapters] == [
        ["1", "2", "3", "4"],
        [],
        ["5", "6"],  # a heading of a lower level stands between them
        ["7"],
        ["8"],
    ]
    assert found.n_outside == 1  # the last heading is of their level and no chapter
    assert found.chapters[0].heading == "الباب الأول فيما قيل في الكرم وبذل الطعام"  # a milestone stood in it
    assert found.chapters[2].heading == "الباب الثالث والعشرون بعد المائة في السفر، وما يلقى فيه"
    lines = (FIXTURES / TEXT).read_text(encoding="utf-8").split("\n")
    assert all("الباب" in lines[chapter.line - 1] for chapter in found.chapters)


def test_headings_have_levels_and_those_of_the_tail_are_told():
    levels = [(heading.level, heading.text) for heading in headings((FIXTURES / TEXT).read_text(encoding="utf-8"))]
    assert levels[0] == (1, "مقدمة الجامع")
    assert (2, "من ركب البحر") in levels
    assert levels[-1] == (1, "خاتمة الكتاب")


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("الباب الأول فيما قيل في الكرم", "في الكرم"),
        ("الباب الحادي والعشرون: فيما قيل فيمن ركب البحر.", "فيمن ركب البحر"),
        ("الباب المائة فيما  قيل في المطر", "في المطر"),
        ("الباب التاسع والتسعين بعد المئة في ما قيل في المطر", "في المطر"),
        ("الباب الخامس والثمانون والمائة في أخبار المعمرين", "في أخبار المعمرين"),
        ("البَابُ الثَّانِي فِيمَا قِيلَ في الصَّبْرِ", "في الصَّبْرِ"),
        ("باب الأضياف", "الأضياف"),
        ("باب بعد الهمة", "بعد الهمة"),  # "after" only before a hundred
        ("فصل 3 - في السفر", "في السفر"),
        ("ما جاء في الجود", "في الجود"),
        ("في الصبر", "في الصبر"),
        ("بابان من الشعر", "بابان من الشعر"),
        ("فيما يقال فيه", "فيه"),
        ("فيما قيلت", "فيما قيلت"),
        ("الباب الأول", None),
        ("باب", None),
        ("", None),
    ],
)
def test_theme_is_what_stands_behind_the_number_and_the_formula(heading, expected):
    assert theme(heading) == expected


def test_chapters_are_thematic_queries_with_their_pieces_as_relevant():
    found = anthology()
    drawn = chapter_queries("themes", found, [record.poem_id for record in found.records])
    check_table(drawn.queries, QUERIES, "queries")
    check_table(drawn.qrels, QRELS, "qrels")
    assert drawn.queries.select("query_id", "query_set", "text", "register").rows() == [
        ("themes_001", "themes", "في الكرم وبذل الطعام", "thematic"),
        ("themes_002", "themes", "في السفر، وما يلقى فيه", "thematic"),
    ]
    assert drawn.qrels.rows() == [
        *((f"themes_00{query}", f"small_000{piece}", 1) for query, piece in [(1, 1), (1, 2), (1, 3), (1, 4), (1, 8)]),
        ("themes_002", "small_0005", 1),
        ("themes_002", "small_0006", 1),
    ]


def test_what_is_left_out_is_counted_with_its_lines():
    found = anthology()
    warnings = chapter_queries("themes", found, [record.poem_id for record in found.records]).warnings
    empty, nameless, again = (found.chapters[place].line for place in (1, 3, 4))
    assert warnings == (
        f"1 chapter without a piece, left out: {TEXT}:{empty}",
        f"1 chapter whose heading names no theme, left out: {TEXT}:{nameless}",
        f"1 chapter with the theme of another, joined to it: {TEXT}:{again}",
        "1 piece in no chapter, relevant to no query",
    )


def test_a_sample_drops_pieces_and_chapters_and_changes_no_id():
    drawn = chapter_queries("themes", anthology(), ["small_0006"])
    assert drawn.queries["query_id"].to_list() == ["themes_002"]
    assert drawn.qrels.rows() == [("themes_002", "small_0006", 1)]
    assert drawn.warnings[-1] == (
        "6 pieces of chapters left out of the corpus by its sample, and with them all pieces of 1 chapter"
    )


def test_a_sample_without_any_chapter_is_refused():
    with pytest.raises(UserError, match=r"no chapter has both a theme and a piece in the corpus\n.*7 pieces"):
        chapter_queries("themes", anthology(), ["small_0009"])


def test_without_a_word_for_chapter_the_headings_of_the_highest_level_are_chapters(tmp_path):
    body = "### | في الكرم\n# 1 - أول ... ثان\n### || فرع\n# 1 - ثالث ... رابع\n### | في البخل\n# 1 - خامس ... سادس\n"
    (tmp_path / TEXT).write_text(BEGINNING + body, encoding="utf-8")
    found = read_anthology("small", {"path": TEXT}, tmp_path)
    assert [(chapter.heading, len(chapter.poem_ids)) for chapter in found.chapters] == [
        ("في الكرم", 2),
        ("في البخل", 1),
    ]


@pytest.mark.parametrize(
    ("body", "line", "problem"),
    [
        ("# 1 - أول ... ثان\n", 0, "has no chapter: no line is a heading"),
        (
            "### | في كذا\n# 1 - أول ... ثان\n### | في ذاك\n# 1 - ثالث ... رابع\n",
            0,
            "each heading stands above one piece",
        ),
        ("# 1 - أول ... ثان\n### | باب الكرم\n# نثر\n", 0, "all 1 stand outside its 1 chapters"),
        ("### | باب الكرم\n# نثر بلا شعر\n", 0, "has no verse"),
    ],
)
def test_a_text_without_chapters_is_a_fault(tmp_path, body, line, problem):
    (fault,) = faults_of(tmp_path, body)
    assert (fault.file, fault.line) == (TEXT, line)
    assert problem in fault.problem


def test_a_diwan_is_sent_to_the_other_adapter(tmp_path):
    (fault,) = faults_of(tmp_path, "# البحر : طويل\n# أول %~% ثان\n", "0900Shacir.Diwan.ShamAY0000001-ara1")
    assert "adapter: openiti" in fault.hint


def test_other_faults_name_their_line(tmp_path):
    (tmp_path / TEXT).write_bytes(BEGINNING.encode() + "### | باب\n".encode() + b"# \xd8\n")
    with pytest.raises(PartlyRead) as caught:
        read_anthology("small", {"path": TEXT}, tmp_path)
    assert [(fault.line, fault.problem) for fault in caught.value.faults] == [(4, "invalid UTF-8: byte 0xd8")]


def test_two_texts_are_numbered_on(tmp_path):
    text = (FIXTURES / TEXT).read_text(encoding="utf-8")
    for name in ("a.txt", TEXT, TEXT.replace("0950", "0951")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = read_anthology("both", {"path": "."}, tmp_path)
    assert [record.poem_id for record in found.records] == [f"both_{number:04d}" for number in range(1, 19)]
    assert found.chapters[5].poem_ids[0] == "both_0010"


def test_anthology_of_a_list_is_the_selected_one_and_says_where_it_is_from(tmp_path):
    data = (FIXTURES / TEXT).read_bytes()
    row = f"Owner/repo,{'0' * 40},data/{{}},{len(data)},{hashlib.sha256(data).hexdigest()},{{}}\n"
    header = "repository,commit,path,bytes,sha256,kind\n"
    rows = row.format(TEXT, "anthology") + row.format("0900Shacir.Diwan.JK000001-ara1", "diwan")
    (tmp_path / "list.csv").write_text(header + rows, encoding="utf-8")
    spec = {"sources": "list.csv", "local": str(FIXTURES), "select": {"kind": "anthology"}}
    found = read_anthology("small", spec, tmp_path)
    assert [len(chapter.poem_ids) for chapter in found.chapters] == [4, 0, 2, 1, 1]
    assert found.records[0].source == f"Owner/repo@0000000000:data/{TEXT}"


def test_an_anthology_is_a_file_or_a_list(tmp_path):
    with pytest.raises(UserError, match="the adapter anthology reads path or sources"):
        read_anthology("small", {"adapter": "anthology", "hub": {"id": "x"}}, tmp_path)


def test_verb_writes_the_queries_of_the_sampled_corpus(tmp_path, capsys):
    spec = {"adapter": "anthology", "path": str(FIXTURES / TEXT), "sample": {"min_verses": 2}}
    poems = tmp_path / "poems.parquet"
    write_table(load_corpus("small", spec, Path()).poems, poems, POEMS)
    paths = {name: str(tmp_path / f"{name}.parquet") for name in ("queries", "qrels")}
    argv = ["draw_chapters", "--name", "themes", "--corpus", "small", "--spec", json.dumps(spec)]
    assert main([*argv, "--poems", str(poems), "--queries", paths["queries"], "--qrels", paths["qrels"]]) in (0, None)
    assert read_table(paths["queries"], QUERIES)["query_id"].to_list() == ["themes_001"]
    assert read_table(paths["qrels"], QRELS)["poem_id"].to_list() == ["small_0001", "small_0002", "small_0003"]
    printed = capsys.readouterr().out
    assert "themes: 1 chapters, 3 pieces in them" in printed
    assert "warning: themes: 1 chapter without a piece" in printed


DATA = os.environ.get("VERSEIR_DATA", "")
HAMASA = "openiti/0284Buhturi/0284Buhturi.Hamasa.Sham19Y0148535-ara1"
needs_data = pytest.mark.skipif(
    not (Path(DATA) / HAMASA).is_file() or not DATA, reason="VERSEIR_DATA names no folder with al-Buhturi's Hamasa"
)


def squeezed(text):
    return None if text is None else " ".join(text.split())


def rows_of(path):
    return [json.loads(line) for line in (Path(DATA) / path).read_text(encoding="utf-8").split("\n") if line]


@needs_data
def test_al_buhturis_chapters_are_those_of_the_reference():
    """All 174; two of the reference's texts keep the formula, since a milestone stands inside it in the source."""
    expected = rows_of("queries/buhturi_thematic.jsonl")
    found = read_anthology("hamasa_buhturi", {"path": HAMASA}, Path(DATA))
    drawn = chapter_queries("buhturi", found, [record.poem_id for record in found.records])
    assert drawn.warnings == ()
    assert [chapter.heading for chapter in found.chapters] == [squeezed(row["chapter_heading"]) for row in expected]
    assert drawn.queries["query_id"].to_list() == [row["query_id"] for row in expected]
    relevant = drawn.qrels.group_by("query_id").agg("poem_id").sort("query_id")["poem_id"].to_list()
    assert relevant == [row["relevant"] for row in expected]
    texts = {query_id: (text, squeezed(row["text"])) for query_id, text, row in zip(
        drawn.queries["query_id"], drawn.queries["text"], expected, strict=True)}  # fmt: skip
    other = {query_id: pair for query_id, pair in texts.items() if pair[0] != pair[1]}
    assert sorted(other) == ["buhturi_030", "buhturi_036"]
    assert all(theirs.removeprefix("فيما قيل ") == ours for ours, theirs in other.values())


def as_read(verse):
    """A verse of the reference without what its converter left in: brackets, stars, stray full stops, and the number of
    the second hemistich of rajaz, on the line of the first."""
    first, second = (*verse, None)[:2]
    parts = re.split(r" \d+ - ", first) if second is None else [first, second]
    cleaned = [squeezed(re.sub(r"[\[\]*]|^\. ", "", part)) for part in parts]
    return (cleaned[0], cleaned[1] if len(cleaned) > 1 else None)


@needs_data
def test_al_buhturis_pieces_are_those_of_the_reference():
    """All 1,461. The reference lacks six verses whose number has no dash behind it."""
    expected = rows_of("poetry/hamasa_buhturi.jsonl")
    found = read_anthology("hamasa_buhturi", {"path": HAMASA}, Path(DATA)).records
    assert [record.poem_id for record in found] == [row["poem_id"] for row in expected]
    lines = (Path(DATA) / HAMASA).read_text(encoding="utf-8").split("\n")
    undashed = {squeezed(line.split("...")[1]) for line in lines if re.match(r"# \d+ [^\W\d_].* \.\.\. ", line)}
    more = 0
    for record, row in zip(found, expected, strict=True):
        verses = list(map(as_read, row["verses"]))
        extra = [verse for verse in record.verses if verse not in verses]
        more += len(extra)
        assert all(re.sub(r" ?(PageV\w+|ms\d+)", "", verse[1] or "") in undashed for verse in extra), row["poem_id"]
        assert [verse for verse in record.verses if verse not in extra] == verses
        assert record.title == as_read([row["title"]])[0]
    assert more == 6


@needs_data
def test_al_buhturis_poets_and_meters_are_those_of_the_reference_and_more():
    """The reference lost names and meters that stand otherwise than as "he said: (meter)"; what it has agrees."""
    expected = load_corpus("hamasa", {"adapter": "jsonl", "path": "poetry/hamasa_buhturi.jsonl"}, Path(DATA)).poems
    found = load_corpus("hamasa_buhturi", {"adapter": "anthology", "path": HAMASA}, Path(DATA)).poems
    both = found.select("poem_id", "poet", "meter").join(expected, on="poem_id", suffix="_there")
    named = both.filter(pl.col("meter_there").is_not_null())
    assert named["meter"].to_list() == named["meter_there"].to_list()
    poets = both.filter(pl.col("poet_there").is_not_null()).select("poet_there", "poet").rows()
    others = [there for there, ours in poets if not squeezed(there.replace("*", " ")).startswith(ours or "?")]
    assert len(poets) == 1337
    # It took "she said, mourning him", "he (peace be upon him) also said" and "one of them said" for names.
    assert all(re.match("ترثي|عليه|بعضهم|غيره", there) for there in others)
    assert len(others) == 9
