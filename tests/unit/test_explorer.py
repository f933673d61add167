"""The explorer in a real browser: what it filters, marks and shows, by keyboard and without a network."""

import json
from itertools import pairwise

import polars as pl
import pytest
from browser import CHROME, Browser, address_of
from explored_study import CROSS, HOSTILE, collected, write_explored
from test_report_page import page_of

from verseir.arabic.tokens import tokenize
from verseir.layout import Run, runs
from verseir.overlap import poem_tokens
from verseir.report.example_records import DEPTH

pytestmark = pytest.mark.skipif(CHROME is None, reason="no Chromium or Chrome is installed: the page is not driven")

SYSTEMS = ["bm25", "dense-a", "dense-b"]
#: Chooses in a form as a reader does.
CHOOSE = """(choices => {
  const form = document.querySelector("#explorer form");
  for (const [name, label] of Object.entries(choices)) {
    const field = form.elements[name];
    if (field.tagName === "INPUT") field.value = label;
    else field.value = [...field.options].find(option => option.textContent === label).value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  const links = [...document.querySelectorAll("#explorer .found a")];
  return links.map(link => decodeURIComponent(link.hash.split("/").slice(1).join("/")));
})"""
MARKS = """[...document.querySelector("#explorer .answers .verses").querySelectorAll("mark")].map(mark => {
  const [before, after] = [mark.previousSibling?.textContent ?? "", mark.nextSibling?.textContent ?? ""];
  return [before.slice(-1), mark.textContent, after.slice(0, 1)];
})"""


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    """The study with its page; names and words of it would be markup if a page took them for it."""
    results = tmp_path_factory.mktemp("explored") / "small"
    spec = write_explored(results)
    examples = results / "report" / "explorer.json"
    examples.parent.mkdir()
    examples.write_text(collected(results), encoding="utf-8")
    page_of(results, spec, {name: {"kind": kind} for name, kind in CROSS["systems"].items()}, "--examples", examples)
    return results


@pytest.fixture(scope="module")
def chrome():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def page(explored, chrome):
    chrome.call("Emulation.setEmulatedMedia", media="", features=[])
    chrome.call("Emulation.setDeviceMetricsOverride", width=1400, height=1000, deviceScaleFactor=1, mobile=False)
    chrome.open(address_of(explored / "report" / "index.html"))
    return chrome


def choose(page, **choices):
    return page.run(f"{CHOOSE}({json.dumps(choices)})")


def found(results, mode, query_set="known"):
    """By query: the systems that find it, from the ranked lists."""
    qrels = pl.read_parquet(results / "queries" / f"{query_set}.qrels.parquet").filter(pl.col("grade") > 0)
    ids = pl.read_parquet(results / "queries" / f"{query_set}.parquet")["query_id"]
    finders = {query_id: set() for query_id in ids}
    for system in SYSTEMS:
        run = pl.read_parquet(Run("poems", mode, query_set, system).path(results / "runs"))
        hits = run.filter(pl.col("rank") <= DEPTH).join(qrels, on=["query_id", "poem_id"], how="semi")
        for query_id in hits["query_id"]:
            finders[query_id].add(system)
    return finders


def test_it_opens_from_disk_without_a_fault_and_asks_for_nothing(explored, page):
    assert page.errors == []
    assert page.requests == [address_of(explored / "report" / "index.html")]
    assert page.run("performance.getEntriesByType('resource').length") == 0
    assert page.run("document.querySelectorAll('#explorer .found li').length") > 20
    assert page.run("getComputedStyle(document.querySelector('.without-script')).display") == "none"
    assert page.run("document.title") == "A small study"


def test_texts_stay_texts(page):
    choose(page, words="moon")
    page.run("document.querySelector('#explorer .found a').click()")
    assert HOSTILE in page.run("document.querySelector('#explorer .query h3').textContent")
    assert HOSTILE in page.run("document.querySelector('#explorer .answers').textContent")
    assert page.run("document.images.length") == 0 and page.run("document.title") == "A small study"
    assert page.run("document.querySelectorAll('#explorer script').length") == 1
    assert "moon" in page.run("[...document.querySelectorAll('#explorer h3 mark')].map(mark => mark.textContent)")


