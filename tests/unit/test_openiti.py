"""The OpenITI adapter on files written for these tests, one for each way in which OpenITI marks verses."""

import shutil
from pathlib import Path

import pytest

from verseir.corpora.load import load_corpus
from verseir.corpora.openiti import read
from verseir.corpora.openiti_markup import parse, split_header
from verseir.faults import InputFaults

FIXTURES = Path(__file__).parents[1] / "fixtures" / "openiti"
JK = "0900ShacirMithali.Diwan.JK000001-ara1"
SHAM = "0900ShacirMithali.Diwan.ShamAY0000001-ara1"
LAL = "0001ShacirQadim.Diwan.LAL2020000001-ara1.mARkdown"
ANTHOLOGY = "0900JamicMithali.Hamasa.Sham19Y0000001-ara1"
COMMENTARY = "0100ShacirSharh.Diwan.Sham19Y0000002-ara1"
COPIED = "0001ShacirNuskha.Diwan.ShamAY0000003-ara1"


def records(name, **spec):
    return read({"adapter": "openiti", "path": name, **spec}, FIXTURES)


def faults_of(path, base):
    with pytest.raises(InputFaults) as caught:
        read({"adapter": "openiti", "path": path}, base)
    return caught.value.faults


def test_percent_marks_with_numbers_and_continued_lines():
    first, second, third = records(JK)
    assert first.verses[1] == ("وقلت لأصحابي أقيموا هنيهة", "لنشرب من ماء الغدير ونشكرا")
    assert first.verses[2][0] == "فما كل نهر يستقيم مسيره"  # a milestone stood in it
    assert second.verses == [("يا صانع الفخار في الأسواق", None), ("رفقا بطين طيب الأخلاق", None)]
    assert third.verses[0] == ("وفي دارنا نخل وظل ومنهل", None)  # its first hemistich is lost
    assert third.verses[2] == ("وما ضر هذا البيت لو كان عامرا", "وفي جنبه سدر طويل وسنبل")  # [ ], ~~, number
    assert third.verses[3] == ("وقال الفتى : قم في رفق ، فقلت له :", "دعني قليلا ففي الأحلام ما يعمل )")
    assert [record.meter for record in (first, second, third)] == ["الطويل", "الرجز", None]


def test_word_over_the_caesura_keeps_its_tatweel():
    assert records(JK)[2].verses[1] == ("ألا ليت شعري هل تعود الـ", "ـحمائم يوما للغصون وتهدل")


def test_two_editions_of_one_diwan_give_the_same_poems():
    jk, sham = records(JK), records(SHAM)
    assert [record.meter for record in jk] == [record.meter for record in sham]
    assert [record.verses[:3] for record in jk] == [record.verses for record in sham]
    assert {record.poet for record in [*jk, *sham]} == {"شاعر المثال"}


def test_apparatus_behind_the_text_is_left_out():
    assert all("الحاشية" not in verse[0] for record in records(SHAM) for verse in record.verses)


def test_ids_number_the_poems_of_a_version():
    assert [record.poem_id for record in records(SHAM)] == [f"{SHAM}_{number:04d}" for number in (1, 2, 3)]
    assert records(LAL)[0].poem_id == "0001ShacirQadim.Diwan.LAL2020000001-ara1_0001"


def test_records_say_where_they_stand():
    assert [(record.file, record.line) for record in records(SHAM)] == [(SHAM, 13), (SHAM, 18), (SHAM, 22)]
    line = (FIXTURES / SHAM).read_text(encoding="utf-8").split("\n")[22 - 1]
    assert "وفي دارنا نخل" in line


def test_era_is_that_of_the_header_before_that_of_the_year():
    assert {record.era for record in records(JK)} == {"العصر الأندلسي"}
    assert {record.era for record in records(SHAM)} == {"العصر المملوكي"}
    assert {record.era for record in records(LAL)} == {"العصر الجاهلي"}


def test_poem_starts_at_a_heading():
    first, second = records(LAL)
    assert first.poet == "شاعر قديم بن فلان"
    assert [len(record.verses) for record in (first, second)] == [2, 2]
    assert second.verses[0] == ("إني أنا الراعي الذي لا ينثني", None)


def test_anthology_has_a_poet_and_a_meter_for_each_piece():
    found = [(record.poet, record.meter, len(record.verses)) for record in records(ANTHOLOGY)]
    assert found == [
        ("صابر بن عامر السعدي", "الوافر", 2),
        ("صابر بن عامر السعدي", "الرجز", 2),  # "he also said"
        ("سلمى العبدية", "الطويل", 2),  # its piece number is missing
        (None, "مجزوء الكامل", 2),  # "another said"
        (None, "البسيط", 1),  # the name is lost
    ]
    assert {record.era for record in records(ANTHOLOGY)} == {None}


def test_two_numbered_hemistichs_on_a_line_are_one_verse():
    assert records(ANTHOLOGY)[1].verses == [
        ("يا نفس صبرا إن بعد العسر", "يسرا كضوء طالع في الفجر"),
        ("ولا تقولي ضاق بي ما أدري", None),
    ]


def test_chapter_of_a_piece_is_known_to_the_parser():
    headings = [poem.heading for poem in parse((FIXTURES / ANTHOLOGY).read_text(encoding="utf-8"))]
    assert headings == ["الباب الأول فيما قيل في الصبر"] * 3 + ["الباب الثاني فيما قيل في السفر"] * 2


