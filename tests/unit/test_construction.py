"""The construction of a benchmark in a study: what is left out is filled in, what is wrong is told with its place."""

import json
from pathlib import Path

import pytest
from test_config import ROOT, faults_of

from verseir.__main__ import main
from verseir.config import canonical, load_study
from verseir.construction import pooled_cross
from verseir.layout import runs


def study(**changes):
    spec = {
        "study": "small",
        "corpora": {"c": {"adapter": "jsonl", "path": "c.jsonl"}, "d": {"adapter": "jsonl", "path": "d.jsonl"}},
        "modes": {"verse": ["verse"], "title": ["title"]},
        "query_sets": {
            "asked": {
                "corpora": ["c"],
                "path": "q.csv",
                "purpose": "thematic",
                "judged": "later",
                "attributes": ["language"],
                "within": "language",
                "split": {},
            },
            "silver": {"corpora": ["c"], "graded": {"of": "asked", "part": "test", "judge": "reader"}},
        },
        "systems": ["bm25", "use-m3"],
        "judging": {"judges": {"reader": {"rubric": "r.yaml", "path": "s.jsonl"}}, "pooling": {}},
    }
    return spec | changes


def changed(path, value):
    """The study with the value at a dotted path replaced, or taken out where it is None."""
    spec = json.loads(json.dumps(study()))
    part = spec
    *parents, last = path.split("/") if "/" in path else path.split(".")
    for key in parents:
        part = part.setdefault(key, {})
    if value is None:
        part.pop(last)
    else:
        part[last] = value
    return spec


def test_what_is_left_out_is_filled_in():
    loaded = load_study(study(), ROOT)
    sets = loaded.spec["query_sets"]
    assert sets["asked"]["split"] == {"test": 0.2, "clusters": 20, "gold": 0, "encoder": "use-m3"}
    pooling = {"candidates": 20, "depth": 20, "consensus": 0.5, "systems": ["bm25", "use-m3"], "mode": "verse"}
    assert loaded.judging["pooling"] == pooling
    silver = sets["silver"]
    assert (silver["purpose"], silver["judged"], silver["strata"]) == ("thematic", "now", ["language"])
    assert loaded.judging["query_sets"] == ["asked"]


def test_a_graded_set_is_read_and_searched_as_its_parent():
    spec = changed("query_sets.asked.encoding", {"view": "span"})
    spec["systems"], spec["query_sets"]["asked"]["split"] = ["bm25", "e5-small-q4"], {"encoder": "e5-small-q4"}
    spec["analyses"] = {"reference_encoder": "e5-small-q4"}
    loaded = load_study(spec, ROOT)
    assert loaded.within("silver") == "language" and loaded.encoding_of("silver")["view"] == "span"
    assert loaded.query_sets_read("c", "e5-small-q4") == ["asked"]
    assert loaded.query_sets_of("c") == ["asked", "silver"]


def test_an_encoder_that_is_limited_to_a_graded_set_reads_its_parent(tmp_path):
    entry = {"only": [{"query_sets": ["silver"]}]}
    loaded = load_study(study(), ROOT)
    loaded.registry["use-m3"] = loaded.registry["use-m3"] | entry
    assert loaded.query_sets_read("c", "use-m3") == ["asked"]


def test_the_order_of_keys_changes_nothing():
    turned = study()
    turned["query_sets"] = dict(reversed(turned["query_sets"].items()))
    assert canonical(load_study(turned, ROOT).spec) == canonical(load_study(study(), ROOT).spec)


