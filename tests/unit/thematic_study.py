"""Small thematic studies for the tests: runs as lists of poems, judgements as scores by query and poem."""

import polars as pl
from paired_study import DRAWS

from verseir.analyses.judged import Judged
from verseir.analyses.thematic_contrasts import thematic_contrasts
from verseir.analyses.thematic_scores import JUDGED_PER_QUERY, THEMATIC_CONTRASTS, judged_per_query
from verseir.judging.judgements import JUDGEMENTS
from verseir.judging.rubrics import Aspect, Rubric
from verseir.layout import Run
from verseir.tables import DUPLICATES, QUERIES, RUN, check_table


def rubric(aspects="theme:aboutness feeling:aboutness words:wording overall:overall", scale=(1, 2, 3, 4, 5), name="r"):
    parts = [part.split(":") for part in aspects.split()]
    return Rubric(name, scale, "Judge.", tuple(Aspect(one, one, kind, "?", {}) for one, kind in parts))


RUBRIC = rubric()


def run(system, found, mode="verse", corpus="c", query_set="themes"):
    """A run: ``found`` is query -> its poems, best first."""
    rows = [
        (query, poem, rank, float(-rank), None) for query, poems in found.items() for rank, poem in enumerate(poems, 1)
    ]
    return Run(corpus, mode, query_set, system), pl.DataFrame(rows, schema=dict(RUN.columns), orient="row")


def judged(scores, judge="j", of=RUBRIC, corpus="c", query_set="themes"):
    """``scores``: (query, poem) -> a score for each aspect in order, one score for all, or None where refused."""
    rows = []
    for (query, poem), given in scores.items():
        each = [given] * len(of.ids) if given is None or isinstance(given, int) else given
        for aspect, score in zip(of.ids, each, strict=True):
            status = "refused" if score is None else "answered"
            rows.append((f"{query}/{poem}", query, poem, judge, aspect, score, None, status))
    frame = pl.DataFrame(rows, schema=dict(JUDGEMENTS.columns), orient="row")
    return Judged(corpus, query_set, judge, of, frame)


def duplicates(classes=(), corpus="c"):
    """DUPLICATES of a corpus: each class is poems joined by blanks, the first stands for all."""
    rows = [(poem, group.split()[0], len(group.split()), "near", 0.9) for group in classes for poem in group.split()]
    return {corpus: pl.DataFrame(rows, schema=dict(DUPLICATES.columns), orient="row")}


def asked(ids, query_set="themes", source=None):
    """QUERIES; ``source`` maps an edited query to its original."""
    rows = [(query, query_set, "text", None, (source or {}).get(query), *[None] * 3) for query in ids]
    return pl.DataFrame(rows, schema=dict(QUERIES.columns), orient="row")


def scored(runs, ids, scores, k=2, classes=()):
    """The JUDGED_PER_QUERY table of ``runs``; ``scores`` is one Judged or several."""
    several = scores if isinstance(scores, list) else [scores]
    frame = judged_per_query(runs, {"themes": ids}, duplicates(classes), several, k)
    return check_table(frame, JUDGED_PER_QUERY, "judged per query")


def grades(columns, ids=None):
    """A JUDGED_PER_QUERY table from system -> its overall scores, one place a query; None was not judged."""
    n = len(next(iter(columns.values())))
    ids = ids or [f"q{i:02d}" for i in range(n)]
    runs = [run(system, {query: [f"{system}-{query}"] for query in ids}) for system in columns]
    scores = {
        (query, f"{system}-{query}"): None if score is None else [1, 3, 2, score]
        for system, column in columns.items()
        for query, score in zip(ids, column, strict=True)
    }
    return scored(runs, ids, judged(scores), k=1), ids


def row(table, **wanted):
    return table.row(by_predicate=pl.all_horizontal(pl.col(key) == value for key, value in wanted.items()), named=True)


def contrasted(frame, ids, lexical=("bm25",), fusions=(), source=None, of=RUBRIC, k=2):
    rubrics = dict.fromkeys(frame["judge"].unique(), of)
    table = thematic_contrasts(frame, asked(ids, source=source), rubrics, lexical, fusions, k, DRAWS)
    check_table(table, THEMATIC_CONTRASTS, "contrasts")
    assert not any(table.select(pl.col(pl.Float64).is_nan().any()).row(0))
    return table
