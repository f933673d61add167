"""What fine-tuning changes: gains, the spread of seeds and the order of groups, by hand; what the page says of them."""

import json
import re

import polars as pl
import pytest
from paired_study import DRAWS, asked, names, outcomes, shuffled
from report_study import SYSTEMS, frame, study, write_study
from typeset_study import assert_well_formed

from verseir.__main__ import main
from verseir.analyses.contrasts import FLAT
from verseir.analyses.fine_tuning import (
    FINE_TUNING,
    FINE_TUNING_CURVES,
    FINE_TUNING_REGISTERS,
    FINE_TUNING_SEEDS,
    NO_BETTER,
    ONE_SEED,
    OTHERS,
    STILL_RISING,
    Recipe,
    fine_tuning,
    fine_tuning_curves,
)
from verseir.analyses.paired import TOO_FEW
from verseir.report.analysed import panels
from verseir.report.fine_tuning import FOLDED, MANY, method
from verseir.report.fine_tuning import fine_tuning as panel_of
from verseir.report.wording import Scope
from verseir.tables import PER_QUERY, QRELS, QUERIES, QUERY_ATTRIBUTES, check_table, read_table, write_table
from verseir.typeset.fine_tuning import gains as sheet_of
from verseir.typeset.latex import latex

#: All numbers that are added to these are exact in binary.
BASE = [0.5, 0.25, 0.75, 0.5]
TABLES = (FINE_TUNING, FINE_TUNING_SEEDS, FINE_TUNING_REGISTERS)
SCOPE = Scope("verse", 3, {"set": "Recall@5"}, [], [], [])


def recipe(seeds=(1, 2, 3), name="r"):
    return Recipe(name, "base", {seed: f"{name}.{seed}" for seed in seeds}, ["set"])


def curve(values, seed=1, fold="whole", name="r"):
    """A curve with one value an epoch, the first before training; the highest of the others is the best."""
    best = max(range(1, len(values)), key=lambda epoch: values[epoch])
    rows = [
        {"recipe": name, "seed": seed, "fold": fold, "epoch": float(epoch), "step": 10 * epoch, "measure": "nDCG@10"}
        | {"value": value, "best": epoch == best}
        for epoch, value in enumerate(values)
    ]
    return frame(FINE_TUNING_CURVES, rows)


def compared(base, trained, recipes=None, curves=(), members=None, **given):
    """The three tables of outcomes: ``trained`` has a list for each seed from 1 on."""
    values = {"base": base} | {f"r.{seed}": column for seed, column in enumerate(trained, 1)}
    recipes = recipes or [recipe(range(1, len(trained) + 1))]
    inputs = asked(len(base), **given)
    tables = fine_tuning(
        outcomes(values), *inputs, members or {}, recipes, fine_tuning_curves(curves), ["Recall@5"], DRAWS
    )
    return [check_table(frame, table, table.name) for frame, table in zip(tables, TABLES, strict=True)]


def plus(gain, base=BASE):
    return [value + gain for value in base]


def test_mean_and_both_standard_deviations_by_hand():
    gains, seeds, pairs = compared(BASE, [plus(0.125), plus(0.25), plus(0.375)])
    (row,) = gains.to_dicts()
    assert (row["zero_shot"], row["mean"], row["lowest"], row["highest"]) == (0.5, 0.75, 0.625, 0.875)
    assert row["sd"] == pytest.approx(0.125)  # of 0.625, 0.75, 0.875: sqrt(2 * 0.125 ** 2 / 2)
    assert row["sd_population"] == pytest.approx(0.125 * (2 / 3) ** 0.5)
    assert row["difference"] == 0.25
    assert (row["ci_low"], row["ci_high"], row["note"]) == (None, None, FLAT)  # every query gains alike
    assert (row["test"], row["p"]) == ("exact sign-flip", 2 / 16)
    assert (row["n"], row["n_clusters"], row["n_seeds"], row["family_size"]) == (4, 4, 3, 1)
    assert row["family"] == "fine-tuning/r/Recall@5/all"
    assert seeds["difference"].to_list() == [0.125, 0.25, 0.375]
    assert pairs.is_empty()


def test_one_seed_has_no_spread_and_its_hits_are_tested_as_hits():
    base, trained = [0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 1, 0]
    (row,) = compared(base, [trained])[0].to_dicts()
    assert (row["sd"], row["sd_population"], row["note"]) == (None, None, ONE_SEED)
    assert row["lowest"] == row["highest"] == row["mean"]
    assert (row["test"], row["p"]) == ("McNemar exact", pytest.approx(0.625))  # 3 against 1: 2 * 5 / 16
    (several,) = compared(base, [trained, trained])[0].to_dicts()
    assert several["test"] == "exact sign-flip" and several["sd"] == 0.0  # means over seeds are no hits


