"""The overlap spectrum and the quoted spans on small studies whose answers are known."""

import json

import polars as pl
import pytest
import tiny_models

from verseir.__main__ import main
from verseir.analyses.overlap_spectrum import OVERLAP_SPECTRUM, overlap_spectrum
from verseir.analyses.quoted_spans import QUOTED_SPANS, SPAN_SUCCESS, quoted_spans, span_success
from verseir.overlap import INDEXED, PROXIMITY, WORDING
from verseir.stats.bootstrap import bootstrap_means, clopper_pearson
from verseir.systems.loading import load_encoder
from verseir.systems.vectors import VectorStore
from verseir.tables import CHUNKS, EXPLANATIONS, PER_QUERY, POEMS, QRELS, QUERIES, check_table, read_table, write_table

SETTINGS = {"resamples": 500, "seed": 1}


def frame(table, rows):
    return pl.DataFrame(rows, schema=dict(table.columns), orient="row")


def study(runs, gold=None, registers=None, others=None, verses=None, n_verses=5, shares=None):
    """WORDING, QUERIES and QRELS of one query set from the longest run of each query."""
    ids = [f"q{i:03d}" for i in range(len(runs))]
    gold = gold or [f"p{i}" for i in range(len(runs))]
    others, verses = others or [0] * len(runs), verses or [1] * len(runs)
    shares = shares or [run / 10 for run in runs]
    rows = []
    for query, poem, run, other, verse, share in zip(ids, gold, runs, others, verses, shares, strict=True):
        found = (0, "a b", verse, n_verses, other if run > 1 else None) if run else (None, None, None, n_verses, None)
        rows.append(("c", "set", query, poem, 1, 10, 50, run, *found, share))
    queries = [("set", query, register) for query, register in zip(ids, registers or [None] * len(ids), strict=True)]
    queries = [(query, name, "text", register, *[None] * 4) for name, query, register in queries]
    judged = frame(QRELS, [(query, poem, 1) for query, poem in zip(ids, gold, strict=True)])
    return frame(WORDING, rows), frame(QUERIES, queries), judged.with_columns(query_set=pl.lit("set"))


def spectrum(wording, queries, qrels, indexed=(), proximity=(), thresholds=(2, 3)):
    tables = (wording, frame(INDEXED, indexed), frame(PROXIMITY, proximity))
    found = overlap_spectrum(*tables, queries, qrels, thresholds, **SETTINGS)
    return check_table(found, OVERLAP_SPECTRUM, "here")


def rows_of(table, *names):
    return {tuple(row[name] for name in names): row for row in table.to_dicts()}


def test_the_spectrum_has_shares_and_means_with_their_intervals():
    wording, queries, qrels = study([0, 1, 2, 3, 4] * 8)
    rows = rows_of(spectrum(wording, queries, qrels), "register", "quantity")
    assert rows["all", "share with 2 tokens in a row"]["mean"] == pytest.approx(0.6)
    assert rows["all", "share with 3 tokens in a row"]["mean"] == pytest.approx(0.4)
    assert rows["all", "mean longest run"]["mean"] == pytest.approx(2.0)
    row = rows["all", "mean containment"]
    expected = bootstrap_means(wording["containment"].to_numpy()[:, None], None, **SETTINGS)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((expected.low[0], expected.high[0]))
    assert row["note"] is None


def test_queries_that_share_a_poem_are_not_counted_as_independent():
    runs = [0] * 20 + [5] * 20
    alone = rows_of(spectrum(*study(runs)), "quantity")
    together = rows_of(spectrum(*study(runs, gold=[f"p{i // 4}" for i in range(40)])), "quantity")
    widths = [row["ci_high"] - row["ci_low"] for row in (alone["mean containment",], together["mean containment",])]
    assert widths[1] > 1.5 * widths[0]


def test_registers_and_modes_have_rows_of_their_own():
    wording, queries, qrels = study([0, 1, 3, 5], registers=["abstract", "abstract", "quoting", None])
    indexed = [("c", "both", "set", f"q{i:03d}", 0.5, i) for i in range(4)]
    proximity = [("c", "both", "set", f"q{i:03d}", "enc", 0.9) for i in (0, 2)]
    rows = rows_of(spectrum(wording, queries, qrels, indexed, proximity), "register", "mode", "quantity")
    assert {key[0] for key in rows} == {"all", "abstract", "quoting"}
    assert rows["abstract", None, "mean longest run"]["mean"] == pytest.approx(0.5)
    assert rows["all", "both", "mean longest run"]["mean"] == pytest.approx(1.5)
    assert rows["all", "both", "mean proximity"]["n_queries"] == 2
    assert "do not vary between queries" in rows["all", "both", "mean containment"]["note"]
    assert "fewer than two" in rows["quoting", None, "mean containment"]["note"]


