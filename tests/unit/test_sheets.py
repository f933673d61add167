"""Sheets for people: which items they have, that they are blind, that text in them stays text."""

import base64
import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.analyses.explanation_audit import VERDICTS, read_audit
from verseir.faults import UserError
from verseir.formats import count
from verseir.judging.audits import QUESTIONS as AUDIT_QUESTIONS
from verseir.judging.audits import audit_table, draw_verses, shown_verses
from verseir.judging.graded_sheets import sheet_grades
from verseir.judging.misses import misses, strongest, values_of
from verseir.judging.pool import POOL, item_id, items, pool
from verseir.judging.rubrics import read_rubric
from verseir.judging.sheet_page import Item, Page, Part, direction, markdown, render_page
from verseir.judging.sheets import QUESTIONS, SHEET, csv_text, known_item_sheet, shown_items, thematic_sheet
from verseir.layout import Run
from verseir.queries.splits import SPLIT
from verseir.rows import Row, unescaped
from verseir.tables import (
    DUPLICATES,
    EXPLANATIONS,
    PER_QUERY,
    POEMS,
    QRELS,
    QUERIES,
    RUN,
    check_table,
    read_table,
    write_table,
)

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "workflow" / "report" / "sheet.html"
GUIDELINES = ROOT / "resources" / "prompts"
HOSTILE = '</script><script>document.title="run"</script><img src=x onerror=alert(1)> "quoted" & \'so\''
NAMES = [f"p{number}" for number in range(6)]
QUERY_NAMES = [f"q{number}" for number in range(8)]


def poems_of(verses_of):
    rows = [
        (name, "a title", "a poet", *[None] * 5, [{"first": first, "second": second} for first, second in verses], None)
        for name, verses in verses_of.items()
    ]
    return pl.DataFrame(rows, schema=dict(POEMS.columns), orient="row")


def queries_of(texts):
    rows = [(name, "s", text, *[None] * 5) for name, text in texts.items()]
    return pl.DataFrame(rows, schema=dict(QUERIES.columns), orient="row")


def run_of(lists):
    rows = [(query, poem, rank, 1 / rank, None) for query, poems in lists.items() for rank, poem in enumerate(poems, 1)]
    return pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")


def duplicates(classes=()):
    names = {name: dict(classes).get(name, name) for name in NAMES}
    rows = [(name, kept, 1, "unique", 0.0) for name, kept in names.items()]
    return pl.DataFrame(rows, schema=dict(DUPLICATES.columns), orient="row")


def frame(table, rows):
    return pl.DataFrame(rows, schema=dict(table.columns), orient="row")


def texts_in(folder):
    """What import_annotations needs to know which queries and poems there are."""
    names = {"corpus": "c", "query-set": "s", "poems": folder / "poems.parquet", "queries": folder / "queries.parquet"}
    return [part for name, value in names.items() for part in (f"--{name}", str(value))]


POEM_TEXTS = poems_of({name: [(f"صدر {name}", f"عجز {name}")] * 9 for name in NAMES})
QUERY_TEXTS = queries_of({name: f"سؤال {name}" for name in QUERY_NAMES})


# Thematic sheets


def test_items_are_those_of_the_pool():
    runs = [run_of({query: NAMES[number % 3 :] for number, query in enumerate(QUERY_NAMES)})]
    sheet = thematic_sheet(runs, duplicates({"p1": "p0"}), QUERY_TEXTS, "c", "s", 2, 3, 5)
    check_table(sheet, SHEET, "sheet")
    pooled = pool(runs, duplicates({"p1": "p0"}), "c", "s", 5, 99)
    assert sheet["query_id"].n_unique() == 3
    assert sheet.join(pooled, on=["item_id", "query_id", "poem_id"], how="anti").is_empty()
    assert sheet["place"].to_list() == list(range(1, len(sheet) + 1))


@given(st.integers(1, 8), st.integers(0, 99))
def test_more_queries_hold_fewer_and_the_order_of_rows_means_nothing(n, seed):
    run = run_of(dict.fromkeys(QUERY_NAMES, NAMES))
    fewer = thematic_sheet([run], duplicates(), QUERY_TEXTS, "c", "s", 2, n, seed)
    again = thematic_sheet([run.reverse()], duplicates(), QUERY_TEXTS.reverse(), "c", "s", 2, n, seed)
    more = thematic_sheet([run], duplicates(), QUERY_TEXTS, "c", "s", 2, n + 1, seed)
    assert again.equals(fewer)
    assert set(fewer["item_id"]) <= set(more["item_id"])
    assert fewer["query_id"].n_unique() == n


