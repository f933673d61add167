"""How BM25 splits texts."""

import pytest

from verseir.arabic.tokens import tokenize
from verseir.systems.tokenizers import english_words, tokens_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat's out; don't look.", ["the", "cat's", "out", "don't", "look"]),
        ("Rock 'n' roll, the dogs' ball", ["rock", "n", "roll", "the", "dogs", "ball"]),
        ("o'clock'n'all", ["o'clock", "n'all"]),
        ("the cat\u2019s well-known £5_note CAFÉ", ["the", "cat", "s", "well", "known", "5_note", "café"]),
        (" ... ", []),
        ("", []),
    ],
)
def test_english_words(text, words):
    assert english_words(text, "raw") == words


def test_an_entry_names_the_way():
    texts = ["It's a قَلْب", "x-y"]
    assert tokens_of(texts, {"tokens": "any-script", "text": "full"}) == [tokenize(text, "full") for text in texts]
    assert tokens_of(texts, {"tokens": "words", "text": "light"}) == [["it's", "a", "قلب"], ["x", "y"]]