def test_commentary_and_the_verses_it_quotes_are_left_out():
    first, second, third = records(COMMENTARY)
    assert [len(record.verses) for record in (first, second, third)] == [3, 1, 1]
    assert all("تعثروا" not in verse[0] for record in (first, second, third) for verse in record.verses)
    assert first.poet == "شاعر الشرح"


def test_poem_given_twice_is_read_once_and_a_biography_not_at_all():
    first, second = records(COPIED)
    assert [len(record.verses) for record in (first, second)] == [3, 1]
    assert first.verses[0] == ("رعيت نجوم الليل حتى تفرقت وعدت ولم يبق سوى نجمة الفجر", None)


@pytest.mark.parametrize(
    "body",
    [
        "### | الباب الأول\n### | الباب الثاني\n",
        "### | الباب الأول\n# الباب الأول\n",
        "### | AUTO ترجمة الشاعر\n# ولد سنة 200\n# ومات.ترجمة الشاعر ¶ ولد سنة 200 ¶ ومات.\n",
        "# قال فلان ما قال: ثم مضى.\n",
        "# البحر : طويل\n# نثر بلا علامة\n",
    ],
)
def test_prose_and_headings_are_no_verses(body):
    assert parse("######OpenITI#\n#META#Header#End#\n" + body) == []


def test_poet_comes_from_the_uri_when_the_header_has_no_arabic_name(tmp_path):
    name = "0700CaliIbnMithal.Diwan.JK000009-ara1"
    text = "######OpenITI#\n#META# 010.AuthorAKA\t:: NODATA\n#META#Header#End#\n# % بيت من الشعر % وشطره الثاني % 2\n"
    (tmp_path / name).write_text(text, encoding="utf-8")
    (record,) = read({"path": name}, tmp_path)
    assert (record.poet, record.era) == ("Cali Ibn Mithal", "العصر المملوكي")


def test_folder_is_read_in_the_order_of_names_and_other_files_passed_over(tmp_path):
    for name in (JK, LAL):
        (tmp_path / "in" / name[:4]).mkdir(parents=True)
        shutil.copy(FIXTURES / name, tmp_path / "in" / name[:4] / name)
    (tmp_path / "in" / "README.md").write_text("no poem", encoding="utf-8")
    found = read({"path": "in"}, tmp_path)
    assert [record.file for record in found] == [f"in/0001/{LAL}"] * 2 + [f"in/0900/{JK}"] * 3


def test_all_fixtures_load_as_a_corpus():
    corpus = load_corpus("diwan", {"adapter": "openiti", "path": "."}, FIXTURES)
    assert corpus.poems.height == 18
    assert corpus.poems["language"].unique().to_list() == ["ar"]
    assert corpus.poems["title"].null_count() == 18


@pytest.mark.parametrize(
    ("name", "content", "line", "problem"),
    [
        (JK, b"######OpenITI#\n#META#Header#End#\n# \xd8\n", 3, "invalid UTF-8: byte 0xd8"),
        (JK, "######OpenITI#\n#META#Header#End#\n# نثر لا شعر فيه\n".encode(), 0, "has no verse"),
        (JK, b"", 1, "is not an OpenITI text"),
        (JK, "# % بيت من الشعر % وشطره الثاني %".encode(), 1, "is not an OpenITI text"),
        ("poems.txt", b"######OpenITI#\n", 0, "the file name is not an OpenITI version URI"),
    ],
)
def test_bad_file_is_a_fault_that_names_it(tmp_path, name, content, line, problem):
    (tmp_path / name).write_bytes(content)
    (fault,) = faults_of(name, tmp_path)
    assert (fault.file, fault.line) == (name, line)
    assert problem in fault.problem


def test_all_bad_files_are_reported_at_once(tmp_path):
    shutil.copy(FIXTURES / LAL, tmp_path)
    (tmp_path / JK).write_bytes(b"\xff")
    (tmp_path / SHAM).write_text("######OpenITI#\n", encoding="utf-8")
    assert [fault.file for fault in faults_of(".", tmp_path)] == [f"./{JK}", f"./{SHAM}"]


def test_version_that_is_there_twice_is_a_fault(tmp_path):
    shutil.copy(FIXTURES / JK, tmp_path)
    shutil.copy(FIXTURES / JK, tmp_path / f"{JK}.completed")
    (fault,) = faults_of(".", tmp_path)
    assert fault.file == f"./{JK}.completed"
    assert JK in fault.problem


def test_missing_file_and_empty_folder_are_faults(tmp_path):
    (tmp_path / "empty").mkdir()
    assert "cannot be read" in faults_of(JK, tmp_path)[0].problem
    assert "no OpenITI file" in faults_of("empty", tmp_path)[0].problem


def test_crlf_and_byte_order_mark_change_nothing():
    text = (FIXTURES / SHAM).read_text(encoding="utf-8")
    assert text.startswith("\ufeff")
    assert parse(text.replace("\n", "\r\n")) == parse(text) == parse(text.removeprefix("\ufeff"))


def test_header_is_read_as_pairs():
    metadata, body, before = split_header((FIXTURES / JK).read_text(encoding="utf-8"))
    assert ("010.AuthorAKA", "شاعر المثال") in metadata
    assert before == 12
    assert body[1].startswith("# البحر")
