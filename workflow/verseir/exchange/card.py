"""The card of an exported data set, and the module that tells MTEB what task it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import yaml

from verseir import __version__
from verseir.exchange.beir_export import SPLIT
from verseir.exchange.languages import iso_639_3, mteb_languages

#: Licences by the names that MTEB knows (mteb.types, version 2.26); for any other it wants an address.
LICENCES = frozenset(
    """
    mit cc-by-2.0 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nc-sa-3.0
    cc-by-nc-sa-4.0 cc-by-nc-nd-4.0 cc-by-nd-4.0 openrail openrail++ odc-by afl-3.0 apache-2.0 cc-by-nd-2.1-jp cc0-1.0
    bsd-3-clause gpl-3.0 lgpl lgpl-3.0 cdla-sharing-1.0 mpl-2.0 msr-la-nc multiple gemma eupl-1.2 openmdw-1.1
    """.split()
)

#: The fields of a mode that are a poem's own text.
OWN = {"verse", "title"}

#: How queries came about, by the key of the study that says so.
_MADE = {
    "path": "Queries and judgements were given to the study as files.",
    "probe": "The queries are synthetic: parts of poems drawn at random, some changed by rule; relevant is the poem.",
    "chapters": "The queries are the chapters of an anthology; the pieces of a chapter are relevant.",
    "idioms": "The queries use an idiom; relevant is what uses it in the same way, or says what it means.",
    "beir": "Queries and judgements were imported from a data set in the format of BEIR.",
    "poetry": "Queries and judgements were imported from a multilingual benchmark of poetry.",
    "edit": "The queries are those of the set '{of}', edited by the rule '{rule}'; relevant is what was.",
    "graded": "The queries are those of the set '{of}', which a judge or people graded for the study.",
}


@dataclass(frozen=True)
class Origin:
    """Where a data set comes from: names and specs of its study, corpus and query set.

    ``modes`` are those in which the study indexes the corpus, with their fields; ``keep`` says of some of them which
    poems alone they index.
    """

    study: str
    corpus: str
    query_set: str
    corpus_spec: Mapping[str, Any] = field(default_factory=dict)
    query_spec: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    about: str = ""
    modes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    keep: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the task: letters and digits, so that Python and MTEB take it."""
        words = re.split(r"[^a-z0-9]+", f"verseir {self.study} {self.corpus} {self.query_set}".lower())
        return "".join(word.capitalize() for word in words)


@dataclass(frozen=True)
class Contents:
    """What a data set holds, in numbers."""

    n_poems: int
    n_verses: int
    n_queries: int
    grades: Mapping[int, int]
    languages: Mapping[str, int]
    registers: Mapping[str, int]
    n_unanswered: int
    revision: str

    @classmethod
    def of(cls, poems: pl.DataFrame, queries: pl.DataFrame, qrels: pl.DataFrame, revision: str) -> Contents:
        """Count POEMS, QUERIES and QRELS."""
        return cls(
            len(poems),
            int(poems["verses"].list.len().sum()),
            len(queries),
            _counts(qrels["grade"]),
            _counts(poems["language"]),
            _counts(queries["register"]),
            len(queries.join(qrels.filter(pl.col("grade") > 0), on="query_id", how="anti")),
            revision,
        )


def _counts(values: pl.Series) -> dict[Any, int]:
    return dict(sorted((value, n) for value, n in values.drop_nulls().value_counts().iter_rows()))


def card_text(origin: Origin, contents: Contents, configs: Mapping[str, str]) -> str:
    """``README.md`` of a data set: the head that ``datasets`` reads, then what people read.

    Args:
        origin: of the data set.
        contents: of the data set.
        configs: name of each config -> its file.
    """
    parts = [_head(origin, contents, configs), f"# {origin.name}\n", _what(origin, contents), _how(origin, contents)]
    return "\n".join([*parts, _use(origin), _licence(origin)])


def _head(origin: Origin, contents: Contents, configs: Mapping[str, str]) -> str:
    licence = _plain_licence(origin)
    named = {"license": licence or "unknown"}
    if licence and licence not in LICENCES:
        named = {"license": "other", "license_name": licence}
    head = {
        "pretty_name": origin.name,
        "language": iso_639_3(mteb_languages(contents.languages)),
        **named,
        "task_categories": ["text-retrieval"],
        "tags": ["mteb", "verseir"],
        "configs": [
            {"config_name": name, "data_files": [{"split": SPLIT, "path": path}]} for name, path in configs.items()
        ],
    }
    return f"---\n{yaml.safe_dump(head, allow_unicode=True, sort_keys=False, width=1000)}---\n"