def test_the_pool_is_of_the_systems_and_the_mode_that_vote():
    loaded = load_study(changed("judging.pooling", {"systems": ["bm25"], "mode": "title"}), ROOT)
    assert [tuple(run) for run in runs(pooled_cross(loaded, "c", "asked"))] == [("c", "title", "asked", "bm25")]
    plain = load_study(changed("judging.pooling", None), ROOT)
    assert len(list(runs(pooled_cross(plain, "c", "asked")))) == 4


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("query_sets.silver.graded.of", "askd", "[query_sets.silver.graded.of]: unknown query set 'askd'"),
        ("query_sets.silver.graded.of", "silver", "'silver' is itself made from another set"),
        (
            "query_sets.gold",
            {"corpora": ["c"], "graded": {"of": "silver", "judge": "reader"}},
            "'silver' is itself made",
        ),
        ("query_sets.asked.split", None, "asked has no part 'test': it is not split"),
        ("query_sets.silver.graded.part", "gold", "no query of asked is gold"),
        ("query_sets.silver.graded.part", "dev", "'dev' is not one of ['train', 'test', 'gold']"),
        ("query_sets.silver.graded.judge", None, "needs exactly one of judge, sheet; found none"),
        ("query_sets.silver.graded.judge", "raeder", "unknown judge 'raeder'"),
        ("query_sets.silver.corpora", ["d"], "d: asked is not searched there, so nothing was judged"),
        ("query_sets.silver.corpora", ["c", "d"], "names 2 corpora, but grades are of the poems of one"),
        ("query_sets.silver.within", "language", "[query_sets.silver.within]: a graded set has this from its parent"),
        ("query_sets.silver.judged", "later", "a graded set is judged when it is made"),
        ("query_sets.silver.purpose", "known-item", "a graded set is thematic"),
        ("query_sets.silver.path", "x.csv", "needs exactly one of path, probe, chapters, idioms, beir, poetry, edit"),
        ("query_sets.silver.split", {}, "this set has its queries from another"),
        ("query_sets.asked.split.encoder", "bm25", "'bm25' is no dense system of the study"),
        ("query_sets.asked.split.test", 1, "1 is greater than or equal to the maximum of 1"),
        ("query_sets.asked.purpose", "known-item", "no query set of the study is thematic"),
        ("judging.judges.reader.query_sets", ["other"], "unknown query set that is judged 'other'"),
        ("judging.pooling.systems", ["bm52"], "[judging.pooling.systems]: unknown system 'bm52'"),
        ("judging.pooling.mode", "prose", "[judging.pooling.mode]: unknown mode 'prose'"),
        ("judging.pooling.depth", 2000, "systems vote for 2000 poems, but ranked lists hold 1000"),
        (
            "judging.pooling",
            {"candidates": 9, "depth": 4},
            "[judging.pooling.candidates]: 9 candidates cannot be found: systems vote for 2 x 4 poems at most",
        ),
        *(
            (f"query_sets/asked.{ending}", {"corpora": ["c"], "path": "q.csv"}, f"a name may not end in .{ending}: ")
            for ending in ("attributes", "labels", "qrels", "split")
        ),
        ("corpora.c.modes", ["title"], "none of bm25, use-m3 searches asked in c in mode 'verse'"),
        ("query_sets.asked.validation", {"corpus": "c", "query_set": "silver"}, "a run of asked would need silver"),
    ],
)
def test_what_is_wrong_is_told(path, value, expected):
    assert expected in faults_of(changed(path, value))


def test_a_split_needs_an_encoder():
    told = faults_of(study(analyses={"reference_encoder": None}))
    assert "[query_sets.asked.split.encoder]: is missing, and analyses.reference_encoder is null" in told


SHEET = {"corpus": "c", "query_set": "asked", "part": "test", "rubric": "r.yaml", "files": ["a.csv"]}


@pytest.mark.parametrize(
    ("sheet", "graded", "expected"),
    [
        ({}, {"sheet": "poeple"}, "unknown sheet 'poeple'"),
        ({"files": []}, {}, "nobody has filled in the sheet people yet"),
        ({"part": "train"}, {}, "the sheet people is of the part train, which has no query of test"),
        ({"query_set": "other"}, {}, "the sheet people is not of thematic results of asked in c"),
    ],
)
def test_sheets_that_cannot_grade_a_set_are_told(sheet, graded, expected):
    spec = changed("judging.sheets.people", SHEET | sheet)
    other = spec["query_sets"]["asked"] | {"path": "o.csv"}
    spec["query_sets"]["other"] = other
    spec["query_sets"]["silver"]["graded"] = {"of": "asked", "part": "test", "sheet": "people"} | graded
    assert expected in faults_of(spec)


