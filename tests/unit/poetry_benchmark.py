"""A made-up benchmark of poetry in the form of PoetryMTEB's card, of any size: for tests, and to measure speed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import polars as pl

from verseir.corpora.poetrymteb import ASPECTS, LANGUAGES, SCOPES, SPLITS, Setting

#: Letters of each language's script, as ranges of code points; the others are written in Latin ones.
SCRIPTS = {
    "ARA FAS URD": [(0x627, 0x628), (0x62A, 0x63A), (0x641, 0x64A)],
    "RUS BUL": [(0x430, 0x44F)],
    "HIN": [(0x905, 0x90C), (0x915, 0x928), (0x92A, 0x930)],
    "BEN": [(0x985, 0x98B), (0x995, 0x9A8), (0x9AA, 0x9B0)],
    "PAN": [(0xA05, 0xA0A), (0xA15, 0xA28), (0xA2A, 0xA30)],
    "TEL": [(0xC05, 0xC0B), (0xC15, 0xC28), (0xC2A, 0xC30)],
    "KOR": [(0xAC00, 0xB000)],
    "JPN": [(0x3042, 0x3093), (0x4E00, 0x5000)],
    "ZHO": [(0x4E00, 0x5800)],
}
LATIN = [(0x61, 0x7A), (0xE0, 0xF6)]
#: Languages that put no blank between words.
UNSPACED = ("JPN", "ZHO")
#: What a query of an aspect begins with.
ASKED = {"emotion": "寻找表达情感的诗", "intent": "寻找有意图的诗", "theme": "寻找主题的诗", "thought": "寻找思想的诗"}
GRADES = (3, 2, 1, 0, 0)


@dataclass
class Benchmark:
    """The rows of each file, as a test may change them before ``write`` puts them on disk."""

    poems: list[dict[str, Any]]
    queries: dict[Setting, list[dict[str, Any]]] = field(default_factory=dict)
    qrels: dict[Setting, list[dict[str, Any]]] = field(default_factory=dict)

    def write(self, folder: Path, layout: str = "{config}/{split}.jsonl", corpus: str = "poems_all.jsonl") -> Path:
        """Write all files below ``folder`` under the names of ``layout``: JSON Lines or Parquet, by its suffix."""
        write_rows(folder / corpus, self.poems)
        for kind, by_setting in (("queries", self.queries), ("qrels", self.qrels)):
            for setting, rows in by_setting.items():
                config = f"{kind}_{setting.aspect}_{setting.scope}"
                write_rows(folder / layout.format(config=config, split=setting.split), rows)
        return folder


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write ``rows`` as JSON Lines or Parquet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pl.DataFrame(list(rows), infer_schema_length=None).write_parquet(path)
    else:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def settings(
    aspects: Sequence[str] = ASPECTS, scopes: Sequence[str] = SCOPES, splits: Sequence[str] = ("gold",)
) -> list[Setting]:
    """All settings of the benchmark, on the split that people judged where nothing else is said."""
    return [Setting(*values) for values in product(aspects, scopes, splits)]


def benchmark(
    languages: Sequence[str] = ("ARA", "ENG", "ZHO"),
    n_poems: int = 8,
    n_queries: int = 4,
    asked: Sequence[Setting] | None = None,
    n_lines: int = 4,
    n_judged: int = 5,
    n_shared: int = 2,
    seed: int = 0,
) -> Benchmark:
    """A benchmark of ``n_poems`` poems in each of ``languages`` and ``n_queries`` queries in each setting.

    Args:
        languages: codes of ``LANGUAGES``.
        n_poems: of each language, at least ``n_judged``.
        n_queries: of each setting.
        asked: the settings; those of ``settings()`` when None.
        n_lines: lines of a poem, on average.
        n_judged: poems that are judged for a query; the first, which it is made of, has grade 3.
        n_shared: words that a query has from the beginning of that poem, so that a search for words finds something; in
            a language without blanks, pairs of characters.
        seed: of all that is drawn.
    """
    chance = random.Random(seed)
    poems = [poem for code in languages for poem in _poems(code, n_poems, n_lines, chance)]
    made = Benchmark(poems)
    words = _words("ZHO", 300, random.Random(1))
    for setting in settings() if asked is None else asked:
        made.queries[setting], made.qrels[setting] = [], []
        for number in range(n_queries):
            code = languages[number % len(languages)]
            at = languages.index(code) * n_poems
            pool = range(at, at + n_poems) if setting.scope == "mono" else range(len(poems))
            source = at + chance.randrange(n_poems)
            chosen = [source, *[i for i in chance.sample(pool, n_judged) if i != source][: n_judged - 1]]
            query_id = f"{setting.aspect}_{setting.scope}_{setting.split}_{number:05d}"
            text = f"{ASKED[setting.aspect]}：{''.join(chance.choices(words, k=6))}"
            query = {"_id": query_id, "text": f"{text} {_beginning(poems[source], n_shared)}".strip()}
            if setting.scope == "mono":
                query["target_document_language"] = code
            made.queries[setting].append(query)
            grades = [GRADES[min(place, len(GRADES) - 1)] for place in range(n_judged)]
            for i, grade in zip(chosen, grades, strict=True):
                made.qrels[setting].append({"query-id": query_id, "corpus-id": poems[i]["id"], "score": grade})
    return made


def _poems(code: str, n_poems: int, n_lines: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    words = _words(code, 3000, random.Random(code))
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    blank = "" if code in UNSPACED else " "
    for number in range(n_poems):
        lines = []
        for _ in range(chance.randint(max(1, n_lines // 2), n_lines + n_lines // 2)):
            lines.append(blank.join(chance.choices(words, cum_weights=weights, k=chance.randint(4, 8))))
        yield {
            "id": f"{code.lower()}_{number:06d}",
            "title": lines[0][:40].strip(),
            "author": f"{words[number % 50]} {words[number % 31]}",
            "content": "\n".join(lines),
            "language": code,
            "token_count": sum(len(line.split()) for line in lines),
            "link": f"https://poems.example/{code.lower()}/{number}",
        }


def _beginning(poem: dict[str, Any], n: int) -> str:
    text = poem["content"].partition("\n")[0]
    return text[: 2 * n] if poem["language"] in UNSPACED else " ".join(text.split()[:n])


def _words(code: str, n: int, chance: random.Random) -> list[str]:
    """``n`` words in the script of a language; in that of one without blanks, of one or two characters."""
    ranges = next((found for codes, found in SCRIPTS.items() if code in codes.split()), LATIN)
    letters = [chr(point) for low, high in ranges for point in range(low, high + 1)]
    letters = [letter for letter in letters if letter.isalpha()]
    longest = 2 if code in UNSPACED else 7
    return ["".join(chance.choices(letters, k=chance.randint(1, longest))) for _ in range(n)]


__all__ = ["ASPECTS", "LANGUAGES", "SCOPES", "SPLITS", "Benchmark", "benchmark", "settings", "write_rows"]
