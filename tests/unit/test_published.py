"""Printed figures beside computed ones: reading the file, looking figures up, and the verdicts."""

import importlib
import json
import math
import pkgutil
import re
from decimal import Decimal
from functools import cache
from itertools import product
from pathlib import Path

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from verseir import analyses, tables
from verseir.__main__ import main
from verseir.analyses.acceptability import THRESHOLDS
from verseir.analyses.edited import CHANGE, DIFFERENCE
from verseir.analyses.era_trend import SLOPE
from verseir.analyses.explanation_audit import ADDED
from verseir.analyses.explanation_audit import VERDICTS as AUDITED
from verseir.analyses.fusion_search import SELECTIONS
from verseir.analyses.idioms import ALL, IDIOMATIC, LITERAL
from verseir.analyses.multiplicity import DECLARED
from verseir.analyses.published import PUBLISHED, parse_printed, published, read_published, rounded, verdict
from verseir.analyses.quotation import NOT_QUOTING, QUOTING
from verseir.analyses.quoted_spans import ASPECTS
from verseir.analyses.variance_shares import OVERLAP
from verseir.faults import InputFaults
from verseir.judging.rubrics import ABOUTNESS, OVERALL, read_rubric
from verseir.stats.correlation import kendall
from verseir.tables import check_table, read_table

PATH = analyses.__path__
RESOURCES = Path(__file__).parents[2] / "resources"
FILE = RESOURCES / "published" / "what-the-query-remembers.yaml"
IDIOLINK = RESOURCES / "published" / "idiolink.yaml"
RUBRIC = RESOURCES / "prompts" / "rubric-thematic.yaml"


def judge(computed, printed, unit="share", rounding="half-even", bounds=None):
    return verdict(computed, parse_printed(printed), unit, rounding, bounds)


@pytest.mark.parametrize(
    ("computed", "printed", "unit", "expected"),
    [
        (182 / 244, "0.746", "share", "ok"),
        (0.7441, "0.746", "share", "close"),
        (0.7439, "0.746", "share", "fail"),
        (62 / 164 * 100, "+37.8", "points", "ok"),
        (-38.93, "-39", "points", "ok"),
        (0.47037, ".47", "p", "ok"),
        (0.0089, ".006", "p", "close"),
        (0.0091, ".006", "p", "fail"),
        (0.053, ".045", "p", "fail"),  # within the factor, but on the other side of .05
        (0.0, ".006", "p", "fail"),
        (9.9e-21, "< 1e-20", "p", "ok"),
        (1e-20, "< 1e-20", "p", "fail"),
        (4.0, "<= 4", "rank", "ok"),
        (0.64, "~ 0.65", "share", "ok"),
        (0.6299, "~ 0.65", "share", "fail"),
        (9.0, "8", "rank", "fail"),
        (9.0, "8", "count", "fail"),
        (8.0, "8", "count", "ok"),
    ],
)
def test_verdicts(computed, printed, unit, expected):
    assert judge(computed, printed, unit) == expected


@pytest.mark.parametrize(
    ("computed", "bounds", "expected"),
    [
        (0.4741, (0.46, 0.48), "ok"),  # as printed: no order of ties is needed
        (0.4700, (0.46, 0.48), "tied"),
        (0.4742, (0.4700, 0.4742), "tied"),  # and not close only
        (0.4700, (0.4742, 0.4800), "fail"),
        (0.4742, (0.4742, 0.4800), "close"),
        (0.4700, (0.4600, 0.47406), "tied"),  # the bound as it would be printed
        (0.4700, (0.4600, 0.47404), "fail"),
        (0.4700, None, "fail"),
    ],
)
def test_what_another_order_of_ties_gives_is_tied(computed, bounds, expected):
    assert judge(computed, ".4741", bounds=bounds) == expected


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_what_is_printed_of_a_value_within_the_bounds_is_ok_or_tied(one, two, three):
    low, value, high = sorted((one, two, three))
    printed = f"{value:.4f}"
    assert judge(low, printed, bounds=(low, high)) in ("ok", "tied")
    assert judge(high, printed, bounds=(low, high)) in ("ok", "tied")


