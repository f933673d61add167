"""What `snakemake --report` shows: every figure and main table has a caption, and no caption is left over."""

import re
from pathlib import Path

RULES, CAPTIONS = (Path(__file__).parents[2] / "workflow" / name for name in ("rules", "report"))
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in sorted(RULES.glob("*.smk")))


def test_every_caption_is_there_and_used():
    named = set(re.findall(r'caption="\.\./report/(\w+)\.rst"', TEXT))
    assert named == {path.stem for path in CAPTIONS.glob("*.rst")}
    assert all((CAPTIONS / f"{name}.rst").read_text(encoding="utf-8").strip().endswith(".") for name in named)


def test_everything_that_is_reported_has_a_category():
    assert TEXT.count("report(\n") + TEXT.count("report(f") + TEXT.count("report(L") == TEXT.count("category=") - (
        TEXT.count("subcategory=")
    )
    assert set(re.findall(r'\bcategory="([^"]+)"', TEXT)) == {"Figures", "Tables"}


def test_every_figure_has_a_caption():
    drawn = re.findall(r"^rule (plot_\w+):(.*?)(?=^rule |\Z)", re.sub(r"(?m)^    (?=rule )", "", TEXT), re.M | re.S)
    assert len(drawn) >= 10
    assert not [name for name, body in drawn if "report(" not in body]
