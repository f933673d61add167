"""The tables of a paper, as CSV to paste and as LaTeX."""
