"""Statements of sameness, and the count of what correction takes."""

import numpy as np
import polars as pl
import pytest
from paired_study import DRAWS, asked, outcomes, paper_counts, shuffled, wording

from verseir.__main__ import main
from verseir.analyses.augmentation import AUGMENTATION, AUGMENTATION_BY_QUOTATION
from verseir.analyses.edited import EDIT_LENGTHS, EDITS
from verseir.analyses.equivalence import EQUIVALENCE, equivalence, intervals, statement
from verseir.analyses.multiplicity import (
    DECLARED_FAMILIES,
    MULTIPLICITY,
    MULTIPLICITY_LOST,
    declared_families,
    multiplicity,
    read_tests,
)
from verseir.analyses.quotation import QUOTATION, QUOTATION_PAIRS, QUOTATION_SLOPES
from verseir.faults import UserError
from verseir.overlap import WORDING
from verseir.queries.edits import REJECTS
from verseir.stats.equivalence import paired_equivalence
from verseir.stats.mcnemar import tango_interval
from verseir.tables import PER_QUERY, QRELS, QUERIES, check_table, read_table, write_table


def stated(values, runs, margin=0.05, gold=None, lexical=("bm25",)):
    n = len(next(iter(values.values())))
    known = wording(runs) if runs else wording([None])
    chosen = (3, margin, ["Recall@5"], lexical, (), 400, 1)
    frame = equivalence(outcomes(values), *asked(n, gold=gold), known, *chosen)
    check_table(frame, EQUIVALENCE, "equivalence")
    assert not any(frame.select(pl.col(pl.Float64).is_nan().any()).row(0))
    return frame


def test_a_large_p_is_no_statement_of_sameness():
    frame = stated(*paper_counts())
    rows = {row["stratum"]: row for row in frame.to_dicts()}
    assert set(rows) == {"all", "quoting", "not quoting"}
    level = rows["not quoting"]
    assert (level["low"], level["high"]) == pytest.approx(tango_interval(27, 31, 164, level=0.90))
    assert level["statement"] == "cannot tell"  # p = .69 all the same
    assert rows["quoting"]["statement"] == "different beyond 0.05"
    assert stated(*paper_counts(), margin=0.2)["statement"].to_list() == [
        "level within 0.2",
        "level within 0.2",
        "different, whether beyond 0.2 is open",
    ]


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-0.04, 0.04, "level within 0.05"),
        (-0.05, 0.04, "cannot tell"),
        (0.01, 0.04, "level within 0.05"),
        (0.06, 0.2, "different beyond 0.05"),
        (-0.2, -0.06, "different beyond 0.05"),
        (0.04, 0.2, "different, whether beyond 0.05 is open"),
        (-0.2, -0.01, "different, whether beyond 0.05 is open"),
        (float("nan"), float("nan"), "cannot tell"),
    ],
)
def test_statements(low, high, said):
    assert statement(low, high, 0.05) == said


@pytest.mark.parametrize("shared", [False, True])
def test_columns_are_judged_as_one_by_one(shared):
    rng = np.random.default_rng(0)
    columns = np.column_stack(
        [rng.integers(-1, 2, 40), rng.normal(size=40), np.zeros(40), np.full(40, 0.5), np.ones(40)]
    ).astype(float)
    clusters = np.arange(40) // 2 if shared else None
    for j, found in enumerate(intervals(columns, clusters, 0.05, 400, 1)):
        alone = paired_equivalence(columns[:, j], clusters, 0.05, 400, 1)
        np.testing.assert_allclose(found, alone, rtol=1e-9)


@pytest.mark.parametrize(
    ("values", "runs", "n_rows"),
    [
        ({"bm25": [1]}, [3], 0),
        ({"bm25": [1], "x": [0]}, [3], 3),
        ({"bm25": [1, 1, 1], "x": [1, 1, 1]}, None, 1),
        ({"bm25": [1, 0, 1], "x": [0, 1, 1]}, [1, 1, 1], 3),
        ({"x": [0.5, 0.5], "y": [0.25, 0.25]}, [3, 1], 3),
    ],
)
def test_little_is_no_crash(values, runs, n_rows):
    frame = stated(values, runs)
    assert len(frame) == n_rows
    unknown = frame.filter(pl.col("low").is_null())
    assert (unknown["statement"] == "cannot tell").all()
    assert unknown["note"].str.contains("not estimable").all()


