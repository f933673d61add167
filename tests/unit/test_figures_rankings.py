"""The figure of the two rankings: what it says, that names do not overlap, and the same bytes for the same tables."""

from xml.etree import ElementTree

import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from report_study import frame

from verseir.__main__ import main
from verseir.analyses.dissociation import DISSOCIATION, RANK_MOVES
from verseir.figures.panels import WIDTH
from verseir.figures.rankings import LEXICAL, OTHER, plot_rankings
from verseir.figures.style import SETTINGS, save
from verseir.formats import NBSP
from verseir.palette import looks
from verseir.tables import write_table

RANKS = {"bm25": (1.0, 4.0), "dense-a": (2.5, 1.0), "dense-b": (2.5, 2.0), "dense-c": (4.0, 3.0)}
PLACE = {"corpus": "poems", "mode": "verse", "known_item": "known", "thematic": "themes"}


def places(measure="nDCG@10", **changes):
    return PLACE | {"measure_known_item": "Recall@5", "measure_thematic": measure} | changes


def move_rows(measure="nDCG@10", ranks=None, **changes):
    ranks = RANKS if ranks is None else ranks
    for system, (known, theme) in ranks.items():
        row = places(measure, **changes) | {"system": system, "n_systems": len(ranks)}
        row |= {"mean_known_item": 0.5, "mean_thematic": 0.5, "rank_known_item": known, "rank_thematic": theme}
        yield row | {"move": theme - known, "move_low": theme - known - 1, "move_high": theme - known}


def tau_rows(measure="nDCG@10", **changes):
    row = places(measure) | {"family": "f", "n_systems": 4, "tau": 0.24, "ci_low": -0.1, "ci_high": 0.51, "test": "t"}
    yield row | {"p": 0.38, "p_holm": 0.38, "family_size": 1} | changes
    yield row | {"left_out": "bm25", "tau": 0.99, "p": 0.1, "p_holm": 0.1, "family_size": 4}


def drawn(moves=None, taus=None, mode="verse"):
    moves, taus = list(move_rows() if moves is None else moves), list(tau_rows() if taus is None else taus)
    return plot_rankings(frame(DISSOCIATION, taus), frame(RANK_MOVES, moves), mode, ["bm25"])


def texts(figure, tmp_path):
    save(figure, [tmp_path / "figure.svg"])
    root = ElementTree.fromstring((tmp_path / "figure.svg").read_text(encoding="utf-8"))
    found = ["".join(e.itertext()) for e in root.iter("{http://www.w3.org/2000/svg}text")]
    return [text.replace(NBSP, " ").strip() for text in found]


def boxes(figure):
    """The texts inside each panel with their boxes."""
    canvas = FigureCanvasAgg(figure)
    with rc_context(SETTINGS):
        canvas.draw()
    renderer = canvas.get_renderer()
    return [
        [(text.get_text(), text.get_window_extent(renderer)) for text in axes.texts if text.get_text()]
        for axes in figure.axes
    ]


def test_both_orders_are_named_with_tau_and_moves(tmp_path):
    said = texts(drawn(), tmp_path)
    assert {"poems: known against themes", "τ = +0.24 [−0.10, +0.51]", "Recall@5", "nDCG@10"} <= set(said)
    assert [said.count(system) for system in RANKS] == [2] * 4
    assert {"+3 [+2, +3]", "−1.5 [−2.5, −1.5]"} <= set(said)
    assert "τ = +0.99" not in " ".join(said)  # that of one left out


def test_lines_join_the_places_and_lexical_systems_stand_out():
    (axes,) = drawn().axes
    lines = {tuple(line.get_ydata()): line for line in axes.lines if line.get_linestyle() != "None"}
    assert set(lines) == set(RANKS.values())
    look = looks(sorted(RANKS))
    for system, ranks in RANKS.items():
        assert to_hex(lines[ranks].get_color()) == look[system].colour
        assert lines[ranks].get_linewidth() == (LEXICAL if system == "bm25" else OTHER)
    assert len({str(line._unscaled_dash_pattern) for line in lines.values()}) == len(lines)
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first at the top