def test_a_constant_proportion_has_an_interval_and_a_constant_length_has_none():
    rows = rows_of(spectrum(*study([0] * 12)), "quantity")
    assert rows["share with 2 tokens in a row",]["ci_high"] == pytest.approx(clopper_pearson(0, 12)[1])
    assert rows["mean longest run",]["ci_high"] is None
    assert "not estimable" in rows["mean longest run",]["note"]


def test_the_spectrum_does_not_depend_on_the_order_of_rows():
    wording, queries, qrels = study([0, 1, 2, 3, 4, 5] * 3, gold=[f"p{i % 7}" for i in range(18)])
    assert spectrum(wording, queries, qrels).equals(spectrum(wording.reverse(), queries.reverse(), qrels.reverse()))


def test_without_targets_there_is_nothing_to_tell():
    _, queries, qrels = study([1])
    none = frame(WORDING, [])
    assert spectrum(none, queries, qrels).is_empty()
    assert check_table(quoted_spans(none, queries, qrels, 3, **SETTINGS), QUOTED_SPANS, "here").is_empty()
    scores = frame(PER_QUERY, [("c", "verse", "set", "s", "q000", "Recall@5", 1.0)])
    found = span_success(none, scores, queries, qrels, 3, "Recall@5", **SETTINGS)
    assert check_table(found, SPAN_SUCCESS, "here").is_empty()


def test_spans_are_counted_by_uniqueness_and_place_with_exact_intervals():
    arguments = study([3, 3, 4, 2, 5], others=[0, 2, 0, 0, 0], verses=[0, 4, 2, 0, 0])
    rows = rows_of(check_table(quoted_spans(*arguments, 3, **SETTINGS), QUOTED_SPANS, "here"), "aspect", "value")
    unique = rows["in other poems", "unique"]
    assert (unique["n_spans"], unique["n_all"], unique["interval"]) == (3, 4, "exact")
    assert (unique["ci_low"], unique["ci_high"]) == pytest.approx(clopper_pearson(3, 4))
    assert [rows["place", value]["n_spans"] for value in ("opening", "middle", "final")] == [2, 1, 1]
    assert [rows["place", v]["by_chance"] for v in ("opening", "middle", "final")] == pytest.approx([0.2, 0.6, 0.2])


def test_the_only_verse_of_a_poem_is_its_opening():
    arguments = study([3, 3], verses=[0, 0], n_verses=1)
    rows = rows_of(quoted_spans(*arguments, 3, **SETTINGS), "value")
    assert (rows["opening",]["n_spans"], rows["final",]["n_spans"]) == (2, 0)
    assert [rows[value,]["by_chance"] for value in ("opening", "middle", "final")] == [1.0, 0.0, 0.0]


def test_spans_of_one_poem_are_weighed_by_poem():
    arguments = study([3] * 12, gold=[f"p{i // 3}" for i in range(12)], others=[0, 0, 1] * 2 + [0] * 6)
    rows = rows_of(check_table(quoted_spans(*arguments, 3, **SETTINGS), QUOTED_SPANS, "here"), "value")
    assert rows["unique",]["interval"] == "by poem"
    assert rows["unique",]["ci_low"] < rows["unique",]["share"] < rows["unique",]["ci_high"]


def test_success_is_told_of_unique_and_of_repeated_spans():
    wording, queries, qrels = study([3, 3, 3, 0], others=[0, 0, 1, 0])
    values = {"good": [1, 1, 1, 0], "weak": [0.5, 0, 0, 1]}
    scores = [
        ("c", "verse", "set", system, f"q{i:03d}", "Recall@5", float(v))
        for system, vs in values.items()
        for i, v in enumerate(vs)
    ]
    scores.append(("c", "verse", "set", "good", "q000", "MRR", 0.0))
    found = span_success(wording, frame(PER_QUERY, scores), queries, qrels, 3, "Recall@5", **SETTINGS)
    rows = rows_of(check_table(found, SPAN_SUCCESS, "here"), "system", "spans")
    told = {key: (row["n_successes"], row["n_queries"]) for key, row in rows.items()}
    assert told == {("good", "repeated"): (1, 1), ("good", "unique"): (2, 2), ("weak", "repeated"): (0, 1)} | {
        ("weak", "unique"): (1, 2)
    }
    none = span_success(*study([3, 3])[:1], frame(PER_QUERY, scores), queries, qrels, 3, "Recall@5", **SETTINGS)
    assert none.filter(pl.col("spans") == "repeated")["note"].unique().to_list() == [
        "not estimable: no repeated span is quoted"
    ]