@pytest.mark.parametrize("mode", ["verse", "explanation", "verse+explanation"])
def test_found_by_one_and_not_by_another(explored, page, mode):
    finders = found(explored, mode)
    told = 0
    choose(page, mode=mode, **{"set": "known"})
    for by in SYSTEMS:
        for other in SYSTEMS:
            shown = choose(page, by=by, **{"not": other})
            expected = [f"known/{query}" for query, own in finders.items() if by in own and other not in own]
            assert shown == expected
            told += len(shown)
    assert told > 20


def test_hits_misses_and_any(explored, page):
    finders = found(explored, "verse")
    free = {"set": "known", "by": "(no condition)", "not": "(no condition)"}

    def expected(keep):
        return [f"known/{query}" for query, own in finders.items() if keep(own)]

    assert choose(page, **free) == expected(lambda own: True)
    assert choose(page, **free | {"by": "bm25"}) == expected(lambda own: "bm25" in own)
    assert choose(page, **free | {"not": "bm25"}) == expected(lambda own: "bm25" not in own)
    assert choose(page, **free | {"by": "any system"}) == expected(bool)
    assert choose(page, **free | {"not": "any system"}) == expected(lambda own: not own)
    n = len(expected(lambda own: not own))
    assert page.run("document.querySelector('#explorer .told').textContent").startswith(f"{n} quer")
    assert page.run("document.querySelector('#explorer .told').getAttribute('aria-live')") == "polite"
    page.run("document.querySelector('#explorer form').reset()")
    page.run("new Promise(done => setTimeout(done, 50))")
    assert page.run("document.querySelectorAll('#explorer .found li').length") == len(finders) + 2


def test_registers_and_modes_are_filters(explored, page):
    asked = pl.read_parquet(explored / "queries" / "known.parquet")
    quoting = asked.filter(pl.col("register") == "quoting")["query_id"]
    assert choose(page, register="quoting") == [f"known/{query}" for query in quoting]
    page.run("document.querySelector('#explorer form').reset()")
    page.run("new Promise(done => setTimeout(done, 50))")
    assert [name for name in choose(page, mode="explanation") if name.startswith("themes")] == []
    assert len([name for name in choose(page, mode="verse") if name.startswith("themes")]) == 2


@pytest.mark.parametrize("typed", ["ثَلاثُون", "ثلاثون", "ثـلاثون  ", "THIRTY", "demo-001-q"])
def test_words_are_found_without_vowel_signs_and_in_any_form_of_alef(explored, page, typed):
    texts = dict(pl.read_parquet(explored / "queries" / "known.parquet").select("query_id", "text").iter_rows())
    expected = [
        f"known/{query}"
        for query, text in texts.items()
        if all(word in " ".join(tokenize(text)) for word in tokenize(typed)) or typed in query
    ]
    assert choose(page, words=typed) == expected


def test_alef_and_hamza_make_no_difference(page):
    forms = [choose(page, words=form) for form in ("أن", "ان", "إن", "آن")]
    assert forms[0] and all(form == forms[0] for form in forms)


def test_marked_words_are_those_that_overlap_counts(explored, page):
    poems = dict(pl.read_parquet(explored / "corpora/poems/poems.parquet").select("poem_id", "verses").iter_rows())
    qrels = dict(pl.read_parquet(explored / "queries/known.qrels.parquet").select("query_id", "poem_id").iter_rows())
    texts = dict(pl.read_parquet(explored / "queries/known.parquet").select("query_id", "text").iter_rows())
    told = json.loads((explored / "report" / "explorer.json").read_text(encoding="utf-8"))
    shown = {query["id"]: query["answers"][0][4] for query in told["queries"] if query["set"] == "known"}
    n_marks = 0
    for query_id in [name for name in texts if name.startswith("demo")]:
        page.run(f"location.hash = '#explorer/known/{query_id}'")
        page.run("new Promise(done => setTimeout(done, 20))")
        marks = page.run(MARKS)
        verses = [poems[qrels[query_id]][i] for i in shown[query_id]]
        shared = set(tokenize(texts[query_id])) & set(poem_tokens(verses, "full")[0])
        assert {word for _, mark, _ in marks for word in tokenize(mark)} == shared
        # A mark never begins or ends within a word: letters on both sides of its edge would part.
        assert not [mark for mark in marks if (mark[0] + mark[2]).strip(" ،؛:.!؟«»()\u2026-").strip()]
        heading = page.run("[...document.querySelectorAll('#explorer h3 mark')].map(mark => mark.textContent)")
        whole = set(tokenize(texts[query_id])) & set(poem_tokens(poems[qrels[query_id]], "full")[0])
        assert {word for mark in heading for word in tokenize(mark)} == whole
        n_marks += len(marks)
    assert n_marks > 50


