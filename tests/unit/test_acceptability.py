"""Misses whose first poem would do, and what that makes of the measure."""

import json

import numpy as np
import polars as pl
import pytest

from verseir.__main__ import main
from verseir.analyses.acceptability import ACCEPTABILITY, acceptability
from verseir.analyses.annotators import ANNOTATOR_AGREEMENT, ANNOTATOR_CONTRASTS, HUMAN_JUDGE, MEAN
from verseir.analyses.paired import Draws
from verseir.faults import UserError
from verseir.judging.annotations import ANNOTATIONS
from verseir.judging.judgements import JUDGEMENTS
from verseir.layout import Run
from verseir.stats.bootstrap import bootstrap_means, clopper_pearson
from verseir.stats.resampling import resample_counts
from verseir.tables import DUPLICATES, PER_QUERY, QRELS, QUERIES, RUN, check_table, read_table, write_table

DRAWS = Draws(2000, 999, 4)
PLACE = {"corpus": "c", "query_set": "known", "mode": "verse", "measure": "Recall@5"}
SPEC = {"kind": "known-item", **PLACE, "system": "e5"}
NAMES = {table.name: dict(table.columns) for table in (PER_QUERY, QUERIES, QRELS, RUN, ANNOTATIONS, DUPLICATES)}


def table(name, rows, **more):
    return pl.DataFrame(rows, schema=NAMES[name] | more, orient="row")


def ids(n):
    return [f"q{i:04d}" for i in range(n)]


def study(values, grades, gold=None, shown=None, duplicates=()):
    """The arguments of ``acceptability`` up to the draws.

    Args:
        values: the measure of each query.
        grades: annotator -> {number of the query: grade} of the poem that the query shows first, ``w<number>``.
        gold: the gold poem of each query; one each by default.
        shown: number of a query -> what it shows first in place of ``w<number>``, or None: nothing.
    """
    names = ids(len(values))
    gold = gold or [f"g{i}" for i in range(len(values))]
    first = {i: f"w{i}" for i in range(len(values))} | (shown or {})
    place = ("c", "verse", "known", "e5")
    items = [
        (f"i{i}", names[i], f"w{i}", annotator, grade, None)
        for annotator, of in grades.items()
        for i, grade in of.items()
    ]
    return (
        table("per_query", [(*place, name, "Recall@5", value) for name, value in zip(names, values, strict=True)]),
        table("queries", [(name, "known", "text", *[None] * 5) for name in names]),
        table("qrels", [(names[i], poem, 1, "known") for i, poem in enumerate(gold)], query_set=pl.String),
        {"s": SPEC},
        {"s": table("annotations", items)},
        {Run(*place): table("run", [(names[i], poem, 1, 1.0, None) for i, poem in first.items() if poem])},
        {"c": table("duplicates", list(duplicates))},
    )


def rows(*given, draws=DRAWS, **more):
    """(annotator, threshold) -> row."""
    found = check_table(acceptability(*study(*given, **more), draws), ACCEPTABILITY, "acceptability")
    return {(row["annotator"], row["threshold"]): row for row in found.iter_rows(named=True)}


VALUES = [1.0] * 717 + [0.0] * 283


def test_the_printed_figures():
    """Of 50 judged misses 17 are fully acceptable and 36 in part: .717 becomes .8132."""
    grades = {717 + 5 * i: 2 if i < 17 else 1 if i < 36 else 0 for i in range(50)}
    found = rows(VALUES, {"Anna": grades})
    fully, partly = found["Anna", "fully acceptable"], found["Anna", "at least partly"]
    assert (fully["n_queries"], fully["n_misses"], fully["n_judged"]) == (1000, 283, 50)
    assert (fully["value"], fully["share"], partly["share"]) == (0.717, 0.34, 0.72)
    assert fully["adjusted"] == pytest.approx(0.717 + 0.283 * 0.34) == pytest.approx(0.8132, abs=5e-5)
    assert partly["adjusted"] == pytest.approx(0.717 + 0.283 * 0.72)
    assert (fully["share_low"], fully["share_high"]) == clopper_pearson(17, 50)
    assert fully["note"] == "of 283 misses, 50 were judged"
    assert len(found) == 2