def _what(origin: Origin, contents: Contents) -> str:
    lines = [
        f"The query set `{origin.query_set}` over the corpus `{origin.corpus}` of the study `{origin.study}`"
        f"{f' ({origin.title})' if origin.title else ''}, exported by verseir {__version__}.\n",
    ]
    if origin.about:
        lines.append(f"{origin.about}\n")
    rows = [
        ("documents (poems)", contents.n_poems),
        ("verses", contents.n_verses),
        ("queries", contents.n_queries),
        *((f"judgements of grade {grade}", n) for grade, n in contents.grades.items()),
        *((f"documents in `{language}`", n) for language, n in contents.languages.items()),
        *((f"queries of the register {register}", n) for register, n in contents.registers.items()),
    ]
    return "\n".join([*lines, "| what | count |", "| --- | ---: |", *(f"| {what} | {n:,} |" for what, n in rows), ""])


def _how(origin: Origin, contents: Contents) -> str:
    spec = origin.query_spec
    source = origin.corpus_spec
    hub = source.get("hub") or {}
    place = f"{hub['id']} at {hub.get('revision') or 'main'}" if "id" in hub else source.get("path", "")
    lines = [
        "## How it was made\n",
        f"The poems were read with the adapter `{source.get('adapter', 'unknown')}`"
        f"{f' from `{place}`' if place else ''}. A document is a poem: a verse is a line, and the hemistichs of a verse"
        " are parted by a space.",
        next(
            (
                text.format(**spec[key]) if key in ("edit", "graded") else text
                for key, text in _MADE.items()
                if key in spec
            ),
            "",
        ),
        "A document is relevant from grade 1 on, and one that no judgement names was not judged.",
    ]
    lines += _other_modes(origin)
    if spec.get("within"):
        lines.append(
            f"In the study a query is searched only among the documents whose `{spec['within']}` is its own; here the"
            " corpus is whole, and a search of all of it is another, harder task."
        )
    if contents.n_unanswered:
        lines.append(
            f"{contents.n_unanswered:,} of the queries have no relevant document (yet): the study leaves them out of"
            " its means, while other tools count those that are judged as 0."
        )
    return "\n".join([*filter(None, lines), ""])


def _other_modes(origin: Origin) -> list[str]:
    """What the study indexes otherwise than a search of these documents does: title and verses of all poems."""
    other = sorted(mode for mode, fields in origin.modes.items() if "verse" not in fields or set(fields) - OWN)
    fewer = sorted(mode for mode in origin.modes if origin.keep.get(mode))
    told = []
    if other:
        told.append(
            f"Documents are the poems' own text, whatever the study indexes: its figures in {_named(other)} are of a"
            f" search of other texts ({'; '.join(f'{mode}: {_fields(origin.modes[mode])}' for mode in other)})."
        )
    if fewer:
        told.append(f"All poems are here: its figures in {_named(fewer)} are of a search of some of them alone.")
    return told


def _named(modes: Sequence[str]) -> str:
    return ("the mode " if len(modes) == 1 else "the modes ") + ", ".join(f"`{mode}`" for mode in modes)


def _fields(fields: Sequence[str]) -> str:
    return ", ".join(f"explanations of source {field.partition(':')[2]}" if ":" in field else field for field in fields)


def _use(origin: Origin) -> str:
    return f"""## Use

```python
import mteb
from task import {origin.name}  # task.py of this folder

results = mteb.evaluate(mteb.get_model("sentence-transformers/all-MiniLM-L6-v2"), {origin.name}())
```

MTEB measures with trec_eval, as the study does, but orders documents with one score by descending id (the study: by
ascending id), has no MAP without a cutoff (`map_at_1000` is that of a list of 1000), prints five decimals, and leaves
queries out of its means for which a run lists nothing.

The configs are `corpus`, `queries` and `default` (the judgements), each with the split `{SPLIT}`. The same data set in
the format of BEIR, with what else is known of poems and queries, is made by the rule `export_beir` of the study.
"""


def _licence(origin: Origin) -> str:
    licence = _plain_licence(origin)
    told = f"Texts: {licence}." if licence else "The study does not say; ask where the poems come from."
    return f"## Licence\n\n{told}\n"


def _plain_licence(origin: Origin) -> str:
    licence = str(origin.corpus_spec.get("licence") or "").strip()
    return licence.lower() if licence.lower() in LICENCES else licence


def task_module(origin: Origin, contents: Contents) -> str:
    """``task.py`` of a data set: the class of its task, which reads the folder that the module lies in."""
    licence = _plain_licence(origin)
    known = licence in LICENCES or licence.startswith(("http://", "https://"))
    description = (
        f"{contents.n_queries} queries of the set {origin.query_set} for {contents.n_poems} poems of the corpus"
        f" {origin.corpus}: study {origin.study}, exported by verseir {__version__}."
    )
    return f'''"""The retrieval task of this folder for MTEB 2: mteb.evaluate(model, {origin.name}())."""

from pathlib import Path

from mteb import TaskMetadata
from mteb.abstasks import AbsTaskRetrieval


class {origin.name}(AbsTaskRetrieval):
    metadata = TaskMetadata(
        name={origin.name!r},
        description={description!r},
        dataset={{"path": str(Path(__file__).resolve().parent), "revision": {contents.revision!r}}},
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=[{SPLIT!r}],
        eval_langs={mteb_languages(contents.languages)!r},
        main_score="ndcg_at_10",
        license={licence if known else None!r},
    )
'''
