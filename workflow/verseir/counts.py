"""Counts that a paper prints, made into poems, queries, ranked lists and people's grades that have them.

The texts are made-up words: what matters is which query finds its poem, and which words a query shares with it. All
files are written by rule, without chance: the same counts give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, count
from pathlib import Path
from typing import Any

from verseir.faults import Fault, InputFaults, UserError
from verseir.rows import read_utf8
from verseir.yaml_files import read_yaml

SCHEMA = Path(__file__).parents[1] / "schemas" / "counts.schema.json"

#: The two systems that the counts hold jointly, and what each joint outcome is for either.
JOINT = ("bm25", "qwen3-8b")
OUTCOMES = {"both": (True, True), "bm25_only": (True, False), "qwen_only": (False, True), "neither": (False, False)}

VERSES = 4
#: Words of a hemistich, of a query, and of a quoted run: longer than any threshold of the stratification.
HEMISTICH, QUERY, RUN = 4, 10, 5
#: Where in its verse a quoted run begins.
RUN_START = 1
#: Words of a poem that a query shares without quoting: no two side by side, none just before a half-verse that is
#: added.
SHARED = (2, 10, 21, 29)
#: Poems in a ranked list.
LISTED = 10

#: Letters that no normalisation changes.
LETTERS = "بتثجحخدذرزسشصضطظعغفقكلمنهو"

#: Annotators: of the misses, and of the thematic results.
READER, RATERS = "reader", ("rater-1", "rater-2")

Found = list[bool]


@dataclass
class Sample:
    """A query set that is made: its rows, the poem of each query, and which of them each system finds."""

    name: str
    rows: list[dict[str, Any]]
    found: dict[str, Found]
    #: The same over explanations.
    explained: dict[str, Found] = field(default_factory=dict)


def read_counts(path: Path) -> dict[str, Any]:
    """The counts in a YAML file, sound in themselves.

    Raises:
        InputFaults: all faults at once: keys, and numbers that cannot hold together.
    """
    import jsonschema

    faults: list[Fault] = []
    text = read_utf8(path, str(path), faults)
    counts, _, unsound = read_yaml(text, str(path))
    faults += unsound
    if faults:
        raise InputFaults(faults)
    counts = _keys_as_text(counts)
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for error in jsonschema.Draft202012Validator(schema).iter_errors(counts):
        place = ".".join(map(str, error.absolute_path))
        faults.append(Fault(str(path), 0, place, error.message, error.schema.get("description", "")))
    if not faults:
        for corpus, given in counts["corpora"].items():
            faults += [Fault(str(path), 0, f"corpora.{corpus}.{key}", what) for key, what in _problems(given)]
    if faults:
        raise InputFaults(faults)
    return counts


def _keys_as_text(value: Any) -> Any:
    """YAML reads the key 3 as a number."""
    return {str(key): _keys_as_text(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def _problems(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Numbers of one corpus that cannot hold together: where, and why."""
    known = given["known_item"]
    parts = {name: known[name] for name in ("quoting", "rest")}
    sums = {name: sum(part[outcome] for outcome in OUTCOMES) for name, part in parts.items()}
    for name, part in parts.items():
        if sums[name] != part["queries"]:
            yield f"known_item.{name}", f"the outcomes are of {sums[name]} queries, not of {part['queries']}"
    spans, quoting, queries = known["spans"], parts["quoting"]["queries"], sum(p["queries"] for p in parts.values())
    placed = spans["opening"] + spans["middle"] + spans["final"]
    if placed != quoting:
        yield "known_item.spans", f"{placed} runs have a place, but {quoting} queries quote"
    if spans["elsewhere"] > quoting:
        yield "known_item.spans.elsewhere", f"more runs stand elsewhere than the {quoting} that are quoted"
    if queries + spans["elsewhere"] > given["poems"]:
        yield "poems", f"{queries} queries and {spans['elsewhere']} runs that stand elsewhere want a poem each"
    sharing = sum(known["shared_words"].values())
    if sharing != parts["rest"]["queries"]:
        yield "known_item.shared_words", f"is of {sharing} queries, but {parts['rest']['queries']} do not quote"
    for key in ("explained", "found"):
        for system, n in known[key].items():
            if n > queries:
                yield f"known_item.{key}.{system}", f"{n} found of {queries} queries"
    if all(sums[name] == part["queries"] for name, part in parts.items()):
        yield from _later_problems(given, known_item_outcomes(known))


