"""How BM25 splits texts."""

import unicodedata

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.arabic.tokens import tokenize
from verseir.systems.tokenizers import (
    TOKENIZERS,
    english_words,
    spans_by_script,
    tokens_of,
    tokens_of_blocks,
    words_by_script,
)
from verseir.systems.tokens import Tokens


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
    assert list(tokens_of(texts, {"tokens": "any-script", "text": "full"})) == [tokenize(text) for text in texts]
    assert list(tokens_of(texts, {"tokens": "words", "text": "light"})) == [["it's", "a", "قلب"], ["x", "y"]]


#: A sentence in the script of each language of PoetryMTEB, written for this test, and its tokens under ``full``.
SENTENCES = {
    "ARA": ("القَمَرُ فوقَ البحرِ، والليلُ طويلٌ", "القمر فوق البحر والليل طويل"),
    "BEN": ("নদীর ধারে বাড়ি, উত্\u200dসবের রাত।", "নদীর ধারে বাড়ি উৎসবের রাত"),
    "BUL": ("Луната изгря над морето.", "луната изгря над морето"),
    "CES": ("Měsíc svítí, řeka šumí!", "měsíc svítí řeka šumí"),
    "DEU": ("Die Straße schläft; Über dem Fluß", "die strasse schläft über dem fluss"),
    "ENG": ("The moon’s light — ﬁve ships", "the moon s light five ships"),
    "FAS": ("شب می\u200cرود و ماه می‌تابد", "شب ميرود و ماه ميتابد"),
    "FRA": ("L’été s'en va où ça ?", "l été s en va où ça"),
    "HIN": ("ज़िन्दगी का चाँद, नदी के पार।", "जिंदगी का चांद नदी के पार"),
    "HUN": ("Őszi éj, hűvös szél", "őszi éj hűvös szél"),
    "ITA": ("Perché il mare è più blu", "perché il mare è più blu"),
    "JPN": ("月が海に、ﾀﾜｰは赤い", "月が が海 海に タワ ワー ーは は赤 赤い"),
    "KOR": ("달이 바다 위에 떴다, 밤", "달이 바다 위에 떴다 밤"),
    "NOR": ("Månen står over sjøen Æ", "månen står over sjøen æ"),
    "PAN": ("ਚੰਨ ਦਰਿਆ ਉੱਤੇ, ਸ਼ਾਮ ਨੂੰ।", "ਚੰਨ ਦਰਿਆ ਉੱਤੇ ਸ\u0a3cਾਮ ਨੂੰ"),
    "POR": ("A canção do coração não dorme", "a canção do coração não dorme"),
    "RUS": ("Ёлка и МОРЕ", "ёлка и море"),
    "SLV": ("Češnja čaka žerjave", "češnja čaka žerjave"),
    "SPA": ("¿Dónde está el año?", "dónde está el año"),
    "TEL": ("చంద్రుడు సముద్రం మీద, క్షణం", "చంద్రుడు సముద్రం మీద క్షణం"),
    "TUR": ("ISLIK çalan IŞIK, ince İz", "islik çalan işik ince i\u0307z"),
    "URD": ("چاند دریا کے اوپر ہے", "چاند دريا كے اوپر هے"),
    "VIE": ("Trăng sáng trên biển, đêm dài", "trăng sáng trên biển đêm dài"),
    "ZHO": ("月在海上，夜長。舟", "月在 在海 海上 夜長 舟"),
}


@pytest.mark.parametrize("language", SENTENCES)
def test_sentences_in_the_scripts_of_24_languages(language):
    text, tokens = SENTENCES[language]
    assert words_by_script(text, "full") == [unicodedata.normalize("NFC", token) for token in tokens.split()]
    assert len(SENTENCES) == 24


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("東京タワー2024年", ["東京", "京タ", "タワ", "ワー", "2024", "年"]),  # one run, then digits part it
        ("한국abc 시", ["한국", "abc", "시"]),
        ("人々 ここゝ 〇二", ["人々", "ここ", "こゝ", "〇二"]),
        ("カ\u3099ﾊﾞｽ", ["ガバ", "バス"]),
        ("\U00020bb7野家", ["\U00020bb7野", "野家"]),
        ("漢\ufe00字 e\u0301", ["漢字", "é"]),
        ("한", ["한"]),  # decomposed
        ("हिन्दी हिंदी हिँदी", ["हिंदी"] * 3),
        ("क़लम \u0958लम कलम ऩ", ["कलम", "कलम", "कलम", "न"]),
        ("क्\u200dष क्\u200cष क्ष", ["क्ष"] * 3),
        ("ড় \u09dc ড র\u200d্যাব", ["ড\u09bc", "ড\u09bc", "ড", "র্যাব"]),
        ("ന്\u200d ൻ ന്", ["ൻ", "ൻ", "ന്"]),
        ("\u093c । ॥", []),
        ("...", []),
    ],
)
def test_tokens_go_by_the_script(text, tokens):
    assert words_by_script(text, "full") == tokens


def test_the_preset_is_that_of_the_words():
    assert words_by_script("الليلُ Night ﾀﾜ", "raw") == ["الليلُ", "Night", "ﾀﾜ"]
    assert words_by_script("الليلُ Night ﾀﾜ", "light") == ["الليل", "Night", "タワ"]


#: Letters, marks, signs and joiners of all scripts at once.
SOME = (
    "aßİıÉe\u0301\u0308ابتى\u064eـ\u200c\u200d\u00a0 \n.،'१-2٣漢字ひらカﾀﾞー々〇한글\u1112\u1161\u11ab\u3099\u302a\ufe00"
    "कनर\u093c\u094d\u0901\u0902\u0958\u0929িড\u09bcত\u09cdৎ\u09dcਸ\u0a3cਾన్ന\u0d4d\U00020bb7"
)
TEXTS = st.one_of(st.text(st.sampled_from(SOME), max_size=30), st.text(max_size=30))
PRESETS = st.sampled_from(["raw", "light", "full"])


