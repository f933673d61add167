"""Known-item probes: drawn by rule, from the poems alone."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.arabic import tokenize
from verseir.faults import UserError
from verseir.probes import known_item_probes
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


def test_two_queries_for_each_poem_one_register_each():
    queries, qrels = known_item_probes(DISTINCT, 3, seed=1, query_set="mine")
    check_table(queries, QUERIES, "queries")
    check_table(qrels, QRELS, "qrels")
    assert queries.height == qrels.height == 6
    assert dict(queries.group_by("register").len().iter_rows()) == {"quoting": 3, "half-remembered": 3}
    assert set(queries["edit"]) == {"probe:hemistich", "probe:scrambled"}
    assert set(queries["query_set"]) == {"mine"}
    pairs = queries.filter(pl.col("register") == "half-remembered")
    assert pairs["source_query_id"].to_list() == [f"p{number}.hemistich" for number in range(3)]


def test_quotation_stands_as_it_is_and_the_scrambled_words_are_of_its_verse():
    queries, qrels = known_item_probes(DISTINCT, 3, seed=7)
    gold = dict(qrels.select("query_id", "poem_id").iter_rows())
    verses_of = dict(DISTINCT.select("poem_id", "verses").iter_rows())
    texts = dict(queries.select("query_id", "text").iter_rows())
    for poem_id in ("p0", "p1", "p2"):
        (verse,) = [verse for verse in verses_of[poem_id] if texts[f"{poem_id}.hemistich"] in verse.values()]
        words = tokenize(f"{verse['first']} {verse['second']}", "light")
        scrambled = texts[f"{poem_id}.scrambled"].split()
        assert len(scrambled) == len(words) - round(len(words) / 3)
        assert set(scrambled) < set(words)
        assert scrambled != [word for word in words if word in scrambled]
        assert gold[f"{poem_id}.hemistich"] == gold[f"{poem_id}.scrambled"] == poem_id


def test_poem_whose_hemistich_stands_in_another_is_passed_over():
    twins = frame([[("قمر فوق جبل عال", "نجم تحت بحر هادئ")], [("قَمَرٌ فوق جبلٍ عال", "نجم تحت بحر هادئ")]])
    with pytest.raises(UserError, match="only 0 of 2 poems"):
        known_item_probes(twins, 1, seed=1)


def test_too_many_wanted_is_an_error_that_says_how_many_there_are():
    with pytest.raises(UserError, match="only 3 of 4 poems") as caught:
        known_item_probes(DISTINCT, 4, seed=1)
    assert "3 or less" in str(caught.value)


def test_seed_changes_the_draw():
    draws = {tuple(known_item_probes(DISTINCT, 1, seed=seed)[1]["poem_id"].to_list()) for seed in range(20)}
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
    assert found[0].equals(expected[0])
    assert found[1].equals(expected[1])
