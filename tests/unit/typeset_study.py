"""Rows of every table that is typeset for papers, and how their sheets are read: for tests of the tables."""

import re

from report_study import contrast, frame, score

from verseir.analyses.dissociation import RANK_MOVES
from verseir.analyses.edited import EDITS
from verseir.analyses.fusion_search import FUSION, FUSION_CONTRASTS
from verseir.analyses.judge_agreement import JUDGE_AGREEMENT, JUDGE_ORDERS
from verseir.analyses.mechanism import MECHANISM
from verseir.analyses.overlap_spectrum import OVERLAP_SPECTRUM
from verseir.analyses.quotation import QUOTATION, QUOTATION_SLOPES
from verseir.analyses.thematic_scores import THEMATIC_CONTRASTS, THEMATIC_MEANS
from verseir.formats import NBSP
from verseir.tables import CONTRASTS, LEADERBOARD
from verseir.typeset.slopes import by_measure, thresholds
from verseir.typeset.tables import edits, fusion, known_item, mechanism, spectrum
from verseir.typeset.thematic import aspects, judges, thematic

MAIN = {"known": "Recall@5", "themes": "Recall@5", "append-final": "Recall@5"}
PLACE = {"corpus": "poems", "query_set": "known", "mode": "verse", "measure": "Recall@5"}


def said(sheet):
    """The rows of a sheet as text, an asterisk after the best."""
    return [[f"{cell.text} *".replace(NBSP, " ") if cell.best else cell.text.replace(NBSP, " ") for cell in row]
            for row in sheet.rows]  # fmt: skip


def tables_of(text):
    """The rows of cells of each tabular, and the columns that it declares."""
    for block in re.findall(r"\\begin\{tabular\}(.*?)\\end\{tabular\}", text, re.S):
        spec, body = re.match(r"\{((?:[^{}]|\{[^{}]*\})*)\}(.*)", block, re.S).groups()
        columns = len(re.findall(r"[lrc]|p\{[^}]*\}", spec))
        lines = [line for line in body.strip().splitlines() if line.endswith(r"\\")]
        yield columns, [re.split(r"(?<!\\)&", line.removesuffix(r"\\")) for line in lines]


def width(row):
    """Columns that a row takes."""
    return sum(int(found[1]) if (found := re.match(r"\s*\\multicolumn\{(\d+)\}", cell)) else 1 for cell in row)


def assert_well_formed(text):
    bare = re.sub(r"\\[\\{}&%$#_~^`]", "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    depth = 0
    for letter in bare:
        depth += (letter == "{") - (letter == "}")
        assert depth >= 0
    for name in set(re.findall(r"\\begin\{([\w*]+)\}", text)):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}")
    found = list(tables_of(text))
    assert found
    for columns, rows in found:
        assert rows and {width(row) for row in rows} == {columns}
    plain = re.sub(r"(?<!\\)%.*", "", text)  # comments
    plain = re.sub(r"\$[^$]*\$", "", re.sub(r"\\[\\{}&%$#_~^`]", "", plain))
    assert not re.search(r'[#^_<>|"%]', plain)


def spectrum_rows():
    for register, mean in (("abstract", 0.0), ("all", 0.328)):
        row = {"corpus": "poems", "query_set": "known", "register": register, "n_queries": 1244}
        for tokens in (3, 2):
            name = f"share with {tokens} tokens in a row"
            yield row | {"quantity": name, "mean": mean, "ci_low": mean, "ci_high": mean + 0.05}
        why = "not estimable: the values do not vary between poems"
        yield row | {"quantity": "mean containment", "mean": 0.368, "note": why}
        yield row | {"quantity": "mean containment", "mode": "verse", "mean": 0.9}


def leaderboard_rows():
    for mode, values in (("prose", (0.5, 0.6, 0.4)), ("verse", (0.7, 0.6, 0.1))):
        for system, mean in zip(("bm25", "dense-a", "dense-b"), values, strict=True):
            for measure in ("Recall@5", "MRR"):
                yield score(system, mean, mean - 0.05, mean + 0.05, mode=mode, measure=measure)
            yield score(system, 1 - mean, 0.1, 0.9, mode=mode, query_set="themes")


def contrast_rows():
    yield contrast("dense-a", "bm25", -0.1, -0.2, 0.01, 0.06)
    yield contrast("bm25", "dense-b", 0.6, 0.5, 0.7, 0.001)
    yield contrast("bm25", "dense-a", -0.1, -0.2, 0.0, 0.01, mode="prose")


