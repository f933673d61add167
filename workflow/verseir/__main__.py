"""``python -m verseir <verb>``: every rule of the workflow is one verb; a few more are for people."""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import logging
import os
import sys
from pathlib import Path

from verseir import __version__, cli


def verbs() -> dict[str, str]:
    """The verbs and what each does: the modules of ``verseir.cli`` and the first line of their docstrings."""
    found = {}
    for path in sorted(Path(cli.__file__).parent.glob("[a-z]*.py")):
        found[path.stem] = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]
    return found


def _is_verb(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_") and (Path(cli.__file__).parent / f"{name}.py").is_file()


def _parser() -> argparse.ArgumentParser:
    """What tells of all verbs. It reads the source of each, so a call of one verb does without."""
    known = verbs()
    listed = "\n".join(f"  {verb:18} {what}" for verb, what in known.items())
    parser = argparse.ArgumentParser(
        prog="python -m verseir",
        description=__doc__,
        epilog=f"verbs:\n{listed}\n\npython -m verseir <verb> --help tells more of each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("verb", choices=sorted(known), metavar="verb", help="one of the verbs below")
    return parser


def limit_threads(arguments: list[str]) -> None:
    """Give the numeric libraries as many threads as ``--threads`` says. They read this once, when imported."""
    if "--threads" in arguments[:-1]:
        threads = arguments[arguments.index("--threads") + 1]
        if not (threads.isascii() and threads.isdecimal() and int(threads)):
            return  # argparse tells of it
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
            os.environ[variable] = threads


def main(arguments: list[str] | None = None) -> int:
    """Run one verb. Returns what it returns or 0, 2 when a user can mend what went wrong, or 130 when it was stopped.

    With ``VERSEIR_TRACEBACK`` set, what went wrong is told with where in the code, for those who mend that.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or not _is_verb(arguments[0]):
        _parser().parse_args(arguments[:1] or ["--help"])
        return 0
    from verseir.failures import told

    try:
        return _run(arguments)
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get("VERSEIR_TRACEBACK") or (failure := told(error)) is None:
            raise
        with contextlib.suppress(BrokenPipeError):  # an interrupt ends whoever read it too
            print(failure.text(arguments[0]), file=sys.stderr, flush=True)
        return failure.code


def _run(arguments: list[str]) -> int:
    limit_threads(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    for noisy in ("bm25s", "httpx", "httpx2", "openai", "sentence_transformers", "transformers", "urllib3"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    module = importlib.import_module(f"verseir.cli.{arguments[0]}")
    verb = argparse.ArgumentParser(
        prog=f"python -m verseir {arguments[0]}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(verb)
    return module.run(verb.parse_args(arguments[1:])) or 0


if __name__ == "__main__":
    sys.exit(main())