def test_queries_that_share_a_poem_and_another_order():
    rng = np.random.default_rng(0)
    values = {"bm25": rng.integers(0, 2, 40).tolist(), "x": rng.integers(0, 2, 40).tolist()}
    frame = stated(values, [3, 1] * 20, gold=[f"p{i // 4}" for i in range(40)])
    assert (frame["low"] < frame["high"]).all()
    assert "picked" in stated(values, [3, 1] * 20, lexical=())["note"][0]
    per_query, (queries, qrels) = outcomes(values), asked(40)
    chosen = (3, 0.05, ["Recall@5"], ("bm25",), (), *DRAWS[::2])
    one = equivalence(per_query, queries, qrels, wording([3, 1] * 20), *chosen)
    mixed = [shuffled(frame) for frame in (per_query, queries, qrels, wording([3, 1] * 20))]
    assert equivalence(*mixed, *chosen).equals(one)


NONE_DECLARED = declared_families({}, [])


def csv(folder, name, rows, columns=("family", "system", "threshold", "estimate", "test", "p", "p_holm")):
    path = folder / f"{name}.csv"
    pl.DataFrame(rows, schema=list(columns), orient="row").write_csv(path)
    return path


def test_the_printed_count_of_tests_comes_out(tmp_path):
    kept = [("f", f"s{i}", 3, 0.1, "t", 0.001, 0.02) for i in range(36)]
    gone = [("g", f"s{i}", 3, 0.1, "t", 0.03, 0.06) for i in range(3)]
    others = [("g", "s8", 3, 0.1, "t", 0.2, 0.2), ("g", "s9", 3, 0.1, "none", None, None)]
    tables = {name: read_tests(csv(tmp_path, name, rows)) for name, rows in (("one", kept), ("two", gone + others))}
    counts, lost = multiplicity(tables, NONE_DECLARED)
    check_table(counts, MULTIPLICITY, "counts")
    check_table(lost, MULTIPLICITY_LOST, "lost")
    assert counts.rows() == [("one", 1, 36, 36, 36, 0), ("two", 1, 4, 3, 0, 3), ("all tables", 2, 40, 39, 36, 3)]
    assert lost["what"].to_list() == [f"system=s{i}; threshold=3" for i in range(3)]
    assert lost["p_holm"].to_list() == [0.06] * 3


def test_no_tables_and_empty_tables_count_nothing(tmp_path):
    assert multiplicity({}, NONE_DECLARED)[0].rows() == [("all tables", 0, 0, 0, 0, 0)]
    empty = tmp_path / "empty.csv"
    empty.write_text("family,p,p_holm\n", encoding="utf-8")
    counts, lost = multiplicity({"empty": read_tests(empty)}, NONE_DECLARED)
    assert counts["n_tests"].to_list() == [0, 0]
    assert lost.is_empty()


def test_declared_families_are_corrected_once_more(tmp_path):
    rows = [
        ("a/1", "x", 3, 0.1, "t", 0.01, 0.04),
        ("a/1", "y", 3, 0.1, "t", 0.02, 0.04),
        ("b", "x", 3, 0, "t", 0.04, 0.04),
    ]
    tables = {"one": read_tests(csv(tmp_path, "one", rows)), "two": read_tests(csv(tmp_path, "two", rows[2:]))}
    families = [
        {"family": "mine", "table": "one", "where": {"family": "a/*", "threshold": 3}},
        {"family": "mine", "table": "two"},
        {"family": "alone", "table": "one", "where": {"family": "b"}},
    ]
    declared = declared_families(tables, families)
    check_table(declared, DECLARED_FAMILIES, "declared")
    assert declared.select("family", "table", "p", "p_holm", "family_size").rows() == [
        ("alone", "one", 0.04, 0.04, 1),
        ("mine", "one", 0.01, 0.03, 3),
        ("mine", "one", 0.02, 0.04, 3),
        ("mine", "two", 0.04, 0.04, 3),
    ]
    counts, _ = multiplicity(tables, declared)
    assert counts.rows()[-1] == ("declared families", 2, 4, 4, 4, 0)


def test_declared_tests_that_could_not_be_made_stand_there_and_are_not_counted(tmp_path):
    rows = [("a", "x", 3, 0.1, "t", 0.01, 0.02), ("a", "y", 3, None, "none", None, None)]
    one = read_tests(csv(tmp_path, "one", rows))
    tables = {"one": one, "none": one.clear()}
    declared = declared_families(tables, [{"family": "mine", "table": "one"}, {"family": "other", "table": "none"}])
    check_table(declared, DECLARED_FAMILIES, "declared")
    assert declared.select("family", "p", "p_holm", "family_size", "note").rows() == [
        ("mine", 0.01, 0.01, 1, None),
        ("mine", None, None, 1, "not estimable: no test was made"),
        ("other", None, None, 0, "not estimable: the table holds no test"),
    ]
    counts, _ = multiplicity(tables, declared)
    assert counts.rows()[-1] == ("declared families", 1, 1, 1, 1, 0)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"table": "onee"}, "no table of tests 'onee'"),
        ({"table": "one", "where": {"sistem": "x"}}, "no column 'sistem'"),
        ({"table": "one", "where": {"system": "z"}}, "chooses no test"),
    ],
)
def test_a_family_that_chooses_nothing_is_refused(tmp_path, entry, problem):
    tables = {"one": read_tests(csv(tmp_path, "one", [("f", "x", 3, 0.1, "t", 0.01, 0.04)]))}
    with pytest.raises(UserError, match=problem):
        declared_families(tables, [{"family": "mine"} | entry])


