"""A figure as part of the page: its SVG without what only a file needs, in the page's own inks."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from markupsafe import Markup

from verseir.palette import FAINT, INK, PAPER, SERIES

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"


def inline_svg(text: str, title: str, description: str, name: str = "figure") -> Markup:
    """The SVG file ``text`` as an element of an HTML page, with a title and a description for screen readers.

    ``name`` sets its ids apart from those of other figures on the page.

    Its size becomes that of its place; text, axes and series take the page's colours, light or dark.
    """
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rpartition("}")[2] in ("metadata", "script"):
                parent.remove(child)
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == "id":
                element.set(key, f"{name}-{value}")
            elif value.startswith("#") and key.endswith("href"):
                element.set(key, f"#{name}-{value[1:]}")
            elif "url(#" in value:
                element.set(key, value.replace("url(#", f"url(#{name}-"))
    width = root.attrib.pop("width", "")
    root.attrib.pop("height", None)
    root.attrib |= {"role": "img", "aria-labelledby": f"{name}-title {name}-description", "class": "plot"}
    if width.endswith("pt"):
        root.set("style", f"--natural: {float(width[:-2]) / 72 * 96:.0f}px")
    for part, said in (("desc", description), ("title", title)):
        element = ElementTree.Element(
            f"{{{SVG}}}{part}", {"id": f"{name}-{'title' if part == 'title' else 'description'}"}
        )
        element.text = said
        root.insert(0, element)
    markup = ElementTree.tostring(root, encoding="unicode")
    inks = {INK: "var(--ink)", FAINT: "var(--rule)", PAPER: "var(--paper)"}
    inks |= {colour: f"var(--series-{place}, {colour})" for place, colour in enumerate(SERIES)}
    return Markup(re.sub("|".join(map(re.escape, inks)), lambda found: inks[found.group()], markup))
