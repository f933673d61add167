"""What the figures were taken on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import resource
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

#: What of a processor's features decides how fast numeric code is.
FEATURES = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_tile", "neon", "sve")


def cpu_features() -> list[str]:
    """Those of ``FEATURES`` that this processor has; none are known where there is no /proc/cpuinfo."""
    words = set(_cpu_field("flags").split()) | set(_cpu_field("Features").split())
    return [feature for feature in FEATURES if feature in words]


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe_machine() -> dict[str, Any]:
    """Processor, cores, its features, memory in GB, system and Python."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return {
        "processor": _cpu_field("model name") or platform.processor() or platform.machine(),
        "cores": cores(),
        "features": cpu_features(),
        "memory_gb": round(memory / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def forget_peak() -> None:
    """Count the peak of this process's memory from now on, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_mb() -> int:
    """The most memory in MB that this process has held, since ``forget_peak`` where the system can."""
    path = Path("/proc/self/status")
    if path.is_file():
        for line in path.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The installed version of each package, by name; ``none`` where it is not installed."""
    found = {}
    for name in sorted(set(packages)):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "none"
    return found


def _cpu_field(name: str) -> str:
    path = Path("/proc/cpuinfo")
    if not path.is_file():
        return ""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""
