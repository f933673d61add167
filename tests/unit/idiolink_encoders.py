"""What each encoder of IdioLink should read and pool, written down apart from the code that does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from verseir.systems.registry import load_registry

ENTRIES = load_registry([Path(__file__).parents[2] / "config" / "systems-idiolink.yaml"])

TEXT = "she let the cat out of the bag, and the cat out of the sack"
SPAN = "the cat out of"
#: First and last character of the span in its text: the first place, and the last.
FIRST, LAST = (8, 22), (36, 50)
TEMPLATE = "what does '{span}' mean here?"
I = "what does 'the cat out of' mean here?"  # noqa: E741
BGE = "Represent this sentence for searching relevant passages: "


class Strings(NamedTuple):
    """What stands before a text: a document, and a query in the four views."""

    document: str = ""
    sentence: str = ""
    span: str = ""
    instruction_sentence: str = f"Instruct: {I}\nQuery: "
    instruction_span: str = f"Instruct: {I}\nQuery: "


class Expected(NamedTuple):
    """An encoder: its family, its strings, and how it makes a vector of token vectors.

    ``pooling`` is that of a whole text; ``after`` says that a prompt is not pooled; ``both_ways`` that tokens see those
    after them; ``end`` that an end token is added; ``head`` that there is a Dense head, ``bare_span`` that spans skip
    it; ``pair`` that an instruction and a whole query are a pair of texts.
    """

    family: str
    pooling: str
    strings: Strings = Strings()
    after: bool = False
    both_ways: bool = False
    end: bool = False
    head: bool = False
    bare_span: bool = False
    pair: bool = False


NO_SPACE = Strings(instruction_sentence=f"Instruct: {I}\nQuery:", instruction_span=f"Instruct: {I}\nQuery:")
NOMIC = Strings("search_document: ", *["search_query: "] * 4)
GRIT = Strings(*["<|embed|>\n"] * 3, *[f"<|user|>\n{I}\n<|embed|>\n"] * 2)
INSTRUCTOR = Strings(instruction_sentence=I, instruction_span=f"{I}\nQuery: ")
E5 = Strings("passage: ", "query: ", "query: ", *[f"query: Instruct: {I}\nQuery: "] * 2)
DRAMA = Strings("", "Query: ", "Query: ", *[f"Query: Instruct: {I}\nQuery: "] * 2)

EXPECTED = {
    "all-minilm-l6-v2": Expected("bert", "mean"),
    "contriever": Expected("bert", "mean"),
    "e5-base-v2": Expected("bert", "mean", E5),
    "e5-base-v2-as-published": Expected("bert", "mean"),
    "tart-dual-contriever-msmarco": Expected(
        "bert", "mean", Strings(instruction_sentence=f"{I} [SEP] ", instruction_span=f"{I} [SEP] ")
    ),
    "bge-base-en-v1.5": Expected("bert", "cls", Strings(instruction_sentence=BGE, instruction_span=BGE + " ")),
    "instructor-base": Expected("t5", "mean", INSTRUCTOR, after=True, head=True),
    "instructor-base-as-published": Expected("t5", "mean", INSTRUCTOR, head=True, bare_span=True, pair=True),
    "nomic-embed-text-v2-moe": Expected("nomic_bert", "mean", NOMIC),
    "nomic-embed-text-v2-moe-as-published": Expected(
        "nomic_bert", "mean", Strings("search_document: ", "search_document: ", "", "search_query: ", "search_query: ")
    ),
    "me5-large-instruct": Expected("xlm_roberta", "mean"),
    "bge-m3-dense": Expected("xlm_roberta", "cls"),
    "qwen3-embed-0.6b": Expected("qwen3", "lasttoken", NO_SPACE),
    "drama-1b": Expected("llama", "mean", DRAMA, both_ways=True, end=True),
    "drama-1b-as-published": Expected("llama", "mean"),
    "stella-en-1.5b-v5": Expected("qwen2", "mean", both_ways=True, end=True, head=True),
    "instructor-xl": Expected("t5", "mean", INSTRUCTOR, after=True, head=True),
    "instructor-xl-as-published": Expected("t5", "mean", INSTRUCTOR, head=True, bare_span=True, pair=True),
    "lychee-embed": Expected("qwen2", "lasttoken", NO_SPACE),
    "gte-qwen2-1.5b-instruct": Expected("qwen2", "lasttoken", both_ways=True, end=True),
    "qwen3-embed-4b": Expected("qwen3", "lasttoken", NO_SPACE),
    "linq-embed-mistral": Expected("mistral", "lasttoken", end=True),
    "sfr-embedding-mistral": Expected("mistral", "lasttoken", end=True),
    "e5-mistral-7b-instruct": Expected("mistral", "lasttoken", end=True),
    "gritlm-7b": Expected("mistral", "mean", GRIT, after=True, both_ways=True),
    "gte-qwen2-7b-instruct": Expected("qwen2", "lasttoken", both_ways=True, end=True),
    "qwen3-embed-8b": Expected("qwen3", "lasttoken", NO_SPACE),
    "llama-embed-nemotron-8b": Expected("llama", "mean"),  # its own code lets it see both ways
    "bge-multilingual-gemma2": Expected(
        "gemma2",
        "lasttoken",
        Strings(*[""] * 3, *[f"<instruct>{I}\n<query>"] * 2),
        end=True,
    ),
}


def tiny_entry(name: str, folder: Path, dimension: int) -> dict[str, Any]:
    """The registry's entry ``name`` for a tiny model of its family: place, sizes and number type are changed."""
    changed = {"path": str(folder), "dimension": dimension, "dtype": "float32", "max_length": 160}
    return ENTRIES[name] | changed | {"remote_code": False}