def test_tied_systems_share_a_place_and_their_names_stand_apart():
    (axes,) = drawn().axes
    left = sorted(
        (text.get_position()[1], text.get_text())
        for text in axes.texts
        if text.get_text() in RANKS and text.get_ha() == "right"
    )
    assert left == [(1, "bm25"), (2, "dense-a"), (3, "dense-b"), (4, "dense-c")]
    assert [text.get_text() for text in axes.texts].count("2.5") == 2


@pytest.mark.parametrize(("n", "length"), [(10, 12), (24, 36), (3, 60)])
def test_names_never_overlap_nor_leave_the_page(n, length):
    names = [f"{i:02}-" + "encoder" * 10 for i in range(n)]
    ranks = {name[:length]: (float(i + 1), float(n - i)) for i, name in enumerate(names)}
    ranks = dict(zip([*ranks][:-1], [*ranks.values()][:-1], strict=True)) | {"bm25": (float(n), 1.0)}
    figure = drawn(move_rows(ranks=ranks))
    (found,) = boxes(figure)
    for i, (_, box) in enumerate(found):
        assert not any(box.overlaps(other) for _, other in found[i + 1 :])
        assert box.x0 >= -1 and box.x1 <= WIDTH * figure.dpi + 1


def test_each_corpus_and_each_measure_has_a_panel(tmp_path):
    moves = [row for corpus in ("poems", "other") for measure in ("nDCG@10", "j: overall")
             for row in move_rows(measure, corpus=corpus)]  # fmt: skip
    figure = drawn([*moves, *move_rows(mode="prose")])
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["other: known against themes"] * 2 + ["poems: known against themes"] * 2
    said = texts(figure, tmp_path)
    assert (said.count("j: overall"), said.count("nDCG@10")) == (2, 2)


def test_a_tau_that_is_not_estimable_says_why(tmp_path):
    rows = [next(tau_rows(tau=None, ci_low=None, ci_high=None, note="not estimable: fewer than three systems"))]
    assert "τ not estimable: fewer than three systems" in texts(drawn(taus=rows), tmp_path)
    settled = [
        next(tau_rows(tau=1.0, ci_low=None, ci_high=None, note="interval not estimable: no resample changes it"))
    ]
    assert "τ = +1.00 (no interval: no resample changes it)" in texts(drawn(taus=settled), tmp_path)
    still = [row | {"move_low": None, "move_high": None} for row in move_rows()]
    said = texts(drawn(still), tmp_path)
    assert "+3" in said and not any(text.startswith("+3 [") for text in said)


def test_nothing_to_plot_says_why(tmp_path):
    assert "both a known-item and a thematic query set" in " ".join(texts(drawn([], []), tmp_path))
    assert "in the mode prose" in " ".join(texts(drawn(mode="prose"), tmp_path))


def test_the_verb_writes_every_format_and_the_same_bytes_for_rows_in_any_order(tmp_path):
    for name, turn in (("one", list), ("two", lambda rows: list(rows)[::-1])):
        write_table(frame(RANK_MOVES, turn(move_rows())), tmp_path / f"{name}.moves.csv", RANK_MOVES)
        write_table(frame(DISSOCIATION, turn(tau_rows())), tmp_path / f"{name}.csv", DISSOCIATION)
        files = [tmp_path / f"{name}{suffix}" for suffix in (".svg", ".pdf", ".png")]
        options = f"plot_rankings --dissociation {tmp_path}/{name}.csv --moves {tmp_path}/{name}.moves.csv"
        options += f" --base-mode verse --lexical bm25 --output {' '.join(map(str, files))}"
        assert main(options.split()) == 0
        assert [file.read_bytes()[:4] for file in files] == [b"<?xm", b"%PDF", b"\x89PNG"]
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
