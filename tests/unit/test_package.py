"""A benchmark as a folder: what is written, that it is read back as it was, and what is refused."""

import json
from pathlib import Path

import polars as pl
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.corpora.load import load_corpus
from verseir.corpora.poetrymteb import Setting
from verseir.exchange.beir_export import poem_text
from verseir.exchange.languages import three_letters
from verseir.exchange.package import Part, corpus_frame, counts_frame, package_faults, write_package
from verseir.exchange.package_card import Made, _labelled, _split, package_card
from verseir.faults import InputFaults
from verseir.queries.poetry import poetry_queries
from verseir.tables import POEMS, QRELS, QUERIES, QUERY_ATTRIBUTES, write_table

ROOT = Path(__file__).parents[2]
LANGUAGES = {"p1": "ar", "p2": "ARA", "p3": "zh-Hant", "p4": None, "p5": "fra"}


def poems_of(languages=None, verses=None):
    rows = [
        {
            "poem_id": name,
            "title": None if name == "p1" else f"title {name}",
            "poet": f"poet {name}" if name < "p3" else None,
            "language": language,
            "verses": (verses or {}).get(
                name, [{"first": f"صدر {name}", "second": "عجز"}, {"first": f"vers {name}", "second": None}]
            ),
            "source": f"https://example.org/{name}",
        }
        for name, language in (languages or LANGUAGES).items()
    ]
    return pl.DataFrame(rows, schema=dict(POEMS.columns))


def part(split, grades, scope="cross", targets=None, aspect="emotion"):
    """A split: query -> poem -> grade."""
    name = f"{aspect}_{split}"
    usual = {"query_set": name, "register": "thematic"}
    asked = [usual | {"query_id": query, "text": f"text of {query}"} for query in grades]
    queries = pl.DataFrame(asked, schema=dict(QUERIES.columns))
    rows = [(query, poem, grade) for query, found in grades.items() for poem, grade in found.items()]
    qrels = pl.DataFrame(rows, schema=dict(QRELS.columns), orient="row")
    known = [(query, "language", value) for query, value in (targets or {}).items()]
    attributes = pl.DataFrame(known, schema=dict(QUERY_ATTRIBUTES.columns), orient="row")
    return Part(aspect, scope, split, name, queries, qrels, attributes)


TRAIN = part("train", {"q1": {"p1": 3, "p2": 0}, "q2": {"p3": 1}})
SILVER = part("silver", {"q3": {"p2": 2, "p5": 1}, "q4": {"p4": 3}})
GOLD = part("gold", {"q3": {"p2": 3, "p5": 0}})
MONO = part("gold", {"q9": {"p1": 3, "p2": 1, "p5": 0}}, "mono", {"q9": "ar"}, "theme")
PARTS = [TRAIN, SILVER, GOLD, MONO]


def written(folder, parts, poems=None, **made):
    poems = poems_of() if poems is None else poems
    documents = corpus_frame(poems)
    card = package_card(Made("bench", "small", "c", **made), documents, parts, ["emotion_cross/judge-j.yaml"])
    prompts = {"emotion_cross/judge-j.yaml": ROOT / "resources/prompts/rubric-emotion.yaml"}
    write_package(folder, "c", documents, poems, parts, card, prompts)
    return folder


def read_back(folder):
    """The corpus, and of each split what the adapter makes of it."""
    languages = pl.read_parquet(folder / "corpus/test.parquet")["language"].unique().to_list()
    spec = {"adapter": "poetrymteb", "path": str(folder), "counts": str(folder / "counts.csv"), "languages": languages}
    corpus = load_corpus("c", spec, Path())
    known = corpus.poems.select("poem_id", "language")

    def split(one):
        return poetry_queries(one.query_set, Setting(one.aspect, one.scope, one.split), spec, Path(), known)

    return corpus, split


