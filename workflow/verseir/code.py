"""Which modules can change what a verb writes: its own and all that it imports, read from the source."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent

#: An import of this package on a line of its own, as the formatter leaves them; a test holds what is found of every
#: module to its syntax tree. Parsing all modules would take half the time of a dry run.
_IMPORT = re.compile(
    rf"^[ \t]*(?:from[ \t]+({PACKAGE.name}(?:\.\w+)*)[ \t]+import\b(?:[ \t]*(\([^)]*\))|[ \t]+(.*))"
    rf"|import[ \t]+({PACKAGE.name}(?:\.\w+)+))",
    re.MULTILINE,
)


def modules_of(verb: str) -> list[Path]:
    """Paths of the modules that the verb ``verb`` imports, directly or not, sorted.

    Imports inside functions count. A rule lists these files as inputs, so that an edited helper re-runs its
    dependents and nothing else.
    """
    found: set[Path] = set()
    waiting = [PACKAGE / "cli" / f"{verb}.py"]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imports(path)
    return sorted(found)


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    names: set[str] = set()
    for package, within, rest, module in _IMPORT.findall(path.read_text(encoding="utf-8")):
        names.add(package or module)
        names.update(f"{package}.{name}" for name in re.findall(r"\w+", within or rest))
    return tuple(sorted({module for name in names for module in _files(name)}))


def _files(name: str) -> list[Path]:
    """The files that importing ``name`` executes: the module, and the packages above it other than verseir's own."""
    parts = name.split(".")
    names = [".".join(parts[1:end]) for end in range(2, len(parts) + 1)]
    return [_modules()[one] for one in names if one in _modules()]


@cache
def _modules() -> dict[str, Path]:
    """The file of every module below the package, by its name without that of the package."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found