def test_the_interval_holds_both_uncertainties():
    """Beside the delta method: a value of n queries, and a share of m judged misses that were drawn at random."""
    grades = {717 + 5 * i: 2 if i < 17 else 0 for i in range(50)}
    row = rows(VALUES, {"Anna": grades}, draws=Draws(9999, 9, 1))["Anna", "fully acceptable"]
    of_value, of_share = 0.717 * 0.283 / 1000, 0.34 * 0.66 / 50
    error = np.sqrt((1 - 0.34) ** 2 * of_value + 0.283**2 * of_share)
    assert row["adjusted_high"] - row["adjusted_low"] == pytest.approx(2 * 1.96 * error, rel=0.05)
    assert row["adjusted_high"] - row["adjusted_low"] > 2 * 1.96 * (1 - 0.34) * np.sqrt(of_value) * 1.1


def test_the_interval_is_that_of_every_resample():
    values, grades = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], {1: 2, 2: 0, 5: 2, 6: 1}
    row = rows(values, {"Anna": grades})["Anna", "fully acceptable"]
    known = np.array([i in grades for i in range(8)])
    accepted = np.array([grades.get(i) == 2 for i in range(8)])
    found = []
    for counts in resample_counts([8], DRAWS.resamples, DRAWS.seed):
        for drawn in counts.astype(int):
            at = np.repeat(np.arange(8), drawn)
            if known[at].any():
                value = np.array(values)[at].mean()
                found.append(value + (1 - value) * accepted[at][known[at]].mean())
    assert (row["adjusted_low"], row["adjusted_high"]) == pytest.approx(tuple(np.quantile(found, [0.025, 0.975])))
    assert row["adjusted"] == pytest.approx(3 / 8 + 5 / 8 / 2)


def test_the_mean_of_annotators_is_the_share_of_them_who_accept():
    grades = {"Anna": {2: 2, 3: 0, 4: 1}, "Boris": {2: 2, 3: 2}}
    found = rows([1.0, 1.0, 0.0, 0.0, 0.0], grades)
    mean = found[MEAN, "fully acceptable"]
    assert (mean["n_judged"], mean["share"]) == (3, 0.5)  # 1, 1/2, 0
    expected = bootstrap_means(np.array([[1.0], [0.5], [0.0]]), None, DRAWS.resamples, DRAWS.seed)
    assert (mean["share_low"], mean["share_high"]) == (expected.low[0], expected.high[0])
    assert found["Boris", "fully acceptable"]["share"] == 1.0
    assert found[MEAN, "at least partly"]["share"] == pytest.approx((1 + 0.5 + 1) / 3)


def test_queries_of_one_poem_are_drawn_together():
    values, grades = [1.0, 0.0] * 10, {"Anna": {i: 2 if i % 4 == 1 else 0 for i in range(1, 20, 2)}}
    apart = rows(values, grades)["Anna", "fully acceptable"]
    # Queries 1, 3, 5 ... share their poem with the next but one of them: two judged misses a poem.
    gold = [f"g{i}" if i % 2 == 0 else f"p{i // 4}" for i in range(20)]
    together = rows(values, grades, gold=gold)["Anna", "fully acceptable"]
    assert (apart["share_low"], apart["share_high"]) == clopper_pearson(5, 10)
    assert (together["share"], together["share_low"]) == (0.5, None)  # each poem has one accepted and one not
    assert "interval of share not estimable" in together["note"]
    assert together["adjusted_high"] - together["adjusted_low"] < apart["adjusted_high"] - apart["adjusted_low"]


def test_misses_that_show_nothing_or_the_gold_poem_are_counted_and_not_judged():
    classes = [("g1", "g1", 2, "near", 0.9), ("twin", "g1", 2, "near", 0.9)]
    values, grades = [1.0, 0.0, 0.0, 0.0, 0.0], {"Anna": {3: 2, 4: 0}}
    row = rows(values, grades, shown={1: "twin", 2: None}, duplicates=classes)["Anna", "fully acceptable"]
    assert (row["n_misses"], row["n_judged"], row["share"]) == (4, 2, 0.5)
    # Where nothing is shown there is nothing to accept: three of five queries may gain, half of them do.
    assert row["adjusted"] == pytest.approx(1 / 5 + 3 / 5 / 2)
    assert row["note"].startswith("of 4 misses, 2 were judged; 1 showed nothing; 1 showed the poem that was meant in")


