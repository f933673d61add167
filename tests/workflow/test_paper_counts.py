"""The printed counts of the paper, through the rules: do its printed figures come out?"""

import sys
from pathlib import Path

import polars as pl
import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))
from in_process import run_in_process
from project import ROOT, Project

from verseir.__main__ import main
from verseir.analyses.published import PUBLISHED
from verseir.tables import read_table

#: Figures that the counts fix, as the paper prints them.
PRINTED = {
    "fof-bm25-recall": "0.746",
    "fof-qwen3-8b-recall": "0.717",
    "bm25-not-quoting": "0.622",
    "qwen-not-quoting": "0.646",
    "slope-difference": "16.2",
    "fof-gap-p": ".47",
    "not-quoting-p": ".69",
    "diwan-qwen3-8b-recall": "0.748",
    "diwan-bm25-recall": "0.392",
    "diwan-gap-p": "< 1e-20",
    "append-opening-bm25": "+37.8",
    "append-middle-bm25": "+37.8",
    "append-final-bm25": "+37.8",
    "rewrite-bm25-after": "0.646",
    "fof-tau": "+0.24",
    "fof-tau-p": ".38",
    "diwan-tau": "+0.51",
    "diwan-tau-p": ".047",
    "fof-recall-acceptable": "0.813",
    "diwan-recall-acceptable": "0.834",
    "misses-acceptable": "34",
    "misses-partly": "72",
    "raters-within-one": "90",
    "bm25-move": "9",
}


class Counts(Project):
    """A copy of the project with the study of the counts, its inputs made."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        path = "config/studies/paper-counts.yaml"
        self.study = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))
        self.study |= {"bootstrap": 200, "flips": 9999}  # no printed figure hangs on them
        self.save_study()
        for read in ("resources/published", "resources/prompts"):
            (folder / read).mkdir(parents=True)
            for file in (ROOT / read).iterdir():
                (folder / read / file.name).write_bytes(file.read_bytes())

    @property
    def results(self) -> Path:
        return self.folder / "results" / "paper-counts"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    project = Counts(tmp_path_factory.mktemp("counts") / "project")
    counts = ROOT / "resources/paper-counts/counts.yaml"
    assert main(["make_counts", "--counts", str(counts), "--output", str(project.folder / "build/paper-counts")]) == 0
    assert run_in_process(project, "results/paper-counts/tables/published.csv") == []
    return read_table(project.results / "tables/published.csv", PUBLISHED)


@pytest.mark.parametrize("figure", sorted(PRINTED))
def test_a_printed_figure_comes_out(published, figure):
    row = published.row(by_predicate=pl.col("id") == figure, named=True)
    assert (row["published"], row["verdict"]) == (PRINTED[figure], "ok")


def test_no_printed_figure_is_missed_and_what_is_open_says_why(published):
    assert set(published["verdict"]) == {"ok", "open"}
    opened = published.filter(pl.col("verdict") == "open")
    assert opened["note"].is_not_null().all()
    assert (published.filter(pl.col("verdict") == "ok")["computed"].is_not_null()).all()