def _later_problems(given: Mapping[str, Any], found: Mapping[str, Found]) -> Iterator[tuple[str, str]]:
    """Numbers that cannot hold together with the outcomes of the known-item queries."""
    parts = given["known_item"]
    quoting = parts["quoting"]["queries"]
    for system in sorted(set(parts["explained"]) - set(found)):
        yield f"known_item.explained.{system}", "is no system of the known-item queries"
    for name, edit in given["edits"].items():
        part = "rest" if name.startswith("append") else "quoting"
        if edit["queries"] > parts[part]["queries"]:
            yield f"edits.{name}", f"{edit['queries']} of the {parts[part]['queries']} queries are edited"
            continue
        for system, change in edit["change"].items():
            if system not in found:
                yield f"edits.{name}.change.{system}", "is no system of the known-item queries"
                continue
            before = _edited(found[system], name, edit["queries"], quoting)
            room = before.count(change < 0)
            if abs(change) > room:
                what = "lost, but only so many were found" if change < 0 else "gained, but only so many were missed"
                yield f"edits.{name}.change.{system}", f"{abs(change)} are {what}: {room}"
    yield from _order_problems(given["thematic"], {system: sum(hits) for system, hits in found.items()})
    yield from _people_problems(given, found)


def _people_problems(given: Mapping[str, Any], found: Mapping[str, Found]) -> Iterator[tuple[str, str]]:
    """Numbers of graded results that cannot hold together with the ranked lists."""
    misses, raters = given.get("misses"), given.get("raters")
    if misses and misses["system"] not in found:
        yield "misses.system", "is no system of the known-item queries"
    elif misses:
        missed = found[misses["system"]].count(False)
        if misses["judged"] > missed:
            yield "misses.judged", f"{misses['judged']} misses are judged, but only so many were missed: {missed}"
        if misses["fully"] + misses["partly"] > misses["judged"]:
            yield "misses.judged", f"fewer than the {misses['fully'] + misses['partly']} that are acceptable"
    if raters and raters["within_one"] > raters["items"]:
        yield "raters.within_one", f"more than the {raters['items']} items"