def test_a_poem_that_no_longer_stands_first_is_not_judged():
    row = rows([0.0, 0.0, 0.0, 1.0], {"Anna": {0: 2, 1: 0, 2: 2, 3: 2}}, shown={2: "new"})["Anna", "fully acceptable"]
    assert (row["n_judged"], row["share"]) == (2, 0.5)
    assert "2 were annotated with a poem that does not stand first now" in row["note"]


@pytest.mark.parametrize("grades", [{}, {"Anna": {3: 2}}])
def test_nothing_judged(grades):
    found = rows([0.0, 0.0, 1.0, 1.0], grades)
    assert {annotator for annotator, _ in found} == ({"Anna"} if grades else {MEAN})
    for row in found.values():
        assert (row["value"], row["n_misses"], row["n_judged"]) == (0.5, 2, 0)
        assert row["share"] is None and row["adjusted"] is None and row["adjusted_low"] is None
        assert "not estimable: no miss was judged" in row["note"]


def test_misses_judged_all_alike_do_not_make_the_share_certain():
    row = rows([1.0] * 10 + [0.0] * 10, {"Anna": dict.fromkeys(range(10, 20), 2)})["Anna", "fully acceptable"]
    assert (row["share"], row["share_low"], row["share_high"]) == (1.0, *clopper_pearson(10, 10))
    assert (row["adjusted"], row["adjusted_low"]) == (1.0, None)
    assert "interval of adjusted not estimable: the judged misses are all alike" in row["note"]


def test_too_few_judged_misses_have_no_interval():
    row = rows([1.0] * 10 + [0.0] * 10, {"Anna": {10: 2, 11: 0}})["Anna", "fully acceptable"]
    assert (row["adjusted"], row["adjusted_low"]) == (0.75, None)  # a resample in eight holds no judged miss
    assert "interval of adjusted not estimable: too few judged misses" in row["note"]


def test_a_system_without_misses_and_a_single_query():
    assert rows([1.0, 1.0], {})[MEAN, "fully acceptable"]["note"].startswith("of 0 misses, 0 were judged")
    single = rows([0.0], {"Anna": {0: 2}})["Anna", "fully acceptable"]
    assert (single["share"], single["adjusted"], single["adjusted_low"]) == (1.0, 1.0, None)


def test_a_system_that_was_not_measured_is_named():
    given = study([0.0], {"Anna": {0: 2}})
    with pytest.raises(UserError, match="system 'e6' of the sheet 's' was not measured"):
        acceptability(*given[:3], {"s": {**SPEC, "system": "e6"}}, *given[4:], DRAWS)


def test_other_sheets_are_passed_over():
    given = study([0.0], {"Anna": {0: 2}})
    assert acceptability(*given[:3], {"s": {**SPEC, "kind": "thematic"}}, *given[4:], DRAWS).is_empty()


RUBRIC = """
name: r
scale: [1, 2]
instruction: judge
aspects:
  - {id: theme, title: t, kind: aboutness, question: q, anchors: {1: a, 2: b}}
  - {id: overall, title: t, kind: overall, question: q, anchors: {1: a, 2: b}}
"""


