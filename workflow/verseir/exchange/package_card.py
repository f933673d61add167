"""The card of a packaged benchmark: the head that ``datasets`` reads, then what people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import yaml

from verseir import __version__
from verseir.corpora.duplicates import NEAR, SHINGLE
from verseir.exchange.card import LICENCES
from verseir.exchange.languages import UNTOLD
from verseir.exchange.package import CORPUS, CORPUS_SPLIT, COUNTS, PROMPTS, Part, configs_of, order_of
from verseir.formats import count

#: What a grade means, in a word.
GRADES = {3: "strong match", 2: "moderate match", 1: "weak match", 0: "judged, and no match (hard negative)"}
_COPIES = (
    "Copies of a poem that was judged have its grade, by the audit of duplicates: poems of the same words, and near"
    f" copies, which share {NEAR:.0%} or more of the runs of {SHINGLE} words of the shorter or are linked by poems that"
    " do; of queries that are searched within one language (or another attribute) only those that they can find."
)
_UNDETERMINED = "und"


@dataclass(frozen=True)
class Made:
    """How a benchmark was made, in the words of its study.

    ``labels`` says of each query set that the study graded who did (``labelling.labelled_by``), ``splits`` how its
    parent was split, ``pooling`` how results were pooled (None: all that stood first), ``depth`` how deep, ``notes``
    what of each of those query sets has no grade, in words (the notes of LABELS).
    """

    name: str
    study: str
    corpus: str
    corpus_spec: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    about: str = ""
    labels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    splits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pooling: Mapping[str, Any] | None = None
    depth: int | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


def package_card(made: Made, documents: pl.DataFrame, parts: Sequence[Part], prompts: Sequence[str]) -> str:
    """``README.md`` of a package.

    Args:
        made: how it was made.
        documents: what ``package.corpus_frame`` gives.
        parts: the splits of all settings.
        prompts: names of the files of the folder ``prompts``.
    """
    ordered = sorted(parts, key=order_of)
    sections = [
        _head(made, documents, ordered),
        f"# {made.name}\n",
        _what(made, documents, ordered),
        _use(made, documents),
    ]
    sections += [_fields(ordered), _how(made, ordered), _grades(prompts), _licence(made)]
    return "\n".join(sections)


def _head(made: Made, documents: pl.DataFrame, parts: Sequence[Part]) -> str:
    licence = _plain_licence(made)
    named = {"license": licence or "unknown"}
    if licence and licence not in LICENCES:
        named = {"license": "other", "license_name": licence}
    codes = {code.lower() for code in documents["language"].drop_nulls().unique()}
    head = {
        "pretty_name": made.name,
        "language": sorted(codes - {_UNDETERMINED}) or [_UNDETERMINED],
        **named,
        "task_categories": ["text-retrieval"],
        "tags": ["poetry", "verseir"],
        "configs": [
            {"config_name": name, "data_files": [{"split": split, "path": path} for split, path in files.items()]}
            for name, files in configs_of(parts).items()
        ],
    }
    return f"---\n{yaml.safe_dump(head, allow_unicode=True, sort_keys=False, width=1000)}---\n"


def _what(made: Made, documents: pl.DataFrame, parts: Sequence[Part]) -> str:
    lines = [
        f"A benchmark of poetry retrieval on the corpus `{made.corpus}` of the study `{made.study}`"
        f"{f' ({made.title})' if made.title else ''}, packaged by verseir {__version__}.\n",
        *([f"{made.about}\n"] if made.about else []),
        "A query asks for poems by one aspect: the emotion that they convey, their intent, their theme or the thought"
        " that they express. In `mono` settings it asks for poems in its target language, in `cross` ones for any.\n",
        "| setting | split | queries | judgements | of these relevant |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for part in parts:
        relevant = int((part.qrels["grade"] > 0).sum())
        lines.append(f"| {part.setting} | {part.split} | {len(part.queries):,} | {len(part.qrels):,} | {relevant:,} |")
    lines += [f"\n{count(len(documents), 'poem')} in all:\n", "| language | poems |", "| --- | ---: |"]
    found = sorted(documents["language"].drop_nulls().value_counts().iter_rows())
    return "\n".join([*lines, *(f"| {code} | {n:,} |" for code, n in found), ""])


def _use(made: Made, documents: pl.DataFrame) -> str:
    codes = ", ".join(sorted(documents["language"].drop_nulls().unique()))
    return f"""## Use

```python
from datasets import load_dataset

folder = "."  # this folder
poems = load_dataset(folder, "{CORPUS}", split="{CORPUS_SPLIT}")
queries = load_dataset(folder, "queries_<aspect>_<scope>", split="<split>")
qrels = load_dataset(folder, "qrels_<aspect>_<scope>", split="<split>")
```

A study of verseir reads the folder as

```yaml
corpora:
  {made.corpus}: {{adapter: poetrymteb, path: <this folder>, languages: [{codes}], counts: <this folder>/{COUNTS}}}
query_sets:
  <name>:
    corpora: [{made.corpus}]
    poetry: {{corpus: {made.corpus}, aspect: <aspect>, scope: <scope>, split: <split>}}
```

