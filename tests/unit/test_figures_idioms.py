"""Figures of an idiom benchmark: what is drawn where, for few systems, for many and for none."""

import json
from xml.etree import ElementTree

import polars as pl
import pytest
from idiom_study import CONTRACTS, MANY, SETS, SYSTEMS, USAGES, idiom_tables, level, unknown

from verseir.__main__ import main
from verseir.figures.idioms import FOUND, TOP, kinds_found, plot_confusion, plot_query_sets, plot_systems, shares_found
from verseir.figures.style import save
from verseir.palette import looks
from verseir.tables import write_table

MAIN = dict.fromkeys(SETS, "nDCG@10")


@pytest.fixture(scope="module")
def tables():
    return idiom_tables()


def systems_figure(tables, sets=SETS, measures=MAIN):
    return plot_systems(tables["leaderboard"], tables["string_match"], sets, "full", measures, MANY)


def modes_figure(tables, sets=SETS, measures=MAIN):
    return plot_query_sets(tables["leaderboard"], sets, "full", measures, MANY)


def confusion_figure(tables, sets=SETS, measures=MAIN):
    return plot_confusion(tables["confusion"], tables["leaderboard"], sets, "full", measures)


FIGURES = {"systems": systems_figure, "modes": modes_figure, "confusion": confusion_figure}


def svg_of(figure, tmp_path):
    save(figure, [tmp_path / "figure.svg"])
    return (tmp_path / "figure.svg").read_text(encoding="utf-8")


def texts(figure, tmp_path):
    root = ElementTree.fromstring(svg_of(figure, tmp_path))
    return ["".join(e.itertext()).strip() for e in root.iter("{http://www.w3.org/2000/svg}text")]


def axes_of(figure):
    return [axes for part in figure.subfigs for axes in part.axes]


def title(axes):
    return axes.get_title(loc="left").replace("\n", "")


def labels(axes):
    return [tick.get_text() for tick in axes.get_yticklabels()]


def marks(axes):
    return [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "None"]


@pytest.mark.parametrize("name", FIGURES)
def test_same_rows_in_any_order_same_bytes(name, tables, tmp_path):
    one = svg_of(FIGURES[name](tables), tmp_path)
    assert one == svg_of(FIGURES[name]({key: frame.reverse() for key, frame in tables.items()}), tmp_path)


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("make", [unknown, lambda tables: {key: frame.clear() for key, frame in tables.items()}])
def test_what_is_not_known_is_said(name, make, tables, tmp_path):
    said = " ".join(texts(FIGURES[name](make(tables)), tmp_path))
    assert said.startswith("There is nothing to plot: ") and len(said) > 40


def test_systems_go_down_by_the_first_query_set_and_lines_show_string_match(tables, tmp_path):
    figure = systems_figure(tables)
    panels = axes_of(figure)
    assert [title(axes) for axes in panels] == SETS
    assert labels(panels[0]) == ["drama-1b", "bm25-okapi", "all-minilm-l6-v2"]
    assert marks(panels[0]) == [level(name, "sentence", "full", "nDCG@10") for name in labels(panels[0])]
    assert len(marks(panels[2])) == 2  # BM25 follows no instruction: no mark, and its row stays
    for axes in panels:
        lines = sorted(line.get_xdata()[0] for line in axes.lines if list(line.get_ydata()) == [0, 1])
        assert lines == [0.48, 0.5]
    assert len({axes.get_xlim() for axes in panels}) == 1
    said = texts(figure, tmp_path)
    assert {"string match, annotated", "string match, verbatim"} <= set(said)
    assert "nDCG@10, mean with 95% interval, mode full" in said


def test_query_sets_of_other_measures_say_so(tables, tmp_path):
    measures = MAIN | {"span": "Rprec"}
    assert [title(axes) for axes in axes_of(systems_figure(tables, measures=measures))][:2] == [
        *("sentence, nDCG@10", "span, Rprec"),
    ]
    assert "span, Rprec" in texts(modes_figure(tables, measures=measures), tmp_path)


def test_the_best_systems_are_shown_by_query_set(tmp_path):
    figure = modes_figure(idiom_tables(MANY))
    (axes,) = axes_of(figure)
    assert labels(axes) == SETS
    best = sorted(MANY, key=lambda name: level(name, "instruction_span", "full", "nDCG@10"), reverse=True)[:TOP]
    assert set(best) <= set(texts(figure, tmp_path)) and len(marks(axes)) == TOP * len(SETS)
    colours = {line.get_color() for line in axes.lines if line.get_linestyle() == "None"}
    assert colours == {looks(MANY)[name].colour for name in best}


