"""The check before the first job: what can be known early is told early."""

import json

import pytest
import yaml

from verseir.__main__ import main
from verseir.config import load_study

ASPECTS = ("theme", "overall")
COMMIT = "0" * 40


def rows(path, *given):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in given), encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path / "cache"))
    poems = [
        {
            "poem_id": f"p{n}",
            "verses": [[f"verse{n}x{i} and more words", f"half{n}x{i} of the same verse"] for i in range(3)],
        }
        for n in range(4)
    ]
    rows(tmp_path / "poems.jsonl", *poems)
    rows(tmp_path / "themes.jsonl", {"query_id": "t1", "text": "of words", "register": "thematic", "relevant": ["p1"]})
    aspects = [
        {"id": name, "title": name, "kind": kind, "question": "Is it?", "anchors": {1: "no", 2: "yes"}}
        for name, kind in zip(ASPECTS, ("aboutness", "overall"), strict=True)
    ]
    rubric = {"name": "small", "scale": [1, 2], "instruction": "Judge.", "aspects": aspects}
    (tmp_path / "rubric.yaml").write_text(yaml.safe_dump(rubric), encoding="utf-8")
    (tmp_path / "systems.yaml").write_text("bm25: {kind: bm25}\n", encoding="utf-8")
    (tmp_path / "explain.md").write_text("## explain\n\nExplain.\n", encoding="utf-8")
    (tmp_path / "rewrite.md").write_text("## rewrite\n\nRewrite.\n", encoding="utf-8")
    return tmp_path


def told_of(capsys, folder, **changes):
    """What the check says of a study with one corpus and one thematic set; empty where all is well."""
    config = {
        "study": "small",
        "registry": ["systems.yaml"],
        "corpora": {"c": {"adapter": "jsonl", "path": "poems.jsonl"}},
        "modes": {"verse": ["verse"]},
        "query_sets": {"themes": {"corpora": ["c"], "path": "themes.jsonl", "purpose": "thematic"}},
        "systems": ["bm25"],
    } | changes
    spec = load_study(config, folder).spec
    options = [f"--{name.replace('_', '-')}={json.dumps(spec[name])}" for name in ("corpora", "query_sets", "modes")]
    options += [f"--judging={json.dumps(spec.get('judging', {}))}", f"--output={folder / 'inputs.json'}"]
    code = main(["check_inputs", *options])
    told = capsys.readouterr().err
    assert (code == 0) == (not told), told
    return told


def judged(judge, depth=2, **more):
    return {"judging": {"depth": depth, "judges": {"j": {"rubric": "rubric.yaml"} | judge}} | more}


def test_scores_of_nothing_that_is_judged_are_a_fault(folder, capsys):
    scores = dict.fromkeys(ASPECTS, 1)
    rows(folder / "j.jsonl", {"query_set": "themes", "query_id": "t1", "poem_id": "p1", "scores": scores})
    assert told_of(capsys, folder, **judged({"path": "j.jsonl"})) == ""
    rows(folder / "j.jsonl", {"query_set": "other", "query_id": "t1", "poem_id": "p1", "scores": scores})
    told = told_of(capsys, folder, **judged({"path": "j.jsonl"}))
    assert "j.jsonl [query_set]: no row is of a corpus and query set that the study judges" in told
    assert "c/themes" in told


def test_no_more_poems_of_a_list_can_be_judged_than_there_are(folder, capsys):
    endpoint = {"endpoint": {"base_url": "http://localhost:1/v1", "model": "m"}}
    assert told_of(capsys, folder, **judged(endpoint, depth=4)) == ""
    told = told_of(capsys, folder, **judged(endpoint, depth=5))
    assert "corpus c [judging.depth]: 5 poems of each list are to be judged, but the corpus has 4" in told
    assert "judging.depth: 4, or fewer" in told


def test_models_that_are_not_on_this_machine_are_told_before_anything_runs(folder, capsys, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    hub = {"hub": "someone/model", "revision": COMMIT}
    corpus = {"adapter": "jsonl", "path": "poems.jsonl"}
    sets = {"themes": {"corpora": ["c"], "path": "themes.jsonl", "purpose": "thematic"}}
    edit = {"of": "themes", "rule": "rewrite-by-model", "prompt": "rewrite.md", "model": {"path": "nowhere"}}
    told = told_of(
        capsys,
        folder,
        **judged({"model": hub}),
        corpora={"c": corpus | {"explanations": {"ai": {"prompt": "explain.md", "model": {"path": "poems.jsonl"}}}}},
        query_sets=sets | {"edited": {"corpora": ["c"], "edit": edit}},
    )
    assert "poems.jsonl [corpora.c.explanations.ai.model.path]: is not a folder" in told
    assert "nowhere [query_sets.edited.edit.model.path]: is not a folder" in told
    assert f"[judging.judges.j.model.hub]: someone/model at {COMMIT} is not in the local cache" in told
    assert f"hf download someone/model --revision {COMMIT}" in told
    (folder / "model").mkdir()
    assert told_of(capsys, folder, **judged({"model": {"path": "model"}})) == ""


def test_annotations_of_drawn_queries_are_read_before_they_are_drawn(folder, capsys):
    sets = {
        "themes": {"corpora": ["c"], "path": "themes.jsonl", "purpose": "thematic"},
        "drawn": {"corpora": ["c"], "probe": {"corpus": "c", "n": 4}},
    }
    sheets = {"misses": {"corpus": "c", "query_set": "drawn", "files": ["a.csv"]}}
    (folder / "a.csv").write_text("query_id,poem_id,grade\nnone,p1,1\np0.quote,p1,7\n", encoding="utf-8")
    told = told_of(capsys, folder, query_sets=sets, judging={"sheets": sheets, "depth": 2})
    assert "a.csv:2 [query_id]: no query 'none' in drawn" in told and "a.csv:3 [grade]: is '7'" in told