def test_all_is_told_at_once():
    spec = changed("query_sets.silver.graded", {"of": "asked", "part": "gold"})
    spec["query_sets"]["bronze"] = {"corpora": ["c"], "graded": {"of": "none", "judge": "reader"}}
    told = faults_of(spec)
    assert "found none" in told and "no query of asked is gold" in told and "unknown query set 'none'" in told


def write(path, rows):
    Path(path).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


RUBRIC = """
name: graded
scale: [{first}, 2, 3]
instruction: Grade.
aspects:
  - {{id: overall, title: Overall, kind: overall, question: "?", anchors: {{{first}: a, 2: b, 3: c}}}}
"""


def checked(tmp_path, monkeypatch, capsys, spec, first=0, **files):
    """What check_inputs says of a study of five poems and six queries, of which two answer by the same poem."""
    monkeypatch.chdir(tmp_path)
    for corpus in "cd":
        write(f"{corpus}.jsonl", [{"poem_id": f"p{i}", "verses": [[f"كلمة{i} ليل", "نجم"]]} for i in range(5)])
    asked = [(f"q{i}", f"p{i % 5}") for i in range(6)]
    rows = "".join(f"{name},ليل {name},{poem},ar\n" for name, poem in asked)
    Path("q.csv").write_text("query_id,text,relevant,language\n" + rows, encoding="utf-8")
    write("s.jsonl", [{"query_id": "q0", "poem_id": "p1", "overall": 3}])
    Path("r.yaml").write_text(RUBRIC.format(first=first), encoding="utf-8")
    for file, text in files.items():
        Path(file).write_text(text, encoding="utf-8")
    spec = load_study(spec, ROOT).spec
    options = {"--corpora": "corpora", "--query-sets": "query_sets", "--modes": "modes"}
    parts = [part for option, name in options.items() for part in (option, canonical(spec[name]))]
    parts += ["--judging", canonical(spec["judging"]), "--packages", canonical(spec["packages"])]
    code = main(["check_inputs", *parts, "--output", "inputs.json"])
    told = capsys.readouterr()
    return code, told.out + told.err


def within_reach(**split):
    spec = changed("query_sets.asked.split", {"clusters": 2} | split)
    del spec["query_sets"]["asked"]["within"]
    spec["corpora"]["c"]["modes"] = spec["corpora"]["d"]["modes"] = ["verse"]
    spec["judging"]["depth"] = 3
    return spec


def test_sound_inputs_are_sound_before_anything_is_graded(tmp_path, monkeypatch, capsys):
    code, told = checked(tmp_path, monkeypatch, capsys, within_reach())
    assert code == 0, told
    assert "query set silver: graded from asked by reader" in told


def test_splits_that_cannot_be_are_told_with_the_rest(tmp_path, monkeypatch, capsys):
    spec = within_reach(clusters=7, gold=2)
    code, told = checked(tmp_path, monkeypatch, capsys, spec, first=1)
    assert code == 2
    assert "query set asked [split.clusters]: 7 clusters of 6 queries" in told
    assert "query set asked [split.gold]: 2 queries are to be gold, but test has 1 of 6" in told
    assert "r.yaml [scale]: begins at 1, and its scores are the grades of silver" in told


def test_a_pool_too_small_for_what_is_known_is_told(tmp_path, monkeypatch, capsys):
    spec = within_reach()
    spec["judging"]["pooling"]["candidates"] = 1
    code, told = checked(tmp_path, monkeypatch, capsys, spec)
    assert code == 0, told
    Path("more.csv").write_text("query_id,poem_id,grade\nq0,p0,1\nq0,p1,1\nq1,p1,1\n", encoding="utf-8")
    spec["query_sets"]["asked"]["qrels"] = "more.csv"
    text = Path("q.csv").read_text(encoding="utf-8").replace("relevant", "passed_over")
    Path("q2.csv").write_text(text, encoding="utf-8")
    spec["query_sets"]["asked"]["path"] = "q2.csv"
    code, told = checked(tmp_path, monkeypatch, capsys, spec)
    assert code == 2
    assert "q2.csv:2 [relevant]: query 'q0' has 2 relevant poems for 1 place in its pool" in told


