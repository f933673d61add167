"""What analyses read: a mode that keeps some poems only has judgements of its own."""

import json

import polars as pl
import pytest
import pytrec_eval
from strata_study import MEASURES, cross, documents, kept_poems, verb, write_results

from verseir.analyses.inputs import Indexed, judged_runs, read_attributes, read_query_set
from verseir.faults import UserError
from verseir.layout import Run
from verseir.measures import per_query
from verseir.tables import PER_QUERY, TIES, read_table

LITERAL = cross(modes=("full", "literal"), kept=("literal",))


@pytest.fixture
def results(tmp_path):
    write_results(tmp_path)
    return tmp_path


def test_a_kept_mode_has_the_judgements_of_its_poems_and_others_have_all(results):
    _, qrels = read_query_set(results, "span")
    by_mode = {run.mode: judged for run, _, judged, _ in judged_runs(results, cross(), [])}
    assert by_mode["full"].equals(qrels)
    expected = qrels.filter(pl.col("poem_id").is_in(kept_poems("plain")))
    assert by_mode["plain"].equals(expected)
    sizes = by_mode["plain"].group_by("query_id").len().sort("query_id")
    assert set(sizes["len"]) == {3}  # the literal uses of an idiom, or its idiomatic ones without the senses
    assert set(by_mode["full"].group_by("query_id").len()["len"]) == {3, 6}


def test_a_cross_without_kept_modes_reads_no_chunks(results):
    (results / "corpora" / "c" / "chunks" / "plain.parquet").unlink()
    plain = {key: value for key, value in cross().items() if key != "kept"}
    assert len(list(judged_runs(results, plain, []))) == 4


def test_a_missing_chunks_file_says_what_makes_it(results):
    (results / "corpora" / "c" / "chunks" / "plain.parquet").unlink()
    with pytest.raises(UserError, match=r"plain\.parquet does not exist[^\n]*\n.*snakemake"):
        list(judged_runs(results, cross(), []))


def test_a_damaged_chunks_file_is_told(results):
    (results / "corpora" / "c" / "chunks" / "plain.parquet").write_bytes(b"no table")
    with pytest.raises(UserError, match="cannot be read as a 'chunks' table"):
        list(judged_runs(results, cross(), []))


def test_each_list_of_poems_is_read_once(results, monkeypatch):
    read = []
    inner = pl.read_parquet
    monkeypatch.setattr(
        pl, "read_parquet", lambda path, **given: read.append((path.name, given)) or inner(path, **given)
    )
    list(judged_runs(results, cross(), []))
    assert [given for name, given in read if name == "plain.parquet"] == [{"columns": ["poem_id"]}]
    assert not [name for name, _ in read if name == "full.parquet"]


def test_queries_that_lost_all_their_poems_are_an_error(tmp_path):
    write_results(tmp_path, modes=("full", "literal"))
    with pytest.raises(UserError) as caught:
        list(judged_runs(tmp_path, LITERAL, []))
    told = str(caught.value)
    assert "no relevant poem of 12 queries of the set 'span' is indexed in the mode 'literal'" in told
    assert "q_arm_idiomatic_0, q_arm_idiomatic_1, q_arm_idiomatic_2, q_bag_idiomatic_0, q_bag_idiomatic_1, ..." in told
    assert "q_bag_idiomatic_2" not in told
    assert "let keep.literal keep more poems" in str(caught.value.hint)


def test_queries_of_a_set_judged_later_that_lost_their_poems_are_left_out(tmp_path):
    write_results(tmp_path, modes=("full", "literal"))
    measured = {run.mode: ids for run, _, _, ids in judged_runs(tmp_path, LITERAL, ["span"])}
    assert len(measured["full"]) == 24
    assert measured["literal"] == [name for name in measured["full"] if "literal" in name]