def test_trained_encoders_that_equal_their_base_gain_nothing_and_have_no_interval():
    registers = ["quoting", "abstract"] * 2
    gains, seeds, pairs = compared(BASE, [BASE, BASE, BASE], registers=registers)
    for row in gains.to_dicts():
        assert (row["difference"], row["sd"], row["ci_low"], row["p"]) == (0.0, 0.0, None, 1.0)
        assert row["note"] == "alike on every query"
    assert seeds["difference"].to_list() == [0.0] * 3 and seeds["ci_low"].null_count() == 3
    (pair,) = pairs.to_dicts()
    assert (pair["difference"], pair["p"], pair["test"]) == (0.0, None, "none")
    assert pair["note"] == "not estimable: the gain does not vary within the groups"


def test_queries_of_one_poem_are_one_cluster_and_nothing_can_be_tested():
    gains, seeds, pairs = compared(BASE, [plus(0.125), plus(0.375)], gold=["p"] * 4, registers=["a", "a", "b", "b"])
    row = gains.filter(by="all").row(0, named=True)
    assert (row["n"], row["n_clusters"], row["p"], row["ci_low"], row["test"]) == (4, 1, None, None, "none")
    assert row["note"] == TOO_FEW and row["family_size"] == 0
    assert seeds["ci_low"].null_count() == 2
    assert pairs["p"].null_count() == 1 and pairs["note"][0].startswith("not estimable")


def test_a_group_without_a_measured_query_has_nothing_and_counts_in_no_family():
    members = {"set": {"usage": {"idiomatic": names(4), "literal": ["elsewhere"]}}}
    gains, _, pairs = compared(BASE, [plus(0.125), [0.9, 0.4, 0.7, 0.3]], members=members)
    none = gains.filter(by="usage", group="literal").row(0, named=True)
    assert (none["n"], none["n_clusters"], none["p"], none["mean"], none["sd"], none["zero_shot"]) == (
        *(0, 0),
        *(None,) * 4,
    )
    assert none["note"] == "not estimable: no queries" and none["family_size"] == 1
    (pair,) = pairs.to_dicts()
    assert (pair["gain_b"], pair["difference"], pair["note"]) == (None, None, "not estimable: no query of literal")


def test_gains_of_two_registers_by_hand():
    registers = ["quoting"] * 4 + ["abstract"] * 4
    base = [0.5] * 8
    trained = [0.7, 0.9, 0.8, 0.8, 0.5, 0.4, 0.6, 0.5]
    gains, _, pairs = compared(base, [trained, trained], registers=registers)
    by_group = {row["group"]: row["difference"] for row in gains.to_dicts()}
    assert by_group == {"all": pytest.approx(0.15), "quoting": pytest.approx(0.3), "abstract": pytest.approx(0.0)}
    (pair,) = pairs.to_dicts()
    assert (pair["a"], pair["b"], pair["n_a"], pair["n_b"]) == ("quoting", "abstract", 4, 4)
    assert (pair["gain_a"], pair["gain_b"]) == (pytest.approx(0.3), pytest.approx(0.0))
    assert pair["difference"] == pytest.approx(0.3) and pair["ci_low"] < 0.3 < pair["ci_high"]
    # Two groups of four, each with a sum of squares of 0.02: t = 0.3 / sqrt(2 * 0.02 / 3 / 4), 6 degrees of freedom.
    assert (pair["test"], pair["p"]) == ("Welch t", pytest.approx(0.00202, abs=1e-5))
    assert pair["family"] == "fine-tuning-groups/r/Recall@5/register"


def test_poems_with_a_query_in_both_groups_are_resampled_whole():
    gold = [f"p{i}" for i in range(4)] * 2
    trained = [0.7, 0.9, 0.8, 0.75, 0.5, 0.4, 0.6, 0.55]
    gains, _, pairs = compared([0.5] * 8, [trained], gold=gold, registers=["quoting"] * 4 + ["abstract"] * 4)
    assert pairs["test"].to_list() == ["cluster-robust t"]
    whole = gains.filter(by="all").row(0, named=True)
    assert (whole["n"], whole["n_clusters"], whole["test"]) == (8, 4, "exact sign-flip by poem")


