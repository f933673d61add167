"""One LaTeX file that shows all tables of a study: to look at them, and to see what a paper has to load for them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from verseir.atomic import atomic_path

NAME = "all-tables.tex"
_HEAD = r"""% All tables of the study. Compile here: xelatex all-tables, or lualatex; pdflatex where no name is Arabic.
% A paper needs the packages below and one line for each table: \input{table-2-known-item}
\documentclass[twocolumn,10pt]{article}
\usepackage[textwidth=7in,textheight=9.5in,columnsep=0.34in]{geometry}
\usepackage{booktabs,iftex}
\ifPDFTeX
  \usepackage[T1]{fontenc}
  \usepackage[english]{babel}
  \providecommand\foreignlanguage[2]{#2}
\else
  \usepackage{fontspec}
  \usepackage[english,bidi=default]{babel}
  \babelprovide[import]{arabic}
  % The first of these fonts that is there; any other with Arabic letters will do.
  \IfFontExistsTF{Amiri}{\babelfont[arabic]{rm}{Amiri}}{%
  \IfFontExistsTF{Noto Naskh Arabic}{\babelfont[arabic]{rm}{Noto Naskh Arabic}}{%
  \IfFontExistsTF{FreeSerif}{\babelfont[arabic]{rm}{FreeSerif}}{%
  \IfFontExistsTF{DejaVu Sans}{\babelfont[arabic]{rm}{DejaVu Sans}}{}}}}
\fi
\setcounter{totalnumber}{20}\setcounter{topnumber}{20}\setcounter{dbltopnumber}{20}
\renewcommand{\topfraction}{1}\renewcommand{\dbltopfraction}{1}
\renewcommand{\floatpagefraction}{0.4}\renewcommand{\dblfloatpagefraction}{0.4}
\begin{document}
"""


def driver(names: Iterable[str]) -> str:
    """The LaTeX file that takes in these tables, in their order, where they are there."""
    lines = [rf"\IfFileExists{{{name}.tex}}{{\input{{{name}}}\clearpage}}{{}}" for name in names]
    return "\n".join([_HEAD + "\n".join(lines), r"\end{document}", ""])


def write_driver(names: Iterable[str], folder: Path) -> None:
    """Write the file beside the tables."""
    with atomic_path(folder / NAME) as temporary:
        temporary.write_text(driver(names), encoding="utf-8")
