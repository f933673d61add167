"""Figures of the analyses: what they say and show, and that the same table gives the same bytes."""

from xml.etree import ElementTree

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.text import Text
from report_study import frame

from verseir.__main__ import main
from verseir.analyses.augmentation import AUGMENTATION
from verseir.analyses.edited import EDITS
from verseir.analyses.fine_tuning import FINE_TUNING, FINE_TUNING_CURVES
from verseir.analyses.fusion_search import FUSION
from verseir.analyses.mechanism import MECHANISM
from verseir.analyses.overlap_spectrum import OVERLAP_SPECTRUM
from verseir.analyses.quotation import QUOTATION, QUOTATION_SLOPES
from verseir.figures.augmentation import plot_augmentation
from verseir.figures.edits import plot_edits
from verseir.figures.fine_tuning import plot_fine_tuning
from verseir.figures.fusions import plot_fusions
from verseir.figures.mechanism import plot_mechanism
from verseir.figures.panels import PAPER, balanced, wrapped
from verseir.figures.quotation import plot_quotation
from verseir.figures.spectrum import plot_spectrum
from verseir.figures.style import PAGE, save
from verseir.formats import NBSP
from verseir.orders import edit_order
from verseir.palette import looks
from verseir.tables import write_table

SYSTEMS = ["bm25", "dense-a", "dense-b", "unused"]
MEASURES = {"known": "Recall@5", "append-final": "Recall@5", "append-opening": "Recall@5"}
PLACE = {"corpus": "poems", "query_set": "known", "mode": "verse", "measure": "Recall@5"}
SHOWN = SYSTEMS[:3]


def ends(value, half=0.1):
    return {"ci_low": value - half, "ci_high": value + half}


def spectrum_rows():
    for register, n, level in (("all", 40, 0.3), ("quoting", 20, 0.6), ("abstract", 20, 0.1)):
        row = {"corpus": "poems", "query_set": "known", "register": register, "n_queries": n}
        for tokens in (2, 3, 4):
            yield row | {"quantity": f"share with {tokens} tokens in a row", "mean": level} | ends(level)
        yield row | {"quantity": "mean containment", "mean": level, "note": "not estimable: why"}
        yield row | {"quantity": "mean containment", "mode": "verse", "mean": 0.9}


def quotation_rows(high=(0.9, 0.8, 0.7), low=(0.1, 0.3, 0.5)):
    for system, a, b in zip(SHOWN, high, low, strict=True):
        row = PLACE | {"threshold": 3, "system": system}
        yield row | {"stratum": "quoting", "n_queries": 8, "mean": a} | ends(a)
        yield row | {"stratum": "not quoting", "n_queries": 12, "mean": b} | ends(b)


def slope_rows():
    for system, slope in zip(SHOWN, (0.8, 0.5, 0.2), strict=True):
        row = PLACE | {"family": f"slope/{system}", "threshold": 3, "a": system, "n_quoting": 8, "n_not_quoting": 12}
        yield row | {"estimate": slope, "test": "Welch t", "p": 0.01, "family_size": 1} | ends(slope)


def edit_rows():
    for edit, change in (("append-final", 0.4), ("append-opening", 0.5)):
        for system in SHOWN:
            row = PLACE | {"family": f"{edit}/{system}", "query_set": edit, "source_query_set": "known", "edit": edit}
            row |= {"effect": "change", "a": system, "n": 12, "before": 0.2, "after": 0.2 + change, "test": "t"}
            yield row | {"estimate": change, "p": 0.01, "family_size": 3} | ends(change)


def mechanism_rows(embedding=0.4):
    for mode, against in (("verse", None), ("prose", "verse"), ("prose", None)):
        for system in SHOWN:
            row = PLACE | {"family": "m", "mode": mode, "against_mode": against, "system": system, "signal": "dense"}
            row |= {"reference": system == "dense-b", "n": 20, "rho_lexical": 0.6, "rho_embedding": embedding}
            row |= {"lexical_low": 0.5, "lexical_high": 0.7, "family_size": 3}
            yield row | {"note": None if embedding else "proximity not estimable: no reference encoder measured it"}


def augmentation_rows(registers=("all", "quoting", "abstract")):
    for mode in ("prose", "verse+prose"):
        for register in registers:
            for system in SHOWN:
                row = PLACE | {"family": f"{mode}/{register}/{system}", "mode": mode, "register": register, "n": 20}
                row |= {"base_mode": "verse", "system": system, "base_mean": 0.5, "mean": 0.7, "test": "t"}
                yield row | {"estimate": 0.2, "p": 0.1, "family_size": 3} | ends(0.2)


