"""A figure as part of the page: its SVG without what only a file needs, in the page's own inks."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from markupsafe import Markup

from verseir.palette import FAINT, INK, SERIES

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"


def inline_svg(text: str, title: str, description: str) -> Markup:
    """The SVG file ``text`` as an element of an HTML page, with a title and a description for screen readers.

    Its size becomes that of its place; text, axes and series take the page's colours, light or dark.
    """
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rpartition("}")[2] in ("metadata", "script"):
                parent.remove(child)
    width = root.attrib.pop("width", "")
    root.attrib.pop("height", None)
    root.attrib |= {"role": "img", "aria-labelledby": "figure-title figure-description", "class": "plot"}
    if width.endswith("pt"):
        root.set("style", f"--natural: {float(width[:-2]) / 72 * 96:.0f}px")
    for name, said in (("desc", description), ("title", title)):
        element = ElementTree.Element(
            f"{{{SVG}}}{name}", {"id": f"figure-{'title' if name == 'title' else 'description'}"}
        )
        element.text = said
        root.insert(0, element)
    markup = ElementTree.tostring(root, encoding="unicode")
    inks = {INK: "var(--ink)", FAINT: "var(--rule)"}
    inks |= {colour: f"var(--series-{place}, {colour})" for place, colour in enumerate(SERIES)}
    return Markup(re.sub("|".join(map(re.escape, inks)), lambda found: inks[found.group()], markup))
