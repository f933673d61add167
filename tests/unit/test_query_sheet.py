"""The sheet on which people write queries: which poems it has, its tables, its page, and what the page saves."""

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.config import load_study, query_sheet
from verseir.faults import InputFaults
from verseir.judging.query_sheet import COLUMNS, draw_poems, render_query_page, shown_poems
from verseir.queries.load import load_query_set
from verseir.tables import DUPLICATES, POEMS, write_table

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "workflow" / "report" / "query_sheet.html"
GUIDELINES = ROOT / "resources" / "prompts" / "guidelines-queries.md"
HOSTILE = "</script><script>document.title='run'</script>"
REGISTERS = ["quoting", "half-remembered", "abstract", "thematic"]
VERSES = [[("قفا نبك من ذكرى", "حبيب ومنزل")] * 15, [("床前明月光", None)], [("=1+1", HOSTILE)], [("a b c", "d e f")]]


def poems(n=12, verses=VERSES):
    rows = []
    for i in range(n):
        halves = [{"first": first, "second": second} for first, second in verses[i % len(verses)]]
        known = (f"p{i}", f"title {i}", "شاعر" if i % 2 else None, "old" if i % 3 else "new")
        rows.append((*known, None, None, "love" if i % 4 else None, None, halves, None))
    return pl.DataFrame(rows, schema=dict(POEMS.columns), orient="row")


def duplicates(n=12, classes=()):
    rows = [(f"p{i}", dict(classes).get(f"p{i}", f"p{i}"), 1, "unique", 0.0) for i in range(n)]
    return pl.DataFrame(rows, schema=dict(DUPLICATES.columns), orient="row")


@given(st.integers(1, 14), st.integers(0, 99), st.randoms())
def test_a_draw_depends_on_the_seed_alone_and_keeps_shares(n, seed, random):
    shuffled = poems().sample(fraction=1, shuffle=True, seed=random.randrange(1 << 16))
    drawn = draw_poems(poems(), duplicates(), n, seed, ["genre", "era"])
    assert drawn.equals(draw_poems(shuffled, duplicates().reverse(), n, seed, ["genre", "era"]))
    assert len(drawn) == min(n, 12) == drawn["poem_id"].n_unique()
    if n == 6:
        assert dict(drawn["era"].value_counts().iter_rows()) == {"old": 4, "new": 2}


def test_one_of_several_copies_is_drawn():
    drawn = draw_poems(poems(), duplicates(classes={"p3": "p1", "p5": "p1"}), 12, 1)
    assert len(drawn) == 10 and not {"p3", "p5"} & set(drawn["poem_id"])


def draw(tmp_path, *more, registers=REGISTERS):
    write_table(poems(), tmp_path / "poems.parquet", POEMS)
    write_table(duplicates(), tmp_path / "duplicates.csv", DUPLICATES)
    options = ["--corpus", "mine", "--poems", str(tmp_path / "poems.parquet"), "--n", "4", "--verses", "12"]
    options += ["--duplicates", str(tmp_path / "duplicates.csv"), "--seed", "3", "--guidelines", str(GUIDELINES)]
    options += ["--template", str(TEMPLATE), "--csv", str(tmp_path / "q.csv"), "--html", str(tmp_path / "q.html")]
    return main(["draw_query_sheet", *options, "--registers", *registers, *more])


def rows_of(path):
    return list(csv.DictReader(path.open(encoding="utf-8-sig", newline="")))


def test_the_table_is_a_query_file_once_it_is_filled_in(tmp_path, capsys):
    assert draw(tmp_path, "--themes", str(tmp_path / "t.csv"), "--strata", "genre", "era") == 0
    assert "mine: 4 of 12 poems (genre: love" in capsys.readouterr().out
    rows = rows_of(tmp_path / "q.csv")
    assert list(rows[0]) == list(COLUMNS) and len(rows) == 12
    assert [row["register"] for row in rows[:3]] == REGISTERS[:3]
    assert all(row["text"] == "" and row["relevant"] == row["poem_id"] for row in rows)
    assert len({row["query_id"] for row in rows}) == 12
    assert {row["register"] for row in rows_of(tmp_path / "t.csv")} == {"thematic"}
    filled = [row | {"text": f"query {number}, it is"} for number, row in enumerate(rows)]
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(filled)
    (tmp_path / "filled.csv").write_text(out.getvalue(), encoding="utf-8")
    read = load_query_set("mine", {"path": "filled.csv"}, tmp_path)
    assert len(read.queries) == len(read.qrels) == 12
    assert dict(read.qrels.select("query_id", "poem_id").iter_rows()) == {
        row["query_id"]: row["poem_id"] for row in rows
    }


def test_a_sheet_without_themes_has_no_table_of_them(tmp_path):
    assert draw(tmp_path, "--themes", str(tmp_path / "t.csv"), registers=["abstract"]) == 0
    assert not (tmp_path / "t.csv").exists()
    assert len(rows_of(tmp_path / "q.csv")) == 4
    assert 'id="save-themes"' not in (tmp_path / "q.html").read_text(encoding="utf-8")


def page(registers=REGISTERS):
    return render_query_page(shown_poems(poems(4)), registers, "Queries", "told", "# Do\n\nso", 12, TEMPLATE)


