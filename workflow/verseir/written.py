"""Which explanations of a corpus a language model writes when the study runs.

Needs the standard library only, so that the Snakefile can ask it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def written_sources(spec: Mapping[str, Any]) -> list[str]:
    """The sources of a corpus's explanations that a language model writes, sorted."""
    return sorted(source for source, given in spec.get("explanations", {}).items() if isinstance(given, dict))


def without_written(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The corpus as it is before a language model writes explanations for it."""
    written = written_sources(spec)
    files = {source: given for source, given in spec.get("explanations", {}).items() if source not in written}
    rest = {key: value for key, value in spec.items() if key != "explanations"}
    return rest | ({"explanations": files} if files else {})