@pytest.fixture
def results(tmp_path):
    """A study with a known-item set that 'worse' and 'better' search, and a thematic set with one judge."""
    names = ids(4)
    values = {"better": [1.0, 1.0, 0.0, 0.0], "worse": [1.0, 0.0, 0.0, 0.0]}
    place = ("c", "verse", "known")
    scored = [
        (*place, system, name, "Recall@5", value)
        for system, of in values.items()
        for name, value in zip(names, of, strict=True)
    ]
    write_table(table("per_query", scored), tmp_path / "per_query.parquet", PER_QUERY)
    for query_set, prefix in (("known", "q"), ("themes", "t")):
        asked = [name.replace("q", prefix) for name in names]
        rows_of = [(name, query_set, "text", *[None] * 5) for name in asked]
        write_table(table("queries", rows_of), tmp_path / f"queries/{query_set}.parquet", QUERIES)
        gold = [(name, "g", 1) for name in asked] if query_set == "known" else []
        write_table(table("qrels", gold), tmp_path / f"queries/{query_set}.qrels.parquet", QRELS)
        for number, system in enumerate(values):
            found = [(name, f"w{number}", 1, 1.0, None) for name in asked]
            write_table(table("run", found), tmp_path / f"runs/c/verse/{query_set}/{system}.parquet", RUN)
    write_table(table("duplicates", []), tmp_path / "corpora/c/duplicates.csv", DUPLICATES)
    misses = [("i1", names[2], "w0", "Anna", 2, None), ("i2", names[3], "w0", "Anna", 0, None)]
    themes = [(f"j{i}{n}", f"t000{i}", f"w{n}", "Anna", (i + n) % 3, None) for i in range(4) for n in (0, 1)]
    write_table(table("annotations", misses), tmp_path / "annotations/misses.parquet", ANNOTATIONS)
    write_table(table("annotations", themes), tmp_path / "annotations/themes.parquet", ANNOTATIONS)
    judged = [
        (item, query, poem, "m", aspect, 1 + grade // 2, None, "answered")
        for item, query, poem, _, grade, _ in themes
        for aspect in ("theme", "overall")
    ]
    judgements = pl.DataFrame(judged, schema=dict(JUDGEMENTS.columns), orient="row")
    write_table(judgements, tmp_path / "judgements/c/themes/m.parquet", JUDGEMENTS)
    (tmp_path / "rubric.yaml").write_text(RUBRIC, encoding="utf-8")
    return tmp_path


OUTPUTS = {
    "agreement": ANNOTATOR_AGREEMENT,
    "human-judge": HUMAN_JUDGE,
    "contrasts": ANNOTATOR_CONTRASTS,
    "acceptability": ACCEPTABILITY,
}


def command(results, annotations):
    systems = ["better", "worse"]
    cross = {"query_sets": {"known": ["c"], "themes": ["c"]}, "modes": {"c": ["verse"]}}
    cross["systems"] = dict.fromkeys(systems, "imported")
    sheets = {
        "misses": {"kind": "known-item", **PLACE, "system": None, "systems": systems},
        "themes": {"kind": "thematic", "corpus": "c", "query_set": "themes", "systems": systems, "modes": ["verse"]},
    }
    sheets["themes"]["depth"] = 1
    given = ["--results", results, "--cross", json.dumps(cross), "--sheets", json.dumps(sheets)]
    given += ["--annotations", *annotations, "--per-query", results / "per_query.parquet"]
    given += ["--query-sets", "known", "themes", "--duplicates", results / "corpora/c/duplicates.csv"]
    given += ["--judgements", results / "judgements/c/themes/m.parquet"]
    given += ["--judges", json.dumps({"m": str(results / "rubric.yaml")}), "--lexical", "worse"]
    given += ["--resamples", "200", "--flips", "99", "--seed", "1"]
    for name in OUTPUTS:
        given += [f"--{name}", results / f"tables/{name}.csv"]
    return ["compare_annotators", *map(str, given)]


def test_the_verb_picks_the_strongest_system_and_writes_all_tables(results):
    files = [results / f"annotations/{sheet}.parquet" for sheet in ("misses", "themes")]
    assert main(command(results, files)) == 0
    tables = {name: read_table(results / f"tables/{name}.csv", of) for name, of in OUTPUTS.items()}
    accepted = tables["acceptability"]
    assert (
        accepted.select("system", "n_misses", "n_judged", "share", "adjusted").rows()
        == [("better", 2, 2, 0.5, 0.75)] * 2
    )
    assert tables["agreement"].is_empty()
    assert tables["human-judge"].select("annotator", "judge", "aspect", "n_items").rows() == [
        ("Anna", "m", "aboutness", 8),
        ("Anna", "m", "overall", 8),
    ]
    contrast = tables["contrasts"].row(0, named=True)
    # 'worse' is lexical: 1 2 0 1 against 0 1 2 0.
    assert (contrast["a"], contrast["mean_a"], contrast["mean_b"]) == ("worse", 1.0, 0.75)


def test_the_verb_writes_empty_tables_without_annotations(results):
    assert main(command(results, [])) == 0
    assert all(read_table(results / f"tables/{name}.csv", of).is_empty() for name, of in OUTPUTS.items())