@pytest.mark.parametrize(
    ("code", "found"),
    [("ar", "ARA"), ("ara", "ARA"), ("ZHO", "ZHO"), ("zh-Hant", "ZHO"), ("pt_BR", "POR"), ("xyz", "XYZ"), (None, "UND")]
    + [("fa", "FAS"), ("per", "FAS"), ("ger", "DEU"), ("chi", "ZHO"), ("fre", "FRA"), ("cy", "CYM"), ("wel", "CYM")]
    + [(code, None) for code in ("", "qq", "classical", "اربـ", "a1b")],
)
def test_languages_have_codes_of_three_capitals(code, found):
    assert three_letters(code) == found


def test_a_package_is_read_back_as_it_was(tmp_path):
    folder = written(tmp_path / "bench", PARTS)
    corpus, split = read_back(folder)
    assert not corpus.warnings  # as many poems as counted
    poems = poems_of()
    same = ["poem_id", "title", "poet", "source"]
    assert corpus.poems.select(same).rows() == poems.select(same).rows()
    assert corpus.poems["language"].to_list() == ["ARA", "ARA", "ZHO", "UND", "FRA"]
    assert [poem_text(found) for found in corpus.poems["verses"]] == [poem_text(given) for given in poems["verses"]]
    for one in PARTS:
        found = split(one)
        assert found.queries.select("query_id", "text").rows() == one.queries.select("query_id", "text").rows()
        assert found.qrels.rows() == one.qrels.sort("query_id", "poem_id").rows()
        assert not found.warnings and found.counted.startswith("as many as")
    known = set(split(MONO).attributes.filter(pl.col("attribute") == "language").rows())
    assert known == {("q9", "language", "ARA")}


ORDERS = st.randoms(use_true_random=False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=8, deadline=None)
@given(ORDERS)
def test_the_order_of_rows_and_parts_changes_nothing(tmp_path_factory, chance):
    def shuffled(frame):
        order = list(range(len(frame)))
        chance.shuffle(order)
        return frame[order]

    mixed = [one._replace(queries=shuffled(one.queries), qrels=shuffled(one.qrels)) for one in PARTS]
    chance.shuffle(mixed)
    folder = tmp_path_factory.mktemp("package")
    first, second = written(folder / "a", PARTS), written(folder / "b", mixed, shuffled(poems_of()))
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(second) for path in second.rglob("*") if path.is_file())
    assert [name for name in files if (first / name).read_bytes() != (second / name).read_bytes()] == []


def test_a_package_is_written_anew_as_a_whole(tmp_path):
    folder = written(tmp_path / "bench", PARTS)
    assert (folder / "queries_theme_mono/gold.parquet").is_file()
    written(folder, [TRAIN])
    assert not (folder / "queries_theme_mono").exists() and (folder / "queries_emotion_cross/train.parquet").is_file()
    assert (folder / "prompts/emotion_cross/judge-j.yaml").read_bytes() == (
        ROOT / "resources/prompts/rubric-emotion.yaml"
    ).read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["bench"]


def test_the_files_have_the_columns_of_the_card(tmp_path):
    folder = written(tmp_path / "bench", PARTS)
    corpus = pl.read_parquet(folder / "corpus/test.parquet")
    texts = dict.fromkeys(("id", "title", "author", "content", "language"), pl.String)
    assert dict(corpus.schema) == texts | {"token_count": pl.Int64, "link": pl.String}
    assert corpus["token_count"][0] == 5
    assert pl.read_parquet(folder / "queries_emotion_cross/gold.parquet").columns == ["_id", "text"]
    mono = pl.read_parquet(folder / "queries_theme_mono/gold.parquet")
    assert mono.rows() == [("q9", "text of q9", "ARA")] and mono.columns[-1] == "target_document_language"
    qrels = pl.read_parquet(folder / "qrels_emotion_cross/silver.parquet")
    assert dict(qrels.schema) == {"query-id": pl.String, "corpus-id": pl.String, "score": pl.Int64}
    counts = counts_frame(corpus, PARTS)
    assert counts.filter(pl.col("what") == "judgements")["n"].to_list() == [3, 3, 2, 3]
    assert counts.filter(pl.col("what") == "documents")["n"].sum() == 5