def fusion_rows():
    for selection, mean in (("with a lexical arm", 0.9), ("without a lexical arm", 0.7), ("single arm", 0.6)):
        row = {"corpus": "poems", "query_set": "known", "measure": "Recall@5", "selection": selection, "max_arms": 2}
        row |= {"k": 60.0, "n_queries": 20, "n_subsets": 6, "arms": "bm25/verse + dense-a/prose", "in_sample": mean}
        yield row | {"cross_validated": mean - 0.05, "ci_low": mean - 0.2, "ci_high": mean + 0.05}


def fine_tuning_rows(recipes=("a", "b"), seeds=3, groups=("all", "quoting", "abstract")):
    for recipe in recipes:
        for group in groups:
            row = {"recipe": recipe, "base": "dense-a", "corpus": "poems", "query_set": "known", "mode": "verse"}
            row |= {"measure": "Recall@5", "by": "all" if group == "all" else "register", "group": group, "n": 20}
            row |= {"n_clusters": 20, "n_seeds": seeds, "zero_shot": 0.5, "mean": 0.7, "lowest": 0.6, "highest": 0.8}
            row |= {"difference": 0.2, "test": "t", "p": 0.01, "family": "f", "family_size": 1}
            yield row | ends(0.2)


def curve_rows(recipes=("a", "b"), seeds=3, folds=("whole",)):
    for recipe in recipes:
        for seed in range(seeds):
            for fold in folds:
                row = {"recipe": recipe, "seed": seed, "fold": fold, "measure": "nDCG@10"}
                for step, value in enumerate((0.4, 0.5 + seed / 50, 0.45)):
                    yield row | {"epoch": step / 2, "step": step, "value": value, "best": step == 1}


def spectrum(rows):
    return plot_spectrum(frame(OVERLAP_SPECTRUM, list(rows)), 3)


def quotation(rows, slopes=None):
    slope = frame(QUOTATION_SLOPES, list(slope_rows() if slopes is None else slopes))
    return plot_quotation(frame(QUOTATION, list(rows)), slope, 3, "verse", MEASURES, SYSTEMS)


def edits(rows):
    return plot_edits(frame(EDITS, list(rows)), "verse", MEASURES, SYSTEMS)


def mechanism(rows):
    return plot_mechanism(frame(MECHANISM, list(rows)), "verse", MEASURES, SYSTEMS)


def augmentation(rows):
    return plot_augmentation(frame(AUGMENTATION, list(rows)), MEASURES, SYSTEMS)


def fusions(rows):
    return plot_fusions(frame(FUSION, list(rows)))


def fine_tuning(rows, curves=None):
    courses = frame(FINE_TUNING_CURVES, list(curve_rows() if curves is None else curves))
    return plot_fine_tuning(frame(FINE_TUNING, list(rows)), courses, "verse", MEASURES)


FIGURES = {
    "spectrum": (spectrum, spectrum_rows),
    "quotation": (quotation, quotation_rows),
    "edits": (edits, edit_rows),
    "mechanism": (mechanism, mechanism_rows),
    "augmentation": (augmentation, augmentation_rows),
    "fusions": (fusions, fusion_rows),
    "fine_tuning": (fine_tuning, fine_tuning_rows),
}


def svg_of(figure, tmp_path, name="figure"):
    save(figure, [tmp_path / f"{name}.svg"])
    return (tmp_path / f"{name}.svg").read_text(encoding="utf-8")


def texts(figure, tmp_path):
    root = ElementTree.fromstring(svg_of(figure, tmp_path))
    found = ["".join(e.itertext()) for e in root.iter("{http://www.w3.org/2000/svg}text")]
    return [text.replace(NBSP, " ").strip() for text in found]


def axes_of(figure):
    parts = list(figure.subfigs) or [figure]
    return [axes for part in parts for axes in part.axes]


def marks(axes):
    """(x, colour, whether it is hollow) of every mark."""
    return [
        (line.get_xdata()[0], to_hex(line.get_color()), to_hex(line.get_markerfacecolor()) == PAPER)
        for line in axes.lines
        if line.get_marker() not in ("None", "|", None) and line.get_linestyle() == "None"
    ]