@given(TEXTS)
def test_tokens_of_tokens_are_the_same(text):
    tokens = words_by_script(text, "full")
    assert words_by_script(" ".join(tokens), "full") == tokens
    assert all(token and not set(token) & set(" \n\u200c\u200d") for token in tokens)


@given(TEXTS, PRESETS)
def test_every_letter_of_the_words_is_in_a_token(text, preset):
    plain = [word for word in tokenize(text, preset) if not any(0x900 <= ord(char) < 0xE00 for char in word)]
    found = set("".join(words_by_script(" ".join(plain), preset)))
    assert found == set("".join(plain))


@given(TEXTS, TEXTS, PRESETS)
def test_a_blank_parts_tokens(one, other, preset):
    if "ـ" not in one + other:  # a tatweel may join two halves of a word
        parts = words_by_script(one, preset) + words_by_script(other, preset)
        assert words_by_script(f"{one}\n{other}", preset) == parts


@given(TEXTS)
def test_canonically_equivalent_texts_have_the_same_tokens(text):
    for form in ("NFC", "NFD"):
        assert words_by_script(unicodedata.normalize(form, text), "full") == words_by_script(text, "full")


@given(st.text(st.sampled_from("漢字ひらカナ한글"), min_size=2, max_size=20))
def test_characters_without_blanks_are_counted_in_pairs(text):
    tokens = words_by_script(text, "full")
    assert tokens == [text[i : i + 2] for i in range(len(text) - 1)]


@given(st.text(st.sampled_from("abcdéßжλשابت1"), max_size=20), PRESETS)
def test_words_of_other_scripts_are_those_of_any_script(text, preset):
    assert words_by_script(text, preset) == tokenize(text, preset)


#: The same ways, a text by itself and as a whole.
ALONE = {"any-script": tokenize, "multilingual": words_by_script, "words": english_words}
#: Lines that recur, with tatweels at their ends and within, and blanks of all kinds.
LINES = st.text(st.sampled_from("ابي ـ\u064e \t\u0085\u00a0\u2028،'aΣİ漢\u200d\uffff"), max_size=8)


@given(st.lists(st.lists(LINES, max_size=4), max_size=8), PRESETS, st.sampled_from(sorted(ALONE)), st.integers(1, 8))
def test_lines_and_pieces_read_once_give_the_tokens_of_each_text(texts, preset, way, block):
    texts = ["\n".join(lines) for lines in texts]
    entry = {"tokens": way, "text": preset}
    expected = [ALONE[way](text, preset) for text in texts]
    assert list(tokens_of(texts, entry)) == expected
    series = pl.Series(texts, dtype=pl.String)
    blocks = (series[first : first + block] for first in range(0, len(texts), block))
    found = tokens_of_blocks(blocks, entry)
    assert list(found) == expected
    assert found.vocabulary == sorted(set().union(*expected))


def test_every_way_has_one_for_single_texts():
    assert set(TOKENIZERS) == set(ALONE)


@given(st.lists(st.lists(st.sampled_from(["b", "a", "é", "漢", "\U00020bb7", "z"]), max_size=5), max_size=8), st.data())
def test_tokens_are_a_sequence_of_the_tokens_of_each_text(texts, data):
    tokens = Tokens.of(texts)
    assert list(tokens) == texts
    assert tokens[:] == texts
    assert Tokens.of(tokens) is tokens
    assert tokens.vocabulary == sorted(set().union(*texts))
    assert tokens.lengths.tolist() == [len(text) for text in texts]
    if texts:
        assert tokens[-1] == texts[-1]
        rows = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=6))
        taken = tokens.take(np.array(rows, dtype=np.int64))
        assert list(taken) == [texts[row] for row in rows]
        assert list(taken.trimmed()) == list(taken)
        assert taken.trimmed().vocabulary == sorted(set().union(*taken))
    with pytest.raises(IndexError):
        tokens[len(texts)]


#: Letters, marks, joiners, blanks, halves of words and presentation forms of many scripts, to be mixed.
MIXED = st.text(
    alphabet=st.one_of(
        st.sampled_from("قَمَرٌـآإ ىة\ufefbﷲ ﻻ\u200d\u200c月光明ﾀﾜｰ\u3099が달१हिन्दी\u093cത്\u200dൻ"),
        st.sampled_from("\u09a4\u09cd\u200dÉe\u0301ß.،\n\U00020000"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=25,
)


@pytest.mark.parametrize("preset", ["raw", "light", "full"])
@given(text=MIXED)
def test_spans_are_those_of_the_tokens(preset, text):
    spans = spans_by_script(text, preset)
    assert [token for token, _, _ in spans] == words_by_script(text, preset)
    assert all(0 <= start < end <= len(text) for _, start, end in spans)
    assert [start for _, start, _ in spans] == sorted(start for _, start, _ in spans)


def test_spans_hold_what_is_written():
    def written(text):
        return [(token, text[start:end]) for token, start, end in spans_by_script(text, "full")]

    assert written("قَمَرٌ، وَلَيْـل") == [("قمر", "قَمَرٌ"), ("وليل", "وَلَيْـل")]
    assert written("床前明月, A月") == [("床前", "床前"), ("前明", "前明"), ("明月", "明月"), ("a", "A"), ("月", "月")]
    assert written("ত্\u200d x") == [("ৎ", "ত্\u200d"), ("x", "x")]
    assert written("हिन्दी") == [("हिंदी", "हिन्दी")]