def test_an_attribute_of_many_values_sets_each_against_all_others():
    members = {"set": {"theme": {f"t{i}": names(14)[2 * i : 2 * i + 2] for i in range(7)}}}
    base, trained = [0.5] * 14, [0.5 + i / 40 for i in range(14)]
    pairs = compared(base, [trained], members=members)[2]
    assert pairs["b"].unique().to_list() == [OTHERS] and len(pairs) == 7
    assert pairs["n_b"].unique().to_list() == [12]


def test_a_register_of_all_queries_is_tested_once():
    gains, _, pairs = compared(BASE, [plus(0.125)], registers=["quoting"] * 4)
    assert gains["by"].to_list() == ["all"] and pairs.is_empty()


def test_a_place_that_the_base_did_not_search_has_no_rows():
    per_query = outcomes({"r.1": BASE, "other": BASE})
    tables = fine_tuning(per_query, *asked(4), {}, [recipe([1])], fine_tuning_curves([]), ["Recall@5"], DRAWS)
    assert [len(table) for table in tables] == [0, 0, 0]


def test_holm_is_within_a_recipe_and_a_kind_of_group():
    values = {
        "base": [0.5] * 12,
        "r.1": [0.5 + i % 3 / 10 for i in range(12)],
        "s.1": [0.6 - i % 2 / 4 for i in range(12)],
    }
    queries = asked(12, registers=["quoting", "half-remembered", "abstract"] * 4)
    recipes = [recipe([1]), recipe([1], "s")]
    gains = fine_tuning(outcomes(values), *queries, {}, recipes, fine_tuning_curves([]), ["Recall@5"], DRAWS)[0]
    sizes = dict(gains.select("family", "family_size").unique().iter_rows())
    assert sizes == {f"fine-tuning/{name}/Recall@5/{by}": n for name in "rs" for by, n in (("all", 1), ("register", 3))}
    whole = gains.filter(by="all")
    assert whole["p"].to_list() == whole["p_holm"].to_list()


def test_the_order_of_rows_changes_nothing():
    per_query = outcomes({"base": BASE, "r.1": plus(0.125), "r.2": [0.9, 0.1, 0.5, 0.7]})
    queries, qrels = asked(4, registers=["quoting", "quoting", "abstract", "abstract"])
    curves = [curve([0.1, 0.3]), curve([0.1, 0.2], seed=2)]

    def made(order):
        one = fine_tuning_curves([order(table) for table in curves])
        inputs = (order(per_query), order(queries), order(qrels))
        return fine_tuning(*inputs, {}, [recipe([1, 2])], one, ["Recall@5"], DRAWS)

    for one, two in zip(made(lambda table: table), made(shuffled), strict=True):
        assert one.equals(two)


def test_the_course_of_a_training_is_told_and_folds_are_averaged():
    curves = [curve([0.5, 0.4, 0.3], 1), curve([0.1, 0.2, 0.3], 2)]
    curves += [curve([0.1, 0.5, 0.2], 3, "fold-1"), curve([0.1, 0.2, 0.2, 0.3, 0.2], 3, "fold-2")]
    seeds = compared(BASE, [plus(0.125), [0.9, 0.1, 0.5, 0.7], plus(0.25), BASE], curves=curves)[1]
    told = seeds.select("best_epoch", "n_epochs", "validation").rows()
    assert told[:3] == [(1.0, 2.0, 0.4), (2.0, 2.0, 0.3), (2.0, 3.0, pytest.approx(0.4))]
    assert told[3] == (None, None, None)
    assert NO_BETTER in seeds["note"][0] and seeds["note"][1] == STILL_RISING
    assert seeds["note"][2] == FLAT and "no curve of training" in seeds["note"][3]