def test_rounding_is_said_for_each_figure():
    assert judge(101 / 258, "0.392", rounding="twice") == "ok"
    assert judge(101 / 258, "0.392") == "close"
    assert judge(33 / 80, "0.413", rounding="half-up") == "ok"
    assert judge(33 / 80, "0.412") == "ok"


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_what_rounds_to_the_print_is_ok(millionths, decimals):
    value = millionths / 10**6
    step = Decimal(1).scaleb(-decimals)
    printed = f"{rounded(Decimal(str(value)), step, 'half-even'):.{decimals}f}"
    assert judge(value, printed) == "ok"


def figure(**changes):
    lookup = {"table": "means", "where": {"system": "{bm25}", "measure": "Recall@5"}, "value": "mean"}
    whole = {"id": "one", "place": "p. 1", "quantity": "a mean", "printed": "0.5", "unit": "share", "lookup": lookup}
    whole |= changes
    return {key: value for key, value in whole.items() if value is not None}


MEANS = pl.DataFrame(
    {
        "system": ["a", "a", "b", "c"],
        "measure": ["Recall@5", "MRR", "Recall@5", "Recall@5"],
        "mean": ["0.5", "0.25", "0.75", None],
        "threshold": ["3", "3", "3", "3"],
        "note": [None, None, None, "not estimable: no query"],
    }
)


def compared(names=None, found=None, rebuilt=False, **changes):
    content = {"source": "here", "figures": [figure(**changes)]}
    names = {"bm25": "a"} if names is None else names
    frame = published(content, names, {"means": MEANS} if found is None else found, rebuilt)
    return check_table(frame, PUBLISHED, "made").row(0, named=True)


def looked_up(**lookup):
    return compared(lookup={"table": "means", "where": {}, "value": "mean"} | lookup)


def test_a_figure_is_found_by_role():
    row = compared()
    assert (row["verdict"], row["computed"], row["difference"], row["published"]) == ("ok", 0.5, 0.0, "0.5")


def test_points_are_hundredths():
    row = compared(printed="+48", unit="points")
    assert (row["computed"], row["difference"], row["verdict"]) == (50.0, 2.0, "close")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"names": {}}, "stands for 'bm25'"),
        ({"names": {"bm25": "other"}}, "no such row"),
        ({"names": {"bm25": "c"}}, "not estimable: no query"),
        ({"found": {}}, "makes no table means"),
        ({"lookup": None, "open": "nobody counts it"}, "nobody counts it"),
        ({"rebuilt": True, "unfixed": "not printed"}, "not printed"),
    ],
)
def test_what_cannot_be_compared_is_open_and_says_why(changes, why):
    row = compared(**changes)
    assert row["verdict"] == "open" and why in row["note"] and row["computed"] is None


def test_an_unfixed_figure_counts_for_a_study_of_its_own_runs():
    assert compared(unfixed="not printed")["verdict"] == "ok"


def test_a_note_is_told_of_a_figure_that_is_compared_and_of_one_that_is_open():
    assert compared(note="17 of 50")["note"] == "17 of 50"
    assert compared(note="17 of 50", names={})["note"] == "the study has nothing that stands for 'bm25'; 17 of 50"


def test_lookups_take_what_they_say():
    recall = {"measure": "Recall@5"}
    assert looked_up(where=recall, take="lowest")["computed"] == 0.5
    assert looked_up(where=recall, take="highest")["computed"] == 0.75
    assert looked_up(where=recall, take="number")["computed"] == 3
    assert looked_up(where=recall, rank={"system": "b"})["computed"] == 1
    assert looked_up(where=recall, rank={"system": "{bm25}"})["computed"] == 2
    assert looked_up(where=recall | {"system": "b"}, minus={"system": "{bm25}"})["computed"] == 0.25
    assert looked_up(where={"system": ["{bm25}", "c"], "measure": "MRR"})["computed"] == 0.25
    assert looked_up(where=recall | {"system": "!= b", "threshold": 3})["computed"] == 0.5
    assert looked_up(where={"mean": "< .5"})["computed"] == 0.25
    assert looked_up(where={"mean": None}, take="number")["computed"] == 1
    moves = pl.DataFrame({"move": ["-4", "2", "9"]})
    for take, size in (("smallest", 2), ("largest", 9)):
        lookup = {"table": "moves", "where": {}, "value": "move", "take": take}
        assert compared(lookup=lookup, found={"moves": moves})["computed"] == size


