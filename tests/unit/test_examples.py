"""Examples of single queries: what they tell is what the ranked lists hold; a sample is a fair one."""

import json
import shutil

import polars as pl
import pytest
from explored_study import CROSS, HOSTILE, MODES, collected, write_explored
from hypothesis import given
from hypothesis import strategies as st

from verseir.__main__ import main
from verseir.arabic.hemistichs import join_hemistichs, joint
from verseir.arabic.tokens import tokenize
from verseir.exchange.languages import language_tag
from verseir.layout import runs
from verseir.overlap import containment, longest_shared_run, poem_tokens
from verseir.report.example_draw import draw_order, fill
from verseir.report.example_records import DEPTH, folds
from verseir.report.example_texts import Library, Vocabulary, most_shared
from verseir.report.explorer import _sentence
from verseir.report.markup import embedded
from verseir.systems.tokenizers import words_by_script
from verseir.tables import EXPLANATIONS, POEMS, QRELS, write_table


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explored") / "small"
    write_explored(folder)
    return folder


@pytest.fixture(scope="module")
def told(results):
    return json.loads(collected(results))


def table(results, name):
    return pl.read_parquet(results / f"{name}.parquet")


def test_ranks_and_results_are_those_of_the_runs(results, told):
    by_id = {(query["set"], query["id"]): query for query in told["queries"]}
    modes = [mode["name"] for mode in told["modes"]]
    assert modes == ["verse", "explanation", "verse+explanation"] and told["systems"] == ["bm25", "dense-a", "dense-b"]
    seen = 0
    for run in runs(CROSS):
        ranked = pl.read_parquet(run.path(results / "runs"))
        qrels = table(results, f"queries/{run.query_set}.qrels").filter(pl.col("grade") > 0)
        for query_id in table(results, f"queries/{run.query_set}")["query_id"]:
            own = ranked.filter(pl.col("query_id") == query_id).sort("rank")
            right = set(qrels.filter(pl.col("query_id") == query_id)["poem_id"])
            ranks = [rank for poem_id, rank in own.select("poem_id", "rank").iter_rows() if poem_id in right]
            place = by_id[run.query_set, query_id]["results"]
            rank, *first = place[modes.index(run.mode)][told["systems"].index(run.system)]
            assert rank == min(ranks, default=0)
            shown = [told["chunks"][chunk] for chunk in first]
            assert [told["poems"][poem]["id"] for poem, *_ in shown] == own["poem_id"][:DEPTH].to_list()
            for (poem, start, n, sure), chunk_id in zip(shown, own["chunk_id"], strict=False):
                assert sure == (chunk_id is not None)
                assert chunk_id is None or chunk_id == f"{told['poems'][poem]['id']}#{start}"
                assert n == min(3, told["poems"][poem]["length"])
                assert {str(i) for i in range(start, start + n)} <= set(told["poems"][poem]["verses"])
                seen += 1
    assert seen > 500
    assert by_id["themes", "t0"]["results"][1] == [None] * 3  # no run in that mode


def test_shared_words_are_those_that_overlap_counts(results, told):
    poems = {row["poem_id"]: row for row in table(results, "corpora/poems/poems").iter_rows(named=True)}
    texts = dict(table(results, "queries/known").select("query_id", "text").iter_rows())
    n_shared = 0
    for query in told["queries"]:
        if query["set"] != "known":
            continue
        number, grade, shared, run, verses = query["answers"][0]
        poem = told["poems"][number]
        words, tokens = tokenize(texts[query["id"]]), poem_tokens(poems[poem["id"]]["verses"], "full")[0]
        assert len(shared) / query["words"] == containment(words, tokens)
        assert run == longest_shared_run(words, tokens).length
        assert grade == 1 and verses == sorted(verses)
        n_shared += len(shared)
    assert n_shared > 50


def test_judged_results_have_their_grade(results, told):
    grades = {(q, p): g for q, p, g in table(results, "queries/themes.qrels").iter_rows()}
    for query in told["queries"]:
        if query["set"] == "themes":
            judged = dict(zip(query["judged"][::2], query["judged"][1::2], strict=True))
            shown = {told["chunks"][c][0] for row in query["results"] for one in row if one for c in one[1:]}
            expected = {poem: grades.get((query["id"], told["poems"][poem]["id"])) for poem in shown}
            assert judged == {poem: grade for poem, grade in expected.items() if grade is not None}
    assert [answer[1] for query in told["queries"] if query["id"] == "t0" for answer in query["answers"]] == [2, 2, 1]


def test_explanations_come_with_the_modes_that_index_them(results, told):
    explained = {
        (poem_id, verse): text for poem_id, verse, _, text in table(results, "corpora/poems/explanations").iter_rows()
    }
    found = [poem for poem in told["poems"] if "explained" in poem]
    assert found
    for poem in found:
        for verse, line in poem["explained"]["prose"].items():
            assert line[0] == explained[poem["id"], int(verse)]
    alone = json.loads(collected(results, modes={name: ["verse"] for name in MODES}))
    assert not [poem for poem in alone["poems"] if "explained" in poem]


