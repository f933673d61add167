"""One look for all figures: colours, marks, text and files."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from verseir.atomic import atomic_path
from verseir.faults import UserError
from verseir.palette import FAINT, INK, SERIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")

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
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "figure.dpi": 100,
    "font.family": ["DejaVu Sans"],  # ships with matplotlib and has Arabic
    "font.size": 9,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "verseir",
    "text.color": INK,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "xtick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": INK,
    "ytick.labelsize": 9,
    "ytick.major.size": 0,
}


class Look(NamedTuple):
    """Colour and mark of one system."""

    colour: str
    mark: str


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A colour and a mark for each name, in sorted order: the same names look the same in every figure of a study.

    Names differ in the mark as well as in the colour; the first 77 pairs are all different.
    """
    return {
        name: Look(SERIES[place % len(SERIES)], MARKS[place % len(MARKS)])
        for place, name in enumerate(sorted(set(names)))
    }


def label(text: str) -> str:
    """``text`` as matplotlib should be given it: in logical order, composed, on one line.

    Matplotlib 3.11 shapes Arabic and orders right-to-left text itself (through libraqm). Text that was reshaped or
    reversed before would come out reversed, and could not be read or searched in the SVG.
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def save(figure: Figure, paths: Iterable[Path]) -> None:
    """Write ``figure`` to every path, atomically; the same figure gives the same bytes.

    Raises:
        UserError: a path ends in something other than .svg, .pdf or .png.
    """
    from matplotlib import rc_context

    logging.getLogger("fontTools.subset").setLevel(logging.WARNING)  # tells of every glyph that a PDF takes
    paths = [Path(path) for path in paths]
    for path in paths:
        if path.suffix not in FORMATS:
            raise UserError(f"{path}: cannot write this format", hint=f"one of {', '.join(sorted(FORMATS))}")
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None, "ModDate": None}, ".png": {"Software": None}}
    for path in paths:
        with rc_context(SETTINGS), atomic_path(path) as temporary:
            transparent = path.suffix == ".svg"  # the page shows through
            figure.savefig(temporary, metadata=undated[path.suffix], transparent=transparent, bbox_inches="tight")
