"""How faithful are the explanations? Shares of people's verdicts, from annotation files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from verseir.faults import Fault, InputFaults, closest, shown
from verseir.judging.annotations import annotator as annotator_of
from verseir.rows import Row, as_found, is_delimited, read_rows, unescaped, whole_number
from verseir.stats.bootstrap import clopper_pearson
from verseir.tables import define

EXPLANATION_AUDIT = define(
    "explanation_audit",
    {
        "corpus": pl.String,
        "source": pl.String,
        "annotator": pl.String,
        "verdict": pl.String,
        "n": pl.Int64,
        "count": pl.Int64,
        "share": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "note": pl.String,
    },
    nullable="share ci_low ci_high note",
    unique="corpus source annotator verdict",
)
VERDICTS = ("faithful", "minor error", "misread")
ADDED = "added content"
#: What the table calls all annotators together.
ALL = "all"

_ANSWERS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_REQUIRED = ("poem_id", "verse_index", "verdict")
_JUDGEMENTS = {
    "poem_id": pl.String,
    "verse_index": pl.Int64,
    "annotator": pl.String,
    "verdict": pl.String,
    "added": pl.Boolean,
}


def read_audit(path: Path, label: str, source: str, poems: pl.DataFrame, explanations: pl.DataFrame) -> pl.DataFrame:
    """The judgements in an annotation file (JSON Lines, CSV or TSV), in the order of their verses.

    Its rows have ``poem_id``, ``verse_index`` (from 0), ``verdict`` (one of ``VERDICTS``) and perhaps ``added_content``
    (yes or no, true or false, 1 or 0; whether the explanation adds what is not in the verse) and ``annotator``.

    Args:
        path: the file.
        label: what messages call it.
        source: of the explanations that were judged.
        poems: POEMS of the corpus.
        explanations: its EXPLANATIONS.

    Returns:
        columns poem_id, verse_index, annotator (null where not given), verdict, added (null where not given).

    Raises:
        InputFaults: all that is wrong with the file.
    """
    faults: list[Fault] = []
    rows = read_rows(path, label, faults)
    if is_delimited(path):
        rows = unescaped(rows, (*_REQUIRED, "added_content", "annotator"))
    if not rows and not faults:
        faults.append(Fault(label, 0, "", "has no judgement", "expected poem_id, verse_index and verdict"))
    n_verses = dict(poems.select("poem_id", pl.col("verses").list.len()).iter_rows())
    own = explanations.filter(pl.col("source") == source)
    explained = set(own.select("poem_id", "verse_index").iter_rows())
    present = set[str]().union(*(row.values for row in rows))
    absent = [name for name in _REQUIRED if rows and name not in present]
    if absent:  # said once, not of each row
        faults += [Fault(label, 0, name, "no row has this field", closest(name, present)) for name in absent]
        raise InputFaults(faults)
    first: dict[tuple[str, int, str | None], int] = {}
    judgements = []
    for row in rows:
        judgement = _judgement(row, n_verses, explained, source, label, faults)
        if not judgement["poem_id"] or judgement["verse_index"] is None:
            continue
        key = (judgement["poem_id"], judgement["verse_index"], judgement["annotator"])
        if key in first:
            problem = f"poem '{key[0]}', verse {key[1]} is judged twice" + (f" by '{key[2]}'" if key[2] else "")
            hint = f"the first is on line {first[key]}; name who judged in 'annotator', or take one out"
            faults.append(Fault(label, row.line, "verse_index", problem, hint))
            continue
        first[key] = row.line
        judgements.append(judgement)
    if faults:
        raise InputFaults(faults)
    return pl.DataFrame(judgements, schema=_JUDGEMENTS).sort("poem_id", "verse_index", "annotator")


def explanation_audit(audits: Mapping[tuple[str, str], pl.DataFrame]) -> pl.DataFrame:
    """The EXPLANATION_AUDIT table of judgements by (corpus, source): of all annotators together, and of each.

    The share of each verdict with the exact interval of Clopper and Pearson (1934). Where annotators judged the same
    verses, their judgements together are not independent, and have no interval.
    """
    parts = [pl.DataFrame(schema=dict(EXPLANATION_AUDIT.columns))]
    for (corpus, source), judgements in sorted(audits.items(), key=lambda item: item[0]):
        whose = {ALL: judgements}
        for name in sorted(judgements["annotator"].drop_nulls().unique()):
            whose[name] = judgements.filter(pl.col("annotator") == name)
        rows = [
            (corpus, source, annotator, verdict, *_share(part, verdict))
            for annotator, part in whose.items()
            for verdict in (*VERDICTS, ADDED)
        ]
        parts.append(pl.DataFrame(rows, schema=dict(EXPLANATION_AUDIT.columns), orient="row"))
    return pl.concat(parts)


def _share(
    judgements: pl.DataFrame, verdict: str
) -> tuple[int, int, float | None, float | None, float | None, str | None]:
    """n, count, share, the ends of its interval and a note."""
    given = judgements.filter(pl.col("added").is_not_null()) if verdict == ADDED else judgements
    n = len(given)
    count = int((given["added"] if verdict == ADDED else given["verdict"] == verdict).sum())
    if not n:
        return n, count, None, None, None, "not estimable: not judged"
    n_verses = given.select("poem_id", "verse_index").n_unique()
    if n_verses < n:
        note = f"no interval: {n} judgements of {n_verses} verses are not independent"
        return n, count, count / n, None, None, note
    return n, count, count / n, *clopper_pearson(count, n), None


def _judgement(
    row: Row,
    n_verses: Mapping[str, int],
    explained: Collection[tuple[str, int]],
    source: str,
    label: str,
    faults: list[Fault],
) -> dict[str, Any]:
    """The judgement in a row; what is wrong with it is added to ``faults``."""

    def fault(field: str, problem: str, hint: str) -> None:
        faults.append(Fault(label, row.line, field, problem, hint))

    poem_id, index = row.values.get("poem_id"), whole_number(row.values.get("verse_index"))
    if index is not None and index < 0:
        index = None
    if not isinstance(poem_id, str) or not poem_id:
        fault("poem_id", as_found(poem_id) + ", expected the poem_id of a poem", "name the poem that was judged")
    elif poem_id not in n_verses:
        fault("poem_id", f"no poem '{shown(poem_id)}' in this corpus", closest(poem_id, n_verses))
    if index is None:
        fault(
            "verse_index",
            as_found(row.values.get("verse_index")) + ", expected a whole number from 0",
            "the first is 0",
        )
    elif isinstance(poem_id, str) and poem_id in n_verses:
        last = n_verses[poem_id] - 1
        if index > last:
            fault("verse_index", f"poem '{poem_id}' has no verse {index}", f"verses count from 0; the last is {last}")
        elif (poem_id, index) not in explained:
            problem = f"poem '{poem_id}', verse {index} has no explanation '{source}'"
            fault("verse_index", problem, "the file must stand under the source that was judged")
    return {
        "poem_id": poem_id if isinstance(poem_id, str) else None,
        "verse_index": index,
        "annotator": _annotator(row.values.get("annotator"), fault),
        "verdict": _verdict(row.values.get("verdict"), fault),
        "added": _added(row.values.get("added_content"), fault),
    }


def _annotator(value: Any, fault: Callable[[str, str, str], None]) -> str | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return annotator_of(value, fault)


def _verdict(value: Any, fault: Callable[[str, str, str], None]) -> str | None:
    if not isinstance(value, str) or not value.strip():
        fault("verdict", as_found(value) + ", expected a verdict", "known: " + ", ".join(VERDICTS))
        return None
    verdict = " ".join(value.replace("_", " ").replace("-", " ").split()).lower()
    if verdict not in VERDICTS:
        fault("verdict", f"unknown verdict '{shown(value.strip())}'", closest(verdict, VERDICTS))
    return verdict


def _added(value: Any, fault: Callable[[str, str, str], None]) -> bool | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    answer = _ANSWERS.get(str(value).strip().lower())
    if answer is None:
        fault("added_content", f"{as_found(value)}, expected yes or no", "yes or no, true or false, 1 or 0")
    return answer
