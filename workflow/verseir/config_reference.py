"""The reference of all config keys, as Markdown, from the JSON Schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

INTRODUCTION = """# Config

This page is generated from the schemas (`make format`); a test holds the two together.

A study is one YAML file, complete in itself: `config/config.yaml` is the demo, `config/studies/` holds the others.
Run one with `snakemake --cores 8 --resources gpu=1 --configfile config/studies/<study>.yaml`. Unknown keys are errors.
Names of corpora, modes, query sets and systems are slugs: lower-case letters, digits and `_.+-`.

## Files you bring

Tables are what a spreadsheet saves: workbooks (`.xlsx`, the first sheet that is not hidden, or `sheet`), CSV and TSV
in UTF-8 or UTF-16, parted by commas, semicolons or tabs. JSON Lines and other texts are UTF-8 without a byte order
mark, with `\\n` line ends (`python -m verseir repair_text FILE` mends others). Every fault is told with its line and
how to mend it. Other fields and columns than those named here are passed over. `columns: {ours: theirs}` renames.

**Poems, `adapter: jsonl`**: one object a line with `poem_id` and `verses`, and perhaps `title`, `poet`, `era`,
`meter`, `genre`, `language`, `source`. `verses` has one shape in the whole file: a list of `[first, second]`
hemistichs, a list of texts (one a verse), or one text (one verse a line). `explanations: {source: [text or null for
each verse]}` may come along.

**Poems, `adapter: csv`**: a table with a header. A row is a poem, all its verses in the cell `verses`; or a row is a
verse, in the cell `verse` or the cells `first` and `second`, with `poem_id` on the first row of a poem at least, and
perhaps `verse_index`. Without a column of ids, rows that are poems are numbered: `poem-1`, `poem-2`. Usual names are
known too: `poem_id` as id, no, رقم; `title` as عنوان; `poet` as author, شاعر; `era` as عصر; `meter` as بحر; `genre`
as غرض; `verses` as text, poem, نص, قصيدة; `verse` as بيت; `first` as صدر, الشطر الأول; `second` as عجز, الشطر الثاني;
in any capitals, with or without blanks, article and vowel marks. A column `explanation:<source>` holds explanations,
and one called explanation or شرح those of the source `commentary`: of the verse of the row; in a row that is a poem,
one a line for each verse, or of the whole.

Verses in one cell are parted by line breaks, or by a mark such as `/` or `#` where others part the hemistichs; two
lines between blank lines are one verse. Hemistichs in one cell are parted by `***`, `*`, `//`, `/`, `|`, `=`, `#`,
`...`, a dash between blanks, a tab or several spaces. Which it is, is told from the whole column: the mark stands
once in nearly every verse. What was decided stands in the log, the corpus audit and the report; where it cannot be
told, this is a fault: name the mark, `verse_separator` and `hemistich_separator`.

**Poems, `adapter: fannorflop`**: the records of the Fann or Flop data set, from a local file or, with `hub`, by its
id and revision; its explanations are the source `fof`.

**Poems, `adapter: openiti`**: OpenITI mARkdown files: `path` names a file or a folder; or `sources` names a list
with repository, commit, path and sha256, fetched once, and `local` a folder that already holds the listed files.

**Poems, `adapter: anthology`**: one OpenITI mARkdown file with thematic chapters (`path`, or `sources` and `select`);
`query_sets.<q>.chapters: {corpus: <corpus>}` makes its chapters thematic queries whose relevant poems are their pieces.

**Idioms, `adapter: idiolink`**: a folder with the documents, `indexes.json`, and the queries, `queries.json`, of one
split of the IdioLink benchmark, or any in its form: lists of objects with `id`, `sentence`, `idiom`, `span`, `subject`,
`usage` and `is_gold`. Its documents have the attributes `idiom`, `span`, `subject`, `usage` and `quality` (`gold`,
`silver`), its queries all of these but `span`. `query_sets.<q>.idioms: {corpus: <corpus>}` are its queries.

**Filtered indexes** (`keep`): a mode that keeps some poems counts only these as relevant. A query that has none left is
refused: search it in other modes (`query_sets.<q>.modes`), or leave such queries out of a set (`filter`).

**Poetry, `adapter: poetrymteb`**: a folder in the form of the PoetryMTEB benchmark. Its poems, `poems_all.jsonl` (or
`corpus.jsonl`, or Parquet), have `id`, `title`, `author`, `content`, `language` (a code of three letters, kept as it is
written), `token_count` and `link`; the verses are the lines of `content` that hold a letter or a digit.
`query_sets.<q>.poetry: {corpus: ..., aspect: ..., scope: ..., split: ...}` are the queries of one setting (`_id` or
`id`, `text`; where `scope` is `mono`, `target_document_language`) with their judgements (`query-id`, `corpus-id`,
`score` from 0 to 3). A file of config `queries_<aspect>_<scope>` or `qrels_<aspect>_<scope>` is the first that there is
of `<config>/<split>.jsonl`, `<config>/<split>.parquet`, `<config>_<split>.jsonl`, `<config>/<split>-*.parquet`,
`data/<config>/<split>-*.parquet`; `files` gives other names.

**Any data set in the format of BEIR, `adapter: beir`**: a folder with `corpus.jsonl` (or `.jsonl.gz`): `_id`, `text`,
and perhaps `title` and `metadata` with `language`; a line of the text is a verse. `query_sets.<q>.beir: {corpus:
<corpus>, split: test}` are the queries of its `queries.jsonl` that `qrels/test.tsv` judges. `snakemake datasets`
exports what a study searches in the same format, and for MTEB.