def edit_rows():
    place = PLACE | {"query_set": "append-final", "source_query_set": "known", "edit": "append-final", "n": 164}
    place |= {"test": "t", "family_size": 2}
    for system, after in (("bm25", 0.8), ("dense-a", 0.7)):
        row = place | {"family": f"change/{system}", "effect": "change", "a": system, "before": 0.4, "after": after}
        yield row | {"estimate": after - 0.4, "ci_low": 0.2, "ci_high": 0.5, "p": 1e-30, "p_holm": 2e-30}
    row = place | {"family": "d", "effect": "difference of changes", "a": "bm25", "b": "dense-a", "before": 0.0}
    yield row | {"after": 0.1, "estimate": 0.1, "ci_low": -0.1, "ci_high": 0.3, "p": 0.3, "p_holm": 0.3}
    yield row | {"family": "after", "effect": "after", "after": 0.1, "estimate": 0.1}


def mechanism_rows():
    for mode, against in (("prose", "verse"), ("verse", None)):
        for system, better in (("dense-a", "embedding"), ("bm25", "lexical")):
            row = PLACE | {"family": "m", "mode": mode, "against_mode": against, "system": system, "signal": "dense"}
            row |= {"reference": system == "dense-a", "n": 244, "rho_lexical": 0.61, "rho_embedding": -0.35}
            row |= {"lexical_low": 0.5, "lexical_high": 0.7, "difference": 0.96, "p_holm": 0.00004, "better": better}
            yield row | {"family_size": 2}


def move_rows():
    for system, known, theme in (("bm25", 1.0, 3.0), ("dense-a", 2.5, 2.5), ("dense-b", 2.5, 1.0)):
        row = {"corpus": "poems", "mode": "verse", "known_item": "known", "thematic": "themes", "n_systems": 3}
        row |= {"measure_known_item": "Recall@5", "measure_thematic": "Recall@5", "system": system}
        row |= {"mean_known_item": 0.5, "mean_thematic": 0.5, "rank_known_item": known, "rank_thematic": theme}
        yield row | {"move": theme - known}


THEMES = {"corpus": "poems", "query_set": "themes", "mode": "verse"}
SCORES = {"bm25": 1.9, "dense-a": 3.25, "dense-b": 2.0, "silent": None}


def score_rows(judge="second", kinds=(("overall", "overall"), ("theme", "aboutness"), ("aboutness", "aboutness"))):
    for aspect, kind in (*kinds, ("literal_match", "wording")):
        for system, mean in SCORES.items():
            row = THEMES | {"judge": judge, "rubric": "r", "aspect": aspect, "kind": kind, "system": system, "k": 5}
            row |= {"empty_at_k": 0.0, "n_shown": 0}
            if mean is None:
                why = {"n_queries": 0, "note": "not estimable: nothing that it put first was judged"}
                yield row | why | {"n_systems": 3}
                continue
            mean = 6 - mean if aspect == "literal_match" else mean
            rank = float(1 + sum((6 - m if kind == "wording" else m) > mean for m in SCORES.values() if m))
            row |= {"n_queries": 60, "mean": mean, "ci_low": mean - 0.1, "ci_high": mean + 0.1, "n_systems": 3}
            yield row | {"rank": rank}


def difference_rows(judge="second"):
    for b, p in (("dense-a", 0.001), ("dense-b", 0.4), ("silent", None)):
        row = THEMES | {"family": "f", "judge": judge, "aspect": "overall", "a": "bm25", "b": b, "n": 60, "test": "t"}
        yield row | {"p": p, "p_holm": p, "family_size": 2}


def agreement_rows():
    place = {"corpus": "poems", "query_set": "themes", "judge_a": "first", "judge_b": "second"}
    for aspect, rho in (("aboutness", 0.7), ("literal_match", 0.29), ("overall", 0.65)):
        row = place | {"aspect": aspect, "n_items": 1200, "n_queries": 60, "rho": rho, "rho_low": 0.1, "rho_high": 0.8}
        graded = {"kappa": 0.5, "kappa_low": 0.4, "kappa_high": 0.6}
        row |= {"note": "no kappa: means are not on the scale"} if aspect == "aboutness" else graded
        yield row | {"within_one": 0.9, "within_one_low": 0.85, "within_one_high": 0.95}


def order_rows():
    for a, b in ((("first", "overall"), ("second", "overall")), (("first", "overall"), ("first", "aboutness"))):
        for mode in ("verse", "prose"):
            row = {"family": "f", "corpus": "poems", "query_set": "themes", "mode": mode, "n_systems": 10}
            row |= {"judge_a": a[0], "aspect_a": a[1], "judge_b": b[0], "aspect_b": b[1], "test": "t", "p": 0.01}
            yield row | {"tau": 0.9, "ci_low": 0.8, "ci_high": 1.0, "p_holm": 0.02, "family_size": 4}


