"""The page: whole, self-contained, escaped, and sensible for odd studies."""

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import unquote

import pytest
from report_study import SYSTEMS, TEMPLATE, contrast, register, score, study, write_study

from verseir.__main__ import main
from verseir.faults import UserError
from verseir.report.build import build_report
from verseir.report.spoken import main_measures

VOID = {"meta", "link", "br", "hr", "img", "input", "col"}
HOSTILE = '<script>alert("x")</script>&'


class Page(HTMLParser):
    """Tags, attributes, text and what was closed wrongly."""

    def __init__(self, markup):
        super().__init__()
        self.attributes, self.text, self.open, self.wrong, self.tags = [], [], [], [], []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)

    @property
    def words(self):
        return " ".join("".join(self.text).split())


def page_of(results, spec=None, systems=SYSTEMS, *more):
    """Write manifest, figure and report as the workflow does; return the markup and what a parser sees."""
    spec = spec or study()
    encodings = sorted(map(str, (results / "encodings").rglob("*.json")))
    arguments = [
        "write_manifest",
        "--results",
        str(results),
        "--study",
        json.dumps(spec),
        "--systems",
        json.dumps(systems),
    ]
    arguments += ["--inputs", str(results / "inputs.json"), "--encodings", *encodings]
    assert (
        main([*arguments, "--manifest", str(results / "manifest.json"), "--config", str(results / "config.yaml")]) == 0
    )
    figure = str(results / "figures" / "registers.svg")
    assert (
        main(
            [
                "plot_registers",
                "--registers",
                str(results / "tables" / "registers.csv"),
                "--measures",
                json.dumps(main_measures(spec)),
                "--output",
                figure,
            ]
        )
        == 0
    )
    output = results / "report" / "index.html"
    options = ["--results", str(results), "--template", str(TEMPLATE), *map(str, more)]
    assert main(["write_report", *options, "--output", str(output)]) == 0
    markup = output.read_text(encoding="utf-8")
    return markup, Page(markup)


REGISTERS = [
    register(name, system, mean, mode=mode)
    for mode in ("verse", "explanation")
    for name, means in (("quoting", (0.9, 0.6)), ("abstract", (0.2, 0.7)))
    for system, mean in zip(("bm25", "dense-a"), means, strict=True)
]
CONTRASTS = [
    contrast("dense-a", "bm25", -0.2, -0.31, -0.1, 0.0),
    contrast("dense-b", "bm25", None, None, None, None, note="too few"),
]
SCORES = [score("bm25", 0.7, 0.6, 0.8), score("dense-a", 0.5, 0.4, 0.6), score("dense-b", 0.1)]


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    results = tmp_path_factory.mktemp("results") / "small"
    write_study(results, study(), SCORES, CONTRASTS, REGISTERS, warnings=["meter 'الطويل' is unknown"])
    return results, *page_of(results)


def test_page_is_well_formed(usual):
    _, markup, page = usual
    assert page.wrong == [] and page.open == []
    assert markup.startswith("<!doctype html>")
    assert page.tags.count("h1") == 1 and page.tags.count("main") == 1


def test_page_needs_no_network(usual):
    _, markup, page = usual
    loading = [
        value
        for _, name, value in page.attributes
        if name in ("src", "srcset", "href", "xlink:href", "data", "action", "poster")
    ]
    assert loading
    assert not [value for value in loading if re.match(r"(?i)\s*(https?:)?//", value)]
    assert not re.search(r"@import|url\(\s*['\"]?(https?:)?//", markup)
    assert "link" not in page.tags and "img" not in page.tags and "iframe" not in page.tags
    scripts = [value for tag, name, value in page.attributes if tag == "script" and name == "src"]
    assert scripts == []


def test_identifiers_are_unique_and_links_lead_somewhere(usual):
    results, _, page = usual
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    hrefs = [value for tag, name, value in page.attributes if tag == "a" and name == "href"]
    assert {value[1:] for value in hrefs if value.startswith("#")} <= set(ids)
    files = {value for value in hrefs if not value.startswith("#")}
    expected = {
        f"../tables/{name}.csv" for name in ("leaderboard", "registers", "contrasts", "ties", "costs", "encoding")
    }
    assert expected <= files
    made_elsewhere = {"../figures/registers.pdf", "../figures/registers.png", "../corpora/poems/duplicates.csv"}
    assert not [value for value in files - made_elsewhere if not (results / "report" / unquote(value)).exists()]