def test_queries_are_drawn_from_the_whole_set():
    run = run_of({"q0": NAMES})
    drawn = [thematic_sheet([run], duplicates(), QUERY_TEXTS, "c", "s", 2, 1, seed).is_empty() for seed in range(20)]
    assert any(drawn) and not all(drawn)
    everything = thematic_sheet([run], duplicates(), QUERY_TEXTS, "c", "s", 2, None, 1)
    assert set(everything["query_id"]) == {"q0"}


# Known-item sheets

PER_QUERY_ROWS = [
    ("c", "verse", "s", system, query, "Recall@5", float(query in found))
    for system, found in {"b": "q0 q1", "a": "q1 q2", "weak": "q3"}.items()
    for query in QUERY_NAMES
]


def test_the_strongest_system_is_the_first_by_name_among_equals():
    per_query = frame(PER_QUERY, PER_QUERY_ROWS)
    values = values_of(per_query, "c", "verse", "s", "Recall@5")
    assert strongest(values, ["b", "a", "weak"]) == "a"
    assert strongest(values.reverse(), ["b", "weak"]) == "b"
    assert strongest(values, ["weak"]) == "weak"
    with pytest.raises(UserError, match=r"did you mean 'weak'"):
        strongest(values, ["week"])
    with pytest.raises(UserError, match=r"measure 'Recall@6'(?s:.)*did you mean 'Recall@5'"):
        values_of(per_query, "c", "verse", "s", "Recall@6")


def test_means_that_differ_by_rounding_are_equal():
    third = [0.1, 0.2, 0.3]
    rows = [("b", f"q{i}", value) for i, value in enumerate(third)]
    rows += [("a", f"q{i}", value) for i, value in enumerate([0.6, 0.0, -0.0])]
    values = pl.DataFrame(rows, schema=["system", "query_id", "value"], orient="row")
    assert strongest(values, ["a", "b"]) == "a"


def test_misses_are_parted():
    run = run_of({"q0": ["p0"], "q1": ["p2", "p1"], "q2": ["p3"], "q4": ["p4", "p5"]})
    qrels = frame(QRELS, [("q0", "p0", 1), ("q1", "p1", 1), ("q2", "p3", 0), ("q2", "p0", 1), ("q3", "p0", 1)])
    qrels = pl.concat([qrels, frame(QRELS, [("q4", "p0", 2)])])
    values = pl.DataFrame({"query_id": ["q0", "q1", "q2", "q3", "q4"], "value": [1.0, 0.0, 0.0, 0.0, 0.0]})
    found = misses(values, run, qrels, duplicates({"p2": "p1", "p4": "p3", "p5": "p0"}))
    assert found.items.rows() == [("q2", "p3"), ("q4", "p4")]  # as shown, not the smallest id of the class
    assert found.same_poem == ("q1",)
    assert found.nothing_found == ("q3",)
    assert found.total == 4


def test_a_sample_of_misses_is_part_of_a_larger_one():
    pairs = pl.DataFrame({"query_id": QUERY_NAMES, "poem_id": ["p0"] * 8})
    sheets = [known_item_sheet(pairs, "c", "s", n, 3) for n in (2, 5, None, 50)]
    assert [len(sheet) for sheet in sheets] == [2, 5, 8, 8]
    assert set(sheets[0]["item_id"]) <= set(sheets[1]["item_id"]) <= set(sheets[2]["item_id"])
    assert sheets[2]["item_id"].to_list() == sheets[3]["item_id"].to_list()
    assert known_item_sheet(pairs.clear(), "c", "s", 3, 3).is_empty()


# What people see


def sheet_of(*pairs):
    rows = [(item_id("c", "s", *pair), *pair, place) for place, pair in enumerate(pairs, 1)]
    return frame(SHEET, rows)


def test_people_see_the_first_verses_and_no_name():
    shown = shown_items(sheet_of(("q1", "p3")), QUERY_TEXTS, POEM_TEXTS, 6)
    query, poem = shown[0].parts
    assert query.text == "سؤال q1"
    assert poem.text == "\n".join(["صدر p3 ... عجز p3"] * 6)
    assert shown[0].ids == {"item_id": item_id("c", "s", "q1", "p3")}


