"""One look for all figures: colours, marks, text and files."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verseir.atomic import atomic_path
from verseir.faults import UserError
from verseir.palette import FAINT, INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

#: Inches: as wide as a column of a page that has two, and as the page; and above and below what is drawn.
COLUMN, PAGE, MARGIN = 3.33, 7.0, 0.03

FORMATS = {".svg", ".pdf", ".png"}

SETTINGS: Any = {
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.grid.axis": "x",
    "axes.axisbelow": True,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "figure.dpi": 100,
    "font.family": ["DejaVu Sans"],  # ships with matplotlib and has Arabic
    "font.size": 8.5,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "verseir",
    "text.color": INK,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "xtick.color": INK,
    "xtick.labelsize": 8,
    "ytick.color": INK,
    "ytick.labelsize": 8.5,
    "ytick.major.size": 0,
}


def label(text: str) -> str:
    """``text`` as matplotlib should be given it: in logical order, composed, on one line.

    Matplotlib 3.11 shapes Arabic and orders right-to-left text itself (through libraqm). Text that was reshaped or
    reversed before would come out reversed, and could not be read or searched in the SVG.
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def save(figure: Figure, paths: Iterable[Path]) -> None:
    """Write ``figure`` to every path, atomically, as wide as it is; the same figure gives the same bytes.

    Raises:
        UserError: a path ends in something other than .svg, .pdf or .png.
    """
    from matplotlib import rc_context

    logging.getLogger("fontTools.subset").setLevel(logging.WARNING)  # tells of every glyph that a PDF takes
    paths = [Path(path) for path in paths]
    for path in paths:
        if path.suffix not in FORMATS:
            raise UserError(f"{path}: cannot write this format", hint=f"one of {', '.join(sorted(FORMATS))}")
    box = _trimmed(figure)
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None, "ModDate": None}, ".png": {"Software": None}}
    for path in paths:
        with rc_context(SETTINGS), atomic_path(path) as temporary:
            transparent = path.suffix == ".svg"  # the page shows through
            figure.savefig(temporary, metadata=undated[path.suffix], transparent=transparent, bbox_inches=box)


def _trimmed(figure: Figure) -> Bbox:
    """The whole width of a figure, so that it fits its column, and of its height what is drawn on; in inches."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    with rc_context(SETTINGS):
        figure.draw_without_rendering()  # parts find their places when they are drawn
        drawn = figure.get_tightbbox(FigureCanvasAgg(figure).get_renderer())
    return Bbox([[0, drawn.y0 - MARGIN], [figure.get_figwidth(), drawn.y1 + MARGIN]])
