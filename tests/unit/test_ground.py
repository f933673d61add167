"""The ground floor: atomic files, table contracts, chunks, layout, code dependencies, costs."""

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verseir.atomic import atomic_path, write_text
from verseir.chunks import make_chunks, windows
from verseir.code import PACKAGE, modules_of
from verseir.costs import Stopwatch, read_costs
from verseir.faults import Fault, InputFaults, UserError, closest, shown
from verseir.layout import Run, cost_files, runs
from verseir.tables import CHUNKS, COSTS, EXPLANATIONS, POEMS, QRELS, check_table, define, read_table, write_table


def poems(*verse_lists):
    rows = [
        (
            f"p{i}",
            f"title {i}",
            None,
            None,
            None,
            None,
            None,
            "ar",
            [{"first": a, "second": b} for a, b in verses],
            None,
        )
        for i, verses in enumerate(verse_lists)
    ]
    return pl.DataFrame(rows, schema=dict(POEMS.columns), orient="row")


NO_EXPLANATIONS = pl.DataFrame(schema=dict(EXPLANATIONS.columns))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "table.csv"
    write_text(target, "old")
    with pytest.raises(RuntimeError), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_table_reads_as_it_was_written(tmp_path, suffix):
    frame = pl.DataFrame({"query_id": ["q", "001"], "poem_id": ['نص, "quoted"', "b"], "grade": [1, 0]}).cast(
        {"grade": pl.Int32}
    )
    write_table(frame, tmp_path / f"t{suffix}", QRELS)
    assert read_table(tmp_path / f"t{suffix}", QRELS).equals(frame)


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        ({"query_id": ["q", "q"], "poem_id": ["a", "a"], "grade": [1, 1]}, "not unique"),
        ({"query_id": ["q"], "poem_id": [None], "grade": [1]}, "lacks a value"),
        ({"query_id": ["q"], "poem_id": ["a"]}, "grade"),
        ({"query_id": ["q"], "poem_id": ["a"], "grade": [1], "extra": [1]}, "extra"),
        ({"query_id": ["q"], "poem_id": ["a"], "grade": [1.5]}, "grade"),
    ],
)
def test_a_table_that_breaks_its_contract_is_refused(frame, problem):
    integers = {"grade": pl.Int32} if frame.get("grade") == [1] or frame.get("grade") == [1, 1] else {}
    data = pl.DataFrame(frame, schema_overrides={"poem_id": pl.String}).cast(integers)
    with pytest.raises(UserError, match=problem):
        check_table(data, QRELS, "here")


def test_nan_is_no_value_and_a_null_may_stand_where_the_contract_says_so():
    contract = define("t", {"a": pl.Float64, "b": pl.Float64, "c": pl.List(pl.Int32)}, nullable="b c")
    frame = pl.DataFrame(
        {"b": [None, float("nan")], "a": [1.0, 2.0], "c": [None, [1]]}, schema_overrides=contract.columns
    )
    assert check_table(frame, contract, "here").columns == ["a", "b", "c"]
    for gap in (None, float("nan")):
        broken = frame.with_columns(a=pl.Series([1.0, gap]))
        with pytest.raises(UserError, match="a: lacks a value in 1 of 2 rows, the first is row 1"):
            check_table(broken, contract, "here")


def test_a_missing_table_says_what_makes_it(tmp_path):
    with pytest.raises(UserError, match="snakemake"):
        read_table(tmp_path / "none.parquet", QRELS)


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 6))
def test_windows_cover_every_verse_in_order(n, size, stride):
    found = windows(n, size, stride)
    firsts = [first for first, _ in found]
    assert firsts == sorted(set(firsts))
    assert all(count == min(size, n) for _, count in found)
    assert found[-1][0] + found[-1][1] == n
    if stride <= size:
        assert {verse for first, count in found for verse in range(first, first + count)} == set(range(n))


def test_chunks_are_three_verses_wide_and_a_short_poem_is_one():
    chunks = make_chunks(poems([("ا", "ب")], [(str(i), "x") for i in range(5)]), NO_EXPLANATIONS, ["verse"])
    assert chunks["chunk_id"].to_list() == ["p0#0", "p1#0", "p1#1", "p1#2"]
    assert chunks["n_verses"].to_list() == [1, 3, 3, 3]
    assert chunks["text"][0] == "ا ب"
    assert chunks["text"][3] == "2 x\n3 x\n4 x"
    assert check_table(chunks, CHUNKS, "here").height == 4


def test_fields_are_joined_in_the_order_of_the_mode():
    explained = pl.DataFrame(
        [("p0", 0, "ai", "one"), ("p0", 1, "ai", "two"), ("p0", 0, "other", "not this")],
        schema=dict(EXPLANATIONS.columns),
        orient="row",
    )
    poem = poems([("a", "b"), ("c", "")])
    text = lambda fields: make_chunks(poem, explained, fields)["text"][0]  # noqa: E731
    assert text(["explanation:ai"]) == "one\ntwo"
    assert text(["verse", "explanation:ai"]) == "a b\nc\none\ntwo"
    assert text(["title", "verse"]) == "title 0\na b\nc"
    assert text(["explanation:none"]) == ""


