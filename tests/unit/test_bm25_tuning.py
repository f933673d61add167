"""Tuning of BM25: the grid, the choice, and the way of the parameters from verb to verb."""

import json

import numpy as np
import polars as pl
import pytest

from verseir.__main__ import main
from verseir.faults import UserError
from verseir.measures import per_query
from verseir.queries.searched import searched_texts
from verseir.systems.bm25 import Bm25Index
from verseir.systems.bm25_tuning import Trial, Tuning, parameters, tune
from verseir.tables import CHUNKS, QRELS, QUERIES, RUN, read_table, write_table

ENTRY = {
    "name": "tuned",
    "kind": "bm25",
    "text": "raw",
    "tokens": "words",
    "method": "okapi",
    "tune": {"measure": "nDCG@10", "k1": [0.0, 1.2, 3.0], "b": [0.0, 0.4, 1.0]},
    "ties": "id",
}
# Relevant is the short text that repeats its word: k1 must let repeats count and b must favour short texts.
TEXTS = ["sea sea stone", "sea wind rain", "sea sea sea wind rain fire dust salt iron glass", "rain stone", "fire dust"]
QUERY = {"query_id": "q1", "query_set": "set", "text": "Sea", "span": "stone"}


def frames(texts=TEXTS):
    n = len(texts)
    chunks = pl.DataFrame(
        {
            "chunk_id": [f"p{i}#0" for i in range(n)],
            "poem_id": [f"p{i}" for i in range(n)],
            "first_verse": pl.Series([0] * n, dtype=pl.Int32),
            "n_verses": pl.Series([1] * n, dtype=pl.Int32),
            "text": texts,
        }
    )
    queries = pl.DataFrame([QUERY], schema=dict(QUERIES.columns))
    qrels = pl.DataFrame([("q1", "p0", 1)], schema=dict(QRELS.columns), orient="row")
    return chunks, queries, qrels


def tuned(entry=ENTRY, ids=("q1",), query=("sea",)):
    chunks, _, qrels = frames()
    return tune(entry, chunks, [text.split() for text in chunks["text"]], list(ids), [list(query)] * len(ids), qrels)


def test_every_pair_is_tried_k1_first_and_measured():
    tuning = tuned()
    assert [(trial.k1, trial.b) for trial in tuning.grid] == [(k1, b) for k1 in (0, 1.2, 3) for b in (0, 0.4, 1)]
    assert (tuning.measure, tuning.n_queries) == ("nDCG@10", 1)
    chunks, _, qrels = frames()
    for trial in tuning.grid:
        index = Bm25Index.build(
            [text.split() for text in TEXTS], chunks["chunk_id"], chunks["poem_id"], "okapi", trial.k1, trial.b
        )
        run = index.search(["q1"], [["sea"]])
        assert trial.mean == per_query(run, qrels, ["q1"], ["nDCG@10"])["value"][0]
    assert len({trial.mean for trial in tuning.grid}) > 1
    best = max(trial.mean for trial in tuning.grid)
    assert tuning.best == next(trial for trial in tuning.grid if trial.mean == best)


def test_of_equal_means_the_first_wins():
    trials = (Trial(2.0, 0.9, 0.25), Trial(1.0, 0.1, 0.5), Trial(0.5, 0.3, 0.5), Trial(9.0, 0.2, 0.5))
    assert Tuning("MRR", 3, trials).best == trials[1]


def test_other_methods_are_tuned_alike():
    tuning = tuned(ENTRY | {"method": "lucene", "tune": ENTRY["tune"] | {"measure": "MRR"}})
    assert tuning.measure == "MRR"
    assert all(np.isfinite(trial.mean) for trial in tuning.grid)


def test_no_query_no_tuning():
    with pytest.raises(UserError, match="without queries"):
        tuned(ids=())


def test_parameters_of_the_entry_or_of_the_file(tmp_path):
    file = tmp_path / "tuned.json"
    Tuning("MRR", 1, (Trial(0.6, 0.9, 0.5),)).write(file, corpus="val")
    assert parameters(ENTRY, file) == (0.6, 0.9)
    fixed = {"k1": 1.2, "b": 0.75}
    assert parameters(fixed, None) == (1.2, 0.75)
    for entry, given, message in ((ENTRY, None, "is tuned"), (fixed, file, "is not tuned")):
        with pytest.raises(UserError, match=message):
            parameters(entry, given)
    for content in ("", "[]", "{}", '{"k1": null, "b": 1}'):
        file.write_text(content)
        with pytest.raises(UserError, match="no tuned parameters"):
            parameters(ENTRY, file)
    with pytest.raises(UserError, match="no tuned parameters"):
        parameters(ENTRY, tmp_path / "absent.json")


def test_what_is_searched_for():
    spans = pl.Series("span", ["the span", "", None])
    queries = pl.DataFrame({"query_id": ["a", "b", "c"], "text": ["one", "two", "three"]}).with_columns(spans)
    assert searched_texts(queries) == ["one", "two", "three"]
    assert searched_texts(queries, "span") == ["the span", "two", "three"]
    with pytest.raises(UserError, match="did you mean 'span'"):
        searched_texts(queries, "spans")


@pytest.mark.parametrize("reads", ["text", "span"])
def test_from_verb_to_verb(tmp_path, capsys, reads):
    chunks, queries, qrels = frames()
    paths = {name: str(tmp_path / f"{name}.parquet") for name in ("chunks", "queries", "qrels", "run")}
    for name, frame, table in (("chunks", chunks, CHUNKS), ("queries", queries, QUERIES), ("qrels", qrels, QRELS)):
        write_table(frame, paths[name], table)
    file, folder, cost = (str(tmp_path / name) for name in ("tuned.json", "index", "cost.json"))
    of = ["--corpus", "val", "--system", "tuned", "--entry", json.dumps(ENTRY), "--cost", cost]
    asked = ["--queries", paths["queries"], "--reads", reads, "--depth", "100"]
    place = ["--mode", "whole", "--query-set", "set", "--chunks", paths["chunks"], "--qrels", paths["qrels"]]
    assert main(["tune_bm25", *of, *place, *asked, "--output", file]) == 0
    found = json.loads((tmp_path / "tuned.json").read_text(encoding="utf-8"))
    assert [found[key] for key in ("corpus", "mode", "query_set", "system")] == ["val", "whole", "set", "tuned"]
    assert len(found["grid"]) == 9
    assert f"tuned: k1 = {found['k1']:g}, b = {found['b']:g}, mean nDCG@10" in capsys.readouterr().out
    assert json.loads((tmp_path / "cost.json").read_text())["stage"] == "tune"
    index = ["index_bm25", *of, "--chunks", paths["chunks"], "--output", folder]
    assert main([*index, "--tuned"]) == 2
    assert main([*index, "--tuned", file]) == 0
    assert (Bm25Index.load(folder).k1, Bm25Index.load(folder).b) == (found["k1"], found["b"])
    assert main(["search_bm25", *of, "--index", folder, *asked, "--output", paths["run"]]) == 0
    run = read_table(paths["run"], RUN)
    assert set(run["poem_id"]) == ({"p0", "p1", "p2"} if reads == "text" else {"p0", "p3"})
    value = per_query(run, qrels, ["q1"], ["nDCG@10"])["value"][0]
    assert value == found["mean"]