def test_nothing_missing_is_shown_as_a_number(usual):
    _, markup, page = usual
    assert not re.search(
        r"\b(nan|NaN|None|null|undefined)\b", re.sub(r"(?s)<script>.*?</script>|<pre.*?</pre>", "", markup)
    )
    assert "not estimable" in page.words


def test_p_is_never_zero(usual):
    _, _, page = usual
    assert "< 1e-20" in page.words
    assert not re.search(r"\bp\s*=\s*0(\.0+)?\b(?!\.)", page.words)


def test_page_says_what_was_found(usual):
    _, _, page = usual
    assert "No test could be made against dense-b." in page.words
    assert (
        "The paper’s effect, that which retriever wins depends on how much wording the query carries, appears"
        in page.words
    )
    assert "explanations raise abstract queries and lower quoting ones, does not appear" in page.words
    assert "25.0% of document texts are cut" in page.words
    assert "snakemake --cores 2 results/small/tables/contrasts.csv --configfile results/small/config.yaml" in page.words
    for method in ("McNemar (1947)", "Tango (1998)", "Holm (1979)", "seed 7"):
        assert method in page.words


def test_warnings_stand_in_one_place_with_links(usual):
    _, markup, _ = usual
    place = markup[markup.index('<section id="warnings"') : markup.index('<section id="details"')]
    told = re.findall(r'<div class="(serious|fine)"><dt><a href="#(\w+)">([^<]+)</a>', place)
    assert told == [
        ("serious", "encoders", "Cut texts"),
        ("serious", "ties", "Ties"),
        ("serious", "corpora", "Duplicates"),
    ]
    assert "25.0% of document texts are cut" in place
    assert "In 3 of 3 ranked lists another order of tied texts would move the main measure by 0.01 or more" in place
    assert "Texts that repeat another: 1 of 40 in poems." in place
    assert markup.index('id="findings"') < markup.index('id="warnings"') < markup.index('id="leaderboard"')


def test_headings_follow_each_other(usual):
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", usual[1])]
    assert levels[0] == 1 and all(after <= before + 1 for before, after in pairwise(levels))


def test_the_policy_lets_its_own_script_run_alone(usual):
    _, markup, _ = usual
    script = re.search(r"(?s)<script>(.*?)</script>", markup)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', markup)[1])
    assert f"script-src 'sha256-{digest}';" in policy and policy.startswith("default-src 'none';")


def test_tables_can_be_read_aloud(usual):
    _, markup, page = usual
    tables = page.tags.count("table")
    assert tables == page.tags.count("caption") and tables >= 6
    heads = re.findall(r"<th(?![a-z])[^>]*>", markup)
    assert heads and all("scope=" in head for head in heads)
    assert ("svg", "role", "img") in page.attributes
    assert '<bdi lang="ar" dir="rtl">الطويل</bdi>' in markup


def test_figure_is_part_of_the_page(usual):
    _, markup, page = usual
    svg = markup[markup.index("<svg") : markup.index("</svg>")]
    assert "half" not in svg and "quoting" in svg and "dense-a" in svg
    assert "metadata" not in svg and "#222222" not in svg and "var(--ink)" in svg
    assert page.tags.count("svg") == 1


def test_hostile_names_are_text(tmp_path):
    spec = study(title=HOSTILE)
    scores = [score(HOSTILE, 0.7, 0.6, 0.8), score("bm25", 0.5, 0.4, 0.6)]
    rows = [contrast("bm25", HOSTILE, -0.2, -0.3, -0.1, 0.01, note=HOSTILE)]
    registers = [register("quoting", HOSTILE, 0.5), register("quoting", "bm25", 0.4)]
    systems = {"bm25": SYSTEMS["bm25"], HOSTILE: {"kind": "dense", "description": HOSTILE}}
    results = write_study(tmp_path / "small", spec, scores, rows, registers, warnings=[HOSTILE])
    markup, page = page_of(results, spec, systems)
    assert HOSTILE not in markup
    assert markup.count("<script>") == 1
    assert page.wrong == [] and page.open == []
    assert HOSTILE in page.words