def refused(parts, poems=None):
    poems = poems_of() if poems is None else poems
    return {str(fault) for fault in package_faults("c", corpus_frame(poems), poems, parts)}


def test_all_faults_are_told_at_once_and_nothing_is_written(tmp_path):
    languages = LANGUAGES | {"p5": "classical"}
    poems = poems_of(languages, {"p4": [{"first": "...", "second": None}]})
    bad = part("train", {"q3": {"p1": 4, "nowhere": 1}, "q5": {"p1": 0}})
    mono = part("gold", {"q9": {"p3": 2}, "q8": {"p1": 1}, "q7": {"p1": 1}}, "mono", {"q9": "ar", "q7": "de"}, "theme")
    told = "\n".join(sorted(refused([bad, SILVER, mono], poems)))
    for problem in (
        "corpus c [language]: 'classical', the language of 1 poem, such as p5, is no code",
        "corpus c [verses]: poem 'p4' has no letter",
        "query set emotion_train [grade]: poem 'p1' has grade 4 for query 'q3'",
        "query set emotion_train [poem_id]: poem 'nowhere', judged for 'q3', is not in the corpus",
        "query set emotion_train [query_id]: query 'q5' has no relevant poem",
        "query set emotion_train [query_id]: query 'q3' is in emotion_silver (silver) too",
        "query set theme_gold [poem_id]: poem 'p3' is relevant to query 'q9', and in ZHO",
        "query set theme_gold [language]: is missing, at query 'q8'",
        "query set theme_gold [language]: 'de' is the language of no poem, at query 'q7'",
    ):
        assert problem in told, problem
    assert told.count("\nquery set") + told.count("corpus c") == 9
    with pytest.raises(InputFaults):
        written(tmp_path / "bench", [bad], poems)
    assert list(tmp_path.iterdir()) == []


def with_texts(one, **texts):
    return one._replace(queries=one.queries.with_columns(text=pl.col("query_id").replace(texts)))


@pytest.mark.parametrize(
    ("scope", "aspect", "split", "shared"),
    [
        ("cross", "emotion", "silver", True),
        ("mono", "emotion", "gold", True),
        ("mono", "emotion", "train", False),
        ("cross", "theme", "silver", False),
    ],
)
def test_texts_are_not_shared_between_train_and_test_of_an_aspect(scope, aspect, split, shared):
    train = with_texts(TRAIN, q1="Love  lost")
    other = with_texts(part(split, {"z9": {"p1": 3}}, scope, {"z9": "ar"}, aspect), z9="love lost")
    told = refused([train, other])
    if scope == "mono" and not shared:
        assert not any("[text]" in fault for fault in told)
        return
    problem = f"query 'q1' has the text of query 'z9' in {aspect}_{split} ({aspect}_{scope}, {split})"
    assert any(f"query set emotion_train [text]: {problem}" in fault for fault in told) == shared


def test_a_sound_package_has_no_faults():
    assert refused(PARTS) == set()


