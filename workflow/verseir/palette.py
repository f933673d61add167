"""Colours that figures and the report share."""

from __future__ import annotations

#: Told apart with any colour vision (Okabe and Ito, 2008), without the yellow, which is too pale for a white page.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7a7a")

#: The page below a figure, of which hollow marks are filled.
PAPER = "#ffffff"

#: The ink of text and axes and the faint ink of grids.
INK, FAINT = "#222222", "#dddddd"