def test_a_file_that_scores_nothing_above_0_grades_nothing(tmp_path, monkeypatch, capsys):
    nothing = '{"query_id": "q0", "poem_id": "p1", "overall": 0}\n'
    elsewhere = '{"query_id": "q0", "poem_id": "p1", "overall": 3, "query_set": "another"}\n'
    code, told = checked(tmp_path, monkeypatch, capsys, within_reach(), **{"s.jsonl": nothing + elsewhere})
    assert code == 2
    assert "s.jsonl [overall]: no row has a score above 0 for asked, so silver would have no query" in told
    nested = '{"query_id": "q0", "poem_id": "p1", "scores": {"overall": 2}}\n'
    code, told = checked(tmp_path, monkeypatch, capsys, within_reach(), **{"s.jsonl": nested})
    assert code == 0, told


OTHER = RUBRIC.format(first=0).replace("[0, 2, 3]", "[0, 2, 3, 4]").replace("3: c", "3: c, 4: d")


def test_people_and_the_judge_grade_on_one_scale(tmp_path, monkeypatch, capsys):
    spec = within_reach()
    sheet = {"corpus": "c", "query_set": "asked", "part": "test", "rubric": "other.yaml", "files": ["a.csv"]}
    spec["judging"]["sheets"] = {"people": sheet}
    spec["query_sets"]["gold"] = {"corpora": ["c"], "graded": {"of": "asked", "part": "test", "sheet": "people"}}
    sheet["guidelines"] = "guide.md"
    filled = {"a.csv": "query_id,poem_id,grade\nq0,p0,2\n", "guide.md": "# Grade\n"}
    code, told = checked(tmp_path, monkeypatch, capsys, spec, **filled, **{"other.yaml": OTHER})
    assert code == 2
    assert "other.yaml [scale]: the sheet people grades asked from 0 to 4, but reader from 0 to 3" in told
    same = RUBRIC.format(first=0).replace("Grade.", "Grade it.")
    code, told = checked(tmp_path, monkeypatch, capsys, spec, **filled, **{"other.yaml": same})
    assert code == 0, told


def test_a_scale_beyond_that_of_packages_is_told(tmp_path, monkeypatch, capsys):
    spec = within_reach()
    code, told = checked(tmp_path, monkeypatch, capsys, spec, **{"r.yaml": OTHER})
    assert code == 0, told  # it is packaged nowhere
    spec["packages"] = {"p": {"corpus": "c", "settings": {"theme_cross": {"silver": "silver"}}}}
    code, told = checked(tmp_path, monkeypatch, capsys, spec, **{"r.yaml": OTHER})
    assert code == 2
    assert "r.yaml [scale]: goes up to 4, but silver is packaged, where 3 is the most" in told


def test_a_language_that_is_no_code_is_told_before_it_is_packaged(tmp_path, monkeypatch, capsys):
    poem = {"poem_id": "p9", "verses": [["ليل", "نجم"]], "language": "classical"}
    rows = [{"poem_id": f"p{i}", "verses": [[f"كلمة{i} ليل", "نجم"]], "language": "per"} for i in range(5)]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in [*rows, poem])
    spec = within_reach()
    code, told = checked(tmp_path, monkeypatch, capsys, spec, **{"c.jsonl": text})
    assert code == 0, told
    spec["packages"] = {"p": {"corpus": "c", "settings": {"theme_cross": {"silver": "silver"}}}}
    code, told = checked(tmp_path, monkeypatch, capsys, spec, **{"c.jsonl": text})
    assert code == 2
    assert "corpus c [language]: 'classical', the language of 1 poem, such as p9, is no code" in told