def test_a_table_without_tests_is_refused(tmp_path):
    with pytest.raises(UserError, match="p_holm"):
        read_tests(csv(tmp_path, "x", [("f", 0.1)], ("family", "p")))
    with pytest.raises(UserError, match="does not exist"):
        read_tests(tmp_path / "absent.csv")


def test_the_verbs_write_their_tables(tmp_path):
    (tmp_path / "queries").mkdir()
    values, runs = {"bm25": [1, 0, 1, 1, 0, 1], "x": [0, 1, 1, 0, 1, 1]}, [3, 3, 4, 1, 0, 2]
    ids = [f"q{i:03d}" for i in range(6)]
    made = [f"{query}~append-final" for query in ids]
    parts = [outcomes(values), outcomes(values, mode="other"), outcomes(values, query_set="edited", ids=made)]
    write_table(pl.concat(parts), tmp_path / "per_query.parquet", PER_QUERY)
    sets = {"set": asked(6), "edited": asked(6, query_set="edited", source=ids, edit="append-final")}
    for name, (queries, qrels) in sets.items():
        write_table(queries, tmp_path / f"queries/{name}.parquet", QUERIES)
        write_table(qrels.drop("query_set"), tmp_path / f"queries/{name}.qrels.parquet", QRELS)
    write_table(wording(runs), tmp_path / "set.parquet", WORDING)
    write_table(wording(runs, "edited", ids=made), tmp_path / "edited.parquet", WORDING)
    rejects = pl.DataFrame(
        [("edited", "q9", "append-final", None, "short")], schema=dict(REJECTS.columns), orient="row"
    )
    write_table(rejects, tmp_path / "edited.rejects.csv", REJECTS)

    def call(verb, *options, **outputs):
        files = [part for name, file in outputs.items() for part in (f"--{name}", str(tmp_path / file))]
        assert main([verb, *(str(option) for option in options), *files]) == 0

    drawn = ["--resamples", 200, "--seed", 1]
    one = ["--results", tmp_path, "--query-sets", "set", "--wording", tmp_path / "set.parquet"]
    both = ["--results", tmp_path, "--query-sets", "set", "edited"]
    both += ["--wording", tmp_path / "set.parquet", tmp_path / "edited.parquet"]
    systems, quoting = ["--measures", "Recall@5", "--lexical", "bm25"], ["--quoting", 3]
    out = {"means": "quotation.csv", "slopes": "quotation_slopes.csv", "pairs": "quotation_pairs.csv"}
    call("stratify_quotation", *one, "--thresholds", 2, 3, *systems, *drawn, "--flips", 999, **out)
    edits = ["--edited", '{"edited": null}', "--rejects", tmp_path / "edited.rejects.csv", "--flips", 999]
    call("compare_edits", *both, *edits, *systems, *drawn, edits="edits.csv", lengths="edit_lengths.csv")
    base = ["--base-mode", "verse", "--measures", "Recall@5", "--flips", 999]
    out = {"effects": "augmentation.csv", "by-quotation": "augmentation_by_quotation.csv"}
    call("measure_augmentation", *one, *quoting, *base, *drawn, **out)
    call("state_equivalence", *both, *quoting, "--margin", 0.05, *systems, *drawn, output="equivalence.csv")
    tested = [tmp_path / f"{name}.csv" for name in ("quotation_slopes", "quotation_pairs", "edits", "augmentation")]
    written = {"counts": "multiplicity.csv", "lost": "multiplicity_lost.csv", "declared": "declared_families.csv"}
    call("count_corrections", "--tables", *tested, **written)
    for contract in (QUOTATION, QUOTATION_SLOPES, QUOTATION_PAIRS, EDITS, AUGMENTATION, EQUIVALENCE, MULTIPLICITY):
        assert len(read_table(tmp_path / f"{contract.name}.csv", contract)) > 0
    assert read_table(tmp_path / "edits.csv", EDITS)["n_rejected"].unique().to_list() == [1]
    for contract in (EDIT_LENGTHS, AUGMENTATION_BY_QUOTATION, MULTIPLICITY_LOST):
        assert read_table(tmp_path / f"{contract.name}.csv", contract).columns == list(contract.columns)