@pytest.mark.parametrize("name", FIGURES)
def test_same_rows_in_any_order_same_bytes(name, tmp_path):
    draw, rows = FIGURES[name]
    one = svg_of(draw(rows()), tmp_path, "one")
    assert one == svg_of(draw(reversed(list(rows()))), tmp_path, "two")
    assert "<dc:date>" not in one


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_as_wide_as_a_page_and_nothing_is_cut_off(name, tmp_path):
    draw, rows = FIGURES[name]
    figure = draw(rows())
    root = ElementTree.fromstring(svg_of(figure, tmp_path))
    assert float(root.get("width").removesuffix("pt")) == pytest.approx(72 * PAGE)
    drawn = figure.get_tightbbox(FigureCanvasAgg(figure).get_renderer())
    assert drawn.x0 > -0.02 and drawn.x1 < PAGE + 0.02
    sizes = {text.get_fontsize() for text in figure.findobj(Text) if text.get_text()}
    assert min(sizes) >= 7 and max(sizes) <= 9


@pytest.mark.parametrize("name", FIGURES)
def test_a_table_without_rows_says_why(name, tmp_path):
    draw, _ = FIGURES[name]
    said = " ".join(texts(draw([]), tmp_path))
    assert said.startswith("There is nothing to plot: ") and len(said) > 40


def test_every_format_of_every_verb(tmp_path):
    tables = {
        "spectrum": [(OVERLAP_SPECTRUM, spectrum_rows())],
        "quotation": [(QUOTATION, quotation_rows()), (QUOTATION_SLOPES, slope_rows())],
        "edits": [(EDITS, edit_rows())],
        "mechanism": [(MECHANISM, mechanism_rows())],
        "augmentation": [(AUGMENTATION, augmentation_rows())],
        "fusions": [(FUSION, fusion_rows())],
        "fine_tuning": [(FINE_TUNING, fine_tuning_rows()), (FINE_TUNING_CURVES, curve_rows())],
    }
    for contents in tables.values():
        for table, rows in contents:
            write_table(frame(table, list(rows)), tmp_path / f"{table.name}.csv", table)
    at = {table.name: str(tmp_path / f"{table.name}.csv") for contents in tables.values() for table, _ in contents}
    measures = ["--measures", '{"known": "Recall@5", "append-final": "Recall@5", "append-opening": "Recall@5"}']
    systems = ["--systems", *SYSTEMS]
    options = {
        "spectrum": ["--spectrum", at["overlap_spectrum"], "--threshold", "3"],
        "quotation": [
            *("--means", at["quotation"], "--slopes", at["quotation_slopes"], "--threshold", "3"),
            *("--base-mode", "verse", *measures, *systems),
        ],
        "edits": ["--edits", at["edits"], "--base-mode", "verse", *measures, *systems],
        "mechanism": ["--mechanism", at["mechanism"], "--base-mode", "verse", *measures, *systems],
        "augmentation": ["--augmentation", at["augmentation"], *measures, *systems],
        "fusions": ["--fusion", at["fusion"]],
        "fine_tuning": [
            *("--gains", at["fine_tuning"], "--curves", at["fine_tuning_curves"]),
            *("--base-mode", "verse", *measures),
        ],
    }
    for name, given in options.items():
        formats = (".svg", ".pdf", ".png") if name == "spectrum" else (".svg",)
        files = [tmp_path / f"{name}{suffix}" for suffix in formats]
        assert main([f"plot_{name}", *given, "--output", *map(str, files)]) == 0
        assert [file.read_bytes()[:4] for file in files] == [b"<?xm", b"%PDF", b"\x89PNG"][: len(files)]


def test_spectrum_goes_from_the_most_wording_down(tmp_path):
    figure = spectrum(spectrum_rows())
    found = texts(figure, tmp_path)
    strata = [text for text in found if "(n = " in text]
    assert strata == ["known (n = 40)", "quoting (n = 20)", "abstract (n = 20)"]
    assert "poems" in found and {"2 or more", "3 or more", "4 or more"} <= set(found)
    left, right = figure.axes
    filled = [x for x, _, hollow in marks(left) if not hollow]
    assert filled == [0.3, 0.6, 0.1]  # those of the threshold in use
    assert [x for x, _, _ in marks(right)] == [0.3, 0.6, 0.1]  # the verses, not what is indexed
    assert [line for line in right.lines if len(line.get_xdata()) == 2] == []  # a mean without interval is a dot alone


def test_spectrum_names_the_one_register_of_a_set(tmp_path):
    rows = [row | {"n_queries": 40} for row in spectrum_rows() if row["register"] in ("all", "abstract")]
    assert [t for t in texts(spectrum(rows), tmp_path) if "n = " in t] == ["known, abstract (n = 40)"]


