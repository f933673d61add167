"""A sheet as one page that opens from disk without a network.

Every text stands in the page itself, escaped, so that it can be read and printed without JavaScript; the script shows
one item at a time and writes the file of answers. The page's policy (CSP) lets this one script run, by its hash, and
nothing else: a poem that brings a script of its own does nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from verseir.faults import Fault, InputFaults, UserError
from verseir.rows import read_utf8

#: What parts two hemistichs where they stand in one line.
CAESURA = " ... "
#: Beside the templates of pages: a script that all of them share, before their own, and their style.
TABLES, STYLE = "table.js", "sheet.css"
_TO_RIGHT, _TO_LEFT = "L", ("R", "AL")


@dataclass(frozen=True)
class Answer:
    """One answer: its ``value`` in the file, what the button says, and the key that chooses it."""

    value: str
    label: str
    key: str


@dataclass(frozen=True)
class Question:
    """A question on every item: its column in the file, its words, its answers."""

    field: str
    text: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Part:
    """A text of an item: its ``kind``, for its looks, and its lines: verses (two hemistichs) or plain ones."""

    kind: str
    label: str
    lines: tuple[tuple[str, str | None], ...]

    @property
    def text(self) -> str:
        """The lines, one below the other, hemistichs parted by ``CAESURA``."""
        return "\n".join(CAESURA.join(half for half in line if half) for line in self.lines)

    @property
    def direction(self) -> str:
        """``rtl`` or ``ltr``, as most letters run; ``auto`` where there is none."""
        return direction(self.text)

    @property
    def language(self) -> str:
        """``ar`` where most letters are Arabic ones, so that the page takes a font for them; else empty."""
        letters = [char for char in self.text if char.isalpha()]
        arabic = sum(unicodedata.bidirectional(char) == "AL" for char in letters)
        return "ar" if 2 * arabic > len(letters) else ""

    @property
    def has_hemistichs(self) -> bool:
        """Whether any line has two halves."""
        return any(second for _, second in self.lines)


@dataclass(frozen=True)
class Item:
    """What people judge: the columns that name it in the file of answers, and its texts."""

    ids: Mapping[str, str]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Page:
    """What a page asks.

    Args:
        sheet: its name, which the file of answers is called after.
        title: its heading.
        told: a sentence or two on what is shown.
        guidelines: Markdown.
        questions: on every item; an item is answered when the first is.
        items: in the order in which they are shown.
        keep_remarks: whether the file of answers has the items that have a remark and no answer.
    """

    sheet: str
    title: str
    told: str
    guidelines: str
    questions: tuple[Question, ...]
    items: Sequence[Item]
    keep_remarks: bool = True


def read_guidelines(path: Path) -> str:
    """The Markdown that annotators are shown. Raises InputFaults when it cannot be read."""
    faults: list[Fault] = []
    text = read_utf8(path, str(path), faults)
    if faults:
        raise InputFaults(faults)
    return text


def direction(text: str) -> str:
    """``rtl`` or ``ltr``: how most of its strong characters run (Unicode's bidirectional classes); else ``auto``."""
    classes = [unicodedata.bidirectional(char) for char in text]
    right, left = classes.count(_TO_RIGHT), sum(classes.count(name) for name in _TO_LEFT)
    if not right and not left:
        return "auto"
    return "rtl" if left > right else "ltr"


def render_page(page: Page, template: Path) -> str:
    """The page, as HTML.

    Args:
        page: what it asks.
        template: its Jinja template; the script is the file of the same name beside it.
    """
    return filled_page(
        template,
        _settings(page),
        page=page,
        guidelines=markdown(page.guidelines),
        guidelines_direction=direction(page.guidelines),
        title_direction=direction(page.title),
    )


def filled_page(template: Path, settings: dict[str, Any], **values: Any) -> str:
    """A template filled in, with its scripts and the ``settings`` that they read; nothing else may run on it.

    Args:
        template: a Jinja template, with its script, ``table.js`` and ``sheet.css`` beside it.
        settings: for the script, as JSON.
        values: what the template shows.
    """
    import jinja2

    scripts = [template.with_name(TABLES), template.with_suffix(".js")]
    for path in (template, *scripts, template.with_name(STYLE)):
        if not path.exists():
            raise UserError(f"there is no file {path}", "--template names the template of the page, with its script")
    script = "\n".join(path.read_text(encoding="utf-8") for path in scripts)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template.parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template.name).render(
        **values,
        settings=_embedded(settings),
        script=Markup(script),
        script_hash="sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def markdown(text: str) -> Markup:
    """Markdown (CommonMark) as HTML below a second-level heading. HTML in it is shown, not obeyed."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).disable("image")
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + 1)}"
    return Markup(parser.renderer.render(tokens, parser.options, {}))


def _settings(page: Page) -> dict[str, Any]:
    """What the script must know."""
    ids = list(page.items[0].ids) if page.items else []
    fields = [question.field for question in page.questions]
    content = [[[*item.ids.items()], [[part.kind, part.text] for part in item.parts]] for item in page.items]
    key = hashlib.sha256(json.dumps([content, fields], ensure_ascii=False).encode()).hexdigest()[:16]
    return {
        "sheet": page.sheet,
        "key": key,
        "ids": ids,
        "fields": fields,
        "columns": [*ids, *fields, "annotator", "remark"],
        "answers": {q.field: [answer.value for answer in q.answers] for q in page.questions},
        "keys": {answer.key: [q.field, answer.value] for q in page.questions for answer in q.answers},
        "keepRemarks": page.keep_remarks,
    }


def _embedded(value: Any) -> Markup:
    """JSON that can stand in a script element: no text in it can end the element."""
    text = json.dumps(value, ensure_ascii=True)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