def test_verses_stand_right_to_left_in_two_columns(page):
    page.run("location.hash = '#explorer/known/demo-001-q'")
    page.run("new Promise(done => setTimeout(done, 20))")
    boxes = page.run(
        """[...document.querySelectorAll("#explorer .answers .halves p")].map(line => {
          const [first, second] = [...line.children].map(half => half.getBoundingClientRect());
          return [getComputedStyle(line).direction, first.left, second.right, first.top - second.top];
        })"""
    )
    assert len(boxes) >= 3
    for direction, left, right, apart in boxes:
        assert direction == "rtl" and left >= right and abs(apart) < 4
    assert page.run("document.querySelector('#explorer .query h3').dir") == "rtl"
    assert page.run("document.querySelector('#explorer .query h3').lang") == "ar"
    assert page.run("getComputedStyle(document.querySelector('#explorer .found a q')).direction") == "rtl"


def test_a_link_opens_a_query_whatever_its_id(explored, chrome):
    for query_id in ("demo-002-q", "strange/id #1"):
        name = query_id.replace("/", "%2F").replace(" ", "%20").replace("#", "%23")
        chrome.open("about:blank")
        chrome.open(f"{address_of(explored / 'report' / 'index.html')}#explorer/known/{name}")
        facts = chrome.run("document.querySelector('#explorer .facts-line').textContent")
        assert query_id in facts
        assert chrome.run("document.activeElement.className") == "query"
        assert chrome.run("document.querySelector('#explorer .query').getBoundingClientRect().top") < 1000
        assert chrome.run("document.querySelector('#explorer').classList.contains('is-chosen')")
    assert chrome.errors == []


@pytest.mark.parametrize("name", ["known/none", "x/y", "known/%E0%A4%A", "/"])
def test_a_link_to_no_query_says_so(explored, chrome, name):
    chrome.open("about:blank")
    chrome.open(f"{address_of(explored / 'report' / 'index.html')}#explorer/{name}")
    told = chrome.run("document.querySelector('#explorer .told').textContent")
    assert told == "The query of this link is not among those of this page."
    assert chrome.run("document.querySelector('#explorer .told').getBoundingClientRect().top") < 1000
    assert chrome.errors == []


def test_keys_alone_reach_and_open_a_query(page):
    page.run("document.querySelector('#explorer input[name=words]').focus()")
    for _ in range(20):
        page.press("Tab")
        if page.run("!!document.activeElement.closest('.found')"):
            break
    assert page.run("document.activeElement.tagName") == "A"
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    first = page.run("document.activeElement.hash")
    page.press("ArrowDown", 2)
    page.press("ArrowUp")
    second = page.run("document.activeElement.hash")
    assert second != first and second == page.run("document.querySelectorAll('#explorer .found a')[1].hash")
    page.press("Enter")
    assert page.run("document.activeElement.className") == "query" and page.run("location.hash") == second
    assert page.run("document.querySelector('#explorer .found [aria-current]').hash") == second
    page.press("Escape")
    assert page.run("document.activeElement.hash") == second
    assert page.errors == []


def test_colours_can_be_chosen(explored, page):
    def paper():
        return page.run("getComputedStyle(document.body).backgroundColor")

    def press(name):
        page.run(f"[...document.querySelectorAll('.theme button')].find(one => one.textContent === '{name}').click()")

    page.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "light"}])
    light = paper()
    press("Dark")
    dark = paper()
    assert dark != light
    page.open(address_of(explored / "report" / "index.html"))
    assert paper() == dark
    assert page.run("document.querySelector('.theme [aria-pressed=true]').textContent") == "Dark"
    press("As the system")
    assert paper() == light
    page.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert paper() == dark
    press("Light")
    assert paper() == light
    page.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert paper() == "rgb(255, 255, 255)"
    press("As the system")
    assert page.errors == []