def test_the_head_of_the_card_names_every_file(tmp_path):
    labels = {
        "emotion_train": {"of": "emotion", "part": "train", "judge": "llm", "model": "a-model"},
        "emotion_gold": {"of": "emotion", "part": "gold", "sheet": "people"},
    }
    splits = {"emotion": {"test": 0.25, "clusters": 3, "encoder": "e5", "gold": 1}}
    pooling = {"candidates": 6, "depth": 9, "consensus": 0.5, "systems": ["a", "b"]}
    spec = {"adapter": "csv", "path": "mine.csv", "licence": "CC-BY-4.0"}
    folder = written(tmp_path / "bench", PARTS, labels=labels, splits=splits, pooling=pooling, corpus_spec=spec)
    card = (folder / "README.md").read_text(encoding="utf-8")
    _, head, body = card.split("---\n", 2)
    told = yaml.safe_load(head)
    assert told["license"] == "cc-by-4.0" and told["language"] == ["ara", "fra", "zho"]
    files = [file["path"] for config in told["configs"] for file in config["data_files"]]
    assert sorted(files) == sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet"))
    body = " ".join(body.split())
    for said in (
        "| emotion_cross | train | 2 | 3 | 2 |",
        "25% are test, drawn alike from 3 clusters (k-means on vectors of `e5`)",
        "1 query of test",
        "at most 6 poems were judged",
        "emotion_cross, train: the judge `llm`, the model `a-model`",
        "emotion_cross, gold: people judged",
        "theme_mono, gold: the judgements were given to the study",
        "languages: [ARA, FRA, UND, ZHO]",
        "`prompts/emotion_cross/judge-j.yaml`",
        "Texts: cc-by-4.0.",
    ):
        assert said in body, said


def test_the_card_says_what_people_left_open_and_that_their_rubric_is_another():
    labels = {
        "emotion_train": {"of": "emotion", "part": "train", "judge": "llm", "rubric": "a.yaml"},
        "emotion_gold": {"of": "emotion", "part": "gold", "sheet": "people", "rubric": "a.yaml"},
    }

    def told(rubric, **made):
        labels["emotion_gold"]["rubric"] = rubric
        made = Made("bench", "small", "c", labels=labels, depth=5, **made)
        return package_card(made, corpus_frame(poems_of()), PARTS, [])

    card = told("b.yaml", notes={"emotion_gold": "7 items without a grade left out"})
    (line,) = [line for line in card.splitlines() if line.startswith("- emotion_cross, gold")]
    assert "another rubric than the judge" in line and line.endswith(" 7 items without a grade left out.")
    assert "another rubric" not in told("a.yaml")
    assert "near copies" in card and "Poems that are the same" not in card


def test_the_verb_writes_what_it_reads(tmp_path, capsys):
    poems = poems_of()
    write_table(poems, tmp_path / "poems.parquet", POEMS)
    for one in PARTS:
        write_table(one.queries, tmp_path / f"queries/{one.query_set}.parquet", QUERIES)
        write_table(one.qrels, tmp_path / f"queries/{one.query_set}.qrels.parquet", QRELS)
    write_table(MONO.attributes, tmp_path / f"queries/{MONO.query_set}.attributes.parquet", QUERY_ATTRIBUTES)
    given = {"emotion_cross": {split: f"emotion_{split}" for split in ("train", "silver", "gold")}}
    options = ["--package", "bench", "--study", "small", "--results", str(tmp_path), "--corpus", "c", "--depth", "5"]
    options += ["--corpus-spec", "{}", "--poems", str(tmp_path / "poems.parquet"), "--output", str(tmp_path / "out")]
    options += ["--settings", json.dumps(given | {"theme_mono": {"gold": "theme_gold"}})]
    assert main(["package_benchmark", *options]) == 0
    assert "5 poems, 6 queries, 11 judgements in 2 settings" in capsys.readouterr().out
    _, split = read_back(tmp_path / "out")
    assert [len(split(one).qrels) for one in PARTS] == [3, 3, 2, 3]


def test_the_card_says_of_a_judge_only_what_the_study_knows():
    def said(**label):
        return _labelled({"of": "theme", "judge": "llm", "rubric": "rubric.yaml"} | label)

    assert said() == "the judge `llm`, whose scores came from a file; who gave them, the file does not say."
    assert (
        said(model="qwen") == "the judge `llm`, the model `qwen`, by the rubric in `prompts`; no grade is a person's."
    )
    split = {"test": 0.2, "clusters": 4, "encoder": "e5"}
    assert "in test too" in _split("theme", split | {"gold": 3})
    assert "gold" not in _split("theme", split | {"gold": 0})