@pytest.mark.parametrize(("pair", "said"), [(("q9", "p1"), "query 'q9'"), (("q1", "p9"), "poem 'p9'")])
def test_an_item_without_text_is_an_error(pair, said):
    with pytest.raises(UserError, match=said):
        shown_items(sheet_of(pair), QUERY_TEXTS, POEM_TEXTS, 6)


@pytest.mark.parametrize(
    ("text", "runs"),
    [("بيت", "rtl"), ("a verse", "ltr"), ("בית", "rtl"), ("بيت طويل a", "rtl"), ("12 ...", "auto"), ("", "auto")],
)
def test_a_text_runs_as_most_of_its_letters_do(text, runs):
    assert direction(text) == runs


def test_only_arabic_letters_are_called_arabic():
    assert Part("poem", "", (("بيت", None),)).language == "ar"
    assert Part("poem", "", (("בית", None),)).language == ""
    assert Part("poem", "", (("", None),)).language == ""


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\x00")), min_size=2, max_size=2))
def test_a_table_reads_as_it_was_written_and_runs_nothing(texts):
    read = list(csv.reader(io.StringIO(csv_text(("a", "b"), [texts]), newline="")))
    assert read[0] == ["a", "b"]
    (back,) = unescaped([Row(2, dict(zip(read[0], read[1], strict=True)))], read[0])
    assert list(back.values.values()) == texts
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in read[1])


class Reader(HTMLParser):
    """The elements of a page, and the text of each item."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.texts, self.scripts, self.inside = [], [], [], [], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "article":
            self.texts.append("")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts.append(data)
        elif self.texts:
            self.texts[-1] += data


def page_of(items, questions=(QUESTIONS["thematic"],), **changed):
    settings = {"sheet": "a-sheet", "title": "A sheet", "told": "", "guidelines": "# Do\n\n- **2**: yes"} | changed
    return render_page(Page(questions=questions, items=items, **settings), TEMPLATE)


def hostile_item(number=0):
    parts = (Part("query", "Query", ((HOSTILE, None),)), Part("poem", "Poem", ((HOSTILE, HOSTILE), ("بيت", None))))
    return Item({"item_id": f"i{number}"}, parts)


def test_text_of_poems_stays_text():
    page = page_of([hostile_item()], title=HOSTILE, told=HOSTILE, guidelines=f"# {HOSTILE}\n\n{HOSTILE}")
    read = Reader(page)
    assert read.tags.count("script") == 2  # the page's own, and its settings
    assert "img" not in read.tags
    assert not any(name.startswith("on") for _, attributes in read.attributes for name in attributes)
    assert read.texts[0].count(HOSTILE) == 3


def test_settings_cannot_end_their_element():
    item = Item({"item_id": "</script><script>alert(1)</script>"}, hostile_item().parts)
    read = Reader(page_of([item], sheet="</script>&lt;"))
    assert read.tags.count("script") == 2
    settings = json.loads(read.scripts[-1])
    assert settings["sheet"] == "</script>&lt;"


def test_only_the_script_of_the_page_may_run_and_nothing_is_fetched():
    page = page_of([hostile_item()])
    read = Reader(page)
    policy = next(a["content"] for tag, a in read.attributes if a.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256(read.scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"""(src|href|action)\s*=\s*["']?(https?:)?//""", page.replace(HOSTILE, ""))
    assert "@import" not in page and "url(" not in page
    assert "https:" not in page and "http:" not in page


def test_a_page_is_blind_and_every_control_has_a_name():
    shown = shown_items(sheet_of(("q1", "p3"), ("q2", "p4")), QUERY_TEXTS, POEM_TEXTS, 6)
    page = page_of(shown)
    texts = page.replace("سؤال q1", "").replace("سؤال q2", "")
    texts = re.sub("(صدر|عجز) p[34]", "", texts)
    assert not re.search(r"\b(q1|q2|p3|p4)\b", texts)
    assert "a title" not in page and "a poet" not in page
    read = Reader(page)
    ids = {attributes["id"] for _, attributes in read.attributes if "id" in attributes}
    named = [attributes["aria-labelledby"] for _, attributes in read.attributes if "aria-labelledby" in attributes]
    assert len(named) == 4 and set(named) <= ids
    assert read.tags.count("label") == read.tags.count("input") + read.tags.count("textarea")
    assert [a["dir"] for tag, a in read.attributes if tag == "section" and "dir" in a] == ["rtl"] * 4


