"""What starting Python costs each job: modules that a verb does not need are not imported, sources are read quickly."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from verseir.__main__ import main, verbs
from verseir.code import PACKAGE, _imports

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from overhead import job_seconds

HEAVY = {"torch", "transformers", "scipy.stats", "scipy.special", "statsmodels", "pandas", "matplotlib", "pandera"}
#: Verbs that jobs of every study call, most of them many times.
FREQUENT = (
    *("check_inputs", "ingest_corpus", "ingest_queries", "make_chunks", "edit_queries", "measure_overlap"),
    *("encode_texts", "index_bm25", "search_bm25", "search_dense", "fuse_runs", "import_run", "evaluate_runs"),
    *("make_leaderboard", "report_ties", "collect_costs", "export_trec", "plot_registers", "plan_costs"),
)


@pytest.fixture(scope="module")
def imported():
    """Of each verb: the modules of ``HEAVY`` and numba that importing it imports, each in a process of its own."""
    watched = sorted({*HEAVY, "numba"})
    code = "import sys, importlib; importlib.import_module('verseir.cli.' + sys.argv[1])\n"
    code += f"print(*(name for name in {watched} if name in sys.modules))"
    running = {
        verb: subprocess.Popen(
            [sys.executable, "-c", code, verb], cwd=PACKAGE.parent, stdout=subprocess.PIPE, text=True
        )
        for verb in FREQUENT
    }
    return {verb: set(process.communicate()[0].split()) for verb, process in running.items()}


@pytest.mark.parametrize("verb", FREQUENT)
def test_a_frequent_verb_imports_nothing_heavy_before_it_needs_it(imported, verb):
    assert imported[verb] & HEAVY == set()


@pytest.mark.parametrize("verb", ["make_chunks", "ingest_corpus", "evaluate_runs", "fuse_runs", "collect_costs"])
def test_a_verb_that_handles_tables_compiles_nothing(imported, verb):
    assert "numba" not in imported[verb]


def test_a_verb_reads_the_source_of_no_other(monkeypatch):
    monkeypatch.setattr(ast, "parse", lambda *_, **__: pytest.fail("the verbs were parsed"))
    with pytest.raises(SystemExit) as left:
        main(["make_chunks", "--help"])
    assert left.value.code == 0


def test_what_no_verb_is_called_is_told_as_such(capsys):
    for wrong in ("__init__", "../code", "Make_Chunks", "make_chunks.py"):
        with pytest.raises(SystemExit) as left:
            main([wrong])
        assert left.value.code == 2
    assert "make_chunks" in capsys.readouterr().err
    assert "__init__" not in verbs()


def parsed(path: Path) -> set[str]:
    """The modules of the package that a module names in its imports, as Python itself reads them."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
    return {name for name in names if name.startswith(f"{PACKAGE.name}.")}


def test_imports_are_found_without_parsing():
    for path in sorted(PACKAGE.rglob("*.py")):
        expected = set()
        for name in parsed(path):
            parts = name.split(".")[1:]
            for end in range(1, len(parts) + 1):
                place = PACKAGE.joinpath(*parts[:end])
                expected |= {file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()}
        assert set(_imports(path)) == expected, path


def test_the_seconds_of_all_jobs_are_summed(tmp_path):
    files = tmp_path / "results" / "s" / "benchmarks"
    for place, seconds in (("report.tsv", 2.5), ("index_bm25/c/m.tsv", 1.0), ("index_bm25/d/m.tsv", 0.5)):
        (files / place).parent.mkdir(parents=True, exist_ok=True)
        (files / place).write_text(f"s\th:m:s\tmax_rss\n{seconds}\t0:00:01\tNA\n", encoding="utf-8")
    assert job_seconds(tmp_path) == (4.0, {"report": 1, "index_bm25": 2})


@pytest.mark.parametrize("given", ["0", "-3", "1.5", "many", ""])
@pytest.mark.parametrize(
    "call", [["check", "demo", "--cores"], ["search_bm25", "--threads"], ["plan_costs", "--threads"]]
)
def test_cores_and_threads_are_whole_numbers_of_at_least_one(capsys, call, given):
    with pytest.raises(SystemExit) as left:
        main([*call, given] if given.lstrip("-") == given else [*call[:-1], f"{call[-1]}={given}"])
    assert left.value.code == 2
    assert f"'{given}' is not a whole number of at least 1" in capsys.readouterr().err
