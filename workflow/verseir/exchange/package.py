"""A benchmark of poetry as a folder: Parquet for each config and split, counts, prompts and a card.

It has the form of the card of PoetryMTEB (see ``corpora.poetrymteb``), so that ``datasets.load_dataset`` loads a config
and split of the folder and the adapter ``poetrymteb`` reads it back. A poem's verses are the lines of its ``content``,
the hemistichs of a verse parted by a blank; ``token_count`` counts the tokens of ``bm25-multilingual``. Languages have
codes of three capitals, ``UND`` where the corpus does not tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from verseir.corpora.poetrymteb import SPLITS
from verseir.exchange.beir_export import document_texts, judgement_rows
from verseir.exchange.folders import atomic_folder
from verseir.exchange.languages import three_letters
from verseir.faults import Fault, InputFaults, shown
from verseir.formats import count
from verseir.queries.poetry import MOST
from verseir.queries.splits import same_text
from verseir.systems.tokenizers import words_by_script

#: The config and the split of the poems.
CORPUS, CORPUS_SPLIT = "corpus", "test"
#: How tokens are counted: the preset of ``bm25-multilingual``.
PRESET = "full"
README, COUNTS, PROMPTS = "README.md", "counts.csv", "prompts"
#: The column of counts that says how many, and those that say of what.
COUNT_COLUMNS = ("what", "aspect", "scope", "split", "language", "n")
_HINT = "see how the set was judged, or leave it out of the package"


class Part(NamedTuple):
    """One split of one setting: a query set with its QUERIES, QRELS and QUERY_ATTRIBUTES (None: it has none)."""

    aspect: str
    scope: str
    split: str
    query_set: str
    queries: pl.DataFrame
    qrels: pl.DataFrame
    attributes: pl.DataFrame | None = None

    @property
    def setting(self) -> str:
        """Such as ``emotion_cross``."""
        return f"{self.aspect}_{self.scope}"


def order_of(part: Part) -> tuple[str, str, int]:
    """By aspect and scope, then train, silver, gold."""
    return part.aspect, part.scope, SPLITS.index(part.split)


def corpus_frame(poems: pl.DataFrame) -> pl.DataFrame:
    """The poems of POEMS as the card has them, in the order of ids; ``language`` is null where it is no code."""
    poems = poems.sort("poem_id")
    content = document_texts(poems)["text"]
    return poems.select(
        pl.col("poem_id").alias("id"),
        "title",
        pl.col("poet").alias("author"),
        content.alias("content"),
        pl.Series("language", [three_letters(code) for code in poems["language"]], dtype=pl.String),
        pl.Series("token_count", [len(words_by_script(text, PRESET)) for text in content], dtype=pl.Int64),
        pl.col("source").alias("link"),
    )


def query_frame(part: Part) -> pl.DataFrame:
    """``_id`` and ``text`` in the order of ids and, where the scope is mono, ``target_document_language``."""
    queries = part.queries.sort("query_id").select(pl.col("query_id").alias("_id"), "text")
    if part.scope != "mono":
        return queries
    targets = _targets(part)
    found = [three_letters(targets[name]) if name in targets else None for name in queries["_id"]]
    return queries.with_columns(target_document_language=pl.Series(found, dtype=pl.String))


def _targets(part: Part) -> dict[str, str]:
    if part.attributes is None:
        return {}
    told = part.attributes.filter(pl.col("attribute") == "language")
    return dict(told.select("query_id", "value").iter_rows())


def package_faults(corpus: str, documents: pl.DataFrame, poems: pl.DataFrame, parts: Sequence[Part]) -> list[Fault]:
    """All for which the adapter ``poetrymteb`` would refuse the package, and what train and test share.

    Args:
        corpus: name of the corpus.
        documents: what ``corpus_frame`` gives.
        poems: POEMS of the corpus.
        parts: the splits of all settings.
    """
    where, faults = f"corpus {corpus}", list[Fault]()
    unknown = poems.join(documents.filter(pl.col("language").is_null()), left_on="poem_id", right_on="id", how="semi")
    for (code,), rows in sorted(unknown.partition_by("language", as_dict=True).items()):
        told = f"{count(len(rows), 'poem')}, such as {rows['poem_id'].sort()[0]}"
        problem = f"'{shown(code)}', the language of {told}, is no code"
        faults.append(Fault(where, 0, "language", problem, "a code of ISO 639, such as ar or ara"))
    bare = documents.filter(~pl.col("content").str.contains(r"[\p{L}\p{N}]"))
    for name in bare["id"]:
        faults.append(Fault(where, 0, "verses", f"poem '{name}' has no letter", "fill it, or take it out"))
    languages = dict(documents.select("id", "language").iter_rows())
    for part in sorted(parts, key=order_of):
        faults += _part_faults(part, languages)
    return faults + list(_shared(parts))


def _part_faults(part: Part, languages: Mapping[str, str | None]) -> Iterator[Fault]:
    where = f"query set {part.query_set}"
    if part.queries.is_empty():
        yield Fault(where, 0, "", f"has no query for {part.setting}, split {part.split}", _HINT)
    for query_id, poem_id, grade in part.qrels.sort("query_id", "poem_id").iter_rows():
        if poem_id not in languages:
            yield Fault(where, 0, "poem_id", f"poem '{poem_id}', judged for '{query_id}', is not in the corpus", _HINT)
        if not 0 <= grade <= MOST:
            problem = f"poem '{poem_id}' has grade {grade} for query '{query_id}'"
            yield Fault(where, 0, "grade", problem, f"grades of a package are 0 to {MOST}: judge by such a rubric")
    relevant = part.qrels.filter(pl.col("grade") > 0)
    for query_id in part.queries.join(relevant, on="query_id", how="anti")["query_id"].sort():
        yield Fault(where, 0, "query_id", f"query '{query_id}' has no relevant poem", _HINT)
    if part.scope == "mono":
        yield from _target_faults(part, relevant, languages)


def _target_faults(part: Part, relevant: pl.DataFrame, languages: Mapping[str, str | None]) -> Iterator[Fault]:
    """Queries that ask for poems in one language without telling which, or are answered by poems in another."""
    where, told = f"query set {part.query_set}", _targets(part)
    targets = dict(query_frame(part).select("_id", "target_document_language").iter_rows())
    known = {code for code in languages.values() if code}
    for query_id, target in targets.items():
        if target is None or target not in known:
            given = f"'{told[query_id]}' is the language of no poem" if query_id in told else "is missing"
            hint = f"the language in which it asks for poems, or {part.aspect}_cross"
            yield Fault(where, 0, "language", f"{given}, at query '{query_id}'", hint)
    for query_id, poem_id, _ in relevant.sort("query_id", "poem_id").iter_rows():
        target, language = targets.get(query_id), languages.get(poem_id)
        if target in known and language is not None and language != target:
            problem = f"poem '{poem_id}' is relevant to query '{query_id}', and in {language}"
            hint = f"the query asks for poems in {target} alone: search it `within: language`"
            yield Fault(where, 0, "poem_id", problem, hint)


def _shared(parts: Sequence[Part]) -> Iterator[Fault]:
    """Queries for training that are for testing too: by id in one setting, by text in all settings of one aspect.

    The same words may be asked ``mono`` and ``cross``, so long as both are for training, or neither. Of another aspect
    they ask for other poems. Silver and gold may share queries: people judge some of those that a judge judges.
    """
    ordered = sorted(parts, key=order_of)
    tests = [part for part in ordered if part.split != "train"]
    for train in (part for part in ordered if part.split == "train"):
        where = f"query set {train.query_set}"
        for test in (part for part in tests if part.aspect == train.aspect):
            last_first = test.queries.sort("query_id", descending=True).select("text", "query_id").iter_rows()
            by_text = {same_text(text): query_id for text, query_id in last_first}
            there = set(test.queries["query_id"]) if train.setting == test.setting else set()
            for query_id, text in train.queries.sort("query_id").select("query_id", "text").iter_rows():
                if query_id in there:
                    problem = f"query '{query_id}' is in {test.query_set} ({test.split}) too"
                    hint = "take parts of one `split`: train here, test or gold there"
                    yield Fault(where, 0, "query_id", problem, hint)
                elif (other := by_text.get(same_text(text))) is not None:
                    place = f"{test.query_set} ({test.setting}, {test.split})"
                    problem = f"query '{query_id}' has the text of query '{other}' in {place}"
                    hint = "split a set once: queries of one text stay together; sets of one file split alike"
                    yield Fault(where, 0, "text", problem, hint)


def counts_frame(documents: pl.DataFrame, parts: Sequence[Part]) -> pl.DataFrame:
    """How many documents each language has, and queries and judgements each split: columns ``COUNT_COLUMNS``."""
    rows: list[tuple[str | int, ...]] = [
        ("documents", "", "", "", language, n)
        for language, n in sorted(documents["language"].value_counts().iter_rows())
    ]
    for what in ("queries", "judgements"):
        for part in sorted(parts, key=order_of):
            n = len(part.queries if what == "queries" else part.qrels)
            rows.append((what, part.aspect, part.scope, part.split, "", n))
    schema = dict.fromkeys(COUNT_COLUMNS[:-1], pl.String) | {"n": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def part_path(kind: str, part: Part) -> str:
    """The file of ``queries`` or ``qrels`` of a split within the folder."""
    return f"{kind}_{part.setting}/{part.split}.parquet"


def configs_of(parts: Sequence[Part]) -> dict[str, dict[str, str]]:
    """Config -> split -> file, in the order of the card: the corpus, then queries and qrels of each setting."""
    configs = {CORPUS: {CORPUS_SPLIT: f"{CORPUS}/{CORPUS_SPLIT}.parquet"}}
    ordered = sorted(parts, key=order_of)
    for kind in ("queries", "qrels"):
        for part in ordered:
            configs.setdefault(f"{kind}_{part.setting}", {})[part.split] = part_path(kind, part)
    return configs


def write_package(
    folder: str | Path,
    corpus: str,
    documents: pl.DataFrame,
    poems: pl.DataFrame,
    parts: Sequence[Part],
    card: str,
    prompts: Mapping[str, Path],
) -> None:
    """Write a benchmark as a whole folder.

    Args:
        folder: which is replaced.
        corpus: name of the corpus, for messages.
        documents: what ``corpus_frame`` gives.
        poems: POEMS of the corpus.
        parts: the splits of all settings.
        card: the text of ``README.md``.
        prompts: name within the folder of prompts -> the file that judges or people read.

    Raises:
        InputFaults: all that ``package_faults`` finds; nothing is written.
    """
    if faults := package_faults(corpus, documents, poems, parts):
        raise InputFaults(faults)
    with atomic_folder(folder) as new:
        frames = {f"{CORPUS}/{CORPUS_SPLIT}.parquet": documents}
        for part in parts:
            frames[part_path("queries", part)] = query_frame(part)
            frames[part_path("qrels", part)] = judgement_rows(part.qrels).with_columns(pl.col("score").cast(pl.Int64))
        for name, frame in frames.items():
            (new / name).parent.mkdir(exist_ok=True)
            frame.write_parquet(new / name, compression="zstd", statistics=False)
        counts_frame(documents, parts).write_csv(new / COUNTS)
        (new / README).write_text(card, encoding="utf-8", newline="\n")
        for name, path in sorted(prompts.items()):
            (new / PROMPTS / name).parent.mkdir(parents=True, exist_ok=True)
            (new / PROMPTS / name).write_bytes(path.read_bytes())