def _order_problems(thematic: Mapping[str, Any], found: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    order, printed = thematic["order"], thematic["concordant_less_discordant"]
    if sorted(order) != sorted(found):
        yield "thematic.order", f"wants each of {', '.join(sorted(found))} once"
        return
    if len(set(found.values())) < len(found):
        yield "known_item.found", "two systems find as many queries: their order is not fixed"
        return
    made = sum(1 if found[first] > found[second] else -1 for first, second in combinations(order, 2))
    if made != printed:
        yield "thematic.order", f"concordant less discordant pairs are {made}, not {printed}"


def known_item_outcomes(known: Mapping[str, Any]) -> dict[str, Found]:
    """Which known-item queries each system finds: first those that quote, then the rest."""
    found: dict[str, Found] = {system: [] for system in JOINT}
    for part in (known["quoting"], known["rest"]):
        for outcome, pair in OUTCOMES.items():
            for system, hit in zip(JOINT, pair, strict=True):
                found[system] += [hit] * part[outcome]
    queries = len(found[JOINT[0]])
    for number, (system, n) in enumerate(sorted(known["found"].items())):
        start = number * queries // len(known["found"])  # so that systems do not all miss the same queries
        hits = {(start + i) % queries for i in range(n)}
        found[system] = [i in hits for i in range(queries)]
    return found


def changed(found: Found, by: int) -> Found:
    """``found`` with the first ``by`` misses found, or the first ``-by`` hits lost."""
    after, left = [], abs(by)
    for hit in found:
        turned = left > 0 and hit == (by < 0)
        left -= turned
        after.append(hit != turned)
    return after


def _edited(found: Found, edit: str, n: int, quoting: int) -> Found:
    """The outcomes of the ``n`` queries that an edit takes: of the rest where it adds, else of those that quote."""
    start = quoting if edit.startswith("append") else 0
    return found[start : start + n]


def files(counts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Path and text of every file: poems, explanations, query sets, ranked lists and grades of each corpus.

    Raises:
        UserError: more results are graded than there are.
    """
    for corpus, given in sorted(counts["corpora"].items()):
        words = _words()
        poems = [_verses(words) for _ in range(given["poems"])]
        samples = _samples(corpus, given, poems, words)
        ids = [f"{corpus}-{i:03}" for i in range(len(poems))]
        yield (
            f"corpora/{corpus}.jsonl",
            _lines({"poem_id": name, "verses": _halves(verses)} for name, verses in zip(ids, poems, strict=True)),
        )
        yield (
            f"corpora/{corpus}.explanations.jsonl",
            _lines(
                {"poem_id": name, "verse_index": v, "text": _text(words, HEMISTICH)}
                for name in ids
                for v in range(VERSES)
            ),
        )
        for sample in samples:
            yield f"queries/{sample.name}.jsonl", _lines(sample.rows)
            for mode, outcomes in (("verse", sample.found), ("explanation", sample.explained)):
                for system, found in sorted(outcomes.items()):
                    path = f"runs/{corpus}/{mode}/{sample.name}/{system}.trec"
                    yield path, _ranked(sample.rows, found, ids, system)
        if "misses" in given:
            yield f"annotations/{corpus}-misses.csv", _misses(samples[0], given["misses"], ids)
        for rater, grades in _raters(samples[-1], given["raters"], ids) if "raters" in given else ():
            yield f"annotations/{corpus}-{rater}.csv", grades


def _samples(corpus: str, given: Mapping[str, Any], poems: list[list[list[str]]], words: Iterator[str]) -> list[Sample]:
    known = given["known_item"]
    found = known_item_outcomes(known)
    rows = _known_item_rows(corpus, known, poems, words)
    explained = {name: changed(found[name], n - sum(found[name])) for name, n in known["explained"].items()}
    samples = [Sample(f"{corpus}-known-item", rows, found, explained)]
    quoting = known["quoting"]["queries"]
    for edit, made in given["edits"].items():
        start = quoting if edit.startswith("append") else 0
        after = {
            system: changed(_edited(found[system], edit, made["queries"], quoting), by)
            for system, by in made["change"].items()
        }
        chosen = range(start, start + made["queries"])
        edited = [_edited_row(rows[i], edit, poems[i], words) for i in chosen]
        samples.append(Sample(f"{corpus}-{edit}", edited, after))
    order = given["thematic"]["order"]
    themes = [
        {
            "query_id": f"{corpus}-theme-{i:02}",
            "text": _text(words, 3),
            "register": "thematic",
            "relevant": [f"{corpus}-{i:03}"],
        }
        for i in range(2 * len(order))
    ]
    by_place = {
        system: [i < 2 * (len(order) - place) for i in range(len(themes))] for place, system in enumerate(order)
    }
    samples.append(Sample(f"{corpus}-thematic", themes, by_place))
    return samples


def _known_item_rows(
    corpus: str, known: Mapping[str, Any], poems: list[list[list[str]]], words: Iterator[str]
) -> list[dict[str, Any]]:
    """One query of each of the first poems; runs that stand elsewhere are written into spare poems."""
    spans, quoting = known["spans"], known["quoting"]["queries"]
    verse_of = [0] * spans["opening"] + [VERSES // 2] * spans["middle"] + [VERSES - 1] * spans["final"]
    shares = [int(n) for n, queries in sorted(known["shared_words"].items()) for _ in range(queries)]
    rows = []
    for i in range(quoting + len(shares)):
        span = None
        if i < quoting:
            run = poems[i][verse_of[i]][RUN_START : RUN_START + RUN]
            if i < spans["elsewhere"]:
                poems[quoting + len(shares) + i][0][RUN_START : RUN_START + RUN] = run
            span = " ".join(run)
            text = f"{_text(words, 2)} {span} {_text(words, QUERY - RUN - 2)}"
        else:
            flat = [word for verse in poems[i] for word in verse]
            shared = [flat[place] for place in SHARED[: shares[i - quoting]]]
            # A shared word, then two of the query's own: so no two stand side by side.
            parts = [next(words) if place % 3 or not shared else shared.pop(0) for place in range(QUERY)]
            text = " ".join(parts)
        row = {
            "query_id": f"{corpus}-q{i:03}",
            "text": text,
            "register": "quoting" if span else known["register"],
            "relevant": [f"{corpus}-{i:03}"],
        }
        rows.append(row | ({"span": span} if span else {}))
    return rows


def _edited_row(row: Mapping[str, Any], edit: str, poem: list[list[str]], words: Iterator[str]) -> dict[str, Any]:
    if edit.startswith("append"):
        verse = {"opening": 0, "middle": VERSES // 2, "final": VERSES - 1}[edit.removeprefix("append-")]
        span = " ".join(poem[verse][:HEMISTICH])
        text = f"{row['text']} {span}"
    else:
        span = row["span"]
        text = row["text"].replace(f" {span}", "" if edit == "delete-quoted" else f" {_text(words, RUN)}")
    return {
        "query_id": f"{row['query_id']}~{edit}",
        "text": text,
        "register": row["register"],
        "source_query_id": row["query_id"],
        "edit": edit,
        "span": span,
        "relevant": row["relevant"],
    }


def _ranked(rows: list[dict[str, Any]], found: Found, poem_ids: list[str], system: str) -> str:
    """A TREC run."""
    lines = []
    for row, hit in zip(rows, found, strict=True):
        for rank, poem_id in enumerate(_listed(row["relevant"][0], hit, poem_ids), start=1):
            lines.append(f"{row['query_id']} Q0 {poem_id} {rank} {LISTED + 1 - rank} {system}\n")
    return "".join(lines)


def _listed(gold: str, hit: bool, poem_ids: list[str]) -> list[str]:
    """A ranked list: a poem that is found stands first, one that is missed is not listed; the next poems fill it."""
    place = poem_ids.index(gold)
    others = [poem_ids[(place + step) % len(poem_ids)] for step in range(1, LISTED + 1)]
    return [gold, *others[:-1]] if hit else others


def _misses(sample: Sample, given: Mapping[str, Any], poem_ids: list[str]) -> str:
    """One reader's grades of the first poem of the first misses: those that are fully acceptable, then partly."""
    missed = [row for row, hit in zip(sample.rows, sample.found[given["system"]], strict=True) if not hit]
    grades = [2] * given["fully"] + [1] * given["partly"]
    grades += [0] * (given["judged"] - len(grades))
    first = [(row["query_id"], _listed(row["relevant"][0], False, poem_ids)[0]) for row in missed]
    return _annotations((*pair, grade, READER) for pair, grade in zip(first, grades, strict=False))


def _raters(sample: Sample, given: Mapping[str, Any], poem_ids: list[str]) -> Iterator[tuple[str, str]]:
    """Two raters' grades of the first pooled results: the same of those within one point, and opposite of the rest."""
    pool = []
    for i, row in enumerate(sample.rows):
        lists = (_listed(row["relevant"][0], found[i], poem_ids)[: given["depth"]] for found in sample.found.values())
        pool += [(row["query_id"], poem_id) for poem_id in sorted(set().union(*lists))]
    if len(pool) < given["items"]:
        raise UserError(f"raters.items: {given['items']} items, but the pool holds {len(pool)}", "raise raters.depth")
    for rater, apart in zip(RATERS, (0, 2), strict=True):
        grades = [i % 3 if i < given["within_one"] else apart for i in range(given["items"])]
        yield rater, _annotations((*pair, grade, rater) for pair, grade in zip(pool, grades, strict=False))


def _annotations(rows: Iterable[tuple[str, str, int, str]]) -> str:
    lines = [",".join(map(str, row)) for row in rows]
    return "\n".join(["query_id,poem_id,grade,annotator", *lines, ""])


def _words() -> Iterator[str]:
    """Distinct words of four letters, in an order that looks like none."""
    size = len(LETTERS)
    for number in count():
        value, letters = number * 7919 % size**4, ""  # 7919 has no factor in common with 26: no word comes twice
        for _ in range(4):
            value, digit = divmod(value, size)
            letters += LETTERS[digit]
        yield letters


def _text(words: Iterator[str], n: int) -> str:
    return " ".join(next(words) for _ in range(n))


def _verses(words: Iterator[str]) -> list[list[str]]:
    return [[next(words) for _ in range(2 * HEMISTICH)] for _ in range(VERSES)]


def _halves(verses: list[list[str]]) -> list[list[str]]:
    return [[" ".join(verse[:HEMISTICH]), " ".join(verse[HEMISTICH:])] for verse in verses]


def _lines(rows: Any) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