def test_bars_fill_the_top_r_and_literal_queries_stand_above(tables, tmp_path):
    figure = confusion_figure(tables)
    panels = axes_of(figure)
    assert [title(axes) for axes in panels] == SETS * 2
    said = texts(figure, tmp_path)
    assert said.index("literal queries") < said.index("idiomatic queries") and set(FOUND) <= set(said)
    for axes, usage in zip(panels, [*["literal"] * 4, *["idiomatic"] * 4], strict=True):
        rows = {}
        for bar in axes.patches:
            rows.setdefault(round(bar.get_y() + bar.get_height() / 2), []).append(bar)
        for height, system in enumerate(labels(axes)):
            widths = [bar.get_width() for bar in rows[height]]
            if system == "bm25-okapi" and "instruction" in title(axes):
                assert sum(widths) == 0
            else:
                assert sum(widths) == pytest.approx(1)
                assert widths[0] == pytest.approx(level(system, title(axes), "full", "Rprec", usage))


def test_shares_add_up_to_one(tables):
    part = tables["confusion"].filter(pl.col("mode") == "full", pl.col("query_set") == "span")
    for usage in USAGES:
        shares = shares_found(part.filter(pl.col("usage") == usage))
        assert {kind for _, kind in shares} == set(FOUND)
        for system in SYSTEMS:
            assert sum(shares[system, kind] for kind in FOUND) == pytest.approx(1)


@pytest.mark.parametrize("name", FIGURES)
def test_many_systems_keep_to_the_width_and_one_is_enough(name, tmp_path):
    for systems, sets in ((MANY, SETS), (["drama-1b"], ["span"])):
        figure = FIGURES[name](idiom_tables(systems, sets), sets)
        root = ElementTree.fromstring(svg_of(figure, tmp_path))
        assert float(root.get("width").removesuffix("pt")) <= 7.4 * 72


def test_corpora_stand_apart(tables, tmp_path):
    twice = {
        name: pl.concat([frame, frame.filter(pl.col("corpus") == "test").with_columns(corpus=pl.lit("dev"))])
        for name, frame in tables.items()
    }
    for name, draw in FIGURES.items():
        said = texts(draw(twice), tmp_path)
        wanted = {"dev: literal queries", "test: idiomatic queries"} if name == "confusion" else {"dev", "test"}
        assert wanted <= set(said), name


def test_the_verb_writes_every_format(tables, tmp_path):
    arguments = []
    for name in ("leaderboard", "string_match", "confusion"):
        write_table(tables[name], tmp_path / f"{name}.csv", CONTRACTS[name][0])
        arguments += [f"--{name.replace('_', '-')}", str(tmp_path / f"{name}.csv")]
    arguments += ["--query-sets", json.dumps(SETS), "--base-mode", "full", "--measures", json.dumps(MAIN)]
    arguments += ["--systems", *SYSTEMS[:2]]
    files = {name: [tmp_path / f"idioms-{name}{end}" for end in (".svg", ".pdf", ".png")] for name in FIGURES}
    for name, paths in files.items():
        arguments += [f"--output-{name}", *map(str, paths)]
    assert main(["plot_idioms", *arguments]) == 0
    for paths in files.values():
        assert [path.read_bytes()[:4] for path in paths] == [b"<?xm", b"%PDF", b"\x89PNG"]
        drawn = paths[0].read_text(encoding="utf-8")
        assert SYSTEMS[0] in drawn and SYSTEMS[2] not in drawn  # what was not asked for is not shown


def test_empty_places_are_a_part_only_where_there_are_any():
    rows = idiom_tables()["confusion"]
    assert kinds_found(rows) == list(FOUND)
    full = rows.with_columns(share=pl.when(pl.col("idiom") == "none").then(0.0).otherwise(pl.col("share")))
    assert kinds_found(full) == kinds_found(rows.clear()) == [kind for kind in FOUND if kind != "nothing"]
    figure = plot_confusion(full, idiom_tables()["leaderboard"], SETS, "full", dict.fromkeys(SETS, "nDCG@10"))
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert "relevant" in legends and "nothing" not in legends