def test_the_verbs_go_from_texts_to_tables(tmp_path):
    poem = [{"first": "a b c", "second": "d e"}, {"first": "f g", "second": None}]
    folder = tmp_path / "queries"
    write_table(frame(POEMS, [("p", *[None] * 7, poem, None)]), tmp_path / "poems.parquet", POEMS)
    write_table(frame(EXPLANATIONS, []), tmp_path / "explanations.parquet", EXPLANATIONS)
    write_table(frame(QUERIES, [("q", "set", "x c d e", *[None] * 5)]), folder / "set.parquet", QUERIES)
    write_table(frame(QRELS, [("q", "p", 1)]), folder / "set.qrels.parquet", QRELS)
    scores = frame(PER_QUERY, [("c", "verse", "set", "s", "q", "Recall@5", 1.0)])
    write_table(scores, tmp_path / "per_query.parquet", PER_QUERY)

    def verb(name, *options, **paths):
        named = [part for key, value in paths.items() for part in (f"--{key}", str(tmp_path / value))]
        assert main([name, *options, *named]) == 0

    texts = {"queries": "queries/set.parquet", "qrels": "queries/set.qrels.parquet"}
    corpus = {"poems": "poems.parquet", "explanations": "explanations.parquet"}
    overlap = {"wording": "wording.parquet", "indexed": "indexed.parquet"}
    modes = json.dumps({"verse": ["verse"]})
    verb("measure_overlap", "--corpus", "c", "--modes", modes, "--tokens", "full", **texts, **corpus, **overlap)
    settings = ["--results", str(tmp_path), "--query-sets", "set", "--resamples", "99", "--seed", "1"]
    verb("summarise_overlap", *settings, "--thresholds", "2", "3", **overlap, output="spectrum.csv")
    located = {"per-query": "per_query.parquet", "spans": "spans.csv", "successes": "successes.csv"}
    chosen = ["--quoting", "3", "--success", "Recall@5"]
    verb("locate_spans", *settings, *chosen, wording="wording.parquet", **located)
    assert read_table(tmp_path / "wording.parquet", WORDING)["span"].to_list() == ["c d e"]
    means = rows_of(read_table(tmp_path / "spectrum.csv", OVERLAP_SPECTRUM), "mode", "quantity")
    assert means["verse", "mean longest run"]["mean"] == 3.0
    assert read_table(tmp_path / "spans.csv", QUOTED_SPANS)["n_spans"].sum() == 2
    assert read_table(tmp_path / "successes.csv", SPAN_SUCCESS)["n_successes"].to_list() == [1, 0]


@pytest.fixture
def encoded(tmp_path, monkeypatch):
    """A tiny encoder, its vectors of one query and two chunks, and the verb's options."""
    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path / "cache"))
    settings = tiny_models.entry(tiny_models.bert(tmp_path / "tiny"))
    encoder = load_encoder(settings, "cpu")
    texts = {"query": ["a lamp"], "document": ["the well is dry", "a lamp on the stone"]}
    VectorStore(encoder.identity).encode_missing(encoder, texts)
    chunks = [(f"p#{verse}", "p", verse, 1, text) for verse, text in enumerate(texts["document"])]
    write_table(frame(CHUNKS, chunks), tmp_path / "verse.parquet", CHUNKS)
    bare = [("p#0", "p", 0, 2, "")]
    write_table(frame(CHUNKS, bare), tmp_path / "bare.parquet", CHUNKS)
    write_table(frame(QUERIES, [("q", "set", "a lamp", *[None] * 5)]), tmp_path / "set.parquet", QUERIES)
    write_table(frame(QRELS, [("q", "p", 1)]), tmp_path / "set.qrels.parquet", QRELS)
    seen = {"corpus": "c", "system": "tiny", "revision": encoder.identity.revision, "encoder_key": encoder.key}
    (tmp_path / "tiny.json").write_text(json.dumps(seen), encoding="utf-8")
    paths = {"--encoding": "tiny.json", "--queries": "set.parquet", "--qrels": "set.qrels.parquet"}
    options = ["measure_proximity", "--corpus", "c", "--system", "tiny", "--entry", json.dumps(settings)]
    options += ["--modes", "verse", "bare", "--chunks", str(tmp_path / "verse.parquet"), str(tmp_path / "bare.parquet")]
    options += ["--query-encoding", json.dumps({"view": "sentence"})]
    paths["--output"] = "proximity.parquet"
    return encoder, texts, options + [part for key, name in paths.items() for part in (key, str(tmp_path / name))]


def test_proximity_is_read_from_the_vectors_that_the_encode_step_left(encoded, tmp_path):
    encoder, texts, options = encoded
    assert main(options) == 0
    vectors = {role: encoder.encode(strings, role) for role, strings in texts.items()}
    row = read_table(tmp_path / "proximity.parquet", PROXIMITY).row(0, named=True)
    assert (row["mode"], row["encoder"]) == ("verse", "tiny")
    assert row["proximity"] == pytest.approx(float((vectors["document"] @ vectors["query"][0]).max()), abs=1e-5)


def test_vectors_of_a_changed_encoder_are_refused(encoded, tmp_path, capsys):
    _, _, options = encoded
    seen = json.loads((tmp_path / "tiny.json").read_text(encoding="utf-8"))
    (tmp_path / "tiny.json").write_text(json.dumps(seen | {"encoder_key": "another"}), encoding="utf-8")
    assert main(options) == 2
    assert "its files or settings changed" in capsys.readouterr().err
    assert not (tmp_path / "proximity.parquet").exists()
