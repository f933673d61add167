"""The page on kinds of queries, on few independent queries, and on parameters that tuning chose."""

import json

import polars as pl
import pytest
from idiom_study import SETS, SYSTEMS, idiom_spec, idiom_tables, write_idiom_study
from report_study import TEMPLATE, frame, score, study, write_study
from test_report_page import Page, page_of

from verseir.__main__ import main
from verseir.analyses.strata import STRATA
from verseir.report.few import ENOUGH, few_clusters
from verseir.report.idioms import confusion, idioms
from verseir.report.kinds import MOST, kinds
from verseir.report.wording import Scope
from verseir.tables import PER_QUERY, QRELS, QUERIES, write_table
from verseir.typeset.idioms import Tables, variants, zero_shot

SCOPE = Scope("verse", 3, {"known": "Recall@5"}, ["bm25"], ["dense-a"], [])
FULL = Scope("full", 3, dict.fromkeys(SETS, "nDCG@10"), ["bm25-okapi"], [], [])


def stratum(system, attribute, value, mean, **changes):
    row = score(system, mean, mean - 0.1, mean + 0.1, attribute=attribute, value=value, n_queries=7)
    return row | changes


def strata(values=("10", "9", "ode"), many=MOST + 1):
    rows = []
    for place, system in enumerate(("bm25", "dense-a")):
        rows += [stratum(system, "length", value, 0.3 + 0.1 * place + 0.1 * n) for n, value in enumerate(values)]
        rows += [stratum(system, "poet", f"p{n:02}", 0.2 + 0.02 * (n // 2) + 0.1 * place) for n in range(many)]
    rows.append(stratum("bm25", "length", "9", 0.99, mode="explanation"))
    rows.append(stratum("bm25", "length", "9", 0.98, measure="MRR"))
    return frame(STRATA, rows)


def test_few_values_are_a_table_and_many_are_two_ends():
    panel = kinds({"strata": strata()}, SCOPE, [])
    assert "length (3 values) and poet (13 values)" in panel.sentences[0] and panel.tables == ["strata"]
    table, ends = panel.grids
    assert [column.heading for column in table.columns] == ["System", "9", "10", "ode"]  # numbers by size
    assert {column.small for column in table.columns[1:]} == {"n = 7"}
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["bm25", "0.400", "0.300", "0.500"],
        ["dense-a", "0.500", "0.400", "0.600"],
    ]
    assert table.rows[0][1].small == "[0.300,\u00a00.500]" and "Recall@5, mode verse" in table.caption
    assert len(ends.rows) == 2 and "strata.csv" in ends.caption
    low, high = ends.rows[0][-2:]
    assert (low.text, low.small) == ("0.200", "p00 and 1 more")
    assert (high.text, high.small) == ("0.320", "p12")


def test_as_many_values_as_a_table_holds_are_a_table():
    panel = kinds({"strata": strata(many=MOST)}, SCOPE, [])
    assert len(panel.grids) == 2 and len(panel.grids[1].columns) == 1 + MOST


def test_without_strata_there_is_no_panel_and_without_means_no_number():
    assert kinds({}, SCOPE, []) is None
    told = kinds({"strata": strata().filter(pl.col("mode") != "verse")}, SCOPE, [])
    assert not told.grids and told.sentences[0].startswith("Not estimable: ")
    bare = strata().with_columns(pl.lit(None, pl.Float64).alias(name) for name in ("mean", "ci_low", "ci_high"))
    panel = kinds({"strata": bare}, SCOPE, [])
    assert {cell.text for row in panel.grids[1].rows for cell in row[-2:]} == {"not estimable"}
    assert not any(cell.mark for grid in panel.grids for row in grid.rows for cell in row)


def test_of_idioms_the_use_stands_elsewhere_and_the_idiom_in_a_line():
    tables = idiom_tables()
    own = tables["strata"].with_columns(
        attribute=pl.when(pl.col("attribute") == "usage").then(pl.lit("idiom")).otherwise(pl.col("attribute"))
    )
    panel = kinds({"strata": pl.concat([tables["strata"], own.filter(pl.col("attribute") == "idiom")])}, FULL, SETS)
    *by_value, line = panel.grids
    assert [grid.caption.split(" by ")[0] for grid in by_value] == SETS
    assert {grid.caption.split(" by ")[1] for grid in by_value} == {"quality: nDCG@10, mode full"}
    assert len(line.rows) == 10 and {row[-1].small for row in line.rows} == {"literal"}
    assert kinds({"strata": tables["strata"].filter(pl.col("attribute") == "usage")}, FULL, SETS) is None


def test_any_study_with_strata_has_the_panel(tmp_path):
    spec = study()
    spec["query_sets"]["known"]["strata"] = ["length", "poet"]
    results = write_study(tmp_path / "small", spec)
    write_table(strata(), results / "tables" / "strata.csv", STRATA)
    markup, page = page_of(results, spec)
    assert page.wrong == [] and page.open == []
    assert '<section id="kinds"' in markup and 'href="#kinds"' in markup and "../tables/strata.csv" in markup
    markup, _ = page_of(write_study(tmp_path / "bare"))
    assert 'id="kinds"' not in markup


def write_asked(folder, n, clusters=None, poems=None, query_set="known", modes=("verse",)):
    """A query set of ``n`` queries in ``clusters``, or asking for ``poems``; returns its QUERIES file."""
    ids = [f"q{i}" for i in range(n)]
    rows = {"query_id": ids, "query_set": [query_set] * n, "text": ids}
    if clusters:
        rows["cluster"] = [f"c{i % clusters}" for i in range(n)]
    queries = frame(QUERIES, pl.DataFrame(rows).to_dicts())
    qrels = [{"query_id": name, "poem_id": f"p{i % (poems or n)}", "grade": 1} for i, name in enumerate(ids)]
    path = folder / "queries" / f"{query_set}.parquet"
    write_table(queries, path, QUERIES)
    write_table(frame(QRELS, qrels), path.with_name(f"{query_set}.qrels.parquet"), QRELS)
    values = [
        {"corpus": "poems", "mode": mode, "query_set": query_set, "system": "bm25", "query_id": name}
        | {"measure": "Recall@5", "value": 0.5}
        for mode in modes
        for name in (ids if mode == modes[0] else ids[:1])
    ]
    write_table(frame(PER_QUERY, values), folder / "per_query.parquet", PER_QUERY)
    return path


@pytest.mark.parametrize(
    ("n", "shape", "expected"),
    [
        (ENOUGH, {}, None),
        (ENOUGH - 1, {}, "19 independent queries; the smallest p that a sign-flip test of them can give is 1/10,000"),
        (40, {"clusters": ENOUGH}, None),
        (
            40,
            {"clusters": 8},
            "8 clusters (40 queries); the smallest p that a sign-flip test of them can give is 2/2^8",
        ),
        (40, {"poems": 2}, "2 poems that are asked for (40 queries)"),
    ],
)
def test_few_independent_queries_are_told(tmp_path, n, shape, expected):
    path = write_asked(tmp_path, n, **shape)
    told = few_clusters(tmp_path / "per_query.parquet", [path], study())
    assert len(told) == (expected is not None)
    if expected:
        assert told[0].startswith("Tests and intervals of known on poems rest on ")
        assert expected in told[0]
        assert ("none can fall below 0.05" in told[0]) == (shape.get("poems") == 2)


def test_few_are_told_by_mode_and_of_idioms_by_their_name(tmp_path):
    path = write_asked(tmp_path, 30, modes=("verse", "explanation"))
    told = few_clusters(tmp_path / "per_query.parquet", [path], study())
    assert len(told) == 1 and "of known in mode explanation on poems rest on 1 independent query;" in told[0]
    path = write_asked(tmp_path, 30, clusters=5, query_set="span")
    told = few_clusters(tmp_path / "per_query.parquet", [path], idiom_spec())
    assert "rest on 5 idioms (30 queries); " in told[0] and "2/2^5 = 0.0625" in told[0].replace("0.063", "0.0625")


def test_the_verb_tells_few_queries_and_what_tuning_chose(tmp_path):
    spec = study()
    results = write_study(tmp_path / "small", spec)
    systems = {"bm25": {"kind": "bm25"}, "old": {"kind": "bm25", "as_published": True}, "dense-a": {"kind": "dense"}}
    page_of(results, spec, systems)
    path, files = write_asked(results, 6), []
    for system, k1 in (("bm25", 1.2), ("old", 9.75)):
        chosen = {"corpus": "poems", "mode": "verse", "query_set": "held-out", "system": system, "k1": k1, "b": 0.75}
        files.append(tmp_path / f"{system}.json")
        files[-1].write_text(json.dumps(chosen | {"mean": 0.5061, "measure": "MRR", "n_queries": 1200, "grid": []}))
    output = tmp_path / "page.html"
    verb = ["write_report", "--results", str(results), "--template", str(TEMPLATE), "--tuning", *map(str, files)]
    verb += ["--per-query", str(results / "per_query.parquet"), "--queries", str(path), "--output", str(output)]
    assert main(verb) == 0
    page = Page(output.read_text(encoding="utf-8"))
    assert page.wrong == [] and page.open == []
    said = page.words.partition("The whole manifest")[0]
    assert "rest on 6 independent queries" in said and "Parameters of BM25 that validation queries chose" in said
    assert all(part in said for part in ("held-out", "1.2", "0.506", "1,200")) and "9.75" not in said


def test_bold_is_the_highest_of_the_systems_and_never_a_check():
    tables = idiom_tables()
    assert "the highest of the systems" in idioms(tables, FULL, SETS).grids[0].caption
    given = Tables(*(tables[name] for name in ("leaderboard", "strata", "subjects", "string_match")))
    assert "highest of the systems in each column" in zero_shot(given, SETS, "full", ["Rprec"]).caption
    sheet = variants(given, "span", "full", ["Rprec"])
    column = [column.heading for column in sheet.columns].index("by subject")
    assert any(cell.best for row in sheet.rows for cell in row)
    assert not any(cell.best for row in sheet.rows for cell in row[column:])


def test_confusion_leaves_out_what_never_occurs_and_has_the_interval_of_r_precision(tmp_path):
    tables = idiom_tables()
    heads = [column.heading for column in confusion(tables, FULL, SETS).grids[0].columns]
    assert heads[-1] == "Nothing"
    none = pl.col("idiom") == "none"
    tables["confusion"] = tables["confusion"].with_columns(
        share=pl.when(none).then(0.0).otherwise(pl.col("share")),
    )
    panel = confusion(tables, FULL, SETS)
    at = {column.heading: place for place, column in enumerate(panel.grids[0].columns)}
    assert "Nothing" not in at and "Relevant" in at
    rows = [row for row in panel.grids[0].rows if row[at["Queries"]].text == "idiomatic"]
    assert len(rows) == 10 and all(row[at["Relevant"]].small for row in rows)  # three uses make it up
    first = rows[0][at["Relevant"]]
    assert first.small == f"{100 * first.sort - 3:.1f}% to {100 * first.sort + 3:.1f}%"
    other = tables | {"strata": tables["strata"].with_columns(mean=pl.col("mean") + 0.01)}  # over other queries
    rows = [row for row in confusion(other, FULL, SETS).grids[0].rows if row[at["Queries"]].text == "idiomatic"]
    assert not any(row[at["Relevant"]].small for row in rows)
    markup, page = page_of(write_idiom_study(tmp_path / "idioms", None, tables), idiom_spec(SYSTEMS), {
        name: {"kind": "dense", "description": name} for name in SYSTEMS
    })  # fmt: skip
    assert page.wrong == [] and 'id="kinds"' in markup
