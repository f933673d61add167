"""Who grades what: judges of some query sets, sheets of a part, packages; their faults; the template of a benchmark."""

import re
from pathlib import Path

import pytest
import yaml

from verseir.__main__ import main
from verseir.config import canonical, load_study
from verseir.faults import InputFaults
from verseir.labelling import judge_places, labelled_by, package_prompts, speaking
from verseir.study_faults import missing_files

ROOT = Path(__file__).parents[2]
PROMPTS = "resources/prompts"
TEMPLATE = ROOT / "config/studies/build-benchmark.yaml"


def config(**changes):
    """Two thematic sets with a judge each, of which one is split and has a sheet and a graded set."""
    judge = {"rubric": f"{PROMPTS}/rubric-theme.yaml", "path": "j.csv"}
    usual = {"path": "q.jsonl", "purpose": "thematic", "corpora": ["c"], "judged": "later"}
    spec = {
        "study": "small",
        "corpora": {"c": {"adapter": "jsonl", "path": "c.jsonl"}, "d": {"adapter": "jsonl", "path": "d.jsonl"}},
        "modes": {"verse": ["verse"]},
        "query_sets": {
            "one": usual | {"split": {"gold": 2, "encoder": "use-m3"}},
            "two": usual | {"corpora": ["c", "d"]},
            "one_train": {"corpora": ["c"], "graded": {"of": "one", "part": "train", "judge": "j"}},
            "one_gold": {"corpora": ["c"], "graded": {"of": "one", "part": "gold", "sheet": "people"}},
        },
        "systems": ["bm25", "use-m3"],
        "judging": {
            "main": "k",
            "judges": {"j": judge | {"query_sets": ["one"]}, "k": judge | {"query_sets": ["two"]}},
            "sheets": {"people": {"corpus": "c", "query_set": "one", "part": "gold", "files": ["a.csv"]}},
        },
        "packages": {"p": {"corpus": "c", "settings": {"theme_cross": {"train": "one_train", "gold": "one_gold"}}}},
    }
    for path, value in changes.items():
        part = spec
        *parents, last = path.split("__")
        for key in parents:
            part = part[key]
        part[last] = value
    return spec


def study_of(**changes):
    return load_study(config(**changes), ROOT)


def faults_of(**changes):
    with pytest.raises(InputFaults) as caught:
        study_of(**changes)
    return [(fault.field, fault.problem, fault.hint) for fault in caught.value.faults]


def test_a_judge_judges_what_it_names_and_else_all_that_is_judged():
    study = study_of()
    assert judge_places(study) == [("c", "one", "j"), ("c", "two", "k"), ("d", "two", "k")]
    everything = config()
    for judge in everything["judging"]["judges"].values():
        del judge["query_sets"]
    places = judge_places(load_study(everything, ROOT))
    assert places == [(*place, judge) for place in study.judged_places for judge in ("j", "k")]


def test_the_main_judge_speaks_where_it_has_judged():
    assert speaking(["k", "j"], "k") == "k" and speaking(["l", "j"], "k") == "j"
    assert speaking(["j"], None) == "j" and speaking([], "k") is None


def test_a_sheet_of_a_part_takes_rubric_and_guidelines_from_the_judge_of_its_set():
    sheet = study_of().judging["sheets"]["people"]
    assert (
        sheet["rubric"] == f"{PROMPTS}/rubric-theme.yaml" and sheet["guidelines"] == f"{PROMPTS}/guidelines-graded.md"
    )
    own = config()["judging"]["sheets"]["people"] | {"rubric": f"{PROMPTS}/rubric-emotion.yaml", "guidelines": "g.md"}
    sheet = study_of(judging__sheets__people=own).judging["sheets"]["people"]
    assert (sheet["rubric"], sheet["guidelines"]) == (own["rubric"], "g.md")
    plain = {"corpus": "c", "query_set": "two"}
    sheet = study_of(judging__sheets__more=plain).judging["sheets"]["more"]
    assert "rubric" not in sheet and sheet["guidelines"] == f"{PROMPTS}/guidelines-thematic.md"


def test_what_a_package_tells_of_its_labels():
    study = study_of()
    told = {"of": "one", "part": "train", "judge": "j", "rubric": f"{PROMPTS}/rubric-theme.yaml"}
    assert labelled_by(study, "one_train") == told and labelled_by(study, "two") == {}
    assert package_prompts(study, study.spec["packages"]["p"]) == {
        "theme_cross/judge-j.yaml": f"{PROMPTS}/rubric-theme.yaml",
        "theme_cross/sheet-people.md": f"{PROMPTS}/guidelines-graded.md",
        "theme_cross/sheet-people.yaml": f"{PROMPTS}/rubric-theme.yaml",
    }
    endpoint = {"rubric": f"{PROMPTS}/rubric-theme.yaml", "endpoint": {"base_url": "http://h/v1", "model": "m"}}
    assert labelled_by(study_of(judging__judges__j=endpoint), "one_train")["model"] == "m"


def test_keys_in_another_order_are_the_same_study():
    spec = config()
    turned = dict(reversed([(key, value) for key, value in spec.items()]))
    assert canonical(load_study(spec, ROOT).spec) == canonical(load_study(turned, ROOT).spec)


