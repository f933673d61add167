"""Figures: their files, their text, and that the same table gives the same bytes."""

import re
from xml.etree import ElementTree

import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from report_study import frame, register

from verseir.__main__ import main
from verseir.faults import UserError
from verseir.figures.registers import plot_registers
from verseir.figures.style import COLUMN, PAGE, SETTINGS, label, save
from verseir.orders import mode_order, register_order
from verseir.palette import looks
from verseir.report.figure import inline_svg
from verseir.tables import REGISTERS, write_table

ROWS = [
    register(name, system, mean, mode=mode)
    for mode in ("verse+explanation", "explanation", "verse")
    for name in ("abstract", "quoting")
    for system, mean in (("bm25", 0.4), ("dense-a", 0.6))
]
MEASURES = {"known": "Recall@5", "other": "MRR"}


def texts(svg):
    return [
        "".join(element.itertext()) for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    ]


def test_verb_writes_all_formats(tmp_path):
    write_table(frame(REGISTERS, ROWS), tmp_path / "registers.csv", REGISTERS)
    files = [tmp_path / f"registers.{suffix}" for suffix in ("svg", "pdf", "png")]
    arguments = [
        "--registers",
        str(tmp_path / "registers.csv"),
        "--measures",
        '{"known": "Recall@5"}',
        "--output",
        *map(str, files),
    ]
    assert main(["plot_registers", *arguments]) == 0
    assert [file.read_bytes()[:4] for file in files] == [b"<?xm", b"%PDF", b"\x89PNG"]


@pytest.mark.parametrize(("modes", "inches"), [(("verse",), COLUMN), (("verse", "a", "b", "c"), PAGE)])
def test_a_figure_is_as_wide_as_a_column_or_a_page_with_real_text(modes, inches, tmp_path):
    rows = [row | {"mode": mode} for mode in modes for row in ROWS if row["mode"] == "verse"]
    figure = plot_registers(frame(REGISTERS, rows), MEASURES)
    save(figure, [tmp_path / "r.svg", tmp_path / "r.pdf"])
    root = ElementTree.fromstring((tmp_path / "r.svg").read_text(encoding="utf-8"))
    assert float(root.get("width").removesuffix("pt")) == pytest.approx(72 * inches, abs=0.01)
    drawn = figure.get_tightbbox(FigureCanvasAgg(figure).get_renderer())
    assert drawn.x0 > -0.02 and drawn.x1 < inches + 0.02
    pdf = (tmp_path / "r.pdf").read_bytes()
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf  # TrueType, no outlines


def test_a_system_looks_alike_where_others_are_left_out():
    study = ["bm25", "dense-a", "dense-b"]
    shown = [row for row in ROWS if row["system"] == "dense-a"]
    for rows in (ROWS, shown):
        axes = plot_registers(frame(REGISTERS, rows), MEASURES, study).axes[0]
        found = {(line.get_marker(), line.get_color()) for line in axes.lines if line.get_marker() != "None"}
        assert looks(study)["dense-a"][1::-1] in found


def test_same_table_same_bytes(tmp_path):
    rows = frame(REGISTERS, ROWS)
    for name, table in (("one", rows), ("two", rows.reverse())):
        save(plot_registers(table, MEASURES), [tmp_path / f"{name}.{suffix}" for suffix in ("svg", "pdf", "png")])
    for suffix in ("svg", "pdf", "png"):
        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()
    assert not re.search(
        rb"<dc:date>|CreationDate", (tmp_path / "one.svg").read_bytes() + (tmp_path / "one.pdf").read_bytes()
    )


def test_text_is_text_in_order(tmp_path):
    save(plot_registers(frame(REGISTERS, ROWS), MEASURES), [tmp_path / "r.svg"])
    found = texts((tmp_path / "r.svg").read_text(encoding="utf-8"))
    assert [text for text in found if text in ("quoting", "abstract")] == ["quoting", "abstract"]
    assert found.count("mean, 95% interval") == 3
    assert [text for text in found if "verse" in text or "explanation" in text] == [
        "verse",
        "explanation",
        "verse+explanation",
    ]
    assert {"bm25", "dense-a", "Recall@5"} <= set(found)