def test_judgements_of_poems_that_no_one_indexes_leave_an_empty_frame(results):
    indexed = Indexed(results, ["plain"])
    judged = pl.DataFrame({"query_id": ["q"], "poem_id": ["elsewhere"], "grade": [1]})
    assert indexed.qrels("c", "plain", "span", judged).is_empty()
    assert indexed.qrels("c", "full", "span", judged) is judged


def test_measures_of_a_kept_mode_are_those_of_trec_eval(results):
    options = {"cross": cross(), "measures": MEASURES, "output": results / "per_query.parquet"}
    assert verb("evaluate_runs", results, **options) == 0
    ours = read_table(results / "per_query.parquet", PER_QUERY)
    assert verb("export_trec", results, cross=cross()) == 0
    names = {"Rprec": "Rprec", "nDCG@10": "ndcg_cut_10", "R@5": "recall_5", "AP": "map"}
    for mode in ("full", "plain"):
        qrels = results / "trec" / "qrels" / ("span.qrels" if mode == "full" else "plain/c/span.qrels")
        with qrels.open() as lines:
            evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(lines), set(names.values()))
        for system in ("s1", "s2"):
            with (results / "trec" / "runs" / "c" / mode / "span" / f"{system}.trec").open() as lines:
                theirs = evaluator.evaluate(pytrec_eval.parse_run(lines))
            here = ours.filter(pl.col("mode") == mode, pl.col("system") == system)
            assert len(here) == 24 * len(MEASURES)
            for query_id, measure, value in here.select("query_id", "measure", "value").iter_rows():
                assert value == pytest.approx(theirs[query_id][names[measure]], abs=1e-6), (mode, query_id, measure)


def test_the_exported_judgements_of_a_kept_mode_stand_beside_all(results):
    assert verb("export_trec", results, cross=cross()) == 0
    folder = results / "trec" / "qrels"
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*.qrels")) == [
        "plain/c/span.qrels",
        "span.qrels",
    ]
    lines = {name: set((folder / name).read_text().splitlines()) for name in ("plain/c/span.qrels", "span.qrels")}
    gone = lines["span.qrels"] - lines["plain/c/span.qrels"]
    assert lines["plain/c/span.qrels"] < lines["span.qrels"]
    assert {documents()[line.split()[2]][1] for line in gone} == {"sense"}


def test_ties_of_a_kept_mode_see_its_own_number_of_relevant_poems(results):
    options = {"cross": cross(), "measures": MEASURES, "output": results / "ties.csv"}
    assert verb("report_ties", results, **options) == 0
    ties = read_table(results / "ties.csv", TIES)
    for run, ranked, judged, ids in judged_runs(results, cross(), []):
        means = per_query(ranked, judged, ids, MEASURES).group_by("measure").agg(pl.col("value").mean())
        here = ties.filter(pl.col("mode") == run.mode, pl.col("system") == run.system)
        both = here.join(means, on="measure")
        assert len(both) == len(MEASURES)
        assert both["mean"].to_list() == pytest.approx(both["value"].to_list())
    assert isinstance(run, Run)


def test_a_lost_query_ends_the_verb_with_a_hint(tmp_path, capsys):
    write_results(tmp_path, modes=("full", "literal"))
    given = {"cross": LITERAL, "measures": MEASURES, "output": tmp_path / "out.parquet"}
    assert verb("evaluate_runs", tmp_path, **given) == 2
    assert "hint: let keep.literal keep more poems" in capsys.readouterr().err
    assert not (tmp_path / "out.parquet").exists()
    assert verb("evaluate_runs", tmp_path, **given, judged_later=["span"]) == 0


def test_attributes_are_read_as_their_table(results):
    assert set(read_attributes(results, "span")["attribute"]) == {"idiom", "usage", "language", "quality"}
    with pytest.raises(UserError, match="does not exist"):
        read_attributes(results, "none")


def test_the_cross_is_json(results):
    assert json.loads(json.dumps(cross())) == cross()