def test_bounds_are_looked_up_and_a_tie_tells_them():
    ties = pl.DataFrame({"mean": ["0.4"], "lowest": ["0.38"], "highest": ["0.52"]})
    lookup = {"table": "ties", "where": {}, "value": "mean", "between": ["lowest", "highest"]}
    row = compared(lookup=lookup, found={"ties": ties})
    assert (row["verdict"], row["computed"]) == ("tied", 0.4)
    assert row["note"] == "orders of tied documents give 0.38 to 0.52"
    row = compared(lookup=lookup, found={"ties": ties}, printed="50", unit="percent")
    assert (row["verdict"], row["note"]) == ("tied", "orders of tied documents give 38 to 52")
    absent = ties.with_columns(highest=pl.lit(None, pl.String))
    assert compared(lookup=lookup, found={"ties": absent})["verdict"] == "close"
    with pytest.raises(InputFaults, match="no column 'highst'"):
        compared(lookup=lookup | {"between": ["lowest", "highst"]}, found={"ties": ties})


def test_a_share_is_looked_up():
    counts = pl.DataFrame({"usage": ["all", "literal", "none"], "n": ["50", "20", "0"]})
    lookup = {"table": "counts", "where": {"usage": "literal"}, "value": "n", "over": {"usage": "all"}}
    row = compared(lookup=lookup, found={"counts": counts}, printed="40", unit="percent")
    assert (row["verdict"], row["computed"]) == ("ok", 40.0)
    row = compared(lookup=lookup | {"over": {"usage": "none"}}, found={"counts": counts})
    assert (row["verdict"], row["note"]) == ("open", "not estimable: a share of nothing")


def test_a_lookup_that_can_never_be_right_is_told_by_name():
    with pytest.raises(InputFaults) as caught:
        looked_up(where={"measure": "Recall@5"})
    assert "[one]: means 3 rows that differ" in str(caught.value)
    with pytest.raises(InputFaults) as caught:
        looked_up(where={"sytem": "a"})
    assert "[one]: the table means has no column 'sytem'; did you mean 'system'?" in str(caught.value)


def test_the_file_is_refused_with_all_its_faults(tmp_path):
    figures = [
        figure(),
        figure(printed="about half"),
        figure(id="two", open="both"),
        figure(id="three", rouding="twice"),
        figure(id="four", unit="metres"),
        figure(id="five", lookup={"table": "t", "where": {}, "value": "v", "between": ["a", "b"], "take": "highest"}),
    ]
    file = tmp_path / "published.yaml"
    content = {"source": "s", "title": "t", "read_from": "r", "figures": figures}
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(InputFaults) as caught:
        read_published(file)
    told = str(caught.value)
    for part in (
        "[one.printed]",
        "[two]: needs either lookup or open",
        "'rouding'",
        "[four.unit]",
        "between stands with none",
    ):
        assert part in told
    content["figures"] = [figure(), figure()]
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(InputFaults, match="given twice"):
        read_published(file)


