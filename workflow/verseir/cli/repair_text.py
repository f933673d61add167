"""Rewrite text files as the workflow reads them: UTF-8 without a byte order mark, line ends as LF."""

import argparse
from pathlib import Path

from verseir.atomic import atomic_path
from verseir.faults import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, help="files to rewrite in place")
    parser.add_argument("--encoding", default="utf-8-sig", help="what they are in now, such as utf-16 or cp1256")


def run(args: argparse.Namespace) -> None:
    for path in args.files:
        try:
            text = path.read_bytes().decode(args.encoding)
        except FileNotFoundError as error:
            raise UserError(f"there is no file {path}") from error
        except (UnicodeDecodeError, LookupError) as error:
            raise UserError(
                f"{path} is not {args.encoding}: {error}", "say what it is in: --encoding utf-16"
            ) from error
        mended = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        with atomic_path(path) as temporary:
            temporary.write_bytes(mended.encode("utf-8"))
        print(f"{path}: rewritten")
