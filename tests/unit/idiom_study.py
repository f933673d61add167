"""Made-up tables of an idiom benchmark, of any number of systems: for tests of its tables, figures and page."""

from __future__ import annotations

from typing import Any

import polars as pl
from report_study import FIGURE, frame, study, write_study

from verseir.analyses.confusion import CONFUSION
from verseir.analyses.idiom_data import IDIOM_DATA
from verseir.analyses.idiom_overlap import IDIOM_OVERLAP
from verseir.analyses.settings import SETTING_CONTRASTS
from verseir.analyses.strata import STRATA
from verseir.analyses.string_match import STRING_MATCH
from verseir.analyses.subjects import SUBJECTS
from verseir.tables import LEADERBOARD, write_table

SETS = ["sentence", "span", "instruction_sentence", "instruction_span"]
MODES = ["full", "lit_sim_sense", "lit_idiom"]
MEASURES = ["Rprec", "nDCG@10"]
KEPT = {"full": "literal idiomatic simplification sense", "lit_sim_sense": "literal simplification sense"}
KEPT |= {"lit_idiom": "literal idiomatic"}
SYSTEMS = ["all-minilm-l6-v2", "bm25-okapi", "drama-1b"]
#: As many systems as the benchmark lists, with names as long as theirs.
MANY = [*SYSTEMS, "multilingual-e5-large-instruct", *(f"an-encoder-of-some-size-{n:02}" for n in range(23))]
USAGES = ["literal", "idiomatic"]


def level(system: str, query_set: str, mode: str, measure: str, usage: str = "all") -> float:
    """A made-up mean: later systems are better, instructions help, and literal queries are easier."""
    place = MANY.index(system) / (len(MANY) + 4) if system in MANY else 0.5
    base = 0.25 + 0.4 * place + 0.05 * SETS.index(query_set) + (0.1 if measure == "nDCG@10" else 0)
    base += {"full": 0, "lit_sim_sense": -0.05, "lit_idiom": 0.03}[mode]
    return round(base + {"all": 0, "literal": 0.1, "idiomatic": -0.1}[usage], 4)


def ends(mean: float, half: float = 0.03) -> dict[str, float]:
    """An interval around a mean."""
    return {"mean": mean, "ci_low": mean - half, "ci_high": mean + half}


def searched(systems: list[str], sets: list[str] = SETS, modes: list[str] = MODES):
    """The places where each system has a mean; what matches words follows no instruction."""
    for query_set in sets:
        for mode in modes:
            for system in systems:
                if not (system.startswith("bm25") and query_set.startswith("instruction")):
                    yield {"corpus": "test", "query_set": query_set, "mode": mode, "system": system}


def measured(systems: list[str], sets: list[str] = SETS, modes: list[str] = MODES):
    """The same by measure."""
    for place in searched(systems, sets, modes):
        for measure in MEASURES:
            yield place | {"measure": measure}


def leaderboard_rows(systems=SYSTEMS, sets=SETS, modes=MODES):
    for row in measured(systems, sets, modes):
        yield row | {"n_queries": 40} | ends(level(**{k: v for k, v in row.items() if k != "corpus"}))


def strata_rows(systems=SYSTEMS, sets=SETS, modes=MODES):
    for row in measured(systems, sets, modes):
        for usage in USAGES:
            mean = level(**{k: v for k, v in row.items() if k != "corpus"}, usage=usage)
            bounds = {"lowest": mean - 0.01, "highest": mean + 0.01}
            yield row | {"attribute": "usage", "value": usage, "n_queries": 20} | ends(mean) | bounds
        yield row | {"attribute": "quality", "value": "gold", "n_queries": 5} | ends(0.5)


def subject_rows(systems=SYSTEMS, sets=SETS, modes=MODES):
    for row in measured(systems, sets, modes):
        ceiling = 0.1333 if row["measure"] == "Rprec" else 1.0
        yield row | {"n_queries": 40, "ceiling": ceiling} | ends(0.06 if row["measure"] == "Rprec" else 0.4, 0.01)


def match_rows(sets=SETS, modes=MODES):
    for query_set in sets:
        for mode in modes:
            for match, less in (("annotated", 0.0), ("verbatim", 0.02)):
                for measure in MEASURES:
                    for usage, mean in (("all", 0.5), ("literal", 0.6667), ("idiomatic", 0.3333)):
                        row = {"corpus": "test", "query_set": query_set, "mode": mode, "match": match, "usage": usage}
                        row |= {"measure": measure, "n_queries": 40 if usage == "all" else 20, "n_matched": 60.0}
                        yield row | ends(mean - less, 0.01)


def confusion_rows(systems=SYSTEMS, sets=SETS, modes=MODES):
    for row in searched(systems, sets, modes):
        for usage in USAGES:
            right = level(row["system"], row["query_set"], row["mode"], "Rprec", usage)
            shares = {("same", found): 0.0 for found in KEPT[row["mode"]].split()}
            relevant = {found for _, found in shares if (found == "literal") == (usage == "literal")}
            for _, found in shares:
                part = right if found in relevant else (1 - right) * 0.6
                n = len(relevant) if found in relevant else len(shares) - len(relevant)
                shares["same", found] = part / n
            rest = (1 - right) * 0.4
            shares |= {("other", "literal"): rest * 0.8, ("other", "sense"): 0.0, ("none", None): rest * 0.2}
            for (idiom, found), share in shares.items():
                cell = {"usage": usage, "idiom": idiom, "found": found, "n_queries": 20, "share": share}
                cell |= {"relevant": idiom == "same" and found in relevant}
                yield row | cell | {"ci_low": max(0.0, share - 0.02), "ci_high": share + 0.02}