def fusion_rows():
    for selection, mean in (("single arm", 0.7), ("with a lexical arm", 0.9), ("without a lexical arm", None)):
        row = {"corpus": "poems", "query_set": "known", "measure": "Recall@5", "selection": selection, "max_arms": 2}
        row |= {"k": 60.0, "n_queries": 20, "n_subsets": 6, "arms": "bm25/verse + a/prose", "in_sample": mean}
        row |= {"cross_validated": mean, "n_distinct_choices": 2, "most_chosen": "bm25/verse"}
        yield row | ({} if mean else {"arms": None, "note": "not estimable: every run is lexical"})


def fusion_contrast_rows():
    row = {"family": "f", "corpus": "poems", "query_set": "known", "measure": "Recall@5", "n": 20, "test": "t"}
    row |= {"a": "with a lexical arm", "b": "single arm", "in_sample_difference": 0.2, "estimate": 0.2, "p": 0.01}
    yield row | {"ci_low": 0.1, "ci_high": 0.3, "p_holm": 0.01, "family_size": 1}


def quotation_rows():
    for threshold in (3, 2):
        for measure in ("Recall@5", "MRR"):
            for system, quoting in (("bm25", 1.0), ("dense-a", 0.8)):
                row = PLACE | {"threshold": threshold, "measure": measure, "system": system}
                yield row | {"stratum": "quoting", "n_queries": 80, "mean": quoting, "ci_low": 0.7, "ci_high": 1.0}
                yield row | {"stratum": "not quoting", "n_queries": 164, "mean": 0.5, "ci_low": 0.4, "ci_high": 0.6}


def slope_rows():
    for threshold in (3, 2):
        for measure in ("Recall@5", "MRR"):
            row = PLACE | {"threshold": threshold, "measure": measure, "n_quoting": 80, "n_not_quoting": 164}
            row |= {"test": "t", "family_size": 1, "ci_low": 0.1, "ci_high": 0.4, "p": 0.045, "p_holm": 0.045}
            for a, b, estimate in (("bm25", None, 0.5), ("dense-a", None, 0.3), ("bm25", "dense-a", 0.2)):
                yield row | {"family": f"{threshold}{measure}{a}{b}", "a": a, "b": b, "estimate": estimate}


def full(table, rows):
    return frame(table, list(rows))


SHEETS = {
    "table-1-spectrum": lambda empty: spectrum(full(OVERLAP_SPECTRUM, [] if empty else spectrum_rows())),
    "table-2-known-item": lambda empty: known_item(
        full(LEADERBOARD, [] if empty else leaderboard_rows()),
        full(CONTRASTS, [] if empty else contrast_rows()),
        ["known"],
        ["Recall@5", "MRR"],
    ),
    "table-3-edits": lambda empty: edits(full(EDITS, [] if empty else edit_rows()), "verse", MAIN),
    "table-4-mechanism": lambda empty: mechanism(full(MECHANISM, [] if empty else mechanism_rows()), MAIN),
    "table-5-thematic": lambda empty: thematic(
        full(LEADERBOARD, [] if empty else leaderboard_rows()),
        full(RANK_MOVES, [] if empty else move_rows()),
        MAIN,
        [] if empty else ["themes"],
        ["bm25"],
        full(THEMATIC_MEANS, []),
        full(THEMATIC_CONTRASTS, []),
    ),
    "table-6-fusion": lambda empty: fusion(
        full(FUSION, [] if empty else fusion_rows()),
        full(FUSION_CONTRASTS, [] if empty else fusion_contrast_rows()),
    ),
    "table-7-thresholds": lambda empty: thresholds(
        full(QUOTATION, [] if empty else quotation_rows()),
        full(QUOTATION_SLOPES, [] if empty else slope_rows()),
        "verse",
        MAIN,
    ),
    "table-8-measures": lambda empty: by_measure(
        full(QUOTATION, [] if empty else quotation_rows()),
        full(QUOTATION_SLOPES, [] if empty else slope_rows()),
        "verse",
        3,
        ["Recall@5", "MRR"],
    ),
    "table-9-aspects": lambda empty: aspects(full(THEMATIC_MEANS, [] if empty else score_rows()), "verse", ["bm25"]),
    "table-10-judges": lambda empty: judges(
        full(JUDGE_AGREEMENT, [] if empty else agreement_rows()),
        full(JUDGE_ORDERS, [] if empty else order_rows()),
        "verse",
    ),
}
