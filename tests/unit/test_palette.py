"""Colours that are told apart: in grey, on a white and a dark page, with any colour vision; and one look a system."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from verseir.palette import DARK, DASHES, MARKS, PAPER, SERIES, looks

PAGE = Path(__file__).parents[2] / "workflow" / "report" / "page" / "page.css"
#: What is seen without one kind of cone, of linear RGB (Machado, Oliveira and Fernandes, 2009).
VISION = {
    "without long": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "without middle": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "without short": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(XYZ[1] @ linear(colour))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear RGB."""
    share = XYZ @ np.clip(rgb, 0, 1) / WHITE
    f = np.where(share > 216 / 24389, np.cbrt(share), (24389 / 27 * share + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.fixture(scope="module")
def inks() -> dict[str, list[str]]:
    """The values that the page gives a name, light and dark."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"--([\w-]+): (#[0-9a-f]{6})", PAGE.read_text(encoding="utf-8")):
        found.setdefault(name, []).append(value)
    return found


def test_the_page_has_the_dark_colours_of_the_palette(inks):
    assert [inks[f"series-{place}"][0] for place in range(len(DARK))] == list(DARK)
    assert len(DARK) == len(SERIES)


@pytest.mark.parametrize("colours", [SERIES, DARK])
def test_a_grey_print_tells_colours_apart(colours):
    lightness = sorted(lab(linear(colour))[0] for colour in colours)
    assert min(np.diff(lightness)) >= 5


def test_colours_stand_out_from_their_page(inks):
    light, dark = inks["paper"][:2]
    assert min(contrast(colour, page) for colour in SERIES for page in (PAPER, light)) >= 3
    assert min(contrast(colour, dark) for colour in DARK) >= 3


@pytest.mark.parametrize("colours", [SERIES, DARK])
@pytest.mark.parametrize("vision", [*VISION, "all"])
def test_any_colour_vision_tells_colours_apart(colours, vision):
    seen = [lab(np.array(VISION.get(vision, np.eye(3))) @ linear(colour)) for colour in colours]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) >= 8


def test_systems_differ_in_colour_mark_and_line():
    found = list(looks(f"system-{n}" for n in range(385)).values())
    assert len(set(found)) == 385
    for a, b in combinations(found[:5], 2):
        assert a.colour != b.colour and a.mark != b.mark and a.dash != b.dash
    assert found[0].dash == (0, None) and len(MARKS) > len(SERIES) > len(DASHES)


def test_a_look_hangs_on_the_place_among_the_systems_of_the_study_alone():
    study = ["bm25", "e5", "minilm"]
    whole = looks(study)
    for shown in (["e5"], ["minilm", "bm25"], ["an older system", "e5"]):
        found = looks(study, shown)
        assert all(found[name] == whole[name] for name in study)