def test_poems_stay_text_and_long_ones_are_whole_in_the_page():
    html = page()
    assert html.count("<script") == 2 and "document.title='run'</script>" not in html
    assert html.count('class="late"') == 3 and "Show all 15 verses" in html
    assert html.count("<textarea") == 16 and html.count('dir="rtl"') == 2
    assert "title 0" not in html.partition('id="settings"')[0]  # a title is often the first line
    assert not any(word in html for word in ("http:", "https:", "@import", "url("))


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="runs the page's script, which needs node")


def in_script(expression, **values):
    code = f"const page = require({json.dumps(str(TEMPLATE.with_suffix('.js')))}); const given = JSON.parse("
    code += f"require('fs').readFileSync(0, 'utf8')); console.log(JSON.stringify({expression}))"
    told = subprocess.run(["node", "-e", code], input=json.dumps(values), capture_output=True, text=True, check=True)
    return json.loads(told.stdout)


@needs_node
def test_what_the_page_saves_is_a_query_file(tmp_path):
    settings = json.loads(page().partition('id="settings">')[2].partition("</script>")[0])
    written = [dict.fromkeys(REGISTERS, "") for _ in range(4)]
    written[0] |= {"quoting": "قفا نبك، من", "abstract": "  a man\nweeps ", "thematic": "love"}
    written[2] |= {"half-remembered": "=1, one"}
    call = (
        "page.writeCsv(given.settings.columns, page.queryRows(given.settings, given.written, 'Amīna B.', given.themes))"
    )
    queries, themes = (in_script(call, settings=settings, written=written, themes=which) for which in (False, True))
    (tmp_path / "queries.csv").write_text(queries, encoding="utf-8")
    read = load_query_set("mine", {"path": "queries.csv"}, tmp_path)
    assert dict(read.queries.select("query_id", "text").iter_rows()) == {
        "Amīna-B-s001-quoting": "قفا نبك، من",
        "Amīna-B-s001-abstract": "a man weeps",
        "Amīna-B-s003-half-remembered": "1, one",
    }
    rows = list(csv.DictReader(io.StringIO(queries, newline="")))
    assert rows[0]["poem"].count("\n") == 14 and rows[2]["poem"].startswith("'=1+1")
    assert [row["text"] for row in csv.DictReader(io.StringIO(themes, newline=""))] == ["love"]
    assert in_script("page.readCsv(given.text)", text=queries)[0]["poem_id"] == rows[0]["poem_id"]


@needs_node
@pytest.mark.parametrize(
    ("query", "poem", "run"),
    [
        ("الحبيب والمنزل", "قِفا نَبكِ", []),
        ("قال: قفا نبك ثم مضى", "قِفَا نَبْكِ من ذكرى", ["قفا", "نبك"]),
        ("إلى المدينه", "رحلت الى المدينة", ["الي", "المدينه"]),
        ("bright Burning", "Tyger, bright: burning", ["bright", "burning"]),
    ],
)
def test_words_in_a_row_are_found_whatever_their_spelling(query, poem, run):
    assert in_script("page.sharedRun(given.query, given.poem)", query=query, poem=poem) == run


CHROME = next((found for name in ("chromium", "google-chrome", "chrome") if (found := shutil.which(name))), None)


@pytest.mark.skipif(CHROME is None, reason="opens the page, which needs Chromium")
def test_the_page_starts_in_a_browser(tmp_path):
    (tmp_path / "sheet.html").write_text(page(), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    told = subprocess.run(
        [CHROME, *options, (tmp_path / "sheet.html").as_uri()], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert "<title>Queries</title>" in told and 'class="item current"' in told
    assert told.count('aria-label="Poem 1, open"') == 1
    assert "kept in this browser" in told or "keeps nothing" in told


def study(**more):
    given = {"study": "s", "modes": {"verse": ["verse"]}, "systems": ["bm25"]}
    given["corpora"] = {"c": {"adapter": "jsonl", "path": "c.jsonl"}}
    given["query_sets"] = {"q": {"corpora": ["c"], "probe": {"corpus": "c", "n": 2}}}
    return given | more


def test_a_study_of_one_corpus_need_not_speak_of_the_sheet():
    sheet = query_sheet(load_study(study(), ROOT))
    assert sheet["corpus"] == "c" and sheet["n"] == 20 and sheet["registers"] == REGISTERS
    assert query_sheet(load_study(study(query_sheet={"n": 5, "seed": 1}), ROOT))["n"] == 5


def test_of_several_corpora_one_is_named():
    several = study()
    several["corpora"] = several["corpora"] | {"d": {"adapter": "jsonl", "path": "d.jsonl"}}
    assert "corpus" not in query_sheet(load_study(several, ROOT))
    for asked, told in (({}, "one of: c, d"), ({"corpus": "e"}, "unknown corpus 'e'"), ({"m": 1}, "unknown key: m")):
        with pytest.raises(InputFaults, match=told):
            load_study(several | {"query_sheet": asked}, ROOT)
    assert query_sheet(load_study(several | {"query_sheet": {"corpus": "d"}}, ROOT))["corpus"] == "d"