def write_inputs(folder, n=12):
    """A small study on disk: one recipe with two seeds, registers and uses of idioms."""
    registers = ["quoting", "abstract"] * (n // 2)
    queries, qrels = asked(n, registers=registers)
    base = [0.2 + i % 4 / 10 for i in range(n)]
    values = {"base": base} | {
        f"r.{seed}": [v + (i % 3) / 10 + seed / 50 for i, v in enumerate(base)] for seed in (1, 2)
    }
    write_table(outcomes(values), folder / "per_query.parquet", PER_QUERY)
    write_table(queries, folder / "queries" / "set.parquet", QUERIES)
    write_table(qrels.drop("query_set"), folder / "queries" / "set.qrels.parquet", QRELS)
    uses = [(query, "usage", "literal" if i % 3 else "idiomatic") for i, query in enumerate(names(n))]
    attributes = pl.DataFrame(uses, schema=dict(QUERY_ATTRIBUTES.columns), orient="row")
    write_table(attributes, folder / "queries" / "set.attributes.parquet", QUERY_ATTRIBUTES)
    files = []
    for seed in (1, 2):
        files.append(folder / f"{seed}.csv")
        write_table(curve([0.1, 0.4, 0.3], seed), files[-1], FINE_TUNING_CURVES)
    return files


def test_the_verbs_write_tables_and_a_sheet(tmp_path):
    curves = write_inputs(tmp_path)
    given = {"r": {"base": "base", "systems": {"1": "r.1", "2": "r.2"}, "query_sets": ["set"]}}
    at = {table.name: tmp_path / "tables" / f"{table.name}.csv" for table in (*TABLES, FINE_TUNING_CURVES)}
    options = ["--results", tmp_path, "--recipes", json.dumps(given), "--groups", '{"set": ["usage"]}']
    options += ["--curves", *curves, "--measures", "Recall@5", "--resamples", 199, "--flips", 199, "--seed", 1]
    options += ["--gains", at["fine_tuning"], "--seeds", at["fine_tuning_seeds"]]
    options += ["--registers", at["fine_tuning_registers"], "--all-curves", at["fine_tuning_curves"]]
    assert main(["compare_fine_tuned", *map(str, options)]) == 0
    gains = read_table(at["fine_tuning"], FINE_TUNING)
    assert gains.select("by", "group").rows() == [
        ("all", "all"),
        ("register", "abstract"),
        ("register", "quoting"),
        ("usage", "idiomatic"),
        ("usage", "literal"),
    ]
    assert len(read_table(at["fine_tuning_registers"], FINE_TUNING_REGISTERS)) == 2
    assert read_table(at["fine_tuning_seeds"], FINE_TUNING_SEEDS)["best_epoch"].to_list() == [1.0, 1.0]
    assert len(read_table(at["fine_tuning_curves"], FINE_TUNING_CURVES)) == 6
    done = ["--gains", str(at["fine_tuning"]), "--measures", "Recall@5", "--output", str(tmp_path / "paper")]
    assert main(["typeset_fine_tuning", *done]) == 0
    assert {path.name for path in (tmp_path / "paper").iterdir()} == {
        "table-fine-tuning.csv",
        "table-fine-tuning.tex",
    }


def test_a_sheet_prints_spread_and_interval_and_says_which_is_which():
    gains = compared(BASE, [[0.7, 0.4, 0.9, 0.5], [0.8, 0.4, 0.9, 0.5]], registers=["a", "a", "b", "b"])[0]
    sheet = sheet_of(gains, ["Recall@5"])
    assert [row[4].text for row in sheet.rows] == ["all queries", "a", "b"]
    assert sheet.rows[0][10].text == "0.638 ± 0.018"
    assert sheet.rows[0][11].text.startswith("+0.138 [")
    assert any("over queries" in note and "over trainings" in note for note in sheet.notes)
    assert_well_formed(re.sub(r"\\label\{[^}]*\}", "", latex(sheet)))
    assert sheet_of(gains.clear(), []).notes == ["not estimable: no trained encoder was searched beside its base"]


def told(base, trained, specs=None, **given):
    made = compared(base, trained, **given)
    tables = dict(zip((table.name for table in TABLES), made, strict=True)) | {"fine_tuning_curves": curve([0.1, 0.2])}
    return panel_of(tables, SCOPE, specs or {"r": {}})


def rising(gain, n=12):
    """Outcomes that gain ``gain`` on average, some queries more than others."""
    return [0.3 + gain + (i % 4 - 1.5) / 50 for i in range(n)]


FLATLY = [0.3] * 12


@pytest.mark.parametrize(
    ("trained", "verdict"),
    [
        ([rising(0.2), rising(0.3)], "a gain of +0.250 ["),
        ([rising(-0.1), rising(-0.2)], "a loss of −0.150 ["),
        ([rising(0.001), rising(-0.001)], "not told apart: 0.000 ["),
    ],
)
def test_the_page_says_what_the_numbers_bear(trained, verdict):
    panel = told(FLATLY, trained)
    (said,) = panel.brief
    assert verdict in said and "Holm p" in said.replace("\u00a0", " ")
    assert said.startswith("r, set on c (Recall@5): trained with 2 seeds it scores 0.")
    sides = "Not every seed lies" if "not told" in verdict else "Every seed lies"
    assert sides in said
    assert "over queries" in panel.lede and "over seeds" in panel.lede
    assert not any(word in said for word in ("level", "equal"))


def test_the_page_says_of_equal_and_of_untested_encoders_that_nothing_is_shown():
    assert "alike on every query, so nothing is established" in told(FLATLY, [FLATLY, FLATLY]).brief[0]
    untested = told(BASE, [plus(0.125)], gold=["p"] * 4).brief[0]
    assert "was not tested (not estimable: fewer than two independent queries" in untested


def test_the_page_tells_groups_apart_or_says_that_it_cannot():
    registers = ["quoting", "abstract"] * 6
    apart = told(FLATLY, [[v + (0 if i % 2 else 0.2) for i, v in enumerate(rising(0))]], registers=registers)
    (said,) = [sentence for sentence in apart.sentences if "by register" in sentence]
    assert "gains are quoting +0.190 and abstract +0.010; told apart: quoting minus abstract +0.180 [" in said
    same = told(FLATLY, [rising(0.1)], registers=["quoting"] * 6 + ["abstract"] * 6)
    (said,) = [sentence for sentence in same.sentences if "by register" in sentence]
    assert "the two are not told apart" in said
    assert [grid.caption.partition(",")[0] for grid in same.grids] == [
        "Trained encoders against their bases",
        "Each training",
        "Gains of two groups of queries",
    ]


def test_many_recipes_are_counted_and_cautioned():
    recipes = [recipe([1], f"r{number:02d}") for number in range(20)]
    values = {"base": FLATLY} | {f"{one.name}.1": rising(0.1 if i < 12 else 0.0) for i, one in enumerate(recipes)}
    queries = asked(12, registers=["quoting", "abstract"] * 6)
    made = fine_tuning(outcomes(values), *queries, {}, recipes, fine_tuning_curves([]), ["Recall@5"], DRAWS)
    tables = dict(zip((table.name for table in TABLES), made, strict=True))
    panel = panel_of(tables, SCOPE, {one.name: {"folds": 5} for one in recipes})
    assert panel.brief == [
        "set on c (Recall@5): of 20 recipes 12 score above their base and 8 are not told apart from it"
        " after Holm’s correction; differences 0.000 to +0.100."
    ]
    assert MANY in panel.lede and FOLDED in panel.lede
    assert "By register, set on c (Recall@5): 0 of 20 recipes move some groups differently." in panel.sentences
    assert len(panel.grids[0].rows) == 60


def test_the_part_is_on_the_page_only_where_encoders_are_trained(tmp_path):
    assert panel_of({}, SCOPE, {}) is None
    empty = {table.name: table_of for table, table_of in ((t, frame(t, [])) for t in TABLES)}
    assert panel_of(empty, SCOPE, {"r": {}}).sentences == [
        "Not estimable: no trained encoder was searched beside its base."
    ]
    spec = study()
    results = write_study(tmp_path / "results", spec)
    assert "fine-tuning" not in [panel.id for panel in panels(results, spec, SYSTEMS)]
    for table in (*TABLES, FINE_TUNING_CURVES):
        write_table(frame(table, []), results / "tables" / f"{table.name}.csv", table)
    assert "fine-tuning" in [panel.id for panel in panels(results, spec | {"fine_tuning": {"r": {}}}, SYSTEMS)]


def test_the_methods_say_how_encoders_were_trained_those_alike_together():
    recipe = {
        "base": "e5", "train": {"corpus": "c", "query_set": "q"}, "folds": 5, "measure": "nDCG@10",
        "negatives": {"opposite": 0, "systems": {"bm25": 2}, "ranks": [1, 30], "random": 1},
        "seeds": [42], "epochs": 10, "patience": 3, "batch_size": 32, "temperature": 0.05, "learning_rate": 2e-5,
        "warmup": {"ratio": 0.1}, "mask_false_negatives": True, "shared_negatives": False, "precision": "float32",
    }  # fmt: skip
    told = method({"a": recipe, "b": recipe | {"base": "m"}, "c": recipe | {"lora": {"rank": 8}}})
    assert "a from e5 and b from m: 5 folds by poem; negatives 2 from bm25 and 1 at random;" in told
    assert "c from e5: 5 folds by poem" in told and "adapters of rank 8" in told
    assert "AdamW at 2e-05 with a warm-up of 10% of the steps" in told
    assert method({}) == ""
