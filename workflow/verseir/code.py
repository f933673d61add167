"""Which modules can change what a verb writes: its own and all that it imports, read from the source."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent


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
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(sorted({module for name in names for module in _files(name)}))


def _files(name: str) -> list[Path]:
    """The files that importing ``name`` executes: the module, and the packages above it other than verseir's own."""
    parts = name.split(".")
    if parts[0] != PACKAGE.name:
        return []
    files = []
    for end in range(2, len(parts) + 1):
        place = PACKAGE.joinpath(*parts[1:end])
        for candidate in (place.with_suffix(".py"), place / "__init__.py"):
            if candidate.is_file():
                files.append(candidate)
    return files