def test_registers_of_two_query_sets_are_told_apart(tmp_path):
    rows = ROWS + [row | {"query_set": "other", "measure": "MRR"} for row in ROWS]
    save(plot_registers(frame(REGISTERS, rows), MEASURES), [tmp_path / "r.svg"])
    found = texts((tmp_path / "r.svg").read_text(encoding="utf-8"))
    assert {"known, Recall@5", "other, MRR"} <= set(found)


def test_empty_table_says_so(tmp_path):
    save(plot_registers(pl.DataFrame(schema=dict(REGISTERS.columns)), {}), [tmp_path / "r.svg", tmp_path / "r.png"])
    assert any("nothing to plot" in text for text in texts((tmp_path / "r.svg").read_text(encoding="utf-8")))


def test_unknown_measure_is_named():
    with pytest.raises(UserError, match="Recall@55"):
        plot_registers(frame(REGISTERS, ROWS), {"known": "Recall@55"})


def test_each_query_set_shows_its_own_measure():
    rows = [register("quoting", "bm25", 0.2), register("quoting", "bm25", 0.9, measure="MRR")]
    rows += [
        register("thematic", "bm25", mean, query_set="other", measure=m) for m, mean in (("MRR", 0.4), ("MAP", 0.7))
    ]
    axes = plot_registers(frame(REGISTERS, rows), MEASURES).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["quoting\nRecall@5", "thematic\nMRR"]
    assert [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"] == [0.2, 0.4]


def test_query_set_without_a_measure_is_named():
    with pytest.raises(UserError, match="query set 'known'"):
        plot_registers(frame(REGISTERS, ROWS), {"other": "MRR"})


def test_unknown_format_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(UserError, match="cannot write"):
        save(Figure(), [tmp_path / "r.svg", tmp_path / "r.bmp"])
    assert list(tmp_path.iterdir()) == []


def test_missing_interval_draws_a_dot_alone():
    lines = [
        len(plot_registers(frame(REGISTERS, [register("quoting", "bm25", 0.5, half=half)]), MEASURES).axes[0].lines)
        for half in (0.1, None)
    ]
    assert lines == [2, 1]


def drawn_width(text):
    """Width in pixels of a text that is drawn."""
    from matplotlib import rc_context

    with rc_context(SETTINGS):
        canvas = FigureCanvasAgg(Figure())
        return canvas.figure.text(0, 0, text).get_window_extent(canvas.get_renderer()).width


def test_label_is_in_logical_order_and_matplotlib_joins_the_letters():
    word = "محفوظ"
    assert label(word) == word
    apart = "\u200c".join(word)  # the non-joiner keeps each letter in its isolated form, which is wider
    assert drawn_width(label(word)) < 0.9 * drawn_width(apart)


def test_label_is_one_composed_line():
    assert label("e\u0301\n a$b") == "\u00e9 a$b"


def test_dollar_signs_are_no_formula(tmp_path):
    save(plot_registers(frame(REGISTERS, [register("quoting", "a$x$", 0.5)]), MEASURES), [tmp_path / "r.svg"])
    assert "a$x$" in texts((tmp_path / "r.svg").read_text(encoding="utf-8"))


def test_systems_differ_in_mark_and_colour():
    found = looks(f"system-{n}" for n in range(30))
    assert len(set(found.values())) == 30
    assert looks(["b", "a", "b"], ["z", "c", "a"]) == looks(["b", "a", "c", "z"])
    assert looks(["a", "b"], ["c"])["a"] == looks(["a"])["a"]


def test_orders():
    assert sorted(["thematic", "abstract", "zeal", "quoting"], key=register_order) == [
        "quoting",
        "abstract",
        "thematic",
        "zeal",
    ]
    assert sorted(["a+b", "explanation", "verse", "ai"], key=mode_order) == ["verse", "ai", "explanation", "a+b"]


def test_inline_svg_is_described_and_takes_the_inks_of_the_page(tmp_path):
    save(plot_registers(frame(REGISTERS, ROWS), MEASURES), [tmp_path / "r.svg"])
    markup = inline_svg((tmp_path / "r.svg").read_text(encoding="utf-8"), "A <title>", "What & how")
    assert markup.startswith("<svg")
    assert '<title id="figure-title">A &lt;title&gt;</title>' in markup
    assert "What &amp; how" in markup
    assert "var(--ink)" in markup and "var(--series-0, #023f7f)" in markup
    assert "<metadata" not in markup and "DOCTYPE" not in markup