def test_quotation_puts_the_steepest_slope_first_and_hollows_the_others(tmp_path):
    figure = quotation(reversed(list(quotation_rows())))
    (axes,) = figure.axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == SHOWN
    look = looks(SYSTEMS)
    assert marks(axes)[:2] == [(0.9, look["bm25"].colour, False), (0.1, look["bm25"].colour, True)]
    said = texts(figure, tmp_path)
    assert {"+0.80 [+0.70, +0.90]", "8 quoting, 12 not quoting", "quoting", "not quoting"} <= set(said)
    assert any("3 or more tokens in a row" in text for text in said)


def test_quotation_without_one_stratum_still_shows_the_other(tmp_path):
    rows = [
        r | ({"mean": None, "ci_low": None, "ci_high": None, "n_queries": 0} if r["stratum"] == "quoting" else {})
        for r in quotation_rows()
    ]
    figure = quotation(rows, [])
    assert all(hollow for _, _, hollow in marks(figure.axes[0]))
    assert {"slope not estimable", "0 quoting, 12 not quoting"} <= set(texts(figure, tmp_path))


def test_quotation_at_another_threshold_is_nothing(tmp_path):
    rows = [row | {"threshold": 4} for row in quotation_rows()]
    assert "at 3 tokens in a row" in " ".join(texts(quotation(rows), tmp_path))


def test_edits_go_through_the_poem_and_share_one_scale(tmp_path):
    figure = edits(edit_rows())
    titles = [axes.get_title(loc="left").replace("\n", " ").replace(NBSP, " ") for axes in axes_of(figure)]
    assert titles == ["append-opening, n = 12", "append-final, n = 12"]
    assert len({axes.get_xlim() for axes in axes_of(figure)}) == 1
    assert any(line.get_xdata() == [0, 0] for line in axes_of(figure)[0].lines)
    assert "poems: known as edited, Recall@5, verse indexed" in texts(figure, tmp_path)


def test_edit_order():
    names = ["quotation-deleted", "append-final", "append-opening", "append-middle"]
    assert sorted(names, key=edit_order) == ["append-opening", "append-middle", "append-final", "quotation-deleted"]


def test_an_edit_that_no_system_allows_to_estimate_says_so(tmp_path):
    rows = [
        row | {"estimate": None, "ci_low": None, "ci_high": None, "note": "not estimable: no pair of queries"}
        if row["edit"] == "append-final"
        else row
        for row in edit_rows()
    ]
    assert "not estimable:" in " ".join(texts(edits(rows), tmp_path))


def test_mechanism_shows_values_and_changes_and_hollows_the_reference(tmp_path):
    figure = mechanism(mechanism_rows())
    panels = axes_of(figure)
    assert [axes.get_title(loc="left") for axes in panels] == ["values, verse", "change, verse to prose"]
    hollow = looks(SYSTEMS)["dense-b"].colour
    assert [colour for _, colour, is_hollow in marks(panels[0]) if is_hollow] == [hollow]
    for axes in panels:
        diagonal = axes.lines[0]
        assert list(diagonal.get_xdata()) == list(diagonal.get_ydata())
        assert axes.get_xlim() == axes.get_ylim()
    assert "poems: known, Recall@5" in texts(figure, tmp_path)


def test_mechanism_without_a_reference_encoder_says_so(tmp_path):
    assert "no reference encoder" in " ".join(texts(mechanism(mechanism_rows(embedding=None)), tmp_path))


def test_augmentation_has_a_strip_for_each_mode_and_a_panel_for_each_register(tmp_path):
    figure = augmentation(augmentation_rows())
    titles = [axes.get_title(loc="left").replace("\n", " ").replace(NBSP, " ") for axes in axes_of(figure)]
    assert titles == ["all queries, n = 20", "quoting, n = 20", "abstract, n = 20"] * 2
    found = texts(figure, tmp_path)
    assert [t for t in found if "against" in t] == [
        "poems: known, Recall@5, prose against verse",
        "poems: known, Recall@5, verse+prose against verse",
    ]


def test_augmentation_without_registers_puts_modes_side_by_side(tmp_path):
    figure = augmentation(augmentation_rows(registers=("all",)))
    titles = [axes.get_title(loc="left").replace("\n", " ").replace(NBSP, " ") for axes in axes_of(figure)]
    assert titles == ["prose, n = 20", "verse+prose, n = 20"]