def test_one_system_and_no_registers(tmp_path):
    spec = study(systems=["bm25"])
    results = write_study(tmp_path / "small", spec, [score("bm25", 0.7)])
    _, page = page_of(results, spec, {"bm25": SYSTEMS["bm25"]})
    assert "How well does bm25 find poems" in page.words
    assert "It is the only system: there is no comparison." in page.words
    assert "No measured query of this study names its register" in page.words
    assert "This study has no tested difference" in page.words
    assert "svg" not in page.tags


def test_means_without_intervals(tmp_path):
    registers = [
        register(name, system, 0.5, half=None) for name in ("quoting", "abstract") for system in ("bm25", "dense-a")
    ]
    results = write_study(tmp_path / "small", study(), [score("bm25", 0.7), score("dense-a", 0.5)], None, registers)
    _, page = page_of(results)
    assert "interval not estimable" in page.words
    assert "svg" in page.tags


def test_synthetic_query_sets_are_called_so(tmp_path):
    probes = {"corpora": ["poems"], "probe": {"corpus": "poems", "n": 8, "seed": 1}, "purpose": "known-item"}
    spec = study(query_sets={"known": probes | {"judged": "now"}})
    results = write_study(tmp_path / "small", spec, SCORES, CONTRASTS, REGISTERS)
    _, page = page_of(results, spec)
    assert "Asked: known (synthetic probes drawn from the poems, 100 queries)" in page.words
    assert "The queries of known are synthetic." in page.words and "nothing of what readers ask" in page.words
    for told in ("Who leads on known (synthetic)", "Known queries (synthetic) of poems", "on synthetic quoting"):
        assert told in page.words


def test_query_sets_of_readers_are_not_called_synthetic(usual):
    assert "synthetic" not in usual[2].words


def test_all_systems_with_the_highest_mean_are_marked_best(tmp_path):
    scores = [score("bm25", 0.7, 0.6, 0.8), score("dense-a", 0.7, 0.5, 0.8), score("dense-b", 0.1)]
    rows = [contrast("dense-a", "bm25", 0.0, -0.1, 0.1, 1.0), contrast("dense-b", "bm25", -0.6, -0.7, -0.5, 0.001)]
    results = write_study(tmp_path / "small", study(), scores, rows)
    markup, page = page_of(results)
    assert markup.count("<strong>0.700</strong>") == 2
    assert markup.count('class="is-best"') == 2
    assert "bm25 and dense-a have the highest mean, 0.700" in page.words


def test_measure_whose_cut_holds_the_corpus_is_said_to_say_little(tmp_path):
    scores = [score("bm25", 0.7), score("dense-a", 0.5)]
    scores += [score(name, 1.0, measure=m) for name in ("bm25", "dense-a") for m in ("Recall@100", "MRR")]
    scores += [row | {"measure": "R@5"} for row in scores[:2]]
    spec = study(measures=["Recall@5", "R@5", "MRR", "Recall@100"])
    markup, page = page_of(write_study(tmp_path / "small", spec, scores), spec)
    assert "Recall@100 says little here: poems has 40 poems" in page.words
    assert "MRR says nothing here: all systems have the same mean." in page.words
    assert "R@5 equals Recall@5 in every row." in page.words
    assert len(re.findall(r'<th scope="col" class="n silent">', markup)) == 2


def test_same_study_same_page(tmp_path):
    pages = []
    for name, order in (("one", 1), ("two", -1)):
        results = write_study(tmp_path / name, study(), SCORES[::order], CONTRASTS[::order], REGISTERS[::order])
        markup, _ = page_of(results)
        pages.append(re.sub(r"[0-9a-f]{64}", "", markup))  # the hashes are of files in another order
    assert pages[0] == pages[1]


def test_missing_file_is_named(tmp_path):
    results = write_study(tmp_path / "small")
    with pytest.raises(UserError, match=r"manifest\.json does not exist"):
        build_report(results, TEMPLATE)


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed: the page's script is not run")
def test_script_makes_tables_sortable(usual):
    results, _, _ = usual
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    done = subprocess.run(
        [*command, f"file://{results}/report/index.html"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.count('<button type="button">') > 20