SHEET = {"corpus": "c", "query_set": "one", "part": "gold", "files": ["a.csv"]}


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        (
            {"judging__judges__j__query_sets": ["onne"]},
            "judging.judges.j.query_sets",
            "unknown query set that is judged",
        ),
        ({"judging__judges__j__query_sets": []}, "judging.judges.j.query_sets", "should be non-empty"),
        ({"judging__sheets__people__part": "silver"}, "judging.sheets.people.part", "is not one of"),
        ({"judging__sheets__people__query_set": "two"}, "judging.sheets.people.part", "two is not split"),
        (
            {
                "query_sets__one__split": {"encoder": "use-m3"},
                "query_sets__one_gold__graded": {"of": "one", "part": "test", "judge": "j"},
            },
            "judging.sheets.people.part",
            "the split of one draws no queries for people",
        ),
        *(
            (
                {f"judging__sheets__people__{key}": value},
                f"judging.sheets.people.{key}",
                "does not belong to a sheet of a part",
            )
            for key, value in (("n", 3), ("depth", 2), ("systems", ["bm25"]), ("modes", ["verse"]))
        ),
        ({"judging__judges__j__query_sets": ["two"]}, "judging.sheets.people.rubric", "no judge judges this query set"),
        ({"packages__p__corpus": "e"}, "packages.p.corpus", "unknown corpus 'e'"),
        ({"packages__p__settings": {}}, "packages.p.settings", "non-empty"),
        ({"packages__p__settings": {"theme": {"gold": "one_gold"}}}, "packages.p.settings", "'theme' is not allowed"),
        (
            {"packages__p__settings__theme_cross__silver": "one_gild"},
            "packages.p.settings.theme_cross.silver",
            "unknown query set 'one_gild'",
        ),
        (
            {"packages__p__settings__theme_cross__silver": "one_train"},
            "packages.p.settings.theme_cross.train",
            "'one_train' is the split silver of this setting already",
        ),
        (
            {"packages__p__settings__theme_cross__silver": "one"},
            "packages.p.settings.theme_cross.silver",
            "one is judged later",
        ),
        (
            {"packages__p__settings__theme_cross__silver": "two"},
            "packages.p.settings.theme_cross.silver",
            "two is searched in c, d, and judged there",
        ),
        (
            {"packages__p__settings": {"theme_mono": {"train": "one_train"}}},
            "packages.p.settings.theme_mono.train",
            "the queries of one_train have no attribute 'language'",
        ),
        (
            {
                "query_sets__one__attributes": ["language"],
                "packages__p__settings": {"theme_mono": {"train": "one_train"}},
            },
            "packages.p.settings.theme_mono.train",
            "one_train is searched among poems in any language",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(changes, field, problem):
    found = faults_of(**changes)
    assert any(name == field and problem in told for name, told, _ in found), found
    assert all(hint for name, _, hint in found if name.startswith("packages.p.settings.theme"))


def test_a_mono_setting_is_of_a_set_that_is_searched_within_the_language():
    settings = {"theme_mono": {"train": "one_train"}}
    asked = {"query_sets__one__attributes": ["language"], "query_sets__one__within": "language"}
    assert study_of(**asked, packages__p__settings=settings).within("one_train") == "language"


def test_files_that_are_not_there_are_told():
    told = {fault.field for fault in missing_files(study_of(judging__sheets__people__rubric="none.yaml"), ROOT)}
    assert {"judging.sheets.people.rubric", "judging.sheets.people.files"} <= told


# The template


def uncommented(text):
    """The template with what it leaves for later."""
    text = re.sub(r"^(\s+)# (theme_gold:|gold: theme_gold)", r"\1\2", text, flags=re.MULTILINE)
    return text.replace("files: []", "files: [gold.csv]")


def test_the_template_is_a_study_and_finds_all_its_files():
    text = TEMPLATE.read_text(encoding="utf-8")
    study = load_study(yaml.safe_load(text), ROOT)
    assert missing_files(study, ROOT) == []
    assert study.graded_sets == ["theme_silver", "theme_train"] and study.judging["query_sets"] == ["theme"]
    later = load_study(yaml.safe_load(uncommented(text)), ROOT)
    assert later.graded_sets == ["theme_gold", *study.graded_sets]
    assert later.spec["packages"]["my-benchmark"]["settings"]["theme_cross"]["gold"] == "theme_gold"
    assert [fault.file for fault in missing_files(later, ROOT)] == ["gold.csv"]


def test_the_inputs_of_the_template_are_sound(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    spec = load_study(yaml.safe_load(TEMPLATE.read_text(encoding="utf-8")), ROOT).spec
    options = ["--corpora", canonical(spec["corpora"]), "--query-sets", canonical(spec["query_sets"])]
    options += ["--modes", canonical(spec["modes"]), "--judging", canonical(spec["judging"])]
    options += ["--depth", str(spec["depth"]), "--measures", *spec["measures"]]
    assert main(["check_inputs", *options, "--output", str(tmp_path / "inputs.json")]) == 0
    assert "corpus archive: 68 poems" in capsys.readouterr().out


def test_a_rubric_that_people_cannot_grade_by_is_told_before_a_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    spec = load_study(yaml.safe_load(TEMPLATE.read_text(encoding="utf-8")), ROOT).spec
    text = (ROOT / f"{PROMPTS}/rubric-theme.yaml").read_text(encoding="utf-8")
    (tmp_path / "long.yaml").write_text(
        text.replace("[0, 1, 2, 3]", "[0, 1, 2, 30]").replace("      3:", "      30:"), encoding="utf-8"
    )
    spec["judging"]["sheets"]["people"]["rubric"] = str(tmp_path / "long.yaml")
    options = ["--corpora", canonical(spec["corpora"]), "--query-sets", canonical(spec["query_sets"])]
    options += ["--modes", canonical(spec["modes"]), "--judging", canonical(spec["judging"])]
    assert main(["check_inputs", *options, "--output", str(tmp_path / "inputs.json")]) == 2
    assert "30 on its scale is none of 0 to 9" in capsys.readouterr().err