def test_fusions_tell_chosen_from_validated(tmp_path):
    figure = fusions(fusion_rows())
    (axes,) = figure.axes
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert names == ["with a lexical arm", "without a lexical arm", "single arm"]
    assert [x for x, _, hollow in marks(axes) if hollow] == [0.9, 0.7, 0.6]
    assert [x for x, _, hollow in marks(axes) if not hollow] == pytest.approx([0.85, 0.65, 0.55])
    assert texts(figure, tmp_path).count("bm25/verse + dense-a/prose") == 3


def test_a_selection_that_chose_nothing_says_why(tmp_path):
    nothing = {"arms": None, "in_sample": None, "cross_validated": None, "ci_low": None, "ci_high": None}
    rows = [row | nothing | {"note": "not estimable: no run is lexical"} for row in fusion_rows()]
    assert texts(fusions(rows), tmp_path).count("not estimable: no run is lexical") == 3


def test_a_system_looks_the_same_in_all_figures():
    wanted = {looks(SYSTEMS)[name].colour for name in SHOWN}
    for figure in (quotation(quotation_rows()), edits(edit_rows()), mechanism(mechanism_rows())):
        assert {colour for axes in axes_of(figure) for _, colour, _ in marks(axes)} == wanted


def test_many_systems_with_long_names_keep_to_the_width(tmp_path):
    names = [f"an-encoder-with-a-very-long-name-{number}" for number in range(12)]
    rows = [row | {"a": name, "family": f"{row['family']}/{name}"} for row in edit_rows() for name in names]
    table = frame(EDITS, rows).unique(["family", "a"]).unique(["edit", "a"], keep="first", maintain_order=True)
    root = ElementTree.fromstring(svg_of(plot_edits(table, "verse", MEASURES, names), tmp_path))
    assert float(root.get("width").removesuffix("pt")) == 7 * 72
    said = {"".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert set(names) <= said


def test_rows_of_panels_are_about_as_long():
    assert [balanced(n, 4) for n in (1, 4, 5, 6, 9)] == [1, 4, 3, 3, 3]


def test_wrapping_keeps_counts_together():
    assert wrapped(f"half-remembered, n{NBSP}={NBSP}68", 1.2).split("\n")[-1] == f"n{NBSP}={NBSP}68"


def test_rows_of_other_measures_alone_are_nothing_to_plot(tmp_path):
    said = " ".join(texts(plot_edits(frame(EDITS, list(edit_rows())), "verse", {"known": "MRR"}, SYSTEMS), tmp_path))
    assert "main measures" in said


def test_fine_tuning_marks_what_is_before_training_and_what_is_kept(tmp_path):
    figure = fine_tuning(fine_tuning_rows(["a"]), curve_rows(["a"]))
    left, right = axes_of(figure)
    assert [(x, hollow) for x, _, hollow in marks(left)] == [(0.0, True), (0.5, False)] * 3
    assert [x for x, _, _ in marks(right)] == [0.2] * 3
    said = texts(figure, tmp_path)
    assert {"all queries, n = 20", "quoting, n = 20", "abstract, n = 20", "seed 2", "range of seeds"} <= set(said)
    assert "a, trained from dense-a" in said


def test_fine_tuning_with_one_seed_has_no_range_and_without_a_curve_says_so(tmp_path):
    said = texts(fine_tuning(fine_tuning_rows(["a"], seeds=1), curve_rows(["a"], seeds=1)), tmp_path)
    assert "seed 0" in said and "range of seeds" not in said
    assert "no curve" in texts(fine_tuning(fine_tuning_rows(["a"]), []), tmp_path)


def test_fine_tuning_of_many_recipes_has_one_scale_and_folds_are_thin():
    recipes = [f"recipe-{number}" for number in range(20)]
    figure = fine_tuning(fine_tuning_rows(recipes), curve_rows(recipes, folds=("fold-1", "fold-2", "fold-3")))
    panels = axes_of(figure)
    assert len(panels) == 40 and len({axes.get_xlim() for axes in panels[1::2]}) == 1
    assert {line.get_linewidth() for line in panels[0].lines if line.get_linestyle() != "None"} == {0.6}


def test_fine_tuning_leaves_attributes_with_many_values_to_the_table(tmp_path):
    many = list(fine_tuning_rows(["a"], groups=("all", *(f"value {number}" for number in range(7)))))
    assert [text for text in texts(fine_tuning(many), tmp_path) if "n = " in text] == ["all queries, n = 20"]