def test_unjudged_results_are_counted_over_all_queries(told):
    places = {place["set"]: place for place in told["places"]}
    low, high = places["themes"]["unjudged"]
    assert 0 <= low <= high <= 1 and places["themes"]["mode"] == "verse"


def test_queries_that_are_judged_later_are_shown_without_answers(results, tmp_path):
    later = tmp_path / "later"
    shutil.copytree(results, later)
    write_table(pl.DataFrame(schema=dict(QRELS.columns)), later / "queries" / "themes.qrels.parquet", QRELS)
    told = json.loads(collected(later))
    themes = [query for query in told["queries"] if query["set"] == "themes"]
    assert len(themes) == 2
    for query in themes:
        assert query["relevant"] == 0 and query["answers"] == [] and query["judged"] == []
        assert all(one[0] == 0 for one in query["results"][0]) and any(len(one) > 1 for one in query["results"][0])
    assert {place["set"]: place["unjudged"] for place in told["places"]}["themes"] is None


@pytest.mark.parametrize(
    ("chunk", "window"),
    [("a#b#2", (2, 3)), ("a#b#4", None), ("a#b#02", None), ("x#2", None), (None, None), ("a#b#x", None)],
)
def test_a_chunk_is_told_by_its_name(chunk, window):
    verses = [{"first": "x", "second": None}] * 6
    poems = pl.DataFrame([("a#b", *[None] * 7, verses, None)], schema=dict(POEMS.columns), orient="row")
    library = Library(poems, pl.DataFrame(schema=dict(EXPLANATIONS.columns)), 3, 1)
    assert library.window("a#b", chunk) == window


def test_a_small_room_holds_a_fair_sample(results, told):
    whole = len(collected(results).encode())
    text = collected(results, room=whole * 3 // 4)
    part = json.loads(text)
    assert len(text.encode()) <= whole * 3 // 4
    assert 5 < len(part["queries"]) < len(told["queries"]) == part["in_all"] == told["in_all"]
    by_id = {(query["set"], query["id"]): query for query in told["queries"]}
    kinds = {(q["set"], q["register"], 0 < q["results"][0][0][0] <= DEPTH) for q in by_id.values()}
    shown = {
        (q["set"], q["register"], 0 < by_id[q["set"], q["id"]]["results"][0][0][0] <= DEPTH) for q in part["queries"]
    }
    assert shown == kinds
    assert collected(results, room=whole * 3 // 4) == text
    order = [(query["set"], query["id"]) for query in told["queries"]]
    assert [key for key in order if key in {(q["set"], q["id"]) for q in part["queries"]}] == [
        (q["set"], q["id"]) for q in part["queries"]
    ]


def test_where_little_fits_texts_give_way_to_queries(results, told):
    part = json.loads(collected(results, room=40_000))
    assert part["texts"] < DEPTH == told["texts"]
    for query in part["queries"]:
        for row in query["results"]:
            for one in filter(None, row):
                for chunk in one[1 : part["texts"] + 1]:
                    poem, first, n, _ = part["chunks"][chunk]
                    assert {str(i) for i in range(first, first + n)} <= set(part["poems"][poem]["verses"])
    assert _sentence(part).endswith("of each system.")


def test_nothing_but_a_sentence_of_room_still_shows_one_query(results):
    assert len(json.loads(collected(results, room=10))["queries"]) == 1


ASKED = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.sampled_from(["quoting", "abstract", None]), st.sampled_from([True, False, None])
    ),
    max_size=60,
)


@given(ASKED, st.integers(1, 60))
def test_beginnings_of_the_order_hold_the_same_share_of_every_kind(kinds, n):
    rows = [("c", *kind[:1], f"q{i}", None, *kind[1:]) for i, kind in enumerate(kinds)]
    names = ["corpus", "query_set", "query_id", "source_query_id", "register", "found"]
    asked = pl.DataFrame(rows, schema=[*((name, pl.String) for name in names[:5]), ("found", pl.Boolean)], orient="row")
    order = draw_order(asked)
    assert sorted(order) == list(range(len(rows)))
    if n < len(rows):
        first = [kinds[row] for row in order[:n]]
        shares = {kind: first.count(kind) / kinds.count(kind) for kind in set(kinds)}
        for kind, share in shares.items():
            for other, least in shares.items():
                assert share - 1 / kinds.count(kind) <= least + 1 / kinds.count(other) + 1e-9


