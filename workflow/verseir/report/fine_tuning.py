"""What fine-tuning changed: trained encoders against the encoders that they were trained from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from verseir.analyses.fine_tuning import ALL, NO_BETTER, OTHERS, REGISTER, STILL_RISING, few_groups, group_name
from verseir.formats import count, interval, known, listing, number, p_phrase, signed
from verseir.orders import register_order
from verseir.report.panel import (
    Column,
    Grid,
    Panel,
    empty,
    grid,
    notes,
    ordered,
    p,
    places,
    text,
    value,
    whole,
    why_not,
)
from verseir.report.remarks import NAMED
from verseir.report.sections import Cell
from verseir.report.wording import Scope, Tables, places_of

TITLE = "Fine-tuning"
NAMES = ["fine_tuning", "fine_tuning_seeds", "fine_tuning_registers", "fine_tuning_curves"]
ALPHA = 0.05
#: Of a table with more rows the page shows those of all queries; the rest is in the file.
MOST = 60

LEDE = (
    "Each trained encoder is compared with its base, the encoder that it was trained from, on the same queries. Two "
    "kinds of chance are told apart: intervals and p are over queries, with the trained encoders as they are; the "
    "SD and the range are over seeds, and say what training once more might give. Seeds are few, so an SD is rough. "
    "What cannot be concluded: that training helps with other kinds of queries or texts, since what was trained on "
    "is of the kind that was tested."
)
FOLDED = (
    "Where queries are dealt to folds, each query is searched by an encoder that was trained on none of its poems: "
    "on neither its fold nor the next, which told when to stop. The encoders of more than three folds share a part of "
    "what they were trained on: they are no independent trainings. A best epoch is then a mean over folds."
)
MANY = (
    "Holm’s correction is within a recipe, not over recipes: the best of many recipes looks better on these queries "
    "than it is."
)
TRAINED = (
    "Encoders are trained with InfoNCE (van den Oord et al. 2018) over the positives of a batch and each query’s own "
    "negatives; the epoch with the best mean over the validation queries is kept, also where the base was better."
)
METHOD = (
    "A query’s gain is the mean of its values over the seeds less the value of the base. Gains are tested by sign "
    "flips and have BCa intervals over whole clusters of queries; where one seed alone gives hits and misses, "
    "McNemar’s exact test. Gains of two groups of queries are compared by Welch’s t, or where queries share a poem "
    "or idiom by a t with cluster-robust variance; their bootstrap resamples whole clusters, which may have queries "
    "in both groups. Holm’s correction is within one recipe, measure and kind of group, over all corpora, query "
    "sets and modes. The SD of seeds has n − 1 in the denominator."
)

Row = Mapping[str, Any]


def method(recipes: Mapping[str, Mapping[str, Any]]) -> str:
    """How the encoders of a study were trained and compared, for the methods of a paper; "" where it trains none."""
    if not recipes:
        return ""
    alike: dict[str, list[str]] = {}
    for name, recipe in sorted(recipes.items()):
        alike.setdefault(_trained_how(recipe), []).append(f"{name} from {recipe['base']}")
    return " ".join([TRAINED, *(f"{listing(names)}: {how}" for how, names in alike.items()), METHOD])


def _trained_how(recipe: Mapping[str, Any]) -> str:
    asked = recipe["negatives"]
    numbers = {"of the opposite use": asked["opposite"], "at random": asked["random"]}
    negatives = listing(
        [f"{n} from {system}" for system, n in sorted(asked["systems"].items())]
        + [f"{n} {kind}" for kind, n in numbers.items() if n]
    )
    warmup = recipe["warmup"]
    rise = f"{warmup['steps']} steps" if "steps" in warmup else f"{warmup['ratio']:.0%} of the steps"
    parts = (
        f"{recipe['folds']} folds by poem"
        if "folds" in recipe
        else f"trained on {recipe['train']['query_set']}, validation on {recipe['validation']['query_set']}"
    )
    more = [
        f"adapters of rank {recipe['lora']['rank']}" if "lora" in recipe else "all weights",
        "false negatives masked" if recipe["mask_false_negatives"] else "false negatives not masked",
        *(["negatives shared in the batch"] if recipe["shared_negatives"] else []),
        *(["multiplied in bfloat16"] if recipe["precision"] == "bf16" else []),
    ]
    return (
        f"{parts}; negatives {negatives}; batches of {recipe['batch_size']}, temperature"
        f" {recipe['temperature']:g}, AdamW at {recipe['learning_rate']:g} with a warm-up of {rise} and linear decay,"
        f" at most {count(recipe['epochs'], 'epoch')}, patience {recipe['patience']} on {recipe['measure']};"
        f" {', '.join(more)}; {count(len(recipe['seeds']), 'seed')}."
    )


def fine_tuning(tables: Tables, scope: Scope, recipes: Mapping[str, Mapping[str, Any]]) -> Panel | None:
    """The panel; None where the study trains nothing.

    Args:
        tables: by name; those of ``NAMES`` where the study trains encoders.
        scope: of the page.
        recipes: the part ``fine_tuning`` of the study.
    """
    if not recipes:
        return None
    gains, seeds, pairs = (_shown(tables[name], scope) for name in NAMES[:3])
    if gains.is_empty():
        return empty("fine-tuning", TITLE, "no trained encoder was searched beside its base", NAMES)
    pairs = pairs.filter(pl.col("b") != OTHERS)  # of attributes with many values: they are in the file
    overall = gains.filter(pl.col("by") == ALL)
    modes = overall["mode"].n_unique() > 1
    told = []
    for _, part in places_of(overall, "corpus", "query_set"):
        few = len(part) <= NAMED
        told += [_gained(row, modes) for row in part.iter_rows(named=True)] if few else [_counted(part)]
    sentences = [*told, *_moved(gains, pairs), *_trained(seeds)]
    folded = [name for name, spec in recipes.items() if spec.get("folds")]
    lede = " ".join([LEDE, *([FOLDED] if folded else []), *([MANY] if len(recipes) > 1 else [])])
    legend = (
        "Left, the measure on validation queries by epoch, a line for each seed and fold: hollow before training, "
        "filled the epoch that is kept. Right, gains over the base with 95% intervals over queries, and below each the "
        "range of its seeds."
    )
    grids = [_gains(gains), _seeds(seeds), *_pairs(pairs)]
    return Panel("fine-tuning", TITLE, lede, sentences, grids, NAMES, "fine_tuning", legend, told)


def _shown(frame: pl.DataFrame, scope: Scope) -> pl.DataFrame:
    """The rows of the main measures in the base mode; of a corpus that has not got it, in its first mode."""
    parts = [frame.clear()]
    for _, part in places_of(scope.main(frame), "corpus", "query_set"):
        modes = sorted(part["mode"].unique())
        parts.append(part.filter(pl.col("mode") == (scope.base_mode if scope.base_mode in modes else modes[0])))
    return pl.concat(parts)


def _where(row: Row, modes: bool = False) -> str:
    return f"{row['query_set']} on {row['corpus']}{', mode ' + row['mode'] if modes else ''} ({row['measure']})"


def _change(row: Row) -> str:
    """``+0.031 [+0.014, +0.047], Holm p = 0.002``."""
    return f"{signed(row['difference'])} {_ends(row)}, {p_phrase('Holm p', row['p_holm'])}"


def _ends(row: Row) -> str:
    ends = interval(row["ci_low"], row["ci_high"], sign=True)
    return ends if known(row["ci_low"], row["ci_high"]) else f"({ends})"


def _gained(row: Row, modes: bool) -> str:
    """What one recipe scores in one place, over all queries, and whether that is a gain or a loss."""
    head = f"{row['recipe']}, {_where(row, modes)}"
    if not known(row["difference"]):
        return f"{head}: {why_not(pl.DataFrame([row]))}."
    several = row["n_seeds"] > 1
    scores = f"trained with {count(row['n_seeds'], 'seed')} it scores {number(row['mean'])}"
    if several:
        spread = f"{number(row['lowest'])} to {number(row['highest'])}, SD {number(row['sd'])}"
        scores += f" on average ({spread})"
    scores += f", {row['base']} untrained {number(row['zero_shot'])}"
    if not known(row["p_holm"]):
        return f"{head}: {scores}; the difference {signed(row['difference'])} was not tested ({row['note']})."
    if row["p_holm"] < ALPHA:
        verdict = f"a {'gain' if row['difference'] > 0 else 'loss'} of {_change(row)}"
    elif not known(row["ci_low"], row["ci_high"]) and row["note"]:
        verdict = f"{row['note'].partition('; ')[0]}, so nothing is established"
    else:
        verdict = f"not told apart: {_change(row)}"
    return f"{head}: {scores}; {verdict}.{_sides(row) if several else ''}"


def _sides(row: Row) -> str:
    """Where the seeds stand: that the mean gains does not show that each training does."""
    if row["lowest"] > row["zero_shot"]:
        return f" Every seed lies above {row['base']}."
    if row["highest"] < row["zero_shot"]:
        return f" Every seed lies below {row['base']}."
    if row["lowest"] == row["highest"]:
        return f" Every seed equals {row['base']}."
    return f" Not every seed lies on the same side of {row['base']}."


def _counted(rows: pl.DataFrame) -> str:
    """How many of many recipes gain or lose in one place."""
    head = f"{_where(rows.row(0, named=True))}"
    made = rows.filter(pl.col("p_holm").is_not_null())
    if made.is_empty():
        return f"{head}: {why_not(rows)}."
    sure = made.filter(pl.col("p_holm") < ALPHA)
    parts = []
    for side, what in ((pl.col("difference") > 0, "above"), (pl.col("difference") < 0, "below")):
        names = sure.filter(side)["recipe"].to_list()
        if names:
            who = f" ({listing(names)})" if len(names) <= NAMED else ""
            parts.append(f"{len(names)} {'scores' if len(names) == 1 else 'score'} {what} their base{who}")
    if len(sure) < len(made):
        parts.append(f"{len(made) - len(sure)} {'is' if len(made) - len(sure) == 1 else 'are'} not told apart from it")
    low, high = made["difference"].min(), made["difference"].max()
    spread = f"differences {signed(float(low))} to {signed(float(high))}"  # type: ignore[arg-type]
    return f"{head}: of {count(len(made), 'recipe')} {listing(parts)} after Holm’s correction; {spread}."


def _moved(gains: pl.DataFrame, pairs: pl.DataFrame) -> Iterator[str]:
    """Whether training moved groups of queries differently; of many recipes how many did."""
    keys = ("corpus", "query_set", "by")
    for (corpus, query_set, by), part in places_of(pairs, *keys):
        if part["recipe"].n_unique() > NAMED:
            yield _moved_counted(part, by)
            continue
        for (recipe,), own in places_of(part, "recipe"):
            here = (pl.col("recipe") == recipe) & (pl.col("by") == by)
            place = (pl.col("corpus") == corpus) & (pl.col("query_set") == query_set)
            groups = sorted(gains.filter(here & place).to_dicts(), key=lambda row: register_order(row["group"]))
            yield _moved_one(own, groups)


def _moved_one(rows: pl.DataFrame, groups: Sequence[Row]) -> str:
    first = rows.row(0, named=True)
    head = f"{first['recipe']} by {first['by']}, {_where(first)}"
    made = rows.filter(pl.col("p_holm").is_not_null())
    if made.is_empty():
        return f"{head}: whether groups move differently is {why_not(rows)}."
    shown = [f"{row['group']} {signed(row['difference'])}" for row in groups if known(row["difference"])]
    each = f"gains are {listing(shown)}; "
    sure = made.filter(pl.col("p_holm") < ALPHA).sort("p_holm", "a", "b").to_dicts()
    if not sure:
        one = made.row(0, named=True)
        if len(made) == 1:
            return f"{head}: {each}the two are not told apart, {one['a']} minus {one['b']} {_change(one)}."
        return f"{head}: {each}no two of them are told apart, which does not say that they gain alike."
    told = [f"{row['a']} minus {row['b']} {_change(row)}" for row in sure[:NAMED]]
    more = f"; and {count(len(sure) - NAMED, 'other pair')}" if len(sure) > NAMED else ""
    return f"{head}: {each}told apart: {'; '.join(told)}{more}."


def _moved_counted(rows: pl.DataFrame, by: str) -> str:
    made = rows.filter(pl.col("p_holm").is_not_null())
    n, sure = made["recipe"].n_unique(), made.filter(pl.col("p_holm") < ALPHA)["recipe"].n_unique()
    head = f"By {by}, {_where(rows.row(0, named=True))}"
    if not n:
        return f"{head}: whether groups move differently is {why_not(rows)}."
    return f"{head}: {sure} of {count(n, 'recipe')} {'moves' if sure == 1 else 'move'} some groups differently."


def _trained(seeds: pl.DataFrame) -> Iterator[str]:
    """Trainings that came to nothing on validation queries, and those that might have gone on."""
    runs = seeds.unique(["recipe", "seed"]).with_columns(pl.col("note").fill_null(""))
    for reason in (NO_BETTER, STILL_RISING):
        found = runs.filter(pl.col("note").str.contains(reason, literal=True))
        if len(found):
            which = "the one training" if len(runs) == 1 else f"{len(found)} of {len(runs)} trainings"
            yield f"In {which} {reason}."


def _gains(gains: pl.DataFrame) -> Grid:
    shown = few_groups(gains)
    shown = shown if len(shown) <= MOST else gains.filter(pl.col("by") == ALL)
    rows = _in_order(shown)
    caption = "Trained encoders against their bases, 95% intervals over queries"
    clustered = (rows["n"] != rows["n_clusters"]).any()
    return grid(
        rows,
        caption if len(shown) == len(gains) else f"{caption}; other groups of queries are in the file",
        [
            Column("Recipe", lambda row: Cell(f"{row['recipe']} from {row['base']}"), numeric=False),
            *places(rows, "corpus", "query_set", "mode", "measure"),
            Column("Group", lambda row: Cell(group_name(row)), numeric=False) if rows["by"].n_unique() > 1 else None,
            whole("n", "Queries"),
            whole("n_clusters", "Clusters") if clustered else None,
            value("zero_shot", "Untrained"),
            Column("Trained", _trained_cell, small="mean, SD of seeds"),
            Column("Seeds", _range_cell, small="lowest to highest"),
            value("difference", "Gain", "ci_low", "ci_high", sign=True),
            p("p", "p"),
            p(),
            notes(rows),
        ],
    )


def _in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """All queries first, then registers, then attributes."""

    def rank(row: Row) -> tuple:
        by = (row["by"] != ALL, row["by"] != REGISTER, row["by"])
        return (row["corpus"], row["query_set"], row["recipe"], by, register_order(row["group"]))

    return pl.DataFrame(sorted(rows.to_dicts(), key=rank), schema=rows.schema)


def _trained_cell(row: Row) -> Cell:
    return Cell(number(row["mean"]), row["mean"], f"SD {number(row['sd'])}" if known(row["sd"]) else "")


def _range_cell(row: Row) -> Cell:
    if not known(row["lowest"], row["highest"]) or row["n_seeds"] == 1:
        return Cell("", None, count(row["n_seeds"], "seed"))
    ends = f"{number(row['lowest'])} to {number(row['highest'])}"
    return Cell(ends, row["lowest"], count(row["n_seeds"], "seed"))


def _seeds(seeds: pl.DataFrame) -> Grid:
    rows = ordered(seeds, "corpus", "query_set", "recipe", "seed")
    return grid(
        rows,
        "Each training, 95% intervals over queries",
        [
            text("system", "System"),
            *places(rows, "corpus", "query_set", "mode", "measure"),
            whole("n", "Queries"),
            value("mean", "Trained"),
            value("difference", "Gain", "ci_low", "ci_high", sign=True),
            Column("Best epoch", lambda row: Cell(_epoch(row["best_epoch"]), row["best_epoch"])),
            Column("Epochs", lambda row: Cell(_epoch(row["n_epochs"]), row["n_epochs"])),
            value("validation", "Validation", small="at the best epoch"),
            notes(rows),
        ],
    )


def _epoch(epoch: float | None) -> str:
    return number(epoch, 1).removesuffix(".0")


def _pairs(pairs: pl.DataFrame) -> Iterator[Grid]:
    rows = ordered(pairs, "corpus", "query_set", "recipe", "by", "a", "b")
    if rows.is_empty() or len(rows) > MOST:
        return
    yield grid(
        rows,
        "Gains of two groups of queries, a minus b",
        [
            text("recipe", "Recipe"),
            *places(rows, "corpus", "query_set", "mode", "measure", "by"),
            text("a", "a"),
            text("b", "b"),
            whole("n_a", "n", "of a"),
            whole("n_b", "n", "of b"),
            value("gain_a", "Gain", sign=True, small="of a"),
            value("gain_b", "Gain", sign=True, small="of b"),
            value("difference", "a − b", "ci_low", "ci_high", sign=True),
            p("p", "p"),
            p(),
            notes(rows),
        ],
    )
