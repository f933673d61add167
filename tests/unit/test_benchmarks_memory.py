"""The study that memory is measured on, and what is told of it."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

from verseir.config import load_study

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import memory  # noqa: E402  (found on the path above)


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_study_is_sound_repeats_itself_and_each_query_has_words_of_its_poem(tmp_path):
    for name in ("one", "two"):
        memory.write_study(tmp_path / name, 400)
    poems, queries = (lines(tmp_path / "one" / "data" / f"{name}.jsonl") for name in ("poems", "queries"))
    assert (poems, queries) == tuple(
        lines(tmp_path / "two" / "data" / f"{name}.jsonl") for name in ("poems", "queries")
    )
    assert (len(poems), len(queries)) == (400, memory.QUERIES)
    chunks = [max(1, len(poem["verses"]) - 2) for poem in poems]
    assert 10 < sum(chunks) / len(chunks) < 14
    words = {
        poem["poem_id"]: {word for verse in poem["verses"] for half in verse for word in half.split()} for poem in poems
    }
    for query in queries:
        (poem_id,) = query["relevant"]
        assert len(words[poem_id] & set(query["text"].split())) >= 2
    study = yaml.safe_load((tmp_path / "one" / "study.yaml").read_text(encoding="utf-8"))
    study["registry"] = [str(ROOT / "config" / "systems.yaml")]
    assert load_study(study, tmp_path / "one").name == memory.NAME


@pytest.mark.parametrize(("peak", "verdict"), [(500, "within 4,096 MB"), (5000, "**above** 4,096 MB")])
def test_the_page_tells_whether_all_stayed_within_the_limit(tmp_path, peak, verdict):
    rules = {rule: {"peak_mb": 100 + place} for place, rule in enumerate(memory.RULES[:-1])}
    sizes = [
        {"poems": 300 * times, "chunks": 3600 * times, "peak_mb": peak * times // 2, "rules": rules} for times in (1, 2)
    ]
    machine = {"processor": "P", "cores": 2, "memory_gb": 8.0}
    page = memory.make_page({"date": "today", "machine": machine, "cores": 2, "most_mb": 4096, "sizes": sizes})
    assert verdict in page.replace("\n", " ")
    table = [line for line in page.splitlines() if line.startswith("|")]
    assert len(table) == 4
    assert len({len(re.findall(r"\|", line)) for line in table}) == 1
    memory.draw(sizes, tmp_path / "memory.svg")
    assert ET.parse(tmp_path / "memory.svg").getroot().tag.endswith("svg")