def test_chunks_do_not_depend_on_the_order_of_poems():
    several = poems(*[[(f"v{i}", "w")] * (i + 1) for i in range(6)])
    assert make_chunks(several, NO_EXPLANATIONS, ["verse"]).equals(
        make_chunks(several.reverse(), NO_EXPLANATIONS, ["verse"])
    )


def test_a_cross_has_every_run_once():
    cross = {
        "query_sets": {"b": ["y", "x"], "a": ["x"]},
        "modes": {"x": ["m"], "y": ["m"]},
        "systems": {"s": "bm25", "d": "dense"},
    }
    found = list(runs(cross))
    assert found[0] == Run("x", "m", "a", "d")
    assert len(found) == len(set(found)) == 6
    assert str(Run("c", "m", "q", "s.1").path("runs")) == "runs/c/m/q/s.1.parquet"
    files = [str(path) for path in cost_files(cross, "costs")]
    assert "costs/encode_texts/x/d.json" in files
    assert "costs/index_bm25/y/m/s/untuned/whole.json" in files
    within = [str(path) for path in cost_files(cross | {"within": {"b": "language"}}, "costs")]
    assert set(within) - set(files) == {f"costs/index_bm25/{name}/m/s/untuned/within-language.json" for name in "xy"}
    assert set(files) - set(within) == {"costs/index_bm25/y/m/s/untuned/whole.json"}  # only b is searched in y


def test_code_of_a_verb_is_what_it_imports_and_no_more():
    names = {str(path.relative_to(PACKAGE)) for path in modules_of("make_chunks")}
    assert {"cli/make_chunks.py", "chunks.py", "tables.py", "atomic.py", "faults.py"} <= names
    assert not any(name.startswith(("figures", "report", "stats", "systems")) for name in names)


def test_an_edited_plot_does_not_encode_again():
    encoding = {str(path.relative_to(PACKAGE)) for path in modules_of("encode_texts")}
    plotting = {str(path.relative_to(PACKAGE)) for path in modules_of("plot_registers")}
    assert any(name.startswith("figures/") for name in plotting)
    assert not any(name.startswith(("figures", "report", "analyses", "stats")) for name in encoding)
    assert "systems/vectors.py" in encoding


def test_imports_point_downwards():
    floors = {
        0: "arabic atomic cells check_options code config config_reference construction costs"
        " encoding_faults failures faults fine_tuning formats given_keys judging_faults labelling layout manifest"
        " orders package_faults palette recipe_faults rows scripts study study_faults tables text_files workbooks"
        " whole written yaml_files",
        1: "corpora queries chunks systems ranking measures fusion trec exchange ties probes overlap shared"
        " counts kept plan doctor slips foretold training",
        2: "stats judging",
        3: "analyses",
        4: "cli report figures typeset",
    }
    floor_of = {name: floor for floor, names in floors.items() for name in names.split()}
    import ast

    wrong = []
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if own.startswith("__"):
            continue
        assert own in floor_of, f"{own} is on no floor"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if module and module.startswith("verseir."):
                other = module.split(".")[1]
                if floor_of[other] > floor_of[own]:
                    wrong.append(f"{path.relative_to(PACKAGE)} imports {module}")
    # The config of a study names systems and measures, so it reads their registry and the names of the measures.
    named = {
        "config.py imports verseir.systems.registry",
        "encoding_faults.py imports verseir.systems.query_encoding",
        "study_faults.py imports verseir.measures",
    }
    assert set(wrong) == named


def test_modules_stay_small():
    long = [path.name for path in PACKAGE.rglob("*.py") if len(path.read_text(encoding="utf-8").splitlines()) > 400]
    assert long == []


def test_costs_are_summed_by_stage(tmp_path):
    for i in range(2):
        Stopwatch("search", "c", "s").write(tmp_path / f"{i}.json", n_texts=10, index_mb=1.5)
    table = check_table(read_costs(tmp_path.glob("*.json")), COSTS, "here")
    assert table.row(0, named=True)["n_texts"] == 20
    assert table["index_mb"][0] == 3.0
    assert table["peak_memory_mb"][0] > 1
    assert json.loads((tmp_path / "0.json").read_text())["stage"] == "search"


def test_faults_are_sorted_and_told_together():
    error = InputFaults([Fault("b", 2, "x", "bad", "mend"), Fault("a", 1, "", "worse"), Fault("a", 1, "", "worse")])
    assert str(error).splitlines() == [
        "2 faults in the input:",
        "  - a:1: worse",
        "  - b:2 [x]: bad",
        "      hint: mend",
    ]
    assert "did you mean 'bm25'" in closest("bm52", ["bm25", "use-m3"])


def test_a_fault_shows_the_beginning_of_a_long_value():
    told = str(Fault("a.csv", 1, "id", f"no poem '{'x' * 5000}' in this corpus", closest("y", ["z" * 5000])))
    assert "in this corpus" in told and len(told) < 300
    path = "/".join(["folder"] * 30)
    assert path in str(Fault("a", 0, "", f"looked for {path}"))
    assert shown("x" * 60) == "x" * 60 and len(shown("x" * 61)) == 60
    assert closest("word", []) == ""
