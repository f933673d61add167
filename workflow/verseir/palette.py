"""Colours, marks and lines that figures and the report share: decided here, and the same for a system everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

#: Colours on a white page and on a dark one, pair by pair of one hue. Their lightness differs by 5 or more of CIE L*,
#: so that a grey print tells them apart; the colours of a page differ with any colour vision too (Machado, Oliveira and
#: Fernandes, 2009); each has a contrast of 3 or more with its page (WCAG 2.1, 1.4.11).
SERIES = ("#023f7f", "#d13c0c", "#036e50", "#5e0140", "#028ebb", "#bc8a02", "#505050")
DARK = ("#3698eb", "#ff9a67", "#86e8b8", "#d1579f", "#65d0fd", "#ffe490", "#a3a3a3")

#: Marks, and the lines that join them; of the three lists no two have lengths with a common factor.
MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
DASHES: tuple[tuple[int, tuple[float, ...] | None], ...] = (
    (0, None),
    (0, (4.0, 1.5)),
    (0, (1.2, 1.2)),
    (0, (5.0, 1.2, 1.2, 1.2)),
    (0, (7.0, 1.5)),
)

#: The page below a figure, of which hollow marks are filled.
PAPER = "#ffffff"

#: The ink of text and axes and the faint ink of grids.
INK, FAINT = "#222222", "#dddddd"


class Look(NamedTuple):
    """Colour, mark and line of one system."""

    colour: str
    mark: str
    dash: tuple[int, tuple[float, ...] | None] = DASHES[0]


def looks(systems: Iterable[str], others: Iterable[str] = ()) -> dict[str, Look]:
    """The look of each system, by its place: with the systems of a study in their order it is one in every figure.

    ``others`` come after them, by name. Looks differ in the mark and in the line as well as in the colour; the first
    385 are all different.
    """
    known = list(dict.fromkeys(systems))
    names = [*known, *sorted(set(others) - set(known))]
    return {
        name: Look(SERIES[place % len(SERIES)], MARKS[place % len(MARKS)], DASHES[place % len(DASHES)])
        for place, name in enumerate(names)
    }