def setting_rows(systems=SYSTEMS, sets=SETS, modes=MODES):
    pairs = [("query_set", a, sets[0]) for a in sets[1:]] + [("mode", a, modes[0]) for a in modes[1:]]
    for setting, a, b in pairs:
        other, places = ("mode", modes) if setting == "query_set" else ("query_set", sets)
        for place in places:
            for n, system in enumerate(systems):
                wordy = system.startswith("bm25")
                if wordy and any(name.startswith("instruction") for name in (a, b, place)):
                    continue
                row = {"family": f"by-{setting}", "setting": setting, "corpus": "test", other: place, "system": system}
                row |= {"a": a, "b": b, "measure": "nDCG@10", "n": 40, "test": "sign-flip permutation"}
                sure = n % 3 != 1
                size = (0.1 if n % 3 == 0 else -0.06) if sure else 0.01
                row |= {"estimate": size, "ci_low": size - 0.03, "ci_high": size + 0.03}
                yield row | {"p": 0.001 if sure else 0.4, "p_holm": 0.01 if sure else 0.8, "family_size": 9}


def data_rows(corpora=("test", "val")):
    for corpus in corpora:
        for role, uses in (("document", [*USAGES, "simplification", "sense"]), ("query", USAGES)):
            for usage in ("all", *uses):
                n = 10 * (1 if usage != "all" else len(uses))
                row = {"corpus": corpus, "role": role, "usage": usage, "n": n, "n_idioms": 2, "n_subjects": 5}
                row |= {"n_gold": 3, "words_min": 10, "words_mean": 16.317, "words_max": 32, "span_words_mean": 3.06}
                yield row | {"n_span_is_idiom": 7}


def overlap_rows(sets=SETS):
    """Of the first query set alone: all sets hold the same queries."""
    pairs = [("all", "all"), ("literal", "all"), ("literal", "literal")]
    pairs += [("idiomatic", found) for found in ("all", "idiomatic", "sense")]
    for usage, found in pairs:
        for words, less in (("all", 0.0), ("without spans", 0.09)):
            for quantity, mean in (("jaccard", 0.12), ("query recall", 0.21)):
                row = {"corpus": "test", "query_set": sets[0], "usage": usage, "found": found, "words": words}
                yield row | {"quantity": quantity, "n_queries": 20} | ends(mean - less, 0.01)


#: The contract and the rows of each table.
CONTRACTS = {
    "leaderboard": (LEADERBOARD, leaderboard_rows),
    "strata": (STRATA, strata_rows),
    "subjects": (SUBJECTS, subject_rows),
    "string_match": (STRING_MATCH, match_rows),
    "confusion": (CONFUSION, confusion_rows),
    "setting_contrasts": (SETTING_CONTRASTS, setting_rows),
    "idiom_data": (IDIOM_DATA, data_rows),
    "idiom_overlap": (IDIOM_OVERLAP, overlap_rows),
}


def idiom_tables(systems=SYSTEMS, sets=SETS, modes=MODES):
    """All tables, by name."""
    given = {"systems": systems, "sets": sets, "modes": modes}
    found = {}
    for name, (table, rows) in CONTRACTS.items():
        wanted = rows.__code__.co_varnames[: rows.__code__.co_argcount]
        found[name] = frame(table, list(rows(**{key: given[key] for key in wanted if key in given})))
    return found


def unknown(tables, why="not estimable: one idiom alone"):
    """The same tables, no estimate of which is known."""
    estimates = ["mean", "share", "ci_low", "ci_high", "lowest", "highest", "estimate", "p", "p_holm", "ceiling"]
    return {
        name: frame.with_columns(
            *(pl.lit(None, pl.Float64).alias(column) for column in estimates if column in frame.columns),
            *([pl.lit(why).alias("note")] if "note" in frame.columns else []),
        )
        for name, frame in tables.items()
    }


def idiom_spec(systems=SYSTEMS, sets=SETS, modes=MODES, **changes: Any) -> dict[str, Any]:
    """The spec of a study of the benchmark."""
    shape = {"purpose": "idiom", "judged": "now", "idioms": {"corpus": "test"}, "strata": ["usage"]}
    spec = study(
        study="idioms",
        title="A benchmark of idioms",
        corpora={"test": {"adapter": "idiolink", "path": "data/test"}},
        modes={mode: ["verse"] for mode in modes},
        keep={mode: {"usage": KEPT[mode].split()} for mode in modes if mode != "full"},
        query_sets={name: shape | {"corpora": ["test"], "encoding": {"view": name}} for name in sets}
        | {"val_span": shape | {"corpora": []}},
        systems=list(systems),
        depth=100,
        measures=MEASURES,
        contrasts=[
            {"family": "against-best", "of": "systems", "baseline": "best", "measures": ["nDCG@10"], "per": ["mode"]},
            {"family": "by-query_set", "of": "query_sets", "baseline": sets[0], "measures": ["nDCG@10"], "per": []},
        ],
        analyses={"measures": MEASURES, "base_mode": "full", "quoting": 3, "margin": 0.05},
    )
    return spec | changes


def write_idiom_study(results, spec=None, tables=None):
    """Write such a study below ``results``, as the workflow does; return the folder."""
    spec, tables = spec or idiom_spec(), tables or idiom_tables()
    write_study(results, spec, tables["leaderboard"].to_dicts())
    for name in ("systems", "modes", "confusion"):
        (results / "figures" / f"idioms-{name}.svg").write_text(FIGURE, encoding="utf-8")
    for name, made in tables.items():
        write_table(made, results / "tables" / f"{name}.csv", CONTRACTS[name][0])
    return results
