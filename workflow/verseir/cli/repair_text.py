"""Rewrite text files as the workflow reads them: UTF-8 without a byte order mark, line ends as LF."""

import argparse
import unicodedata
from pathlib import Path

from verseir.atomic import atomic_path
from verseir.faults import UserError

#: What files are in where nothing is said.
_PLAIN = "utf-8-sig"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, help="files to rewrite in place; FILE.before is what they were")
    parser.add_argument("--encoding", default=_PLAIN, help="what they are in now, such as utf-16 or cp1256")


def run(args: argparse.Namespace) -> None:
    for path in args.files:
        try:
            data = path.read_bytes()
            text = data.decode(args.encoding)
        except FileNotFoundError as error:
            raise UserError(f"there is no file {path}") from error
        except (UnicodeDecodeError, LookupError) as error:
            raise UserError(
                f"{path} is not {args.encoding}: {error}", "say what it is in: --encoding utf-16"
            ) from error
        mended = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        if args.encoding != _PLAIN and (why := _no_text(data, mended)):
            hint = "it is in another encoding: open it in the program that wrote it, and save it as UTF-8"
            raise UserError(f"{path} is left as it is: as {args.encoding}, {why}", hint)
        kept = _kept(path, data)
        with atomic_path(path) as temporary:
            temporary.write_bytes(mended.encode("utf-8"))
        print(f"{path}: rewritten; as it was: {kept}")


def _kept(path: Path, data: bytes) -> Path:
    """A new file beside ``path`` that holds what it was."""
    names = (f"{path.name}.before{'' if at == 1 else f'-{at}'}" for at in range(1, 10_000))
    kept = next(found for name in names if not (found := path.with_name(name)).exists())
    with atomic_path(kept) as temporary:
        temporary.write_bytes(data)
    return kept


def _no_text(data: bytes, text: str) -> str:
    """Why ``text``, decoded from ``data``, is not what people wrote; "" where it may be."""
    for number, line in enumerate(text.split("\n"), 1):
        for char in line:
            if char != "\t" and unicodedata.category(char) in ("Cc", "Cn", "Cs"):
                return f"line {number} holds U+{ord(char):04X}, which is no character of a text"
    marked = any(mark in data.split(b"\n")[0] for mark in (b",", b";", b"\t")) and b"\0" not in data
    if marked and not any(mark in text.split("\n")[0] for mark in ",;\t"):
        return "what parts the cells of its first line is lost"
    lines = [line for line in data.split(b"\n") if not line.isascii()]
    if lines and b"\0" not in data and sum(map(_is_utf8, lines)) > len(lines) / 2:
        return "lines would be lost that are UTF-8"
    return ""


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