def test_colours_hold_where_the_browser_keeps_nothing(explored, page):
    script = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } })"
    name = page.call("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
    page.open(address_of(explored / "report" / "index.html"))
    page.run("document.querySelector('.theme button[value=dark]').click()")
    assert page.run("document.documentElement.dataset.theme") == "dark" and page.errors == []
    page.call("Page.removeScriptToEvaluateOnNewDocument", identifier=name)


def test_print_has_the_chosen_query_and_no_controls(page):
    page.call("Emulation.setEmulatedMedia", media="print")
    seen = "getComputedStyle(document.querySelector('#explorer {}')).display"
    hidden = {name: page.run(seen.format(name)) for name in ("form", ".found", ".shelf")}
    assert set(hidden.values()) == {"none"}
    page.run("location.hash = '#explorer/known/demo-001-q'")
    page.run("new Promise(done => setTimeout(done, 20))")
    assert page.run(seen.format(".shelf")) == "block" and page.run(seen.format("form")) == "none"


def test_without_scripts_the_page_says_what_is_missing(explored, chrome):
    chrome.call("Emulation.setScriptExecutionDisabled", value=True)
    chrome.open(address_of(explored / "report" / "index.html"))
    chrome.call("Emulation.setScriptExecutionDisabled", value=False)
    assert chrome.run("getComputedStyle(document.querySelector('.without-script')).display") == "block"
    assert "needs JavaScript" in chrome.run("document.querySelector('.without-script').textContent")
    for hidden in (".desk", ".theme"):
        assert chrome.run(f"getComputedStyle(document.querySelector('{hidden}')).display") == "none"


def test_it_can_be_read_aloud(page):
    page.run("location.hash = '#explorer/known/demo-001-q'")
    page.run("new Promise(done => setTimeout(done, 20))")
    levels = page.run("[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(head => Number(head.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    unnamed = """[...document.querySelectorAll('#explorer :is(input, select, button, nav, article, section)')]
      .filter(one => !one.closest('[hidden]') && !one.labels?.length)
      .filter(one => !one.getAttribute('aria-label') && !one.textContent.trim()).length"""
    assert page.run(unnamed) == 0
    assert page.run("[...document.querySelectorAll('table')].every(table => table.caption)")
    assert page.run("[...document.querySelectorAll('th')].every(head => head.scope)")
    assert page.run("[...document.querySelectorAll('svg')].every(one => one.getAttribute('aria-labelledby'))")


def test_nothing_is_wider_than_a_phone(page):
    page.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
    page.run("location.hash = '#explorer/known/demo-001-q'")
    page.run("new Promise(done => setTimeout(done, 50))")
    assert page.run("document.documentElement.scrollWidth") <= 390


LONG_NAMES = """(() => {
  const places = ["h1", ".byline b", "header .prose", ".poem-name b bdi", ".poem-name > bdi", ".poem-name > span",
    ".run h5", ".query h3", ".query .facts-line span", ".found q", ".found small span", "#explorer .told", ".explained",
    ".findings p"];
  for (const place of places) for (const one of document.querySelectorAll(place)) one.textContent = "x_".repeat(300);
  return document.documentElement.scrollWidth;
})()"""


def test_names_without_a_blank_are_no_wider_than_a_phone(page):
    page.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
    page.run("location.hash = '#explorer/known/demo-001-q'")
    page.run("new Promise(done => setTimeout(done, 50))")
    assert page.run(LONG_NAMES) <= 390
    for width in (300, 700, 390, 1400):
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        page.run("new Promise(done => setTimeout(done, 100))")
        assert page.run("document.documentElement.scrollWidth") <= width
    assert page.errors == []


def test_every_run_is_there(explored):
    told = json.loads((explored / "report" / "explorer.json").read_text(encoding="utf-8"))
    there = {
        (query["set"], told["modes"][m]["name"], told["systems"][s])
        for query in told["queries"]
        for m, row in enumerate(query["results"])
        for s, one in enumerate(row)
        if one
    }
    assert there == {(run.query_set, run.mode, run.system) for run in runs(CROSS)}