with `within: language` at query sets whose scope is `mono`.
"""


def _fields(parts: Sequence[Part]) -> str:
    mono = " and `target_document_language`, a code as those of poems" if any(p.scope == "mono" for p in parts) else ""
    return f"""## Fields

- Poems: `id`, `title`, `author`, `content` (a verse a line, its hemistichs parted by a blank), `language` (ISO 639-3 in
  capitals; `{UNTOLD}`: the corpus does not tell), `token_count` (words; of Chinese, Japanese and Korean text pairs of
  characters), `link` (the source).
- Queries: `_id`, `text`{mono}.
- Judgements: `query-id`, `corpus-id`, `score` (0 to 3).
"""


def _how(made: Made, parts: Sequence[Part]) -> str:
    source = made.corpus_spec
    hub = source.get("hub") or {}
    place = f"{hub['id']} at {hub.get('revision') or 'main'}" if "id" in hub else source.get("path", "")
    adapter = source.get("adapter", "unknown")
    lines = [
        "## How it was made\n",
        f"The poems were read with the adapter `{adapter}`{f' from `{place}`' if place else ''}.",
    ]
    parents = sorted({str(made.labels[part.query_set]["of"]) for part in parts if part.query_set in made.labels})
    for parent in parents:
        if parent in made.splits:
            lines.append(_split(parent, made.splits[parent]))
    if parents:
        lines.append(_pooled(made))
    lines.append("")
    for part in parts:
        note = made.notes.get(part.query_set)
        told = [
            _labelled(made.labels.get(part.query_set)),
            _other_rubric(made, part, parts),
            f"{note}." if note else "",
        ]
        lines.append(f"- {part.setting}, {part.split}: {' '.join(filter(None, told))}")
    return "\n".join([*lines, ""])


def _split(parent: str, split: Mapping[str, Any]) -> str:
    gold = ""
    if split.get("gold"):
        drawn = count(split["gold"], "query", "queries")
        gold = f" {drawn} of test were drawn for people (gold), and are in test too: gold and silver share them."
    return (
        f"The queries of `{parent}` were parted into train and test: {split['test']:.0%} are test, drawn alike from"
        f" {count(split['clusters'], 'cluster')} (k-means on vectors of `{split['encoder']}`); queries that share a"
        f" text, a poem or a cluster of their own stayed together.{gold}"
    )


def _pooled(made: Made) -> str:
    asked = made.pooling
    if asked is None:
        told = f"What stood in the first {made.depth} places of any ranked list was judged; the rest is unjudged."
        return f"{told} {_COPIES}"
    return (
        f"Of each query at most {asked['candidates']} poems were judged: those known to be relevant; then, for"
        f" {asked['consensus']:.0%} of the places that were left, what most of {count(len(asked['systems']), 'system')}"
        f" ({', '.join(asked['systems'])}) had in the first {asked['depth']} places, and what fewest of them had for"
        f" the others. Any other poem is unjudged. {_COPIES}"
    )


def _labelled(label: Mapping[str, Any] | None) -> str:
    """Who gave the grades of a query set."""
    if label is None:
        return "the judgements were given to the study."
    if "sheet" in label:
        return "people judged, not knowing which system found a poem; the grade is the median of theirs, rounded down."
    if not label.get("model"):
        return f"the judge `{label['judge']}`, whose scores came from a file; who gave them, the file does not say."
    judge = f"the judge `{label['judge']}`, the model `{label['model']}`"
    return f"{judge}, by the rubric in `{PROMPTS}`; no grade is a person's."


def _other_rubric(made: Made, part: Part, parts: Sequence[Part]) -> str:
    """That people graded by another rubric than the judge of the same setting, where they did."""
    label = made.labels.get(part.query_set, {})
    if "sheet" not in label:
        return ""
    of_setting = (made.labels.get(other.query_set, {}) for other in parts if other.setting == part.setting)
    others = sorted({str(other["rubric"]) for other in of_setting if "judge" in other and "rubric" in other})
    if not others or label.get("rubric") in others:
        return ""
    return "They graded by another rubric than the judge of this setting: its grades and theirs may not mean the same."


def _grades(prompts: Sequence[str]) -> str:
    lines = [
        "## Grades\n",
        "| score | meaning |",
        "| ---: | --- |",
        *(f"| {grade} | {text} |" for grade, text in GRADES.items()),
    ]
    if prompts:
        told = "What judges and people were told, word for word, with what each grade means for each aspect:\n"
        lines += ["", told, *(f"- `{PROMPTS}/{name}`" for name in sorted(prompts))]
    return "\n".join([*lines, ""])


def _licence(made: Made) -> str:
    licence = _plain_licence(made)
    told = f"Texts: {licence}." if licence else "The study does not say; ask where the poems come from."
    return f"## Licence\n\n{told}\n"


def _plain_licence(made: Made) -> str:
    licence = str(made.corpus_spec.get("licence") or "").strip()
    return licence.lower() if licence.lower() in LICENCES else licence