def test_the_name_of_what_a_browser_keeps_follows_the_content():
    def key(page):
        return json.loads(Reader(page).scripts[-1])["key"]

    first = key(page_of([hostile_item()]))
    assert key(page_of([hostile_item()], title="another", guidelines="other words")) == first
    assert key(page_of([hostile_item(1)])) != first
    assert key(page_of([])) != first


def test_guidelines_are_markdown_below_the_title():
    html = str(markdown("# Heading\n\n- **2**: yes\n\n<b onclick=x>no</b> ![i](x.png) [l](javascript:alert(1))"))
    assert "<h2>Heading</h2>" in html
    assert "<strong>2</strong>" in html
    assert "<b " not in html and "<img" not in html and 'href="javascript' not in html


@pytest.mark.parametrize("name", ["thematic", "known-item", "explanations"])
def test_the_guidelines_name_the_answers(name):
    text = (GUIDELINES / f"guidelines-{name}.md").read_text(encoding="utf-8")
    question = AUDIT_QUESTIONS[0] if name == "explanations" else QUESTIONS[name]
    assert all(f"**{answer.value}**" in text for answer in question.answers)


@pytest.mark.parametrize("missing", ["sheet.html", "sheet.js", "table.js", "sheet.css"])
def test_a_template_that_is_not_there_is_named(tmp_path, missing):
    for name in {"sheet.html", "sheet.js", "table.js", "sheet.css"} - {missing}:
        shutil.copy(TEMPLATE.with_name(name), tmp_path)
    with pytest.raises(UserError, match=missing):
        render_page(Page("s", "t", "", "", (QUESTIONS["thematic"],), []), tmp_path / "sheet.html")


# The script

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="runs the page's script, which needs node")


def in_script(expression, **values):
    """What an expression over the functions of the page's script gives."""
    code = f"const page = require({json.dumps(str(TEMPLATE.with_name('sheet.js')))}); const given = JSON.parse("
    code += f"require('fs').readFileSync(0, 'utf8')); console.log(JSON.stringify({expression}))"
    told = subprocess.run(
        ["node", "-e", code], input=json.dumps(values), capture_output=True, text=True, check=True, encoding="utf-8"
    )
    return json.loads(told.stdout)


def answers(grade, remark, name="i1"):
    return {"ids": [name], "answers": {"grade": grade} if grade else {}, "remark": remark}


@needs_node
def test_the_file_of_answers_is_read_as_it_is(tmp_path):
    items = [
        answers("2", ""),
        answers("0", 'لا، "maybe", so\nsecond line \u0007', "i2"),
        answers("", "open; why", "i3"),
        answers("", "", "i4"),
        answers("1", "=1+1", "i5"),
    ]
    settings = {"fields": ["grade"], "columns": ["item_id", "grade", "annotator", "remark"], "keepRemarks": True}
    text = in_script(
        "page.writeCsv(given.settings.columns, page.answerRows(given.settings, given.items, given.who))",
        settings=settings,
        items=items,
        who="  Amīna,  B. ",
    )
    assert list(csv.DictReader(io.StringIO(text, newline=""))) == [
        {"item_id": "i1", "grade": "2", "annotator": "Amīna, B.", "remark": ""},
        {"item_id": "i2", "grade": "0", "annotator": "Amīna, B.", "remark": 'لا، "maybe", so second line'},
        {"item_id": "i3", "grade": "", "annotator": "Amīna, B.", "remark": "open; why"},
        {"item_id": "i5", "grade": "1", "annotator": "Amīna, B.", "remark": "1+1"},
    ]
    file, listed = tmp_path / "amina.csv", tmp_path / "items.parquet"
    file.write_text(text, encoding="utf-8")
    sheet = [(f"i{number}", f"q{number}", "p", number) for number in range(1, 6)]
    write_table(frame(SHEET, sheet), listed, SHEET)
    write_table(POEM_TEXTS, tmp_path / "poems.parquet", POEMS)
    write_table(QUERY_TEXTS, tmp_path / "queries.parquet", QUERIES)
    options = ["--sheet", "s", "--items", str(listed), "--files", str(file), "--output", str(tmp_path / "a.parquet")]
    options += texts_in(tmp_path)
    assert main(["import_annotations", *options]) == 0
    assert pl.read_parquet(tmp_path / "a.parquet")["grade"].to_list() == [2, 0, 1]


