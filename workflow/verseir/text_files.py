"""The text of files that users write: UTF-8 without a byte order mark, LF line ends."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from verseir.faults import Fault

#: A file with more lines than this that are no UTF-8 is in another encoding, and nothing else can be said of it.
_MOST_BAD_LINES = 20
#: What a file that is no text begins with, and what it is.
PACKED, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
#: Byte order marks of UTF-16.
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
UTF_8 = b"\xef\xbb\xbf"


def read_bytes(path: Path, label: str, faults: list[Fault]) -> bytes | None:
    """What the file at ``path`` holds; None with a fault under the name ``label`` where it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        faults.append(Fault(label, 0, "", "there is no such file", f"looked for {path}"))
    except OSError as error:
        faults.append(Fault(label, 0, "", f"cannot be read: {error.strerror}", f"looked for {path}"))
    return None


def read_utf8(path: Path, label: str, faults: list[Fault]) -> str:
    """The text of the file at ``path``; what breaks the rules is added to ``faults`` under the name ``label``.

    The text that comes back is mended (no byte order mark, LF only), so that what else is wrong can be found too. It is
    empty when the file cannot be read at all.
    """
    data = read_bytes(path, label, faults)
    if data is None:
        return ""
    if data.startswith(UTF_16):
        faults.append(Fault(label, 1, "", "is UTF-16, not UTF-8", mending(label, "utf-16")))
        return ""
    if data.startswith(PACKED):
        faults.append(Fault(label, 0, "", "is a workbook or an archive, not text", "save the sheet as CSV in UTF-8"))
        return ""
    if data.startswith(UTF_8):
        faults.append(Fault(label, 1, "", "begins with a byte order mark (BOM)", mending(label)))
        data = data[3:]
    if b"\r" in data:
        first = data[: data.index(b"\r")].count(b"\n") + 1
        count = data.count(b"\r")
        problem = f"has CR or CRLF line ends ({count} of them); expected LF"
        faults.append(Fault(label, first, "", problem, mending(label)))
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return decoded(data, label, faults)


def mending(label: str, encoding: str = "") -> str:
    """The command that rewrites a file as it should be."""
    return f"python -m verseir repair_text {f'--encoding {encoding} ' if encoding else ''}{shlex.quote(label)}"


def decoded(data: bytes, label: str, faults: list[Fault]) -> str:
    """``data``, whose line ends are LF, as UTF-8; lines that are none are faults and come back empty."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_by_line(data, label, faults)


def _decode_by_line(data: bytes, label: str, faults: list[Fault]) -> str:
    lines, bad, broken = [], [], []
    beyond_ascii = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            lines.append(line.decode("utf-8"))
            beyond_ascii += not line.isascii()
        except UnicodeDecodeError as error:
            lines.append("")
            broken.append(line)
            bad.append((number, f"invalid UTF-8: byte 0x{line[error.start]:02x} at column {error.start + 1}"))
    named = "" if beyond_ascii else _encoding_of(b"\n".join(broken))
    hint = mending(label, named or "NAME") + (
        f" (it looks like {_SPOKEN[named]})" if named else "; or save it as UTF-8"
    )
    if beyond_ascii:  # read as another encoding, the lines that are UTF-8 would be lost
        hint = "other lines are UTF-8: mend these, or save the file anew as UTF-8"
    if len(bad) > _MOST_BAD_LINES or (len(bad) > 1 and not beyond_ascii):
        problem = f"invalid UTF-8 on {len(bad)} lines: it is in another encoding"
        faults.append(Fault(label, 0, "", problem, hint))
        return ""
    faults += [Fault(label, number, "", problem, hint) for number, problem in bad]
    return "\n".join(lines)


#: Letters of Arabic in a row: one alone may be a letter of Latin with a sign.
_WORD = re.compile("[\u0621-\u063a\u0641-\u064a]{2,}")
#: How much of a file tells whether it is UTF-16; the share of NULs among its bytes, at even or at odd places.
_START, _NULS = 1 << 16, 0.05
#: Fewer are no sign of UTF-16: the delimiters and line ends of a table alone are more.
_FEWEST = 4
#: Encodings of Arabic that are older than Unicode, and what they are called.
_SPOKEN = {"cp1256": "Windows-1256, Arabic", "iso8859-6": "ISO 8859-6, Arabic"}


def _encoding_of(data: bytes) -> str:
    """The older encoding of Arabic in which the bytes beyond ASCII are letters, nearly all, and words; "" for none."""
    beyond = sum(byte > 0x7F for byte in data)
    letters = {name: sum(len(word) for word in _WORD.findall(data.decode(name, errors="replace"))) for name in _SPOKEN}
    best = max(letters, key=lambda name: letters[name])
    return best if letters[best] > 0.6 * beyond else ""


def utf_16_of(data: bytes) -> str | None:
    """How ``data`` without a mark may be UTF-16, told from where its NULs stand: at odd places or at even ones.

    "" where it holds too many of them for a text, and at both; None for a text with few or none.
    """
    start = data[:_START]
    even, odd = start[::2].count(0), start[1::2].count(0)
    many = max(_NULS * len(start) / 2, _FEWEST)
    if max(even, odd) < many:
        return None
    if min(even, odd) >= many / 10:
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"