def test_the_verb_writes_the_table_and_counts_verdicts(tmp_path, capsys):
    content = {"source": "s", "title": "t", "read_from": "r", "figures": [figure(), figure(id="two", printed="0.9")]}
    (tmp_path / "published.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    MEANS.write_csv(tmp_path / "means.csv")
    options = ["--published", str(tmp_path / "published.yaml"), "--names", json.dumps({"bm25": "a"})]
    options += ["--tables", str(tmp_path / "means.csv"), "--output", str(tmp_path / "out.csv")]
    assert main(["compare_published", *options]) == 0
    assert "1 ok, 0 tied, 0 close, 1 fail, 0 open" in capsys.readouterr().out
    assert read_table(tmp_path / "out.csv", PUBLISHED)["verdict"].to_list() == ["ok", "fail"]


def test_a_table_that_is_not_there_is_told(tmp_path, capsys):
    options = ["--published", str(FILE), "--names", "{}", "--tables", str(tmp_path / "none.csv"), "--output", "out.csv"]
    assert main(["compare_published", *options]) == 2
    assert "none.csv cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("path", [FILE, IDIOLINK])
def test_every_figure_of_the_paper_is_looked_up_or_says_why_not(path):
    content = read_published(path)
    assert len(content["figures"]) > 100
    frame = published(content, {}, {}, rebuilt=False)
    assert set(frame["verdict"]) == {"open"} and frame["note"].null_count() == 0


def contracts():
    """The tables of the package, by name."""
    modules = [tables, *(importlib.import_module(f"verseir.analyses.{one.name}") for one in pkgutil.iter_modules(PATH))]
    found = [value for module in modules for value in vars(module).values() if isinstance(value, tables.Table)]
    return {table.name: table for table in found}


@pytest.mark.parametrize("path", [FILE, IDIOLINK])
def test_lookups_name_columns_that_the_tables_have(path):
    """And are read without a fault from tables that have no rows."""
    empty = {name: pl.DataFrame(schema=dict.fromkeys(table.columns, pl.String)) for name, table in contracts().items()}
    content = read_published(path)
    looked_up = [figure for figure in content["figures"] if "lookup" in figure]
    assert {figure["lookup"]["table"] for figure in looked_up} <= set(empty)
    roles = set(re.findall(r"{([^{}]+)}", json.dumps([figure["lookup"]["where"] for figure in looked_up])))
    roles |= {"bm25", "qwen3-8b"}
    frame = published(content | {"figures": looked_up}, dict.fromkeys(roles, "x"), empty, rebuilt=False)
    counted = frame.filter(pl.col("verdict") != "open")
    assert set(counted["computed"]) <= {0.0}  # numbers of rows


def test_lookups_use_the_words_of_the_tables():
    aspects = {aspect.id for aspect in read_rubric(RUBRIC).aspects}
    words = {
        ("quotation", "stratum"): {QUOTING, NOT_QUOTING},
        ("quotation_pairs", "stratum"): {QUOTING, NOT_QUOTING},
        ("fusion", "selection"): set(SELECTIONS),
        ("edits", "effect"): {CHANGE, DIFFERENCE},
        ("era_trend", "quantity"): {SLOPE},
        ("multiplicity", "table"): {DECLARED},
        ("quoted_spans", "aspect"): set(ASPECTS),
        ("quoted_spans", "value"): {value for values in ASPECTS.values() for value in values},
        ("explanation_audit", "verdict"): {*AUDITED, ADDED},
        ("variance_shares", "group"): {OVERLAP},
        ("acceptability", "threshold"): set(THRESHOLDS),
        ("thematic_means", "aspect"): {*aspects, ABOUTNESS},
        ("thematic_contrasts", "aspect"): {OVERALL},
        ("judge_agreement", "aspect"): aspects,
        ("judge_orders", "aspect_a"): {OVERALL},
        ("strata", "attribute"): {"usage"},
        ("strata", "value"): {LITERAL, IDIOMATIC},
        ("idiom_data", "role"): {"document", "query"},
        ("idiom_data", "usage"): {ALL, LITERAL, IDIOMATIC, "simplification", "sense"},
    }
    used = {key: set() for key in words}
    for figure in [*read_published(FILE)["figures"], *read_published(IDIOLINK)["figures"]]:
        lookup = figure.get("lookup", {"table": "", "where": {}})
        for column, value in [*lookup["where"].items(), *lookup.get("minus", {}).items()]:
            if (lookup["table"], column) in words:
                used[lookup["table"], column].update(value if isinstance(value, list) else [value])
    assert all(used[key] and used[key] <= words[key] for key in words), used


@cache
def figures():
    return {figure["id"]: figure for figure in read_published(FILE)["figures"]}


@pytest.mark.parametrize(("corpus", "concordant"), [("fof", 28), ("diwan", 34)])
def test_one_tau_of_ten_untied_systems_is_the_printed_one_and_has_the_printed_p(corpus, concordant):
    tau, p = (figures()[f"{corpus}-{name}"]["printed"] for name in ("tau", "tau-p"))
    orders = {n: kendall(range(10), order_with(45 - n)) for n in range(46)}
    assert [n for n, found in orders.items() if judge(found.estimate, tau, "tau") == "ok"] == [concordant]
    assert [n for n, found in orders.items() if judge(found.p, p, "p") == "ok"] == [45 - concordant, concordant]


def order_with(inversions, n=10):
    """An order of n with so many pairs the wrong way round."""
    left, order = list(range(n)), []
    while left:
        step = min(inversions, len(left) - 1)
        order.append(left.pop(step))
        inversions -= step
    return order


def test_the_taus_of_the_rubrics_want_ties():
    """Tied pairs in either order (some perhaps in both), and pairs that are in different order."""
    fewest = {}
    for first, second, discordant in product(range(6), range(6), range(6)):
        for both in range(min(first, second) + 1):
            untied = 45 - first - second + both
            tau = (untied - 2 * discordant) / math.sqrt((45 - first) * (45 - second))
            for name in ("fof-neutral-tau", "diwan-neutral-tau"):
                if judge(tau, figures()[name]["printed"], "tau") == "ok":
                    tied = first + second - both
                    fewest[name] = min(fewest.get(name, 45), tied)
    assert fewest == {"fof-neutral-tau": 1, "diwan-neutral-tau": 3}


def test_no_split_of_fifty_misses_gives_both_printed_adjustments():
    """Neither from the counted Recall@5 nor from the printed one; the rate of both corpora together gives both."""

    def rates(hits, n, printed, name):
        wanted = figures()[name]["printed"]
        starts = ((hits / n, 1 - hits / n), (printed, 1 - printed))
        return {
            (accepted, judged)
            for judged in range(1, 51)
            for accepted in range(judged + 1)
            if any(judge(start + rest * accepted / judged, wanted) == "ok" for start, rest in starts)
        }

    fof = rates(175, 244, 0.717, "fof-recall-acceptable")
    diwan = rates(193, 258, 0.748, "diwan-recall-acceptable")
    assert not {judged for _, judged in fof} & {50 - judged for _, judged in diwan}
    assert (17, 50) in fof & diwan


def test_ninety_percent_of_the_items_is_one_of_two_counts():
    assert [
        n for n in range(127) if judge(100 * n / 126, figures()["raters-within-one"]["printed"], "percent") == "ok"
    ] == [
        113,
        114,
    ]


def cells_of(system):
    """(query set, mode, use, measure) -> the figure, of one system of the idiom benchmark."""
    found = {}
    for figure in read_published(IDIOLINK)["figures"]:
        where = figure.get("lookup", {"where": {}})["where"]
        if where.get("system") == f"{{{system}}}" and figure["lookup"]["table"] != "subjects":
            key = (where["query_set"], where["mode"], where.get("value", "all"), where["measure"])
            assert key not in found
            found[key] = figure
    return found


@pytest.mark.parametrize(("system", "n"), [("bm25", 24), ("bm25-as-published", 24), ("all-minilm-l6-v2", 72)])
def test_idioms_are_copied_without_a_slip(system, n):
    """There are as many literal queries as idiomatic ones, so each mean is that of its halves."""
    cells = cells_of(system)
    assert len(cells) == n
    for (query_set, mode, use, measure), figure in cells.items():
        if use == "all":
            halves = [float(cells[query_set, mode, half, measure]["printed"]) for half in (LITERAL, IDIOMATIC)]
            assert abs(float(figure["printed"]) - sum(halves) / 2) < 1.01e-4, figure["id"]


def test_both_orders_of_ties_are_held_against_the_same_figures():
    ours, theirs = cells_of("bm25"), cells_of("bm25-as-published")
    assert {key: figure["printed"] for key, figure in ours.items()} == {k: f["printed"] for k, f in theirs.items()}
    assert all(figure["lookup"]["between"] == ["lowest", "highest"] for figure in ours.values())
    assert not any("between" in figure["lookup"] for figure in theirs.values())