@needs_node
@pytest.mark.parametrize(
    "text",
    [
        'item_id,grade,remark\ni1,2,"a ""b"", c\nd"\ni2,,\n',
        '\ufeffitem_id,grade,remark\r\ni1,2,"a ""b"", c\nd"\r\ni2,,\r\n\r\n',
        'item_id;grade;remark\r\ni1;2;"a ""b"", c\nd"\r\ni2;;',
        'item_id\tgrade\tremark\ni1\t2\t"a ""b"", c\nd"\ni2\t\t',
    ],
)
def test_the_page_reads_what_spreadsheets_save(text):
    assert in_script("page.readCsv(given.text)", text=text) == [
        {"item_id": "i1", "grade": "2", "remark": 'a "b", c\nd'},
        {"item_id": "i2", "grade": "", "remark": ""},
    ]


CHROME = next((found for name in ("chromium", "google-chrome", "chrome") if (found := shutil.which(name))), None)


@pytest.mark.skipif(CHROME is None, reason="opens the page, which needs Chromium")
def test_the_page_starts_in_a_browser_and_a_poem_runs_nothing(tmp_path):
    (tmp_path / "sheet.html").write_text(page_of([hostile_item(), hostile_item(1)]), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    told = subprocess.run(
        [CHROME, *options, (tmp_path / "sheet.html").as_uri()], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    read = Reader(told)
    assert "<title>A sheet</title>" in told
    classes = [a["class"] for tag, a in read.attributes if tag == "article"]
    assert classes == ["item current", "item"]
    assert told.count('aria-label="Item 1, open"') == 1
    assert "kept in this browser" in told or "keeps no answers" in told


# Audits of explanations


def explanations_of(n_verses, source="ai"):
    rows = [(poem, index, source, f"شرح {poem} {index}") for poem, n in n_verses.items() for index in range(n)]
    return frame(EXPLANATIONS, rows)


@given(st.integers(1, 12), st.integers(0, 99))
def test_every_poem_gives_one_verse_before_any_gives_two(n, seed):
    explained = explanations_of({"p0": 6, "p1": 1, "p2": 5})
    drawn = draw_verses(explained, "ai", n, seed)
    assert drawn.equals(draw_verses(explained.reverse(), "ai", n, seed))
    counts = dict(drawn["poem_id"].value_counts().iter_rows())
    assert len(counts) == min(n, 3)
    assert max(counts.values()) - min(count for poem, count in counts.items() if poem != "p1" or n < 4) <= max(n - 3, 1)
    more = draw_verses(explained, "ai", n + 1, seed)
    assert drawn.join(more, on=["poem_id", "verse_index"], how="anti").is_empty()


def test_a_source_without_explanations_is_an_error():
    with pytest.raises(UserError, match="did you mean 'prose'"):
        draw_verses(explanations_of({"p0": 1}, "prose"), "pros", 3, 1)


def test_why_there_is_nothing_to_audit_is_said_plainly(tmp_path, capsys):
    with pytest.raises(UserError, match="no explanation 'ai' to audit: they are from other, prose"):
        draw_verses(pl.concat([explanations_of({"p0": 1}, name) for name in ("prose", "other")]), "ai", 3, 1)
    with pytest.raises(UserError, match="there are no explanations at all"):
        draw_verses(explanations_of({}), "ai", 3, 1)
    with pytest.raises(UserError, match="all of them are empty"):
        draw_verses(explanations_of({"p0": 1}).with_columns(text=pl.lit(" ")), "ai", 3, 1)
    write_table(POEM_TEXTS, tmp_path / "poems.parquet", POEMS)
    write_table(explanations_of({"p0": 1}, "prose"), tmp_path / "explanations.parquet", EXPLANATIONS)
    write_table(explanations_of({}), tmp_path / "written" / "ai.parquet", EXPLANATIONS)
    options = ["--corpus", "c", "--source", "ai", "--poems", str(tmp_path / "poems.parquet"), "--seed", "1"]
    options += ["--explanations", str(tmp_path / "explanations.parquet"), str(tmp_path / "written" / "ai.parquet")]
    options += ["--guidelines", str(GUIDELINES / "guidelines-explanations.md"), "--csv", str(tmp_path / "audit.csv")]
    options += ["--template", str(TEMPLATE), "--html", str(tmp_path / "audit.html")]
    assert main(["draw_audit", *options]) == 2
    told = capsys.readouterr().err
    assert "the language model of the source 'ai' wrote no explanation" in told and "ai.rejects.csv" in told


def test_ids_that_begin_as_formulas_come_back_from_an_audit(tmp_path):
    names = ["=p", "+p", "-p", "@p", "'=p", "''@p", "'p"]
    poems, explained = poems_of({name: [("v", None)] for name in names}), explanations_of(dict.fromkeys(names, 1))
    shown = shown_verses(draw_verses(explained, "ai", None, 1), poems)
    rows = list(csv.DictReader(io.StringIO(audit_table(shown), newline="")))
    assert not any(row["poem_id"].startswith(("=", "+", "-", "@")) for row in rows)
    with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(row | {"verdict": "faithful"} for row in rows)
    assert sorted(read_audit(tmp_path / "a.csv", "a.csv", "ai", poems, explained)["poem_id"]) == sorted(names)


def test_a_verse_stands_between_its_neighbours():
    drawn = explanations_of({"p0": 5}).select("poem_id", "verse_index", "text")
    poems = poems_of({"p0": [(f"v{number}", None) for number in range(5)]})
    shown = shown_verses(drawn, poems)
    texts = [{part.kind: part.text for part in item.parts} for item in shown]
    assert texts[0] == {"verse": "v0", "around after": "v1\nv2", "explanation": "شرح p0 0"}
    assert texts[3]["around before"] == "v1\nv2" and texts[3]["around after"] == "v4"
    with pytest.raises(UserError, match="poem 'p0' has no verse 4"):
        shown_verses(drawn, poems_of({"p0": [("v", None)] * 4}))


def test_the_questions_of_an_audit_are_those_that_are_counted():
    assert tuple(answer.value for answer in AUDIT_QUESTIONS[0].answers) == VERDICTS
    keys = [answer.key for question in AUDIT_QUESTIONS for answer in question.answers]
    assert len(set(keys)) == len(keys) and "o" not in keys


def test_a_filled_audit_is_read(tmp_path):
    poems, explained = POEM_TEXTS, explanations_of({"p0": 9, "p1": 9})
    write_table(poems, tmp_path / "poems.parquet", POEMS)
    write_table(explained, tmp_path / "explanations.parquet", EXPLANATIONS)
    options = ["--corpus", "c", "--source", "ai", "--poems", str(tmp_path / "poems.parquet"), "--n", "4", "--seed", "1"]
    options += ["--explanations", str(tmp_path / "explanations.parquet"), "--template", str(TEMPLATE)]
    options += ["--guidelines", str(GUIDELINES / "guidelines-explanations.md"), "--csv", str(tmp_path / "audit.csv")]
    assert main(["draw_audit", *options, "--html", str(tmp_path / "audit.html")]) == 0
    rows = list(csv.DictReader((tmp_path / "audit.csv").open(encoding="utf-8", newline="")))
    assert len(rows) == 4 and all(row["verdict"] == "" for row in rows)
    filled = [row | {"verdict": "minor error", "added_content": "no", "annotator": "a"} for row in rows]
    with (tmp_path / "filled.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(filled)
    read = read_audit(tmp_path / "filled.csv", "filled.csv", "ai", poems, explained)
    assert len(read) == 4 and set(read["verdict"]) == {"minor error"}
    assert (tmp_path / "audit.html").read_text(encoding="utf-8").count("<article") == 4


def test_two_explanations_of_one_source_are_refused(tmp_path, capsys):
    write_table(POEM_TEXTS, tmp_path / "poems.parquet", POEMS)
    write_table(explanations_of({"p0": 2}), tmp_path / "e.parquet", EXPLANATIONS)
    options = ["--corpus", "c", "--source", "ai", "--poems", str(tmp_path / "poems.parquet"), "--seed", "1"]
    options += ["--explanations", *[str(tmp_path / "e.parquet")] * 2, "--template", str(TEMPLATE)]
    options += ["--guidelines", str(GUIDELINES / "guidelines-explanations.md"), "--csv", str(tmp_path / "audit.csv")]
    assert main(["draw_audit", *options, "--html", str(tmp_path / "audit.html")]) == 2
    assert "poem 'p0', verse 0 has two explanations 'ai'" in capsys.readouterr().err


# The verb


@pytest.fixture
def study(tmp_path):
    write_table(POEM_TEXTS, tmp_path / "poems.parquet", POEMS)
    write_table(QUERY_TEXTS, tmp_path / "queries.parquet", QUERIES)
    write_table(duplicates({"p1": "p0"}), tmp_path / "duplicates.csv", DUPLICATES)
    write_table(frame(PER_QUERY, PER_QUERY_ROWS), tmp_path / "per_query.parquet", PER_QUERY)
    write_table(frame(QRELS, [(query, "p0", 1) for query in QUERY_NAMES]), tmp_path / "qrels.parquet", QRELS)
    for system in ("a", "b", "weak"):
        lists = {query: ["p1" if query == "q0" else "p5", "p4"] for query in QUERY_NAMES if query != "q7"}
        write_table(run_of(lists), Run("c", "verse", "s", system).path(tmp_path / "runs"), RUN)
    return tmp_path


def draw(study, kind, *more):
    cross = {"query_sets": {"s": ["c"]}, "modes": {"c": ["verse"]}, "systems": dict.fromkeys(["a", "b"], "imported")}
    options = {"sheet": "try", "kind": kind, "corpus": "c", "query-set": "s", "results": study, "seed": 1, "verses": 6}
    options |= {"cross": json.dumps(cross), "queries": study / "queries.parquet", "poems": study / "poems.parquet"}
    options |= {"duplicates": study / "duplicates.csv", "template": TEMPLATE, "html": study / "out" / "sheet.html"}
    options |= {"guidelines": GUIDELINES / f"guidelines-{kind}.md", "csv": study / "out" / "sheet.csv"}
    options |= {"items": study / "out" / "items.parquet"}
    listed = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return main(["draw_sheet", *listed, *map(str, more)])


def test_a_thematic_sheet_is_drawn(study, capsys):
    assert draw(study, "thematic", "--depth", 2, "--n", 3) == 0
    assert "from the first 2 of 2 runs" in capsys.readouterr().out
    items = read_table(study / "out" / "items.parquet", SHEET)
    rows = list(csv.DictReader((study / "out" / "sheet.csv").open(encoding="utf-8", newline="")))
    assert [row["item_id"] for row in rows] == items["item_id"].to_list()
    assert list(rows[0]) == ["item_id", "query", "poem", "grade", "annotator", "remark"]
    assert b"\r" not in (study / "out" / "sheet.csv").read_bytes()
    page = Reader((study / "out" / "sheet.html").read_text(encoding="utf-8"))
    assert [a["data-item-id"] for tag, a in page.attributes if tag == "article"] == items["item_id"].to_list()


def test_a_sheet_of_misses_is_drawn(study, capsys):
    options = ["--mode", "verse", "--measure", "Recall@5", "--per-query", study / "per_query.parquet"]
    options += ["--qrels", study / "qrels.parquet"]
    assert draw(study, "known-item", *options) == 0
    told = "try: 4 items of 4 misses of a in mode verse (Recall@5 is 0 for 6 of 8 queries; "
    assert told + "of these 1 show the poem that was meant under another id, and 1 find nothing)" in (
        capsys.readouterr().out
    )
    items = read_table(study / "out" / "items.parquet", SHEET)
    assert set(items.select("query_id", "poem_id").iter_rows()) == {(f"q{number}", "p5") for number in (3, 4, 5, 6)}
    assert draw(study, "known-item", *options, "--system", "weak", "--n", 2) == 0
    assert len(read_table(study / "out" / "items.parquet", SHEET)) == 2
    assert "misses of weak" in capsys.readouterr().out


@pytest.mark.parametrize(("kind", "option"), [("thematic", "--depth"), ("known-item", "--mode")])
def test_an_option_that_a_kind_needs_is_named(study, capsys, kind, option):
    assert draw(study, kind) == 2
    assert f"a sheet of kind {kind} needs {option}" in capsys.readouterr().err


def of_pool(study, part="gold"):
    """A pool of three queries, of which two are test one of these gold; what a sheet of a part needs."""
    rows = [(query, poem) for query in ("q0", "q1", "q2") for poem in ("p0", "p3", "p5")]
    pooled = items(pl.DataFrame(rows, schema=["query_id", "poem_id"], orient="row"), "c", "s", 7)
    write_table(pooled, study / "pool.parquet", POOL)
    parts = [("q0", 1, "test", True), ("q1", 1, "test", False), ("q2", 1, "train", False), ("q3", 1, "test", True)]
    write_table(frame(SPLIT, parts), study / "split.csv", SPLIT)
    options = ["--part", part, "--pool", study / "pool.parquet", "--split", study / "split.csv"]
    return pooled, [*options, "--rubric", GUIDELINES / "rubric-theme.yaml"]


@pytest.mark.parametrize(("part", "queries"), [("gold", {"q0"}), ("test", {"q0", "q1"}), ("train", {"q2"})])
def test_a_sheet_of_a_part_holds_its_whole_pool(study, capsys, part, queries):
    pooled, options = of_pool(study, part)
    assert draw(study, "thematic", *options) == 0
    drawn = read_table(study / "out" / "items.parquet", SHEET)
    wanted = pooled.filter(pl.col("query_id").is_in(sorted(queries)))
    assert set(drawn.select("item_id", "poem_id").rows()) == set(wanted.select("item_id", "poem_id").rows())
    assert drawn["place"].to_list() == list(range(1, 3 * len(queries) + 1))
    told = f"{len(drawn)} items of {count(len(queries), 'query', 'queries')}: the pool of the "
    assert told in capsys.readouterr().out


def test_people_grade_by_the_rubric(study, capsys):
    _, options = of_pool(study, "test")
    assert draw(study, "thematic", *options) == 0
    page = Reader((study / "out" / "sheet.html").read_text(encoding="utf-8"))
    settings = json.loads(page.scripts[-1])
    assert settings["answers"] == {"grade": ["0", "1", "2", "3"]} and set(settings["keys"]) == set("0123")
    rubric = read_rubric(GUIDELINES / "rubric-theme.yaml")
    assert all(rubric.overall.anchors[point] in text for text in page.texts for point in rubric.scale)
    rows = list(csv.DictReader((study / "out" / "sheet.csv").open(encoding="utf-8", newline="")))
    graded = "item_id,grade\n" + "".join(f"{row['item_id']},{i % 4}\n" for i, row in enumerate(rows))
    (study / "layla.csv").write_text(graded, encoding="utf-8")
    options = ["--sheet", "try", "--items", str(study / "out" / "items.parquet"), *texts_in(study)]
    options += ["--output", str(study / "annotations.parquet"), "--files", str(study / "layla.csv")]
    assert main(["import_annotations", *options]) == 2
    assert "expected 0, 1 or 2" in capsys.readouterr().err
    assert main(["import_annotations", *options, "--rubric", str(GUIDELINES / "rubric-theme.yaml")]) == 0
    assert set(pl.read_parquet(study / "annotations.parquet")["grade"]) == {0, 1, 2, 3}


def test_a_sheet_of_a_part_names_the_option_that_it_lacks(study, capsys):
    assert draw(study, "thematic", "--part", "gold") == 2
    assert "a sheet of a part needs --pool" in capsys.readouterr().err


def test_a_scale_that_no_key_can_choose_is_refused(tmp_path):
    text = (GUIDELINES / "rubric-theme.yaml").read_text(encoding="utf-8")
    (tmp_path / "r.yaml").write_text(text.replace("[0, 1, 2, 3]", "[0, 1, 2, 10]").replace("      3:", "      10:"))
    with pytest.raises(UserError, match="10 on its scale is none of 0 to 9"):
        sheet_grades(tmp_path / "r.yaml")
    assert sheet_grades(None) == (0, 1, 2)
    assert sheet_grades(GUIDELINES / "rubric-thematic.yaml") == (1, 2, 3, 4, 5)


def test_a_spreadsheet_may_save_the_table(study):
    assert draw(study, "thematic", "--depth", 1) == 0
    text = (study / "out" / "sheet.csv").read_text(encoding="utf-8")
    rows = [row | {"grade": "1"} for row in csv.DictReader(io.StringIO(text, newline=""))]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, rows[0], delimiter=";", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    saved = study / "layla.csv"
    saved.write_bytes(("\ufeff" + out.getvalue()).encode())
    options = ["--sheet", "try", "--items", str(study / "out" / "items.parquet"), "--files", str(saved)]
    options += ["--output", str(study / "annotations.parquet"), *texts_in(study)]
    assert main(["import_annotations", *options]) == 0
    table = pl.read_parquet(study / "annotations.parquet")
    assert len(table) == len(rows) and set(table["annotator"]) == {"layla"}
