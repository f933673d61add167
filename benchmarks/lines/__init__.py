"""The works that are timed: a module each, that names a LINE or several."""

from __future__ import annotations

import importlib
import pkgutil

from harness.line import Line


def all_lines() -> dict[str, Line]:
    """Every line by its name, in the order of the modules' ``ORDER`` and names.

    Raises:
        ValueError: two lines have one name.
    """
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    lines: dict[str, Line] = {}
    for module in sorted(modules, key=lambda module: (module.ORDER, module.__name__)):
        for line in module.LINES:
            if line.name in lines:
                raise ValueError(f"two lines are named {line.name}")
            lines[line.name] = line
    return lines