def test_a_query_and_its_edits_are_taken_together():
    own = [("c", "own", f"q{i}", None, "quoting", True) for i in range(30)]
    edited = [("c", "cut", f"q{i}~cut", f"q{i}", "quoting", True) for i in reversed(range(30))]
    names = ["corpus", "query_set", "query_id", "source_query_id", "register", "found"]
    order = draw_order(pl.DataFrame(own + edited, schema=names, orient="row"))
    first = [(own + edited)[row] for row in order[:20]]
    assert {row[2] for row in first if row[1] == "own"} == {row[3] for row in first if row[1] == "cut"}


@given(st.lists(st.integers(1, 50), min_size=1, max_size=300), st.integers(1, 3000))
def test_what_fits_is_written(sizes, room):
    text, n = fill(range(len(sizes)), lambda rows: "x" * sum(sizes[row] for row in rows), room)
    assert len(text) == sum(sizes[:n])
    if sum(sizes) <= room:
        assert len(text) == sum(sizes)
    elif sizes[0] <= room:
        assert len(text) <= room
        assert len(text) >= 0.5 * room or room < 200
    else:
        assert len(text) == sizes[0]


def test_no_query_no_example():
    assert fill([], lambda rows: "none", 100) == ("none", 0)


@given(st.text(max_size=20), st.text(max_size=20))
def test_joint_is_what_is_joined(first, second):
    left, between, right = joint(first, second)
    assert left + between + right == join_hemistichs(first, second)
    assert first.startswith(left) and second.endswith(right)


def test_a_word_over_the_caesura_is_marked_in_both_halves():
    vocabulary = Vocabulary("full")
    vocabulary.learn("المستهام")
    first, second = vocabulary.verse("قلب المستـ", "ـهام حزين")
    assert first == ["قلب المستـ", [4, 9, 0]]
    assert second == ["ـهام حزين", [1, 4, 0]]


def test_places_count_as_a_page_does():
    vocabulary = Vocabulary("full")
    vocabulary.learn("moon")
    assert vocabulary.line("\U0001f319 moon") == ["\U0001f319 moon", [3, 7, 0]]


def test_words_without_letters_of_a_query_have_no_place():
    vocabulary = Vocabulary("full")
    vocabulary.learn("قمر")
    assert vocabulary.line("شمس ونجم") == ["شمس ونجم"]
    assert vocabulary.verse("", "قَمَرٌ") == [[""], ["قَمَرٌ", [0, 6, 0]]]
    assert vocabulary.verse("شمس", None) == [["شمس"]]


def test_the_window_that_shares_most_is_the_first_of_its_kind():
    verses = [["a"], ["b"], ["c"], ["a", "b"], ["c"]]
    assert most_shared(["a", "b", "c"], verses, 3) == range(0, 3)
    assert most_shared(["c"], [["x"]] * 4 + [["c"]], 2) == range(3, 5)
    assert most_shared([], [["x"]], 3) == range(0, 1)


@given(st.text(alphabet=st.characters(min_codepoint=0x600, max_codepoint=0x6FF), max_size=12))
def test_the_page_folds_letters_as_the_preset_does(text):
    table = folds()
    folded = "".join(table.get(char, char) for char in text)
    spaced = "".join(char if char.isalnum() or char.isspace() else " " for char in folded)
    assert set("".join(tokenize(text, "full"))) - set(spaced) == set() or any(0x653 <= ord(c) <= 0x655 for c in text)


def test_data_cannot_end_their_element(results):
    markup = embedded(collected(results))
    assert "<" not in markup and ">" not in markup and "&" not in markup and "\u2028" not in markup
    told = json.loads(markup)
    assert HOSTILE in {poem.get("poet") for poem in told["poems"]}


@pytest.mark.parametrize(
    ("code", "tag"),
    [("ar", "ar"), ("ARA", "ar"), ("per", "fa"), ("zho", "zh"), ("xyz", "xyz"), (None, None), ("?", None)],
)
def test_languages_are_named_as_pages_do(code, tag):
    assert language_tag(code) == tag


def test_the_verb_writes_what_is_collected(results, tmp_path, capsys):
    files = {"poems": [str(results / "corpora" / "poems" / "explanations.parquet")]}
    options = ["--results", str(results), "--cross", json.dumps(CROSS), "--modes", json.dumps(MODES)]
    options += ["--chunks", '{"verses": 3, "stride": 1}', "--explanations", json.dumps(files), "--tokens", "full"]
    output = tmp_path / "explorer.json"
    assert main(["collect_examples", *options, "--base-mode", "verse", "--output", str(output)]) == 0
    assert output.read_text(encoding="utf-8").strip() == collected(results)
    assert "queries" in capsys.readouterr().out


@given(st.text(max_size=30))
def test_words_of_a_line_are_those_of_its_text(text):
    vocabulary = Vocabulary("full")
    words = vocabulary.learn(text)
    line = vocabulary.line(text)
    numbers = line[1][2::3] if len(line) > 1 else []
    assert [list(vocabulary.numbers)[number] for number in numbers] == words == words_by_script(text, "full")