**Explanations** (`explanations: {source: file}`): rows of `poem_id`, `verse_index` (from 0) and `text`. Or a language
model writes them: `explanations: {source: {prompt: resources/prompts/explain.md, endpoint: {...}}}`.

**Queries** (a table or JSON Lines): `query_id`, `text`, and perhaps `register` (`quoting`, `half-remembered`,
`abstract`, `thematic`) and `relevant`: a poem_id, a list of them, or `{poem_id: grade}`; in a table, ids parted by
semicolons, blanks or line breaks, with a grade as `poem-17:2`. In a table, a row whose `text` is blank is no query
yet, and without ids queries are called `q1`, `q2`, ... by their row. `span` is a part of the text that `encoding` may
ask for; queries of one `cluster` are not independent.

No queries yet? `probe` draws synthetic ones, and `snakemake query_sheet` poems for people to write them for.

**Judgements** (`qrels`): a table or JSON Lines with `query_id`, `poem_id`, `grade`; any other file is read as TREC
qrels.

**Rewrites** (`edit: {rule: rewrite}`; a table or JSON Lines): `source_query_id`, `text`, and perhaps `names` (proper
names that the rewrite must keep) and `need_kept` (`false` rejects the row).

**Audits** (`audits: {source: file}`; a table or JSON Lines): `poem_id`, `verse_index`, `verdict` (`faithful`,
`minor error`, `misread`), and perhaps `added_content` (`yes` or `no`) and `annotator`.

**Scores of a judge** (`judging.judges.<judge>.path`; a table or JSON Lines): `query_id` and `poem_id` (or the
`item_id` of a pool), and either `scores` and perhaps `justifications`, `{aspect: value}` each, or one field an aspect;
`status` (`refused`, `malformed`) where there is no score.

**Annotations** (`judging.sheets.<sheet>.files`; a table or JSON Lines): what the page of a sheet saves: `item_id` (or
`query_id` and `poem_id`), `grade` (0, 1 or 2, or a point of the scale of the sheet's rubric; empty where left open),
and perhaps `annotator` (else the file's name is) and `remark`.

**Runs** (a system of `kind: imported`): TREC runs, or Parquet with the columns of this project's own runs.
"""

#: What stands before the tables of the registry.
LEAST_ENTRY = """The least that an encoder needs, in a file of your own that `registry` names
beside `config/systems.yaml`; all else has a default:

```yaml
my-encoder:
  kind: dense
  path: models/my-encoder
  pooling: mean
  max_length: 512
  dimension: 768
```

`python -m verseir probe models/my-encoder` reads these from the folder, tries the encoder, and with `--register
my-systems.yaml` adds the entry to that file. A model of the hub has `hub` and `revision` in place of `path`. The least
of the others: `kind: bm25`; `kind: fusion` with `arms`; `kind: imported` with `path`.
"""

#: The parts of a study that have a table of their own, in the order in which they are read.
PARTS = (
    *(
        "corpus",
        "explaining",
        "sample",
        "query_set",
        "query_sheet",
        "recipe",
        "encoding",
        "edit",
        "judging",
        "judge",
        "sheet",
        "package",
        "endpoint",
        "model",
    ),
    *("analyses", "tests", "family"),
)


def reference(study: dict[str, Any], systems: dict[str, Any]) -> str:
    """The page for the schema of a study and the schema of the registry of systems."""
    lines = [INTRODUCTION, "## A study\n", study["description"] + "\n"]
    lines += _table(study, study)
    for name in PARTS:
        lines += [f"\n## {name}\n", *_table(study["$defs"][name], study)]
    lines += ["\n## Systems\n", systems.get("description", "") + "\n", LEAST_ENTRY]
    for name, part in sorted(systems.get("$defs", {}).items()):
        if "properties" in part:
            lines += [f"\n### {name}\n", *_table(part, systems)]
    return "\n".join(lines) + "\n"


def _table(part: dict[str, Any], root: dict[str, Any]) -> Iterator[str]:
    yield "| key | value | default | meaning |"
    yield "| --- | --- | --- | --- |"
    required = set(part.get("required", []))
    for key, raw in _keys(part, ""):
        value = _resolved(raw, root)
        default = "*required*" if key in required else ""
        if "default" in raw:
            default = f"`{json.dumps(raw['default'], ensure_ascii=False)}`"
        meaning = raw.get("description", value.get("description", ""))
        yield f"| `{key}` | {_kind(value, root)} | {default} | {meaning} |"


def _keys(part: dict[str, Any], prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The keys of a mapping and, dotted, of the fixed mappings in it."""
    for key, raw in part.get("properties", {}).items():
        yield prefix + key, raw
        yield from _keys(raw, f"{prefix}{key}.")


def _resolved(part: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    return root["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part


def _kind(part: dict[str, Any], root: dict[str, Any]) -> str:
    part = _resolved(part, root)
    if "const" in part:
        return f"`{part['const']}`"
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"])
    for choice in ("oneOf", "anyOf"):
        if choice in part:
            return " or ".join(_kind(option, root) for option in part[choice])
    kind = part.get("type", "")
    if kind == "array":
        return f"list of {_kind(part.get('items', {}), root) or 'values'}"
    if kind == "object" and "additionalProperties" in part and part["additionalProperties"] is not False:
        return "mapping"
    return " or ".join(kind) if isinstance(kind, list) else kind
