"""Known-item probes: drawn by rule, from the poems alone."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.arabic import tokenize
from verseir.faults import UserError
from verseir.probes import KINDS, known_item_probes
from verseir.slips import pieces
from verseir.tables import POEMS, QRELS, QUERIES, check_table

WORDS = ["قمر", "نجم", "بحر", "جبل", "سهل", "نخل", "ورد", "طير", "ريح", "مطر", "غيم", "برق", "رمل", "صخر", "نهر"]
HEMISTICHS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
BOOKS = st.lists(
    st.lists(st.tuples(HEMISTICHS, HEMISTICHS | st.none()), min_size=1, max_size=4), min_size=1, max_size=6
)


def frame(book):
    rows = [
        {
            **dict.fromkeys(POEMS.columns),
            "poem_id": f"p{number}",
            "verses": [{"first": first, "second": second} for first, second in verses],
        }
        for number, verses in enumerate(book)
    ]
    return pl.DataFrame(rows, schema=dict(POEMS.columns))


DISTINCT = frame(
    [
        [("قمر فوق جبل عال", "نجم تحت بحر هادئ"), ("ريح في نخل كثير", "مطر على ورد قليل")],
        [("طير بين غيم وبرق", "رمل حول صخر ونهر")],
        [("سهل بعد جبل أخضر", "بحر قبل رمل أصفر")],
        [("قصير", None)],
    ]
)


def test_one_query_of_each_kind_for_each_poem():
    queries, qrels, passed = known_item_probes(DISTINCT, 3, seed=1, query_set="mine")
    check_table(queries, QUERIES, "queries")
    check_table(qrels, QRELS, "qrels")
    assert queries.height == qrels.height == 9
    assert dict(queries.group_by("register").len().iter_rows()) == {"quoting": 3, "half-remembered": 6}
    assert dict(queries.group_by("edit").len().iter_rows()) == {f"probe:{kind}": 3 for kind in KINDS}
    assert set(queries["query_set"]) == {"mine"}
    derived = queries.filter(pl.col("register") == "half-remembered")
    assert sorted(set(derived["source_query_id"])) == [f"p{number}.quote" for number in range(3)]
    assert queries.filter(pl.col("register") == "quoting")["source_query_id"].null_count() == 3
    assert sum(passed.values()) <= 1


def test_a_kind_is_the_same_with_and_without_the_others():
    whole = known_item_probes(DISTINCT, 3, seed=5).queries
    for kind in KINDS:
        alone = known_item_probes(DISTINCT, 3, seed=5, kinds=[kind]).queries
        assert alone["text"].to_list() == whole.filter(pl.col("edit") == f"probe:{kind}")["text"].to_list()
        assert set(alone["source_query_id"]) == {None}  # what it was made of is not in the set
    assert known_item_probes(DISTINCT, 3, seed=5, kinds=["quote"]).qrels.height == 3


def test_quotation_stands_as_it_is_and_the_scrambled_words_are_of_its_verse():
    queries, qrels, _ = known_item_probes(DISTINCT, 3, seed=7)
    gold = dict(qrels.select("query_id", "poem_id").iter_rows())
    verses_of = dict(DISTINCT.select("poem_id", "verses").iter_rows())
    texts = dict(queries.select("query_id", "text").iter_rows())
    for poem_id in ("p0", "p1", "p2"):
        (verse,) = [verse for verse in verses_of[poem_id] if texts[f"{poem_id}.quote"] in verse.values()]
        words = tokenize(f"{verse['first']} {verse['second']}", "light")
        scrambled = texts[f"{poem_id}.half-remembered"].split()
        assert len(scrambled) == len(words) - round(len(words) / 3)
        assert set(scrambled) < set(words)
        assert scrambled != [word for word in words if word in scrambled]
        assert {gold[f"{poem_id}.{kind}"] for kind in KINDS} == {poem_id}


@settings(deadline=None, max_examples=60)
@given(BOOKS, st.integers(0, 99))
def test_a_variant_is_neither_its_source_nor_a_line_of_any_poem(book, seed):
    lines = {" ".join(tokenize(half)) for verses in book for verse in verses for half in verse if half}
    try:
        queries = known_item_probes(frame(book), 1, seed).queries
    except UserError:
        return
    (quote,), (changed,) = (
        queries.filter(pl.col("edit") == f"probe:{kind}")["text"].to_list() for kind in ("quote", "variant")
    )
    assert " ".join(tokenize(changed)) not in lines
    shared = set(tokenize(quote)) & set(tokenize(changed))
    assert len(set(tokenize(quote)) - shared) <= 2 and changed.strip()


CHINESE = frame(
    [[("床前明月光", "疑是地上霜"), ("舉頭望明月", "低頭思故鄉")], [("春眠不覺曉", None), ("處處聞啼鳥", None)]]
)
ENGLISH = frame(
    [
        [("Tyger Tyger, burning bright,", None), ("In the forests of the night;", None)],
        [("Ô Héloïse, où es-tu", None)] * 2,
    ]
)


@pytest.mark.parametrize("seed", range(12))
def test_poems_of_any_script_give_probes(seed):
    for poems, least in ((CHINESE, 4), (ENGLISH, 3)):
        queries = known_item_probes(poems, 2, seed).queries
        by_kind = {kind: queries.filter(pl.col("edit") == f"probe:{kind}")["text"].to_list() for kind in KINDS}
        lines = [verse[half] for verses in poems["verses"] for verse in verses for half in ("first", "second")]
        assert set(by_kind["quote"]) <= set(lines)
        assert all(len(pieces(text)) >= least for text in by_kind["half-remembered"])
        for quote, changed in zip(by_kind["quote"], by_kind["variant"], strict=True):
            assert tokenize(quote) != tokenize(changed)
        if poems is CHINESE:  # no blank comes between characters
            assert not any(" " in text for texts in by_kind.values() for text in texts)
            assert all(set(text) <= set("".join(filter(None, lines))) for text in by_kind["half-remembered"])


def test_poems_that_are_passed_over_are_told_with_why():
    poems = frame(
        [[("قصير", None)], [("قمر فوق جبل عال", "نجم تحت بحر هادئ")], [("قمر فوق جبل عال", "نجم تحت بحر هادئ")]]
    )
    with pytest.raises(UserError) as caught:
        known_item_probes(poems, 1, seed=1)
    assert "3 poems were passed over: 1 too short" in str(caught.value)
    assert "2 without a line that stands in no other poem" in str(caught.value)
    assert "give queries of its own" in str(caught.value)
    told = known_item_probes(DISTINCT, 3, seed=1).told()
    assert told.startswith("9 probes of 3 poems (3 half-remembered, 3 quote and 3 variant)")


def test_poem_whose_hemistich_stands_in_another_is_passed_over():
    twins = frame([[("قمر فوق جبل عال", "نجم تحت بحر هادئ")], [("قَمَرٌ فوق جبلٍ عال", "نجم تحت بحر هادئ")]])
    with pytest.raises(UserError, match="only 0 of 2 poems"):
        known_item_probes(twins, 1, seed=1)


def test_too_many_wanted_is_an_error_that_says_how_many_there_are():
    with pytest.raises(UserError, match="only 3 of 4 poems") as caught:
        known_item_probes(DISTINCT, 4, seed=1)
    assert "3 or less" in str(caught.value)


def test_seed_changes_the_draw():
    draws = {tuple(known_item_probes(DISTINCT, 1, seed=seed).qrels["poem_id"].to_list()) for seed in range(20)}
    assert len(draws) == 3


@settings(deadline=None)
@given(BOOKS, st.integers(0, 5), st.randoms())
def test_order_of_the_poems_does_not_matter(book, seed, random):
    poems = frame(book)
    shuffled = poems.sample(fraction=1, shuffle=True, seed=random.randrange(1 << 16))
    n = 1
    try:
        expected = known_item_probes(poems, n, seed)
    except UserError:
        with pytest.raises(UserError):
            known_item_probes(shuffled, n, seed)
        return
    found = known_item_probes(shuffled, n, seed)
    assert found.queries.equals(expected.queries)
    assert found.qrels.equals(expected.qrels)
